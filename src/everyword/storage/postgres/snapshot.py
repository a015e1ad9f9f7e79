"""The queries of `queries.sql`, by name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import psycopg

from everyword.errors import StoreError
from everyword.storage.postgres.adapt import bound, without_other_forms
from everyword.storage.sql.snapshot import Row, Snapshot, Space, named_queries


@cache
def queries() -> dict[str, str]:
    """Read every query once."""
    return named_queries("everyword.storage.postgres")


def query(name: str) -> str:
    """Give one query."""
    return queries()[name]


def statement(name: str) -> bytes:
    """Give one query as the driver takes it: a text that came from a file it takes for a mistake."""
    return queries()[name].encode()


def space_number(name: str) -> int:
    """Number a space by its name: the same on every server, so that a tenant can be moved as it is."""
    return _number(name.encode("utf-8", "surrogatepass"))


def lock_number(schema: str, what: str) -> int:
    """Number a lock; stores in one database differ by their schemas."""
    return _number(f"{schema}\x00{what}".encode("utf-8", "surrogatepass"))


def _number(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)


EVERYWHERE = "*"
# About all spaces, or about the one alone that a worker was given.
_ACROSS = frozenset(
    (
        *(
            "space_names",
            "total_events",
            "jobs",
            "take_jobs",
            "finish_jobs",
            "take_owed_space",
            "next_job_due",
            "wanted_near",
            "drop_near",
            "loose_near",
        ),
        *("queue_events_without_vectors", "delete_some_vectors", "delete_model_blocks", "delete_model_tail"),
    )
)
_ROWS_AT_ONCE = 500  # that a query sends while its rows are read one by one


class Near(NamedTuple):
    """The models whose vectors of a space are also kept one a row, and those for which they have an index."""

    kept: frozenset[int]
    indexed: frozenset[int]


class PostgresSnapshot(Snapshot):
    """Runs queries by their names."""

    def __init__(self, connection: psycopg.Connection[Any], everywhere: str = EVERYWHERE) -> None:
        super().__init__()
        self._connection = connection
        self._everywhere = everywhere
        self._by_place = psycopg.RawCursor(connection)
        self._by_name = psycopg.Cursor(connection)
        self._by_place.format = self._by_name.format = psycopg.pq.Format.BINARY
        self._about: str | None = None  # whose rows the transaction is about
        self.near: dict[int, Near] = {}  # of the spaces that were read

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """Give the connection itself, for what has no name."""
        return self._connection

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
        with psycopg.RawServerCursor(self._connection, name) as cursor:
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
        known = self._spaces.get(name)
        if known is None:
            rows = self.rows("space_by_name", (number,))
            if not rows:
                return None
            known = self._kept(name, rows[0])
        elif self._about != str(number):
            self._go_to(str(number))
        return known

    def space_to_write(self, name: str) -> Space:
        found = self.space(name)
        if found is None:
            found = self._kept(name, self.rows("add_space", (space_number(name), name))[0])
            self.run("add_turn", (found.id,))
        return found

    # Inside

    def _execute(self, name: str, values: Sequence[Any] | Mapping[str, Any], where: str = "") -> psycopg.Cursor[Any]:
        self._before(name)
        sql = query(name)
        if "{where}" in sql:
            sql = sql.replace("{where}", where)
        cursor = self._by_name if isinstance(values, Mapping) else self._by_place
        return cursor.execute(sql.encode(), bound(values))

    def _before(self, name: str) -> None:
        super()._before(name)
        if name in _ACROSS and self._about != self._everywhere:
            self._go_to(self._everywhere)

    def _go_to(self, about: str) -> None:
        self._by_place.execute(statement("go_to_space"), [about])
        self._about = about

    def _kept(self, name: str, row: Row) -> Space:
        found = Space(*row[:8])
        if found.name != name:
            raise StoreError(f"The space {name!r} has the number of another one; choose another name.")
        self._about = str(found.id)
        self._spaces[name] = found
        self.near[found.id] = Near(frozenset(row[9]), frozenset(row[10]))
        return found


def ask(connection: psycopg.Connection[Any], name: str, values: Sequence[Any] = ()) -> Any:
    """Run a named query outside of any snapshot; give its one value, if it has one."""
    cursor = psycopg.RawCursor(connection)
    cursor.execute(statement(name), bound(values))
    row = cursor.fetchone() if cursor.description else None
    return row[0] if row else None
