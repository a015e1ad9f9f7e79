"""Patience with a server: what it broke off is done again, as long as nothing of it was kept, and it may start late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from recollect.core.errors import StoreInterrupted, StoreUnreachable

if TYPE_CHECKING:
    from recollect.engine.engine import Engine

T = TypeVar("T")

_FIRST_PAUSE_S = 0.02  # two writers that met will not meet again
_LONGEST_PAUSE_S = 1.0
_BETWEEN_KNOCKS_S = 0.5  # at the door of a server that is not there yet


def again(engine: Engine, work: Callable[[], T], *, resumes: bool = False) -> T:
    """Do something until it is done, or until busy_timeout_s have passed since it was first broken off.

    What had written something already is not begun anew, unless it says that it goes on where it stopped.
    """
    deadline: float | None = None
    pause_s = _FIRST_PAUSE_S
    while True:
        before = engine.store.commits
        try:
            return work()
        except StoreInterrupted:
            now = time.monotonic()
            deadline = deadline or now + engine.settings.busy_timeout_s
            if now + pause_s > deadline or (engine.store.commits != before and not resumes):
                raise
        time.sleep(pause_s)
        pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)


def when_there(opened: Callable[[], T], *, within_s: float, stop: threading.Event) -> T | None:
    """Open what is on a server that may not be there yet; give None where told to stop meanwhile.

    Only that nobody answers is waited out: a wrong password stays wrong.
    """
    deadline = time.monotonic() + within_s
    while not stop.is_set():
        try:
            return opened()
        except StoreUnreachable:
            if time.monotonic() + _BETWEEN_KNOCKS_S > deadline:
                raise
        stop.wait(_BETWEEN_KNOCKS_S)
    return None
