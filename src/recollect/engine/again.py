"""Doing again what a server broke off, as long as nothing of it was kept: nothing is ever done twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from recollect.core.errors import StoreInterrupted

if TYPE_CHECKING:
    from recollect.engine.engine import Engine

T = TypeVar("T")

_FIRST_PAUSE_S = 0.02  # two writers that met will not meet again
_LONGEST_PAUSE_S = 1.0


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
