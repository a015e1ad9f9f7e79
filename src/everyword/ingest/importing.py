"""Import a source: read the files that are new or changed, and store their events in batches.

A file whose size and modification time are as recorded is not opened. A file whose content is as recorded is read from
where reading stopped; if its format only appends, also when it has grown. Every other file is read from the beginning,
which is harmless: events that are known already stay as they are."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from everyword.engine.engine import Engine, Progress
from everyword.engine.retry import again
from everyword.errors import EverywordError, InvalidInput, KeyConflict, MissingExtra
from everyword.ingest.importers import FORMATS, READERS_VERSION, Recognised
from everyword.ingest.importers.records import Position, Skipped
from everyword.ingest.importers.sources import Format, Source, open_source, suffix
from everyword.ingest.projects import Projects
from everyword.ingest.redaction.redact import NONE, Rules, redact_event
from everyword.ingest.validation import at_was_given
from everyword.ingest.write import write
from everyword.storage.forgotten import Identity
from everyword.storage.protocol import Writer
from everyword.storage.rows import FileRead
from everyword.types.events import Imported, Json, content_hash, event_id, identity_of
from everyword.types.times import Zone, as_datetime, in_zone, to_micros

BATCH = 256  # events per transaction: the most that a crash repeats, and repeating is harmless
_BATCH_CHARS = 4_000_000  # of text: a few long messages fill a transaction as well as many short ones
_MAX_SAMPLES = 5  # of unreadable entries in the report
_UNKNOWN = "{}: no known format"
_REFUSED = "it can't be stored"
_FORGOTTEN = "it was forgotten"
_OF_TOOLS = "what tools said"
# File systems record time in steps of up to two seconds: within one step a file may change unnoticed.
_TIME_STEP_NS = 2_000_000_000
_NO_HASH = b""
_FILES_PER_LOOKUP = 500


class ImportOptions(Struct, frozen=True, kw_only=True):
    """The options of an import."""

    wing: str | None = None
    rules: Rules = NONE  # what to redact
    zone: Zone = UTC  # of times that name none
    encode: bool = False  # with each batch; otherwise vectors follow
    again: bool = False  # read all files again, and store forgotten events
    skip_recent: bool = False  # leave files that may still be written for the next import
    tools: bool = True  # also what tools were asked and answered


class _Batch(Struct):
    """Events that are stored together, and how far their files are read."""

    events: list[Mapping[str, Json]] = field(default_factory=list[Mapping[str, Json]])
    chars: int = 0
    records: dict[str, FileRead] = field(default_factory=dict[str, FileRead])

    @property
    def is_full(self) -> bool:
        return len(self.events) >= BATCH or self.chars >= _BATCH_CHARS


def import_source(
    engine: Engine, space: str, found: Recognised, options: ImportOptions, *, progress: Progress
) -> Imported:
    """Store the events of a source that the memory has not read yet."""
    projects = Projects(partial(engine.store.reader, space))
    return _Import(engine, space, options, found, projects).run(progress)


class _Import(Struct):
    """One import: the events that are not stored yet, and counts for the report."""

    engine: Engine
    space: str
    options: ImportOptions
    found: Recognised
    projects: Projects
    batch: _Batch = field(default_factory=_Batch)
    read: int = 0
    added: int = 0
    differing: int = 0
    remembered: int = 0  # events of unchanged files
    files: int = 0
    unchanged: int = 0
    bytes_done: int = 0
    bytes_total: int = 0
    formats: Counter[str] = field(default_factory=Counter[str])  # files by format
    skipped: Counter[str] = field(default_factory=Counter[str])
    not_understood: list[str] = field(default_factory=list[str])
    unread_times: int = 0
    redacted: Counter[str] = field(default_factory=Counter[str])
    held_forgotten: set[str] = field(default_factory=set[str])  # paths of files that may hold forgotten events

    def run(self, progress: Progress) -> Imported:
        for one in self._with_zips_inside():
            self.skipped.update(one.left_out)
            for file in self._files_to_read(one):
                if file.unchanged:
                    self.unchanged += 1
                    self.remembered += file.record.events
                    self.bytes_done += file.record.bytes
                    if file.touched:
                        self.batch.records[file.record.path] = file.record
                    continue
                for _ in self._read(one.source, file):
                    if self.batch.is_full:
                        self._store()
                        progress("events", self.read, self._estimate_total(file))
                        self.batch = _Batch()
        if not self.formats and not self._is_empty_export(self.found.source):
            raise self.found.unknown()
        self._store()
        progress("events", self.read, self.read)
        left_out = self.skipped[_REFUSED] + self.skipped[_FORGOTTEN]
        return Imported(
            format=", ".join(name for name, _ in self.formats.most_common()),
            read=self.read,
            added=self.added,
            known=self.remembered + self.read - self.added - self.differing - left_out,
            differing=self.differing,
            skipped={reason: count for reason, count in self.skipped.items() if count},
            not_understood=tuple(self.not_understood),
            unread_times=self.unread_times,
            redacted=dict(self.redacted),
            files=self.files,
            unchanged=self.unchanged,
        )

    # Files

    def _with_zips_inside(self) -> Iterator[Recognised]:
        """Yield a source, then the zips in a folder: exports are downloaded as zips, several into one folder."""
        found = self.found
        yield found
        for name in found.source.ending(".zip") if found.source.kind == "folder" else ():
            try:
                source = open_source(found.source.local(name))
            except InvalidInput as error:
                self._count_unreadable(name, error)
                continue
            with closing(source):
                if source.kind == "zip":
                    yield replace(found, source=source)
                else:
                    self.skipped[_UNKNOWN.format(".zip")] += 1
                    self._add_sample(f"{name}: it is not a zip")

    def _is_empty_export(self, source: Source) -> bool:
        """Tell whether this is what an empty memory exports."""
        return source.kind == "file" and source.path.suffix == ".jsonl" and self.bytes_total == 0

    def _files_to_read(self, found: Recognised) -> Iterator[FileToRead]:
        """Yield the files of a known format, each with its start position; count the others."""
        source, parts = found.source, found.parts
        formats = {_reading_signature(one, self.options): one for one in FORMATS if found.named in (None, one)}
        self.bytes_total += sum((source.state(part) or (0, 0))[0] for part in parts)
        for start in range(0, len(parts), _FILES_PER_LOOKUP):
            some = parts[start : start + _FILES_PER_LOOKUP]
            known = again(self.engine, partial(self._files_read, [_stable_path(source, part) for part in some]))
            for part in some:
                before = None if self.options.again else known.get(_stable_path(source, part))
                format = _format_of(found, part, before, formats)
                if format is None:
                    self._count_unknown(found, part)
                    continue
                self.formats[format.NAME] += 1
                if self.options.skip_recent and not format.GROWS and _recently_modified(source, part):
                    continue
                self.files += 1
                try:
                    yield _plan_file(format, source, part, before, _reading_signature(format, self.options))
                except InvalidInput as error:
                    self._count_unreadable(part, error)

    def _files_read(self, paths: Sequence[str]) -> Mapping[str, FileRead]:
        with self.engine.store.reader(self.space) as reader:
            return reader.files_read(paths)

    def _count_unknown(self, found: Recognised, part: str) -> None:
        source = found.source
        if source.kind == "file" and not self._is_empty_export(source):
            raise found.unknown()
        if suffix(part) != ".zip" or source.kind == "zip":
            self.skipped[_UNKNOWN.format(suffix(part) or "a file without suffix")] += 1
            if any(suffix(part) in one.SUFFIXES for one in FORMATS):  # a picture is no surprise
                self._add_sample(_UNKNOWN.format(part))

    def _estimate_total(self, file: FileToRead) -> int:
        """Estimate the number of events from the share of bytes read."""
        inside = self.batch.records[file.record.path].position.get("byte", 0)
        done = self.bytes_done + (inside if isinstance(inside, int) else 0)
        return self.read * self.bytes_total // done if done else 0

    # Events

    def _read(self, source: Source, file: FileToRead) -> Iterator[None]:
        """Read a file into the batch; yield after each event, so that the caller can store a full batch."""
        record, position, events = file.record, file.record.position, file.record.events
        try:
            for item in file.format.read(source, file.part, after=file.after):
                position = item.position or position
                if isinstance(item, Skipped):
                    self._count_skipped(item)
                    continue
                if not self.options.tools and item.event.get("role") == "tool":
                    self.skipped[_OF_TOOLS] += 1
                    continue
                events += 1
                if item.unread_time:
                    self.unread_times += 1
                    where = f"{file.part}, {item.where}" if item.where else file.part
                    self._add_sample(f"{where}: a time that can't be read: {item.unread_time}")
                project = self.projects.of(item.folder) if item.folder and self.options.wing is None else None
                event = self._clean(project.placed(item.event) if project else item.event)
                self.batch.events.append(event)
                self.batch.chars += len(str(event.get("text", "")))
                self.batch.records[record.path] = replace(record, position=position, events=events)
                yield
        except (InvalidInput, MissingExtra) as error:
            self._count_unreadable(file.part, error)
        else:
            self.batch.records[record.path] = replace(record, position=position, events=events, whole=True)
        self.bytes_done += file.record.bytes

    def _count_skipped(self, item: Skipped) -> None:
        self.skipped[item.reason] += 1
        if not item.expected:
            self._add_sample(f"{item.where}: {item.reason}: {item.sample}".rstrip(": "))

    def _add_sample(self, sample: str) -> None:
        if len(self.not_understood) < _MAX_SAMPLES:
            self.not_understood.append(sample)

    def _count_unreadable(self, part: str, error: EverywordError) -> None:
        """Skip a file that can't be read, so that the others are imported; the next import tries it again."""
        if len(self.found.source.names) == 1:
            raise error
        self._count_skipped(Skipped(reason="a file that can't be read", where=part, sample=str(error)))

    def _clean(self, event: dict[str, Json]) -> dict[str, Json]:
        if "recorded_at" in event and (raw_id := _raw_id_of(event)) and event.get("id") == event_id(raw_id):
            return event  # from our own export, not from a file of the same layout
        event.pop("recorded_at", None)
        with suppress(KeyError, ValueError, TypeError):  # an invalid time is refused with its reason
            event["at"] = in_zone(datetime.fromisoformat(event["at"]), self.options.zone).isoformat()
        clean, found = redact_event(event, self.options.rules)
        self.redacted.update(secret.kind for secret in found)
        return clean

    # Storing

    def _store(self) -> None:
        """Write the batch; if an event is refused, write each by itself, so that the others are kept."""
        events = self.batch.events
        if not self.options.again:  # an import does not bring back what was forgotten
            gone = were_forgotten(self.engine, self.space, events)
            events = [event for event, is_gone in zip(events, gone, strict=True) if not is_gone]
        self.read += len(self.batch.events)
        if forgotten := len(self.batch.events) - len(events):
            self.skipped[_FORGOTTEN] += forgotten
            self.held_forgotten.update(self.batch.records)
        try:
            self._write(events, self._note_files)
        except (KeyConflict, InvalidInput):
            for event in events:
                try:
                    self._write([event])
                except KeyConflict:
                    self.differing += 1  # edited since it was stored, or redacted differently
                except InvalidInput as error:
                    self.skipped[_REFUSED] += 1
                    self._add_sample(error.detail)
            self._write([], self._note_files)

    def _note_files(self, writer: Writer) -> None:
        # A hash of the file would be a hash of its forgotten events, so none is kept. Such a file is read from the
        # start when it grows.
        records = self.batch.records.items()
        writer.put_files_read(
            [replace(one, hash=_NO_HASH) if path in self.held_forgotten else one for path, one in records]
        )

    def _write(self, events: Sequence[Mapping[str, Json]], note: Callable[[Writer], None] | None = None) -> None:
        self.added += write(
            self.engine,
            self.space,
            events,
            wing=self.options.wing,
            redact="none",  # already done; our own exports stay as they are
            keep_recorded_at=True,  # only events of our own exports have it
            encode=self.options.encode,
            in_the_same_turn=note,
        ).added


def _format_of(found: Recognised, part: str, before: FileRead | None, formats: Mapping[str, Format]) -> Format | None:
    """Choose the format of a file; one that has not changed has the same as before, and is not opened."""
    known = formats.get(before.reading) if before is not None and before.whole else None
    if known is not None and before is not None and (before.bytes, before.modified) == found.source.state(part):
        return known
    return found.format_of(part)


class FileToRead(Struct, frozen=True, kw_only=True):
    """A file to read, and where to begin."""

    part: str
    format: Format
    record: FileRead  # to store for the next import; the state before reading
    after: Position | None = None
    unchanged: bool = False  # it was read completely before
    touched: bool = False  # its modification time differs, its content does not


def _plan_file(format: Format, source: Source, part: str, known: FileRead | None, reading: str) -> FileToRead:
    """Decide whether and from where to read a file."""
    record = FileRead(path=_stable_path(source, part), reading=reading)
    plan = FileToRead(part=part, format=format, record=record)
    known = known if known is not None and known.reading == reading else None
    goes_on = format.GROWS  # where it is not a plain file, the format itself finds what is new after its last position
    if (state := source.state(part)) is not None:
        size, modified = state
        if known is not None and known.whole and (known.bytes, known.modified) == state:
            return replace(plan, record=known, unchanged=True)
        # A recent time proves nothing at the next import.
        modified = modified if time.time_ns() - modified > _TIME_STEP_NS else 0
        hashes = source.digests(part, [size] if known is None else sorted({known.bytes, size}))
        record = replace(record, bytes=size, modified=modified, hash=hashes.get(size, _NO_HASH))
        known = known if known is not None and hashes.get(known.bytes) == known.hash else None
        if known is not None and known.bytes == size:
            if known.whole:
                return replace(plan, record=replace(known, modified=modified), unchanged=True, touched=modified > 0)
            goes_on = True
    if known is None or not goes_on or not known.position:
        return replace(plan, record=record)
    return replace(plan, record=replace(record, position=known.position, events=known.events), after=known.position)


def _recently_modified(source: Source, part: str) -> bool:
    """Check whether a file changed a moment ago: its program may still be writing it."""
    state = source.state(part)
    return state is not None and time.time_ns() - state[1] < _TIME_STEP_NS


def _reading_signature(format: Format, options: ImportOptions) -> str:
    """Identify how files are read; a file read in another way counts as not read."""
    how = [format.NAME, READERS_VERSION, options.wing, options.rules.fingerprint, str(options.zone)]
    return json.dumps(how if options.tools else [*how, "no tools"])


def _stable_path(source: Source, part: str) -> str:
    """Name a file by its absolute path, however the caller named it."""
    whole = source.path.resolve()
    path = whole if source.kind == "file" else f"{whole}!/{part}" if source.kind == "zip" else whole / part
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def were_forgotten(engine: Engine, space: str, events: Sequence[Mapping[str, Json]]) -> list[bool]:
    """Tell for each event whether it was forgotten and not added again since."""
    identities = [_identity_of(event) for event in events]

    def forgotten() -> set[Identity]:
        with engine.store.reader(space) as reader:
            gone = reader.forgotten({one for one in identities if one is not None})
            there = reader.find([one.raw_id for one in gone]) if gone else {}
        return {one for one in gone if one.raw_id not in there}

    gone = again(engine, forgotten)
    return [one in gone for one in identities]


def _identity_of(event: Mapping[str, Json]) -> Identity | None:
    """Return the identity under which an event may have been forgotten; None if only writing it decides."""
    raw_id = _raw_id_of(event)
    try:
        at = to_micros(as_datetime(event["at"]))[0] if at_was_given(event) else None
    except InvalidInput:  # it will be refused with its reason
        return None
    return None if raw_id is None else Identity(event.get("session"), event.get("speaker"), at, raw_id)


def _raw_id_of(event: Mapping[str, Json]) -> bytes | None:
    """Derive the id that an event will have; None if only writing it decides."""
    key, text, at = event.get("key"), event.get("text"), event.get("at")
    if isinstance(key, str):
        return identity_of(key, b"")
    if not isinstance(text, str) or at is None:
        return None
    try:
        content = content_hash(text, event.get("session"), event.get("speaker"), to_micros(as_datetime(at))[0])
    except InvalidInput:  # it will be refused with its reason
        return None
    return identity_of(None, content)
