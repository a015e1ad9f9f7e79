"""Readers and writers of a PostgreSQL store: what differs from the shared SQL classes.

Small spaces are scanned in memory, exactly, as in a file. Past `NEAR_FROM` vectors a process would spend its time and
memory on that, so the space's vectors are also kept in `near`, one a row in half precision, under a partial HNSW index:
other tenants are not in it, and a search never meets them. What the index finds is scored anew here, with the question
as it is, so that scores are those of the scan. Where a filter leaves little, that is read and scanned; where it leaves
much, the index goes on looking until it has enough (an iterative scan).

All of it is derived: `near_spaces` says how far each space is, and a worker, or `settle`, does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from everyword.storage.nearest import EXACT_UP_TO, PooledMatrix, unit_bounds, unit_of
from everyword.storage.postgres.connect import Connection
from everyword.storage.postgres.snapshot import PostgresSnapshot, PostgresTransaction, ask, query
from everyword.storage.postings import Ranking, Seqs
from everyword.storage.rows import EMBED, Draft, Model, Space, UnitVector
from everyword.storage.sql import writer
from everyword.storage.sql.reader import FileReader, Reader
from everyword.storage.sql.row_mapping import event_values, indexed_meta
from everyword.storage.sql.snapshot import array
from everyword.storage.sql.writer import FileWriter, Writer

# Vectors of a space past which it gets an index. Up to here a scan in memory is exact and quick (2.5 ms for 50,000, see
# docs/scale.md); beyond, each process would hold a tenth of a gigabyte for the space, and scan a shortlist anyway.
NEAR_FROM = EXACT_UP_TO
# Events that a filter leaves up to which their vectors are read and scanned.
_NARROW = 4_000
# How many windows are asked for an event that is wanted: long events have several.
_WINDOWS_AN_EVENT = 2
_LEAST_WINDOWS = 100
_NOW = 1 << 62  # microseconds: later than any clock, so that the time of the write counts
_NO_WINDOWS = ((),) * 7
_NO_LABELS = ((),) * 4


class PostgresReader(Reader):
    """Reads one space within one transaction."""

    def __init__(self, file: FileReader, server: PostgresSnapshot, space: str) -> None:
        super().__init__(file, space)
        self.server = server

    def by_vector(self, model: Model, vector: NDArray[np.float32], k: int, allowed: Seqs | None) -> Ranking:
        row = self.row
        if row is not None and model.id in self.server.near[row.id].indexed:
            return _nearest(self.server, row, model, vector, k, allowed)
        return super().by_vector(model, vector, k, allowed)

    def prepare(self, model: Model) -> None:
        row = self.row
        if row is not None and model.id not in self.server.near[row.id].indexed:
            super().prepare(model)


class PostgresWriter(PostgresReader, Writer):
    """Writes to one space within one transaction."""

    def _insert_events(
        self, space: Space, drafts: Sequence[Draft], model: Model | None, *, now: int, queue: bool
    ) -> list[tuple[int, int]]:
        """Add events with all that belongs to them in one statement: one way to the server."""
        self.server.appended = (self.space, drafts[-1].raw_id)
        events: list[tuple[Any, ...]] = []
        for draft in drafts:
            learned = _NOW if draft.recorded_at is None else draft.recorded_at
            _, *values = event_values(space.id, draft, learned, draft.event.text)
            events.append((*values, draft.terms.length, draft.terms.packed))
        said = {place: draft for place, draft in enumerate(drafts, 1) if draft.event.record is None}
        encoded = {place: draft.vectors for place, draft in said.items() if model is not None and draft.vectors}
        windows = [
            (place, number, *vector.span, len(several), vector.tokens, vector.pooled.tobytes())
            for place, several in encoded.items()
            for number, vector in enumerate(several)
        ]
        labels = [(place, *label) for place, draft in said.items() for label in indexed_meta(draft.event.meta)]
        owed = [place for place in said if queue and place not in encoded]
        self.server.owes = self.server.owes or bool(owed)
        rows = self.sql.rows(
            "append_events",
            (
                *(space.id, now, *zip(*events, strict=True)),
                *(0 if model is None else model.id, *(zip(*windows, strict=True) if windows else _NO_WINDOWS)),
                *(EMBED, array(owed)),
                *(zip(*labels, strict=True) if labels else _NO_LABELS),
            ),
        )
        words = sum(draft.terms.length for draft in said.values())
        self.sql.keep_space(self.space, space.grown(len(said), words, rows[-1][0]))
        if model is not None and encoded:
            self._put_near(space, model, {rows[place - 1][0]: several for place, several in encoded.items()})
            if rows[0][2] + len(windows) >= writer.SEAL_AT:
                self._seal_pooled(space, model)
        return [(seq, learned) for seq, learned, _ in rows]

    def _insert_vectors(
        self, space: Space, model: Model, vectors: Mapping[int, Sequence[UnitVector]], in_tail: int, in_blocks: int
    ) -> None:
        super()._insert_vectors(space, model, vectors, in_tail, in_blocks)
        self._put_near(space, model, vectors)

    def _put_near(self, space: Space, model: Model, vectors: Mapping[int, Sequence[UnitVector]]) -> None:
        if model.id in self.server.near[space.id].kept:
            units = [
                (unit_of(model.id, seq, window), vector.pooled)
                for seq, several in vectors.items()
                for window, vector in enumerate(several)
            ]
            put_near(self.server, space.id, units)

    def _seal_pooled(self, space: Space, model: Model) -> None:
        super()._seal_pooled(space, model)
        if max(self.sql.rows("last_positions", (space.id, model.id))[0]) >= NEAR_FROM:
            self.sql.run("want_near", (space.id, model.id))

    def _remove_vectors(self, space: Space, gone: Seqs) -> int:
        for model in self.server.near[space.id].kept:
            firsts = array([unit_of(model, seq, 0) for seq in gone.tolist()])
            counted = self.sql.rows("windows_of_units", (firsts, space.id))
            units = array([unit + window for unit, count in counted for window in range(count)])
            self.sql.run("delete_near", (space.id, units))
        return super()._remove_vectors(space, gone)


class PostgresFileReader(FileReader):
    """Reads what belongs to no space, and gives readers of spaces in the same transaction."""

    def __init__(self, server: PostgresSnapshot) -> None:
        super().__init__(server)
        self.server = server

    def reader(self, space: str) -> PostgresReader:
        return PostgresReader(self, self.server, space)


class PostgresFileWriter(FileWriter):
    """Writes what belongs to no space, and gives writers of spaces in the same transaction."""

    def __init__(self, server: PostgresTransaction) -> None:
        super().__init__(server)
        self.server = server

    def writer(self, space: str) -> PostgresWriter:
        return PostgresWriter(self, self.server, space)

    def activate(self, model: Model) -> None:
        self.server.keep_writers_out()  # what they write with the model before would be missed
        super().activate(model)

    def drop_vectors(self, model: Model, *, limit: int) -> int:
        if not self.server.is_everywhere:
            return 0  # for one space alone there is no telling whether a model's last vector is gone
        self.sql.run("drop_near", unit_bounds(model.id))
        self.sql.run("drop_near_spaces", (model.id,))
        return super().drop_vectors(model, limit=limit)


def _nearest(
    server: PostgresSnapshot, space: Space, model: Model, question: NDArray[np.float32], k: int, allowed: Seqs | None
) -> Ranking:
    """Rank the `k` nearest events by cosine; a long event counts by its best window."""
    if allowed is not None and len(allowed) <= _NARROW:
        firsts = array([unit_of(model.id, int(seq), 0) for seq in allowed])
        rows = server.rows("near_of_events", (firsts, space.id)) if len(firsts) else []
    else:
        low, high = unit_bounds(model.id)
        sql = query("nearest").format(
            space=space.id, low=low, high=high, dims=model.dims, where="" if allowed is None else query("among_events")
        )
        most = max(_LEAST_WINDOWS, _WINDOWS_AN_EVENT * k)
        values = [question.tolist(), most, *(() if allowed is None else (array(allowed),))]
        rows = server.raw_rows(sql, values)
    matrix = PooledMatrix(model.dims)
    if rows:
        pooled = np.stack([_unpacked(row[1]) for row in rows])
        matrix.extend(np.array([row[0] for row in rows], np.int64), pooled)
    return matrix.view().nearest(question, k)


def put_near(server: PostgresSnapshot, space: int, units: list[tuple[int, NDArray[np.int8]]]) -> None:
    """Add vectors to those that are searched by an index."""
    server.run_many("insert_near", ((space, unit, pooled.astype(float).tolist()) for unit, pooled in units))


def _unpacked(halves: Any) -> NDArray[np.int8]:
    """Read the server's form of a vector: two numbers of two bytes, then halves, the higher byte first."""
    return np.frombuffer(halves, ">f2", offset=4).astype(np.int8)


_FILLED_AT_ONCE = 4_096  # rows in one transaction: writers of the space wait for it


class _Connections(Protocol):
    """The part of a PostgresStore that index building needs; naming the store itself would make an import cycle."""

    def file_reader(self) -> AbstractContextManager[PostgresFileReader]: ...

    def transaction(self) -> AbstractContextManager[PostgresTransaction]: ...

    def plain_connection(self) -> AbstractContextManager[Connection]: ...


def build_near(store: _Connections) -> int:
    """Fill and index what is wanted; count the spaces that came to be searched so."""
    with store.file_reader() as reader:
        wanted = reader.sql.rows("wanted_near")
        models = {model.id: model for model in reader.models()}
    for space, number, _, state in wanted:
        model = models[number]
        while state == "wanted":
            with store.transaction() as sql:
                state = _filled_on(sql, space, model)
        _index(store, space, model)
    return len(wanted)


def _filled_on(sql: PostgresTransaction, space: str, model: Model) -> str:
    """Copy some more vectors; all that come later are added by who writes them."""
    into = sql.space_to_write(space)
    upto = next((row[2] for row in sql.rows("wanted_near") if row[0] == space and row[1] == model.id), None)
    if upto is None:
        return "gone"
    into = sql.space_to_write(space)
    units: list[tuple[int, NDArray[np.int8]]] = []
    for _, positions, block_units, pooled in sql.rows("blocks_after", (into.id, model.id, upto)):
        at = np.frombuffer(positions, np.int64)
        held = np.frombuffer(pooled, np.int8).reshape(len(at), -1)
        units += zip(np.frombuffer(block_units, np.int64).tolist(), held, strict=True)
        upto = int(at[-1]) if len(at) else upto
        if len(units) >= _FILLED_AT_ONCE:
            put_near(sql, into.id, units)
            sql.run("set_near", (upto, "wanted", into.id, model.id))
            return "wanted"
    for position, unit, pooled in sql.rows("pooled_tail_after", (into.id, model.id, upto)):
        units.append((unit, np.frombuffer(pooled, np.int8)))
        upto = position
    put_near(sql, into.id, units)
    sql.run("set_near", (upto, "filled", into.id, model.id))
    return "filled"


def _index(store: _Connections, space: str, model: Model) -> None:
    with store.transaction() as sql:
        into = sql.space_to_write(space)
        table = sql.one("table_of_near", (into.id,))
    if table is None:
        return
    low, high = unit_bounds(model.id)
    name = f"near_{into.id & 0xFFFFFFFFFFFFFFFF:x}_{model.id}"
    with store.plain_connection() as connection:
        if ask(connection, "near_index_is_sound", (name,)) is False:  # half built when somebody died
            connection.execute(query("drop_index").format(name=name).encode())
        made = query("index_near").format(name=name, table=table, dims=model.dims, space=into.id, low=low, high=high)
        connection.execute(made.encode())
    with store.transaction() as sql:
        into = sql.space_to_write(space)
        sql.run("set_near", (max(sql.rows("last_positions", (into.id, model.id))[0]), "ready", into.id, model.id))
