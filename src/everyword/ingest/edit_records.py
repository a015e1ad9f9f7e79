"""Write records of edits into the log, and find those that go when events are forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from everyword.engine.engine import Engine
from everyword.ingest.redaction.redact import redact_event, rules_of
from everyword.ingest.validation import checked_name
from everyword.ingest.write import write_draft
from everyword.storage.postings import terms_of
from everyword.storage.protocol import Draft, Reader
from everyword.types.events import Event, Json
from everyword.types.ids import content_of, event_id, identity_of
from everyword.types.records import BY, EVENTS, NUMBER, RecordKind, events_of
from everyword.types.times import to_micros

_KINDS = tuple(kind.value for kind in RecordKind)
_DEFAULT_EDITOR = "user"


def write_record(
    engine: Engine,
    space: str,
    kind: RecordKind,
    payload: Mapping[str, Json],
    *,
    by: str | None,
    events: Iterable[str] = (),
    text: str = "",
    wing: str | None = None,
    redact: str | None = None,
) -> Event:
    """Write an edit into the log, dated now, and apply it.

    payload: the change, with ids instead of quotes: a quote would survive when its event is forgotten.
    events: the ids of the events that it is about. redact: as for `Memory.add`.
    """
    editor = _DEFAULT_EDITOR if by is None else checked_name("by", by, engine.settings)
    clean, _ = redact_event({"text": text, "wing": wing, "speaker": editor}, rules_of(engine.settings, redact))
    text, wing, editor = clean["text"], clean["wing"], clean["speaker"]

    def draft() -> Draft:
        with engine.store.reader(space) as reader:
            number = reader.tally().records + 1
        at = engine.clock()
        event = Event(
            text=text,
            wing=wing,
            speaker=editor,
            at=at,
            recorded_at=at,
            meta={**payload, BY: editor, EVENTS: list(dict.fromkeys(events)), NUMBER: number},
            record=kind.value,
        )
        content = content_of(event)
        raw_id = identity_of(None, content)
        return Draft(
            event=replace(event, id=event_id(raw_id)),
            raw_id=raw_id,
            content=content,
            moment=to_micros(at),
            terms=terms_of({}),
        )

    return write_draft(engine, space, draft)


def records_to_forget(reader: Reader, seqs: Iterable[int]) -> list[int]:
    """List the records that must be forgotten together with some events.

    A record with text goes with any event that it is about, since it may repeat that event's words. A record of ids
    alone goes when all events that it is about are gone.
    """
    going: list[int] = []
    gone = {event.id for event in reader.fetch(sorted(seqs)).values()}
    for one in reader.records(_KINDS):
        about = set(events_of(one.event))
        if one.event.id not in gone and (about & gone if one.event.text else about and about <= gone):
            going.append(one.seq)
            gone.add(one.event.id)
    return going
