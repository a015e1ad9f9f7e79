"""Characters that are invisible or affect their neighbours: replace them for models, escape them for terminals."""

from __future__ import annotations

import json
import re

from everyword.lazy_patterns import lazy_pattern

REPLACEMENT = "\ufffd"

# Characters that are invisible or affect their neighbours, without tab and line feed. Explicit ranges, because Unicode
# categories change with the version of Python and the same text must always be rendered the same.
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # Default_Ignorable
    "\u2028\u2029"  # ends of lines and paragraphs
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # surrogates and noncharacters
)
# Joiners and variation selectors that scripts and emoji need: one, right after the character it changes. Several in a
# row, or one after a Latin letter, are invisible and could encode a hidden message.
_EMOJI = "\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_ALLOWED = (
    "(?<=[\u0600-\u061b\u061d-\u0dff\u0f00-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af\ua8e0-\ua8ff])[\u200c\u200d]"
    "|(?<=[\u1820-\u18aa])[\u180b-\u180d]"
    f"|(?<=[#*0-9\u00a9\u00ae{_EMOJI}])[\ufe0e\ufe0f]"
    f"|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
)
_TO_REPLACE = lazy_pattern(f"{_ALLOWED}|([{_HIDDEN}])")
_LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"  # line ends other than the line feed
_TO_ESCAPE = lazy_pattern(f"[{_HIDDEN}]")


def visible(text: str) -> str:
    """Replace each hidden character by U+FFFD; line ends become line feeds.

    The length stays the same, so that a span of the result is a span of the text.
    """
    return _TO_REPLACE.sub(_replaced, text)


def escaped(text: str) -> str:
    """Write hidden characters as escapes, for people at a terminal."""
    return _TO_REPLACE.sub(_escaped, text.replace("\r\n", "\n"))


def escaped_json(document: str) -> str:
    """Escape hidden characters in a JSON document; it still parses to the same value."""
    return _TO_ESCAPE.sub(lambda match: json.dumps(match[0])[1:-1], document)


def _replaced(match: re.Match[str]) -> str:
    hidden = match[1]
    if hidden is None:
        return match[0]
    if hidden == "\r" and match.string.startswith("\n", match.end()):
        return " "
    return "\n" if hidden in _LINE_ENDS else REPLACEMENT


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else match[1].encode("unicode_escape", "surrogatepass").decode("ascii")
