"""Derive a space again in a scratch store, then swap the rows in one transaction.

The log is copied into the scratch store and derived there in batches, while others go on reading and writing. Then one
transaction drops the old derived rows and copies the new ones under new numbers. Nothing changes until it commits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple

from everyword.engine.engine import Engine, Progress
from everyword.errors import StoreBusy
from everyword.jobs.deriver import BATCH, apply_batch, derive_batch
from everyword.knowledge import graph
from everyword.storage.opening import open_scratch
from everyword.storage.protocol import Store, Tables
from everyword.storage.rows import CONCEPTS, FACTS, STATEMENTS
from everyword.storage.sql.graph import renumbered
from everyword.storage.sql.tables import SPACES, shared_columns, sum_of

_FACTS = "facts"
DERIVED = (STATEMENTS, FACTS)  # the views that need nothing but the log and `READ`
# What deriving reads besides the log: readings of an LLM, and merges and splits of entities by people.
READ = ("readings", "entity_edits", "entity_pins")
# The derived tables by view, referenced ones first: which columns hold row numbers of which other table. Any other
# column `number` is the row's own number, which differs between stores.
TABLES_BY_VIEW: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    STATEMENTS: {"statements": {}, "statement_keys": {"number": "statements"}, "journal": {}, "event_tags": {}},
    FACTS: {
        "names": {},
        "mentions": {"name": "names"},
        "claims": {},
        _FACTS: {},
        "fact_claims": {"fact": _FACTS, "claim": "claims"},
    },
    CONCEPTS: {
        "fold_journal": {},
        "fold_nodes": {"born_by": "fold_journal", "closed_by": "fold_journal"},
        "fold_edges": {"born_by": "fold_journal", "closed_by": "fold_journal"},
        "fold_apart": {},
        "fold_work": {},
        "fold_loose": {},
    },
}
_CHANGED = "changed"  # column of names: the version of the graph, which differs between stores
_COPY_BATCH = 2_000  # rows
_MOST_LEFT = 64  # late events that are derived within the final transaction: some 50 ms
_TRIES = 5  # starts over if events are forgotten or read by an LLM meanwhile


def derive_beside(engine: Engine, space: str, progress: Progress) -> None:
    """Derive all views but the concepts again; readers see the old rows until the new ones are complete."""
    for _ in range(_TRIES):
        with closing(open_scratch()) as scratch:
            with engine.store.table_reader() as reader:  # the small tables must be there before events
                copy_base(reader, scratch, space, (*READ, "model_readings"))
            copied = _Copied(0, 0)
            while True:
                copied = _derived(engine, scratch, space, copied, progress)
                taken = _exchanged(engine, scratch, space, copied)
                if taken is _ANEW:
                    break
                if taken is _DONE:
                    return
    raise StoreBusy("The space could not be rebuilt because events are being forgotten.", fix="Try again.")


class _Copied(NamedTuple):
    """How much of the log was copied."""

    upto: int
    events: int


_DONE, _ANEW, _MORE = "done", "anew", "more"


def copy_base(reader: Tables, scratch: Store, space: str, tables: Iterable[str]) -> None:
    """Copy the row of a space, and its rows of tables, into a scratch store."""
    with scratch.table_writer() as (_, writer):
        own = next(row for row in reader.rows(SPACES) if row["name"] == space)
        writer.put(writer.table(SPACES), [own | {"last_seq": 0}])  # no event is copied yet
        for name in tables:
            writer.put_all(name, reader.rows(name, space))


def _derived(engine: Engine, scratch: Store, space: str, copied: _Copied, progress: Progress) -> _Copied:
    """Copy the rest of the log, and derive it."""
    while True:
        with engine.store.table_reader() as reader:
            events = reader.table("events")
            after = [{"space": space, "seq": copied.upto}[column] for column in events.key]
            rows = list(islice(reader.each(events, after, space), _COPY_BATCH))
        if not rows:
            return copied
        derive_rows(engine, scratch, space, rows)
        copied = _Copied(rows[-1]["seq"], copied.events + len(rows))
        progress("statements", copied.events, copied.events)


def derive_rows(engine: Engine, scratch: Store, space: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add the next events to a scratch store and derive all views of them but the concepts, which need vectors."""
    with scratch.table_writer() as (_, writer):
        writer.put(writer.table("events"), rows)
    with scratch.writer(space) as writer:
        writer.note_last_seq(rows[-1]["seq"])
    while derive_batch(engine, scratch, space, DERIVED, BATCH)[0]:
        pass


def _exchanged(engine: Engine, scratch: Store, space: str, copied: _Copied) -> str:
    """Replace the derived rows, unless the log changed in a way that needs more copying or a new start."""
    with engine.store.table_writer() as (file, tables), scratch.table_reader() as made:
        writer = file.writer(space)
        left = writer.log(after=copied.upto, limit=_MOST_LEFT + 1)
        if len(left) > _MOST_LEFT:
            return _MORE
        tally = writer.tally()
        if tally.events + tally.records != copied.events + len(left) or _inputs_changed(tables, made, space, copied):
            return _ANEW
        writer.drop_statements(None)
        writer.drop_model_readings()
        graph.drop(writer)
        version = writer.graph_state().version
        _take(tables, made, space, version)
        for view in DERIVED:
            writer.set_cursor(view, copied.upto)
        apply_batch(engine, writer, DERIVED, _MOST_LEFT + 1)
    return _DONE


def _inputs_changed(tables: Tables, made: Tables, space: str, copied: _Copied) -> bool:
    """Tell whether readings or entity edits of the copied events changed meanwhile."""
    for name in READ:
        columns = shared_columns(tables, made, name)
        now, then = (
            sum_of((row for row in one.rows(name, space) if row.get("seq", 0) <= copied.upto), columns)
            for one in (tables, made)
        )
        if now != then:
            return True
    return False


def _take(tables: Tables, made: Tables, space: str, version: int) -> None:
    by = tables.reserve(made.last_number())
    tables.put_all("model_readings", made.rows("model_readings", space))
    for view in DERIVED:
        for name, points_to in TABLES_BY_VIEW[view].items():
            tables.put_all(name, (_moved(name, row, points_to, by, version) for row in made.rows(name, space)))


def _moved(table: str, row: dict[str, Any], points_to: Collection[str], by: int, version: int) -> dict[str, Any]:
    """Convert a row to the numbers of the other store."""
    moved = row | {column: row[column] + by for column in ("number", *points_to) if column in row}
    if _CHANGED in row:
        moved[_CHANGED] = version
    if table == _FACTS:
        moved["body"] = renumbered(row["body"], by)
    return moved
