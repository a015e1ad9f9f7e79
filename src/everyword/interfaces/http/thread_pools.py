"""Thread pools with fair queues: callers take turns, and so do the spaces of one caller."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from everyword.errors import Overloaded

R = TypeVar("R")
Task = Callable[[], Callable[[], None]]  # runs a call; returns what delivers its outcome


class Pool:
    """A bounded thread pool with a round-robin queue.

    threads_per_key: how many threads one key may occupy at a time. With fewer than all, other keys always find a
    thread, however long the calls of the first one take.
    """

    def __init__(self, name: str, *, threads: int, most_waiting: int, threads_per_key: int | None = None) -> None:
        self.name = name
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"everyword-{name}")
        self._threads = threads
        self._threads_per_key = threads_per_key or threads
        self._most_pending = threads + most_waiting
        self._changed = threading.Condition()
        self._queue = _FairQueue()
        self._running: Counter[str] = Counter()  # by key
        self._pending: Counter[str] = Counter()  # running or waiting, by key

    @property
    def pending(self) -> int:
        """Count the calls that run or wait."""
        return self._pending.total()

    def pending_of(self, key: str) -> int:
        """Count the calls of one key that run or wait."""
        return self._pending[key]

    async def run(self, call: Callable[[], R], *, key: str = "", space: str = "") -> R:
        """Run a call in a thread when its turn comes; refuse it at once if too many wait."""
        future: Future[R] = Future()
        # The context carries the caller and the trace into the thread.
        task = partial(_run, future, partial(contextvars.copy_context().run, call))
        with self._changed:
            if self.pending >= self._most_pending:
                raise Overloaded
            self._pending[key] += 1
            self._queue.put(key, space, task)
            self._start_next()
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finish all calls, then end the threads."""
        with self._changed:
            self._changed.wait_for(lambda: self.pending == 0)
        self._executor.shutdown(wait=True)

    def _start_next(self) -> None:
        while self._running.total() < self._threads:
            taken = self._queue.take(lambda key: self._running[key] < self._threads_per_key)
            if taken is None:
                return
            key, task = taken
            self._running[key] += 1
            self._executor.submit(self._work, key, task)

    def _work(self, key: str, task: Task) -> None:
        deliver = task()
        with self._changed:
            self._running[key] -= 1
            self._pending[key] -= 1
            self._running += Counter()  # drops keys at zero
            self._pending += Counter()
            self._start_next()
            self._changed.notify_all()
        deliver()  # last, so that a caller with its result is no longer counted


class _FairQueue:
    """Tasks by key and space. Keys take turns, and so do the spaces of a key: many spaces give no advantage."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, OrderedDict[str, deque[Task]]] = OrderedDict()

    def put(self, key: str, space: str, task: Task) -> None:
        """Append a task to the queue of its key and space."""
        self._keys.setdefault(key, OrderedDict()).setdefault(space, deque()).append(task)

    def take(self, eligible: Callable[[str], bool]) -> tuple[str, Task] | None:
        """Take the next task of an eligible key, and move that key and space to the end."""
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


def _run(future: Future[Any], call: Callable[[], Any]) -> Callable[[], None]:
    if not future.set_running_or_notify_cancel():
        return lambda: None
    try:
        result = call()
    except BaseException as error:  # raised where the call is awaited
        return partial(future.set_exception, error)
    return partial(future.set_result, result)
