"""Named queries within one transaction of one connection: what readers and writers are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.queries import query
from recollect.store.sqlite.rows import Row

_NO_ROW = (-1,)  # an empty table can't be bound; no row has this number


class Space(NamedTuple):
    """A space's row: its number and counters."""

    id: int
    name: str
    events: int
    words: int
    generation: int
    words_upto: int
    word_tail: int
    epoch: int


class Snapshot:
    """Runs queries by their names."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, name: str, values: Sequence[Any] | Mapping[str, Any] = (), where: str = "") -> list[Row]:
        """Run a named query and read all its rows."""
        sql = query(name)
        if "{where}" in sql:
            sql = sql.replace("{where}", where)
        return cast("list[Row]", self._connection.execute(sql, values).fetchall())

    def each(self, name: str, values: Sequence[Any]) -> Iterator[Row]:
        """Run a named query and read its rows one by one."""
        return iter(self._connection.execute(query(name), values))

    def one(self, name: str, values: Sequence[Any] = ()) -> Any:
        """Run a named query for one value."""
        return self._connection.execute(query(name), values).get

    def space(self, name: str) -> Space | None:
        """Read a space's row."""
        rows = self.rows("space_by_name", (name,))
        return Space(*rows[0]) if rows else None

    def run(self, name: str, values: Sequence[Any] | Mapping[str, Any]) -> None:
        """Run a named query that changes something."""
        self._connection.execute(query(name), values)

    def run_many(self, name: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a named query for each row of values."""
        self._connection.executemany(query(name), values)

    def space_to_write(self, name: str) -> Space:
        """Read a space's row, and make it where there is none."""
        return self.space(name) or Space(*self.rows("add_space", (name,))[0])


def array(numbers: Sequence[int] | NDArray[np.int64]) -> Any:
    """Bind numbers as a table of their own: `IN carray(?)`."""
    return apsw.carray(np.ascontiguousarray(numbers if len(numbers) else _NO_ROW, dtype=np.int64))


def words(texts: Sequence[str]) -> Any:
    """Bind texts as a table of their own."""
    return apsw.carray(tuple(texts) or ("",))
