"""Track the memory files that this process has open: nothing but their store may open them here.

On POSIX, closing any descriptor of a file releases all locks that the process holds on it. Reading an open memory as a
plain file would thereby release SQLite's locks, which keep two processes from writing at once. SQLite minds that among
its own connections. Everybody else who opens a file that a user named asks here first; a file is known by where it is
on the disk, whatever it is called by. A database of another program that somebody here has open is read, and stays open
to us for as long as it is to them.
"""

from __future__ import annotations

import io
import os
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from weakref import WeakSet

from everyword.errors import InvalidInput, StoreBusy

_BESIDE = ("-wal", "-shm", "-journal", "-lock")  # what the store keeps beside a memory; some of it comes and goes

_DATABASE = b"SQLite format 3\x00"  # how one begins
_INDEX = (3007000).to_bytes(4, "little")  # of a log, as it begins on nearly every machine: there its locks are
_OPEN_HERE = "/dev/fd"  # where a system tells what a process has open

Inode = tuple[int, int]

_changed = threading.Condition()
_open: WeakSet[Held] = WeakSet()
_read: Counter[Inode] = Counter()  # by others, just now
_lingering: list[io.FileIO] = []  # read, and not closed yet for the sake of whoever has them open


class Held:
    """A memory's files, for as long as its store has them open; none for a memory without a file."""

    def __init__(self, path: Path | None) -> None:
        self._files = [] if path is None else [path, *(path.with_name(path.name + ending) for ending in _BESIDE)]
        self._inodes: set[Inode] = set()

    def take(self, patience_s: float) -> None:
        """Keep others from what is there by now; wait for whoever is just reading it."""
        with _changed:
            _open.add(self)
            if not _changed.wait_for(lambda: not any(_read[one] for one in self.inodes()), patience_s):
                raise StoreBusy(f"{self._files[0]} is being read as a file in this process.")

    def inodes(self) -> set[Inode]:
        """Find what is there by now, and what was before, which may have been moved."""
        self._inodes |= self._there()
        return self._inodes

    def drop_gone(self) -> None:
        """Forget files that are not there any more, while none of them is open: their numbers are given to others."""
        with _changed:
            self._inodes &= self._there()

    def release(self) -> None:
        """Let others read them again."""
        with _changed:
            _open.discard(self)

    def _there(self) -> set[Inode]:
        return {inode for inode in map(inode_of, self._files) if inode is not None}


def is_held(path: Path) -> bool:
    """Tell a file that is, or stands beside, a memory open in this process."""
    # By its name too: what stands beside a memory may have been made since that was opened, and have moved with it.
    bases = [path.name.removesuffix(ending) for ending in _BESIDE if path.name.endswith(ending)]
    named = {inode_of(one) for one in (path, *(path.with_name(base) for base in bases if base))}
    with _changed:
        return any(not named.isdisjoint(memory.inodes()) for memory in list(_open))


@contextmanager
def read_beside(path: Path) -> Generator[None]:
    """Guard opening, reading and closing a file; one that is a memory open in this process is refused."""
    with _changed:
        if is_held(path):
            raise InvalidInput(
                f"{path} belongs to a memory that is open here, and can't be read as a file.",
                fix="Copy a memory with `backup`, or write its events with `export`.",
            )
        inode = inode_of(path)
        if inode is not None:
            _read[inode] += 1
    try:
        yield
    finally:
        if inode is not None:
            with _changed:
                _read[inode] -= 1
                if not _read[inode]:
                    del _read[inode]
                _changed.notify_all()


@contextmanager
def opened(path: Path) -> Generator[IO[bytes]]:
    """Open a file that a user named, for reading; nobody in this process loses a lock on it."""
    with read_beside(path):
        file = io.BufferedReader(_lingered(path) or io.FileIO(os.fspath(path)))
        try:
            yield file
        finally:
            _let_go(file.detach())


def _lingered(path: Path) -> io.FileIO | None:
    """Reuse a file that was kept open, so that repeated reads don't open more."""
    inode = inode_of(path)
    with _changed:
        for file in _lingering:
            if inode_of(file.fileno()) == inode:
                _lingering.remove(file)
                file.seek(0)
                return file
    return None


def _let_go(raw: io.RawIOBase) -> None:
    """Close a file and those whose close was deferred; a database that others here have open waits for them."""
    assert isinstance(raw, io.FileIO)
    with _changed:
        if not _may_have_locks(raw):
            raw.close()
        elif raw not in _lingering:
            _lingering.append(raw)
        for file in _lingering[:]:
            if not _is_open_elsewhere(file):
                file.close()
                _lingering.remove(file)


def _may_have_locks(file: io.FileIO) -> bool:
    if os.name == "nt":  # there a lock belongs to the handle that took it
        return False
    return os.pread(file.fileno(), len(_DATABASE), 0).startswith((_DATABASE, _INDEX))


def _is_open_elsewhere(file: io.FileIO) -> bool:
    inode, ours = inode_of(file.fileno()), {one.fileno() for one in _lingering}
    try:
        numbers = {int(name) for name in os.listdir(_OPEN_HERE)}
    except (OSError, ValueError):
        return True  # nobody tells: then it had better stay
    return any(inode_of(number) == inode for number in numbers - ours)


def inode_of(path: Path | int) -> Inode | None:
    """Tell where a file is on the disk; None if it can't be looked at."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _begin_anew() -> None:
    """Forget it all: locks are the process's own, and a forked child has none."""
    global _changed
    _changed = threading.Condition()
    _open.clear()
    _read.clear()
    _lingering.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
