"""Take credentials and personal numbers out of text before it is stored."""
