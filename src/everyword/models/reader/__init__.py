"""The reader: a trained network that finds names, statements, updates and answers in text."""
