"""Tables with named columns: CSV, TSV, and JSON or JSONL with an object a row.

Columns of known names become the fields of an event, the others go to its meta. Without a column of text, the whole row
is the text.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import PurePosixPath

from msgspec.structs import replace

from everyword.errors import InvalidInput
from everyword.ingest.importers.records import (
    Item,
    Position,
    Read,
    Record,
    as_moment,
    as_name,
    as_record,
    digest,
    item,
    skipped,
)
from everyword.ingest.importers.sources import Format, Source, suffix
from everyword.ingest.importers.streaming import MAX_RECORD_BYTES, each_json_record, first_records, lines
from everyword.text.written_times import Day, UnclearOrder, day_in_numbers, order_of, read_time
from everyword.types.events import Json

_COLUMNS = {
    "text": ("text", "content", "message", "body", "note", "memory", "fact", "quote", "comment"),
    "speaker": ("speaker", "author", "sender", "from", "user", "username", "who", "user_id"),
    "at": ("at", "timestamp", "time", "date", "datetime", "created_at", "created", "sent_at", "when"),
    "session": ("session", "conversation", "thread", "channel", "chat", "session_id", "conversation_id", "thread_id"),
    "role": ("role",),
    "wing": ("wing", "project"),
}

_DELIMITERS = "\t;,|"
_MAX_COLUMNS = 1_000  # more is not a table that people wrote
_MAX_META_CHARS = 1_000  # of one column beside the text


def _recognise(source: Source, part: str) -> float:
    if suffix(part) in (".csv", ".tsv", ".tab"):
        return 0.6 if b"\x00" not in source.head(part) else 0.0
    if suffix(part) == ".json":
        return 0.0  # only where the user says so: any program's settings are JSON
    return 0.55 if any(isinstance(row.get(_field(row, "text")), str) for row in first_records(source, part)) else 0.0


def _read(source: Source, part: str, _after: Position | None) -> Iterator[Item]:
    path = PurePosixPath(part).with_suffix("").as_posix()

    @cache  # read once, and only where a row needs it
    def order() -> str | None:
        """Find the order of day and month from the whole column: one 13/02 tells what 03/02 means."""
        days: list[Day] = []

        def note(row: Record) -> Iterator[Item]:
            at = row.get(_field(row, "at"))
            days.extend(day for day in [day_in_numbers(at) if isinstance(at, str) else None] if day)
            return iter(())

        deque(_each_row(source, part, note), maxlen=0)
        return order_of(days)

    return _each_row(source, part, lambda row: [_item(row, path, order)])


def _each_row(source: Source, part: str, items_of: Callable[[Record], Iterable[Item]]) -> Iterator[Item]:
    if suffix(part) in (".json", ".jsonl", ".ndjson"):
        return each_json_record(source, part, lambda row, _: items_of(as_record(row)))
    return _rows(source, part, items_of)


def _rows(source: Source, part: str, items_of: Callable[[Record], Iterable[Item]]) -> Iterator[Item]:
    csv.field_size_limit(MAX_RECORD_BYTES)
    with source.open(part) as file:
        first = next((line for line in lines(file) if line.content.strip()), None)
        delimiter = max(_DELIMITERS, key=first.text.count) if first else ","
        if first is not None and (first.too_long or first.text.count(delimiter) >= _MAX_COLUMNS):
            raise InvalidInput(f"{part} has more than {_MAX_COLUMNS:,} columns.")
        names: list[str] | None = None
        too_long: list[int] = []

        def rows_of_text() -> Iterator[str]:
            for line in lines(file):
                if line.too_long:
                    too_long.append(line.number)
                yield "\n" if line.too_long else line.text + "\n"

        rows = csv.reader(rows_of_text(), delimiter=delimiter)
        while True:
            where = f"line {rows.line_num + 1}"
            for number in too_long:
                yield skipped("a line of more than 64 MiB", where=f"line {number}")
            too_long.clear()
            try:
                row = next(rows, None)
            except csv.Error as error:
                yield skipped(f"not a row ({error})", where=where)
                continue
            if row is None:
                return
            if not any(cell.strip() for cell in row):
                continue
            if names is None:
                names = [name.strip() or f"column {number}" for number, name in enumerate(row, 1)]
            elif len(row) > len(names):
                yield skipped("more cells than columns", delimiter.join(row[:_MAX_COLUMNS]), where=where)
            else:
                yield from (replace(one, where=where) for one in items_of(Record(zip(names, row, strict=False))))


def _item(row: Record, path: str, order: Callable[[], str | None]) -> Item:
    fields = {name: row.pop(column, None) for name in _COLUMNS if (column := _field(row, name))}
    text = fields.pop("text", None)
    rest = {name: value for name, value in row.items() if value not in (None, "", [], {})}
    if not isinstance(text, str) or not text.strip():
        text, rest = "\n".join(f"{name}: {value}" for name, value in rest.items()), {}
    name = digest(text, *(str(value) for value in fields.values()), *(str(value) for value in rest.values()))
    written = fields.pop("at", None)
    at, why_not = _moment(written, order)
    made = item(
        text,
        key=f"{path}:{name}",
        source={"file": path},
        at=at,
        session=as_name(fields.get("session")) or path,
        speaker=as_name(fields.get("speaker")),
        role=as_name(fields.get("role")) or (None if fields.get("speaker") else "note"),
        wing=as_name(fields.get("wing")),
        meta={name[:100]: str(value)[:_MAX_META_CHARS] for name, value in list(rest.items())[:100]},
    )
    return replace(made, unread_time=f"{made.unread_time}{why_not}") if isinstance(made, Read) and why_not else made


def _moment(written: Json, order: Callable[[], str | None]) -> tuple[Json, str]:
    """Read a time in any common form; one that can't be read stays as it is, with what else there is to say."""
    if not isinstance(written, str) or as_moment(written):
        return written, ""
    if moment := as_moment(written.strip().replace("/", "-")):
        return moment, ""
    with suppress(ValueError):
        try:
            return read_time(written, None).isoformat(), ""
        except UnclearOrder:
            if (known := order()) is None:
                return written, " (the day or the month may come first)"
            return read_time(written, None, order=known).isoformat(), ""
    return written, ""


def _field(row: Record, field: str) -> str:
    """Find the column of a field, however it is capitalised."""
    named = {column.strip().lower().replace(" ", "_"): column for column in row}
    return next((named[one] for one in _COLUMNS[field] if one in named), "")


TABLE = Format(
    "table", (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json"), _recognise, _read, REPEATS=True
)  # the last row may be continued
