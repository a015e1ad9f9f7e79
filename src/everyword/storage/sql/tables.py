"""Read and write whole tables, to copy or compare stores; the backends list columns and set sequences."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from everyword.storage.rows import COPYING, SCRUB_OWED, read_text

SPACES = "spaces"
FIRST = (SPACES, "statements")  # copied before the others, which point to their rows
# Where "space" is a name: what is there stands for itself, also where nobody has written yet.
BY_NAME = frozenset(("webhooks",))
# What belongs to one server, or is made anew from what was copied.
LEFT_OUT = frozenset(("schema_steps", "turns", "near", "near_spaces", "digests"))
# Tables that `rebuild` makes anew from the log and from what people and LLMs said; the words and vectors first.
WORD_TABLES = frozenset(("word_tail", "postings", "event_meta"))
VECTOR_TABLES = frozenset(("vectors", "pooled_tail", "pooled_blocks"))
DERIVED_TABLES = frozenset(
    (
        *("statements", "statement_keys", "journal", "event_tags", "views"),
        *("model_readings", "names", "mentions", "claims", "facts", "fact_claims", "graphs"),
        *("fold_nodes", "fold_edges", "fold_journal", "fold_apart", "fold_work", "fold_loose", "fold_marks"),
    )
)
_FACTS = "facts_of_file"
_BATCH_ROWS = 2_000


class Table(NamedTuple):
    """A table: its columns, and which of them are its key, in the key's order."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class Column(NamedTuple):
    """A column, its place in the key or 0, and whether it is copied: one that follows from others is not."""

    table: str
    name: str
    place: int
    copied: bool


class Tables(ABC):
    """Reads and writes tables within one transaction."""

    @abstractmethod
    def listed(self) -> list[Column]:
        """List all columns in their order."""

    @abstractmethod
    def read(self, template: str, values: Sequence[Any], **parts: str) -> Iterator[Sequence[Any]]:
        """Run a query of `tables.sql` and read its rows one by one."""

    @abstractmethod
    def change(self, template: str, several: Sequence[Sequence[Any]], **parts: str) -> None:
        """Run a query of `tables.sql` for each row of values."""

    @abstractmethod
    def marks(self, count: int) -> str:
        """Write so many places for values."""

    @abstractmethod
    def reserve(self, count: int) -> int:
        """Reserve `count` row numbers; return the one before the first."""

    @abstractmethod
    def number_of(self, name: str) -> int:
        """Give the number that a space of this name is to have."""

    @abstractmethod
    def finish(self) -> None:
        """Finish a copied store: set its sequences to the highest numbers."""

    def selected(self, table: str, column: str) -> str:
        """Write how a column is read."""
        return column

    def of_space(self, table: str, number: int) -> str:
        """Write the condition that a row belongs to a space."""
        return f"space = {number:d}"

    def holds(self, table: str, column: str) -> bool:
        """Tell whether a column is written."""
        return True

    def stored(self, value: Any) -> Any:
        """Give a value as the database can hold it."""
        return value

    @cached_property
    def tables(self) -> list[Table]:
        """Describe the tables; nobody changes a schema while its rows are copied."""
        by_name: dict[str, list[Column]] = {}
        for column in self.listed():
            if column.table not in LEFT_OUT:
                by_name.setdefault(column.table, []).append(column)
        return [
            Table(
                name,
                tuple(one.name for one in columns if one.copied and not _is_number_of_space(name, one.name)),
                tuple(one.name for one in sorted(columns, key=lambda one: one.place) if one.place),
            )
            for name, columns in by_name.items()
        ]

    def table(self, name: str) -> Table:
        return next(table for table in self.tables if table.name == name)

    def rows(self, name: str, space: str | None = None) -> Iterator[dict[str, Any]]:
        """Read all rows of a table, or those of one space."""
        return self.each(self.table(name), None, space)

    def put_all(self, name: str, rows: Iterator[dict[str, Any]]) -> None:
        """Add rows to a table, some at a time."""
        while batch := list(islice(rows, _BATCH_ROWS)):
            self.put(self.table(name), batch)

    def last_number(self) -> int:
        """Tell the highest number that a row was given when it was added."""
        return next(int(row[0]) for row in self.read("last_number", ()))

    def count(self, table: Table) -> int:
        return next(int(row[0]) for row in self.read("count", (), table=table.name, where=_where(table)))

    def each(self, table: Table, after: Sequence[Any] | None, space: str | None = None) -> Iterator[dict[str, Any]]:
        """Read rows in the order of the key, after one; of one space, or of all."""
        columns = list(dict.fromkeys((*table.key, *table.columns)))
        key = self._own(table, after) if after else ()
        where = _where(table, f"({', '.join(table.key)}) > ({self.marks(len(key))})" if after else "")
        if space is not None:
            where = f"{where} {'AND' if where else 'WHERE'} {self.of_space(table.name, self.numbers[space])}"
        rows = self.read(
            "rows",
            key,
            table=table.name,
            columns=", ".join(self.selected(table.name, column) for column in columns),
            where=where,
            key=", ".join(table.key),
        )
        for row in rows:
            yield self._travelling(table, dict(zip(columns, row, strict=True)))

    def put(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        mine = self.table(table.name)
        columns = [name for name in mine.columns if name in rows[0] and self.holds(mine.name, name)]
        number = [name for name in mine.key if _is_number_of_space(mine.name, name)]
        self.change(
            "put",
            [
                [
                    *(self.number_of(row["name"]) for _ in number),
                    *(self._settled(mine, name, row[name]) for name in columns),
                ]
                for row in rows
            ],
            table=mine.name,
            columns=", ".join((*number, *columns)),
            marks=self.marks(len(number) + len(columns)),
        )
        if table.name == SPACES:
            self._forget_names()

    def clear(self, table: Table) -> None:
        self.change("clear", [()], table=table.name, where=_where(table))
        self._forget_names()

    # Inside

    @cached_property
    def names(self) -> dict[int, str]:
        """Read the names of spaces by their numbers."""
        number = self.table(SPACES).key[0]
        rows = self.read("rows", (), table=SPACES, columns=f"{number}, name", where="", key=number)
        return {row[0]: row[1] for row in rows}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Read the numbers of spaces by their names."""
        return {name: number for number, name in self.names.items()}

    def _travelling(self, table: Table, row: dict[str, Any]) -> dict[str, Any]:
        if "space" in row and _is_of_space(table.name, "space"):
            row["space"] = self.names[row["space"]]
        if isinstance(text := row.get("text"), bytes):
            row["text"] = read_text(text)
        return row

    def _settled(self, table: Table, column: str, value: Any) -> Any:
        if _is_of_space(table.name, column):
            return self.numbers[value]
        return self.stored(value) if column == "text" else value

    def _own(self, table: Table, key: Sequence[Any]) -> Sequence[Any]:
        return [
            self.numbers[value] if _is_of_space(table.name, name) else value
            for name, value in zip(table.key, key, strict=True)
        ]

    def _forget_names(self) -> None:
        for name in ("names", "numbers"):
            vars(self).pop(name, None)


def _where(table: Table, condition: str = "") -> str:
    """Write the conditions of a query; how far a copy is, and what lies on a disk, belongs to one store alone."""
    conditions = [condition] if condition else []
    if table.name == _FACTS:
        conditions.append(f"name NOT IN ('{COPYING}', '{SCRUB_OWED}')")
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""


def _is_of_space(table: str, column: str) -> bool:
    """Tell whether a column is the number of the space that a row belongs to."""
    return column == "space" and table != SPACES and table not in BY_NAME


def _is_number_of_space(table: str, column: str) -> bool:
    return table == SPACES and column in ("id", "space")


class Sum(NamedTuple):
    """The number of rows, and a sum of their hashes: the same whatever the order."""

    rows: int
    total: int


def sum_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Sum:
    count = total = 0
    for row in rows:
        count += 1
        total = (total + row_hash(row, columns)) % (1 << 64)
    return Sum(count, total)


def shared_columns(one: Tables, other: Tables, table: str) -> list[str]:
    """List the columns that a table has in both stores."""
    return sorted(set(one.table(table).columns) & set(other.table(table).columns))


def row_hash(row: Mapping[str, Any], columns: Sequence[str]) -> int:
    digest = hashlib.blake2b(digest_size=8)
    for name in columns:
        value = row[name]
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(b"%s %d " % (type(value).__name__.encode(), len(data)))
        digest.update(data)
    return int.from_bytes(digest.digest(), "big")
