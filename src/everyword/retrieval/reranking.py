"""Rerank candidates: by late interaction and boosts, then by a cross-encoder or an LLM if the memory has one.

Late interaction (MaxSim): each token of the question looks for its best match among an event's tokens. A token that few
candidates match well separates the right one from the others; one that all or none match says nothing. Boosts add what
is known about an event besides its words: speaker, role, source, time and length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everyword.models.protocol import LateInteraction, Question, Reranker
from everyword.retrieval.candidates import (
    WORDS_ARM,
    Candidate,
    Candidates,
    Placement,
    SearchScope,
    searchable_windows,
    slack_of,
)
from everyword.retrieval.config import Neighbours, SearchConfig
from everyword.retrieval.query_analysis import Analysis, Window
from everyword.storage.nearest import seqs_of
from everyword.storage.rows import PassageRow
from everyword.text.rendering import encoder_line
from everyword.types.events import ASSISTANTS, USERS, Event, Span
from everyword.types.times import to_micros
from everyword.types.trust import is_vouched, trust_of

if TYPE_CHECKING:
    from everyword.retrieval.subject_match import NamedPeople

_MICROSECOND = timedelta(microseconds=1)
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


def rerank(
    scope: SearchScope,
    found: Candidates,
    *,
    question: Question,
    embedder: LateInteraction,
    asked: Analysis,
    people: NamedPeople,
) -> Matched | None:
    """Match and boost the best fused candidates and the turns around them; None where none has token vectors."""
    config = scope.config
    matched = Matched(scope, embedder, question)
    matched.match(found.seqs[: config.rerank_depth].tolist())
    if not matched.rows:
        return None
    matched.weigh_tokens(config.token_power)
    places = found.arms.get(WORDS_ARM)
    known = {} if places is None else dict(zip(places.seqs.tolist(), places.scores.tolist(), strict=True))
    words = {seq: score for seq, score in known.items() if seq in matched.rows}
    _boost(matched, config, question, asked, people, words)
    if config.neighbours is not None:
        seeds = matched.seqs[matched.order()[: config.neighbours.seeds]].tolist()
        runs = _turns_around(scope, seeds, config.neighbours.reach)
        near = dict.fromkeys(seq for run in runs for seq in run)
        matched.match([seq for seq in near if seq >= 0 and seq not in matched.rows])
        _boost(matched, config, question, asked, people, words)
        matched.add_neighbours(runs, config.neighbours)
    return matched


def _turns_around(scope: SearchScope, seeds: Sequence[int], reach: int) -> list[list[int]]:
    """Read the run of turns around each seed; -1 stands for a turn that the search may not return.

    Such a turn keeps its place, so that a turn three steps away does not come nearer.
    """
    runs = scope.reader.around(seeds, reach)
    if scope.allowed is None:
        return runs
    near = np.fromiter({seq for run in runs for seq in run}, np.int64)
    permitted = set(np.intersect1d(scope.allowed, near).tolist())
    return [[seq if seq in permitted else -1 for seq in run] for run in runs]


def _boost(
    matched: Matched,
    config: SearchConfig,
    question: Question,
    asked: Analysis,
    people: NamedPeople,
    words: Mapping[int, float],
) -> None:
    """Weigh the matches and compute the boosts; `words` are scores of matches by words."""
    matched.weigh()
    by_teller = np.array([_boosts_of(teller, config, asked, people) for teller in matched.tellers])
    matched.boosts[:] = by_teller[matched.told_by]
    windows = searchable_windows(asked)
    if config.time and windows:
        closeness = np.max([_closeness(window, matched.times) for window in windows], axis=0)
        matched.boost(TIME)[:] = config.time * closeness
    if config.length:
        doublings = np.log2(np.maximum(matched.lengths.astype(np.float64) / config.long_event, 1.0))
        matched.boost(LENGTH)[:] = -config.length * doublings
    if question.unread and config.unread:
        # By the share of the question that the model can't read, matches of words replace those of vectors.
        by_words = np.array([words.get(seq, 0.0) for seq in matched.seqs.tolist()])
        worth = config.unread * by_words / (max(words.values(), default=0.0) or 1.0)
        matched.boost(UNREAD)[:] = question.unread * (worth - matched.late)


def _boosts_of(teller: Teller, config: SearchConfig, asked: Analysis, people: NamedPeople) -> list[float]:
    """Boost by who said it; a row of the table."""
    vouched, role = is_vouched(teller.source), (teller.role or "").casefold()
    gains = {
        OWN_WORDS: config.own if people.asker and not asked.addressed and teller.is_user else 0.0,
        ASSISTANT: config.assistant if asked.addressed and role in ASSISTANTS else 0.0,
        SOURCE: -config.untrusted * (1.0 - trust_of(teller.source).weight),
        ABOUT: config.about if vouched and people.include(teller.speaker) else 0.0,
    }
    return [gains.get(name, 0.0) for name in BOOSTS]


def _closeness(window: Window, times: Sequence[int]) -> NDArray[np.float64]:
    """Return 1 inside a window, and less with the distance outside, down to 0."""
    start, end, at = to_micros(window.start)[0], to_micros(window.end)[0], np.array(times)
    outside = np.maximum(np.maximum(start - at, at - end), 0)
    return np.exp(-outside / max(slack_of(window) / _MICROSECOND, 1.0))


def cross_encoder_stage(
    question: str, ranked: Sequence[Candidate], events: Mapping[int, Event], config: SearchConfig, reranker: Reranker
) -> list[Candidate]:
    """Reorder the first candidates by a blend of their scores and the reranker's.

    Rerankers score on scales of their own, so both are standardised first. A candidate takes over the score of the
    place that it moves to.
    """
    first = list(ranked[: config.reranker_depth])
    passages = [encoder_line(event := events[one.seq], one.window or Span(0, len(event.text))) for one in first]
    raw = np.asarray(reranker.scores(question, passages), np.float64)
    scores = [candidate.score for candidate in first]
    blended = _standardise(np.array(scores)) + config.reranker_weight * _standardise(raw)
    order = np.argsort(-blended, kind="stable").tolist()
    ranks = np.argsort(np.argsort(-raw, kind="stable"), kind="stable").tolist()
    for score, number in zip(scores, order, strict=True):
        first[number].score = score
        first[number].reranked = Placement(float(raw[number]), ranks[number] + 1)
    return [*(first[number] for number in order), *ranked[config.reranker_depth :]]


def _standardise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    spread = values.std() if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)


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
