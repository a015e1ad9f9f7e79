"""Everyword's own files: JSONL as `export` writes it, and whole memories."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

from msgspec.structs import replace

from everyword.errors import InvalidInput, StoreError
from everyword.ingest.importers.records import AN_EDIT, Item, Position, Read, left_out, skipped
from everyword.ingest.importers.sources import Format, Source
from everyword.ingest.importers.streaming import first_records, json_lines
from everyword.ingest.validation import RECORD
from everyword.storage.opening import is_memory, open_log
from everyword.types.events import Json
from everyword.types.serialization import event_to_json

# Our own JSONL, as `export` writes it, or any JSONL with a `text` per line.

_FIELDS = set("text text_bytes id key space wing session speaker role source at recorded_at meta".split())


def _recognise_own_jsonl(source: Source, part: str) -> float:
    for event in first_records(source, part):
        if isinstance(event.get("text"), str) and not set(event) - _FIELDS - {RECORD}:
            return 0.95 if "recorded_at" in event else 0.8
    return 0.0


def _item(event: dict[str, Json]) -> Item:
    if RECORD in event:
        return AN_EDIT
    unknown = sorted(set(event) - _FIELDS)
    if unknown:
        return skipped(f"unknown field {', '.join(unknown[:5])}", event)
    exact = event.pop("text_bytes", None)
    try:
        if exact is not None:
            event["text"] = b64decode(exact, validate=True).decode("utf-8", "surrogatepass")
    except (ValueError, TypeError):
        return skipped("text_bytes is not what an export writes", exact)
    text = event.get("text")
    if not isinstance(text, str) or not text or text.isspace():
        return skipped("no text", event)
    return Read(event=event)


OWN_JSONL = Format(
    "everyword",
    (".jsonl", ".ndjson", ""),
    _recognise_own_jsonl,
    json_lines(lambda event, _: [_item(event)]),
    GROWS=True,
    OURS=True,
)


# Another Everyword memory: the events of one space as they were stored, without anything derived.
#
# Edits are skipped: a file may come from anybody, and its identities and retractions are not this memory's. `backup`
# and `migrate` make a complete copy.

SPACE = "space"  # key in Source.notes: the space to read, if the file has it


def _recognise_own_file(source: Source, part: str) -> float:
    """Recognise a memory by the magic bytes of its header; it has to be imported by itself."""
    return 0.98 if source.kind == "file" and is_memory(source.head(part)) else 0.0


def _read_own_file(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    try:
        with open_log(source.local(part)) as log:
            counts = log.spaces()
            space = _chosen(part, counts, source.notes.get(SPACE))
            for other in counts.keys() - {space}:
                yield left_out(f"space {other} of that memory")
            for number, event in log.events(space, after=int((after or {}).get("seq", 0))):
                if event is None:
                    one: Item = skipped("altered content", where=f"event {number}")
                elif event.record is not None:
                    one = replace(AN_EDIT, where=f"event {number}")
                else:
                    one = Read(event=event_to_json(event))
                    one.event.pop("text_bytes", None)  # only JSON needs it
                yield replace(one, position={"seq": number})
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


OWN_FILE = Format("memory", (), _recognise_own_file, _read_own_file, GROWS=True, OURS=True)
