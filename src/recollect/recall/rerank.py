"""Second stage: late interaction. Each token of the question looks for its best match among a passage's tokens."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.core.values import Score
from recollect.inference.protocol import LateInteraction, Question
from recollect.recall.candidates import Candidate
from recollect.recall.recipes import Recipe
from recollect.store.protocol import Model, Reader


def rerank(
    reader: Reader,
    space: str,
    recipe: Recipe,
    candidates: Sequence[Candidate],
    *,
    question: Question,
    model: Model,
    embedder: LateInteraction,
) -> list[Candidate]:
    """Order the best fused candidates by MaxSim; a candidate without token vectors keeps its place behind them."""
    head = candidates[: recipe.rerank_depth]
    by_seq = {candidate.seq: candidate for candidate in head}
    rows = [row for row in reader.passages(space, model, list(by_seq)) if row.tokens]
    if not rows:
        return list(candidates)
    scored: set[int] = set()
    for row, late in zip(rows, embedder.late_scores(question, [row.tokens for row in rows]).tolist(), strict=True):
        candidate = by_seq[row.seq]
        if row.seq not in scored or late > candidate.score:  # a long event counts by its best window
            candidate.score, candidate.window = late, row.span
            scored.add(row.seq)
    ranked = [candidate for candidate in head if candidate.seq in scored]
    for candidate in ranked:
        fused = candidate.scores[-1].score
        candidate.scores.append(
            Score(stage="late", score=candidate.score, why="mean best match of the question's tokens")
        )
        candidate.score += recipe.fused_weight * fused
    ranked.sort(key=lambda candidate: (-candidate.score, -candidate.seq))
    for rank, candidate in enumerate(ranked, 1):
        last = candidate.scores[-1]
        candidate.scores[-1] = Score(stage=last.stage, score=last.score, rank=rank, why=last.why)
    # What late interaction did not see comes after all that it did, in fused order, with scores that say so.
    rest = [candidate for candidate in candidates if candidate.seq not in scored]
    floor = min((candidate.score for candidate in ranked), default=0.0)
    for candidate in rest:
        candidate.score = floor - 1.0 + min(candidate.score, 1.0)
    return ranked + rest
