"""More than the pool: who asks for more hits than the arms give gets what lies behind them, in fused order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.inference.protocol import Question
from recollect.recall.candidates import Asking, Candidate, gather
from recollect.recall.fuse import fuse
from recollect.recall.recipes import Arm


def beyond(asking: Asking, ranked: Sequence[Candidate], question: Question | None, k: int) -> list[Candidate]:
    """Ask the arms that look at all events for `k`, and give what was not ranked yet, behind all that was.

    So the first hits are the same however many are asked for, and a close look costs what it always does.
    """
    recipe = asking.recipe
    arms = [arm for arm in (recipe.words, recipe.vectors) if arm is not None]
    if len(ranked) >= k or not any(len(ranked) >= arm.depth for arm in arms):  # no arm left anything out
        return []
    deeper = replace(recipe, words=_reaching(recipe.words, k), vectors=_reaching(recipe.vectors, k), times=None)
    found = gather(asking._replace(recipe=deeper), lambda: question, []).found
    known = {candidate.seq for candidate in ranked}
    unread = question.unread if question is not None else 0.0
    more = [candidate for candidate in fuse(found.values(), deeper, unread) if candidate.seq not in known]
    closely = any(candidate.late is not None for candidate in ranked)
    floor = min(candidate.score for candidate in ranked)
    for candidate in more:
        # In the unit of the last one: what was looked at closely is scored otherwise than what was only found.
        candidate.score = floor - 1.0 + min(candidate.score, 1.0) if closely else min(candidate.score, floor)
    return more


def _reaching(arm: Arm | None, k: int) -> Arm | None:
    return None if arm is None else replace(arm, depth=max(arm.depth, k))
