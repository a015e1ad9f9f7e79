"""Where sentences and windows lie in a text, as spans of characters that never change it."""

from __future__ import annotations

import re

from recollect.core.values import Span

# A sentence ends at its punctuation (with closing quotes) before white space, at an unspaced full stop, at a line end.
# Possessive, and only from a run's first mark: else a text of a hundred thousand dots takes minutes.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s)|[。！？]+[」』”’）]*|\n+")
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f]")

WINDOW_CHARS = 1000  # about 220 tokens of English: late interaction loses detail beyond, and the model takes 512
WINDOW_OVERLAP = 200  # a sentence cut by one window is whole in the next
WIDE_WEIGHT = 4  # a Chinese character is a token; four Latin ones are
MAX_WINDOWS = 64  # some 8,000 words; the rest of a longer text is found by its words


def sentences(text: str, within: Span | None = None) -> list[Span]:
    """Cut a text, or a part of it, into sentences without their surrounding white space."""
    start, end = within or Span(0, len(text))
    spans: list[Span] = []
    begin = start
    for match in _SENTENCE_END.finditer(text, start, end):
        _append_trimmed(spans, text, begin, match.end())
        begin = match.end()
    _append_trimmed(spans, text, begin, end)
    return spans


def windows(text: str) -> list[Span]:
    """Cut a text into overlapping windows of a size that a model can take; a short text is one window."""
    step_chars = WINDOW_CHARS
    if len(text) * WIDE_WEIGHT > WINDOW_CHARS and _WIDE.search(text):
        wide = len(_WIDE.findall(text[: WINDOW_CHARS * MAX_WINDOWS]))
        share = wide / min(len(text), WINDOW_CHARS * MAX_WINDOWS)
        step_chars = int(WINDOW_CHARS / (1 + (WIDE_WEIGHT - 1) * share))
    if len(text) <= step_chars:
        return [Span(0, len(text))]
    spans: list[Span] = []
    start = 0
    while len(spans) < MAX_WINDOWS:
        end = min(len(text), start + step_chars)
        if end < len(text):
            end = _space_before(text, end, step_chars // 5)
        spans.append(Span(start, end))
        if end == len(text):
            break
        start = _space_before(text, end - WINDOW_OVERLAP * step_chars // WINDOW_CHARS, step_chars // 10)
    return spans


def _append_trimmed(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        begin = start + piece.index(stripped[0])
        spans.append(Span(begin, begin + len(stripped)))


def _space_before(text: str, position: int, reach: int) -> int:
    for index in range(position, max(0, position - reach), -1):
        if text[index - 1].isspace():
            return index
    return position
