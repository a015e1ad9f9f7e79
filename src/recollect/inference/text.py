"""Make any Python string fit for a tokenizer."""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Replace what is no character (half of a surrogate pair) by U+FFFD; join halves that belong together."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
