"""Write turns, pairs and questions as the encoder reads them: token ids, segments, shapes, and what is to be learned.

    reading   [CLS] PASSAGE [date] speaker: text [SEP] speaker before: text before [SEP]
    pair      [CLS] PASSAGE [date] speaker (about): quote [SEP] its turn, the turn before [SEP] likewise the later one
    answer    [CLS] QUESTION question [SEP] [date] speaker: text [SEP] speaker before: text before [SEP]

Segments are 0 for the first part and 1 for the second; 2 for a third one. In a pair 0 and 1 are the quotes with what
stands before them; what surrounds them is 3 and 4. A quote alone ("he can't", "perfect 6") says too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from training.reading.corpus import Conversation, Span, Statement, Turn, sentences

TURN_TOKENS = 192  # a longer turn is read in windows of whole sentences
CONTEXT_TOKENS = 64  # of the turn before, its end
SIDE_TOKENS = 64  # of a statement in a pair
AROUND_TOKENS = 72  # of the turn that a statement in a pair is from, and of the turn before it
LINE_TOKENS = 192  # of a turn that may hold an answer
ASKED_TOKENS = 48
# How a word is written; the vocabulary has lower case alone.
PLAIN, LOWER, CAPITAL, CAPITALS, DIGITS, MARK = range(6)
SHAPES = 6
SEGMENTS = 5
MONTHS = "January February March April May June July August September October November December".split()


Side = tuple[Turn, Span, str, Turn | None]  # a statement: its turn, its quote, whom it is about, the turn before


@dataclass(frozen=True, slots=True)
class Markers:
    """Token ids of a vocabulary that are no words."""

    first: int
    end: int  # of a part
    question: int
    passage: int
    mask: int  # for a word that is hidden


BERT = Markers(first=101, end=102, question=1, passage=2, mask=103)


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens of one text, with the characters that each stands for."""

    ids: list[int]
    shapes: list[int]
    starts: list[int]  # in the text without its prefix; negative in the prefix
    ends: list[int]
    first: list[bool]  # whether a token begins a word


@dataclass(frozen=True, slots=True)
class Reading:
    """One window of a turn."""

    turn: Turn
    ids: list[int]
    segments: list[int]
    shapes: list[int]
    starts: list[int]  # characters of the turn, or of the turn before in segment 1; -1 for markers and prefixes
    ends: list[int]
    first: list[bool]
    before: Turn | None
    window: Span  # characters of the turn

    def own(self) -> list[int]:
        """List the tokens of the turn's own text."""
        return [n for n, start in enumerate(self.starts) if start >= 0 and self.segments[n] == 0]


@dataclass(frozen=True, slots=True)
class Joined:
    """Two or three texts in one row: a pair of statements, or a question with a line."""

    ids: list[int]
    segments: list[int]
    shapes: list[int]
    starts: list[int]  # characters of the line (segment 1); -1 elsewhere
    ends: list[int]


class Writer:
    """Tokenise with the vocabulary of an encoder."""

    def __init__(self, tokenizer: Path, markers: Markers = BERT) -> None:
        from tokenizers import Tokenizer

        self.markers = markers
        self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._pieces: dict[tuple[str, str], Piece] = {}  # training writes the same texts round after round

    def piece(self, text: str, prefix: str = "") -> Piece:
        """Tokenise a text behind a prefix."""
        found = self._pieces.get((text, prefix))
        if found is None:
            found = self._pieces[text, prefix] = self._piece(text, prefix)
        return found

    def _piece(self, text: str, prefix: str) -> Piece:
        whole = prefix + text
        told = self._tokenizer.encode(whole, add_special_tokens=False)
        shapes = _shapes(whole, told)
        first = [n == 0 or told.word_ids[n] != told.word_ids[n - 1] for n in range(len(told.ids))]
        # Some vocabularies have the space before a word in its token.
        starts = [start + _spaces(whole, start, end) - len(prefix) for start, end in told.offsets]
        return Piece(list(told.ids), shapes, starts, [end - len(prefix) for _, end in told.offsets], first)

    def readings(self, conversation: Conversation) -> Iterator[Reading]:
        """Write all turns of a conversation."""
        for number, turn in enumerate(conversation.turns):
            yield from self.windows(turn, conversation.turns[number - 1] if number else None)

    def windows(self, turn: Turn, before: Turn | None) -> Iterator[Reading]:
        """Write a turn, in windows of whole sentences where it is long."""
        head = prefix(turn)
        whole = self.piece(turn.text, head)
        if len(whole.ids) <= TURN_TOKENS:
            yield self._reading(turn, whole, before, (0, len(turn.text)))
            return
        for start, end in self._cuts(turn.text):
            part = self.piece(turn.text[start:end], head)
            moved = Piece(
                part.ids[:TURN_TOKENS], part.shapes[:TURN_TOKENS],
                [n + start if n >= 0 else n for n in part.starts[:TURN_TOKENS]],
                [n + start for n in part.ends[:TURN_TOKENS]], part.first[:TURN_TOKENS],
            )  # fmt: skip
            yield self._reading(turn, moved, before, (start, end))

    def pair(self, a: Side, b: Side) -> Joined:
        """Write two statements with their dates, speakers, whom they are about, and their turns."""
        marked = self.markers
        ids, segments, shapes = [marked.first, marked.passage], [0, 0], [0, 0]
        for number, side in enumerate((a, b)):
            quote, around = self._side(*side[:3]), self._around(side)
            ids += [*quote.ids, marked.end, *around.ids, marked.end]
            shapes += [*quote.shapes, 0, *around.shapes, 0]
            segments += [number] * (len(quote.ids) + 1) + [3 + number] * (len(around.ids) + 1)
        return Joined(ids, segments, shapes, [-1] * len(ids), [-1] * len(ids))

    def answer(self, question: str, turn: Turn, before: Turn | None) -> Joined:
        """Write a question with a turn that may answer it."""
        parts = [_cut(self.piece(question), ASKED_TOKENS), _cut(self.piece(turn.text, prefix(turn)), LINE_TOKENS)]
        if before is not None:
            parts.append(self._context(before))
        return joined(self.markers, self.markers.question, parts)

    def plain(self, text: str, prefix: str | None = None) -> Joined:
        """Write one text as the product encodes it today: a passage behind its prefix, or a question."""
        marker = self.markers.question if prefix is None else self.markers.passage
        return joined(self.markers, marker, [_cut(self.piece(text, prefix or ""), TURN_TOKENS)])

    def _reading(self, turn: Turn, part: Piece, before: Turn | None, window: Span) -> Reading:
        context = self._context(before) if before is not None else None
        row = joined(self.markers, self.markers.passage, [part, *([context] if context else [])])
        size = 2 + len(part.ids) + 1
        starts = [-1, -1, *(n if n >= 0 else -1 for n in part.starts), -1]
        ends = [-1, -1, *part.ends, -1]
        first = [True, True, *part.first, True]
        if context is not None:
            starts += [*(n if n >= 0 else -1 for n in context.starts), -1]
            ends += [*context.ends, -1]
            first += [*context.first, True]
        assert len(row.ids) == len(starts) >= size
        return Reading(turn, row.ids, row.segments, row.shapes, starts, ends, first, before, window)

    def _context(self, before: Turn) -> Piece:
        name = f"{before.speaker}: " if before.speaker else ""
        part = self.piece(before.text, name)
        head = sum(start < 0 for start in part.starts)
        kept = [*range(head), *range(max(head, len(part.ids) - CONTEXT_TOKENS + head), len(part.ids))]
        return Piece(*([values[n] for n in kept] for values in _lists(part)))

    def _side(self, turn: Turn, quote: Span, about: str) -> Piece:
        whom = f" ({about})" if about and about != turn.speaker else ""
        head = f"{date_in_words(turn.at)}{turn.speaker}{whom}: "
        return _cut(self.piece(turn.text[slice(*quote)], head), SIDE_TOKENS)

    def _around(self, side: Side) -> Piece:
        """Write what surrounds a quote: its turn as far as there is room, then the end of the turn before."""
        turn, (start, end), _, before = side
        part = self.piece(turn.text)
        inside = [n for n in range(len(part.ids)) if part.starts[n] < end and part.ends[n] > start]
        middle = (inside[0] + inside[-1]) // 2 if inside else 0
        first = max(0, min(middle - AROUND_TOKENS // 2, len(part.ids) - AROUND_TOKENS))
        kept = Piece(*(values[first : first + AROUND_TOKENS] for values in _lists(part)))
        left = AROUND_TOKENS - len(kept.ids)
        if before is None or left < 12:
            return kept
        more = self._context(before)
        return Piece(*(a + b[-left:] for a, b in zip(_lists(kept), _lists(more), strict=True)))

    def _cuts(self, text: str) -> list[Span]:
        """Group sentences into windows; some tokens are left for the prefix."""
        found: list[Span] = []
        start, used = 0, 0
        for begin, end in sentences(text):
            size = len(self.piece(text[begin:end]).ids)
            if used and used + size > TURN_TOKENS - 32:
                found.append((start, begin))
                start, used = begin, 0
            used += size
        return [*found, (start, len(text))]


def joined(markers: Markers, marker: int, parts: Sequence[Piece]) -> Joined:
    """Put texts into one row."""
    ids, segments, shapes, starts, ends = [markers.first, marker], [0, 0], [0, 0], [-1, -1], [-1, -1]
    for segment, part in enumerate(parts):
        ids += [*part.ids, markers.end]
        segments += [segment] * (len(part.ids) + 1)
        shapes += [*part.shapes, 0]
        line = segment == 1
        starts += [*(n if line and n >= 0 else -1 for n in part.starts), -1]
        ends += [*(n if line else -1 for n in part.ends), -1]
    return Joined(ids, segments, shapes, starts, ends)


def prefix(turn: Turn) -> str:
    """Write date and speaker as the product does for its encoder."""
    return f"{date_in_words(turn.at)}{turn.speaker}: " if turn.speaker else date_in_words(turn.at)


def date_in_words(at: str | None) -> str:
    """Write the day of a turn: `[2 March 2026] `."""
    if not at:
        return ""
    year, month, day = (int(one) for one in at[:10].split("-"))
    return f"[{day} {MONTHS[month - 1]} {year}] "


def side(c: Conversation, turn: int, quote: Span, about: str) -> Side:
    """Give a statement of a conversation the form that `Writer.pair` takes."""
    return c.turns[turn], quote, about, c.turns[turn - 1] if turn else None


def covered(starts: Sequence[int], ends: Sequence[int], among: Iterable[int], span: Span) -> list[int]:
    """List the tokens that share characters with a span."""
    return [n for n in among if starts[n] < span[1] and ends[n] > span[0] and starts[n] >= 0]


def tags(reading: Reading, spans: Sequence[Span], classes: Sequence[int]) -> np.ndarray[Any, Any]:
    """Tag tokens: 0 outside, 1 + 2c where a span of class c begins, 2 + 2c inside it; -1 for what is not read."""
    found = np.full(len(reading.ids), -1, np.int64)
    own = reading.own()
    found[own] = 0
    for span, number in zip(spans, classes, strict=True):
        inside = covered(reading.starts, reading.ends, own, span)
        # Where spans overlap the first one counts; its tokens are taken.
        inside = [n for n in inside if found[n] == 0]
        if inside:
            found[inside] = 2 + 2 * number
            found[inside[0]] = 1 + 2 * number
    return found


def statements_of(reading: Reading) -> list[Statement]:
    """List the statements that begin in a window."""
    start, end = reading.window
    return [one for one in reading.turn.statements if start <= one.start < end]


def _shapes(text: str, told: Any) -> list[int]:
    """Say of each token how its word is written."""
    spans: dict[int, Span] = {}
    for word, (start, end) in zip(told.word_ids, told.offsets, strict=True):
        a, b = spans.get(word, (start, end))
        spans[word] = (min(a, start), max(b, end))
    of_word = {word: _shape(text[slice(*span)]) for word, span in spans.items()}
    return [of_word[word] for word in told.word_ids]


def _shape(word: str) -> int:
    if any(map(str.isdigit, word)):
        return DIGITS
    if not any(map(str.isalpha, word)):
        return MARK
    if word.isupper() and len(word) > 1:
        return CAPITALS
    return CAPITAL if word[:1].isupper() else LOWER


def _spaces(text: str, start: int, end: int) -> int:
    return next((n for n in range(end - start) if not text[start + n].isspace()), 0)


def _lists(part: Piece) -> tuple[list[Any], ...]:
    return part.ids, part.shapes, part.starts, part.ends, part.first


def _cut(part: Piece, most: int) -> Piece:
    return Piece(*(values[:most] for values in _lists(part)))
