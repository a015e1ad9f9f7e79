"""What a memory holds before its reader unasked: marks with each write, intents and beliefs when they are asked for.

Only marks are stored. What they come to depends on the clock and on what came later, so it is computed from the newest
of them in one snapshot: rebuilding and forgetting have nothing else to undo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from recollect.core.artifacts import TO_DO, Artifact, ArtifactKind, Status
from recollect.core.attention import Belief, Evidence, Intent, IntentAnswer, IntentCategory
from recollect.core.clock import as_datetime
from recollect.core.ids import raw_event_id
from recollect.core.values import Event, Span
from recollect.engine.heirs import Heirs, heirs_of, is_by_hand, overlap, put_right, time_of
from recollect.engine.topics import topics_of
from recollect.fold.beliefs import State, beliefs, states_of, watched
from recollect.fold.clusters import Deed, Goal, Reply, trouble
from recollect.fold.goals import DATED, MarkKind, marks_of
from recollect.fold.intents import crystallise
from recollect.fold.wanting import OWN
from recollect.store.attention import MarkFilter, MarkRow
from recollect.store.protocol import Reader, Store, Writer

# How many of the newest are looked at. What is older than so many goals has expired, or was said again.
MOST_GOALS = 500
MOST_DEEDS = 4_000
MOST_TROUBLES = 1_000
MOST_REPLIES = 1_000
MOST_TODOS = 500
MOST_STATES = 2_000
HEARD_STATES = 300  # of the newest: for these it is looked up who else was in the conversation
HEARD_TURNS = 20  # before a sentence: whoever spoke in them hears it
_RETRACT = "retract"  # as the journal says it
_MARKED_AT_ONCE = 500  # events marked in one transaction


# Writing


def marks_in(event: Event) -> tuple[MarkRow, ...]:
    """Read what attention rests on in an event. Pure; its seq follows when it has one."""
    return tuple(MarkRow(0, mark.kind.value, mark.span, mark.body) for mark in (*marks_of(event), *states_of(event)))


def mark(writer: Writer, space: str, marks: Mapping[int, Sequence[MarkRow]] | None, first: int) -> None:
    """Keep the marks of new events, unless earlier ones must come first; None leaves them for later."""
    if writer.marked_upto(space) is not None:
        return
    if marks is None:
        writer.owe_marks(space, first - 1)
    else:
        writer.put_marks(space, [row._replace(seq=seq) for seq, rows in marks.items() for row in rows])


def mark_behind(store: Store, space: str) -> int:
    """Mark the events that are behind, some at a time; count them."""
    total, done = 0, _MARKED_AT_ONCE
    while done == _MARKED_AT_ONCE:
        with store.writer() as writer:
            done = mark_some(writer, space, limit=_MARKED_AT_ONCE)
        total += done
    return total


def mark_some(writer: Writer, space: str, *, limit: int) -> int:
    """Mark some of the events that are behind, in their order; tell how many there were."""
    upto = writer.marked_upto(space)
    if upto is None:
        return 0
    rows = writer.log(space, after=upto, limit=limit)
    writer.put_marks(space, [row._replace(seq=seq) for seq, event in rows for row in marks_in(event)])
    # Under the turn to write nobody can add more: a short page is the last one.
    writer.owe_marks(space, rows[-1][0] if len(rows) == limit else None)
    return len(rows)


# Intents


def intents_in(
    reader: Reader, space: str, *, now: datetime, wing: str | None = None, as_of: datetime | None = None
) -> list[Intent]:
    """Compute the intents of a snapshot, the most pressing first."""
    which = MarkFilter(wing=wing, as_of=as_of)
    goal_rows = reader.marks(space, MarkKind.GOAL, which, limit=MOST_GOALS)
    todos = [] if as_of is not None else reader.newest_artifacts(space, TO_DO, limit=MOST_TODOS)
    if not goal_rows and not todos:
        return []
    deed_rows = reader.marks(space, MarkKind.DEED, which, limit=MOST_DEEDS)
    trouble_rows = reader.marks(space, MarkKind.TROUBLE, which, limit=MOST_TROUBLES)
    reply_rows = reader.marks(space, MarkKind.ANSWER, which, limit=MOST_REPLIES)
    rows = [*goal_rows, *deed_rows, *trouble_rows, *reply_rows]
    events = reader.fetch(space, sorted({*(row.seq for row in rows), *(seq for seq, _ in todos)}))
    closing = _closing(reader, space, [todo for _, todo in todos])
    goals = [_goal(row, events[row.seq]) for row in goal_rows]
    # What was known at an earlier time is told by its own words: statements are compared as they stand now.
    stated = {} if as_of is not None else reader.artifacts_of(space, sorted({row.seq for row in goal_rows}))
    heirs = heirs_of(
        reader, space, [*(one for several in stated.values() for one in several), *(one for _, one in todos)]
    )
    goals = _with_todos(put_right(goals, stated, heirs), todos, events, closing, heirs, wing)
    deeds = [
        Deed(seq=row.seq, ground=_ground(events[row.seq], row.span), session=events[row.seq].session)
        for row in deed_rows
        if not any(events[row.seq].id == id and overlap(row.span, span) for id, span in heirs.taken_back)
    ]
    troubles = [trouble(row.seq, _ground(events[row.seq], row.span), events[row.seq].session) for row in trouble_rows]
    replies = [_reply(row, events[row.seq]) for row in reply_rows]
    topics = topics_of(reader, space, sorted({goal.seq for goal in goals}), wing=wing, as_of=as_of)
    goals = [replace(goal, topics=topics.of_event.get(goal.seq, ())) for goal in goals]
    return crystallise(goals, deeds, replies, topics.by_id, now=now, troubles=troubles)


def _goal(row: MarkRow, event: Event) -> Goal:
    body: Mapping[str, Any] = row.body
    start, end = body["clause"]
    near = body.get("near")  # marks of older versions have none
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
    todos: Sequence[tuple[int, Artifact]],
    events: Mapping[int, Event],
    closing: Mapping[str, Evidence],
    heirs: Heirs,
    wing: str | None,
) -> list[Goal]:
    """Let what was to be done add its end to the goals of the same words, or be goals of their own."""
    found = list(goals)
    places: dict[int, list[int]] = {}
    for place, goal in enumerate(found):
        places.setdefault(goal.seq, []).append(place)
    for seq, todo in todos:
        event = events[seq]
        if wing is not None and event.wing != wing:
            continue
        heir = heirs.of.get(todo.id)
        closed_by = None if heir is not None else closing.get(todo.id)
        place = next((p for p in places.get(seq, ()) if overlap(found[p].ground.span, todo.span)), None)
        if place is not None:
            found[place] = replace(found[place], closed_by=closed_by)
        elif _is_goal(todo, heir, closing, heirs):
            found.append(_of_todo(seq, todo, heir or todo, event, closed_by))
    return found


def _is_goal(todo: Artifact, heir: Artifact | None, closing: Mapping[str, Evidence], heirs: Heirs) -> bool:
    """Tell whether what was to be done is a goal by itself; "no, on Friday" has its place in what it corrects."""
    if todo.id in heirs.later and not is_by_hand(todo):
        return False
    if heir is not None:
        return heir.kind in TO_DO and not is_by_hand(heir)
    return todo.status is Status.CURRENT or todo.id in closing


def _of_todo(seq: int, todo: Artifact, last: Artifact, event: Event, closed_by: Evidence | None) -> Goal:
    deadline, exact = time_of(last)
    return Goal(
        seq=seq,
        ground=_ground(event, todo.span),
        session=event.session,
        category=IntentCategory.REMINDER if todo.kind is ArtifactKind.REMINDER else IntentCategory.TASK,
        strength=OWN + (DATED if deadline else 0.0),
        clause=todo.quote,
        deadline=deadline,
        exact=exact,
        closed_by=closed_by,
    )


def _closing(reader: Reader, space: str, todos: Sequence[Artifact]) -> dict[str, Evidence]:
    """Find the words that settled what was to be done, by the journal."""
    done = [todo.id for todo in todos if todo.status is Status.RETRACTED]
    by = {
        change.target_id: change.event_id
        for change in reader.changes(space, done)
        if change.target_id is not None and change.event_id is not None and change.action == _RETRACT
    }
    raw = {id: raw_event_id(id) for id in by.values()}
    events = reader.find(space, [one for one in raw.values() if one is not None])
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


# Beliefs


def beliefs_in(
    reader: Reader,
    space: str,
    *,
    holder: str | None = None,
    thing: str | None = None,
    of: str | None = None,
    wing: str | None = None,
    as_of: datetime | None = None,
) -> list[Belief]:
    """Work out who believes what in a snapshot."""
    rows = reader.marks(space, MarkKind.STATE, MarkFilter(wing=wing, as_of=as_of), limit=MOST_STATES)
    events = reader.fetch(space, sorted({row.seq for row in rows}))
    heard = _hearers(reader, space, sorted({row.seq for row in rows[:HEARD_STATES]}))
    states = [
        State(
            seq=row.seq,
            ground=_ground(events[row.seq], row.span),
            session=events[row.seq].session,
            body=row.body,
            hearers=heard.get(row.seq, ()),
        )
        for row in rows
    ]
    return beliefs(watched(states), holder=holder, thing=thing, of=of)


def _hearers(reader: Reader, space: str, seqs: Iterable[int]) -> dict[int, tuple[str, ...]]:
    before = {seq: reader.said_earlier(space, seq, limit=HEARD_TURNS) for seq in seqs}
    outlines = reader.outlines(space, sorted({one for turns in before.values() for one in turns}))
    return {
        seq: tuple(dict.fromkeys(who for one in turns if one in outlines and (who := outlines[one].speaker)))
        for seq, turns in before.items()
    }
