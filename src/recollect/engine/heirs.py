"""What became of the statements that goals make: a correction moves a goal's time, and taking one back reopens it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from recollect.core.artifacts import BY_HAND, TO_DO, Artifact, Stance, Status
from recollect.core.values import Span
from recollect.extract.compare import Action
from recollect.fold.clusters import Goal
from recollect.fold.goals import deadline_in
from recollect.store.protocol import Reader

_FOLLOWS = frozenset((Action.UPDATE.value, Action.RETRACT.value))  # as the journal says it
_MOST_STEPS = 8  # from a statement to its last version; what is corrected more often is read where it stands then


class Heirs(NamedTuple):
    """What holds now in the place of statements that hold no more."""

    of: Mapping[str, Artifact]  # a statement -> its last version, where that one is current
    later: frozenset[str]  # all that follow another statement: they are no goals by themselves
    taken_back: frozenset[tuple[str, Span]] = frozenset()  # deeds that did not happen: event, and where in it


def heirs_of(reader: Reader, space: str, stated: Iterable[Artifact]) -> Heirs:
    """Follow statements through the journal to what stands in their place."""
    last = {one.id: one.id for one in stated if one.status is not Status.CURRENT}
    later: set[str] = set()
    ended: dict[str, str] = {}  # what was settled -> by what
    ends = set(last)
    for _ in range(_MOST_STEPS):
        steps: dict[str, str] = {}
        for change in reader.changes(space, sorted(ends)) if ends else ():
            old, new = change.target_id, change.artifact_id
            if old is None or new is None or old not in ends or change.action not in _FOLLOWS:
                continue
            steps[old] = new
            if change.action == Action.RETRACT:
                ended[old] = new
        last = {id: steps.get(end, end) for id, end in last.items()}
        ends = set(steps.values()) - later
        later |= ends
        if not ends:
            break
    closing = frozenset(ended.values())  # the deed that settled something does not stand in its place
    found = {end: reader.artifact(space, end) for id, end in last.items() if end != id and end not in closing}
    current = {end: one for end, one in found.items() if one is not None and one.status is Status.CURRENT}
    of = {id: current[end] for id, end in last.items() if end in current}
    deeds = (reader.artifact(space, by) for id, by in ended.items() if id in of and of[id].id != by)
    taken_back = frozenset((one.event_id, one.span) for one in deeds if one is not None and one.stance is Stance.DONE)
    return Heirs(of, frozenset(later), taken_back)


def put_right(goals: Sequence[Goal], stated: Mapping[int, Sequence[Artifact]], heirs: Heirs) -> list[Goal]:
    """Let the times of goals follow what took the place of their words; what was reworded by hand is another goal."""
    followed: list[Goal] = []
    for goal in goals:
        made = [one for one in stated.get(goal.seq, ()) if one.id in heirs.of and overlap(goal.ground.span, one.span)]
        if any(one.kind in TO_DO and is_by_hand(heirs.of[one.id]) for one in made):
            continue
        followed.append(_timed(goal, made, heirs))
    return followed


def _timed(goal: Goal, made: Sequence[Artifact], heirs: Heirs) -> Goal:
    for one in made:
        deadline, exact = time_of(heirs.of[one.id])
        if deadline is not None or one.date is not None:
            return replace(goal, deadline=deadline, exact=exact)
    return goal


def time_of(statement: Artifact) -> tuple[datetime | None, bool]:
    """Tell by when a statement says that something is due, and whether to the day."""
    if statement.date is not None:
        return statement.date.end, statement.date.end - statement.date.start <= timedelta(days=1)
    if is_by_hand(statement) and statement.valid_from is not None:
        return deadline_in(statement.quote, statement.valid_from)
    return None, True


def is_by_hand(statement: Artifact) -> bool:
    """Tell whether a person wrote a statement to correct another."""
    return statement.extractor == BY_HAND


def overlap(one: Span, other: Span) -> bool:
    """Tell whether two places in a text have words in common."""
    return one.start < other.end and other.start < one.end
