"""Measuring: times as medians and tails, memory of this process, and tables of both."""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

console = Console(width=None if sys.stdout.isatty() else 120)


@dataclass(frozen=True)
class Times:
    """Times of one thing, in milliseconds."""

    p50: float
    p99: float
    cpu: float  # median processor time, which depends less on other load

    def __str__(self) -> str:
        return f"{self.p50:.1f} / {self.p99:.1f}"


def times(actions: list[Callable[[], object]], rounds: int) -> Times:
    """Run each action `rounds` times in turn, after one round that warms up."""
    taken: list[tuple[float, float]] = []
    gc.collect()
    for number in range(rounds + 1):
        for action in actions:
            begun, worked = time.perf_counter(), _processor_time()
            action()
            if number:
                taken.append((time.perf_counter() - begun, _processor_time() - worked))
    return times_of(taken)


def times_of(taken: Sequence[tuple[float, float]]) -> Times:
    """Sum up pairs of wall time and processor time, in seconds."""
    wall, cpu = 1e3 * np.array(taken).T
    return Times(float(np.median(wall)), float(np.quantile(wall, 0.99)), float(np.median(cpu)))


def _processor_time() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def resident_mb() -> float:
    """Tell the memory that this process holds now."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6
    except OSError:  # not Linux: the most it ever held
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def table(title: str, columns: list[str], rows: list[list[object]]) -> None:
    """Print a table."""
    shown = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        shown.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        shown.add_row(*map(str, row))
    console.print(shown)
