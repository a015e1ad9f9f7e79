"""A task asked by several processes: each takes some of the stores, and one file gets all the rows."""

from __future__ import annotations

import multiprocessing
import queue
import time
from collections.abc import Mapping, Sequence
from typing import Any

from evals.errors import EvalError
from evals.results import ResultsFile
from evals.runner import Asking, Sent, finish
from evals.systems import open_system
from evals.terminal import Progress
from evals.values import Asked

_PATIENCE_S = 1.0  # between two looks whether a process that says nothing is still there
_SIZE = "size"

Waiting = Mapping[str, Sequence[Asked]]


def ask_among(count: int, sent: Sent, waiting: Waiting, file: ResultsFile, progress: Progress) -> None:
    """Divide what waits, and write what comes back as it comes."""
    begun = time.perf_counter()
    fresh = multiprocessing.get_context("spawn")  # a fork would share the parent's open files and threads
    rows: Any = fresh.Queue()
    workers = [fresh.Process(target=_work, args=(sent, part, rows)) for part in _divided(waiting, count)]
    for worker in workers:
        worker.start()
    try:
        size = _collected(workers, rows, file, progress, len(sent.chosen.task.questions))
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    finish(file, size, begun)


def _divided(waiting: Waiting, count: int) -> list[dict[str, Sequence[Asked]]]:
    """Give each process about as many questions as any other."""
    parts: list[dict[str, Sequence[Asked]]] = [{} for _ in range(min(count, len(waiting)))]
    for store in sorted(waiting, key=lambda store: -len(waiting[store])):
        least = min(parts, key=lambda part: sum(map(len, part.values())))
        least[store] = waiting[store]
    return parts


def _work(sent: Sent, part: Waiting, rows: Any) -> None:
    asking = Asking(sent)
    system = open_system(sent.system, sent.made)
    try:
        for store, questions in part.items():
            asking.one_store(system, store, questions, float("inf"), lambda kind, row: rows.put((kind, row)))
        rows.put((_SIZE, system.size_bytes() or 0))
    finally:
        system.close()


def _collected(workers: Sequence[Any], rows: Any, file: ResultsFile, progress: Progress, total: int) -> int:
    sizes: list[int] = []
    while len(sizes) < len(workers):
        try:
            kind, row = rows.get(timeout=_PATIENCE_S)
        except queue.Empty:
            if any(worker.exitcode for worker in workers):
                raise EvalError("A process ended before its questions were asked; the same command goes on.") from None
            continue
        if kind == _SIZE:
            sizes.append(row)
        else:
            file.write(kind, **row)
            progress(str(row["store"]), len(file.results.questions), total)
    return sum(sizes)
