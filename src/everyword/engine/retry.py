"""Retry calls that the server interrupted, and wait for a server that is still starting.

`again` is the one place that retries interrupted transactions. Calls nest: `Memory.add` retries as a whole, and the
write inside it retries alone, because the call around it may have written something before. All of them share one time
budget per thread: a server that keeps interrupting is given up after `busy_timeout_s`, however deep the call is.

Waiting for a lock or a connection is not a retry: the stores do that, once, and raise `StoreBusy` or
`StoreUnreachable`, which are not retried here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from everyword.errors import StoreInterrupted, StoreUnreachable

if TYPE_CHECKING:
    from everyword.engine.engine import Engine
    from everyword.storage.protocol import Store

T = TypeVar("T")

_FIRST_PAUSE_S = 0.02  # two writers that deadlocked rarely meet again after this
_LONGEST_PAUSE_S = 1.0
_CONNECT_PAUSE_S = 0.5  # between attempts to reach a server that is not there yet


def again(engine: Engine, work: Callable[[], T], *, resumes: bool = False) -> T:
    """Call `work` until the server does not interrupt it, or until the thread's time budget is spent.

    Work that has committed something is not started again, unless it `resumes`: it then continues where it stopped.
    """
    with _budget.shared():
        while True:
            before = engine.store.commits
            try:
                return work()
            except StoreInterrupted:
                in_time = _budget.spend(engine.store, engine.settings.busy_timeout_s)
                if not in_time or (engine.store.commits != before and not resumes):
                    raise
            time.sleep(_budget.pause_s)


class _Budget(threading.local):
    """The time that the calls of one thread have left to retry. It starts at the first interruption."""

    def __init__(self) -> None:
        self._depth = 0
        self._reset()

    @contextmanager
    def shared(self) -> Generator[None]:
        """Enter a call; the outermost one ends the budget, an inner one that succeeds gives back what it spent."""
        entered_with = self._deadline, self.pause_s
        self._depth += 1
        try:
            yield
            self._deadline, self.pause_s = entered_with
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._reset()

    def spend(self, store: Store, budget_s: float) -> bool:
        """Choose the pause before the next attempt; return False where the budget does not allow one."""
        now = time.monotonic()
        progressed = store is self._store and store.commits != self._commits
        if self._deadline is None or progressed:
            self._deadline, self.pause_s = now + budget_s, _FIRST_PAUSE_S
        else:
            self.pause_s = min(_LONGEST_PAUSE_S, 2 * self.pause_s)
        self._store, self._commits = store, store.commits
        return now + self.pause_s <= self._deadline

    def _reset(self) -> None:
        self._deadline: float | None = None
        self.pause_s = _FIRST_PAUSE_S
        self._store: Store | None = None  # where the last interruption was, and how much had been committed there
        self._commits = 0


_budget = _Budget()


def when_there(opened: Callable[[], T], *, within_s: float, stop: threading.Event) -> T | None:
    """Open a store on a server that may still be starting; return None when told to stop meanwhile.

    Only an unreachable server is waited for: a wrong password stays wrong.
    """
    deadline = time.monotonic() + within_s
    while not stop.is_set():
        try:
            return opened()
        except StoreUnreachable:
            if time.monotonic() + _CONNECT_PAUSE_S > deadline:
                raise
        stop.wait(_CONNECT_PAUSE_S)
    return None
