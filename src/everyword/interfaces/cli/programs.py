"""`everyword migrate` and `everyword worker`, which parse their own command lines."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import closing

from everyword.engine.retry import when_there
from everyword.errors import InvalidInput, StoreUnreachable
from everyword.interfaces.cli.terminal import Terminal, progress
from everyword.memory import Memory
from everyword.settings import Settings
from everyword.storage.copy import copy_store
from everyword.storage.opening import open_store

_WAIT_FOR_SERVER_S = 60.0  # both may start together; after that, a supervisor may restart us


def migrate(arguments: Sequence[str], terminal: Terminal) -> int:
    """Copy a memory; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="everyword migrate",
        description="Copy a whole memory into an empty one, such as from a file to PostgreSQL or back. It can be "
        "interrupted and run again. All rows are compared at the end. The source is not changed.",
        allow_abbrev=False,
    )
    parser.add_argument("source", metavar="FROM", help="a path, or postgresql://...")
    parser.add_argument("target", metavar="TO", help="a path, or postgresql://...; empty, or an interrupted copy")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    parsed = parser.parse_args(arguments)
    with (
        closing(open_store(parsed.source, Settings(), create=False)) as old,
        closing(open_store(parsed.target, Settings(), unfinished=True)) as new,
        progress(terminal, "migrate") as report,
    ):
        copied = copy_store(old, new, report)
        source, target = old.location, new.location
    if terminal.json_wanted:
        terminal.document({"rows": copied.rows, "tables": dict(copied.tables), "resumed": copied.resumed})
    else:
        resumed = " (resumed an interrupted copy)" if copied.resumed else ""
        terminal.page.line(f"copied {copied.rows:,} rows from {source} to {target}{resumed}; all compared")
    return 0


def worker(arguments: Sequence[str], terminal: Terminal) -> int:
    """Run queued work until told to stop; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="everyword worker",
        description="Run the queued work of a memory on PostgreSQL (vectors, statements, LLM readings), one space at "
        "a time. Start as many workers as you like, on any machine: one works on a space at a time.",
        allow_abbrev=False,
    )
    parser.add_argument("--memory", metavar="LOCATION", help="postgresql://... (default: EVERYWORD_MEMORY)")
    parser.add_argument("--embedder", metavar="NAME", help="the model (default: EVERYWORD_EMBEDDER, or the memory's)")
    parser.add_argument("--llm", metavar="NAME", help="an LLM that reads events (default: EVERYWORD_LLM)")
    parser.add_argument("--once", action="store_true", help="stop when no work is left")
    parsed = parser.parse_args(arguments)
    location = parsed.memory or os.environ.get("EVERYWORD_MEMORY")
    if not location:
        raise InvalidInput("No memory given.", fix="Give --memory postgresql://... or set EVERYWORD_MEMORY.")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())

    def open_memory() -> Memory:
        return Memory.open(
            location,
            embedder=parsed.embedder or os.environ.get("EVERYWORD_EMBEDDER"),
            llm=parsed.llm or os.environ.get("EVERYWORD_LLM"),
            create=False,
        )

    memory = _open_or_wait(open_memory, parsed.once, stop, terminal)
    if memory is None:  # told to stop before the server answered
        return 0
    with memory:
        terminal.note(f"working on {memory.location}")
        done = memory.admin.work(
            once=parsed.once, stop=stop, on_done=lambda space, count: terminal.note(f"{space}: {count:,} done")
        )
    terminal.page.line(f"done: {done:,}")
    return 0


def _open_or_wait(
    open_memory: Callable[[], Memory], once: bool, stop: threading.Event, terminal: Terminal
) -> Memory | None:
    try:
        return open_memory()
    except StoreUnreachable as error:
        if once:
            raise
        terminal.note(f"waiting for the server, {_WAIT_FOR_SERVER_S:g} s at most: {error}")
    return when_there(open_memory, within_s=_WAIT_FOR_SERVER_S, stop=stop)
