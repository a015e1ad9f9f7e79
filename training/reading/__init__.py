"""The corpus that the reader is trained on."""
