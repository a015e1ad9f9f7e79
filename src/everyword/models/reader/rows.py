"""Write turns, pairs of statements and questions as the reader takes them: token ids, segments and word shapes.

    reading   [CLS] PASSAGE [date] speaker: text [SEP] speaker before: text before [SEP]
    pair      [CLS] PASSAGE [date] speaker (about): quote [SEP] its turn, the turn before [SEP] likewise the later one
    answer    [CLS] QUESTION question [SEP] [date] speaker: text [SEP] speaker before: text before [SEP]
    choice    [CLS] QUESTION question [SEP] [date] speaker: text [SEP] likewise the later text [SEP] what is before each

Segments count the parts from 0. In a pair 0 and 1 are the quotes with their prefixes, 3 and 4 the turns around them.
Training writes its rows with this module, too.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from msgspec import Struct

from everyword.types.events import Span

TURN_TOKENS = 192  # a longer turn is read in windows of whole sentences
CONTEXT_TOKENS = 64  # of the turn before, its end
SIDE_TOKENS = 64  # of a statement in a pair
AROUND_TOKENS = 72  # of the turn that a statement in a pair is from, and of the turn before it
LINE_TOKENS = 192  # of a turn that may hold an answer
ASKED_TOKENS = 48
CHOICE_TOKENS = 80  # of each of two turns, one of which may answer a question
CHOICE_BEFORE = 32  # of the turn before each of them, its end
_CACHED_PIECES = 256  # texts whose tokens are kept
_PREFIX_TOKENS = 32  # of a window, left for date and speaker
_FEWEST_AROUND = 12  # tokens of the turn before that are worth adding to a pair
# How a word is written; the vocabulary has lower case only.
NO_WORD, LOWER, CAPITAL, CAPITALS, DIGITS, PUNCTUATION = range(6)
SHAPES = 6
SEGMENTS = 5
_LONGEST_SENTENCE = 200  # characters; longer ones are split at commas and joining words
_MONTHS = "January February March April May June July August September October November December".split()


class Turn(Protocol):
    """What the reader sees of an event."""

    @property
    def text(self) -> str: ...
    @property
    def speaker(self) -> str: ...
    @property
    def at(self) -> str | None:
        """The day, as an ISO date; a time may follow it."""
        ...


class Tokens(Protocol):
    """Tokens of a text: their ids, where they stand, and the number of their word."""

    @property
    def ids(self) -> Sequence[int]: ...
    @property
    def offsets(self) -> Sequence[tuple[int, int]]: ...
    @property
    def word_ids(self) -> Sequence[int | None]: ...


class Tokenize(Protocol):
    """Split a text into tokens, without markers at its ends."""

    def __call__(self, text: str, /) -> Tokens: ...


class Markers(NamedTuple):
    """Token ids that are no words."""

    first: int
    end: int  # of a part
    question: int
    passage: int
    mask: int  # for a word that is hidden in training


BERT = Markers(first=101, end=102, question=1, passage=2, mask=103)


class Piece(NamedTuple):
    """Tokens of one text after a prefix."""

    ids: list[int]
    shapes: list[int]
    starts: list[int]  # in the text without its prefix; negative in the prefix
    ends: list[int]
    first: list[bool]  # whether a token begins a word

    def cut(self, start: int, end: int | None = None) -> Piece:
        """Take some of the tokens."""
        return Piece._make(field[start:end] for field in self)

    def followed_by(self, other: Piece) -> Piece:
        """Join the tokens of two texts."""
        return Piece._make(map(operator.concat, self, other))


_NO_PIECE = Piece([], [], [], [], [])


class Side(NamedTuple):
    """A statement in a pair: its turn, its quote, whom it is about, and the turn before."""

    turn: Turn
    quote: Span
    about: str
    before: Turn | None


class ReadingRow(Struct, frozen=True):
    """One window of a turn, with the end of the turn before."""

    turn: Turn
    before: Turn | None
    window: Span  # characters of the turn
    ids: list[int]
    segments: list[int]
    shapes: list[int]
    starts: list[int]  # characters of the turn, or of the turn before in segment 1; -1 for markers and prefixes
    ends: list[int]
    first: list[bool]

    def own(self) -> list[int]:
        """List the tokens of the turn's own text."""
        return [n for n, start in enumerate(self.starts) if start >= 0 and self.segments[n] == 0]


class JoinedRow(Struct, frozen=True):
    """Two or three texts in one row: a pair of statements, or a question with a line."""

    ids: list[int]
    segments: list[int]
    shapes: list[int]
    starts: list[int]  # characters of the line (segment 1); -1 elsewhere
    ends: list[int]


class RowWriter:
    """Writes rows with one vocabulary."""

    def __init__(self, tokenize: Tokenize, markers: Markers = BERT) -> None:
        self.markers = markers
        self._tokenize = tokenize
        # A statement is compared with several others, and a question is put to several turns.
        self._recent = lru_cache(maxsize=_CACHED_PIECES)(self._written)

    def piece(self, text: str, prefix: str = "") -> Piece:
        """Tokenise a text after a prefix."""
        return self._recent(text, prefix)

    def _written(self, text: str, prefix: str) -> Piece:
        whole = prefix + text
        found = self._tokenize(whole)
        words = found.word_ids
        first = [n == 0 or words[n] != words[n - 1] for n in range(len(found.ids))]
        # Some vocabularies have the space before a word in its token.
        starts = [start + _spaces(whole, start, end) - len(prefix) for start, end in found.offsets]
        ends = [end - len(prefix) for _, end in found.offsets]
        return Piece(list(found.ids), _shapes(whole, found), starts, ends, first)

    def windows(self, turn: Turn, before: Turn | None) -> Iterator[ReadingRow]:
        """Write a turn, in windows of whole sentences if it is long."""
        head = prefix(turn)
        whole = self.piece(turn.text, head)
        if len(whole.ids) <= TURN_TOKENS:
            yield self._reading(turn, whole, before, Span(0, len(turn.text)))
            return
        for start, end in self._window_spans(turn.text):
            part = self.piece(turn.text[start:end], head).cut(0, TURN_TOKENS)
            starts = [n + start if n >= 0 else n for n in part.starts]
            moved = part._replace(starts=starts, ends=[n + start for n in part.ends])
            yield self._reading(turn, moved, before, Span(start, end))

    def pair(self, a: Side, b: Side) -> JoinedRow:
        """Write two statements, the earlier one first."""
        marked = self.markers
        ids, segments, shapes = [marked.first, marked.passage], [0, 0], [NO_WORD, NO_WORD]
        for number, side in enumerate((a, b)):
            quote, around = self._quote(side), self._around(side)
            ids += [*quote.ids, marked.end, *around.ids, marked.end]
            shapes += [*quote.shapes, NO_WORD, *around.shapes, NO_WORD]
            segments += [number] * (len(quote.ids) + 1) + [3 + number] * (len(around.ids) + 1)
        return JoinedRow(ids, segments, shapes, [-1] * len(ids), [-1] * len(ids))

    def answer(self, question: str, turn: Turn, before: Turn | None) -> JoinedRow:
        """Write a question with a turn that may answer it."""
        line = self.piece(turn.text, prefix(turn)).cut(0, LINE_TOKENS)
        parts = [self.piece(question).cut(0, ASKED_TOKENS), line, *([self._context(before)] if before else [])]
        return joined(self.markers, self.markers.question, parts)

    def choice(self, question: str, earlier: Side, later: Side) -> JoinedRow:
        """Write a question with two turns; of a long turn, what is around the quote."""
        asked = self.piece(question).cut(0, ASKED_TOKENS)
        parts = [self._line(side) for side in (earlier, later)]
        before = [_NO_PIECE if one.before is None else self._context(one.before) for one in (earlier, later)]
        return joined(
            self.markers, self.markers.question, [asked, *parts, *(one.cut(-CHOICE_BEFORE) for one in before)]
        )

    def _line(self, side: Side) -> Piece:
        """Write a turn with its date and speaker, as much of it around the quote as there is room for."""
        part = self.piece(side.turn.text, prefix(side.turn))
        head = sum(start < 0 for start in part.starts)
        room = max(0, CHOICE_TOKENS - head)
        inside = [
            n for n in range(head, len(part.ids)) if side.quote[0] < part.ends[n] and part.starts[n] < side.quote[1]
        ]
        middle = (inside[0] + inside[-1]) // 2 if inside else head
        first = max(head, min(middle - room // 2, len(part.ids) - room))
        return part.cut(0, head).followed_by(part.cut(first, first + room))

    def _reading(self, turn: Turn, part: Piece, before: Turn | None, window: Span) -> ReadingRow:
        parts = [part, *([self._context(before)] if before is not None else [])]
        row = joined(self.markers, self.markers.passage, parts)
        starts, ends, first = [-1, -1], [-1, -1], [True, True]
        for one in parts:
            starts += [*(max(n, -1) for n in one.starts), -1]
            ends += [*one.ends, -1]
            first += [*one.first, True]
        return ReadingRow(turn, before, window, row.ids, row.segments, row.shapes, starts, ends, first)

    def _context(self, before: Turn) -> Piece:
        """Write the end of the turn before, with its speaker."""
        part = self.piece(before.text, f"{before.speaker}: " if before.speaker else "")
        head = sum(start < 0 for start in part.starts)
        return part.cut(0, head).followed_by(part.cut(max(head, len(part.ids) - CONTEXT_TOKENS + head)))

    def _quote(self, side: Side) -> Piece:
        turn, (start, end), about, _ = side
        whom = f" ({about})" if about and about != turn.speaker else ""
        head = f"{_date_in_words(turn.at)}{turn.speaker}{whom}: "
        return self.piece(turn.text[start:end], head).cut(0, SIDE_TOKENS)

    def _around(self, side: Side) -> Piece:
        """Write what surrounds a quote: its turn as far as there is room, then the end of the turn before."""
        part = self.piece(side.turn.text)
        inside = [n for n in range(len(part.ids)) if part.starts[n] < side.quote[1] and part.ends[n] > side.quote[0]]
        middle = (inside[0] + inside[-1]) // 2 if inside else 0
        first = max(0, min(middle - AROUND_TOKENS // 2, len(part.ids) - AROUND_TOKENS))
        kept = part.cut(first, first + AROUND_TOKENS)
        left = AROUND_TOKENS - len(kept.ids)
        if side.before is None or left < _FEWEST_AROUND:
            return kept
        return kept.followed_by(self._context(side.before).cut(-left))

    def _window_spans(self, text: str) -> list[tuple[int, int]]:
        """Group sentences into windows."""
        found: list[tuple[int, int]] = []
        start, used = 0, 0
        for begin, end in sentences(text):
            size = len(self.piece(text[begin:end]).ids)
            if used and used + size > TURN_TOKENS - _PREFIX_TOKENS:
                found.append((start, begin))
                start, used = begin, 0
            used += size
        return [*found, (start, len(text))]


def joined(markers: Markers, marker: int, parts: Sequence[Piece]) -> JoinedRow:
    """Put texts into one row."""
    ids, segments, shapes, starts, ends = [markers.first, marker], [0, 0], [NO_WORD, NO_WORD], [-1, -1], [-1, -1]
    for segment, part in enumerate(parts):
        ids += [*part.ids, markers.end]
        segments += [segment] * (len(part.ids) + 1)
        shapes += [*part.shapes, NO_WORD]
        line = segment == 1
        starts += [*(max(n, -1) if line else -1 for n in part.starts), -1]
        ends += [*(n if line else -1 for n in part.ends), -1]
    return JoinedRow(ids, segments, shapes, starts, ends)


def prefix(turn: Turn) -> str:
    """Write date and speaker in front of a turn."""
    return f"{_date_in_words(turn.at)}{turn.speaker}: " if turn.speaker else _date_in_words(turn.at)


def sentences(text: str) -> list[Span]:
    """Split at the ends of sentences and lines; what is still long, at commas and joining words.

    Messages without punctuation stay whole unless they are long: a cut in the wrong place costs more than none.
    """
    found: list[Span] = []
    for piece in _pieces(text, 0, len(text), _SENTENCE_END):
        found += [piece] if piece.end - piece.start <= _LONGEST_SENTENCE else _pieces(text, *piece, _CLAUSE_END)
    return found


_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=\S)|\n+")
_CLAUSE_END = re.compile(
    r"(?<=[,;:])\s+|(?<!\s)\s+(?=(?:and|but|so|because|cause|then|und|aber|y|pero|et|mais|e|mas)\b)"
)


def _pieces(text: str, start: int, end: int, between: re.Pattern[str]) -> list[Span]:
    edges = [start]
    for cut in between.finditer(text, start, end):
        edges += [cut.start(), cut.end()]
    edges.append(end)
    spans = (_trimmed(text, a, b) for a, b in zip(edges[::2], edges[1::2], strict=True))
    return [span for span in spans if span.start < span.end]


def _trimmed(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return Span(start, end)


def _date_in_words(at: str | None) -> str:
    """Write the day of a turn: `[2 March 2026] `."""
    if not at:
        return ""
    year, month, day = (int(one) for one in at[:10].split("-"))
    return f"[{day} {_MONTHS[month - 1]} {year}] "


def _shapes(text: str, found: Tokens) -> list[int]:
    """Say of each token how its word is written."""
    spans: dict[int | None, tuple[int, int]] = {}
    for word, (start, end) in zip(found.word_ids, found.offsets, strict=True):
        a, b = spans.get(word, (start, end))
        spans[word] = (min(a, start), max(b, end))
    of_word = {word: _shape(text[start:end]) for word, (start, end) in spans.items()}
    return [of_word[word] for word in found.word_ids]


def _shape(word: str) -> int:
    if any(map(str.isdigit, word)):
        return DIGITS
    if not any(map(str.isalpha, word)):
        return PUNCTUATION
    if word.isupper() and len(word) > 1:
        return CAPITALS
    return CAPITAL if word[:1].isupper() else LOWER


def _spaces(text: str, start: int, end: int) -> int:
    return next((n for n in range(end - start) if not text[start + n].isspace()), 0)
