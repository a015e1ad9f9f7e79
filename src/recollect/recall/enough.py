"""How many hits a question asks for, where whoever asks leaves that open: those that come near the best one."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.recall.analyse import Analysis, Kind
from recollect.recall.candidates import Candidate
from recollect.recall.recipes import Recipe

_UNSAID = 10  # hits where no stage scores so that a distance means something
_SEVERAL = frozenset({Kind.LISTING, Kind.COUNTING, Kind.COMPARING, Kind.CAUSAL})


def how_many(ranked: Sequence[Candidate], asked: Analysis, recipe: Recipe) -> int:
    """Count the hits within the recipe's margin of the best; more of them where several things are asked for."""
    enough = recipe.enough
    if enough is None or not ranked or ranked[0].late is None:
        return _UNSAID
    most = enough.several if asked.kind in _SEVERAL else enough.most
    near = sum(candidate.score >= ranked[0].score - enough.margin for candidate in ranked[:most])
    return max(enough.least, near)
