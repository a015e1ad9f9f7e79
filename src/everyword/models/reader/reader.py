"""Run the reader: names and statements of a turn, how two statements relate, the answer to a question in a turn."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from everyword.errors import ModelDamaged, ModelError
from everyword.models.onnx import OpenedOnce, Session, open_session
from everyword.models.reader import decoding
from everyword.models.reader.decoding import (
    CHOICES,
    PAIRS,
    FoundAnswer,
    FoundEntity,
    FoundStatement,
    Matrix,
    Thresholds,
)
from everyword.models.reader.rows import JoinedRow, ReadingRow, RowWriter, Side, Turn
from everyword.models.tokenizers import Encoder, Encoding, open_tokenizer, unread_share
from everyword.models.weights import EVERYWORD_READER, EVERYWORD_SMALL, ModelFiles, find_model, unpinned_files
from everyword.text.terms import well_formed

MODEL, TOKENIZER, ABOUT = "reader.onnx", "tokenizer.json", "reader.json"
REINSTALL = "Run: pip install --force-reinstall everyword-models"
_MOST_CHARACTERS = 20_000  # of a turn that are read; what follows is a document, and is only searched
_MOST_UNREAD = 0.5  # share of words of a turn that the model does not know; beyond it, readings are chance
_THREADS = 2


class TurnReading(Struct, frozen=True):
    """What the reader finds in one turn."""

    entities: tuple[FoundEntity, ...] = ()
    statements: tuple[FoundStatement, ...] = ()


class TextReader:
    """The network with its thresholds. Loads its files when it is first used."""

    def __init__(self, files: ModelFiles, words: ModelFiles) -> None:
        self._files, self._words = files, words
        self._session = OpenedOnce(partial(_open, files))

    @classmethod
    def shipped(cls) -> TextReader:
        """Open the reader that is installed with Everyword."""
        return cls(find_model(EVERYWORD_READER), find_model(EVERYWORD_SMALL))

    @classmethod
    def in_folder(cls, folder: str | os.PathLike[str]) -> TextReader:
        """Open the reader in a folder: reader.onnx and reader.json."""
        return cls(unpinned_files(Path(folder), (MODEL, ABOUT)), find_model(EVERYWORD_SMALL))

    @property
    def name(self) -> str:
        """Name the weights: their version changes what is read."""
        return f"reader/{self._about['version']}"

    def read(self, turn: Turn, before: Turn | None = None) -> TurnReading:
        """Find names and statements in a turn; the turn before it helps to understand it."""
        names: list[FoundEntity] = []
        stated: list[FoundStatement] = []
        if not turn.text.isascii() and self._unread(turn.text) > _MOST_UNREAD:
            return TurnReading()
        for row in self._writer.windows(_shortened(turn), before):
            told = self.run("reading", row)
            names += decoding.entities(row, told, self._columns, self._thresholds)
            stated += decoding.statements(row, told, self._columns, self._relations, self._thresholds)
        return TurnReading(tuple(names), tuple(stated))

    def _unread(self, text: str) -> float:
        words = well_formed(text[:_MOST_CHARACTERS])
        return unread_share(words, self._tokenizer.encode(words))

    def compare(self, earlier: Side, later: Side) -> dict[str, float]:
        """Give the probability of each way in which a later statement can relate to an earlier one (PAIRS)."""
        logits = self.run("pair", self._writer.pair(earlier, later))[0]
        chances = decoding.softmax(logits / self._temperature("pair"))
        return dict(zip(PAIRS, map(float, chances), strict=True))

    def answer(self, question: str, turn: Turn, before: Turn | None = None) -> FoundAnswer | None:
        """Find the words of a turn that answer a question best, with a score; None in an empty turn."""
        row = self._writer.answer(question, _shortened(turn), before)
        return decoding.answer(row.starts, row.ends, self.run("answer", row))

    def choose(self, question: str, earlier: Side, later: Side) -> dict[str, float]:
        """Give the probability that each of two turns, or neither, answers a question (CHOICES)."""
        logits = self.run("choice", self._writer.choice(question, earlier, later))[0]
        return dict(zip(CHOICES, map(float, decoding.softmax(logits / self._temperature("choice"))), strict=True))

    @property
    def answer_least(self) -> float:
        """Give the score from which on an answer is one."""
        return self._about["answer_least"]

    @property
    def answer_rank(self) -> float:
        """Give what each place further down in recall takes off an answer's score, by its logarithm."""
        return self._about["answer_rank"]

    def run(self, output: str, row: ReadingRow | JoinedRow) -> Matrix:
        """Compute one output for one row: `reading`, `pair`, `choice` or `answer`."""
        session = self._session.get()
        try:
            return session.run([output], self.feeds(row))[0]
        except Exception as error:  # onnxruntime has no common error class
            raise ModelError(f"The reader failed on {len(row.ids)} tokens: {error}") from error

    def feeds(self, row: ReadingRow | JoinedRow) -> dict[str, NDArray[Any]]:
        """Give what goes into the network for one row."""
        return {
            "words": self._table.rows(row.ids),
            "segments": np.array(row.segments, np.int64),
            "shapes": np.array(row.shapes, np.int64),
        }

    @cached_property
    def _about(self) -> dict[str, Any]:
        return json.loads(self._files.paths[ABOUT].read_text(encoding="utf-8"))

    @cached_property
    def _relations(self) -> Sequence[str]:
        return self._about["relations"]

    @cached_property
    def _columns(self) -> dict[str, slice]:
        return decoding.columns(len(self._relations))

    @cached_property
    def _thresholds(self) -> Thresholds:
        return Thresholds(**self._about["thresholds"])

    def _temperature(self, head: str) -> float:
        return self._about["temperatures"].get(head, 1.0)

    @cached_property
    def _table(self) -> _WordTable:
        where = self._about["words"]
        path = self._words.paths["model.onnx"]
        if self._words.sha256["model.onnx"] != where["sha256"]:
            raise ModelDamaged(f"The reader needs another file than {path}.", fix=REINSTALL)
        table = np.memmap(path, np.int8, "r", where["offset"], tuple(where["shape"]))
        scale = np.memmap(path, np.float32, "r", where["scale_offset"], (where["shape"][0], 1))
        return _WordTable(table, scale)

    @property
    def _tokenizer(self) -> Encoder:
        return open_tokenizer(self._words.paths[TOKENIZER])

    @cached_property
    def _writer(self) -> RowWriter:
        tokenizer = self._tokenizer

        def tokenize(text: str) -> Encoding:
            ids, tokens, offsets, word_ids = tokenizer.encode(well_formed(text))
            inner = slice(1, -1)  # without the markers at both ends
            return Encoding(ids[inner], tokens[inner], offsets[inner], word_ids[inner])

        return RowWriter(tokenize)


def _open(files: ModelFiles) -> Session:
    return open_session(files.paths[MODEL], threads=min(os.cpu_count() or 1, _THREADS))


NONE = "none"  # the setting for no reader


@cache
def _shipped() -> TextReader:
    return TextReader.shipped()


def is_switched_off(setting: str | None) -> bool:
    """Tell whether no reader is wanted."""
    return _chosen(setting) == NONE


def load_reader(setting: str | None) -> TextReader | None:
    """Load a reader: None for the one that is installed with Everyword, "none", or a folder."""
    chosen = _chosen(setting)
    if not chosen:
        return _shipped()
    return None if chosen == NONE else TextReader.in_folder(chosen)


def _chosen(setting: str | None) -> str | None:
    return setting or os.environ.get("EVERYWORD_READER")


class _WordTable(Struct, frozen=True):
    """The word embeddings, read from the file of everyword-small, which has the same."""

    table: NDArray[np.int8]
    scale: NDArray[np.float32]

    def rows(self, ids: Sequence[int]) -> NDArray[np.float32]:
        return self.table[ids].astype(np.float32) * self.scale[ids]


class _ShortTurn(Struct, frozen=True):
    text: str
    speaker: str
    at: str | None


def _shortened(turn: Turn) -> Turn:
    return (
        turn if len(turn.text) <= _MOST_CHARACTERS else _ShortTurn(turn.text[:_MOST_CHARACTERS], turn.speaker, turn.at)
    )
