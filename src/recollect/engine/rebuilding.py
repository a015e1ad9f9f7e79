"""Deriving a space anew beside what is shown: in a store of its own, which takes the place of the old in one step.

The log is copied into a scratch store and derived there, some events at a time, while everybody goes on reading and
writing. Then, in one transaction, what was derived before goes and what was derived now comes: rows as they are, under
new numbers. Until that commits nothing has changed; a process that dies leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from recollect.core.errors import StoreBusy
from recollect.engine import graph
from recollect.engine.attention import mark_behind
from recollect.engine.derive import catch_up
from recollect.engine.engine import Engine, Progress
from recollect.store.graph_rows import renumbered
from recollect.store.opening import open_scratch
from recollect.store.protocol import Store
from recollect.store.tables import SPACES, Sum, Table, TableReader, TableWriter

_FACTS = "facts"
# What deriving reads besides the log: what an LLM had found in it, and what people said of who is who.
READ = ("readings", "entity_edits", "entity_pins")
# What it makes, those that others point to first, and which columns are the numbers of rows.
_MADE: Mapping[str, tuple[str, ...]] = {
    "artifacts": ("number",),
    "artifact_keys": ("number",),
    "artifact_edges": (),
    "journal": ("number",),
    "event_tags": (),
    "names": ("number",),
    "mentions": ("name",),
    "claims": ("number",),
    _FACTS: ("number",),
    "fact_claims": ("fact", "claim"),
    "session_summaries": (),
    "marks": (),
}
_CHANGED = "changed"  # of a name: the graph's version, which is the other store's own
_COPIED_AT_ONCE = 2_000  # rows
_DERIVED_AT_ONCE = 256  # events in one transaction of the scratch store: its log stays small
_LEFT_AT_MOST = 64  # events that arrived last and are derived in the transaction of the exchange: some 50 ms
_TRIES = 5  # it begins again when something is forgotten, or an LLM reads an event, meanwhile


def derive_beside(engine: Engine, space: str, progress: Progress) -> None:
    """Derive what events state, the graph and the marks anew; readers see the old until all of the new is there."""
    for _ in range(_TRIES):
        scratch = open_scratch()
        try:
            _begin(engine.store, scratch, space)
            copied = _Copied(0, 0)
            while True:
                copied = _derived(engine.store, scratch, space, copied, progress)
                taken = _exchanged(engine.store, scratch, space, copied)
                if taken is _ANEW:
                    break
                if taken is _DONE:
                    return
        finally:
            scratch.close()
    raise StoreBusy("Events are being forgotten all the time, so that they could not be derived anew. Try again.")


class _Copied(NamedTuple):
    """How far the log was copied."""

    upto: int
    events: int


_DONE, _ANEW, _MORE = "done", "anew", "more"


def _begin(store: Store, scratch: Store, space: str) -> None:
    """Copy what is small, and what must be there first."""
    with store.table_reader() as reader:
        copy_base(reader, scratch, space, READ)


def copy_base(reader: TableReader, scratch: Store, space: str, tables: Iterable[str]) -> None:
    """Copy the row of a space, and its rows of tables, into a scratch store."""
    with scratch.table_writer() as writer:
        spaces = table_of(reader, SPACES)
        writer.put(table_of(writer, SPACES), [row for row in reader.each(spaces, None) if row["name"] == space])
        for name in tables:
            for rows in batches(reader.each(table_of(reader, name), None, space)):
                writer.put(table_of(writer, name), rows)


def _derived(store: Store, scratch: Store, space: str, copied: _Copied, progress: Progress) -> _Copied:
    """Copy what of the log is not there yet, and derive it."""
    while True:
        with store.table_reader() as reader:
            events = table_of(reader, "events")
            behind = [{"space": space, "seq": copied.upto}[column] for column in events.key]
            rows = list(islice(reader.each(events, behind, space), _COPIED_AT_ONCE))
        if not rows:
            return copied
        derive_rows(scratch, space, rows)
        copied = _Copied(rows[-1]["seq"], copied.events + len(rows))
        progress("artifacts", copied.events, copied.events)


def derive_rows(scratch: Store, space: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put the next events of a log into a scratch store and derive what they state, the graph and the marks."""
    with scratch.table_writer() as writer:
        writer.put(table_of(writer, "events"), rows)
    with scratch.writer() as writer:
        writer.owe_derivation(space, rows[0]["seq"] - 1)
        writer.owe_marks(space, rows[0]["seq"] - 1)
    done = _DERIVED_AT_ONCE
    while done == _DERIVED_AT_ONCE:
        with scratch.writer() as writer:
            done = catch_up(writer, space, limit=_DERIVED_AT_ONCE)
    mark_behind(scratch, space)


def _exchanged(store: Store, scratch: Store, space: str, copied: _Copied) -> str:
    """Put what was derived in the place of what was there, unless the log is not the one that was copied any more."""
    with store.exchange() as (writer, tables), scratch.table_reader() as made:
        left = writer.log(space, after=copied.upto, limit=_LEFT_AT_MOST + 1)
        if len(left) > _LEFT_AT_MOST:
            return _MORE
        tally = writer.tally(space)
        if tally.events + tally.records != copied.events + len(left) or _read_otherwise(tables, made, space, copied):
            return _ANEW
        writer.drop_artifacts(space, None)
        graph.drop(writer, space)
        writer.drop_marks(space)
        writer.set_graph(space, upto=None if not left else copied.upto, gone=True)
        version = writer.graph_state(space).version
        _take(tables, made, space, version)
        writer.owe_derivation(space, copied.upto if left else None)
        writer.owe_marks(space, copied.upto if left else None)
        if left:
            catch_up(writer, space, limit=_LEFT_AT_MOST + 1)
    return _DONE


def _read_otherwise(tables: TableReader, made: TableReader, space: str, copied: _Copied) -> bool:
    """Tell whether an LLM or a person has said anything since, of what was copied."""
    for name in READ:
        ours, theirs = table_of(tables, name), table_of(made, name)
        columns = sorted(set(ours.columns) & set(theirs.columns))
        now, then = Sum(), Sum()
        now.add((row for row in tables.each(ours, None, space) if row.get("seq", 0) <= copied.upto), columns)
        then.add((row for row in made.each(theirs, None, space) if row.get("seq", 0) <= copied.upto), columns)
        if now != then:
            return True
    return False


def _take(tables: TableWriter, made: TableReader, space: str, version: int) -> None:
    by = tables.reserve(made.last_number())
    for name, numbers in _MADE.items():
        into = table_of(tables, name)
        for rows in batches(made.each(table_of(made, name), None, space)):
            tables.put(into, [_moved(name, row, numbers, by, version) for row in rows])


def _moved(table: str, row: dict[str, Any], numbers: Sequence[str], by: int, version: int) -> dict[str, Any]:
    """Give a row as it is in the other store, where its numbers are others."""
    moved = row | {column: row[column] + by for column in numbers}
    if _CHANGED in row:
        moved[_CHANGED] = version
    if table == _FACTS:
        moved["body"] = renumbered(row["body"], by)
    return moved


def batches(rows: Iterator[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    """Cut rows into what is copied at once."""
    while batch := list(islice(rows, _COPIED_AT_ONCE)):
        yield batch


def table_of(reader: TableReader, name: str) -> Table:
    """Find a table by its name."""
    return next(table for table in reader.tables() if table.name == name)
