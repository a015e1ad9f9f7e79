"""Candidates: each arm ranks events on its own; a candidate keeps what every stage said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from recollect.core.values import Span
from recollect.inference.protocol import Question
from recollect.recall.recipes import Recipe
from recollect.store.postings import Ranking
from recollect.store.protocol import Model, Reader, Seqs

Ask = Callable[[], Question | None]  # encodes the question; None where no model can

WORDS_ARM = "words"
VECTORS_ARM = "vectors"


class Place(NamedTuple):
    """Where a stage put a candidate."""

    score: float
    rank: int


@dataclass(slots=True)
class Candidate:
    """An event on its way to becoming a hit. The only thing in recall that changes: stages add what they found."""

    seq: int
    arms: dict[str, Place] = field(default_factory=dict[str, Place])
    fused: Place | None = None
    late: Place | None = None
    window: Span | None = None  # of a long event, the one that matched best
    score: float = 0.0  # what it is ranked by so far


def gather(
    reader: Reader,
    space: str,
    recipe: Recipe,
    *,
    terms: Mapping[int, float],
    ask: Ask,
    model: Model | None,
    allowed: Seqs | None,
) -> tuple[dict[int, Candidate], Question | None]:
    """Ask each arm of a recipe and join what they found, by event; give also the question as the model sees it."""
    found: dict[int, Candidate] = {}
    question = None
    if recipe.words is not None and terms:
        _take(found, reader.by_words(space, terms, recipe.words.depth, allowed), WORDS_ARM)
    if recipe.vectors is not None and model is not None:
        # The question comes last: in a new process its model is still loading while the rest is read.
        reader.prepare(space, model)
        question = ask()
        if question is not None:
            ranking = reader.by_vector(space, model, question.pooled, recipe.vectors.depth, allowed)
            _take(found, ranking, VECTORS_ARM)
    return found, question


def _take(found: dict[int, Candidate], ranking: Ranking, arm: str) -> None:
    for rank, (seq, score) in enumerate(zip(ranking.seqs.tolist(), ranking.scores.tolist(), strict=True), 1):
        candidate = found.get(seq)
        if candidate is None:
            candidate = found[seq] = Candidate(seq)
        candidate.arms[arm] = Place(score, rank)
