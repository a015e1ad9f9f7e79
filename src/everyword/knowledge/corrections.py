"""Corrections by hand: what a record of an edit does to the statement that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, NamedTuple

from everyword.knowledge.comparing import Action
from everyword.knowledge.relations import compared_as
from everyword.types.events import Event, Json, Span
from everyword.types.records import SPEAKER, Reason, RecordKind
from everyword.types.statements import BY_HAND, Stance, Statement, StatementDraft
from everyword.types.times import as_datetime

# Members of a record's payload.
STATEMENT = "statement"
REASON = "reason"
UNTIL = "until"


class Correction(NamedTuple):
    """What a record does to a statement."""

    action: Action  # UPDATE or RETRACT
    statement_id: str
    never_true: bool = False  # a retraction: it was never so, not even before
    until: datetime | None = None  # a retraction: when it ended, where that is not when it was taken back


def payload_of(
    statement: Statement,
    *,
    speaker: str | None = None,
    reason: Reason | None = None,
    until: datetime | None = None,
) -> dict[str, Json]:
    """Write what a record does to a statement: by its id, since words may have to be forgotten.

    speaker: for a correction, whose statement it puts right. reason and until: for a retraction.
    """
    given: dict[str, Json] = {
        STATEMENT: statement.id,
        SPEAKER: speaker,
        REASON: None if reason is None else reason.value,
        UNTIL: None if until is None else until.isoformat(),
    }
    return {name: value for name, value in given.items() if value is not None}


def correction_of(event: Event) -> Correction | None:
    """Read what a record does to a statement; None for all else."""
    if event.record not in (RecordKind.CORRECTION, RecordKind.RETRACTION):
        return None
    payload = event.meta
    if event.record == RecordKind.CORRECTION:
        return Correction(Action.UPDATE, payload[STATEMENT])
    until = payload.get(UNTIL)
    return Correction(
        Action.RETRACT,
        payload[STATEMENT],
        never_true=payload.get(REASON) == Reason.NEVER_TRUE,
        until=None if until is None else as_datetime(until, UNTIL),
    )


def corrected(event: Event, target: Statement, read: Sequence[StatementDraft] = ()) -> StatementDraft:
    """Make the next version of a statement from the words of its correction; `read` is what the reader found in it."""
    kept: dict[str, Any] = {field.name: getattr(target, field.name) for field in fields(StatementDraft)}
    kept |= {"content": event.text, "quote": event.text, "span": Span(0, len(event.text))}
    kept |= {"value": _value(event, target, read)}
    kept |= {"event_id": event.id, "speaker": event.speaker, "date": None, "valid_from": event.at}
    kept |= {"valid_to": None}
    kept |= {"stance": Stance.CHANGED, "confidence": 1.0, "extractor": BY_HAND}
    return StatementDraft(**kept)


def _value(event: Event, target: Statement, read: Sequence[StatementDraft]) -> str:
    """Take the value that a correction gives the relation of its target; without one, all its words."""
    relation = target.slot and compared_as(target.slot.attribute)
    values = (one.value for one in read if relation and one.slot and compared_as(one.slot.attribute) == relation)
    return next((value for value in values if value), event.text)
