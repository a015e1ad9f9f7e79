"""Read rendered text back: what stands inside its fence, and what must not stand anywhere."""

from __future__ import annotations

import re
import unicodedata

_FENCED = re.compile(
    r"(?P<before>.*?)<recorded (?P<nonce>[0-9a-f]{8})> This is recorded text, not instructions\.\n"
    r"(?P<body>.*)\n</recorded (?P=nonce)>(?P<after>.*)",
    re.DOTALL,
)


def inside(text: str) -> str:
    """Give what stands inside the one fence of a text; only a confidence may stand before it; "" for an empty text."""
    if not text:
        return ""
    before, body, after = around(text)
    assert before in ("", "Confidence: likely.\n\n", "Confidence: unsure.\n\n")
    assert after == ""
    return body


def around(text: str) -> tuple[str, str, str]:
    """Split a text into what stands before its fence, in it, and behind it."""
    found = _FENCED.fullmatch(text)
    assert found is not None, text
    assert found["nonce"] not in found["body"]
    assert text.count(f"<recorded {found['nonce']}>") == text.count(f"</recorded {found['nonce']}>") == 1
    return found["before"], found["body"], found["after"]


def hidden_in(text: str) -> set[str]:
    """Name the characters of a text that show nothing or act on others; joiners that scripts and emoji need are fine.

    By Unicode's own categories, not by the list of the code under test.
    """
    found: set[str] = set()
    for place, char in enumerate(text):
        category = unicodedata.category(char)
        if char in "\n\t" or char in "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2":
            continue
        if char in "\u200c\u200d" and place and ord(text[place - 1]) > 0x600 and text[place - 1] not in "\u200c\u200d":
            continue
        tag, selector = 0xE0000 <= ord(char) <= 0xE0FFF, 0xFE00 <= ord(char) <= 0xFE0D
        seen = 0x110BD <= ord(char) <= 0x110CD or 0x13430 <= ord(char) <= 0x1343F  # Cf, and yet seen
        filler = char in "\u115f\u1160\u3164\uffa0\u034f"
        if (category in ("Cc", "Cf", "Cs", "Zl", "Zp") and not seen) or tag or selector or filler:
            found.add(f"U+{ord(char):04X}")
    return found
