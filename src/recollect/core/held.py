"""Files that are memories open in this process, which nothing but their store may open here.

On POSIX, closing a file gives up every lock that the process has on it, whoever took them: to read an open memory like
any other file takes from SQLite the locks that keep two processes from writing at once. SQLite minds that among its own
connections. Everybody else who opens a file that a user named asks here first; a file is known by where it is on the
disk, whatever it is called by.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakSet

from recollect.core.errors import InvalidInput, StoreBusy

_BESIDE = ("-wal", "-shm", "-journal", "-lock")  # what the store keeps beside a memory; some of it comes and goes

Inode = tuple[int, int]

_changed = threading.Condition()
_open: WeakSet[Held] = WeakSet()
_held: Counter[Inode] = Counter()
_read: Counter[Inode] = Counter()  # by others, just now


class Held:
    """A memory's files, for as long as its store has them open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pid = os.getpid()
        self._inodes: set[Inode] = set()

    def take(self, patience_s: float) -> None:
        """Keep others from what is there by now; wait for whoever is just reading it."""
        with _changed:
            new = self.note()
            if not _changed.wait_for(lambda: not any(_read[one] > 0 for one in new), patience_s):
                raise StoreBusy(f"{self._path} is being read as a file in this process.")

    def note(self) -> set[Inode]:
        """Note what is there by now; give what is new of it."""
        beside = [self._path.with_name(self._path.name + ending) for ending in ("", *_BESIDE)]
        with _changed:
            _open.add(self)
            new = {inode for inode in map(_inode, beside) if inode is not None} - self._inodes
            self._inodes |= new
            _held.update(new)
            return new

    def release(self) -> None:
        """Let others read them again."""
        with _changed:
            _open.discard(self)
            if os.getpid() == self._pid:
                _held.subtract(self._inodes)
            self._inodes.clear()

    def __del__(self) -> None:
        """Do so for a store that nobody closed: its connections end with it."""
        self.release()


def is_held(path: Path) -> bool:
    """Tell a file that is, or stands beside, a memory open in this process."""
    # By its name too: what stands beside a memory may have been made since that was opened, and have moved with it.
    bases = [path.name.removesuffix(ending) for ending in _BESIDE if path.name.endswith(ending)]
    named = [path.with_name(base) for base in bases if base]
    with _changed:
        if _has_other_names(path):
            for memory in list(_open):
                memory.note()
        return any(inode is not None and _held[inode] > 0 for inode in map(_inode, [path, *named]))


@contextmanager
def read_beside(path: Path) -> Generator[None]:
    """Guard opening, reading and closing a file; one that is a memory open in this process is refused."""
    with _changed:
        if is_held(path):
            raise InvalidInput(
                f"{path} belongs to a memory that is open here, and can't be read as a file.",
                fix="backup() copies a memory, export() writes what it holds.",
            )
        inode = _inode(path)
        if inode is not None:
            _read[inode] += 1
    try:
        yield
    finally:
        if inode is not None:
            with _changed:
                _read[inode] -= 1
                if _read[inode] <= 0:
                    del _read[inode]
                _changed.notify_all()


def _has_other_names(path: Path) -> bool:
    try:
        return path.is_symlink() or path.stat().st_nlink > 1
    except (OSError, ValueError):
        return False


def _inode(path: Path) -> Inode | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _begin_anew() -> None:
    """Forget it all: locks are the process's own, and a forked child has none."""
    global _changed
    _changed = threading.Condition()
    _open.clear()
    _held.clear()
    _read.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
