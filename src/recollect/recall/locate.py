"""Where in an event the match is: the sentence of its best window that holds the most of the question."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.core.spans import sentences
from recollect.core.values import Span
from recollect.core.words import term_counts

_SHORT = 240  # characters: a message of this size is quoted whole
_MOST_READ = 200_000  # characters looked through where no model said which window it is: 40 ms


def locate(text: str, window: Span | None, terms: Mapping[int, float]) -> Span:
    """Choose the span to quote."""
    within = window or Span(0, min(len(text), _MOST_READ))
    if within.end - within.start <= _SHORT:
        return _trimmed(text, within)
    best, most = _trimmed(text, within), 0.0
    for span in sentences(text, within):
        held = term_counts(text[span.start : span.end])
        score = sum(weight for term, weight in terms.items() if term in held)
        if score > most:
            best, most = span, score
    return best


def _trimmed(text: str, span: Span) -> Span:
    piece = text[span.start : span.end]
    start = span.start + len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()))
