"""Run named queries on one PostgreSQL connection, and read and write whole tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import psycopg
from numpy.typing import NDArray

from everyword.errors import StoreError
from everyword.storage.nearest import PooledMatrix, unit_bounds, unit_of
from everyword.storage.postgres.adapt import bound, without_other_forms
from everyword.storage.postings import Ranking, Seqs
from everyword.storage.rows import Model, Space
from everyword.storage.sql.queries import filled, named_queries, query_of
from everyword.storage.sql.snapshot import Caches, Row, Snapshot, array
from everyword.storage.sql.tables import Column, Tables
from everyword.text.terms import ANALYSIS_VERSION

query = partial(query_of, "postgres")


def statement(name: str) -> bytes:
    """Give one query as the driver takes it: a text that came from a file it takes for a mistake."""
    return query(name).encode()


def space_number(name: str) -> int:
    """Number a space by its name: the same on every server, so that a tenant can be moved as it is."""
    return _number(name.encode("utf-8", "surrogatepass"))


def lock_number(schema: str, what: str) -> int:
    """Number a lock; stores in one database differ by their schemas."""
    return _number(f"{schema}\x00{what}".encode("utf-8", "surrogatepass"))


def turn_locks(schema: str, space: str) -> tuple[int, int]:
    """Number what a writer of a space locks: the models, with all other writers, and the space, alone."""
    return lock_number(schema, "models"), lock_number(schema, f"space {space_number(space)}")


def turn_of(schema: str, space: str) -> bytes:
    """Write `take_turn` out, to be sent together with how a transaction begins."""
    models_lock, space_lock = turn_locks(schema, space)
    return query("take_turn").replace("$1", f"{models_lock:d}").replace("$2", f"{space_lock:d}").encode()


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)


EVERYWHERE = "*"
# About all spaces, or about the one alone that a worker was given.
_ACROSS = frozenset(
    (
        *("space_names", "total_events", "jobs", "take_jobs", "finish_jobs", "take_owed_space", "next_job_due"),
        *("wanted_near", "drop_near", "loose_near", "queue_events_without_vectors"),
        *("delete_some_vectors", "delete_model_blocks", "delete_model_tail"),
    )
)
_ROWS_AT_ONCE = 500  # that a query sends while its rows are read one by one


# Events that a filter leaves up to which their vectors are read and scanned.
_NARROW = 4_000
# How many windows are asked for an event that is wanted: long events have several.
_WINDOWS_AN_EVENT = 2
_LEAST_WINDOWS = 100


class Near(NamedTuple):
    """The models whose vectors of a space are also kept one a row, and those for which they have an index."""

    kept: frozenset[int]
    indexed: frozenset[int]


class PostgresSnapshot(Snapshot):
    """Runs queries by their names."""

    scrubs_itself = False

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        caches: Caches,
        everywhere: str = EVERYWHERE,
        memos: Caches | None = None,
    ) -> None:
        super().__init__(caches, memos)
        self.connection = connection
        self._everywhere = everywhere
        self._by_place = psycopg.RawCursor(connection)
        self._by_name = psycopg.Cursor(connection)
        self._by_place.format = self._by_name.format = psycopg.pq.Format.BINARY
        self._about: str | None = None  # whose rows the transaction is about
        self.appended: tuple[str, bytes] | None = None  # space and raw id of the last event that it appended
        self.owes = False  # whether it left work that a worker may be waiting for
        self.near: dict[int, Near] = {}  # of the spaces that were read

    def go_everywhere(self) -> None:
        """Be about all spaces from here on."""
        self._go_to(self._everywhere)

    def query(self, name: str) -> str:
        return query(name)

    def rows(self, name: str, values: Sequence[Any] | Mapping[str, Any] = (), where: str = "") -> list[Row]:
        return self._execute(name, values, where).fetchall()

    def raw_rows(self, sql: str, values: Sequence[Any]) -> list[Row]:
        """Run a query whose text was completed, and read all its rows."""
        return self._by_place.execute(sql.encode(), bound(values)).fetchall()

    def each(self, name: str, values: Sequence[Any]) -> Iterator[Row]:
        self._before(name)
        with psycopg.RawServerCursor(self.connection, name) as cursor:
            cursor.itersize = _ROWS_AT_ONCE
            cursor.execute(statement(name), bound(values), binary=True)
            yield from cursor

    def run(self, name: str, values: Sequence[Any] | Mapping[str, Any]) -> int:
        return self._execute(name, values).rowcount

    def run_many(self, name: str, values: Iterable[Sequence[Any]]) -> None:
        self._before(name)
        several = [bound(row) for row in values]
        if several:
            self._by_place.executemany(statement(name), several)

    def read_json(self, part: str) -> Any:
        return json.loads(without_other_forms(part))

    def space(self, name: str) -> Space | None:
        number = space_number(name)
        if name not in self._spaces:
            self.read_space(name, self.rows("space_by_name", (number,))[0])
        elif self._spaces[name] is not None and self._about != str(number):
            self._go_to(str(number))
        return self._spaces[name]

    def read_space(self, name: str, row: Row) -> None:
        """Take what `space_by_name` gave."""
        models: list[Row] = row[11] or []
        self.facts = dict(row[12])
        self._cursors[name] = row[13] or []
        self.models = [model[:6] for model in models]
        self._about = str(space_number(name))
        near = Near(
            frozenset(model[0] for model in models if model[6] in ("filled", "ready")),
            frozenset(model[0] for model in models if model[6] == "ready"),
        )
        self._spaces[name] = None if row[0] is None else self._kept(name, row, near)

    def space_to_write(self, name: str) -> Space:
        found = self.space(name)
        if found is None:
            added = self.rows("add_space", (space_number(name), name, ANALYSIS_VERSION))[0]
            found = self._kept(name, added, Near(frozenset(), frozenset()))
            self.run("add_turn", (found.id,))
        return found

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

    def tables(self) -> PostgresTables:
        return PostgresTables(self)

    def nearest(self, space: Space, model: Model, vector: NDArray[np.float32], k: int, allowed: Seqs | None) -> Ranking:
        """Ask the index, where the space has one, and score what it finds anew."""
        if model.id not in self.near[space.id].indexed:
            return super().nearest(space, model, vector, k, allowed)
        if allowed is not None and len(allowed) <= _NARROW:
            firsts = array([unit_of(model.id, int(seq), 0) for seq in allowed])
            rows = self.rows("near_of_events", (firsts, space.id)) if len(firsts) else []
        else:
            low, high = unit_bounds(model.id)
            sql = query("nearest").format(
                space=space.id,
                low=low,
                high=high,
                dims=model.dims,
                where="" if allowed is None else query("among_events"),
            )
            most = max(_LEAST_WINDOWS, _WINDOWS_AN_EVENT * k)
            values = [vector.tolist(), most, *(() if allowed is None else (array(allowed),))]
            rows = self.raw_rows(sql, values)
        matrix = PooledMatrix(model.dims)
        if rows:
            pooled = np.stack([_unpacked(row[1]) for row in rows])
            matrix.extend(np.array([row[0] for row in rows], np.int64), pooled)
        return matrix.view().nearest(vector, k)

    def prepare(self, space: Space, model: Model) -> None:
        if model.id not in self.near[space.id].indexed:
            super().prepare(space, model)

    # Inside

    def _execute(self, name: str, values: Sequence[Any] | Mapping[str, Any], where: str = "") -> psycopg.Cursor[Any]:
        sql = self._text(name, where)
        cursor = self._by_name if isinstance(values, Mapping) else self._by_place
        return cursor.execute(sql.encode(), bound(values))

    def _before(self, name: str) -> None:
        super()._before(name)
        if name in _ACROSS and self._about != self._everywhere:
            self._go_to(self._everywhere)

    def _go_to(self, about: str) -> None:
        self._by_place.execute(statement("go_to_space"), [about])
        self._about = about

    def _kept(self, name: str, row: Row, near: Near) -> Space:
        found = Space(*row[:10])
        if found.name != name:
            raise StoreError(f"The space {name!r} has the number of another one; choose another name.")
        self._about = str(found.id)
        self._spaces[name] = found
        self.near[found.id] = near
        return found


def _unpacked(halves: Any) -> NDArray[np.int8]:
    """Read the server's form of a vector: two numbers of two bytes, then halves, the higher byte first."""
    return np.frombuffer(halves, ">f2", offset=4).astype(np.int8)


_OWING = frozenset(("insert_job", "owe_job", "queue_events_without_vectors", "want_near"))


class PostgresTransaction(PostgresSnapshot):
    """Runs queries that write. Writers of one space take turns; those of different spaces do not wait."""

    writes = True

    def __init__(
        self, connection: psycopg.Connection[Any], schema: str, memos: Caches, everywhere: str = EVERYWHERE
    ) -> None:
        # Caches of its own: what it looks at may never be committed. Memos are looked at by one writer of a space at a
        # time, and thrown away when what they remember is undone.
        super().__init__(connection, Caches(), everywhere, memos)
        self._schema = schema
        self._turns: set[str] = set()
        self.number: str | None = None  # what the server calls this transaction, once it has a turn

    def space(self, name: str) -> Space | None:
        if name not in self._turns:
            self.take_turn(name, self.rows("take_turn", turn_locks(self._schema, name))[0])
        return super().space(name)

    def take_turn(self, name: str, row: Row) -> None:
        """Take what `take_turn` gave."""
        self._turns.add(name)
        self.number = row[2]

    def keep_writers_out(self) -> None:
        """Wait until nobody writes with the active model."""
        self.rows("keep_writers_out", turn_locks(self._schema, "")[:1])

    @property
    def is_everywhere(self) -> bool:
        """Tell whether this is about all spaces, not about the one that a worker was given."""
        return self._everywhere == EVERYWHERE

    def _before(self, name: str) -> None:
        super()._before(name)
        self.owes = self.owes or name in _OWING


def ask(connection: psycopg.Connection[Any], name: str, values: Sequence[Any] = ()) -> Any:
    """Run a named query outside of any snapshot; give its one value, if it has one."""
    cursor = psycopg.RawCursor(connection)
    cursor.execute(statement(name), bound(values))
    row = cursor.fetchone() if cursor.description else None
    return row[0] if row else None


_TABLE_ROWS_AT_ONCE = 200  # that the server sends: some are half a megabyte


class PostgresTables(Tables):
    """Reads and writes tables within one transaction; about all spaces."""

    def __init__(self, within: PostgresSnapshot) -> None:
        self._within = within
        self._cursors = 0
        within.go_everywhere()

    def listed(self) -> list[Column]:
        return [Column(*row) for row in self.read("listed", ())]

    def read(self, template: str, values: Sequence[Any], **parts: str) -> Iterator[Sequence[Any]]:
        self._cursors += 1
        with psycopg.RawServerCursor(self._within.connection, f"table_{self._cursors}") as cursor:
            cursor.itersize = _TABLE_ROWS_AT_ONCE
            cursor.execute(_filled(template, parts), bound(values), binary=True)
            yield from cursor

    def change(self, template: str, several: Sequence[Sequence[Any]], **parts: str) -> None:
        psycopg.RawCursor(self._within.connection).executemany(_filled(template, parts), several)

    def marks(self, count: int) -> str:
        return ", ".join(f"${place}" for place in range(1, count + 1))

    def reserve(self, count: int) -> int:
        return next(int(row[0]) for row in self.read("reserve_numbers", (count,))) - count

    def number_of(self, name: str) -> int:
        return space_number(name)

    def finish(self) -> None:
        for template in ("add_turns", "count_seqs_on", "count_models_on"):
            self._once(template)
        for table, column in list(self.read("counted", ())):
            self._once("count_rows_on", table=table, column=column)

    def _once(self, template: str, **parts: str) -> None:
        psycopg.RawCursor(self._within.connection).execute(_filled(template, parts))


def _filled(template: str, parts: dict[str, str]) -> bytes:
    return filled(named_queries("everyword.storage.postgres.copying")[template], parts).encode()
