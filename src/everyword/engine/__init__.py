"""The parts of an open memory that all operations share."""
