"""Candidates: each arm ranks events on its own; a candidate keeps what every arm said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from recollect.core.values import Score, Span
from recollect.inference.protocol import Question
from recollect.recall.recipes import Recipe
from recollect.store.postings import Ranking
from recollect.store.protocol import Model, Reader, Seqs

Ask = Callable[[], Question | None]  # encodes the question; None where no model can

WORDS_ARM = "words"
VECTORS_ARM = "vectors"


@dataclass(slots=True)
class Candidate:
    """An event on its way to becoming a hit. The only thing in recall that changes: stages add what they found."""

    seq: int
    ranks: dict[str, int] = field(default_factory=dict[str, int])
    scores: list[Score] = field(default_factory=list[Score])
    score: float = 0.0
    window: Span | None = None


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
        ranking = reader.by_words(space, terms, recipe.words.depth, allowed)
        _take(found, ranking, WORDS_ARM, f"BM25 over {len(terms)} terms of the question")
    if recipe.vectors is not None and model is not None:
        # The question comes last: in a new process its model is still loading while the rest is read.
        reader.prepare(space, model)
        question = ask()
        if question is not None:
            ranking = reader.by_vector(space, model, question.pooled, recipe.vectors.depth, allowed)
            _take(found, ranking, VECTORS_ARM, f"cosine of pooled vectors, {model.name}")
    return found, question


def _take(found: dict[int, Candidate], ranking: Ranking, arm: str, why: str) -> None:
    for rank, (seq, score) in enumerate(zip(ranking.seqs.tolist(), ranking.scores.tolist(), strict=True), 1):
        candidate = found.setdefault(seq, Candidate(seq))
        candidate.ranks[arm] = rank
        candidate.scores.append(Score(stage=arm, score=score, rank=rank, why=why))
