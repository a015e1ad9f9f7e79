"""Recency: where a question asks what is so now, what was said lately counts more.

How long ago is long follows from the talk itself: a Weibull decay whose scale is the median gap between the times of
the best candidates. Only a question that says "now" or the like is meant: for every question in the present tense it
costs more evidence than it brings (docs/benchmarks.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from recollect.recall.analyse import Analysis
from recollect.recall.candidates import Candidate
from recollect.recall.recipes import Recipe

RECENT = "recency"
_LOOKED_AT = 40  # candidates that gain, and whose times tell what a long time is
_SHAPE = 0.5  # under 1: much is forgotten soon, and the rest slowly


def freshen(ranked: Sequence[Candidate], asked: Analysis, recipe: Recipe) -> list[Candidate]:
    """Add to each of the best candidates what it gains for being recent, and order them anew."""
    first = [candidate for candidate in ranked[:_LOOKED_AT] if candidate.outline is not None]
    times = sorted({candidate.outline.effective_at for candidate in first if candidate.outline is not None})
    if not recipe.recency or not asked.says_now or len(times) < 2:
        return list(ranked)
    scale = median(later - earlier for earlier, later in pairwise(times))
    for candidate in first:
        assert candidate.outline is not None
        age = times[-1] - candidate.outline.effective_at
        gain = recipe.recency * math.exp(-((age / scale) ** _SHAPE))
        candidate.boosts[RECENT] = gain
        candidate.score += gain
    return sorted(ranked, key=lambda candidate: (-candidate.score, -candidate.seq))
