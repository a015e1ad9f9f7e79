"""A fair write lock.

SQLite's own busy handler polls, so that with four eager writers two can starve for seconds. Here writers queue on a
lock file beside the memory: the operating system hands the lock on, and takes it back from a process that dies. Threads
of one process queue on a lock of their own first, because the system's lock belongs to the process.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from everyword.errors import NoFileLocks, StoreBusy, StoreReadOnly
from everyword.fair_semaphore import FairSemaphore
from everyword.private_files import open_private
from everyword.storage.sqlite.connect import forget_lock_file, in_use, track_lock_file

if sys.platform == "win32":
    import msvcrt

    _POLL_S = 0.005  # LockFile has no queue to wait in; short polls keep the shares even enough

    def _try_lock(fd: int) -> bool:
        try:
            os.lseek(fd, 0, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _wait_lock(fd: int) -> None:
        while not _try_lock(fd):
            time.sleep(_POLL_S)

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX)

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


class Turn:
    """The right to write, one holder at a time among all threads and processes.

    A lock belongs to the open lock file, which a forked child shares with its parent: a child never releases it.
    """

    def __init__(self, lock_path: Path | None, timeout_s: float) -> None:
        self._path = lock_path
        # The file whose lock file this is: who may write the one may lock the other.
        self._memory = None if lock_path is None else lock_path.with_name(lock_path.name.removesuffix("-lock"))
        self._pid = os.getpid()
        self._timeout_s = timeout_s
        self._threads = FairSemaphore()
        self._fd: int | None = None

    @contextmanager
    def taken(self, timeout_s: float | None = None) -> Generator[None]:
        """Hold the turn for the `with` block; threads and processes are waited for within one time limit."""
        deadline = time.monotonic() + (timeout_s or self._timeout_s)
        with self.taken_here(timeout_s):
            fd = self._locked_file(max(0.0, deadline - time.monotonic()))
            try:
                yield
            finally:
                if fd is not None and os.getpid() == self._pid:
                    _unlock(fd)

    @contextmanager
    def taken_here(self, timeout_s: float | None = None) -> Generator[None]:
        """Hold the turn among the threads of this process alone."""
        with self._threads.slot(timeout_s or self._timeout_s) as granted:
            if not granted:
                raise StoreBusy
            yield

    def close(self) -> None:
        """Let go of the lock file."""
        if self._fd is not None:
            _close(self._fd)
            self._fd = None

    def check_locks(self, *, new: bool) -> None:
        """Refuse a file system without locks before SQLite, which would take that for a file in use, and wait.

        new: also where there is no lock file yet. An old memory may have none because it is only read.
        """
        if self._path is None or not (new or self._path.exists()):
            return
        with self.taken_here():
            fd = self._opened(self._path)
            try:
                if self._tried(fd):
                    _unlock(fd)
            except NoFileLocks:
                self.close()
                if new:
                    self._path.unlink(missing_ok=True)
                raise

    def _locked_file(self, timeout_s: float) -> int | None:
        if self._path is None:
            return None
        fd = self._opened(self._path)
        if not self._tried(fd):
            self._wait(fd, timeout_s)
        return fd

    def _opened(self, path: Path) -> int:
        if self._fd is None:
            try:
                with in_use(None):
                    self._fd = track_lock_file(open_private(path, os.O_RDWR, like=self._memory))
            except OSError as error:
                raise StoreReadOnly(f"The lock file {path} can't be written ({error.strerror}).") from error
        return self._fd

    def _tried(self, fd: int) -> bool:
        try:
            return _try_lock(fd)
        except OSError as error:
            raise self._no_locks(error) from error

    def _no_locks(self, error: OSError) -> NoFileLocks:
        return NoFileLocks(
            f"{self._path} can't be locked ({errno.errorcode.get(error.errno or 0, 'error')}: {error.strerror}), so "
            "that two processes could write at once; nothing was changed.",
            fix="Move the memory to a local disk, turn on locking for this file system (on NFS: lockd), or use "
            "PostgreSQL.",
        )

    def _wait(self, fd: int, timeout_s: float) -> None:
        # The system's queue is fair but has no time limit, so a thread waits there for us and hands over.
        granted = threading.Event()
        given_up = threading.Event()
        handover = threading.Lock()
        failed: list[OSError] = []

        def wait() -> None:
            try:
                _wait_lock(fd)
            except OSError as error:
                failed.append(error)
            with handover:
                if not given_up.is_set():
                    granted.set()
                    return
                if not failed:
                    _unlock(fd)  # nobody wants this turn any more; to close it is not enough where a child has a copy
                _close(fd)

        threading.Thread(target=wait, name="everyword-turn", daemon=True).start()
        try:
            granted.wait(timeout_s)
        except BaseException:  # an interrupt, most likely: the turn must not come to somebody who has left
            with handover:
                if not granted.is_set():
                    self._leave_waiting(given_up)
                elif not failed:
                    _unlock(fd)
            raise
        with handover:
            if failed:
                raise self._no_locks(failed[0]) from failed[0]
            if granted.is_set():
                return
            self._leave_waiting(given_up)
        raise StoreBusy

    def _leave_waiting(self, given_up: threading.Event) -> None:
        # The waiting thread owns the descriptor from here on; the next try opens another.
        given_up.set()
        self._fd = None


def _close(fd: int) -> None:
    forget_lock_file(fd)
    os.close(fd)
