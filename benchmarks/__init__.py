"""Speed, size and survival, measured; see `make bench`."""
