"""A semaphore that serves waiting threads in order."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class FairSemaphore:
    """threading.Semaphore lets the thread that releases a slot take it again before a waiting thread wakes up."""

    def __init__(self, slots: int = 1) -> None:
        self._slots = slots
        self._changed = threading.Condition()
        self._queue: list[object] = []  # the first ones hold the slots

    @contextmanager
    def slot(self, timeout_s: float | None = None) -> Generator[bool]:
        """Hold one slot for the `with` block; False where none came free in time."""
        me = object()
        with self._changed:
            self._queue.append(me)
        try:
            with self._changed:
                granted = self._changed.wait_for(lambda: me in self._queue[: self._slots], timeout_s)
            yield granted
        finally:
            with self._changed:
                self._queue.remove(me)
                self._changed.notify_all()
