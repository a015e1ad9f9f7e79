"""Templates and word lists of the generated tasks, as plain text, and what fills them."""
