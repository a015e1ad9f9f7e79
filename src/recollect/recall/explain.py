"""Explaining a hit: what each stage said of it, in words. Made only for the few hits that are returned."""

from __future__ import annotations

from recollect.core.values import Score
from recollect.recall.candidates import VECTORS_ARM, WORDS_ARM, Candidate

_WHY = {
    WORDS_ARM: "BM25 over the words of the question",
    VECTORS_ARM: "cosine of the pooled vectors",
}


def explained(candidate: Candidate) -> tuple[Score, ...]:
    """List the stages that touched a candidate, in their order."""
    scores = [
        Score(stage=arm, score=place.score, rank=place.rank, why=_WHY[arm]) for arm, place in candidate.arms.items()
    ]
    if candidate.fused is not None:
        arms = " and ".join(f"{arm} at {place.rank}" for arm, place in candidate.arms.items())
        scores.append(
            Score(stage="fuse", score=candidate.fused.score, rank=candidate.fused.rank, why=f"found by {arms}")
        )
    if candidate.late is not None:
        why = "how well each token of the question is matched, on average"
        scores.append(Score(stage="late", score=candidate.late.score, rank=candidate.late.rank, why=why))
    return tuple(scores)
