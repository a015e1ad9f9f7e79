"""How far long work is: a bar on a terminal, a plain line every few seconds where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from recollect.cli.terminal import Terminal

Report = Callable[[str, int, int], None]  # what is being done, how much of it is done, of how much

_SECONDS_BETWEEN_LINES = 3.0


@contextmanager
def progress(terminal: Terminal, title: str) -> Generator[Report]:
    """Show progress on standard error for the `with` block."""
    if terminal.shows_bars:
        with _bar(terminal, title) as report:
            yield report
    else:
        yield _lines(terminal, title)


def _lines(terminal: Terminal, title: str) -> Report:
    due = time.monotonic() + _SECONDS_BETWEEN_LINES

    def report(what: str, done: int, total: int) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            terminal.progress(f"{title} {what}", done, total)
            due = now + _SECONDS_BETWEEN_LINES

    return report


@contextmanager
def _bar(terminal: Terminal, title: str) -> Generator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    console = Console(file=terminal.err, markup=False, highlight=False, emoji=False)
    with Progress(*columns, console=console, transient=True) as bar:

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(f"{title} {what}", total=None)
            bar.update(tasks[what], completed=done, total=max(done, total))

        yield report
