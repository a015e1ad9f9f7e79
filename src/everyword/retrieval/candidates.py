"""Candidates: gather events by words, by vectors, by the times named and by statements, and fuse these rankings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from everyword.models.protocol import Question
from everyword.retrieval.config import Arm, SearchConfig, StatementArm
from everyword.retrieval.query_analysis import Analysis, Window
from everyword.storage.postings import Ranking, Seqs
from everyword.storage.protocol import Reader
from everyword.storage.rows import Model
from everyword.text.dates import Granularity
from everyword.text.terms import term_counts
from everyword.types.events import Filter, Span
from everyword.types.trust import UNVOUCHED, is_vouched, trust_of

WORDS_ARM = "words"
VECTORS_ARM = "vectors"
TIMES_ARM = "then"
STATEMENTS_ARM = "statements"

EncodeQuestion = Callable[[], Question | None]  # None where no model can encode it

# From this share of events by tools and pages on, the arms run again over the other sources alone.
MOST_UNVOUCHED = 0.5

# Days by which people may tell of a thing too late, or misremember its date: the coarser the unit, the more.
SLACK_DAYS: Mapping[Granularity, float] = {
    Granularity.MOMENT: 2.0,
    Granularity.DAY: 3.0,
    Granularity.WEEKEND: 4.0,
    Granularity.WEEK: 8.0,
    Granularity.MONTH: 20.0,
    Granularity.SEASON: 40.0,
    Granularity.QUARTER: 40.0,
    Granularity.YEAR: 80.0,
}


class SearchScope(NamedTuple):
    """What a search reads, and which events it may return."""

    reader: Reader
    config: SearchConfig
    terms: Mapping[int, float]
    model: Model | None
    allowed: Seqs | None  # None: all events


class Placement(NamedTuple):
    """The score and rank that a stage gave a candidate."""

    score: float
    rank: int


class Places(NamedTuple):
    """The events that a stage ranked, each with its score and its rank from 1 on."""

    seqs: Seqs
    scores: NDArray[np.floating]
    ranks: NDArray[np.int64]

    @classmethod
    def of(cls, seqs: Seqs, scores: NDArray[np.floating]) -> Places:
        """Number events that are in rank order."""
        return cls(seqs, scores, np.arange(1, len(seqs) + 1))

    def joined(self, more: Places) -> Places:
        """Add what a stage found in another run; of an event that both found the better rank counts."""
        seqs, ranks = np.concatenate([self.seqs, more.seqs]), np.concatenate([self.ranks, more.ranks])
        order = np.argsort(ranks, kind="stable")
        best = order[np.unique(seqs[order], return_index=True)[1]]
        return Places(seqs[best], np.concatenate([self.scores, more.scores])[best], ranks[best])

    def place_of(self, seq: int) -> Placement | None:
        """Look an event up."""
        (at,) = (self.seqs == seq).nonzero()
        return Placement(float(self.scores[at[0]]), int(self.ranks[at[0]])) if len(at) else None


class ChainLink(NamedTuple):
    """How a candidate connects to a better one."""

    strength: float  # share of the seed's rare words
    hop: int


class Candidates(Struct):
    """The candidates of a search, the best first, and what each stage found out about them."""

    seqs: Seqs
    scores: NDArray[np.float64]
    arms: Mapping[str, Places]
    fused: Places
    distrust: Mapping[int, float]  # what fused scores lost by the source of an event
    links: dict[int, ChainLink]

    def reorder(self, seqs: Seqs, scores: NDArray[np.float64]) -> None:
        """Take new candidates or scores; of equal ones the newer comes first."""
        order = np.lexsort((-seqs, -scores))
        self.seqs, self.scores = seqs[order], scores[order]

    def each(self) -> Iterator[Candidate]:
        """Go through them in their order."""
        for seq, score in zip(self.seqs.tolist(), self.scores.tolist(), strict=True):
            yield Candidate(seq, score, self)


class Candidate(Struct):
    """An event that is about to become a hit."""

    seq: int
    score: float  # what it is ranked by so far
    of: Candidates  # these know what each stage found
    window: Span | None = None  # the best matching window of a long event
    reranked: Placement | None = None


def slack_of(window: Window) -> timedelta:
    """Tell how far from a time an event may still be about it.

    What is to come has no events yet, except in a calendar: "a film for tonight" must not find what was just said.
    """
    return timedelta(0 if window.ahead else SLACK_DAYS[window.granularity])


def searchable_windows(asked: Analysis) -> list[Window]:
    """List the times that an event can lie in or near; a vague one or a lifetime says too little."""
    return [window for window in asked.windows if window.certain and window.granularity in SLACK_DAYS]


def gather(scope: SearchScope, encode: EncodeQuestion, times: Sequence[Window]) -> tuple[Candidates, Question | None]:
    """Run every arm of the configuration and fuse what they found; give the question as the model encodes it, too.

    times: those that the question names.
    """
    config = scope.config
    arms: dict[str, Places] = {}
    question, by_words = _add_words_and_vectors(arms, scope, encode)
    if _is_crowded(_seqs_of(arms), scope) and len(vouched := _vouched(scope)):
        _add_words_and_vectors(arms, scope._replace(allowed=vouched), lambda: question)
    if config.times is not None:
        for time in times:
            _add_time(arms, scope, config.times, question, time)
    if config.statements is not None and scope.terms:
        seqs = list({*by_words.seqs.tolist(), *_seqs_of(arms).tolist()})
        _add_arm(arms, STATEMENTS_ARM, _by_statements(scope.reader, scope.terms, seqs, config.statements))
    return _fused(arms, config, question.unread if question is not None else 0.0), question


def search_deeper(
    scope: SearchScope, known: Sequence[Candidates], question: Question | None, k: int, *, matched: bool
) -> Candidates:
    """Find further candidates by words and vectors, to follow the known ones where `k` asks for more.

    So the first hits are the same for every `k`, and late interaction never costs more. matched: the known ones are.
    """
    config = scope.config
    seqs = np.concatenate([some.seqs for some in known])
    arms = [arm for arm in (config.words, config.vectors) if arm is not None]
    if len(seqs) >= k or not any(len(seqs) >= arm.depth for arm in arms):  # no arm left anything out
        return _fused({}, config, 0.0)
    words, vectors = (arm and replace(arm, depth=max(arm.depth, k)) for arm in (config.words, config.vectors))
    deeper = replace(config, words=words, vectors=vectors, times=None, statements=None)
    more, _ = gather(scope._replace(config=deeper), lambda: question, [])
    new = ~np.isin(more.seqs, seqs)
    more.seqs, more.scores = more.seqs[new], more.scores[new]
    floor = np.concatenate([some.scores for some in known]).min()
    # Fused scores and scores of late interaction differ in unit; both must stay below the last known one.
    if matched:
        more.scores = floor - 1.0 + np.minimum(more.scores, 1.0)
    else:
        more.scores = np.minimum(more.scores, floor)
    return more


def weigh_by_trust(scope: SearchScope, found: Candidates) -> None:
    """Weigh fused scores by the trust in each source, where no boosts do so."""
    seqs = found.seqs.tolist()
    outlines = scope.reader.outlines(seqs)
    lacking = np.array([1.0 - trust_of(outlines[seq].source).weight if seq in outlines else 0.0 for seq in seqs])
    lost = found.scores * lacking
    found.distrust = {seq: -loss for seq, loss in zip(seqs, lost.tolist(), strict=True) if loss}
    order = np.argsort(lost - found.scores, kind="stable")
    found.seqs, found.scores = found.seqs[order], (found.scores - lost)[order]


def _add_words_and_vectors(
    arms: dict[str, Places], scope: SearchScope, encode: EncodeQuestion
) -> tuple[Question | None, Ranking]:
    reader, config, _, model, allowed = scope
    question = None
    by_words = _by_words(scope)
    if config.words is not None:
        depth = config.words.depth
        _add_arm(arms, WORDS_ARM, Ranking(by_words.seqs[:depth], by_words.scores[:depth]))
    if config.vectors is not None and model is not None:
        # Encode last: in a new process the model is still loading while the rest is read.
        reader.prepare(model)
        question = encode()
        if question is not None:
            _add_arm(arms, VECTORS_ARM, reader.by_vector(model, question.pooled, config.vectors.depth, allowed))
    return question, by_words


def _by_words(scope: SearchScope) -> Ranking:
    """Rank by BM25, as deep as the arm of words or the arm of statements needs."""
    reader, config, terms, _, allowed = scope
    depth = max(config.words.depth if config.words else 0, config.statements.reach if config.statements else 0)
    if not depth or not terms:
        return Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
    return reader.by_words(terms, depth, allowed)


def _add_arm(arms: dict[str, Places], name: str, ranking: Ranking) -> None:
    places = Places.of(*ranking)
    arms[name] = arms[name].joined(places) if name in arms else places


def _seqs_of(arms: Mapping[str, Places]) -> Seqs:
    # np.unique would import numpy.ma, which takes a new process as long as a question.
    seqs = np.sort(np.concatenate([np.empty(0, np.int64), *(places.seqs for places in arms.values())]))
    return seqs[np.diff(seqs, prepend=-1) > 0]


def _is_crowded(seqs: Seqs, scope: SearchScope) -> bool:
    """Tell whether tools and pages fill so much of the pool that they may crowd out people's words."""
    if not len(seqs):
        return False
    outlines = scope.reader.outlines(seqs.tolist())
    sources = Counter(one.source for one in outlines.values())
    unvouched = sum(count for source, count in sources.items() if not is_vouched(source))
    return unvouched >= MOST_UNVOUCHED * len(seqs)


def _vouched(scope: SearchScope) -> Seqs:
    """List the allowed events that no tool or page wrote."""
    seqs = scope.reader.matching(Filter(source=tuple(f"!{source}" for source in UNVOUCHED)))
    if seqs is None or scope.allowed is None:
        return np.empty(0, np.int64) if seqs is None else seqs
    return np.intersect1d(seqs, scope.allowed, assume_unique=True)


def _add_time(arms: dict[str, Places], scope: SearchScope, arm: Arm, question: Question | None, time: Window) -> None:
    """Search one time alone: events of other times may match better and crowd its events out."""
    reader, _, terms, model, allowed = scope
    slack = slack_of(time)  # what happened in it, or was told of soon after
    then = reader.matching(Filter(since=_shifted(time.start, -slack), until=_shifted(time.end, slack)))
    if then is not None and allowed is not None:
        then = np.intersect1d(then, allowed, assume_unique=True)
    if then is None or not len(then):
        return
    _add_arm(arms, TIMES_ARM, reader.by_words(terms, arm.depth, then))
    if question is not None and model is not None:
        _add_arm(arms, TIMES_ARM, reader.by_vector(model, question.pooled, arm.depth, then))


def _shifted(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:  # at the ends of the calendar
        return moment


def _by_statements(reader: Reader, terms: Mapping[int, float], seqs: Sequence[int], arm: StatementArm) -> Ranking:
    """Rank events by the share of the question's words in their best statement; rare words count more."""
    statements = reader.statement_texts(seqs)
    matches = [(one, terms.keys() & term_counts(one.content).keys()) for one in statements]
    spread = Counter(term for _, shared in matches for term in shared)
    rarity = {term: math.log1p((len(matches) + 1) / (spread[term] + 1)) for term in terms}
    total = sum(rarity.values())
    best: dict[int, float] = {}
    for statement, shared in matches:
        if len(shared) >= arm.least:
            score = sum(rarity[term] for term in shared) / total * (1.0 if statement.current else arm.past)
            best[statement.seq] = max(score, best.get(statement.seq, 0.0))
    ranked = sorted(best, key=lambda seq: (-best[seq], -seq))[: arm.depth]
    return Ranking(np.array(ranked, np.int64), np.array([best[seq] for seq in ranked], np.float32))


def _fused(arms: Mapping[str, Places], config: SearchConfig, unread: float) -> Candidates:
    """Score and sort candidates by weighted reciprocal rank fusion.

    A score of 1 means first by words and by vectors. `unread` is the share of the question that the model can't read:
    vectors count less by that share.
    """
    configured = (
        (WORDS_ARM, config.words),
        (VECTORS_ARM, config.vectors),
        (TIMES_ARM, config.times),
        (STATEMENTS_ARM, config.statements),
    )
    weights = {name: arm.weight * (1 - unread if name == VECTORS_ARM else 1) for name, arm in configured if arm}
    best = (sum(weights.get(name, 0.0) for name in (WORDS_ARM, VECTORS_ARM)) or 1.0) / (config.rrf_k + 1)
    seqs = _seqs_of(arms)
    totals = np.zeros(len(seqs))
    for name, places in arms.items():
        totals[np.searchsorted(seqs, places.seqs)] += weights[name] / (config.rrf_k + places.ranks)
    scores = totals / best
    order = np.lexsort((-seqs, -scores))
    seqs, scores = seqs[order], scores[order]
    return Candidates(seqs, scores, arms, Places.of(seqs, scores), {}, {})
