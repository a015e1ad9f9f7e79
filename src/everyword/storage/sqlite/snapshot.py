"""Run named queries on one SQLite connection."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import apsw
import numpy as np

from everyword.errors import InvalidInput
from everyword.storage.sql.caches import Caches
from everyword.storage.sql.snapshot import Row, Snapshot
from everyword.storage.sqlite import schema
from everyword.storage.sqlite.digests import differing
from everyword.storage.sqlite.queries import query

# An empty table can't be bound: no row has this number, and no id, name or kind is empty.
_NO_ROW = np.array([-1], np.int64)
_NO_WORD = ("",)


class SqliteSnapshot(Snapshot):
    """Runs queries by their names."""

    def __init__(self, connection: apsw.Connection, caches: Caches) -> None:
        super().__init__(caches)
        self._connection = connection

    @property
    def connection(self) -> apsw.Connection:
        """Give the connection itself, for what has no name."""
        return self._connection

    def query(self, name: str) -> str:
        return query(name)

    def rows(self, name: str, values: Sequence[Any] | Mapping[str, Any] = (), where: str = "") -> list[Row]:
        self._before(name)
        sql = query(name)
        if "{where}" in sql:
            sql = sql.replace("{where}", where)
        return cast("list[Row]", self._read(sql, values).fetchall())

    def each(self, name: str, values: Sequence[Any]) -> Iterator[Row]:
        return iter(self._read(query(name), values))

    def one(self, name: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
        self._before(name)
        return self._read(query(name), values).get

    def run(self, name: str, values: Sequence[Any] | Mapping[str, Any]) -> int:
        self._before(name)
        with _of_characters():
            self._connection.execute(query(name), _bound(values))
        return self._connection.changes()

    def run_many(self, name: str, values: Iterable[Sequence[Any]]) -> None:
        with _of_characters():
            self._connection.executemany(query(name), values)

    def added(self, name: str, values: Sequence[Any]) -> int:
        with _of_characters():
            self._connection.execute(query(name), values)  # RETURNING would double what a row costs
        return self._connection.last_insert_rowid()

    def storable(self, text: str) -> str | bytes:
        """Keep text as text, unless a lone surrogate makes it something that SQLite's text can't hold."""
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return text.encode("utf-8", "surrogatepass")
        return text

    def own_problems(self, *, deep: bool) -> Iterator[str]:
        """Let SQLite check its own pages."""
        try:
            # One by one: what was said before the check gave up counts.
            for (line,) in self._connection.execute(query("integrity_check" if deep else "quick_check")):
                if line != "ok":
                    yield str(line)
            yield from schema.differences(self._connection)
        except (apsw.CorruptError, apsw.SQLError) as error:
            yield str(error)

    def changed_tables(self) -> Iterator[tuple[str, str]]:
        """Find the tables that were changed other than by a transaction of ours."""
        return differing(self._connection)

    def own_parts(self) -> dict[str, int]:
        """Count the pages of the file."""
        return {"pages": int(self._connection.pragma("page_count"))}

    def _read(self, sql: str, values: Sequence[Any] | Mapping[str, Any]) -> apsw.Cursor:
        try:
            return self._connection.execute(sql, _bound(values))
        except UnicodeEncodeError:
            # No text of the file holds half a character, so that none is equal to this one.
            return self._connection.execute(sql, _bound(self._findable(values)))

    def _findable(self, values: Sequence[Any] | Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
        if isinstance(values, Mapping):
            return {name: self._of_bytes(one) for name, one in values.items()}
        return [self._of_bytes(one) for one in values]

    def _of_bytes(self, value: Any) -> Any:
        if isinstance(value, tuple):
            several = cast("tuple[Any, ...]", value)
            return tuple(one for one in several if not isinstance(one, str) or self.storable(one) is one)
        return self.storable(value) if isinstance(value, str) else value


class SqliteTransaction(SqliteSnapshot):
    """Runs queries that write."""

    writes = True


def _bound(values: Sequence[Any] | Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
    """Bind what is to be taken as a whole as a table of its own: `IN carray(?)`."""
    if isinstance(values, Mapping):
        return {name: _table(one) if isinstance(one, np.ndarray | tuple) else one for name, one in values.items()}
    if any(isinstance(value, np.ndarray | tuple) for value in values):
        return [_table(value) if isinstance(value, np.ndarray | tuple) else value for value in values]
    return values


@contextmanager
def _of_characters() -> Generator[None]:
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInput("A text holds half of a surrogate pair, which is no character.") from error


def _table(value: Any) -> Any:
    return apsw.carray(value if len(value) else _NO_ROW if isinstance(value, np.ndarray) else _NO_WORD)
