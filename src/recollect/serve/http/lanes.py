"""Lanes: bounded threads that requests take in the order of their arrival, so that nothing slow stops what is quick."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from recollect.core.errors import Overloaded

R = TypeVar("R")


class Lane:
    """Some threads and those who wait for them."""

    def __init__(self, name: str, *, threads: int, most_waiting: int) -> None:
        self.name = name
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"recollect-{name}")
        self._most = threads + most_waiting
        self._lock = threading.Lock()
        self.inside = 0  # at work or waiting

    async def run(self, call: Callable[[], R]) -> R:
        """Do something in a thread, when its turn comes; refuse at once where too many wait."""
        with self._lock:
            if self.inside >= self._most:
                raise Overloaded
            self.inside += 1
        # Who asks, and which trace it belongs to, goes along.
        task = partial(contextvars.copy_context().run, call)
        try:
            future = self._threads.submit(task)
        except BaseException:
            self._left()
            raise
        future.add_done_callback(lambda _: self._left())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finish what has begun and what waits."""
        self._threads.shutdown(wait=True)

    def _left(self) -> None:
        with self._lock:
            self.inside -= 1
