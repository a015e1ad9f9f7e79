"""Everyword's own files: JSONL as `export` writes it, and whole memories."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator

from everyword.errors import InvalidInput, StoreError
from everyword.ingest.importers.records import Item, Position, Read, Skipped, an_edit, skipped
from everyword.ingest.importers.sources import Format, Source
from everyword.ingest.importers.streaming import Line, each_json_line, first_records
from everyword.storage.opening import is_memory, open_log
from everyword.types.events import Event, Json
from everyword.types.serialization import event_to_json

# Our own JSONL, as `export` writes it, or any JSONL with a `text` per line.

RECORD = "record"  # only records of edits have this field

_FIELDS = set("text text_bytes id key space wing session speaker role source at recorded_at meta".split())


def _recognise_own_jsonl(source: Source, part: str) -> float:
    for event in first_records(source, part):
        if isinstance(event.get("text"), str) and not set(event) - _FIELDS - {RECORD}:
            return 0.95 if "recorded_at" in event else 0.8
    return 0.0


def _read_own_jsonl(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read event by event, unchanged."""

    def items_of(event: dict[str, Json], line: Line) -> Iterator[Item]:
        where = f"{part}, line {line.number}"
        yield _item(event, where) if _is_utf8(line.content) else skipped("not UTF-8", where, line.text)

    return each_json_line(source, part, after, items_of)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _item(event: dict[str, Json], where: str) -> Item:
    if RECORD in event:
        return an_edit(where)
    unknown = sorted(set(event) - _FIELDS)
    if unknown:
        return skipped(f"unknown field {', '.join(unknown[:5])}", where, json.dumps(event)[:2000])
    exact = event.pop("text_bytes", None)
    try:
        if exact is not None:
            event["text"] = b64decode(exact, validate=True).decode("utf-8", "surrogatepass")
    except (ValueError, TypeError):
        return skipped("text_bytes is not what an export writes", where, str(exact))
    text = event.get("text")
    if not isinstance(text, str) or not text or text.isspace():
        return skipped("no text", where, json.dumps(event)[:2000])
    return Read(event=event)


OWN_JSONL = Format(
    NAME="everyword",
    SUFFIXES=(".jsonl", ".ndjson", ""),
    GROWS=True,
    recognise=_recognise_own_jsonl,
    read=_read_own_jsonl,
)


# Another Everyword memory: the events of one space as they were stored, without anything derived.
#
# Edits are skipped: a file may come from anybody, and its identities and retractions are not this memory's. `backup`
# and `migrate` make a complete copy.

SPACE = "space"  # key in Source.notes: the space to read, if the file has it


def _recognise_own_file(source: Source, part: str) -> float:
    """Recognise a memory by the magic bytes of its header; it has to be imported by itself."""
    return 0.98 if source.kind == "file" and is_memory(source.head(part)) else 0.0


def _read_own_file(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read event by event, in the order of arrival."""
    seq = (after or {}).get("seq", 0)
    try:
        with open_log(source.local(part)) as log:
            counts = log.spaces()
            space = _chosen(part, counts, source.notes.get(SPACE))
            for other in counts.keys() - {space}:
                yield Skipped(reason=f"space {other} of that memory", where=part, expected=True)
            for number, event in log.events(space, after=seq if isinstance(seq, int) else 0):
                position = {"seq": number}
                if event is not None and event.record is not None:
                    yield an_edit(f"{part}, event {number}", position)
                elif event is None:
                    yield Skipped(reason="altered content", where=f"{part}, event {number}", position=position)
                else:
                    yield Read(event=_event_fields(event), position=position)
    except StoreError as error:
        raise InvalidInput(f"{part} can't be read as a memory: {error.detail}", fix=error.fix) from error


def _chosen(part: str, counts: dict[str, int], wanted: Json) -> str:
    if wanted in counts or not counts:
        return str(wanted)
    if len(counts) > 1:
        raise InvalidInput(
            f"{part} holds {len(counts)} spaces, and none is called {wanted}.",
            fix=f"Name one of them with --space: {', '.join(sorted(counts)[:10])}.",
        )
    return next(iter(counts))


def _event_fields(event: Event) -> dict[str, Json]:
    fields = event_to_json(event)
    fields.pop("text_bytes", None)  # only JSON needs it
    return fields


OWN_FILE = Format(NAME="memory", SUFFIXES=(), GROWS=True, recognise=_recognise_own_file, read=_read_own_file)
