"""Diversity: where a question asks for several things, hits of several sessions rather than many of one.

Off in the shipped recipes: on development data it costs evidence (docs/benchmarks.md), which mostly stands together.
For a store whose sessions each repeat themselves it is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from recollect.recall.analyse import Analysis, Kind
from recollect.recall.candidates import Candidate
from recollect.recall.recipes import Recipe

DIVERSITY = "diversity"
_SEVERAL = frozenset({Kind.LISTING, Kind.COUNTING, Kind.COMPARING, Kind.CAUSAL})
_LOOKED_AT = 60  # candidates that are ordered anew


def diversify(ranked: Sequence[Candidate], asked: Analysis, recipe: Recipe) -> list[Candidate]:
    """Take off a little for each better hit of the same session, in turn."""
    if not recipe.diversity or asked.kind not in _SEVERAL:
        return list(ranked)
    left = list(ranked[:_LOOKED_AT])
    chosen: list[Candidate] = []
    taken: Counter[str | None] = Counter()
    while left:
        best = max(left, key=lambda candidate: candidate.score - recipe.diversity * taken[_session(candidate)])
        left.remove(best)
        if cost := recipe.diversity * taken[_session(best)]:
            best.boosts[DIVERSITY] = -cost
            best.score -= cost
        taken[_session(best)] += 1
        chosen.append(best)
    return chosen + list(ranked[_LOOKED_AT:])


def _session(candidate: Candidate) -> str | None:
    return candidate.outline.session if candidate.outline is not None else None
