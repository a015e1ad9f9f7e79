"""Second stage: late interaction. Each token of the question looks for its best match among a passage's tokens."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.inference.protocol import LateInteraction, Question
from recollect.recall.candidates import Candidate, Place
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
    by_seq = {candidate.seq: candidate for candidate in candidates[: recipe.rerank_depth]}
    rows = [row for row in reader.passages(space, model, list(by_seq)) if row.tokens]
    if not rows:
        return list(candidates)
    best: dict[int, float] = {}
    for row, late in zip(rows, embedder.late_scores(question, [row.tokens for row in rows]).tolist(), strict=True):
        if late > best.get(row.seq, -1.0):  # a long event counts by its best window
            best[row.seq] = late
            by_seq[row.seq].window = row.span
    ranked = [by_seq[seq] for seq in best]
    for candidate in ranked:
        candidate.score = best[candidate.seq] + recipe.fused_weight * candidate.score
    ranked.sort(key=lambda candidate: (-candidate.score, -candidate.seq))
    for rank, candidate in enumerate(ranked, 1):
        candidate.late = Place(best[candidate.seq], rank)
    return ranked + _behind(ranked, candidates)


def _behind(ranked: Sequence[Candidate], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Put what late interaction did not see after all that it did, in fused order, with scores that say so."""
    floor = ranked[-1].score if ranked else 0.0
    rest = [candidate for candidate in candidates if candidate.late is None]
    for candidate in rest:
        candidate.score = floor - 1.0 + min(candidate.score, 1.0)
    return rest
