"""Keep SQLite safe across fork().

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
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import apsw

from everyword import fork_safety as forking
from everyword.errors import StoreForked
from everyword.fork_safety import STORE, Use, check_process, never_free
from everyword.storage.open_files import Inode, inode_of

if TYPE_CHECKING:
    from everyword.storage.sqlite.store import SqliteStore


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
