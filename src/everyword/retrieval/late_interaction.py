"""Late interaction (MaxSim): each token of the question looks for its best match among an event's tokens.

Tokens are weighted: a token that few candidates match well separates the right one from the others; a token that all or
none match says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everyword.models.protocol import LateInteraction, Question
from everyword.retrieval.candidates import SearchScope
from everyword.retrieval.config import Neighbours
from everyword.storage.nearest import seqs_of
from everyword.storage.rows import PassageRow
from everyword.types.events import USERS, Span
from everyword.types.trust import is_vouched

Floats = NDArray[np.float32]

MOST_UNREAD = 0.5  # share of a question that the model can't read; beyond it a match says nothing
_NO_WEIGHT = 1e-6  # where all candidates match all tokens alike, as a single one does, all tokens count the same

# What is added to a match, and why, in the order of the columns.
OWN_WORDS, ASSISTANT, SOURCE, TIME, LENGTH, UNREAD, ABOUT = BOOSTS = {
    "own words": "the question asks about the user, and the user spoke",
    "assistant": "the question asks what the assistant said, and the assistant spoke",
    "source": "its source is trusted less than a person's own words",
    "time": "how near it is to the time that the question names",
    "length": "a long event matches anything",
    "unread": "the model does not know these words, so matches of words count instead",
    "about": "it is about a person whom the question names",
}
_COLUMN = {name: number for number, name in enumerate(BOOSTS)}


class Teller(NamedTuple):
    """Who said an event, and what brought it here."""

    speaker: str | None
    role: str | None
    source: str

    @property
    def is_user(self) -> bool:
        """Tell whether the user of an assistant said it, who is also the asker."""
        return is_vouched(self.source) and (self.role or "").casefold() in USERS


class Matched:
    """The events that late interaction matched: a table with a row for each, in the order of matching."""

    def __init__(self, scope: SearchScope, embedder: LateInteraction, question: Question) -> None:
        self._scope = scope
        self._embedder = embedder
        self._question = question
        tokens = len(question.tokens)
        self.blind = question.unread > MOST_UNREAD  # the best match is then a matter of chance
        self.weights = np.full(tokens, 1 / max(1, tokens), np.float32)  # of the question's tokens; they sum to 1
        self.seqs = np.empty(0, np.int64)
        self.rows: dict[int, int] = {}  # seq -> its row
        self.best = np.zeros((0, tokens), np.float32)  # how well each event matches each token of the question
        self.joint: Floats | None = None  # `best` with the turns around each event, once these were matched
        self.lengths = np.zeros(0, np.float32)  # in tokens
        self.told_by: list[int] = []  # the number of each event's teller
        self.times: list[int] = []  # when it happened, in microseconds
        self.late = np.empty(0)  # the weighted match
        self.nearby = np.empty(0)  # what the turns around it added to that
        self.boosts = np.empty((0, len(BOOSTS)))
        self.answers: NDArray[np.float64] | None = None  # how much it is about the people named; None: nobody was
        self.ranks = np.empty(0, np.int64)  # by all that was added up, from 1 on
        self._numbers: dict[tuple[str | None, str | None, str], int] = {}  # of tellers
        self._passages: list[PassageRow] = []
        self._fits: list[float] = []  # how well each passage matches
        self._starts: list[int] = []  # the first passage of each event

    @property
    def scores(self) -> NDArray[np.float64]:
        """Add matches and boosts up."""
        return self.late + self.nearby + self.boosts.sum(axis=1)

    @property
    def tellers(self) -> list[Teller]:
        """List who said them, by number."""
        return [Teller(*one) for one in self._numbers]

    def order(self) -> NDArray[np.intp]:
        """List the rows, the best first; of equal ones the newer comes first."""
        return np.lexsort((-self.seqs, -self.scores))

    def boost(self, name: str) -> NDArray[np.float64]:
        """Give the column of a boost."""
        return self.boosts[:, _COLUMN[name]]

    def window(self, seq: int) -> Span | None:
        """Find the window of an event that matches best; None: words choose what to quote."""
        row = self.rows.get(seq)
        if row is None or self.blind:
            return None
        end = self._starts[row + 1] if row + 1 < len(self._starts) else len(self._passages)
        return self._passages[max(range(self._starts[row], end), key=self._fits.__getitem__)].span

    def match(self, seqs: Sequence[int]) -> None:
        """Match more events; those that have no token vectors yet get no row."""
        reader, model = self._scope.reader, self._scope.model
        outlines = reader.outlines(seqs)
        passages = [row for row in reader.passages(model, list(outlines)) if row.tokens] if model is not None else []
        if not passages:
            return
        best, lengths = self._embedder.late_matches(self._question, [row.tokens for row in passages])
        # A long event has several windows: any of them may match a token.
        of = seqs_of(np.array([row.unit for row in passages]))
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        new = of[starts]
        self.rows |= zip(new.tolist(), range(len(self.rows), len(self.rows) + len(new)), strict=True)
        self.seqs = np.concatenate([self.seqs, new])
        self.best = np.concatenate([self.best, np.maximum.reduceat(best, starts, axis=0)])
        self.lengths = np.concatenate([self.lengths, np.add.reduceat(lengths, starts)])
        self._starts += (starts + len(self._passages)).tolist()
        self._passages += passages
        self._fits += (best @ self.weights).tolist()
        told = [outlines[seq] for seq in new.tolist()]
        tellers = [one[3:] for one in told]  # as Outline has them
        for teller in dict.fromkeys(tellers):
            self._numbers.setdefault(teller, len(self._numbers))
        self.told_by += map(self._numbers.__getitem__, tellers)
        self.times += [one.at for one in told]

    def weigh_tokens(self, power: float) -> None:
        """Weight each token by how far its best match stands out from its mean match."""
        if power:
            stands_out = np.maximum(self.best.max(axis=0) - self.best.mean(axis=0), _NO_WEIGHT) ** power
            self.weights = (stands_out / stands_out.sum()).astype(np.float32)

    def weigh(self) -> None:
        """Weigh the matches, and empty the columns of boosts."""
        self.late = (self.best @ self.weights).astype(np.float64)
        self.nearby = np.zeros(len(self.seqs))
        self.boosts = np.zeros((len(self.seqs), len(BOOSTS)))

    def add_neighbours(self, runs: Sequence[Sequence[int]], neighbours: Neighbours) -> None:
        """Count also the matches of the turns around each event, at their weight."""
        longer = np.log2(np.maximum(self.lengths / neighbours.long_from, 1.0))
        joint = self.best
        for link, shares in zip(_adjacent_rows(runs, self.rows), (neighbours.before, neighbours.after), strict=True):
            place = np.arange(len(self.seqs))
            for share in shares:
                # The appended row stands for no event, so that a step from no event leads to none.
                place = np.append(link, -1)[place]
                counts = np.where(place >= 0, share - neighbours.long_cost * longer[place], 0.0).astype(np.float32)
                joint = np.maximum(joint, self.best[place] * counts[:, None])
        self.joint = joint
        self.nearby = ((joint @ self.weights).astype(np.float64) - self.late) * (1 - self._question.unread)


def _adjacent_rows(runs: Iterable[Sequence[int]], rows: Mapping[int, int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each row the row of the turn before it and of the turn after it; -1 where unknown."""
    before = np.full(len(rows), -1)
    after = np.full(len(rows), -1)
    for run in runs:
        for first, second in pairwise([rows.get(seq, -1) for seq in run]):
            if first >= 0 and second >= 0:
                after[first] = second
                before[second] = first
    return before, after
