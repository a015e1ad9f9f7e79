"""Session summaries and what is folded from many events; pure, over values of the core."""
