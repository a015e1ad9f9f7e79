"""Doing again what a server broke off. Writing is safe to repeat: events are known by ids that follow from them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from recollect.core.errors import StoreInterrupted
from recollect.engine.engine import Engine

T = TypeVar("T")

_FIRST_PAUSE_S = 0.02  # two writers that met will not meet again
_LONGEST_PAUSE_S = 1.0


def again(engine: Engine, work: Callable[[], T]) -> T:
    """Do something until it is done, or until it was broken off for as long as anybody waits for a turn."""
    deadline = time.monotonic() + engine.settings.busy_timeout_s
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return work()
        except StoreInterrupted:
            if time.monotonic() + pause_s > deadline:
                raise
        time.sleep(pause_s)
        pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)
