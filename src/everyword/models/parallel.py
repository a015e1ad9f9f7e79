"""Run a model on several inputs at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

MOST_THREADS = 4  # other work goes on beside


def each(work: Callable[[A], B], inputs: Sequence[A]) -> list[B]:
    """Call a function with each input, on several threads; the results are in the order of the inputs.

    The first call runs on this thread and loads the model. A load on another thread would wait for a fork in progress,
    which waits for this thread.
    """
    threads = min(os.cpu_count() or 1, MOST_THREADS, len(inputs) - 1)
    if threads < 2:
        return [work(one) for one in inputs]
    first, rest = work(inputs[0]), inputs[1:]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads, thread_name_prefix="everyword-model") as pool:
        try:
            running = [pool.submit(work, one) for one in rest]
        except RuntimeError:  # the interpreter is about to end, and starts no more threads
            return [first, *(work(one) for one in rest)]
        return [first, *(one.result() for one in running)]
