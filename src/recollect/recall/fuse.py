"""Fusion: weighted reciprocal rank over the arms."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.recall.candidates import (
    PAGERANK_ARM,
    TIMES_ARM,
    TOPDOWN_ARM,
    VECTORS_ARM,
    WORDS_ARM,
    Candidate,
    Place,
)
from recollect.recall.recipes import Recipe


def fuse(candidates: Iterable[Candidate], recipe: Recipe) -> list[Candidate]:
    """Score each candidate by the ranks its arms gave it; 1 is first in every arm that knows all events."""
    knowing_all = ((WORDS_ARM, recipe.words), (VECTORS_ARM, recipe.vectors))
    knowing_some = ((TIMES_ARM, recipe.times), (TOPDOWN_ARM, recipe.topdown), (PAGERANK_ARM, recipe.pagerank))
    weights = {arm: part.weight for arm, part in (*knowing_all, *knowing_some) if part}
    best = sum(part.weight for _, part in knowing_all if part) / (recipe.rrf_k + 1)
    ranked = list(candidates)
    for candidate in ranked:
        total = sum(weights[arm] / (recipe.rrf_k + place.rank) for arm, place in candidate.arms.items())
        candidate.score = total / best
    ranked.sort(key=lambda candidate: (-candidate.score, -candidate.seq))
    for rank, candidate in enumerate(ranked, 1):
        candidate.fused = Place(candidate.score, rank)
    return ranked
