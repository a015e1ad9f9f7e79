"""Where in an event the match is: the sentences of its best window that hold the most of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from recollect.core.spans import sentences
from recollect.core.values import Span
from recollect.core.words import term_counts

_SHORT = 240  # characters: a message of this size is quoted whole, and of a longer one about as much
_GREETING = 3  # words of a sentence that is none
_FULLNESS = 0.5  # terms that a quote of full length is worth
_KEPT = 4_000  # characters of a message whose sentences are kept for the next question
_MOST_READ = 200_000  # characters looked through where no model said which window it is: 40 ms


def locate(text: str, window: Span | None, terms: Mapping[int, float]) -> Span:
    """Choose the span to quote: neighbouring sentences that together hold the most terms, in few characters."""
    within = window or Span(0, min(len(text), _MOST_READ))
    if within.end - within.start <= _SHORT:
        return _trimmed(text, within)
    parts = _parts(text, within) if len(text) <= _KEPT else _sentences(text, within)
    if len(parts) < 2:
        return _trimmed(text, within)
    spans = [span for span, _ in parts]
    held = [said & terms.keys() for _, said in parts]
    best, most = within, 0.0
    matched = any(held)
    for first, last in _runs(spans):
        if matched and not held[first]:  # a quote begins where the match does; what explains it mostly follows
            continue
        found = set[int]().union(*held[first : last + 1])
        # Of two that hold the same, the one that says more: not "Hey Ana!" for the name in it.
        score = sum(terms[term] for term in found) + _FULLNESS * (spans[last].end - spans[first].start) / _SHORT
        if score > most:
            best, most = Span(spans[first].start, spans[last].end), score
    return best


def _sentences(text: str, within: Span) -> list[tuple[Span, frozenset[int]]]:
    """List the sentences of a window with their terms."""
    return [(span, _said(text[span.start : span.end])) for span in sentences(text, within)]


_parts = lru_cache(maxsize=4096)(_sentences)  # the same messages come up for many questions


def _said(sentence: str) -> frozenset[int]:
    # "Hey Ana!" names somebody and says nothing.
    if len(sentence.split(None, _GREETING)) <= _GREETING:
        return frozenset()
    return frozenset(term_counts(sentence))


def _runs(spans: Sequence[Span]) -> list[tuple[int, int]]:
    """List the longest run of sentences that is short enough from each sentence on; at least that sentence."""
    runs: list[tuple[int, int]] = []
    last = 0
    for first, span in enumerate(spans):
        last = max(last, first)
        while last + 1 < len(spans) and spans[last + 1].end - span.start <= _SHORT:
            last += 1
        runs.append((first, last))
    return runs


def _trimmed(text: str, span: Span) -> Span:
    piece = text[span.start : span.end]
    start = span.start + len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()))
