"""Thread pools with fair queues: callers take turns, and within a caller its spaces do."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from recollect.core.errors import Overloaded

R = TypeVar("R")
Task = Callable[[], None]


class Lane:
    """A bounded thread pool with a round-robin queue.

    threads_of_a_key: how many threads one key may occupy at a time. With fewer than all, another key always finds a
    thread, however long the calls of the first one take.
    """

    def __init__(self, name: str, *, threads: int, most_waiting: int, threads_of_a_key: int | None = None) -> None:
        self.name = name
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"recollect-{name}")
        self._threads = threads
        self._threads_of_a_key = threads_of_a_key or threads
        self._most = threads + most_waiting
        self._changed = threading.Condition()
        self._queue = _FairQueue()
        self._running: Counter[str] = Counter()  # by key
        self._inside: Counter[str] = Counter()  # running or waiting, by key

    @property
    def inside(self) -> int:
        """Count the calls that run or wait."""
        return self._inside.total()

    def inside_of(self, key: str) -> int:
        """Count the calls of one key that run or wait."""
        return self._inside[key]

    async def run(self, call: Callable[[], R], *, key: str = "", space: str = "") -> R:
        """Run a call in a thread when its turn comes; refuse at once where too many wait."""
        future: Future[R] = Future()
        # Who asks, and which trace it belongs to, goes along.
        task = partial(_run, future, partial(contextvars.copy_context().run, call))
        with self._changed:
            if self.inside >= self._most:
                raise Overloaded
            self._inside[key] += 1
            self._queue.put(key, space, task)
            self._start_next()
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finish what runs and what waits, then end the threads."""
        with self._changed:
            self._changed.wait_for(lambda: self.inside == 0)
        self._pool.shutdown(wait=True)

    def _start_next(self) -> None:
        while self._running.total() < self._threads:
            taken = self._queue.take(lambda key: self._running[key] < self._threads_of_a_key)
            if taken is None:
                return
            key, task = taken
            self._running[key] += 1
            self._pool.submit(self._work, key, task)

    def _work(self, key: str, task: Task) -> None:
        try:
            task()
        finally:
            with self._changed:
                self._running[key] -= 1
                self._inside[key] -= 1
                self._running += Counter()  # drops keys at zero
                self._inside += Counter()
                self._start_next()
                self._changed.notify_all()


class _FairQueue:
    """Tasks by key and space. Keys take turns; so do the spaces of a key, so that many spaces are no advantage."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, OrderedDict[str, deque[Task]]] = OrderedDict()

    def put(self, key: str, space: str, task: Task) -> None:
        """Append a task to the queue of its key and space."""
        self._keys.setdefault(key, OrderedDict()).setdefault(space, deque()).append(task)

    def take(self, eligible: Callable[[str], bool]) -> tuple[str, Task] | None:
        """Take the task whose turn it is, of a key that may run one now; that key and space go to the end."""
        key = next((one for one in self._keys if eligible(one)), None)
        if key is None:
            return None
        spaces = self._keys.pop(key)
        space, tasks = spaces.popitem(last=False)
        task = tasks.popleft()
        if tasks:
            spaces[space] = tasks
        if spaces:
            self._keys[key] = spaces
        return key, task


def _run(future: Future[Any], call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # handed to whoever awaits the call
        future.set_exception(error)
