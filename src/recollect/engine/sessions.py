"""Sessions as they are listed: each with what it was about, read from what is kept, or made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recollect.core.values import Filter, Session
from recollect.engine.entities import read_entities
from recollect.engine.owing import written_of
from recollect.engine.summaries import MOST_AT_ONCE, keys_of, session_events, themes_of, written
from recollect.store.protocol import Reader

MOST_MADE = 20  # summaries that are behind and are made while somebody waits; the rest are shown as they were
MOST_ENTITIES = 12


def with_summaries(reader: Reader, space: str, listed: Sequence[Session], which: Filter) -> list[Session]:
    """Say of each session what it was about; of one that is seen in part, nothing: the summary is of all of it."""
    rows = {row.session: row for row in reader.summaries(space, [session.name for session in listed])}
    names = [
        session.name
        for session in listed
        if which.empty or ((row := rows.get(session.name)) and session.events == row.events + row.pending)
    ]
    behind = [name for name in names if name not in rows or rows[name].pending][:MOST_MADE]
    bodies = {name: rows[name].body if name in rows else "" for name in names}
    bodies |= {name: _made(reader, space, name) for name in behind}
    themes = dict(zip(names, themes_of(reader, space, [bodies[name] for name in names]), strict=True))
    written = reader.written(space, names)
    named = reader.named_in_sessions(space, names, most=MOST_ENTITIES)
    ids = sorted({id for several in named.values() for id in several})
    shown = {one.id: one.name for one in read_entities(reader, space, ids)}
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


def _made(reader: Reader, space: str, session: str) -> str:
    from recollect.fold.sessions import summarise

    return written(summarise(session_events(reader, space, session, most=MOST_AT_ONCE)))
