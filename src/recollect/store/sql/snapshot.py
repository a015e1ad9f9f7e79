"""Named queries within one transaction of one connection: what readers and writers are made of.

What stands above this class (`reader.py`, `writer.py`, `artifacts.py`, `audit.py`) knows queries by their names alone,
so that another SQL database needs the same names in its own `queries.sql`, a class that runs them, and nothing else.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Row = Sequence[Any]


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
        """Read a space's row."""
        rows = self.rows("space_by_name", (name,))
        return Space(*rows[0]) if rows else None

    def space_id(self, name: str) -> int | None:
        """Tell a space's number, read once: it never changes, as the counters do."""
        if name not in self._space_ids:
            found = self.space(name)
            if found is None:
                return None
            self._space_ids[name] = found.id
        return self._space_ids[name]

    def space_id_to_write(self, name: str) -> int:
        """Tell a space's number, and make the space where there is none."""
        found = self.space_id(name)
        return self.space_to_write(name).id if found is None else found

    @cached_property
    def _space_ids(self) -> dict[str, int]:
        return {}

    def space_to_write(self, name: str) -> Space:
        """Read a space's row, and make it where there is none."""
        return self.space(name) or Space(*self.rows("add_space", (name,))[0])


def array(numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Make numbers a value that a query takes as a whole."""
    return np.ascontiguousarray(numbers, dtype=np.int64)


def words(texts: Sequence[str]) -> tuple[str, ...]:
    """Make texts a value that a query takes as a whole."""
    return tuple(texts)
