"""Nearest vectors of large spaces: one a row in half precision, found by an index of the space's own.

Small spaces are scanned in memory, exactly, as in a file. Past `NEAR_FROM` vectors a process would spend its time and
memory on that, so the space's vectors are also kept in `near`, under a partial HNSW index: other tenants are not in it,
and a search never meets them. What the index finds is scored anew here, with the question as it is, so that scores are
those of the scan. Where a filter leaves little, that is read and scanned; where it leaves much, the index goes on
looking until it has enough (an iterative scan).

All of it is derived: `near_spaces` says how far each space is, and a worker, or `settle`, does the rest."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from everyword.storage.nearest import unit_bounds
from everyword.storage.postgres.connect import Connection
from everyword.storage.postgres.reader_writer import PostgresFileReader, put_near
from everyword.storage.postgres.snapshot import PostgresTransaction, ask, query
from everyword.storage.rows import Model

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
