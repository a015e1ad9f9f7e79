"""Retry calls that the server interrupted, and wait for a server that is still starting.

`again` is the one place that retries interrupted transactions. A public method is retried as a whole, or, where it
commits in several steps, step by step; an `again` inside another one only calls its work. Each has one time budget: a
server that keeps interrupting is given up after `busy_timeout_s`.

Waiting for a lock or a connection is not a retry: the stores do that, once, and raise `StoreBusy` or
`StoreUnreachable`, which are not retried here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from everyword.errors import StoreInterrupted, StoreUnreachable

if TYPE_CHECKING:
    from everyword.engine.engine import Engine

T = TypeVar("T")

_FIRST_PAUSE_S = 0.02  # two writers that deadlocked rarely meet again after this
_LONGEST_PAUSE_S = 1.0
_CONNECT_PAUSE_S = 0.5  # between attempts to reach a server that is not there yet


class _Retrying(threading.local):
    """The engine whose interruptions this thread retries now, and commits that a retry may repeat."""

    engine: Engine | None = None
    repeatable: int = 0


_retrying = _Retrying()


def again(engine: Engine, work: Callable[[], T], *, resumes: bool = False) -> T:
    """Call `work` until the server does not interrupt it, or until the time budget is spent.

    Work that has committed something is not started again, unless it `resumes`: it then continues where it stopped,
    and each commit renews the budget.
    """
    if _retrying.engine is engine:
        return work()
    around, _retrying.engine = _retrying.engine, engine
    try:
        return _until_done(engine, work, resumes=resumes)
    finally:
        _retrying.engine = around


def repeatable(engine: Engine, work: Callable[[], T]) -> T:
    """Call `work`, whose commits do not keep the work around it from being retried: doing it twice is harmless."""
    before = engine.store.commits
    try:
        return work()
    finally:
        _retrying.repeatable += engine.store.commits - before


def _until_done(engine: Engine, work: Callable[[], T], *, resumes: bool) -> T:
    deadline, pause_s = None, _FIRST_PAUSE_S
    committed = _commits(engine)
    while True:
        try:
            return work()
        except StoreInterrupted:
            now, progressed = time.monotonic(), _commits(engine) != committed
            if progressed and not resumes:
                raise
            if deadline is None or progressed:
                deadline, pause_s = now + engine.settings.busy_timeout_s, _FIRST_PAUSE_S
            else:
                pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)
            if now + pause_s > deadline:
                raise
        committed = _commits(engine)
        time.sleep(pause_s)


def _commits(engine: Engine) -> int:
    return engine.store.commits - _retrying.repeatable


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
