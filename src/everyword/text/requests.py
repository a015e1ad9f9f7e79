"""What a user asks to be remembered. Every hook imports this, so it imports little."""

from __future__ import annotations

import re

from everyword.lazy_patterns import lazy_pattern

_SCANNED = 5_000  # characters of a message
# The words of a sentence, in which a file name or a number may have a full stop.
_WORDS = r"(?:[^.!?\n]|[.!?](?=[^\s.!?]))"
# At the start of a sentence that does not ask: elsewhere, people talk about remembering ("I don't remember that").
_ASKED = lazy_pattern(
    r"(?:\A\W*+|\n[^\w.!?\n]*+|[.!?](?![.!?\n])[^\w.!?\n]++)(?:please\s{1,3})?"
    r"(?:remember|keep in mind|(?:don'?t|do not|never) forget)\b\s{0,3}(?:(?:that|this)\b\s{0,3}:?|:)?\s{0,3}"
    rf"({_WORDS}{{3,200}}+)(?!{_WORDS}{{0,300}}+\?)",
    re.IGNORECASE,
)


def asked_to_remember(text: str) -> re.Match[str] | None:
    """Find what somebody asks to be remembered; group 1 is what."""
    return _ASKED.search(text[:_SCANNED])
