"""Records: edits that the log keeps beside events, in its order.

An edit is what somebody does to what the memory holds: who the agent is, a statement put right or taken back, an answer
to an intent, a change of the concept graph undone. It is a row of the log, so that a rebuild applies it again at its
place, but it is nothing that anybody said: it is not searched, not listed among events, and its author is the editor.

Which rows are records stands in a column that only `engine/records.py` sets. No name of a session, no role and no key
of `meta` makes an event one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from recollect.core.values import Event, Json

# Members of every payload.
BY = "by"  # who edited
EVENTS = "events"  # ids of the events, or records, that it is about: it is forgotten with them
NUMBER = "number"  # of the space's records, so that two edits of one moment are two
WAS = "was"  # of records that were events before there were records: what their id was made from
SPEAKER = "speaker"  # of a correction: whose statement it puts right
_OWN = frozenset((BY, EVENTS, NUMBER, WAS))


class RecordKind(StrEnum):
    """What an edit does."""

    IDENTITY = "identity"  # says who the agent is
    CORRECTION = "correction"  # puts a statement right
    RETRACTION = "retraction"  # takes a statement back
    FEEDBACK = "feedback"  # answers an intent
    UNFOLD = "unfold"  # takes a change of the concept graph back


class Reason(StrEnum):
    """Why a statement is taken back."""

    ENDED = "ended"  # it was so, and is no longer
    NEVER_TRUE = "never_true"  # it never was: also the past is told without it


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One edit: what was done, by whom and when."""

    id: str
    kind: RecordKind
    by: str
    at: datetime
    wing: str | None = None
    text: str = ""  # the words that were given, if any
    events: tuple[str, ...] = ()  # what it is about: ids of events, or of other records
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])  # such as {"artifact": "ar_..."}


def record_of(event: Event) -> Record:
    """Read a row of the log that is a record."""
    payload = event.meta
    return Record(
        id=event.id,
        kind=RecordKind(event.record or ""),
        by=str(payload.get(BY, "")),
        at=event.at,
        wing=event.wing,
        # Before there were records, a text stood where none was given: it repeats the ids.
        text="" if WAS in payload and event.record in _WORDLESS else event.text,
        events=tuple(payload.get(EVENTS, ())),
        details={name: value for name, value in payload.items() if name not in _OWN and value is not None},
    )


_WORDLESS = (RecordKind.RETRACTION, RecordKind.UNFOLD)


def speaks_for(event: Event) -> str | None:
    """Tell whose statement a correction puts right: "I" in it means that person."""
    speaker: str | None = event.meta.get(SPEAKER)
    return speaker


def shown_as_edit(event: Event) -> Event:
    """Name, as the speaker of a correction, whose statement it puts right and who did; give all else as it is."""
    if event.record is None:
        return event
    whose = speaks_for(event)
    by = f"corrected by {event.speaker}"
    return replace(event, speaker=f"{whose}, {by}" if whose else by)


def events_of(event: Event) -> tuple[str, ...]:
    """Tell which events a record is about, by their ids."""
    return tuple(event.meta.get(EVENTS, ()))
