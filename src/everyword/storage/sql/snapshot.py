"""Named queries within one transaction of one connection: what readers and writers are made of.

What stands above this class (`reader.py`, `writer.py`, `artifacts.py`, `audit.py`) knows queries by their names alone,
so that another SQL database needs the same names in its own `queries.sql`, a class that runs them, and nothing else."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Row = Sequence[Any]

# Queries that change a space's row.
_CHANGES_A_SPACE = frozenset(("count_space", "next_epoch", "set_words_upto", "take_generation", "adopt_generation"))


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


class Snapshot(ABC):
    """Runs queries by their names."""

    def __init__(self) -> None:
        self._spaces: dict[str, Space] = {}  # by name, as this transaction read them

    @abstractmethod
    def query(self, name: str) -> str:
        """Give the text of a query."""

    @abstractmethod
    def rows(self, name: str, values: Sequence[Any] | Mapping[str, Any] = (), where: str = "") -> list[Row]:
        """Run a named query and read all its rows."""

    @abstractmethod
    def each(self, name: str, values: Sequence[Any]) -> Iterator[Row]:
        """Run a named query and read its rows one by one."""

    @abstractmethod
    def run(self, name: str, values: Sequence[Any] | Mapping[str, Any]) -> int:
        """Run a named query that changes something; count the rows that it changed."""

    @abstractmethod
    def run_many(self, name: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a named query for each row of values."""

    def added(self, name: str, values: Sequence[Any]) -> int:
        """Run a named query that adds one row and gives its number."""
        return int(self.one(name, values))

    def one(self, name: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
        """Run a named query for one value; None where there is no row."""
        rows = self.rows(name, values)
        return rows[0][0] if rows else None

    def storable(self, text: str) -> str | bytes:
        """Give a text as the database can hold it."""
        return text

    def read_json(self, part: str) -> Any:
        """Read what a query took out of stored JSON, itself as JSON."""
        return json.loads(part)

    def space(self, name: str) -> Space | None:
        """Return a space's row, read once in a transaction; None where there is no such space."""
        if name not in self._spaces:
            rows = self.rows("space_by_name", (name,))
            if not rows:
                return None
            self._spaces[name] = Space(*rows[0])
        return self._spaces[name]

    def space_id(self, name: str) -> int | None:
        """Return a space's number; None where there is no such space."""
        found = self.space(name)
        return None if found is None else found.id

    def space_to_write(self, name: str) -> Space:
        """Return a space's row; add the space where it is missing."""
        found = self.space(name)
        if found is None:
            found = self._spaces[name] = Space(*self.rows("add_space", (name,))[0])
        return found

    def _before(self, name: str) -> None:
        """Drop the rows of spaces that were read, where a query is about to change them."""
        if name in _CHANGES_A_SPACE:
            self._spaces.clear()


def array(numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Make numbers a value that a query takes as a whole."""
    return np.ascontiguousarray(numbers, dtype=np.int64)


def words(texts: Sequence[str]) -> tuple[str, ...]:
    """Make texts a value that a query takes as a whole."""
    return tuple(texts)


_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n?", re.MULTILINE)


def named_queries(package: str) -> dict[str, str]:
    """Read every query of a package's `.sql` files."""
    entries = [entry for entry in files(package).iterdir() if entry.name.endswith(".sql")]
    found: dict[str, str] = {}
    for entry in sorted(entries, key=lambda one: one.name):
        parts = _NAMED.split(entry.read_text(encoding="utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            found[name] = _COMMENT.sub("", body).strip().removesuffix(";")
    return found
