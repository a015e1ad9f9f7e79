"""One snapshot of the server's store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from recollect.store.pooled import PooledView
from recollect.store.postgres.near import nearest
from recollect.store.postgres.snapshot import EVERYWHERE, PostgresSnapshot
from recollect.store.protocol import Model, Ranking, Seqs
from recollect.store.sql.caches import Caches
from recollect.store.sql.reader import SqlReader
from recollect.store.sql.snapshot import Space, array


class PostgresReader(PostgresSnapshot, SqlReader):
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
            return nearest(self, found, model, vector, k, allowed)
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
