"""The interface of a store, and what all stores share.

A `Store` gives readers and writers. `Reader`, `Writer` and `Tables` are the SQL classes of `storage/sql/`, which SQLite
and PostgreSQL complete with their own connections and queries.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from everyword.errors import BadLocation, Closed, StoreForked
from everyword.private_files import name_new
from everyword.settings import beside
from everyword.storage.rows import Commits
from everyword.storage.sql.audit import audit
from everyword.storage.sql.reader import FileReader, Reader
from everyword.storage.sql.snapshot import Caches, Snapshot
from everyword.storage.sql.tables import Tables
from everyword.storage.sql.writer import FileWriter, Writer
from everyword.types.events import Report

__all__ = ["FileReader", "FileWriter", "Reader", "ServerCard", "Store", "Tables", "Workplace", "Writer"]


class Store(ABC):
    """Where a memory lives."""

    scrubs_itself: ClassVar[bool] = True  # False where scrubbing would lock out others who share the store
    unscrubbed: ClassVar[tuple[str, ...]]  # the places where removed text may remain until scrub() is called
    read_only = False
    closed = False

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._caches = Caches()
        self._commits = Commits()

    @property
    @abstractmethod
    def location(self) -> str:
        """Name the place, without a password."""

    @property
    def commits(self) -> int:
        """Count the transactions of this thread, so that an interrupted call can tell whether it committed anything."""
        return self._commits.count

    @contextmanager
    def reader(self, space: str) -> Generator[Reader]:
        """Take a snapshot to read a space; it lasts for the `with` block."""
        with self.file_reader() as file:
            file.sql.space(space)  # models come with it
            yield file.reader(space)

    @contextmanager
    def file_reader(self) -> Generator[FileReader]:
        """Take a snapshot to read what belongs to no space, or several spaces; it lasts for the `with` block."""
        with self.snapshot() as sql:
            yield FileReader(sql)

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Begin a transaction that reads."""

    @abstractmethod
    def file_writer(
        self, *, patience_s: float | None = None, space: str | None = None
    ) -> AbstractContextManager[FileWriter]:
        """Begin a transaction, as `writer` does, to write what belongs to no space, or to several spaces.

        space: the one whose turn is taken as the transaction begins; others are taken when they are written to.
        """

    @contextmanager
    def writer(self, space: str, *, patience_s: float | None = None) -> Generator[Writer]:
        """Wait for the write lock and begin a transaction; commits at the end of the `with` block.

        patience_s: how long to wait for the lock; busy_timeout_s by default.
        """
        with self.file_writer(patience_s=patience_s, space=space) as file:
            yield file.writer(space)

    @contextmanager
    def table_reader(self) -> Generator[Tables]:
        """Take a snapshot of the tables themselves, to copy them."""
        with self.file_reader() as file:
            yield file.sql.tables()

    @contextmanager
    def table_writer(self) -> Generator[tuple[FileWriter, Tables]]:
        """Begin a transaction that also changes the tables themselves; commits at the end of the `with` block."""
        with self.file_writer() as file:
            yield file, file.sql.tables()
        self._caches.clear()

    def tend(self) -> int:
        """Do the store's own upkeep, such as building a vector index for a large space; return how many were done."""
        return 0

    @abstractmethod
    def scrub(self) -> tuple[str, ...]:
        """Rewrite the data on disk so that no removed text is left; return the places that this does not reach.

        Raises StoreBusy where other readers prevent that.
        """

    def audit(self, *, deep: bool = True, only: str | None = None) -> Report:
        """Check pages and counters, and compare the indexes with the log; `only` limits that to one space."""
        with self.file_reader() as reader:
            return audit(reader, deep=deep, only=only)

    @abstractmethod
    def renew_digests(self, tables: Collection[str]) -> None:
        """Recompute the digests of tables that were rebuilt from the log, for later audits."""

    def backup(self, path: str) -> None:
        """Write a consistent copy to a new file while others read and write."""
        self._check_usable()
        target = Path(path).expanduser()
        if target.exists():
            raise BadLocation(f"{target} exists already; a backup never overwrites. Choose another name.")
        if not target.parent.is_dir():
            raise BadLocation(f"The folder {target.parent} does not exist; make it first.")
        partial = beside(target)
        try:
            self._copy_into(partial)
            name_new(partial, target)
        except FileExistsError as error:
            raise BadLocation(f"{target} was made meanwhile; a backup never overwrites.") from error
        finally:
            # What SQLite had begun beside it, where the disk was full.
            for left in ("", "-journal", "-wal", "-shm", "-lock"):
                partial.with_name(partial.name + left).unlink(missing_ok=True)

    def schema(self) -> int:
        with self.snapshot() as sql:
            return int(sql.one("schema_version"))

    @abstractmethod
    def size(self, *, by_part: bool = False) -> tuple[int, dict[str, int]]:
        """Return the bytes on disk: the total, and by table where asked for."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections and files."""

    @abstractmethod
    def _copy_into(self, path: Path) -> None:
        """Copy all that the store holds into a new SQLite file."""

    def _is_ours(self) -> bool:
        """Tell whether this process opened the store: a forked child must not touch its parent's connections."""
        return os.getpid() == self._pid

    def _check_usable(self) -> None:
        if self.closed:
            raise Closed
        if not self._is_ours():
            raise StoreForked


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
