"""What sessions were about, kept beside them: made anew as they grow, by less and less often as they are longer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from recollect.core.ids import raw_event_id
from recollect.core.values import Event, Filter, Span, Theme
from recollect.engine.owing import forget_written
from recollect.store.graph import SummaryRow
from recollect.store.protocol import Cursor, Reader, Writer

if TYPE_CHECKING:
    from recollect.fold.sessions import SessionSummary

GROWN = 0.5  # share of new events from which on a session is summarised anew: in all, each event is read twice more
MOST_AT_ONCE = 400  # events of a session that is summarised while a write waits; longer ones are left to settle
_PAGE = 500


def summarise_new(writer: Writer, space: str, events: Sequence[Event]) -> None:
    """Count what came to sessions, and summarise those that have grown enough; a batch brings all of its own up."""
    counts = Counter(event.session for event in events if event.session is not None)
    for row in writer.count_pending(space, dict(sorted(counts.items()))):
        grown = len(events) > 1 or row.pending > GROWN * row.events
        if grown and row.events + row.pending <= MOST_AT_ONCE:
            refresh(writer, space, row.session)


def refresh(writer: Writer, space: str, session: str) -> None:
    """Summarise a session from all its events."""
    from recollect.fold.sessions import summarise  # a process that only asks has no use for it

    events = session_events(writer, space, session)
    if events:
        body = written(summarise(events))
        writer.put_summary(space, SummaryRow(session, len(events), 0, body))
    else:
        writer.drop_summaries(space, [session])


def forget_sessions(writer: Writer, space: str, sessions: Iterable[str]) -> None:
    """Drop what was said of sessions that lost events, and summarise anew what is left of them."""
    touched = sorted(sessions)
    writer.drop_summaries(space, touched)
    forget_written(writer, space, touched)
    for session in touched:
        events = session_events(writer, space, session, most=MOST_AT_ONCE + 1)
        if len(events) > MOST_AT_ONCE:
            writer.put_summary(space, SummaryRow(session, 0, len(events), ""))
        elif events:
            refresh(writer, space, session)


def session_events(reader: Reader, space: str, session: str, *, most: int | None = None) -> list[Event]:
    """Read the events of a session, in the order in which they happened."""
    events: list[Event] = []
    after: Cursor | None = None
    while most is None or len(events) < most:
        rows = reader.page(space, Filter(session=session), after=after, limit=_PAGE)
        events += [event for _, event in rows]
        if len(rows) < _PAGE:
            break
        after = rows[-1][0]
    return events


def written(summary: SessionSummary) -> str:
    """Write a summary for the store: sentences by their places."""
    themes = [[theme.event_id, *theme.span, theme.score] for theme in summary.themes]
    return json.dumps({"keys": summary.keys, "themes": themes}, ensure_ascii=True, separators=(",", ":"))


def keys_of(body: str) -> tuple[str, ...]:
    """Read the phrases of a summary."""
    return tuple(json.loads(body)["keys"]) if body else ()


def themes_of(reader: Reader, space: str, bodies: Sequence[str]) -> list[tuple[Theme, ...]]:
    """Read the sentences of summaries."""
    held: list[list[list[Any]]] = [json.loads(body)["themes"] if body else [] for body in bodies]
    raw = {id: raw_id for themes in held for id, *_ in themes if (raw_id := raw_event_id(id)) is not None}
    found = {known.event.id: known.event for known in reader.find(space, list(raw.values())).values()}
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
