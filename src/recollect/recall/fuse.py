"""Fusion: weighted reciprocal rank over the arms."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.recall.candidates import (
    ARTIFACTS_ARM,
    LINKS_ARM,
    PAGERANK_ARM,
    TIMES_ARM,
    TOPDOWN_ARM,
    VECTORS_ARM,
    WORDS_ARM,
    Candidate,
    Place,
)
from recollect.recall.recipes import Recipe


def fuse(candidates: Iterable[Candidate], recipe: Recipe, unread: float = 0.0) -> list[Candidate]:
    """Score each candidate by the ranks its arms gave it; 1 is first in every arm that knows all events.

    Vectors count as far as the model can read the question: `unread` is the share that it can't.
    """
    arms = (
        (WORDS_ARM, recipe.words),
        (VECTORS_ARM, recipe.vectors),
        (TIMES_ARM, recipe.times),
        (ARTIFACTS_ARM, recipe.artifacts),
        (LINKS_ARM, recipe.links),
        (TOPDOWN_ARM, recipe.topdown),
        (PAGERANK_ARM, recipe.pagerank),
    )
    weights = {arm: part.weight * (1 - unread if arm == VECTORS_ARM else 1) for arm, part in arms if part}
    best = (sum(weights.get(arm, 0.0) for arm in (WORDS_ARM, VECTORS_ARM)) or 1.0) / (recipe.rrf_k + 1)
    ranked = list(candidates)
    for candidate in ranked:
        total = sum(weights[arm] / (recipe.rrf_k + place.rank) for arm, place in candidate.arms.items())
        candidate.score = total / best
    ranked.sort(key=lambda candidate: (-candidate.score, -candidate.seq))
    for rank, candidate in enumerate(ranked, 1):
        candidate.fused = Place(candidate.score, rank)
    return ranked
