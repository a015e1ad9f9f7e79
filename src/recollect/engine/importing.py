"""Importing: anything that a format reads becomes events, in batches, each a transaction.

How far each file was read is noted in the transaction of the events that were read, so that an import goes on where it
stopped, after a crash or a year later. Events carry keys that follow from their source: what is read twice is stored
once. What was forgotten does not come back by being read again, unless that is asked for. What can't be stored is
counted with its reason, never dropped in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial

from recollect.capture.formats import Format, Skipped, Source
from recollect.capture.redaction import NONE, Rules, redact_event
from recollect.core.errors import InvalidEvent, InvalidInput, KeyConflict
from recollect.core.ids import event_id, identity_of
from recollect.core.values import Imported, Json
from recollect.engine.again import again
from recollect.engine.engine import Engine, Progress
from recollect.engine.forgotten import Forgotten, raw_id_of
from recollect.engine.resuming import Place, is_fresh, look, lookups, path_of, way_of_reading
from recollect.engine.write import write
from recollect.store.imports import FileRead
from recollect.store.protocol import Writer

BATCH = 256  # events a transaction: what a crash in mid-import repeats at most, and repeating is harmless
_BATCH_CHARS = 4_000_000  # of text: a few long messages fill a transaction as well as many short ones
_SAMPLES = 5  # things not understood that are shown
_REFUSED = "it can't be stored"
_FORGOTTEN = "it was forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How an import is done."""

    wing: str | None = None
    rules: Rules = NONE  # what to take out
    own: bool = False  # a file that we wrote: when an event was first learned is kept
    strict: bool = False  # what is not an event ends the import: a file of our own has no such thing
    defer: bool = False  # vectors and statements follow with settle()
    again: bool = False  # read also what was read before, and store what was forgotten
    waits: bool = False  # leave a file that may be half written for the next look


@dataclass(slots=True)
class _Tally:
    read: int = 0
    added: int = 0
    differing: int = 0
    remembered: int = 0  # events of files that were not read again
    files: int = 0
    unchanged: int = 0
    bytes_done: int = 0
    bytes_in_all: int = 0
    skipped: Counter[str] = field(default_factory=Counter[str])
    not_understood: list[str] = field(default_factory=list[str])
    redacted: Counter[str] = field(default_factory=Counter[str])
    held_forgotten: set[str] = field(default_factory=set[str])  # paths of files in which forgotten events may stand


@dataclass(slots=True)
class _Batch:
    """Events that are stored together, and how far the files that they come from are read with them."""

    events: list[Mapping[str, Json]] = field(default_factory=list[Mapping[str, Json]])
    formers: dict[str, bytes] = field(default_factory=dict[str, bytes])  # by key, the id under which it was once stored
    chars: int = 0
    noted: dict[str, FileRead] = field(default_factory=dict[str, FileRead])

    @property
    def full(self) -> bool:
        return len(self.events) >= BATCH or self.chars >= _BATCH_CHARS

    def clear(self) -> None:
        self.events, self.formers, self.chars, self.noted = [], {}, 0, {}


def import_source(
    engine: Engine, space: str, format: Format, source: Source, how: How, *, progress: Progress
) -> Imported:
    """Store what a format reads of a source and the memory has not read yet."""
    tally, batch = _Tally(), _Batch()
    tally.skipped.update(source.left_out)
    forgotten = None if how.again else Forgotten(engine, space)
    for place in _places(engine, space, format, source, how, tally, batch):
        for _ in _read(format, source, place, how, tally, batch):
            if batch.full:
                _store(engine, space, batch, how, tally, forgotten)
                progress("events", tally.read, _estimated(tally, place, batch))
                batch.clear()
    _store(engine, space, batch, how, tally, forgotten)
    progress("events", tally.read, tally.read)
    left_out = tally.skipped[_REFUSED] + tally.skipped[_FORGOTTEN]
    return Imported(
        format=format.NAME,
        read=tally.read,
        added=tally.added,
        known=tally.remembered + tally.read - tally.added - tally.differing - left_out,
        differing=tally.differing,
        skipped={reason: count for reason, count in tally.skipped.items() if count},
        not_understood=tuple(tally.not_understood),
        redacted=dict(tally.redacted),
        files=tally.files,
        unchanged=tally.unchanged,
    )


def _places(
    engine: Engine, space: str, format: Format, source: Source, how: How, tally: _Tally, batch: _Batch
) -> Iterator[Place]:
    """Go through the files that have to be read, each with where to begin."""
    reading = way_of_reading(format, wing=how.wing, redacted=how.rules.fingerprint)
    parts = format.parts(source)
    tally.bytes_in_all = sum((source.state(part) or (0, 0))[0] for part in parts)
    for some in lookups(parts):
        known = again(engine, partial(_files_read, engine, space, [path_of(source, part) for part in some]))
        for part in some:
            if how.waits and not format.GROWS and is_fresh(source, part):
                continue
            tally.files += 1
            try:
                found = look(format, source, part, None if how.again else known.get(path_of(source, part)), reading)
            except InvalidInput as error:
                _count_unreadable(source, part, error, how, tally)
                continue
            if isinstance(found, Place):
                yield found
                continue
            tally.unchanged += 1
            tally.remembered += found.noted.events
            tally.bytes_done += found.noted.bytes
            if found.touched and found.noted.modified:
                batch.noted[found.noted.path] = found.noted


def _files_read(engine: Engine, space: str, paths: Sequence[str]) -> Mapping[str, FileRead]:
    with engine.store.reader() as reader:
        return reader.files_read(space, paths)


def _read(format: Format, source: Source, place: Place, how: How, tally: _Tally, batch: _Batch) -> Iterator[None]:
    """Read a file into the batch; stop after each event, so that a full batch can be stored."""
    noted, position, events = place.noted, place.noted.position, place.noted.events
    try:
        for item in format.read(source, place.part, after=place.after):
            position = item.position or position
            if isinstance(item, Skipped):
                _count_skipped(item, how, tally)
                continue
            events += 1
            event = _clean(item.event, how, tally)
            batch.events.append(event)
            if item.former_key is not None:
                batch.formers[item.event["key"]] = identity_of(item.former_key, b"")
            batch.chars += len(str(event.get("text", "")))
            batch.noted[noted.path] = replace(noted, position=position, events=events)
            yield
    except InvalidInput as error:
        _count_unreadable(source, place.part, error, how, tally)
    else:
        batch.noted[noted.path] = replace(noted, position=position, events=events, whole=True)
    tally.bytes_done += place.noted.bytes


def _count_skipped(item: Skipped, how: How, tally: _Tally) -> None:
    if how.strict and not item.refused:
        raise InvalidEvent(f"{item.where}: {item.reason}: {item.sample}".rstrip(": "))
    tally.skipped[item.reason] += 1
    if not item.expected and len(tally.not_understood) < _SAMPLES:
        tally.not_understood.append(f"{item.where}: {item.reason}: {item.sample}".rstrip(": "))


def _count_unreadable(source: Source, part: str, error: InvalidInput, how: How, tally: _Tally) -> None:
    """Go on without a file that can't be read: it must not keep all others out, and is tried again the next time."""
    if how.strict or len(source.names) == 1:
        raise error
    _count_skipped(Skipped(reason="a file that can't be read", where=part, sample=error.detail), how, tally)


def _clean(event: dict[str, Json], how: How, tally: _Tally) -> dict[str, Json]:
    if how.own and _is_ours(event):
        return event
    clean, found = redact_event(event, how.rules)
    tally.redacted.update(secret.kind for secret in found)
    return clean


def _is_ours(event: Mapping[str, Json]) -> bool:
    """Tell what an export wrote, which stays as it was, from what others laid out alike."""
    raw_id = raw_id_of(event)
    return "recorded_at" in event and raw_id is not None and event.get("id") == event_id(raw_id)


def _store(engine: Engine, space: str, batch: _Batch, how: How, tally: _Tally, forgotten: Forgotten | None) -> None:
    """Write a batch; where one of it is refused, each by itself, so that the others are not lost for it."""

    def note(writer: Writer) -> None:
        # A hash of a file is a hash of what was forgotten of it: such a file is read from its beginning when it grows.
        noted = batch.noted.items()
        files = [replace(one, hash=b"") if path in tally.held_forgotten else one for path, one in noted]
        writer.put_files_read(space, files)

    events = batch.events if forgotten is None else _not_forgotten(batch, forgotten)
    tally.read += len(batch.events)
    if len(events) < len(batch.events):
        tally.skipped[_FORGOTTEN] += len(batch.events) - len(events)
        tally.held_forgotten.update(batch.noted)
    events = _not_known_otherwise(engine, space, events, batch.formers)
    try:
        tally.added += _written(engine, space, events, how, note)
    except (KeyConflict, InvalidEvent):
        if how.strict and not tally.redacted:
            raise
        for event in events:
            _store_one(engine, space, event, how, tally)
        _written(engine, space, [], how, note)


def _not_forgotten(batch: _Batch, forgotten: Forgotten) -> list[Mapping[str, Json]]:
    gone = forgotten.among(batch.events, batch.formers)
    return [event for event, is_gone in zip(batch.events, gone, strict=True) if not is_gone]


def _not_known_otherwise(
    engine: Engine, space: str, events: list[Mapping[str, Json]], formers: Mapping[str, bytes]
) -> list[Mapping[str, Json]]:
    """Leave out what is there under the key that it would have been given once."""
    if not formers:
        return events
    known = again(engine, partial(_known, engine, space, list(formers.values())))
    return [event for event in events if formers.get(event.get("key", "")) not in known]


def _known(engine: Engine, space: str, raw_ids: Sequence[bytes]) -> Set[bytes]:
    with engine.store.reader() as reader:
        return reader.find(space, raw_ids).keys()


def _store_one(engine: Engine, space: str, event: Mapping[str, Json], how: How, tally: _Tally) -> None:
    try:
        tally.added += _written(engine, space, [event], how, None)
    except KeyConflict:
        tally.differing += 1  # it was edited, or redacted otherwise, since it was stored
    except InvalidEvent as error:
        if how.strict:
            raise
        tally.skipped[_REFUSED] += 1
        if len(tally.not_understood) < _SAMPLES:
            tally.not_understood.append(error.detail)


def _written(
    engine: Engine, space: str, events: Sequence[Mapping[str, Json]], how: How, note: Callable[[Writer], None] | None
) -> int:
    done = write(
        engine,
        space,
        events,
        wing=how.wing,
        redact="none",  # it is done: what an export wrote stays as it was
        keep_recorded_at=how.own,
        defer=how.defer,
        in_the_same_turn=note,
    )
    return done.added


def _estimated(tally: _Tally, place: Place, batch: _Batch) -> int:
    """Guess how many events there will be, from the share of bytes that was read."""
    inside = batch.noted[place.noted.path].position.get("byte", 0)
    done = tally.bytes_done + (inside if isinstance(inside, int) else 0)
    return tally.read * tally.bytes_in_all // done if done else 0
