"""Intents, computed when they are read from marks of events and from to-do statements.

A correction of a statement moves the deadline of its goal; undoing the statement that closed a goal reopens it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from everyword.engine.engine import Engine
from everyword.knowledge.concepts import topics_of
from everyword.knowledge.legacy.extract.compare import Action
from everyword.knowledge.legacy.fold.clusters import Deed, Goal, Reply, trouble
from everyword.knowledge.legacy.fold.goals import DATED, MarkKind, deadline_in, marks_of
from everyword.knowledge.legacy.fold.intents import crystallise
from everyword.knowledge.legacy.fold.wanting import OWN
from everyword.storage.protocol import MarkFilter, MarkRow, Reader
from everyword.types.events import Event, Span
from everyword.types.ids import raw_event_id
from everyword.types.intents import Evidence, Intent, IntentAnswer, IntentCategory
from everyword.types.statements import BY_HAND, TO_DO, Stance, Statement, StatementKind, Status
from everyword.types.times import as_datetime

_FOLLOWS = frozenset((Action.UPDATE.value, Action.RETRACT.value))  # actions in the journal
_MOST_STEPS = 8  # followed from a statement to its last version


class _Revisions(NamedTuple):
    """The current versions of statements that were replaced."""

    of: Mapping[str, Statement]  # id of a statement -> its last version, if that is current
    later: frozenset[str]  # ids of statements that replace another; these are no goals of their own
    taken_back: frozenset[tuple[str, Span]] = frozenset()  # deeds that were taken back: event id and span


def _revisions_of(reader: Reader, stated: Iterable[Statement]) -> _Revisions:
    """Follow replaced statements through the journal to their last versions."""
    last = {one.id: one.id for one in stated if one.status is not Status.CURRENT}
    later: set[str] = set()
    ended: dict[str, str] = {}  # closed statement -> the one that closed it
    ends = set(last)
    for _ in range(_MOST_STEPS):
        steps: dict[str, str] = {}
        for change in reader.changes(sorted(ends)) if ends else ():
            old, new = change.target_id, change.statement_id
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
    closing = frozenset(ended.values())  # a deed that closed a statement does not replace it
    found = {end: reader.statement(end) for id, end in last.items() if end != id and end not in closing}
    current = {end: one for end, one in found.items() if one is not None and one.status is Status.CURRENT}
    of = {id: current[end] for id, end in last.items() if end in current}
    deeds = (reader.statement(by) for id, by in ended.items() if id in of and of[id].id != by)
    taken_back = frozenset((one.event_id, one.span) for one in deeds if one is not None and one.stance is Stance.DONE)
    return _Revisions(of, frozenset(later), taken_back)


def _with_revised_times(
    goals: Sequence[Goal], stated: Mapping[int, Sequence[Statement]], revisions: _Revisions
) -> list[Goal]:
    """Update the deadlines of goals from revised statements; drop goals that people reworded."""
    followed: list[Goal] = []
    for goal in goals:
        made = [
            one
            for one in stated.get(goal.seq, ())
            if one.id in revisions.of and _overlap(goal.ground.span, one.span)
        ]
        if any(one.kind in TO_DO and _is_by_hand(revisions.of[one.id]) for one in made):
            continue
        followed.append(_timed(goal, made, revisions))
    return followed


def _timed(goal: Goal, made: Sequence[Statement], revisions: _Revisions) -> Goal:
    for one in made:
        deadline, exact = _time_of(revisions.of[one.id])
        if deadline is not None or one.date is not None:
            return replace(goal, deadline=deadline, exact=exact)
    return goal


def _time_of(statement: Statement) -> tuple[datetime | None, bool]:
    """Return the deadline in a statement, and whether it is exact to the day."""
    if statement.date is not None:
        return statement.date.end, statement.date.end - statement.date.start <= timedelta(days=1)
    if _is_by_hand(statement) and statement.valid_from is not None:
        return deadline_in(statement.quote, statement.valid_from)
    return None, True


def _is_by_hand(statement: Statement) -> bool:
    """Tell whether a statement is a person's correction."""
    return statement.extractor == BY_HAND


def _overlap(one: Span, other: Span) -> bool:
    """Tell whether two spans overlap."""
    return one.start < other.end and other.start < one.end


# How many of the newest are read. Older goals have expired or were repeated.
MOST_GOALS = 500
MOST_DEEDS = 4_000
MOST_TROUBLES = 1_000
MOST_REPLIES = 1_000
MOST_TODOS = 500
_RETRACT = "retract"  # actions in the journal
_MOST_CACHED = 64  # lists of intents: a service with many tenants keeps those of the busy ones


# Writing


def marks_in(seq: int, event: Event) -> list[MarkRow]:
    """Find the marks in an event."""
    return [MarkRow(seq, mark.kind.value, mark.span, mark.body) for mark in marks_of(event)]


# Intents


class _IntentCache:
    """The intents that were last computed, by space, wing and time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: dict[tuple[str, str | None, datetime], tuple[object, list[Intent]]] = {}


def cached_intents(engine: Engine, reader: Reader, *, wing: str | None, now: datetime) -> list[Intent]:
    """Compute the intents of a snapshot, or return those computed before if nothing changed since.

    `now` must be rounded to a minute or a day, or the cache never hits.
    """
    cache = engine.cache(_IntentCache)
    # Intents depend on these: the log, how far the views are, and what was taken back of the concepts.
    version = (reader.file.pulse(), reader.cursors(), reader.fold_mark())
    key = (reader.space, wing, now)
    with cache.lock:
        kept = cache.kept.get(key)
    if kept is not None and kept[0] == version:
        return kept[1]
    found = intents_in(reader, now=now, wing=wing)
    with cache.lock:
        cache.kept.pop(key, None)
        cache.kept[key] = (version, found)
        while len(cache.kept) > _MOST_CACHED:
            cache.kept.pop(next(iter(cache.kept)))
    return found


def intents_in(
    reader: Reader, *, now: datetime, wing: str | None = None, as_of: datetime | None = None
) -> list[Intent]:
    """Compute the intents of a snapshot, the most pressing first."""
    which = MarkFilter(wing=wing, as_of=as_of)
    goal_rows = reader.marks(MarkKind.GOAL, which, limit=MOST_GOALS)
    todos = [] if as_of is not None else reader.newest_statements(TO_DO, limit=MOST_TODOS)
    if not goal_rows and not todos:
        return []
    deed_rows = reader.marks(MarkKind.DEED, which, limit=MOST_DEEDS)
    trouble_rows = reader.marks(MarkKind.TROUBLE, which, limit=MOST_TROUBLES)
    reply_rows = reader.marks(MarkKind.ANSWER, which, limit=MOST_REPLIES)
    rows = [*goal_rows, *deed_rows, *trouble_rows, *reply_rows]
    events = reader.fetch(sorted({*(row.seq for row in rows), *(seq for seq, _ in todos)}))
    closing = _closing(reader, [todo for _, todo in todos])
    goals = [_goal(row, events[row.seq]) for row in goal_rows]
    # With as_of only the words count, because statements are stored in their current state.
    stated = {} if as_of is not None else reader.statements_of(sorted({row.seq for row in goal_rows}))
    revisions = _revisions_of(
        reader, [*(one for several in stated.values() for one in several), *(one for _, one in todos)]
    )
    goals = _with_todos(_with_revised_times(goals, stated, revisions), todos, events, closing, revisions, wing)
    deeds = [
        Deed(seq=row.seq, ground=_ground(events[row.seq], row.span), session=events[row.seq].session)
        for row in deed_rows
        if not any(events[row.seq].id == id and _overlap(row.span, span) for id, span in revisions.taken_back)
    ]
    troubles = [trouble(row.seq, _ground(events[row.seq], row.span), events[row.seq].session) for row in trouble_rows]
    replies = [_reply(row, events[row.seq]) for row in reply_rows]
    topics = topics_of(reader, sorted({goal.seq for goal in goals}), wing=wing, as_of=as_of)
    goals = [replace(goal, topics=topics.of_event.get(goal.seq, ())) for goal in goals]
    return crystallise(goals, deeds, replies, topics.by_id, now=now, troubles=troubles)


def _goal(row: MarkRow, event: Event) -> Goal:
    body: Mapping[str, Any] = row.body
    start, end = body["clause"]
    near = body.get("near")  # optional
    return Goal(
        seq=row.seq,
        ground=_ground(event, row.span),
        session=event.session,
        category=IntentCategory(body["category"]),
        strength=body["strength"],
        clause=event.text[start:end],
        deadline=as_datetime(body["deadline"]) if body["deadline"] else None,
        exact=bool(body["exact"]),
        near=event.text[near[0] : near[1]] if near else None,
        moved=bool(body.get("moved")),
    )


def _with_todos(
    goals: Sequence[Goal],
    todos: Sequence[tuple[int, Statement]],
    events: Mapping[int, Event],
    closing: Mapping[str, Evidence],
    revisions: _Revisions,
    wing: str | None,
) -> list[Goal]:
    """Close the goals that share words with a closed to-do, and add other to-dos as goals."""
    found = list(goals)
    places: dict[int, list[int]] = {}
    for place, goal in enumerate(found):
        places.setdefault(goal.seq, []).append(place)
    for seq, todo in todos:
        event = events[seq]
        if wing is not None and event.wing != wing:
            continue
        revision = revisions.of.get(todo.id)
        closed_by = None if revision is not None else closing.get(todo.id)
        place = next((p for p in places.get(seq, ()) if _overlap(found[p].ground.span, todo.span)), None)
        if place is not None:
            found[place] = replace(found[place], closed_by=closed_by)
        elif _is_goal(todo, revision, closing, revisions):
            found.append(_of_todo(seq, todo, revision or todo, event, closed_by))
    return found


def _is_goal(
    todo: Statement, revision: Statement | None, closing: Mapping[str, Evidence], revisions: _Revisions
) -> bool:
    """Tell whether a to-do is a goal of its own; "no, on Friday" belongs to the goal that it corrects."""
    if todo.id in revisions.later and not _is_by_hand(todo):
        return False
    if revision is not None:
        return revision.kind in TO_DO and not _is_by_hand(revision)
    return todo.status is Status.CURRENT or todo.id in closing


def _of_todo(seq: int, todo: Statement, last: Statement, event: Event, closed_by: Evidence | None) -> Goal:
    deadline, exact = _time_of(last)
    return Goal(
        seq=seq,
        ground=_ground(event, todo.span),
        session=event.session,
        category=IntentCategory.REMINDER if todo.kind is StatementKind.REMINDER else IntentCategory.TASK,
        strength=OWN + (DATED if deadline else 0.0),
        clause=todo.quote,
        deadline=deadline,
        exact=exact,
        closed_by=closed_by,
    )


def _closing(reader: Reader, todos: Sequence[Statement]) -> dict[str, Evidence]:
    """Find the events that closed to-dos, in the journal."""
    done = [todo.id for todo in todos if todo.status is Status.RETRACTED]
    by = {
        change.target_id: change.event_id
        for change in reader.changes(done)
        if change.target_id is not None and change.event_id is not None and change.action == _RETRACT
    }
    raw = {id: raw_event_id(id) for id in by.values()}
    events = reader.find([one for one in raw.values() if one is not None])
    closing: dict[str, Evidence] = {}
    for target, id in by.items():
        known = events.get(raw[id] or b"")
        if known is not None:
            closing[target] = _ground(known.event, Span(0, len(known.event.text)))
    return closing


def _reply(row: MarkRow, event: Event) -> Reply:
    body: Mapping[str, Any] = row.body
    return Reply(
        seq=row.seq,
        ground=_ground(event, row.span),
        session=event.session,
        intent=body["intent"],
        answer=IntentAnswer(body["answer"]),
        until=as_datetime(body["until"]) if body["until"] else None,
    )


def _ground(event: Event, span: Span) -> Evidence:
    return Evidence(
        event_id=event.id, span=span, quote=event.text[span.start : span.end], at=event.at, speaker=event.speaker
    )

