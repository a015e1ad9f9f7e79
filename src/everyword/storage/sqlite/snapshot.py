"""Run named queries on one SQLite connection, and read and write its whole tables."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import apsw
import numpy as np

from everyword.errors import InvalidInput
from everyword.storage.sql.queries import filled, named_queries
from everyword.storage.sql.snapshot import Caches, Row, Snapshot
from everyword.storage.sql.tables import Column, Tables
from everyword.storage.sqlite import schema
from everyword.storage.sqlite.schema import differing, query

# An empty table can't be bound: no row has this number, and no id, name or kind is empty.
_NO_ROW = np.array([-1], np.int64)
_NO_WORD = ("",)


class SqliteSnapshot(Snapshot):
    """Runs queries by their names."""

    def __init__(self, connection: apsw.Connection, caches: Caches, *, writes: bool = False) -> None:
        super().__init__(caches)
        self.connection = connection
        self.writes = writes

    def query(self, name: str) -> str:
        return query(name)

    def rows(self, name: str, values: Sequence[Any] | Mapping[str, Any] = (), where: str = "") -> list[Row]:
        return cast("list[Row]", self._read(self._text(name, where), values).fetchall())

    def each(self, name: str, values: Sequence[Any]) -> Iterator[Row]:
        return iter(self._read(query(name), values))

    def one(self, name: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
        return self._read(self._text(name), values).get

    def run(self, name: str, values: Sequence[Any] | Mapping[str, Any]) -> int:
        with _refusing_surrogates():
            self.connection.execute(self._text(name), _bound(values))
        return self.connection.changes()

    def run_many(self, name: str, values: Iterable[Sequence[Any]]) -> None:
        with _refusing_surrogates():
            self.connection.executemany(query(name), values)

    def added(self, name: str, values: Sequence[Any]) -> int:
        with _refusing_surrogates():
            self.connection.execute(query(name), values)  # RETURNING would double what a row costs
        return self.connection.last_insert_rowid()

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
            for (line,) in self.connection.execute(query("integrity_check" if deep else "quick_check")):
                if line != "ok":
                    yield str(line)
            yield from schema.differences(self.connection)
        except (apsw.CorruptError, apsw.SQLError) as error:
            yield str(error)

    def changed_tables(self) -> Iterator[tuple[str, str]]:
        """Find the tables that were changed other than by a transaction of ours."""
        return differing(self.connection)

    def own_parts(self) -> dict[str, int]:
        return {"pages": int(self.connection.pragma("page_count"))}

    def tables(self) -> SqliteTables:
        return SqliteTables(self)

    def _read(self, sql: str, values: Sequence[Any] | Mapping[str, Any]) -> apsw.Cursor:
        try:
            return self.connection.execute(sql, _bound(values))
        except UnicodeEncodeError:
            # No text of the file holds half a character, so that none is equal to this one.
            if isinstance(values, Mapping):
                values = {name: self._of_bytes(one) for name, one in values.items()}
            else:
                values = [self._of_bytes(one) for one in values]
            return self.connection.execute(sql, _bound(values))

    def _of_bytes(self, value: Any) -> Any:
        if isinstance(value, tuple):
            several = cast("tuple[Any, ...]", value)
            return tuple(one for one in several if not isinstance(one, str) or self.storable(one) is one)
        return self.storable(value) if isinstance(value, str) else value


def _bound(values: Sequence[Any] | Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
    """Bind what is to be taken as a whole as a table of its own: `IN carray(?)`."""
    if isinstance(values, Mapping):
        return {name: _table(one) if isinstance(one, np.ndarray | tuple) else one for name, one in values.items()}
    if any(isinstance(value, np.ndarray | tuple) for value in values):
        return [_table(value) if isinstance(value, np.ndarray | tuple) else value for value in values]
    return values


@contextmanager
def _refusing_surrogates() -> Generator[None]:
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInput("The text contains a lone surrogate, which can't be stored. Remove it.") from error


def _table(value: Any) -> Any:
    return apsw.carray(value if len(value) else _NO_ROW if isinstance(value, np.ndarray) else _NO_WORD)


# Rows that belong to a space by what they point to: the column, and the table that says whose it is.
_OWNED = {"fact_claims": ("fact", "facts"), "entity_pins": ("edit", "entity_edits")}


class SqliteTables(Tables):
    """Reads and writes tables within one transaction of one connection."""

    def __init__(self, within: SqliteSnapshot) -> None:
        self._within = within
        self._last = 0

    def listed(self) -> list[Column]:
        found = [Column(*row) for row in self.read("listed", ())]
        tables = {column.table for column in found}
        return [*found, *(Column(table, "space", 0, True) for table in _OWNED if table in tables)]

    def selected(self, table: str, column: str) -> str:
        if column == "space" and table in _OWNED:
            pointer, owner = _OWNED[table]
            return _filled("space_of", {"owner": owner, "pointer": pointer})
        return column

    def of_space(self, table: str, number: int) -> str:
        # With a sign, or SQLite would take an index by space and sort all its rows by the key.
        return f"+{self.selected(table, 'space')} = {number:d}"

    def holds(self, table: str, column: str) -> bool:
        return not (column == "space" and table in _OWNED)

    def read(self, template: str, values: Sequence[Any], **parts: str) -> Iterator[Sequence[Any]]:
        return iter(self._within.connection.execute(_filled(template, parts), values))

    def change(self, template: str, several: Sequence[Sequence[Any]], **parts: str) -> None:
        self._within.connection.executemany(_filled(template, parts), several)

    def marks(self, count: int) -> str:
        return ", ".join("?" * count)

    def reserve(self, count: int) -> int:
        return self.last_number()  # counters go on after what is put in

    def number_of(self, name: str) -> int:
        self._last = 1 + max(self._last, *self.names, 0)
        return self._last

    def stored(self, value: Any) -> Any:
        return self._within.storable(value) if isinstance(value, str) else value

    def finish(self) -> None:
        """Do nothing: a file counts on after its highest numbers by itself."""


def _filled(template: str, parts: dict[str, str]) -> str:
    return filled(named_queries("everyword.storage.sqlite.copying")[template], parts)
