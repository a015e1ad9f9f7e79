"""Turn anything that was said into validated events, and write them."""
