"""The interface of a store, and the names that its callers use.

A `Store` gives readers and writers. Both stores share their code: `Reader`, `Writer` and `Tables` are the SQL classes
of `storage/sql/`, which SQLite and PostgreSQL complete with their own connections and queries.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, runtime_checkable

from everyword.storage.postings import Ranking, Seqs, Terms
from everyword.storage.rows import (
    ANALYSIS,
    CONCEPTS,
    COPYING,
    COUNTED,
    EMBED,
    FACTS,
    FENCE_KEY,
    IN_MEMORY,
    NOT_OWED,
    PLAN,
    READ,
    SCRUB_OWED,
    SPEAKS,
    STATEMENTS,
    SUMMARISE,
    VIEWS,
    Access,
    Act,
    Audit,
    ClaimRow,
    Commits,
    Cursor,
    Draft,
    EdgeRow,
    Edit,
    Extent,
    FactFilter,
    FactKey,
    FileRead,
    FoldMark,
    GraphState,
    Job,
    JobRow,
    Known,
    LooseRow,
    Member,
    MentionRow,
    Model,
    NameRow,
    Outline,
    PassageRow,
    PlanRow,
    Reach,
    Rebuild,
    StatedBy,
    StatementFilter,
    StatementText,
    StoredKey,
    StoredWebhook,
    Tally,
    Undone,
    UnitVector,
    WorkRow,
    WrittenRow,
)
from everyword.storage.sql.reader import FileReader, Reader
from everyword.storage.sql.tables import (
    DERIVED_TABLES,
    SPACES,
    VECTOR_TABLES,
    WORD_TABLES,
    Sum,
    Table,
    Tables,
    row_hash,
)
from everyword.storage.sql.writer import FileWriter, Writer

__all__ = [
    "ANALYSIS",
    "CONCEPTS",
    "COPYING",
    "COUNTED",
    "DERIVED_TABLES",
    "EMBED",
    "FACTS",
    "FENCE_KEY",
    "IN_MEMORY",
    "NOT_OWED",
    "PLAN",
    "READ",
    "SCRUB_OWED",
    "SPACES",
    "SPEAKS",
    "STATEMENTS",
    "SUMMARISE",
    "VECTOR_TABLES",
    "VIEWS",
    "WORD_TABLES",
    "Access",
    "Act",
    "Audit",
    "ClaimRow",
    "Commits",
    "Cursor",
    "Draft",
    "EdgeRow",
    "Edit",
    "Extent",
    "FactFilter",
    "FactKey",
    "FileRead",
    "FileReader",
    "FileWriter",
    "FoldMark",
    "GraphState",
    "Job",
    "JobRow",
    "Known",
    "LooseRow",
    "Member",
    "MentionRow",
    "Model",
    "NameRow",
    "Outline",
    "PassageRow",
    "PlanRow",
    "Ranking",
    "Reach",
    "Reader",
    "Rebuild",
    "Seqs",
    "ServerCard",
    "StatedBy",
    "StatementFilter",
    "StatementText",
    "Store",
    "StoredKey",
    "StoredWebhook",
    "Sum",
    "Table",
    "Tables",
    "Tally",
    "Terms",
    "Undone",
    "UnitVector",
    "WorkRow",
    "Workplace",
    "Writer",
    "WrittenRow",
    "row_hash",
]


class Store(Protocol):
    """Where a memory lives."""

    @property
    def location(self) -> str: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def commits(self) -> int:
        """Count the transactions of this thread, so that an interrupted call can tell whether it committed anything."""
        ...

    def reader(self, space: str) -> AbstractContextManager[Reader]:
        """Take a snapshot to read a space; it lasts for the `with` block."""
        ...

    def file_reader(self) -> AbstractContextManager[FileReader]:
        """Take a snapshot to read what belongs to no space, or several spaces; it lasts for the `with` block."""
        ...

    def file_writer(self, *, patience_s: float | None = None) -> AbstractContextManager[FileWriter]:
        """Begin a transaction, as `writer` does, to write what belongs to no space, or to several spaces."""
        ...

    def writer(self, space: str, *, patience_s: float | None = None) -> AbstractContextManager[Writer]:
        """Wait for the write lock and begin a transaction; commits at the end of the `with` block.

        patience_s: how long to wait for the lock; busy_timeout_s by default.
        """
        ...

    def table_reader(self) -> AbstractContextManager[Tables]:
        """Take a snapshot of the tables themselves, to copy them."""
        ...

    def table_writer(self) -> AbstractContextManager[Tables]:
        """Begin a transaction on the tables themselves; commits at the end of the `with` block."""
        ...

    def exchange(self, space: str) -> AbstractContextManager[tuple[Writer, Tables]]:
        """Begin one transaction for a space and for whole tables; commits at the end of the `with` block."""
        ...

    def tend(self) -> int:
        """Do the store's own upkeep, such as building a vector index for a large space; return how many were done."""
        ...

    @property
    def scrubs_itself(self) -> bool:
        """Whether forgetting scrubs at once; False where that would lock out others who share the store."""
        ...

    @property
    def unscrubbed(self) -> tuple[str, ...]:
        """List the places where removed text may remain until scrub() is called."""
        ...

    def scrub(self) -> tuple[str, ...]:
        """Rewrite the data on disk so that no removed text is left; return the places that this does not reach.

        Raises StoreBusy where other readers prevent that.
        """
        ...

    def audit(self, *, deep: bool = True, only: str | None = None) -> Audit:
        """Check pages and counters, and compare the indexes with the log; `only` limits that to one space."""
        ...

    def renew_digests(self, tables: Collection[str]) -> None:
        """Recompute the digests of tables that were rebuilt from the log, for later audits."""
        ...

    def backup(self, path: str) -> None:
        """Write a consistent copy to a new file while others read and write."""
        ...

    def schema(self) -> int:
        """Return the version of the schema."""
        ...

    def size(self, *, by_part: bool = False) -> tuple[int, dict[str, int]]:
        """Return the bytes on disk: the total, and by table where asked for."""
        ...

    def close(self) -> None:
        """Close all connections and files."""
        ...


class ServerCard(NamedTuple):
    """Versions and state of a server."""

    version: str
    vectors: str  # the version of its extension for vectors
    walled: bool  # whether it keeps this user to one space at a time
    indexed: int  # spaces whose vectors have an index


@runtime_checkable
class Workplace(Protocol):
    """A store whose jobs any number of worker processes can share."""

    def owed(self, *, now: int, but: Sequence[str] = ()) -> AbstractContextManager[str | None]:
        """Lock a space with pending work, the longest waiting first, for the `with` block.

        None where no work is pending. `but`: spaces to skip. The lock ends with the connection of the worker.
        """
        ...

    def only(self, space: str) -> Store:
        """Return a view of the store that holds one space only."""
        ...

    def about(self) -> ServerCard:
        """Return the server's versions and state."""
        ...

    def wait_for_work(self, timeout_s: float) -> None:
        """Wait until work is announced, or until the timeout."""
        ...
