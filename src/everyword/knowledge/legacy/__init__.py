"""The rule-based readers of the first edition. A trained reader replaces them."""
