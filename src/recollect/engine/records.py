"""Records of edits: the one place that writes them, and what follows when events that they are about are forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from recollect.capture.drafts import checked_name
from recollect.core.clock import to_micros
from recollect.core.ids import content_of, event_id, identity_of
from recollect.core.records import BY, EVENTS, NUMBER, WAS, RecordKind, events_of
from recollect.core.values import Event, Json
from recollect.engine.engine import Engine
from recollect.store.facts import RECORDS_INDEXED
from recollect.store.postings import terms_of
from recollect.store.protocol import Draft, Known, Reader

KINDS = tuple(kind.value for kind in RecordKind)
BY_DEFAULT = "user"


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
    """Write an edit into the log, and apply it.

    payload: what it does, by ids: words of others must be gone when the events that said them are forgotten. events:
    what it is about. Its time is now: nobody can date an edit. redact: as for `Memory.add`.
    """
    from recollect.capture.redaction import redact_event, rules_of
    from recollect.engine.write import write_drafts

    editor = BY_DEFAULT if by is None else checked_name("by", by, engine.settings)
    clean, _ = redact_event({"text": text, "wing": wing, "speaker": editor}, rules_of(engine.settings, redact))
    text, wing, editor = clean["text"], clean["wing"], clean["speaker"]
    with engine.store.reader() as reader:
        number = reader.tally(space).records + 1
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
    draft = Draft(
        event=replace(event, id=event_id(raw_id)),
        raw_id=raw_id,
        content=content,
        moment=to_micros(at),
        terms=terms_of({}),
    )
    return write_drafts(engine, space, [draft])[0].event


def records_about(reader: Reader, space: str, ids: Iterable[str], kinds: Sequence[str] = KINDS) -> list[Known]:
    """List the records about some events, and those about these records in turn."""
    found: dict[str, Known] = {}
    sought = set(ids)
    for one in reader.records(space, kinds):  # an edit of an edit comes after it
        if sought & set(events_of(one.event)):
            found[one.event.id] = one
            sought.add(one.event.id)
    return list(found.values())


def going_with(reader: Reader, space: str, seqs: Iterable[int]) -> list[int]:
    """List the records that have to be forgotten with some events.

    One that holds words goes with any of the events that it is about: it may repeat theirs. One that holds ids alone
    goes when none of them is left.
    """
    going: list[int] = []
    gone = {event.id for event in reader.fetch(space, sorted(seqs)).values()}
    for one in reader.records(space, KINDS):
        about = set(events_of(one.event))
        if one.event.id not in gone and (about & gone if one.event.text else about and about <= gone):
            going.append(one.seq)
            gone.add(one.event.id)
    return going


def convert_old_records(engine: Engine) -> None:
    """Take what a migration made records of out of the indexes, the graph and the concepts, which knew them as events.

    The graph and the concepts are read again from the first of them on, by the next writes or `settle`.
    """
    from recollect.engine.folding import refold
    from recollect.engine.graph_forgetting import restart

    with engine.store.writer() as writer:
        spaces = writer.spaces()
        for space in spaces:
            writer.memo(space)  # takes the turn to write there; who waited for it finds the work done
        if writer.fact(RECORDS_INDEXED) != "1":
            return
        for space in spaces:
            found = writer.records(space, KINDS)
            if not found:
                continue
            writer.unindex(space, {one.seq: _as_indexed(one.event) for one in found})
            refold(writer, engine, space, found[0].seq)
            restart(writer, space, found[0].seq)
        writer.set_fact(RECORDS_INDEXED, "0")


def _as_indexed(event: Event) -> Event:
    """Give a record as the event that it was."""
    was: Mapping[str, Json] = event.meta.get(WAS) or {}
    return replace(event, speaker=was.get("speaker"), record=None)
