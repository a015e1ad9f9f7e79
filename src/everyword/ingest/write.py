"""The write path: validate, drop known events, encode outside the transaction, then append in one transaction.

Edits are written into the log as records. What is derived from events follows later: see jobs/deriver.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from everyword.engine.encoding import Serving, embed, speaks_for
from everyword.engine.engine import MANY, Engine
from everyword.engine.retry import again
from everyword.errors import ModelError
from everyword.ingest.redaction.redact import redact_event, rules_of
from everyword.ingest.validation import at_was_given, check_same, check_wing, checked_name, drafts_of
from everyword.storage.postings import terms_of
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import EMBED, Draft, Known
from everyword.types.events import Event, Json, Written, WrittenBatch, content_of, event_id, identity_of
from everyword.types.records import BY, EVENTS, NUMBER, RecordKind, events_of
from everyword.types.times import to_micros


def write(
    engine: Engine,
    space: str,
    given: Sequence[Event | Mapping[str, Json]],
    *,
    wing: str | None = None,
    redact: str | None = None,
    keep_recorded_at: bool = False,
    encode: bool = True,
    in_the_same_turn: Callable[[Writer], None] | None = None,
) -> WrittenBatch:
    """Add events in one transaction; known ones are reported as such.

    redact: a level other than the memory's setting. encode: False leaves a job for each vector instead.
    in_the_same_turn: writes more in the same transaction, even if no event is new.
    """
    drafts = drafts_of(
        given,
        wing=wing,
        clock=engine.clock,
        settings=engine.settings,
        rules=rules_of(engine.settings, redact),
        keep_recorded_at=keep_recorded_at,
    )
    if not drafts:
        again(engine, lambda: _only(engine, space, in_the_same_turn))
        return WrittenBatch()
    dated = [at_was_given(one) for one in given]
    outcome = again(engine, lambda: _write(engine, space, drafts, dated, encode=encode, change=in_the_same_turn))
    if outcome.added:
        engine.changed(space)
    return outcome


def write_draft(engine: Engine, space: str, draft: Callable[[], Draft]) -> Event:
    """Add one prepared draft, such as a record of an edit, in one transaction. draft: is asked before each attempt."""
    outcome = again(engine, lambda: _write(engine, space, [draft()], [True], encode=True, change=None))
    if outcome.added:
        engine.changed(space)
    return outcome[0].event


def _write(
    engine: Engine,
    space: str,
    drafts: Sequence[Draft],
    dated: Sequence[bool],
    *,
    encode: bool,
    change: Callable[[Writer], None] | None,
) -> WrittenBatch:
    with engine.store.reader(space) as reader:
        known = reader.find([draft.raw_id for draft in drafts])
        last_seq = reader.last_seq
        serving = engine.models.serving(reader.file)
    _check(known, drafts, dated)
    fresh = list({draft.raw_id: draft for draft in reversed(drafts) if draft.raw_id not in known}.values())[::-1]
    if encode:
        fresh, serving = _with_vectors(engine, fresh, serving)
    if not fresh:
        _only(engine, space, change)
        return WrittenBatch(
            Written(event=known[draft.raw_id].event, new=False, redacted=draft.redacted) for draft in drafts
        )
    with engine.store.writer(space) as writer:
        # Others may have written the same events since; with the write lock held, none can.
        if writer.last_seq != last_seq:
            known |= writer.find([draft.raw_id for draft in fresh])
            _check(known, drafts, dated)
        new = [draft for draft in fresh if draft.raw_id not in known]
        stored = _append(engine, writer, new, serving)
        if serving.trouble and stored and encode:
            writer.note_failure(EMBED, [one.seq for one in writer.find(list(stored)).values()], error=serving.trouble)
        if stored and engine.llm is not None:
            _queue_for_llm(engine, writer, stored)
        engine.accesses.flush(writer, least=MANY)
        if change is not None:
            change(writer)
    return _outcome(drafts, known, stored)


def _queue_for_llm(engine: Engine, writer: Writer, stored: Mapping[bytes, Event]) -> None:
    """Leave jobs for an LLM, in the transaction of the write: events from before there was one are not sent to it."""
    from everyword.knowledge.llm.answers import is_for_llm
    from everyword.knowledge.llm.summaries import owe_summaries

    if engine.settings.llm_extract:
        seqs = {raw_id: one.seq for raw_id, one in writer.find(list(stored)).items()}
        writer.owe_readings([seqs[raw_id] for raw_id, event in stored.items() if is_for_llm(event)])
    owe_summaries(engine, writer, stored.values())


def _only(engine: Engine, space: str, change: Callable[[Writer], None] | None) -> None:
    if change is not None:
        with engine.store.writer(space) as writer:
            change(writer)


def _check(known: Mapping[bytes, Known], drafts: Sequence[Draft], dated: Sequence[bool]) -> None:
    seen: dict[bytes, Event] = {raw_id: one.event for raw_id, one in known.items()}
    for draft, at_given in zip(drafts, dated, strict=True):
        earlier = seen.setdefault(draft.raw_id, draft.event)
        if earlier is draft.event:
            continue
        if draft.event.key is None:
            check_wing(earlier, draft)
        else:
            check_same(earlier, draft, at_given=at_given)


def _with_vectors(engine: Engine, drafts: list[Draft], serving: Serving) -> tuple[list[Draft], Serving]:
    """Embed unless that is deferred; if the model fails, events are stored without vectors and the work is queued."""
    said = [draft for draft in drafts if draft.event.record is None]  # records are not searched
    if not said or serving.embedder is None or not engine.settings.embed_on_write:
        return drafts, serving
    try:
        vectors = embed(serving.embedder, [draft.event for draft in said])
    except ModelError as error:
        engine.models.say(f"Stored and searchable by words; vectors will follow: {error}")
        return drafts, serving._replace(trouble=str(error))
    units = dict(zip([draft.raw_id for draft in said], vectors, strict=True))
    return [replace(draft, vectors=units.get(draft.raw_id)) for draft in drafts], serving


def _append(engine: Engine, writer: Writer, drafts: Sequence[Draft], serving: Serving) -> Mapping[bytes, Event]:
    if not drafts:
        return {}
    active = next((model for model in writer.file.models() if model.state == "active"), None)
    embedder = serving.embedder if drafts[0].vectors is not None else None
    if active is None and embedder is not None:
        active = engine.models.register(writer.file, embedder)
    elif not (active and embedder and speaks_for(embedder, active)):
        # A rebuild finished while we embedded: these are vectors of the old model, so embedding becomes a job. If
        # another writer registered the same model first, the vectors are fine.
        drafts = [replace(draft, vectors=None) for draft in drafts]
    engine.fence_key.keep(writer.file)
    stored = writer.append(drafts, active, now=engine.now(), queue=active is not None or engine.models.wants_vectors)
    return {draft.raw_id: event for draft, event in zip(drafts, stored, strict=True)}


def _outcome(drafts: Sequence[Draft], known: Mapping[bytes, Known], stored: Mapping[bytes, Event]) -> WrittenBatch:
    batch = WrittenBatch()
    reported: set[bytes] = set()
    for draft in drafts:
        event = stored.get(draft.raw_id)
        new = event is not None and draft.raw_id not in reported
        reported.add(draft.raw_id)
        batch.append(Written(event=event or known[draft.raw_id].event, new=new, redacted=draft.redacted))
    return batch


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

    def draft() -> Draft:
        with engine.store.reader(space) as reader:
            number = reader.count_records() + 1
        at = engine.clock()
        meta = {**payload, BY: clean["speaker"], EVENTS: list(dict.fromkeys(events)), NUMBER: number}
        event = Event(**clean, at=at, recorded_at=at, meta=meta, record=kind.value)
        content = content_of(event)
        raw_id = identity_of(None, content)
        event = replace(event, id=event_id(raw_id))
        return Draft(event=event, raw_id=raw_id, content=content, moment=to_micros(at), terms=terms_of({}))

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
