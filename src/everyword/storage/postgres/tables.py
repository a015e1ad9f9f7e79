"""Read and write whole tables of a PostgreSQL store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import psycopg

from everyword.storage.postgres.adapt import bound
from everyword.storage.postgres.snapshot import PostgresSnapshot, space_number
from everyword.storage.sql.queries import named_queries
from everyword.storage.sql.tables import Column, Tables

_ROWS_AT_ONCE = 200  # that the server sends: some are half a megabyte


class PostgresTables(Tables):
    """Reads and writes tables within one transaction; about all spaces."""

    def __init__(self, within: PostgresSnapshot) -> None:
        super().__init__()
        self._within = within
        self._cursors = 0
        within.go_everywhere()

    def listed(self) -> list[Column]:
        return [Column(*row) for row in self.read("listed", ())]

    def read(self, template: str, values: Sequence[Any], **parts: str) -> Iterator[Sequence[Any]]:
        self._cursors += 1
        with psycopg.RawServerCursor(self._within.connection, f"table_{self._cursors}") as cursor:
            cursor.itersize = _ROWS_AT_ONCE
            cursor.execute(_filled(template, parts), bound(values), binary=True)
            yield from cursor

    def change(self, template: str, several: Sequence[Sequence[Any]], **parts: str) -> None:
        psycopg.RawCursor(self._within.connection).executemany(_filled(template, parts), several)

    def marks(self, count: int) -> str:
        return ", ".join(f"${place}" for place in range(1, count + 1))

    def last_number(self) -> int:
        return next(int(row[0]) for row in self.read("last_number", ()))

    def reserve(self, count: int) -> int:
        return next(int(row[0]) for row in self.read("reserve_numbers", (count,))) - count

    def number_of(self, name: str) -> int:
        return space_number(name)

    def finish(self) -> None:
        for template in ("add_turns", "count_seqs_on", "count_models_on"):
            self._once(template)
        for table, column in list(self.read("counted", ())):
            self._once("count_rows_on", table=table, column=column)

    def fact(self, name: str) -> str | None:
        return self._within.one("get_fact", (name,))

    def set_fact(self, name: str, value: str) -> None:
        self._within.run("set_fact", (name, value))

    def _once(self, template: str, **parts: str) -> None:
        psycopg.RawCursor(self._within.connection).execute(_filled(template, parts))


@cache
def _templates() -> dict[str, str]:
    return named_queries("everyword.storage.postgres.copying")


def _filled(template: str, parts: dict[str, str]) -> bytes:
    sql = _templates()[template]
    for name, part in parts.items():
        sql = sql.replace(f"{{{name}}}", part)
    return sql.encode()
