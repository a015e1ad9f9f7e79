"""A count that whoever asks leaves to the memory. By itself, so that `recollect --help` need not load the values."""

AUTO = "auto"
