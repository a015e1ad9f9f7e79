"""Our own JSONL, as `export` writes it, or any JSONL with a `text` per line."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator

from everyword.ingest.importers.records import Item, Position, Read, an_edit, skipped
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.streaming import Line, each_json_line, first_records
from everyword.types.events import Json

NAME = "everyword"
GROWS = True
SUFFIXES = (".jsonl", ".ndjson", "")
RECORD = "record"  # only records of edits have this field

_FIELDS = {
    "text",
    "text_bytes",
    "id",
    "key",
    "space",
    "wing",
    "session",
    "speaker",
    "role",
    "source",
    "at",
    "recorded_at",
    "meta",
}


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    for event in first_records(source, part):
        if isinstance(event.get("text"), str) and not set(event) - _FIELDS - {RECORD}:
            return 0.95 if "recorded_at" in event else 0.8
    return 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
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
