"""Candidates: each arm ranks events on its own; a candidate keeps what every stage said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from recollect.core.trust import UNVOUCHED, is_vouched
from recollect.core.values import Filter, Span
from recollect.inference.protocol import Question
from recollect.recall.recipes import Arm, Recipe
from recollect.store.postings import Ranking
from recollect.store.protocol import Model, Outline, Reader, Seqs

Ask = Callable[[], Question | None]  # encodes the question; None where no model can

MOST_UNVOUCHED = 0.5  # share of the pool from which on the arms are asked once more, of other sources alone

WORDS_ARM = "words"
VECTORS_ARM = "vectors"
TIMES_ARM = "then"
ARTIFACTS_ARM = "artifacts"
LINKS_ARM = "links"
TOPDOWN_ARM = "topdown"
PAGERANK_ARM = "pagerank"


class Place(NamedTuple):
    """Where a stage put a candidate."""

    score: float
    rank: int


class Beside(NamedTuple):
    """What the turns around a candidate added to its match."""

    gain: float
    seed: int | None  # the candidate beside which it was found, where no arm found it by itself


class Linked(NamedTuple):
    """How a candidate hangs together with a better one."""

    seed: int
    strength: float  # share of the rare words of that one
    hop: int


class About(NamedTuple):
    """How much a candidate is about whom the question names, from 0 to 1."""

    favour: float  # for ranking
    answer: float  # for telling whether it can answer


@dataclass(slots=True)
class Candidate:
    """An event on its way to becoming a hit. The only thing in recall that changes: stages add what they found."""

    seq: int
    arms: dict[str, Place] = field(default_factory=dict[str, Place])
    fused: Place | None = None
    outline: Outline | None = None
    about: About | None = None  # None where the question names nobody
    states: bool | None = None  # whether what it states is current; None where it states nothing
    late: Place | None = None
    beside: Beside | None = None
    linked: Linked | None = None
    boosts: dict[str, float] = field(default_factory=dict[str, float])
    reread: Place | None = None
    window: Span | None = None  # of a long event, the one that matched best
    score: float = 0.0  # what it is ranked by so far


def in_order(seen: Iterable[Candidate]) -> list[Candidate]:
    """Order candidates that were looked at closely, and note their places; of equal ones the newer comes first."""
    ordered = sorted(seen, key=lambda candidate: (-candidate.score, -candidate.seq))
    for rank, candidate in enumerate(ordered, 1):
        if candidate.late is not None:
            candidate.late = Place(candidate.late.score, rank)
    return ordered


class Asking(NamedTuple):
    """Whom a question is put to, and what of it may answer."""

    reader: Reader
    space: str
    recipe: Recipe
    terms: Mapping[int, float]
    model: Model | None
    allowed: Seqs | None  # None: everything


class Gathered(NamedTuple):
    """What the arms found, by event."""

    found: dict[int, Candidate]
    question: Question | None  # as the model sees it
    by_words: Ranking  # as deep as any arm needs


def gather(asking: Asking, ask: Ask, times: Sequence[Filter]) -> Gathered:
    """Ask each arm of a recipe that looks at all events, and join what they found."""
    found: dict[int, Candidate] = {}
    question, by_words = _ask_arms(found, asking, ask)
    if _crowded(found, asking) and len(vouched := _vouched(asking)):
        _ask_arms(found, asking._replace(allowed=vouched), lambda: question)
    if asking.recipe.times is not None:
        for time in times:
            _take_time(found, asking, asking.recipe.times, question, time)
    return Gathered(found, question, by_words)


def _ask_arms(found: dict[int, Candidate], asking: Asking, ask: Ask) -> tuple[Question | None, Ranking]:
    """Rank events by words and by vectors."""
    reader, space, recipe, _, model, allowed = asking
    question = None
    by_words = _by_words(asking)
    if recipe.words is not None:
        depth = recipe.words.depth
        take(found, Ranking(by_words.seqs[:depth], by_words.scores[:depth]), WORDS_ARM)
    if recipe.vectors is not None and model is not None:
        # The question comes last: in a new process its model is still loading while the rest is read.
        reader.prepare(space, model)
        question = ask()
        if question is not None:
            ranking = reader.by_vector(space, model, question.pooled, recipe.vectors.depth, allowed)
            take(found, ranking, VECTORS_ARM)
    return question, by_words


def _crowded(found: Mapping[int, Candidate], asking: Asking) -> bool:
    """Tell whether tools and pages take so much of the pool that a person's words may not be in it."""
    if not found:
        return False
    outlines = asking.reader.outlines(asking.space, list(found))
    return sum(not is_vouched(one.source) for one in outlines.values()) >= MOST_UNVOUCHED * len(found)


def _vouched(asking: Asking) -> Seqs:
    """List the events that may answer and are of no tool or page; none where that is what was asked for."""
    seqs = asking.reader.matching(asking.space, Filter(source=tuple(f"!{source}" for source in UNVOUCHED)))
    if seqs is None or asking.allowed is None:
        return np.empty(0, np.int64) if seqs is None else seqs
    return np.intersect1d(seqs, asking.allowed, assume_unique=True)


def take(found: dict[int, Candidate], ranking: Ranking, arm: str) -> None:
    """Note the places that an arm gives, and make candidates of the events that no other arm found."""
    for rank, (seq, score) in enumerate(zip(ranking.seqs.tolist(), ranking.scores.tolist(), strict=True), 1):
        candidate = found.get(seq)
        if candidate is None:
            candidate = found[seq] = Candidate(seq)
        if arm not in candidate.arms or rank < candidate.arms[arm].rank:
            candidate.arms[arm] = Place(score, rank)


def _by_words(asking: Asking) -> Ranking:
    reader, space, recipe, terms, _, allowed = asking
    depth = max(recipe.words.depth if recipe.words else 0, recipe.artifacts.reach if recipe.artifacts else 0)
    if not depth or not terms:
        return Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
    return reader.by_words(space, terms, depth, allowed)


def _take_time(found: dict[int, Candidate], asking: Asking, arm: Arm, question: Question | None, time: Filter) -> None:
    """Ask the same of a time alone: what was said then may be drowned by what is said of it always."""
    reader, space, _, terms, model, allowed = asking
    then = reader.matching(space, time)
    if then is not None and allowed is not None:
        then = np.intersect1d(then, allowed, assume_unique=True)
    if then is None or not len(then):
        return
    take(found, reader.by_words(space, terms, arm.depth, then), TIMES_ARM)
    if question is not None and model is not None:
        take(found, reader.by_vector(space, model, question.pooled, arm.depth, then), TIMES_ARM)
