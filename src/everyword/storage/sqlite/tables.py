"""Read and write whole tables of a SQLite file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from everyword.storage.sql.queries import named_queries
from everyword.storage.sql.tables import Column, Tables
from everyword.storage.sqlite.snapshot import SqliteSnapshot

# Rows that belong to a space by what they point to: the column, and the table that says whose it is.
_OWNED = {"fact_claims": ("fact", "facts"), "entity_pins": ("edit", "entity_edits")}


class SqliteTables(Tables):
    """Reads and writes tables within one transaction of one connection."""

    def __init__(self, within: SqliteSnapshot) -> None:
        super().__init__()
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

    def last_number(self) -> int:
        return next(int(row[0]) for row in self.read("last_number", ()))

    def reserve(self, count: int) -> int:
        return self.last_number()  # what counts goes on behind what is put in

    def number_of(self, name: str) -> int:
        self._last = 1 + max(self._last, *self.names(), 0)
        return self._last

    def stored(self, value: Any) -> Any:
        return self._within.storable(value) if isinstance(value, str) else value

    def finish(self) -> None:
        """Do nothing: a file counts on behind its highest numbers by itself."""

    def fact(self, name: str) -> str | None:
        return self._within.one("get_fact", (name,))

    def set_fact(self, name: str, value: str) -> None:
        self._within.run("set_fact", (name, value))


@cache
def _templates() -> dict[str, str]:
    return named_queries("everyword.storage.sqlite.copying")


def _filled(template: str, parts: dict[str, str]) -> str:
    sql = _templates()[template]
    for name, part in parts.items():
        sql = sql.replace(f"{{{name}}}", part)
    return sql
