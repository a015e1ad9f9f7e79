"""What the commands say: lines, and progress as a bar on a terminal or a plain line every few seconds without one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_EVERY_S = 5.0


def say(line: str) -> None:
    """Write a line on stdout."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def complain(line: str) -> None:
    """Write a line on stderr."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class Progress(Protocol):
    """Takes in how far a run is."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


def silent(what: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def shown(title: str) -> Iterator[Progress]:
    """Show progress on stderr."""
    if not sys.stderr.isatty():
        yield _Lines(title)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    )  # fmt: skip
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(title, total=None)

        def show(what: str, done: int, total: int) -> None:
            bars.update(bar, description=f"{title} · {what}", completed=done, total=total)

        yield show


class _Lines:
    def __init__(self, title: str) -> None:
        self._title = title
        self._last = time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        if time.monotonic() - self._last >= _EVERY_S:
            self._last = time.monotonic()
            complain(f"{self._title}: {what}, {done} of {total} questions")
