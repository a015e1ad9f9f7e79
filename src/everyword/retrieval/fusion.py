"""Reciprocal rank fusion of the candidate arms."""

from __future__ import annotations

from collections.abc import Iterable

from everyword.retrieval.candidates import (
    STATEMENTS_ARM,
    TIMES_ARM,
    VECTORS_ARM,
    WORDS_ARM,
    Candidate,
    Placement,
    by_score,
)
from everyword.retrieval.config import SearchConfig


def reciprocal_rank_fusion(
    candidates: Iterable[Candidate], config: SearchConfig, unread: float = 0.0
) -> list[Candidate]:
    """Score and sort candidates by the weighted reciprocal ranks that the arms gave them.

    A score of 1 means first by words and by vectors. `unread` is the share of the question that the model can't read:
    vectors count less by that share.
    """
    arms = (
        (WORDS_ARM, config.words),
        (VECTORS_ARM, config.vectors),
        (TIMES_ARM, config.times),
        (STATEMENTS_ARM, config.statements),
    )
    weights = {name: arm.weight * (1 - unread if name == VECTORS_ARM else 1) for name, arm in arms if arm}
    best = (sum(weights.get(name, 0.0) for name in (WORDS_ARM, VECTORS_ARM)) or 1.0) / (config.rrf_k + 1)
    fused = list(candidates)
    for candidate in fused:
        total = 0.0
        for name, place in candidate.arms.items():
            total += weights[name] / (config.rrf_k + place.rank)
        candidate.score = total / best
    fused = by_score(fused)
    for rank, candidate in enumerate(fused, 1):
        candidate.fused = Placement(candidate.score, rank)
    return fused
