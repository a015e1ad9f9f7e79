"""Open connections to files that are memories, and keep them safe across fork().

SQLite remembers in the process which locks it holds on a file; fork() copies that table but not the locks. A child that
opens a file which its parent has open believes that it is locked, and what it commits is lost when somebody else
removes the write-ahead log. A connection that the child closes may do the same to its parent.

So no file is open while the process forks: when threads have finished using their stores, all connections to files are
closed. The parent's stores open them again when they are next used, and the child begins without any. What is still in
use then (by a thread that does not finish in time, by the forking thread itself, or because a program forked without
Python's knowledge) is abandoned in the child: never used or closed there, and its file can't be opened in that process.
"""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import threading
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import apsw

from everyword import fork_safety as forking
from everyword.errors import (
    BadLocation,
    Closed,
    EverywordError,
    ForeignFile,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForked,
    StoreFull,
    StoreReadOnly,
)
from everyword.fork_safety import STORE, Use, check_process, never_free
from everyword.private_files import open_private
from everyword.settings import Settings
from everyword.storage.open_files import Inode, inode_of
from everyword.storage.sqlite.schema import APPLICATION_ID

if TYPE_CHECKING:
    from everyword.storage.sqlite.store import SqliteStore

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_WRITES_AHEAD = slice(18, 20)  # of the header: two bytes that say how the file is written
_PAGE_BYTES = 16384  # seven rows of token vectors fit with little left over; half of it would waste a fifth of the file
_CACHE_KIB = 32 * 1024  # of pages a connection keeps: the postings and rows that questions come back to
_WAL_KEPT_BYTES = 64 * 1024 * 1024  # a write-ahead log that once grew larger is cut back to this

_creating = threading.Lock()


def inspect(path: Path, *, create: bool) -> bool:
    """Check what lies at a path without changing it; tell whether a memory is there."""
    try:
        if path.is_dir():
            raise BadLocation(f"{path} is a folder; name a file in it, for example {path / 'memory.db'}.")
        if not path.exists():
            return _absent(path, create=create)
        if not path.is_file():
            raise BadLocation(f"{path} is a device or a pipe, not a file; choose another path.")
        at_rest = not _is_written(path)
        header, size = _head(path)
        at_rest = at_rest and not _is_written(path)  # else SQLite puts the missing pages back, or says that it can't
    except PermissionError as error:
        raise BadLocation(f"{path} can't be read ({error.strerror}); check its permissions.") from error
    except (OSError, ValueError) as error:
        raise BadLocation(f"{path!s} is not a path that can be opened ({error}).") from error
    if not header:
        return _absent(path, create=create)
    _check_header(path, header)
    page_bytes, pages = struct.unpack(">H", header[16:18])[0], struct.unpack(">I", header[28:32])[0]
    expected = pages * (65536 if page_bytes == 1 else page_bytes)
    if at_rest and size < expected:
        raise StoreCorrupt(f"{path} is cut short: {size} bytes of {expected}. Restore a backup.")
    return True


def _is_written(path: Path) -> bool:
    """Tell whether a log or a journal is beside the file; a new one is written with a journal until it has tables."""
    return any(Path(f"{path}-{ending}").exists() for ending in ("wal", "journal"))


def is_idle(path: Path) -> bool:
    """Return whether no process has the file open: it is in WAL mode and has no -wal file."""
    return _head(path)[0][_WRITES_AHEAD] == b"\x02\x02" and not Path(f"{path}-wal").exists()


def _absent(path: Path, *, create: bool) -> bool:
    if not create:
        raise BadLocation(f"There is no memory at {path}; write to it first, or check the path.")
    if not path.parent.is_dir():
        raise BadLocation(f"The folder {path.parent} does not exist; make it first, or check the path.")
    if not os.access(path.parent, os.W_OK):
        raise StoreReadOnly(f"The folder {path.parent} can't be written; a new memory needs it.")
    return False


def _check_header(path: Path, header: bytes) -> None:
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        raise ForeignFile(f"{path} is not an Everyword memory. The file was not touched; choose another path.")
    (application,) = struct.unpack(">I", header[68:72])
    if application != APPLICATION_ID:
        raise ForeignFile(f"{path} is a SQLite file of another program. It was not touched; choose another path.")


def _head(path: Path) -> tuple[bytes, int]:
    if not os.access(path, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    # By SQLite's own hand: where a process closes a file that it opened by itself, the system drops every lock that it
    # has on it, also those of the memories that it has open there already.
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        size = path.stat().st_size  # to SQLite, a file of a single byte is an empty one
        return file.xRead(min(size, _HEADER_BYTES), 0), size
    finally:
        file.xClose()


def connect(path: Path | None, settings: Settings, *, read_only: bool, spills: bool = False) -> apsw.Connection:
    """Open a connection with the settings that every connection has.

    spills: what is in memory goes to disk where it is too large, to a file without a name, gone with the process.
    """
    check_openable(path)
    if path is None:
        connection = apsw.Connection("" if spills else ":memory:")
    elif read_only:
        uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_frozen(path) else ''}"
        connection = apsw.Connection(uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    else:
        create(path)
        connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    track(connection, path)
    connection.set_busy_timeout(int(settings.busy_timeout_s * 1000))
    connection.pragma("cache_size", -_CACHE_KIB)
    connection.pragma("temp_store", "memory")
    if not read_only:
        connection.pragma("page_size", _PAGE_BYTES)
        connection.pragma("secure_delete", True)
        connection.pragma("foreign_keys", True)
        connection.pragma("synchronous", settings.durability)
        connection.pragma("journal_size_limit", _WAL_KEPT_BYTES)
    return connection


def create(path: Path) -> None:
    """Make an empty file for its owner alone, if there is none; SQLite gives what it puts beside it the same mode.

    One at a time, and for everybody who is about to connect: to close the file would drop the locks that another
    thread has on it by then. What can't be made, SQLite says better.
    """
    with _creating, contextlib.suppress(OSError):
        os.close(open_private(path, os.O_RDWR | os.O_EXCL))


def is_frozen(path: Path) -> bool:
    """Tell a file that SQLite can't watch: without a log beside it, and no right to make one."""
    return not Path(f"{path}-wal").exists() and not os.access(path.parent, os.W_OK)


_IN_OUR_WORDS: tuple[tuple[type[apsw.Error], type[EverywordError]], ...] = (
    (apsw.ConnectionClosedError, Closed),
    (apsw.FullError, StoreFull),
    (apsw.ReadOnlyError, StoreReadOnly),
    (apsw.PermissionsError, StoreReadOnly),
    (apsw.BusyError, StoreBusy),
    (apsw.LockedError, StoreBusy),
    (apsw.CantOpenError, BadLocation),
    (apsw.NotADBError, ForeignFile),
    (apsw.CorruptError, StoreCorrupt),
)


@contextmanager
def translated_errors() -> Generator[None]:
    """Turn a driver's error into one of ours."""
    try:
        yield
    except EverywordError:
        raise
    except apsw.Error as error:
        for theirs, ours in _IN_OUR_WORDS:
            if isinstance(error, theirs):
                raise ours(f"{(ours.__doc__ or '').strip()} (SQLite: {error})") from error
        raise StoreError(f"The store could not do this; nothing was changed. (SQLite: {error})") from error
    except MemoryError as error:
        raise StoreError("There is not enough memory for this; nothing was changed.") from error


class _Open:
    """What this process has open."""

    def __init__(self) -> None:
        self.stores: WeakSet[SqliteStore] = WeakSet()
        self.connections: WeakKeyDictionary[apsw.Connection, Inode | None] = WeakKeyDictionary()
        self.lock_files: set[int] = set()
        # Inherited from the parent, and unsafe to touch here:
        self.refused: frozenset[Inode] = frozenset()
        self.refuses_all = False


_open = _Open()


def in_use(store: SqliteStore | None) -> AbstractContextManager[None]:
    """Keep the process from forking while connections are used. None: connections that end with the block."""
    return forking.in_use(STORE, store)


def register(store: SqliteStore) -> None:
    """Have a store's connections closed before each fork."""
    _open.stores.add(store)


def track(connection: apsw.Connection, path: Path | None) -> apsw.Connection:
    """Note what a new connection has open (None: no file)."""
    _open.connections[connection] = None if path is None else inode_of(path)
    return connection


def track_lock_file(fd: int) -> int:
    """Note a lock file that a child must let go of."""
    _open.lock_files.add(fd)
    return fd


def forget_lock_file(fd: int) -> None:
    """Note that a lock file is about to be closed."""
    _open.lock_files.discard(fd)


def check_openable(path: Path | None) -> None:
    """Refuse a file that the parent had open when it forked this process, where that could not be avoided."""
    check_process()
    if _open.refuses_all or (path is not None and inode_of(path) in _open.refused):
        raise StoreForked(
            f"{path or 'A store'} can't be opened in this process: it was forked in the middle of using a memory.",
            fix="Fork when no thread uses one, or start processes with multiprocessing's spawn or forkserver.",
        )


def _before(uses: Sequence[Use]) -> None:
    uses = [use for use in uses if use.part == STORE]
    if not all(use.here for use in uses):
        return
    used = [use.what for use in uses]
    for store in list(_open.stores):
        if not any(store is one for one in used):
            with contextlib.suppress(Exception):  # what stays open is abandoned in the child
                store.disconnect()


def _in_child(uses: Sequence[Use]) -> None:
    global _open
    parents, _open = _open, _Open()
    left = [(connection, inode) for connection, inode in parents.connections.items() if _is_open(connection)]
    for connection, _ in left:
        _abandon(connection)
    # A thread that is gone now may have held one of SQLite's own locks, which nobody releases any more.
    _open.refuses_all = parents.refuses_all or any(use.part == STORE and not use.here for use in uses)
    _open.refused = parents.refused | {inode for _, inode in left if inode is not None}
    # The system's lock stays with the parent's copy of the file; with ours too, it would outlive the parent.
    for fd in parents.lock_files:
        with contextlib.suppress(OSError):
            os.close(fd)


def _is_open(connection: apsw.Connection) -> bool:
    try:
        return connection.in_transaction in (True, False)
    except apsw.ConnectionClosedError:
        return False
    except apsw.Error:  # a thread was in the middle of using it
        return True


def _abandon(connection: apsw.Connection) -> None:
    """Have a connection refuse every statement, and never close it, not even when the interpreter ends."""
    never_free(connection)
    with contextlib.suppress(apsw.Error):  # a thread was in the middle of using it: SQLite refuses by itself
        connection.exec_trace = _refuse
        connection.row_trace = _refuse


def _refuse(*_: Any) -> bool:
    raise StoreForked


forking.on_fork(before=_before, in_child=_in_child)
