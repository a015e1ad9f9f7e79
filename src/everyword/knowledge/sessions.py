"""Summaries of sessions, renewed as they grow: the longer a session, the less often."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from everyword.knowledge.entities import read_entities
from everyword.knowledge.llm_summaries import forget_written, written_of
from everyword.storage.protocol import SESSIONS, Cursor, Reader, SummaryRow, Writer
from everyword.types.events import Event, Filter, Session, Span, Theme
from everyword.types.ids import raw_event_id

if TYPE_CHECKING:
    from everyword.knowledge.legacy.fold.sessions import SessionSummary


GROWN = 0.5  # share of new events at which a session is summarised again, so that each event is read about three times
MOST_AT_ONCE = 400  # events of a session that a write summarises; settle() does longer ones
_PAGE = 500


def summarise_new(writer: Writer, rows: Sequence[tuple[int, Event]]) -> None:
    """Count new events of sessions, and summarise those that grew enough."""
    counts = Counter(event.session for _, event in rows if event.session is not None)
    for row in writer.count_pending(dict(sorted(counts.items()))):
        if row.pending > GROWN * row.events and row.events + row.pending <= MOST_AT_ONCE:
            refresh(writer, row.session, upto=rows[-1][0])


def refresh(writer: Writer, session: str, *, upto: int) -> None:
    """Summarise a session from its events up to one."""
    from everyword.knowledge.legacy.fold.sessions import summarise  # slow to import, and not needed for reading

    events = session_events(writer, session, upto=upto)
    if events:
        body = _body(summarise(events))
        writer.put_summary(SummaryRow(session, len(events), 0, body))
    else:
        writer.drop_summaries([session])


def forget_sessions(writer: Writer, sessions: Iterable[str]) -> None:
    """Drop the summaries of sessions that lost events, and summarise what is left."""
    touched, upto = sorted(sessions), writer.cursor(SESSIONS)
    writer.drop_summaries(touched)
    forget_written(writer, touched)
    for session in touched:
        events = session_events(writer, session, upto=upto, most=MOST_AT_ONCE + 1)
        if len(events) > MOST_AT_ONCE:
            writer.put_summary(SummaryRow(session, 0, len(events), ""))
        elif events:
            refresh(writer, session, upto=upto)


def session_events(reader: Reader, session: str, *, upto: int | None = None, most: int | None = None) -> list[Event]:
    """Read the events of a session in order of time; upto: without those that arrived later."""
    events: list[Event] = []
    after: Cursor | None = None
    while most is None or len(events) < most:
        rows = reader.page(Filter(session=session), after=after, limit=_PAGE)
        events += [event for place, event in rows if upto is None or place.seq <= upto]
        if len(rows) < _PAGE:
            break
        after = rows[-1][0]
    return events


def _body(summary: SessionSummary) -> str:
    """Serialise a summary: sentences as spans of events."""
    themes = [[theme.event_id, *theme.span, theme.score] for theme in summary.themes]
    return json.dumps({"keys": summary.keys, "themes": themes}, ensure_ascii=True, separators=(",", ":"))


def keys_of(body: str) -> tuple[str, ...]:
    """Read the phrases of a summary."""
    return tuple(json.loads(body)["keys"]) if body else ()


def themes_of(reader: Reader, bodies: Sequence[str]) -> list[tuple[Theme, ...]]:
    """Read the sentences of summaries."""
    held: list[list[list[Any]]] = [json.loads(body)["themes"] if body else [] for body in bodies]
    raw = {id: raw_id for themes in held for id, *_ in themes if (raw_id := raw_event_id(id)) is not None}
    found = {known.event.id: known.event for known in reader.find(list(raw.values())).values()}
    return [
        tuple(
            Theme(
                text=found[id].text[start:end],
                event_id=id,
                span=Span(start, end),
                at=found[id].at,
                speaker=found[id].speaker or found[id].role,
                score=score,
            )
            for id, start, end, score in themes
            if id in found
        )
        for themes in held
    ]


MOST_MADE = 20  # outdated summaries that a read recomputes; the rest are shown as stored
MOST_ENTITIES = 12


def with_summaries(reader: Reader, listed: Sequence[Session], which: Filter) -> list[Session]:
    """Add summaries to sessions, except to those of which the filter shows only a part."""
    rows = {row.session: row for row in reader.summaries([session.name for session in listed])}
    names = [
        session.name
        for session in listed
        if which.empty or ((row := rows.get(session.name)) and session.events == row.events + row.pending)
    ]
    behind = [name for name in names if name not in rows or rows[name].pending][:MOST_MADE]
    bodies = {name: rows[name].body if name in rows else "" for name in names}
    bodies |= {name: _made(reader, name) for name in behind}
    themes = dict(zip(names, themes_of(reader, [bodies[name] for name in names]), strict=True))
    written = reader.written(names)
    named = reader.named_in_sessions(names, most=MOST_ENTITIES)
    ids = sorted({id for several in named.values() for id in several})
    shown = {one.id: one.name for one in read_entities(reader, ids)}
    return [
        replace(
            session,
            keys=keys_of(bodies[session.name]),
            summary=themes[session.name],
            entities=tuple(shown[id] for id in named.get(session.name, ()) if id in shown),
            written=written_of(written.get(session.name), session.events),
        )
        if session.name in themes
        else session
        for session in listed
    ]


def _made(reader: Reader, session: str) -> str:
    from everyword.knowledge.legacy.fold.sessions import summarise

    return _body(summarise(session_events(reader, session, most=MOST_AT_ONCE)))
