"""The turn to write: whoever stops waiting for it, for whatever reason, stands in nobody's way."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from everyword import Memory
from everyword.errors import NoFileLocks, StoreBusy, StoreInterrupted
from everyword.storage.sqlite import SqliteStore
from everyword.storage.sqlite.write_lock import Turn

fcntl = pytest.importorskip("fcntl")  # on Windows, a lock belongs to the process


@contextmanager
def _held_elsewhere(path: Path) -> Iterator[None]:
    """Hold the lock as another process would: by a descriptor of its own."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(fd)


def _interrupted_soon() -> None:
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()


def _descriptors() -> int:
    return len(os.listdir("/dev/fd"))


def _waiters_left() -> None:
    for thread in threading.enumerate():
        if thread.name == "everyword-turn":
            thread.join(5)
            assert not thread.is_alive()


def test_an_interrupted_wait_leaves_the_turn_to_others(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    turn = Turn(path, 5)
    with _held_elsewhere(path):
        _interrupted_soon()
        with pytest.raises(KeyboardInterrupt), turn.taken():
            pass
    _waiters_left()
    with Turn(path, 0.2).taken():
        pass
    with turn.taken():
        pass
    turn.close()


def test_a_wait_that_was_given_up_leaves_no_descriptor_open(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    turn = Turn(path, 0.05)
    before = _descriptors()
    with _held_elsewhere(path):
        for _ in range(3):
            with pytest.raises(StoreBusy), turn.taken():
                pass
    _waiters_left()
    with turn.taken():
        pass
    turn.close()
    assert _descriptors() == before


def test_an_interrupted_thread_leaves_the_turn_to_the_threads_behind_it(tmp_path: Path) -> None:
    turn = Turn(tmp_path / "lock", 5)
    held, end = threading.Event(), threading.Event()

    def hold() -> None:
        with turn.taken():
            held.set()
            end.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    _interrupted_soon()
    with pytest.raises(KeyboardInterrupt), turn.taken():
        pass
    end.set()
    holder.join()
    with turn.taken():
        pass
    turn.close()


def test_a_forked_child_neither_keeps_nor_releases_the_turn(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    turn = Turn(path, 5)
    left, end = os.pipe(), os.pipe()
    with contextlib.ExitStack() as block:
        block.enter_context(turn.taken())
        child = os.fork()
        if child == 0:
            try:
                block.close()  # as a child does that leaves the block
                held = [os.readlink(f"/dev/fd/{one}") for one in os.listdir("/dev/fd") if _is_link(one)]
                os.write(left[1], b"no" if str(path) in held else b"ok")
                os.read(end[0], 1)
            finally:
                os._exit(0)
        assert os.read(left[0], 2) == b"ok"
        with pytest.raises(StoreBusy), Turn(path, 0.2).taken():
            pass
    with Turn(path, 0.2).taken():  # while the child lives
        pass
    turn.close()
    os.write(end[1], b".")
    os.waitpid(child, 0)
    for fd in (*left, *end):
        os.close(fd)


def _is_link(fd: str) -> bool:
    return os.path.islink(f"/dev/fd/{fd}")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO])
def test_a_file_system_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(_fd: int, _how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(NoFileLocks, match=rf"{errno.errorcode[number]}.*local disk"):
        Memory.open(tmp_path / "memory.db", embedder="hashing")
    assert os.listdir(tmp_path) == []  # nothing was begun
    with pytest.raises(NoFileLocks), Turn(tmp_path / "lock", 1).taken():
        pass


def test_locks_that_fail_while_waiting_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_fd: int, how: int) -> None:
        if how & fcntl.LOCK_NB:
            raise BlockingIOError(errno.EWOULDBLOCK, "busy")
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    turn = Turn(tmp_path / "lock", 5)
    with pytest.raises(NoFileLocks, match="ENOLCK"), turn.taken():
        pass
    _waiters_left()
    turn.close()


# One time limit for a write


@contextmanager
def _locked_by_another_program(path: Path) -> Iterator[None]:
    """Lock the file as a program does that knows nothing of our turn; in a process of its own, as locks are."""
    program = (
        "import sqlite3, sys; file = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "file.execute('BEGIN IMMEDIATE'); print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == b"locked\n"
        yield
        one.kill()


def _seconds_of_a_refused_add(memory: Memory, error: type[Exception]) -> float:
    began = time.monotonic()
    with pytest.raises(error):
        memory.add("I like tea.")
    return time.monotonic() - began


def test_a_locked_file_is_busy_after_one_timeout(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="none", busy_timeout_s=1) as memory:
        memory.add("I like jazz.")
        with _held_elsewhere(Path(f"{path}-lock")):
            assert 0.9 < _seconds_of_a_refused_add(memory, StoreBusy) < 1.8
        with _locked_by_another_program(path):
            assert 0.9 < _seconds_of_a_refused_add(memory, StoreBusy) < 1.8
        assert memory.add("I like tea.").new


def test_our_turn_and_the_file_s_lock_share_one_timeout(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="none", busy_timeout_s=2) as memory:
        memory.add("I like jazz.")
        with _locked_by_another_program(path), contextlib.ExitStack() as turn:
            turn.enter_context(_held_elsewhere(Path(f"{path}-lock")))
            threading.Timer(1.4, turn.close).start()
            assert 1.9 < _seconds_of_a_refused_add(memory, StoreBusy) < 3.0  # two timeouts would take 3.4


def test_a_write_that_is_always_interrupted_is_retried_within_one_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []

    def interrupted(self: SqliteStore, *_: object, **__: object) -> None:
        tried.append(time.monotonic())
        raise StoreInterrupted

    with Memory.open(tmp_path / "memory.db", embedder="none", busy_timeout_s=1, background=False) as memory:
        memory.add("I like jazz.")
        for _ in range(2):  # the second call has a budget of its own
            tried.clear()
            with monkeypatch.context() as now:
                now.setattr(SqliteStore, "writer", interrupted)
                assert _seconds_of_a_refused_add(memory, StoreInterrupted) < 1.5
            assert 5 <= len(tried) <= 8
        assert memory.add("I like tea.").new
