"""Text whose accents stand apart from their letters, as it is read: with each accent in its letter.

Some keyboards and file systems write é as two characters, which patterns of words take apart: "Chloé" would be Chloe,
and "Kraków" a place called Krako. What is found in the composed text is cited by its place in the other, which stays as
it was said.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right

from recollect.core.values import Span


class Composed:
    """A text with composed letters, and where each of them stands in the text that it was made of."""

    def __init__(self, said: str) -> None:
        self.said = said
        pieces: list[str] = []
        self._starts: list[int] = []  # of each composed character, in what was said
        for start, end in _letters(said):
            piece = unicodedata.normalize("NFC", said[start:end])
            pieces.append(piece)
            # What does not become one character is cited with all that belongs to it.
            self._starts += [start, *[end] * (len(piece) - 1)]
        self.text = "".join(pieces)
        self._starts.append(len(said))

    def back(self, span: Span) -> Span:
        """Tell where a span of the composed text stands in what was said."""
        return Span(self._starts[span.start], self._starts[span.end])

    def forth(self, span: Span) -> Span:
        """Tell where a span of what was said stands in the composed text."""
        return Span(max(0, bisect_right(self._starts, span.start) - 1), bisect_left(self._starts, span.end))

    def quote(self, span: Span) -> str:
        """Give the words of a span of the composed text as they were said."""
        start, end = self.back(span)
        return self.said[start:end]


def composed(said: str) -> Composed | None:
    """Compose the letters of a text; None where they are."""
    return None if said.isascii() or unicodedata.is_normalized("NFC", said) else Composed(said)


def _letters(said: str) -> list[tuple[int, int]]:
    """Cut a text into letters with what belongs to each."""
    cuts: list[int] = []
    for place, char in enumerate(said):
        joins = cuts and (unicodedata.combining(char) or _joins(said[cuts[-1] : place], char))
        if not joins:
            cuts.append(place)
    return list(zip(cuts, [*cuts[1:], len(said)], strict=True))


def _joins(letter: str, char: str) -> bool:
    # Korean syllables, and vowels of some Indian scripts, are made of characters that could stand alone.
    return not char.isascii() and len(unicodedata.normalize("NFC", letter + char)) == 1
