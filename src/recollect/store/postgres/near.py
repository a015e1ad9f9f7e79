"""Nearest vectors of large spaces: one a row in half precision, found by an index of the space's own.

Small spaces are scanned in memory, exactly, as in a file. Past `NEAR_FROM` vectors a process would spend its time and
memory on that, so the space's vectors are also kept in `near`, under a partial HNSW index: other tenants are not in it,
and a search never meets them. What the index finds is scored anew here, with the question as it is, so that scores are
those of the scan. Where a filter leaves little, that is read and scanned; where it leaves much, the index goes on
looking until it has enough (an iterative scan).

All of it is derived: `near_spaces` says how far each space is, and a worker, or `settle`, does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.store.pooled import EXACT_UP_TO, PooledMatrix
from recollect.store.postgres.queries import query
from recollect.store.postgres.snapshot import ask
from recollect.store.postings import Ranking, Seqs
from recollect.store.protocol import Model
from recollect.store.sql.snapshot import Space, array
from recollect.store.units import unit_bounds, unit_of

if TYPE_CHECKING:
    from recollect.store.postgres.reader import PostgresReader
    from recollect.store.postgres.store import PostgresStore
    from recollect.store.postgres.writer import PostgresWriter

# Vectors of a space past which it gets an index. Up to here a scan in memory is exact and quick (2.5 ms for 50,000, see
# docs/scale.md); beyond, each process would hold a tenth of a gigabyte for the space, and scan a shortlist anyway.
NEAR_FROM = EXACT_UP_TO
# Events that a filter leaves up to which their vectors are read and scanned.
_NARROW = 4_000
# How many windows are asked for an event that is wanted: long events have several.
_WINDOWS_AN_EVENT = 2
_LEAST_WINDOWS = 100
_FILLED_AT_ONCE = 4_096  # rows in one transaction: writers of the space wait for it


def nearest(
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


def build_near(store: PostgresStore) -> int:
    """Fill and index what is wanted; count the spaces that came to be searched so."""
    with store.reader() as reader:
        wanted = reader.rows("wanted_near")
        models = {model.id: model for model in reader.models()}
    for space, number, _, state in wanted:
        model = models[number]
        while state == "wanted":
            with store.writer() as writer:
                state = _filled_on(writer, space, model)
        _index(store, space, model)
    return len(wanted)


def _filled_on(writer: PostgresWriter, space: str, model: Model) -> str:
    """Copy some more vectors; all that come later are added by who writes them."""
    into = writer.space_to_write(space)
    upto = next((row[2] for row in writer.rows("wanted_near") if row[0] == space and row[1] == model.id), None)
    if upto is None:
        return "gone"
    into = writer.space_to_write(space)
    units: list[tuple[int, NDArray[np.int8]]] = []
    for _, positions, block_units, pooled in writer.rows("blocks_after", (into.id, model.id, upto)):
        at = np.frombuffer(positions, np.int64)
        held = np.frombuffer(pooled, np.int8).reshape(len(at), -1)
        units += zip(np.frombuffer(block_units, np.int64).tolist(), held, strict=True)
        upto = int(at[-1]) if len(at) else upto
        if len(units) >= _FILLED_AT_ONCE:
            put_near(writer, into, units)
            writer.run("set_near", (upto, "wanted", into.id, model.id))
            return "wanted"
    for position, unit, pooled in writer.rows("pooled_tail_after", (into.id, model.id, upto)):
        units.append((unit, np.frombuffer(pooled, np.int8)))
        upto = position
    put_near(writer, into, units)
    writer.run("set_near", (upto, "filled", into.id, model.id))
    return "filled"


def _index(store: PostgresStore, space: str, model: Model) -> None:
    with store.writer() as writer:
        into = writer.space_to_write(space)
        table = writer.one("table_of_near", (into.id,))
    if table is None:
        return
    low, high = unit_bounds(model.id)
    name = f"near_{into.id & 0xFFFFFFFFFFFFFFFF:x}_{model.id}"
    with store.plain_connection() as connection:
        if ask(connection, "near_index_is_sound", (name,)) is False:  # half built when somebody died
            connection.execute(query("drop_index").format(name=name).encode())
        made = query("index_near").format(name=name, table=table, dims=model.dims, space=into.id, low=low, high=high)
        connection.execute(made.encode())
    with store.writer() as writer:
        into = writer.space_to_write(space)
        writer.run("set_near", (writer.one("last_position", (into.id, model.id)), "ready", into.id, model.id))


def _unpacked(halves: Any) -> NDArray[np.int8]:
    """Read the server's form of a vector: two numbers of two bytes, then halves, the higher byte first."""
    return np.frombuffer(halves, ">f2", offset=4).astype(np.int8)
