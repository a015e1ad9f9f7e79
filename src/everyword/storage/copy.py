"""Copy a whole store into another one, table by table; a copy can be resumed and is compared at the end.

The copy notes with each batch how far it is. A run that was interrupted goes on from there, if the source is as it was;
else it begins anew. Until it is complete the target says that it is a copy in the making, and opens
for nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from everyword.errors import StoreError
from everyword.storage.protocol import Store
from everyword.storage.rows import COPYING
from everyword.storage.sql.tables import FIRST, SPACES, Table, Tables, shared_columns, sum_of

Progress = Callable[[str, int, int], None]

_BATCH_ROWS = 2_000
_BATCH_BYTES = 8 * 1024 * 1024  # a block of pooled vectors is half a megabyte


class Copied(Struct, frozen=True, kw_only=True):
    """What a copy came to."""

    tables: Mapping[str, int]  # rows by table
    resumed: bool

    @property
    def rows(self) -> int:
        """Count all rows."""
        return sum(self.tables.values())


def copy_store(source: Store, target: Store, progress: Progress) -> Copied:
    """Copy all that a store holds into an empty one, or go on with that; then compare both."""
    with source.table_reader() as reader:
        tables = sorted(reader.tables, key=lambda table: (*(table.name != name for name in FIRST), table.name))
        with target.table_reader() as copy:
            there = {table.name for table in copy.tables}
        counts = {table.name: reader.count(table) for table in tables}
        tables = [table for table in tables if table.name in there or counts[table.name]]
        state = _begun(target, _fingerprint(reader, counts), tables)
        resumed = bool(state["done"] or state["after"])
        total, done = sum(counts.values()), state["rows"]
        for table in tables:
            if table.name in state["done"]:
                continue
            for rows in _batches(reader.each(table, state["after"])):
                done += len(rows)
                state |= {"rows": done, "after": _packed([rows[-1][name] for name in table.key])}
                with target.table_writer() as (file, copy):
                    copy.put(table, rows)
                    file.set_fact(COPYING, json.dumps(state))
                progress("rows", done, total)
            state |= {"done": [*state["done"], table.name], "after": None}
        with target.table_writer() as (_, copy):
            copy.finish()
        _compare(reader, target, tables, progress, total)
    with target.file_writer() as file:
        file.set_fact(COPYING, "")
    return Copied(tables=counts, resumed=resumed)


def _begun(target: Store, fingerprint: str, tables: Sequence[Table]) -> dict[str, Any]:
    """Find out how far a copy is; refuse a target that holds anything else."""
    with target.table_writer() as (file, copy):
        there = {table.name: copy.count(table) for table in copy.tables}
        if missing := [table.name for table in tables if table.name not in there]:
            raise StoreError(
                f"The target has no table {', '.join(missing)}; open both with the same version of Everyword."
            )
        said = file.fact(COPYING)
        state: dict[str, Any] | None = json.loads(said) if said else None
        if state is None and (said == "" or any(there[table.name] for table in tables)):
            raise StoreError("The target holds a memory already; copy into an empty one.")
        if state is not None and sum(there.values()) != state["rows"]:
            raise StoreError(
                "The unfinished copy was written to; nothing of it was removed.", fix="Copy into an empty one."
            )
        if state is not None and state["of"] == fingerprint:
            return {**state, "after": _unpacked(state["after"])} if state["after"] else state
        for table in reversed(tables):  # those that point to others first
            copy.clear(copy.table(table.name))
        anew: dict[str, Any] = {"of": fingerprint, "done": [], "after": None, "rows": 0}
        file.set_fact(COPYING, json.dumps(anew))
        return anew


def _fingerprint(reader: Tables, counts: Mapping[str, int]) -> str:
    """Tell a source from others, and from itself at another time: each write moves a space's counters."""
    spaces = sum_of(reader.rows(SPACES), reader.table(SPACES).columns)
    return hashlib.blake2b(f"{counts} {spaces.total}".encode(), digest_size=16).hexdigest()


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, str | bytes))
        if len(batch) >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _compare(reader: Tables, target: Store, tables: Sequence[Table], progress: Progress, total: int) -> None:
    """Hold every row of the copy against its source."""
    done = 0
    with target.table_reader() as copy:
        for table in tables:
            columns = shared_columns(reader, copy, table.name)
            ours, theirs = sum_of(reader.rows(table.name), columns), sum_of(copy.rows(table.name), columns)
            if ours != theirs:
                raise StoreError(
                    f"The copy of {table.name} differs from its source ({theirs.rows} of {ours.rows} rows).",
                    fix="Remove the target and copy again.",
                )
            done += ours.rows
            progress("checked", done, total)


def _packed(key: Sequence[Any]) -> list[Any]:
    return [{"bytes": value.hex()} if isinstance(value, bytes) else value for value in key]


def _unpacked(key: Sequence[Any]) -> list[Any]:
    return [bytes.fromhex(value["bytes"]) if isinstance(value, dict) else value for value in key]  # type: ignore[arg-type]
