"""Candidates: events on their way to becoming hits, with what every stage found out about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from everyword.retrieval.config import SearchConfig
from everyword.storage.postings import Ranking, Seqs
from everyword.storage.protocol import Reader
from everyword.storage.rows import Model, Outline
from everyword.types.events import Span

WORDS_ARM = "words"
VECTORS_ARM = "vectors"
TIMES_ARM = "then"
STATEMENTS_ARM = "statements"


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


class ChainLink(NamedTuple):
    """How a candidate connects to a better one."""

    strength: float  # share of the seed's rare words
    hop: int


class SubjectMatch(NamedTuple):
    """How much a candidate is about the people whom the question names, from 0 to 1."""

    boost: float  # for ranking
    answer: float  # for judging whether it can answer


@dataclass(slots=True)
class Candidate:
    """An event that may become a hit. It is mutable: each stage adds what it found."""

    seq: int
    arms: dict[str, Placement] = field(default_factory=dict[str, Placement])
    fused: Placement | None = None
    outline: Outline | None = None
    subject: SubjectMatch | None = None  # None where the question names nobody
    late: float | None = None  # how well late interaction matches it; None where it has no token vectors
    rank: int = 0  # among those that late interaction matched, by score
    neighbours: float = 0.0  # what the turns around it added to its match
    chain: ChainLink | None = None
    boosts: dict[str, float] = field(default_factory=dict[str, float])
    reranked: Placement | None = None
    window: Span | None = None  # the best matching window of a long event
    score: float = 0.0  # what it is ranked by so far

    def add_boost(self, name: str, gain: float) -> None:
        """Add to the score, and record why."""
        self.boosts[name] = gain
        self.score += gain


def by_score(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Sort candidates by score; of equal ones the newer comes first."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, -candidate.seq))


def rank_matched(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Sort candidates that late interaction scored, and record their ranks."""
    ordered = by_score(candidates)
    for rank, candidate in enumerate(ordered, 1):
        candidate.rank = rank
    return ordered


def add_ranking(found: dict[int, Candidate], ranking: Ranking, arm: str) -> None:
    """Record the ranks that an arm gives; events that no other arm found become candidates."""
    for rank, (seq, score) in enumerate(zip(ranking.seqs.tolist(), ranking.scores.tolist(), strict=True), 1):
        candidate = found.get(seq)
        if candidate is None:
            candidate = found[seq] = Candidate(seq)
        if arm not in candidate.arms or rank < candidate.arms[arm].rank:
            candidate.arms[arm] = Placement(score, rank)
