"""Rows of labelled conversations: written as the product writes them, with what is to be learned of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from everyword.models.reader.rows import (
    BERT,
    TURN_TOKENS,
    JoinedRow,
    Markers,
    Piece,
    ReadingRow,
    RowWriter,
    Side,
    joined,
)
from everyword.types.events import Span
from training.reading.corpus import Conversation, Statement


class Writer(RowWriter):
    """Writes rows with the vocabulary of an encoder, and keeps them: training asks for the same ones every round."""

    def __init__(self, tokenizer: Path, markers: Markers = BERT) -> None:
        from tokenizers import Tokenizer

        loaded: Any = Tokenizer.from_file(str(tokenizer))
        loaded.no_padding()
        loaded.no_truncation()
        super().__init__(lambda text: loaded.encode(text, add_special_tokens=False), markers)
        self._pieces: dict[tuple[str, str], Piece] = {}

    def piece(self, text: str, prefix: str = "") -> Piece:
        """Tokenise a text behind a prefix."""
        found = self._pieces.get((text, prefix))
        if found is None:
            found = self._pieces[text, prefix] = super().piece(text, prefix)
        return found

    def readings(self, conversation: Conversation) -> Iterator[ReadingRow]:
        """Write all turns of a conversation."""
        for number, turn in enumerate(conversation.turns):
            yield from self.windows(turn, conversation.turns[number - 1] if number else None)

    def plain(self, text: str, prefix: str | None = None) -> JoinedRow:
        """Write one text as recall encodes it: a passage behind its prefix, or a question."""
        marker = self.markers.question if prefix is None else self.markers.passage
        return joined(self.markers, marker, [self.piece(text, prefix or "").cut(0, TURN_TOKENS)])


def side(c: Conversation, turn: int, quote: tuple[int, int], about: str) -> Side:
    """Give a statement of a conversation the form that `Writer.pair` takes."""
    return Side(c.turns[turn], Span(*quote), about, c.turns[turn - 1] if turn else None)


def covered(starts: Sequence[int], ends: Sequence[int], among: Iterable[int], span: tuple[int, int]) -> list[int]:
    """List the tokens that share characters with a span."""
    return [n for n in among if starts[n] < span[1] and ends[n] > span[0] and starts[n] >= 0]


def tags(reading: ReadingRow, spans: Sequence[tuple[int, int]], classes: Sequence[int]) -> np.ndarray[Any, Any]:
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


def statements_of(reading: ReadingRow) -> list[Statement]:
    """List the statements that begin in a window."""
    start, end = reading.window
    return [one for one in reading.turn.statements if start <= one.start < end]
