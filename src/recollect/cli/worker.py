"""`recollect worker`: do the work that waits on a server, beside any number of other workers."""

from __future__ import annotations

import argparse
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from recollect.cli.terminal import Terminal
from recollect.core.errors import InvalidInput, RecollectError, StoreUnreachable
from recollect.engine.again import when_there

if TYPE_CHECKING:
    from recollect.memory import Memory

_SERVER_WITHIN_S = 60.0  # both may be started together; what started us may then start us again


def main(arguments: Sequence[str]) -> int:
    """Run a worker until it is told to stop; give the exit code."""
    parser = argparse.ArgumentParser(
        prog="recollect worker",
        description="Do the work that waits in a memory on PostgreSQL (vectors, artifacts, an LLM's reading), a space "
        "at a time. Start as many as you like, on any machine: each space is worked on by one of them.",
        allow_abbrev=False,
    )
    parser.add_argument("--memory", metavar="LOCATION", help="postgresql://... (default: RECOLLECT_MEMORY)")
    parser.add_argument("--embedder", metavar="NAME", help="the model (default: RECOLLECT_EMBEDDER, or the memory's)")
    parser.add_argument("--llm", metavar="NAME", help="an LLM that reads events (default: RECOLLECT_LLM)")
    parser.add_argument("--once", action="store_true", help="stop when no work is left")
    given = parser.parse_args(arguments)
    terminal = Terminal(json_wanted=False)
    try:
        return _work(given, terminal)
    except RecollectError as error:
        terminal.error(error)
        return error.exit_code
    finally:
        terminal.flush()


def _work(given: argparse.Namespace, terminal: Terminal) -> int:
    from recollect.memory import Memory

    location = given.memory or os.environ.get("RECOLLECT_MEMORY")
    if not location:
        raise InvalidInput("Say where the memory is.", fix="Give --memory postgresql://... or set RECOLLECT_MEMORY.")
    stop = threading.Event()
    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, lambda _sign, _frame: stop.set())

    def opened() -> Memory:
        return Memory.open(
            location,
            embedder=given.embedder or os.environ.get("RECOLLECT_EMBEDDER"),
            llm=given.llm or os.environ.get("RECOLLECT_LLM"),
            create=False,
        )

    memory = _opened(opened, given.once, stop, terminal)
    if memory is None:  # told to stop before its server was there
        return 0
    with memory:
        terminal.note(f"working at {memory.location}")
        done = memory.work(
            once=given.once, stop=stop, told=lambda space, count: terminal.note(f"{space}: {count:,} done")
        )
    terminal.page.line(f"done: {done:,}")
    return 0


def _opened(opened: Callable[[], Memory], once: bool, stop: threading.Event, terminal: Terminal) -> Memory | None:
    try:
        return opened()
    except StoreUnreachable as error:
        if once:
            raise
        terminal.note(f"waiting for the server, {_SERVER_WITHIN_S:g} s at most: {error}")
    return when_there(opened, within_s=_SERVER_WITHIN_S, stop=stop)
