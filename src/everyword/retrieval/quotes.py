"""Choose the sentences of an event to quote: those of its best window with the most words of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from everyword.text.spans import WINDOW_CHARS, sentences
from everyword.text.terms import count_unspaced, term_counts, whole_until
from everyword.types.events import Span

_SHORT = 240  # characters: a message up to this size is quoted whole, of a longer one about as much
_DENSE = 3  # letters that carry as much as one character of a script without spaces
_GREETING = 3  # words up to which a sentence counts as a greeting
_FULLNESS = 0.5  # worth of a quote's full length, in terms
_KEPT = 4_000  # characters of a message whose sentences are cached
_MOST_READ = 200_000  # characters searched where no model chose a window: 40 ms


def choose_quote(text: str, window: Span | None, terms: Mapping[int, float]) -> Span:
    """Choose adjacent sentences that together contain the most terms, in few characters."""
    within = window or Span(0, min(len(text), _MOST_READ))
    short = _target_length(text[within.start : within.end])
    if within.end - within.start <= short:
        return _trimmed(text, within)
    parts = _parts(text, within) if len(text) <= _KEPT else _sentences(text, within)
    if len(parts) < 2:
        return _trimmed(text, within)
    spans = [span for span, _ in parts]
    held = [contained & terms.keys() for _, contained in parts]
    best, most = within, 0.0
    matched = any(held)
    for first, last in _runs(spans, short):
        if matched and not held[first]:  # begin at the match: its explanation mostly follows
            continue
        found = set[int]().union(*held[first : last + 1])
        # Of two with the same terms prefer the longer one: not "Hey Ana!" for its name.
        score = sum(terms[term] for term in found) + _FULLNESS * (spans[last].end - spans[first].start) / short
        if score > most:
            best, most = Span(spans[first].start, spans[last].end), score
    return best


def _sentences(text: str, within: Span) -> list[tuple[Span, frozenset[int]]]:
    """List the sentences of a window with their terms; cut overlong ones into pieces."""
    whole = [piece for span in sentences(text, within) for piece in _cut(text, span)]
    return [(span, _content_terms(text[span.start : span.end])) for span in whole]


def _cut(text: str, sentence: Span) -> list[Span]:
    """Cut an overlong sentence at white space, or else between two characters.

    Thai has no full stops and a log has no sentences, but a quote must stay readable.
    """
    most = _target_length(text[sentence.start : sentence.end])
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


def _target_length(words: str) -> int:
    return _SHORT // _DENSE if _unspaced(words) else _SHORT


def _unspaced(words: str) -> bool:
    return count_unspaced(words) > len(words) // 2


_parts = lru_cache(maxsize=4096)(_sentences)  # many questions find the same messages


def _content_terms(sentence: str) -> frozenset[int]:
    # "Hey Ana!" contains a name and says nothing.
    if len(sentence.split(None, _GREETING)) <= _GREETING and not _unspaced(sentence):
        return frozenset()
    return frozenset(term_counts(sentence))


def _runs(spans: Sequence[Span], short: int) -> list[tuple[int, int]]:
    """List for each sentence the longest run from it on that is short enough, at least the sentence itself."""
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
