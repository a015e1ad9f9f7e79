"""A memory for other processes: thin adapters over the one table of operations."""
