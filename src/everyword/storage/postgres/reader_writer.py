"""Readers and writers of a PostgreSQL store: what differs from the shared SQL classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from everyword.storage.nearest import EXACT_UP_TO, PooledMatrix, PooledView, unit_bounds, unit_of
from everyword.storage.postgres.snapshot import EVERYWHERE, PostgresSnapshot, lock_number, query, space_number
from everyword.storage.postings import Ranking, Seqs
from everyword.storage.rows import Model, UnitVector
from everyword.storage.sql.caches import Caches
from everyword.storage.sql.reader import Reader
from everyword.storage.sql.snapshot import Space, array
from everyword.storage.sql.writer import Writer

# Vectors of a space past which it gets an index. Up to here a scan in memory is exact and quick (2.5 ms for 50,000, see
# docs/scale.md); beyond, each process would hold a tenth of a gigabyte for the space, and scan a shortlist anyway.
NEAR_FROM = EXACT_UP_TO
# Events that a filter leaves up to which their vectors are read and scanned.
_NARROW = 4_000
# How many windows are asked for an event that is wanted: long events have several.
_WINDOWS_AN_EVENT = 2
_LEAST_WINDOWS = 100


class PostgresReader(PostgresSnapshot, Reader):
    """Reads within one transaction of one connection."""

    scrubs_itself = False

    def __init__(self, connection: psycopg.Connection[Any], caches: Caches, everywhere: str = EVERYWHERE) -> None:
        super().__init__(connection, everywhere)
        self._caches = caches
        self._views: dict[tuple[int, int], PooledView] = {}

    def around(self, space: str, seqs: Sequence[int], reach: int) -> list[list[int]]:
        found = self.space(space)
        if found is None or not len(seqs):
            return []
        outlines = self.outlines(space, seqs)
        beside: dict[int, list[tuple[int, int]]] = {}
        for seq, at, near in self.rows("runs_around", (array(seqs), found.id, reach)):
            beside.setdefault(seq, []).append((at, near))
        return [
            [near for _, near in sorted([*beside.get(int(seq), ()), (outlines[int(seq)].at, int(seq))])]
            for seq in seqs
            if int(seq) in outlines
        ]

    def by_vector(self, space: str, model: Model, vector: NDArray[np.float32], k: int, allowed: Seqs | None) -> Ranking:
        found = self.space(space)
        if found is None:
            return Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
        if model.id in self.near[found.id].indexed:
            return _nearest(self, found, model, vector, k, allowed)
        return self._pooled(found, model).nearest(vector, k, allowed)

    def prepare(self, space: str, model: Model) -> None:
        found = self.space(space)
        if found is not None and model.id not in self.near[found.id].indexed:
            self._pooled(found, model)

    def _pooled(self, space: Space, model: Model) -> PooledView:
        """Give the vectors of a small space; a snapshot looks once for newer ones: each look is a way to the server."""
        key = (space.id, model.id)
        if key not in self._views:
            self._views[key] = self._caches.pooled(self, space, model)
        return self._views[key]

    def own_problems(self, *, deep: bool) -> Iterator[str]:
        """Leave the check of its files to the server, which has checksums; look at what SQLite does not have."""
        if deep:
            for (space,) in self.rows("loose_near"):
                yield f"the vectors of space {space} and those that are searched are not the same"

    def changed_tables(self) -> Iterator[tuple[str, str]]:
        """Find nothing: a server's tables have no digests."""
        return iter(())

    def own_parts(self) -> dict[str, int]:
        """Count the pages of the store's tables and indexes."""
        return {"pages": int(self.one("count_pages"))}


_OWING = frozenset(
    ("insert_job", "owe_job", "queue_events_without_vectors", "owe_derivation", "owe_marking", "want_near")
)


class PostgresWriter(PostgresReader, Writer):
    """Writes within one transaction. Writers of one space take turns; those of different spaces do not wait."""

    def __init__(
        self, connection: psycopg.Connection[Any], schema: str, memos: Caches, everywhere: str = EVERYWHERE
    ) -> None:
        # Caches of its own: what it looks at may never be committed. Memos are looked at by one writer of a space at a
        # time, and thrown away when what they remember is undone.
        super().__init__(connection, Caches(), everywhere)
        self._memos = memos
        self._schema = schema
        self._turns: set[str] = set()
        self.owes = False  # whether it left work that a worker may be waiting for

    def space(self, name: str) -> Space | None:
        if name not in self._turns:
            self._turns.add(name)
            space_lock = lock_number(self._schema, f"space {space_number(name)}")
            self.rows("take_turn", (self._models_lock(), space_lock))
        return super().space(name)

    def memo(self, space: str) -> dict[str, object]:
        return self._memos.memo(self.space_to_write(space).id)

    def take_seqs(self, count: int) -> list[int]:
        """Take the next numbers of the sequence: under the space's turn they rise with each arrival."""
        return [row[0] for row in self.rows("next_seqs", (count,))]

    def activate(self, model: Model) -> None:
        # Nobody may be writing with the model before: what they write would be missed.
        self.rows("keep_writers_out", (self._models_lock(),))
        super().activate(model)

    def _pooled(self, space: Space, model: Model) -> PooledView:
        return self._caches.pooled(self, space, model)  # a writer may have added some since it last looked

    def drop_vectors(self, model: Model, *, limit: int) -> int:
        if self._everywhere != EVERYWHERE:
            return 0  # for one space alone there is no telling whether a model's last vector is gone
        self.run("drop_near", unit_bounds(model.id))
        self.run("drop_near_spaces", (model.id,))
        return super().drop_vectors(model, limit=limit)

    def _insert_vectors(self, space: Space, model: Model, vectors: Mapping[int, Sequence[UnitVector]]) -> None:
        super()._insert_vectors(space, model, vectors)
        if model.id in self.near[space.id].kept:
            units = [
                (unit_of(model.id, seq, window), vector.pooled)
                for seq, several in vectors.items()
                for window, vector in enumerate(several)
            ]
            put_near(self, space, units)

    def _seal_pooled(self, space: Space, model: Model) -> None:
        super()._seal_pooled(space, model)
        if self.one("last_position", (space.id, model.id)) >= NEAR_FROM:
            self.run("want_near", (space.id, model.id))

    def _remove_vectors(self, space: Space, gone: Seqs) -> int:
        for model in self.near[space.id].kept:
            firsts = array([unit_of(model, seq, 0) for seq in gone.tolist()])
            counted = self.rows("windows_of_units", (firsts, space.id))
            units = array([unit + window for unit, count in counted for window in range(count)])
            self.run("delete_near", (space.id, units))
        return super()._remove_vectors(space, gone)

    def _models_lock(self) -> int:
        return lock_number(self._schema, "models")

    def _before(self, name: str) -> None:
        super()._before(name)
        self.owes = self.owes or name in _OWING


def _nearest(
    reader: PostgresReader, space: Space, model: Model, question: NDArray[np.float32], k: int, allowed: Seqs | None
) -> Ranking:
    """Rank the `k` nearest events by cosine; a long event counts by its best window."""
    if allowed is not None and len(allowed) <= _NARROW:
        firsts = array([unit_of(model.id, int(seq), 0) for seq in allowed])
        rows = reader.rows("near_of_events", (firsts, space.id)) if len(firsts) else []
    else:
        low, high = unit_bounds(model.id)
        sql = query("nearest").format(
            space=space.id, low=low, high=high, dims=model.dims, where="" if allowed is None else query("among_events")
        )
        most = max(_LEAST_WINDOWS, _WINDOWS_AN_EVENT * k)
        values = [question.tolist(), most, *(() if allowed is None else (array(allowed),))]
        rows = reader.raw_rows(sql, values)
    matrix = PooledMatrix(model.dims)
    if rows:
        pooled = np.stack([_unpacked(row[1]) for row in rows])
        matrix.extend(np.array([row[0] for row in rows], np.int64), pooled)
    return matrix.view().nearest(question, k)


def put_near(writer: PostgresWriter, space: Space, units: list[tuple[int, NDArray[np.int8]]]) -> None:
    """Add vectors to those that are searched by an index."""
    writer.run_many("insert_near", ((space.id, unit, pooled.astype(float).tolist()) for unit, pooled in units))


def _unpacked(halves: Any) -> NDArray[np.int8]:
    """Read the server's form of a vector: two numbers of two bytes, then halves, the higher byte first."""
    return np.frombuffer(halves, ">f2", offset=4).astype(np.int8)
