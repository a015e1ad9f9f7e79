"""Records: edits in the log, beside events.

An edit sets the identity, corrects or retracts a statement, answers an intent, or reverts a change of the concept
graph. It is a row of the log, so that a rebuild applies it again at the same place. Nobody said it: it is not searched
and not listed among events, and its author is the editor.

A column that only `write_record` in `ingest/write.py` sets marks records. No session, role or `meta` can turn an event
into one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from everyword.types.events import Event, Json

# Members of every payload.
BY = "by"  # who edited
EVENTS = "events"  # ids of the events, or records, that it is about: it is forgotten with them
NUMBER = "number"  # of the space's records, so that two edits of one moment are two
SPEAKER = "speaker"  # of a correction: whose statement it puts right
_OWN = frozenset((BY, EVENTS, NUMBER))


class RecordKind(StrEnum):
    """What an edit does."""

    IDENTITY = "identity"  # sets who the agent is
    CORRECTION = "correction"  # corrects a statement
    RETRACTION = "retraction"  # retracts a statement
    FEEDBACK = "feedback"  # answers an intent
    UNDO_CHANGE = "undo_change"  # reverts a change of the concept graph


class Reason(StrEnum):
    """Why a statement is retracted."""

    ENDED = "ended"  # it was true and no longer is
    NEVER_TRUE = "never_true"  # it was never true, also not in the past


class Record(Struct, frozen=True, kw_only=True):
    """One edit."""

    id: str
    kind: RecordKind
    by: str
    at: datetime
    wing: str | None = None
    text: str = ""  # the given words, if any
    events: tuple[str, ...] = ()  # ids of the events or records that it concerns
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])  # such as {"statement": "st_..."}


def record_of(event: Event) -> Record:
    """Convert a row of the log to a record."""
    payload = event.meta
    return Record(
        id=event.id,
        kind=RecordKind(event.record or ""),
        by=str(payload.get(BY, "")),
        at=event.at,
        wing=event.wing,
        text=event.text,
        events=tuple(payload.get(EVENTS, ())),
        details={name: value for name, value in payload.items() if name not in _OWN and value is not None},
    )


def speaks_for(event: Event) -> str | None:
    """Return the speaker of the statement that a correction corrects; "I" in it means that person."""
    return event.meta.get(SPEAKER)


def shown_as_edit(event: Event) -> Event:
    """Show the original speaker and the editor as the speaker of a correction; return other events unchanged."""
    if event.record is None:
        return event
    whose = speaks_for(event)
    by = f"corrected by {event.speaker}"
    return replace(event, speaker=f"{whose}, {by}" if whose else by)


def events_of(event: Event) -> tuple[str, ...]:
    return tuple(event.meta.get(EVENTS, ()))
