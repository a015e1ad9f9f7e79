"""The turn to write: whoever stops waiting for it, for whatever reason, stands in nobody's way."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.core.errors import StoreBusy
from recollect.store.sqlite.turn import Turn

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
        if thread.name == "recollect-turn":
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
