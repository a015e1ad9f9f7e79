"""Working for others: any number of processes, on any number of machines, share the work that waits in a store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from recollect.core.errors import InvalidInput, StoreBusy, StoreInterrupted, StoreUnreachable
from recollect.engine.engine import Engine, silent
from recollect.engine.upkeep import settle
from recollect.store.working import Workplace

Told = Callable[[str, int], None]  # a space, and how much was done for it

_LOOK_S = 5.0  # between looks for work that nobody announced: retries that have become due
_LEFT_ALONE_S = 30.0  # a space whose work can't be done here now: a model fails, or another worker's LLM is needed
_BROKEN_OFF_S = 0.1  # before the next try when two workers met, or a connection was cut
_SERVER_AWAY_S = 1.0  # between tries while the server is away


def work(engine: Engine, *, stop: threading.Event, once: bool, told: Told) -> int:
    """Do the work that waits, a space at a time, until told to stop or, once, until none is left; count it."""
    place = engine.store
    if not isinstance(place, Workplace):
        raise InvalidInput("A file has no workers: whoever opens it does its work.", fix="Run: recollect settle")
    total = 0
    idle_until: dict[str, float] = {}
    while not stop.is_set():
        try:
            now = time.monotonic()
            idle_until = {space: until for space, until in idle_until.items() if until > now}
            space, done = _one(engine, place, idle_until)
            if space is None:
                if once:
                    break
                place.wait_for_work(_LOOK_S)
            elif done:
                total += done
                told(space, done)
            else:
                idle_until[space] = now + _LEFT_ALONE_S
        except StoreInterrupted:
            stop.wait(_BROKEN_OFF_S)  # what was begun is taken again, by this worker or another
        except (StoreUnreachable, StoreBusy):
            if once:
                raise
            stop.wait(_SERVER_AWAY_S)
    return total


def _one(engine: Engine, place: Workplace, idle_until: dict[str, float]) -> tuple[str | None, int]:
    with place.owed(now=engine.now(), but=sorted(idle_until)) as space:
        if space is None:
            return None, 0
        # What was loaded is handed on: a model must not be loaded for each space.
        of_one = replace(engine, store=place.only(space), llm_spec=engine.llm, reranker_spec=engine.reranker)
        return space, settle(of_one, silent)
