"""Late interaction: each token of the question looks for its best match among an event's tokens.

The tokens do not count alike: one that a few candidates match well tells the right one from the others, one that all
match, or none, tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.core.values import Span
from recollect.inference.protocol import LateInteraction, Question
from recollect.store.protocol import Model, Reader

Floats = NDArray[np.float32]

MOST_UNREAD = 0.5  # share of a question that the model can't read; beyond it a match tells nothing
_NO_WEIGHT = 1e-6  # where every candidate matches every token alike, as with one candidate, all tokens count the same


class Matching:
    """How well each event's tokens match the question's, token by token."""

    def __init__(
        self, reader: Reader, space: str, *, model: Model, embedder: LateInteraction, question: Question
    ) -> None:
        self._reader = reader
        self._space = space
        self._model = model
        self._embedder = embedder
        self._question = question
        tokens = len(question.tokens)
        self.blind = question.unread > MOST_UNREAD  # what matches best, matches by chance
        self.rows: dict[int, int] = {}  # seq -> its row below
        self.best = np.zeros((0, tokens), np.float32)  # (events, question tokens)
        self.lengths = np.zeros(0, np.float32)  # (events,) in tokens
        self.joint: Floats | None = None  # the same with the turns around each event, once they were looked at
        self.windows: list[Span] = []  # the best one of each event
        self.weights = np.full(tokens, 1 / max(1, tokens), np.float32)  # of the question's tokens; they sum to 1

    def read(self, seqs: Sequence[int]) -> None:
        """Match more events. Those without token vectors, whose turn has not come yet, stay out."""
        passages = [row for row in self._reader.passages(self._space, self._model, seqs) if row.tokens]
        if not passages:
            return
        best, lengths = self._embedder.late_matches(self._question, [row.tokens for row in passages])
        whole = best @ self.weights
        new: dict[int, list[int]] = {}
        for number, row in enumerate(passages):
            new.setdefault(row.seq, []).append(number)
        # A long event has several windows: a token may be matched by any of them, and the best one is quoted.
        for seq, windows in new.items():
            self.rows[seq] = len(self.windows)
            self.windows.append(passages[windows[int(whole[windows].argmax())]].span)
        starts = np.array([windows[0] for windows in new.values()])
        self.best = np.concatenate([self.best, np.maximum.reduceat(best, starts, axis=0)])
        self.lengths = np.concatenate([self.lengths, np.add.reduceat(lengths, starts)])

    def weigh(self, power: float) -> None:
        """Let tokens count by how far their best match stands out from their mean one."""
        if power and len(self.best):
            stands_out = np.maximum(self.best.max(axis=0) - self.best.mean(axis=0), _NO_WEIGHT) ** power
            self.weights = (stands_out / stands_out.sum()).astype(np.float32)

    def scores(self) -> Floats:
        """Give each event its weighted MaxSim."""
        return self.best @ self.weights
