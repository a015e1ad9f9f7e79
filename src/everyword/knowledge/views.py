"""The views of the log: each applies events in the order of arrival, behind a cursor of its own.

A view reads the events and what the views before it derived from the same events. It starts at the first event,
from nothing. The result does not depend on how the log is cut into batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from everyword.engine.engine import Engine
from everyword.knowledge import graph
from everyword.knowledge.concepts import fold_rows, reads_statements
from everyword.knowledge.reading import EventReading
from everyword.knowledge.statements import Reading, derive, read_new, readings_of, stated_in
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import CONCEPTS, FACTS, STATEMENTS
from everyword.types.events import Event

Rows = Sequence[tuple[int, Event]]  # events with their places in the log


class Batch:
    """Events that several views apply in one transaction, each read once."""

    def __init__(
        self, engine: Engine, writer: Writer, rows: Rows, found: Mapping[int, EventReading] = MappingProxyType({})
    ) -> None:
        self.engine, self.writer, self.rows = engine, writer, rows
        self._found = found  # what the reader found in some of them, before the write lock was taken
        self._readings: dict[int, Reading] | None = None

    def readings(self, rows: Rows) -> list[tuple[int, Reading]]:
        """Give what the reader and an LLM found in events."""
        if self._readings is None:
            self._readings = readings_of(self.writer, self.rows, self.engine.reader, self._found)
        return [(seq, self._readings[seq]) for seq, _ in rows]


def read_ahead(engine: Engine, reader: Reader, views: Sequence[str], limit: int) -> dict[int, EventReading]:
    """Read the next events that views will apply, so that the model does not run under the write lock."""
    cursors = reader.cursors()
    behind = [cursors[view] for view in views if view in (STATEMENTS, FACTS)]
    return (
        read_new(reader, engine.reader, reader.log(after=min(behind), limit=limit), engine.stopping) if behind else {}
    )


class View(Struct, frozen=True):
    """How one view follows the log."""

    apply: Callable[[Batch, Rows], int]  # the number of events applied; fewer where the rest must wait
    clear: Callable[[Writer], object]


def _apply_statements(batch: Batch, rows: Rows) -> int:
    if batch.engine.waits_for_reader:
        return 0
    derive(batch.writer, batch.readings(rows), batch.engine.reader)
    return len(rows)


def _apply_facts(batch: Batch, rows: Rows) -> int:
    if batch.engine.waits_for_reader:
        return 0
    graph.add_events(batch.writer, [stated_in(seq, reading) for seq, reading in batch.readings(rows)])
    return len(rows)


def _apply_concepts(batch: Batch, rows: Rows) -> int:
    # Concepts are made of events that state something: what the reader found in them is stored with the statements.
    if reads_statements(batch.engine):
        upto = batch.writer.cursor(STATEMENTS)
        rows = [(seq, event) for seq, event in rows if seq <= upto]
    return fold_rows(batch.engine, batch.writer, rows)[0]


BY_NAME: Mapping[str, View] = {
    STATEMENTS: View(_apply_statements, lambda writer: writer.drop_statements(None)),
    FACTS: View(_apply_facts, graph.drop),
    CONCEPTS: View(_apply_concepts, lambda writer: writer.roll_back_folding(0)),
}
