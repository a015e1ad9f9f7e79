"""One transaction on the server's store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from recollect.store.pooled import PooledView
from recollect.store.postgres.near import NEAR_FROM, put_near
from recollect.store.postgres.numbers import lock_number, space_number
from recollect.store.postgres.reader import PostgresReader
from recollect.store.postgres.snapshot import EVERYWHERE
from recollect.store.protocol import Model, Seqs, UnitVector
from recollect.store.sql.caches import Caches
from recollect.store.sql.snapshot import Space, array
from recollect.store.sql.writer import SqlWriter
from recollect.store.units import unit_bounds, unit_of

_OWING = frozenset(
    ("insert_job", "owe_job", "queue_events_without_vectors", "owe_derivation", "owe_marking", "want_near")
)


class PostgresWriter(PostgresReader, SqlWriter):
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

    def _reach(self, name: str) -> None:
        super()._reach(name)
        self.owes = self.owes or name in _OWING
