"""A SQLite file as a store: snapshots for readers, a fair write lock and one transaction for a writer."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Collection, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path

import apsw
import numpy as np

from everyword.errors import BadLocation, Closed, StoreBusy, StoreError, StoreReadOnly
from everyword.settings import Settings
from everyword.storage.open_files import Held
from everyword.storage.protocol import FileWriter, Store
from everyword.storage.rows import IN_MEMORY, NOT_OWED, SCRUB_OWED
from everyword.storage.sql.queries import check_schema, newest_schema
from everyword.storage.sqlite import schema
from everyword.storage.sqlite.connect import (
    check_openable,
    connect,
    create,
    in_use,
    inspect,
    is_frozen,
    register,
    track,
    translated_errors,
)
from everyword.storage.sqlite.schema import Digests, query, renew
from everyword.storage.sqlite.snapshot import SqliteSnapshot
from everyword.storage.sqlite.write_lock import Turn

_IDLE_READERS = 8  # connections kept open for the next reader; more threads open more and close them again
_MOSTLY_FREE = 0.25  # of the pages, past which a scrub rewrites the file: then it gets smaller, too
_CHECKPOINT_TRIES_S = 5.0  # how long a scrub waits for readers to leave the write-ahead log


class SqliteStore(Store):
    """One file, shared by any number of threads and processes."""

    unscrubbed = ("unused space in the file and its write-ahead log, until settle() overwrites it",)

    def __init__(
        self, location: str | os.PathLike[str], settings: Settings, *, create: bool = True, spills: bool = False
    ) -> None:
        super().__init__()
        self._settings = settings
        self._spills = spills
        self._path = None if os.fspath(location) == IN_MEMORY else _real(location)
        self._writing: apsw.Connection | None = None  # the one that writes; a fork closes it
        self._idle: deque[apsw.Connection] = deque()  # the latest used last
        # An in-memory store has one connection: its users take turns.
        self._memory_guard = threading.RLock() if self._path is None else nullcontext()
        check_openable(self._path)
        with translated_errors(), in_use(self):
            self._open(create=create)
        register(self)

    @property
    def location(self) -> str:
        return str(self._path or IN_MEMORY)

    @contextmanager
    def snapshot(self) -> Generator[SqliteSnapshot]:
        self._check_usable()
        with translated_errors(), in_use(self), self._reading() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteSnapshot(connection, self._caches)
            finally:
                connection.execute("ROLLBACK")

    @contextmanager
    def file_writer(self, *, patience_s: float | None = None, space: str | None = None) -> Generator[FileWriter]:
        with self._transaction(patience_s) as sql:
            yield FileWriter(sql)

    def scrub(self) -> tuple[str, ...]:
        # Deleted rows and freed pages are zeroed as they go (secure_delete). Rows that SQLite moved between pages left
        # copies in unused space: that is overwritten in place, so that a large file need not be rewritten.
        self._check_usable()
        deadline = time.monotonic() + _CHECKPOINT_TRIES_S
        # A try at a time and without waiting inside it: a slow reader must not keep writers from their turn.
        while not self._scrubbed():
            if time.monotonic() > deadline:
                raise StoreBusy("A reader keeps the write-ahead log in use, so that it could not be emptied yet.")
            time.sleep(0.01)
        return ()

    def renew_digests(self, tables: Collection[str]) -> None:
        with self._transaction() as sql:
            renew(sql.connection, tables)

    def _copy_into(self, path: Path) -> None:
        with translated_errors(), in_use(self), self._reading() as source:
            create(path)
            with closing(track(apsw.Connection(str(path)), path)) as copy:
                # One step: pages copied in several would start anew whenever another process writes.
                with copy.backup("main", source, "main") as task:
                    task.step(-1)
                copy.pragma("journal_mode", "delete")

    def size(self, *, by_part: bool = False) -> tuple[int, dict[str, int]]:
        self._check_usable()
        with translated_errors(), in_use(self), self._reading() as connection:
            pages = connection.pragma("page_count") * connection.pragma("page_size")
            parts = dict(connection.execute(query("bytes_by_part"))) if by_part else {}
        return pages if self._path is None else self._path.stat().st_size + self._log_bytes(), parts

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        if not self._is_ours():
            return
        # A thread that is writing finishes first; those that wait for it are told that the store is closed.
        try:
            with translated_errors(), self._turn.taken_here(), in_use(self), self._memory_guard:
                self._close_connections()
                self._turn.close()
                self._held.release()
        except BaseException:
            self.closed = False  # so that it can be tried again
            raise

    def disconnect(self) -> None:
        """Close the connections to a file before a fork; they are opened again when they are next needed."""
        # What is in memory alone would be lost; in a forked child it is a copy that nobody can use.
        if self._path is not None and not self.closed:
            self._close_connections()
            self._held.drop_gone()

    # Inside

    @contextmanager
    def _transaction(self, patience_s: float | None = None) -> Generator[SqliteSnapshot]:
        self._check_usable()
        if self.read_only:
            raise StoreReadOnly
        deadline = time.monotonic() + (patience_s or self._settings.busy_timeout_s)
        with translated_errors(), self._turn.taken(patience_s), in_use(self), self._memory_guard:
            self._check_usable()
            with self._begun(self._connected(), max(0.0, deadline - time.monotonic())) as sql:
                yield sql

    @contextmanager
    def _begun(self, connection: apsw.Connection, patience_s: float) -> Generator[SqliteSnapshot]:
        """Write in one transaction; the caller holds the turn."""
        # Other programs may lock the file without taking our turn: wait for them in the time that is left.
        self._set_busy_timeout(connection, patience_s)
        try:
            connection.execute("BEGIN IMMEDIATE")
        finally:
            self._set_busy_timeout(connection, self._settings.busy_timeout_s)
        self._digests.begin()
        try:
            yield SqliteSnapshot(connection, self._caches, writes=True)
            self._digests.write()
            connection.execute("COMMIT")
            self._commits.count += 1
        except BaseException:
            if self._is_ours() and connection.in_transaction:
                connection.execute("ROLLBACK")
            self._caches.clear()
            raise

    def _open(self, *, create: bool) -> None:
        there = inspect(self._path, create=create and not self._settings.read_only) if self._path else False
        writable = self._path is None or not there or os.access(self._path, os.W_OK)
        self.read_only = self._settings.read_only or not writable
        self._turn = Turn(
            None if self._path is None or self.read_only else Path(f"{self._path}-lock"), self._settings.busy_timeout_s
        )
        self._held = Held(self._path)
        with ExitStack() as undo:
            undo.callback(self._held.release)
            self._held.take(self._settings.busy_timeout_s)
            undo.callback(self._turn.close)
            self._turn.check_locks(new=not there)
            self._writing = connect(self._path, self._settings, read_only=self.read_only, spills=self._spills)
            writing = undo.enter_context(closing(self._writing))
            have = schema.version(writing)
            check_schema(have, "sqlite", read_only=self.read_only)
            if have < newest_schema("sqlite"):
                with self._turn.taken():
                    schema.migrate(writing)
            if self._path is not None and not self.read_only and writing.pragma("journal_mode") != "wal":
                # Switching needs the file exclusively; SQLite's busy timeout doesn't apply to it.
                with self._turn.taken():
                    writing.pragma("journal_mode", "wal")
            self._digests = Digests(writing)
            self._inode = None if self._path is None else _inode(self._path)
            self._held.take(self._settings.busy_timeout_s)  # also of what was made just now, such as the log
            undo.pop_all()

    def _connected(self) -> apsw.Connection:
        """Give the connection that writes, opened again if a fork closed it; the caller holds the turn."""
        if self.closed:
            raise Closed
        self._check_in_place()
        if self._writing is None:
            self._writing = connect(self._path, self._settings, read_only=self.read_only)
            self._digests = Digests(self._writing)
            self._held.take(self._settings.busy_timeout_s)  # of a log that was made since
        return self._writing

    def _check_in_place(self) -> None:
        # What is written to a file that has lost its name is written nowhere, and a new connection would go elsewhere.
        if self._path is not None and not _is_at(self._path, self._inode):
            raise StoreError(
                f"{self._path} was moved, deleted or replaced while it was open; nothing was changed.",
                fix="Open it again; what it held is where it was moved to.",
            )

    @contextmanager
    def _reading(self) -> Generator[apsw.Connection]:
        if self._path is None:
            with self._memory_guard:
                yield self._connected()
            return
        self._check_in_place()
        frozen = self.read_only and is_frozen(self._path)  # then a connection would never see what others write
        if frozen:
            self._let_go_of_idle()
            self._caches.clear()
        connection = self._idle_or_new()
        try:
            yield connection
        except BaseException:
            if self._is_ours():
                connection.close()
            raise
        if len(self._idle) < _IDLE_READERS and not self.closed and not frozen:
            self._idle.append(connection)
        else:
            connection.close()

    def _close_connections(self) -> None:
        self._let_go_of_idle()
        if self._writing is not None:
            self._writing.close()
            self._writing = None

    def _let_go_of_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _idle_or_new(self) -> apsw.Connection:
        with suppress(IndexError):
            return self._idle.pop()
        return connect(self._path, self._settings, read_only=self.read_only)

    def _scrubbed(self) -> bool:
        """Overwrite what is left of deleted rows; False where others use the file so that it can't be done now."""
        with translated_errors(), self._turn.taken(), in_use(self), self._memory_guard:
            connection = self._connected()
            pages, free = connection.pragma("page_count"), connection.pragma("freelist_count")
            if self._path is None or free > _MOSTLY_FREE * pages or pages > MOST_PAGES:
                connection.execute("VACUUM")
            if self._path is None:
                return True
            if not self._empties_log(connection):
                return False
            with self._begun(connection, self._settings.busy_timeout_s) as sql:
                if self._log_bytes():  # a program that does not take turns has written since
                    return False
                if pages <= MOST_PAGES:
                    overwrite(self._path)
                # Pages in memory still hold what was overwritten. This connection drops them, and every other one does
                # where it sees that something was committed: the note that nothing is owed.
                connection.pragma("shrink_memory")
                sql.run("set_fact", (SCRUB_OWED, NOT_OWED))
        return True

    def _empties_log(self, connection: apsw.Connection) -> bool:
        self._set_busy_timeout(connection, 0)
        try:
            return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
        finally:
            self._set_busy_timeout(connection, self._settings.busy_timeout_s)

    @staticmethod
    def _set_busy_timeout(connection: apsw.Connection, seconds: float) -> None:
        connection.set_busy_timeout(int(seconds * 1000))

    def _log_bytes(self) -> int:
        log = Path(f"{self._path}-wal")
        return log.stat().st_size if log.exists() else 0


def _real(location: str | os.PathLike[str]) -> Path:
    # Where it is, whatever it is called: a link joins the same queue of writers, and chdir() changes nothing.
    try:
        return Path(os.path.realpath(Path(location).expanduser()))
    except RuntimeError as error:  # a ~ of nobody
        raise BadLocation(f"{os.fspath(location)!r} is not a path that can be opened ({error}).") from error


def _inode(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _is_at(path: Path, inode: tuple[int, int] | None) -> bool:
    """Tell whether a file still has its name; on Windows, an open one does. Who may not look, takes it so."""
    if os.name == "nt":
        return True
    try:
        return _inode(path) == inode
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


_HEADER_BYTES = 100  # of the file, before the first page's own header
_READ_BYTES = 1 << 20  # at once; a power of two, so that it holds whole pages
_LARGEST_PAGE = 65536
_HEADERS = np.zeros(256, np.int64)  # by the kind of a page: bytes of its header; none where it has no rows
_HEADERS[[2, 5, 10, 13]] = 12, 12, 8, 8
# The first byte of other pages is the highest of a page number. Beyond so many pages it could pass for a kind.
MOST_PAGES = 2 << 24


def overwrite(path: Path) -> int:
    """Overwrite the space inside a file's pages that no row uses; tell how many bytes were written.

    `secure_delete` zeroes rows that are deleted and pages that are freed. It does not see one thing: where SQLite
    splits or joins pages it moves rows to another page, and their bytes stay behind between the page's list of rows and
    its rows. That gap means nothing to SQLite, so it can be zeroed in place, without a transaction: a process that dies
    halfway leaves a sound file, and whoever reads at the same time sees the same rows.

    The caller keeps others from writing, and the write-ahead log is empty. Connections may still hold such bytes in
    memory: theirs must read the pages anew before they write.
    """
    # By SQLite's own hand: closing a file that this process opened by itself would drop every lock that it has on it.
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        head = file.xRead(_HEADER_BYTES, 0)
        page_bytes = int.from_bytes(head[16:18], "big")
        page_bytes = _LARGEST_PAGE if page_bytes == 1 else page_bytes
        size = file.xFileSize()
        zeros = bytes(page_bytes)
        written = 0
        for start in range(0, size, _READ_BYTES):
            read = file.xRead(min(_READ_BYTES, size - start), start)
            for first, last in _gaps(read, page_bytes, is_first=start == 0):
                if read[first:last] != zeros[: last - first]:
                    file.xWrite(zeros[: last - first], start + first)
                    written += last - first
        if written:
            file.xSync(apsw.SQLITE_SYNC_FULL)
        return written
    finally:
        file.xClose()


def _gaps(read: bytes, page_bytes: int, *, is_first: bool) -> Iterator[tuple[int, int]]:
    """List where the gaps between the lists of rows and the rows lie, in some whole pages."""
    data = np.frombuffer(read, np.uint8)
    pages = np.arange(0, len(data), page_bytes)
    heads = pages.copy()
    heads[0] += _HEADER_BYTES if is_first else 0
    header = _HEADERS[data[heads]]
    rows = data[heads + 3].astype(np.int64) << 8 | data[heads + 4]
    content = data[heads + 5].astype(np.int64) << 8 | data[heads + 6]
    content[content == 0] = _LARGEST_PAGE
    first, last = heads + header + 2 * rows, pages + content
    gaps = (header > 0) & (first < last) & (content <= page_bytes)
    return zip(first[gaps].tolist(), last[gaps].tolist(), strict=True)
