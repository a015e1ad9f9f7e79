"""Writers of a PostgreSQL store: what differs from the shared SQL classes.

Small spaces are scanned in memory, exactly, as in a file. Past `NEAR_FROM` vectors a process would spend its time and
memory on that, so the space's vectors are also kept in `near`, one a row in half precision, under a partial HNSW index:
other tenants are not in it, and a search never meets them. What the index finds is scored anew here, with the question
as it is, so that scores are those of the scan. Where a filter leaves little, that is read and scanned; where it leaves
much, the index goes on looking until it has enough (an iterative scan).

All of it is derived: `near_spaces` says how far each space is, and a worker, or `settle`, does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everyword.storage.nearest import unit_bounds, unit_of
from everyword.storage.postgres.snapshot import PostgresSnapshot, PostgresTransaction
from everyword.storage.postings import Seqs
from everyword.storage.rows import EMBED, Draft, Model, Space, UnitVector
from everyword.storage.sql import writer
from everyword.storage.sql.reader import event_values, indexed_meta
from everyword.storage.sql.snapshot import array
from everyword.storage.sql.writer import FileWriter, Writer

# Vectors of a space past which it gets an index. Up to here a scan in memory is quick (see docs/scale.md); beyond, each
# process would hold a tenth of a gigabyte for the space.
NEAR_FROM = 150_000
_NOW = 1 << 62  # microseconds: later than any clock, so that the time of the write counts
_NO_WINDOWS = ((),) * 7
_NO_LABELS = ((),) * 4


class PostgresWriter(Writer):
    """Writes to one space within one transaction."""

    def __init__(self, file: FileWriter, server: PostgresTransaction, space: str) -> None:
        super().__init__(file, space)
        self.server = server

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
            self.sql.run("delete_near", (space.id, self._units_of(space, model, gone.tolist())))
        return super()._remove_vectors(space, gone)


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


def put_near(server: PostgresSnapshot, space: int, units: list[tuple[int, NDArray[np.int8]]]) -> None:
    """Add vectors to those that are searched by an index."""
    server.run_many("insert_near", ((space, unit, pooled.astype(float).tolist()) for unit, pooled in units))
