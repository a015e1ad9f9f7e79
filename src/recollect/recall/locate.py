"""Where in an event the match is: the sentences of its best window that hold the most of the question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from recollect.core.scripts import UNSPACED, whole_until
from recollect.core.spans import WINDOW_CHARS, sentences
from recollect.core.values import Span
from recollect.core.words import term_counts

_SHORT = 240  # characters: a message of this size is quoted whole, and of a longer one about as much
_DENSE = 3  # letters of an alphabet that say as much as one character of a script without spaces
_GREETING = 3  # words of a sentence that is none
_FULLNESS = 0.5  # terms that a quote of full length is worth
_KEPT = 4_000  # characters of a message whose sentences are kept for the next question
_MOST_READ = 200_000  # characters looked through where no model said which window it is: 40 ms


def locate(text: str, window: Span | None, terms: Mapping[int, float]) -> Span:
    """Choose the span to quote: neighbouring sentences that together hold the most terms, in few characters."""
    within = window or Span(0, min(len(text), _MOST_READ))
    short = _short(text[within.start : within.end])
    if within.end - within.start <= short:
        return _trimmed(text, within)
    parts = _parts(text, within) if len(text) <= _KEPT else _sentences(text, within)
    if len(parts) < 2:
        return _trimmed(text, within)
    spans = [span for span, _ in parts]
    held = [said & terms.keys() for _, said in parts]
    best, most = within, 0.0
    matched = any(held)
    for first, last in _runs(spans, short):
        if matched and not held[first]:  # a quote begins where the match does; what explains it mostly follows
            continue
        found = set[int]().union(*held[first : last + 1])
        # Of two that hold the same, the one that says more: not "Hey Ana!" for the name in it.
        score = sum(terms[term] for term in found) + _FULLNESS * (spans[last].end - spans[first].start) / short
        if score > most:
            best, most = Span(spans[first].start, spans[last].end), score
    return best


def _sentences(text: str, within: Span) -> list[tuple[Span, frozenset[int]]]:
    """List the sentences of a window with their terms; what goes on without an end is cut into pieces."""
    whole = [piece for span in sentences(text, within) for piece in _pieces(text, span)]
    return [(span, _said(text[span.start : span.end])) for span in whole]


def _pieces(text: str, sentence: Span) -> list[Span]:
    """Cut what is no sentence of any language at white space, else between two characters.

    Thai ends no sentence with a mark, and a log has none; and a quote is to be read.
    """
    most = _short(text[sentence.start : sentence.end])
    if sentence.end - sentence.start <= (WINDOW_CHARS if most == _SHORT else 2 * most):
        return [sentence]
    pieces: list[Span] = []
    start = sentence.start
    while start < sentence.end:
        end = min(sentence.end, start + most)
        if end < sentence.end:
            space = max(text.rfind(char, start + 1, end) for char in " \t")
            end = space if space > start else whole_until(text, end)
        pieces.append(_trimmed(text, Span(start, end)))
        start = end
    return [piece for piece in pieces if piece.end > piece.start]


def _short(words: str) -> int:
    return _SHORT // _DENSE if _unspaced(words) else _SHORT


def _unspaced(words: str) -> bool:
    return not words.isascii() and len(_compiled(f"[{UNSPACED}]").findall(words)) > len(words) // 2


_compiled = cache(re.compile)


_parts = lru_cache(maxsize=4096)(_sentences)  # the same messages come up for many questions


def _said(sentence: str) -> frozenset[int]:
    # "Hey Ana!" names somebody and says nothing.
    if len(sentence.split(None, _GREETING)) <= _GREETING and not _unspaced(sentence):
        return frozenset()
    return frozenset(term_counts(sentence))


def _runs(spans: Sequence[Span], short: int) -> list[tuple[int, int]]:
    """List the longest run of sentences that is short enough from each sentence on; at least that sentence."""
    runs: list[tuple[int, int]] = []
    last = 0
    for first, span in enumerate(spans):
        last = max(last, first)
        while last + 1 < len(spans) and spans[last + 1].end - span.start <= short:
            last += 1
        runs.append((first, last))
    return runs


def _trimmed(text: str, span: Span) -> Span:
    piece = text[span.start : span.end]
    start = span.start + len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()))
