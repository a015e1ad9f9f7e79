"""The worker: any number of processes, on any number of machines, share the jobs that wait in a store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from everyword.engine.engine import Engine, silent
from everyword.errors import InvalidInput, StoreBusy, StoreInterrupted, StoreUnreachable
from everyword.jobs.upkeep import settle
from everyword.storage.protocol import Workplace

_POLL_S = 5.0  # between looks for jobs that no notification announces, such as retries
_SKIP_SPACE_S = 30.0  # when no job of a space can be done now: a model fails, or this worker lacks the LLM
_INTERRUPTED_S = 0.1  # before the next try after a conflict with another worker or a lost connection
_UNREACHABLE_S = 1.0  # between tries while the server is away


def work(engine: Engine, *, stop: threading.Event, once: bool, on_done: Callable[[str, int], None]) -> int:
    """Do waiting jobs, one space at a time, until `stop` is set; with `once`, until none is left. Count them.

    on_done: called with a space and the number of jobs that were done there.
    """
    place = engine.store
    if not isinstance(place, Workplace):
        raise InvalidInput(
            "Workers need a PostgreSQL memory. The jobs of a file are done by the process that opens it.",
            fix="Run: everyword settle",
        )
    total = 0
    skipped_until: dict[str, float] = {}
    while not stop.is_set():
        try:
            now = time.monotonic()
            skipped_until = {space: until for space, until in skipped_until.items() if until > now}
            space, done = _work_on_one_space(engine, place, skipped_until)
            if space is None:
                if once:
                    break
                place.wait_for_work(_POLL_S)
            elif done:
                total += done
                on_done(space, done)
            else:
                skipped_until[space] = now + _SKIP_SPACE_S
        except StoreInterrupted:
            stop.wait(_INTERRUPTED_S)  # this worker or another takes the same jobs again
        except (StoreUnreachable, StoreBusy):
            if once:
                raise
            stop.wait(_UNREACHABLE_S)
    return total


def _work_on_one_space(engine: Engine, place: Workplace, skipped: dict[str, float]) -> tuple[str | None, int]:
    with place.owed(now=engine.now(), but=sorted(skipped)) as space:
        if space is None:
            return None, 0
        # Pass loaded models on: loading them for each space would take seconds.
        of_one = replace(engine, store=place.only(space), llm_spec=engine.llm, reranker_spec=engine.reranker)
        return space, sum(settle(of_one, silent))
