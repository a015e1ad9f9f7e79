"""Model files, no code. everyword.models.weights finds and verifies them."""
