"""A store's tables as they are, for copying a whole store: rows in, rows out, whatever they mean.

Rows travel in one form: the names of columns, and values as Python has them, a space by its name. So a store of one
kind can be read into one of another, and rows on both sides can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

SPACES = "spaces"
FIRST = (SPACES, "artifacts")  # copied before the others, which point to their rows
# Where "space" is a name: what is there stands for itself, also where nobody has written yet.
BY_NAME = frozenset(("webhooks",))
# What belongs to one server, or is made anew from what was copied.
LEFT_OUT = frozenset(("schema_steps", "turns", "near", "near_spaces", "digests"))
# Tables that `rebuild` makes anew from the log and from what people and LLMs said; the words and vectors first.
WORD_TABLES = frozenset(("word_tail", "postings"))
VECTOR_TABLES = frozenset(("vectors", "pooled_tail", "pooled_blocks"))
DERIVED_TABLES = frozenset(
    (
        *("artifacts", "artifact_keys", "artifact_edges", "journal", "event_tags", "derivations"),
        *("names", "mentions", "claims", "facts", "fact_claims", "graphs", "session_summaries", "marks", "marking"),
        *("fold_nodes", "fold_edges", "fold_journal", "fold_apart", "fold_work", "fold_loose", "fold_marks"),
    )
)


class Table(NamedTuple):
    """A table: its columns, and which of them are its key, in the key's order."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class TableReader(Protocol):
    """The tables of one snapshot."""

    def tables(self) -> list[Table]:
        """List the tables that make up a memory."""
        ...

    def count(self, table: Table) -> int:
        """Count a table's rows."""
        ...

    def last_number(self) -> int:
        """Tell the highest number that a row was given when it was added."""
        ...

    def each(self, table: Table, after: Sequence[Any] | None, space: str | None = None) -> Iterator[dict[str, Any]]:
        """Read rows in the order of the key, from behind one; of one space, or of all."""
        ...


class TableWriter(TableReader, Protocol):
    """Changes to tables, within a transaction."""

    def put(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows."""
        ...

    def clear(self, table: Table) -> None:
        """Remove all rows."""
        ...

    def reserve(self, count: int) -> int:
        """Give a number behind which so many are free for rows that are numbered."""
        ...

    def finish(self) -> None:
        """Do what a copied store needs besides its rows: what counts up goes on behind them."""
        ...

    def fact(self, name: str) -> str | None:
        """Read a fact about the store."""
        ...

    def set_fact(self, name: str, value: str) -> None:
        """Keep a fact about the store."""
        ...


class Sum:
    """The number of rows, and a sum of their hashes: the same whatever the order."""

    def __init__(self, rows: int = 0, total: int = 0) -> None:
        self.rows = rows
        self.total = total

    def add(self, rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
        """Add rows."""
        for row in rows:
            self.rows += 1
            self.total = (self.total + row_hash(row, columns)) % (1 << 64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and (self.rows, self.total) == (other.rows, other.total)

    __hash__ = None  # type: ignore[assignment]


def as_text(value: str | bytes) -> str:
    """Give a text as Python has it, where a store had to keep it as bytes."""
    return value if isinstance(value, str) else bytes(value).decode("utf-8", "surrogatepass")


def row_hash(row: Mapping[str, Any], columns: Sequence[str]) -> int:
    """Hash the values of some columns."""
    digest = hashlib.blake2b(digest_size=8)
    for name in columns:
        value = row[name]
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(b"%s %d " % (type(value).__name__.encode(), len(data)))
        digest.update(data)
    return int.from_bytes(digest.digest(), "big")
