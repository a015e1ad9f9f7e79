"""Late interaction (MaxSim): each token of the question looks for its best match among an event's tokens.

Tokens are weighted: a token that few candidates match well separates the right one from the others; a token that all or
none match says nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from everyword.models.protocol import LateInteraction, Question
from everyword.retrieval.candidates import Candidate
from everyword.retrieval.config import Neighbours
from everyword.storage.postings import Seqs
from everyword.storage.protocol import Reader
from everyword.storage.rows import Model
from everyword.types.events import Span

Floats = NDArray[np.float32]

MOST_UNREAD = 0.5  # share of a question that the model can't read; beyond it a match says nothing
_NO_WEIGHT = 1e-6  # where all candidates match all tokens alike, as a single one does, all tokens count the same


class MaxSim:
    """How well each event's tokens match each token of the question."""

    def __init__(self, reader: Reader, *, model: Model, embedder: LateInteraction, question: Question) -> None:
        self._reader = reader
        self._model = model
        self._embedder = embedder
        self._question = question
        tokens = len(question.tokens)
        self.blind = question.unread > MOST_UNREAD  # the best match is then a matter of chance
        self.rows: dict[int, int] = {}  # seq -> its row below
        self.best = np.zeros((0, tokens), np.float32)  # (events, question tokens)
        self.lengths = np.zeros(0, np.float32)  # (events,) in tokens
        self.joint: Floats | None = None  # `best` with the turns around each event, once these were matched
        self.windows: list[Span] = []  # the best one of each event
        self.weights = np.full(tokens, 1 / max(1, tokens), np.float32)  # of the question's tokens; they sum to 1

    def match(self, seqs: Sequence[int]) -> None:
        """Match more events; those that have no token vectors yet get no row."""
        passages = [row for row in self._reader.passages(self._model, seqs) if row.tokens]
        if not passages:
            return
        best, lengths = self._embedder.late_matches(self._question, [row.tokens for row in passages])
        whole = (best @ self.weights).tolist()
        new: dict[int, list[int]] = {}
        for number, row in enumerate(passages):
            new.setdefault(row.seq, []).append(number)
        # A long event has several windows: any of them may match a token, and the best one is quoted.
        for seq, windows in new.items():
            self.rows[seq] = len(self.windows)
            self.windows.append(passages[max(windows, key=whole.__getitem__)].span)
        starts = np.array([windows[0] for windows in new.values()])
        self.best = np.concatenate([self.best, np.maximum.reduceat(best, starts, axis=0)])
        self.lengths = np.concatenate([self.lengths, np.add.reduceat(lengths, starts)])

    def weigh_tokens(self, power: float) -> None:
        """Weight each token by how far its best match stands out from its mean match."""
        if power and len(self.best):
            stands_out = np.maximum(self.best.max(axis=0) - self.best.mean(axis=0), _NO_WEIGHT) ** power
            self.weights = (stands_out / stands_out.sum()).astype(np.float32)

    def scores(self) -> Floats:
        """Return each event's weighted MaxSim."""
        return self.best @ self.weights


def turns_around(reader: Reader, seeds: Sequence[int], reach: int, allowed: Seqs | None) -> list[list[int]]:
    """Read the run of turns around each seed; -1 stands for a turn that the search may not return.

    Such a turn keeps its place, so that a turn three steps away does not come nearer.
    """
    runs = reader.around(seeds, reach)
    if allowed is None:
        return runs
    permitted = set(np.intersect1d(allowed, np.fromiter({seq for run in runs for seq in run}, np.int64)).tolist())
    return [[seq if seq in permitted else -1 for seq in run] for run in runs]


def new_neighbours(runs: Iterable[Sequence[int]], known: Container[int]) -> list[Candidate]:
    """Make candidates of the turns that no arm found."""
    near = dict.fromkeys(seq for run in runs for seq in run)
    return [Candidate(seq) for seq in near if seq >= 0 and seq not in known]


def joint_matches(maxsim: MaxSim, runs: Iterable[Sequence[int]], neighbours: Neighbours) -> Floats:
    """Return each event's matches, including those of its neighbours at their weight."""
    before, after = _adjacent_rows(runs, maxsim.rows)
    rows = len(maxsim.windows)
    longer = np.log2(np.maximum(maxsim.lengths / neighbours.long_from, 1.0))
    joint = maxsim.best
    for link, shares in ((before, neighbours.before), (after, neighbours.after)):
        place = np.arange(rows)
        for share in shares:
            # The appended row stands for no event, so that a step from no event leads to none.
            place = np.append(link, -1)[place]
            there = place >= 0
            counts = np.where(there, share - neighbours.long_cost * longer[place], 0.0).astype(np.float32)
            joint = np.maximum(joint, maxsim.best[place] * counts[:, None])
    return joint


def _adjacent_rows(runs: Iterable[Sequence[int]], rows: Mapping[int, int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each row the row of the turn before it and of the turn after it; -1 where unknown."""
    before = np.full(len(rows), -1)
    after = np.full(len(rows), -1)
    for run in runs:
        for earlier, later in pairwise(run):
            first, second = rows.get(earlier, -1), rows.get(later, -1)
            if first >= 0 and second >= 0:
                after[first] = second
                before[second] = first
    return before, after
