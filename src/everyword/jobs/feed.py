"""The feed of a space: what happened after a position, read from the row numbers that the store assigns.

The feed has no table of its own. `SOURCES` lists the kinds of things in it. Intents have no rows: the feed reports one
wherever an event is about it, as the intent stands at the time of reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from everyword.engine.engine import Engine
from everyword.knowledge.concept_visibility import reworded
from everyword.storage.protocol import JobRow, Reader, StatementFilter
from everyword.types.events import Event
from everyword.types.feed import NOW, Feed, News, Waiting, places_of, position_of
from everyword.types.intents import Intent
from everyword.types.records import RecordKind
from everyword.types.times import from_micros

_WORDED = ("add_node", "update_node")  # actions in the journal that give a concept its words


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedScope:
    """The space and wing whose feed is read, and a function that computes its intents."""

    reader: Reader
    wing: str | None = None
    intents: Callable[[], Sequence[Intent]] = tuple
    reported: set[str] = field(default_factory=set[str])  # ids of intents that this feed already holds


class Row(NamedTuple):
    """A numbered row of a source; `news` is None if there is nothing to report, or not to this wing."""

    number: int
    news: News | None


ReadSource = Callable[[FeedScope, int, int], list[Row]]  # the scope, the number to read after, how many rows at most


class Source(NamedTuple):
    """A source of the feed."""

    place: str  # its name in a position
    kind: str
    table: str  # whose row numbers it uses
    read: ReadSource


def feed_scope(engine: Engine, reader: Reader, wing: str | None = None) -> FeedScope:
    """Describe whose feed is read, with intents as of this minute."""
    minute = engine.clock().replace(second=0, microsecond=0)

    def intents() -> Sequence[Intent]:
        from everyword.knowledge.intents import cached_intents  # slow to import

        return cached_intents(engine, reader, wing=wing, now=minute)

    return FeedScope(reader=reader, wing=wing, intents=intents)


def feed(scope: FeedScope, after: str | None, *, limit: int) -> Feed:
    """Read what happened after a position. None is the beginning, "now" the end."""
    reader = scope.reader
    if after == NOW:
        return Feed(position=position_of({one.place: reader.last_number(one.table) for one in SOURCES}))
    places = {} if after is None else places_of(after)
    known = {
        # A source that is newer than the position starts at its current end.
        one.place: places.get(one.place, 0 if after is None else reader.last_number(one.table))
        for one in SOURCES
    }
    news: list[News] = []
    more = False
    for source in SOURCES:
        rows = source.read(scope, known[source.place], limit)
        news += [row.news for row in rows if row.news is not None]
        more = more or len(rows) >= limit
        if rows:
            known[source.place] = rows[-1].number
    return Feed(news, position=position_of(known), more=more)


def read_events(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read events in the order of arrival."""
    rows = scope.reader.log(after=after, limit=limit)
    return [Row(seq, _news("event", one.recorded_at, one) if _sees(scope, one) else None) for seq, one in rows]


def read_concepts(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read the concepts that were formed and still exist, each at the entry that gave it its first label."""
    rows = scope.reader.fold_entries(after=after, limit=limit)
    ids = sorted({entry.node_id for _, entry in rows if entry.action in _WORDED})
    labelled = scope.reader.concepts_labelled_by(ids) if ids else {}
    new = [entry.node_id for number, entry in rows if labelled.get(entry.node_id) == number]
    found = scope.reader.concepts_by_id(new, wing=scope.wing) if new else {}
    if scope.wing is not None:
        found = {id: reworded(scope.reader, scope.wing, one) for id, one in found.items()}
    standing = {id: one for id, one in found.items() if one.closed_at is None and one.label}
    return [
        Row(number, _news("concept", entry.at, standing[entry.node_id]) if is_told else None)
        for number, entry in rows
        for is_told in [labelled.get(entry.node_id) == number and entry.node_id in standing]
    ]


def read_jobs(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read the jobs that were queued and still wait."""
    rows = scope.reader.jobs_of(after=after, limit=limit)
    events = scope.reader.fetch([row.seq for row in rows])
    return [
        Row(row.id, _news("job", event.recorded_at, waiting(row, event)) if event and _sees(scope, event) else None)
        for row in rows
        for event in [events.get(row.seq)]
    ]


def waiting(row: JobRow, event: Event | None) -> Waiting:
    """Convert a stored job to the public type."""
    return Waiting(
        id=row.id,
        kind=row.kind,
        event_id=None if event is None else event.id,
        attempts=row.attempts,
        due_at=from_micros(row.due_at),
        error=row.error,
    )


def _read_statements(scope: FeedScope, after: int, limit: int) -> list[Row]:
    rows = scope.reader.statements(StatementFilter(wing=scope.wing), after=after, limit=limit)
    return [Row(number, _news("statement", statement.recorded_at, statement)) for number, statement in rows]


def _read_intents(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read the intents that people answered."""
    rows = scope.reader.log(after=after, limit=limit)
    answers = [(seq, one.id, one.recorded_at) for seq, one in rows if one.record == RecordKind.FEEDBACK]
    others = [Row(seq, None) for seq, one in rows if one.record != RecordKind.FEEDBACK]
    return sorted([*_intent_rows(scope, answers), *others], key=lambda row: row.number)


def _read_todos(scope: FeedScope, after: int, limit: int) -> list[Row]:
    """Read the intents that statements begin or settle."""
    rows = scope.reader.statements(StatementFilter(wing=scope.wing), after=after, limit=limit)
    return _intent_rows(scope, [(number, one.event_id, one.recorded_at) for number, one in rows])


def _intent_rows(scope: FeedScope, moments: Iterable[tuple[int, str, datetime]]) -> list[Row]:
    """Report the intents that events are about, each once."""
    rows: list[Row] = []
    by_event: dict[str, list[Intent]] | None = None
    for number, event_id, at in moments:
        by_event = _by_event(scope.intents()) if by_event is None else by_event
        fresh = [one for one in by_event.get(event_id, ()) if one.id not in scope.reported]
        scope.reported.update(one.id for one in fresh)
        rows += [Row(number, _news("intent", at, one)) for one in fresh] or [Row(number, None)]
    return rows


def _by_event(intents: Iterable[Intent]) -> dict[str, list[Intent]]:
    found: dict[str, list[Intent]] = {}
    for intent in intents:
        ends = () if intent.settled_by is None else (intent.settled_by.event_id,)
        for event_id in dict.fromkeys((*intent.events, *ends)):
            found.setdefault(event_id, []).append(intent)
    return found


def _read_forgotten(scope: FeedScope, after: int, limit: int) -> list[Row]:
    rows = scope.reader.receipts_after(after, limit=limit)
    # A receipt does not say to which wings its events belonged.
    return [Row(number, None if scope.wing else _news("forgotten", receipt.at, receipt)) for number, receipt in rows]


def _sees(scope: FeedScope, event: Event) -> bool:
    return event.record is None and (scope.wing is None or event.wing == scope.wing)


def _news(kind: str, at: datetime, item: object) -> News:
    return News(kind=kind, at=at, item=item)  # pyright: ignore[reportArgumentType]  each source gives its own kind


SOURCES = (
    Source("event", "event", "events", read_events),
    Source("statement", "statement", "statements", _read_statements),
    Source("concept", "concept", "fold_journal", read_concepts),
    Source("intent", "intent", "events", _read_intents),
    Source("todo", "intent", "statements", _read_todos),
    Source("job", "job", "jobs", read_jobs),
    Source("forgotten", "forgotten", "receipts", _read_forgotten),
)
KINDS = tuple(dict.fromkeys(source.kind for source in SOURCES))
