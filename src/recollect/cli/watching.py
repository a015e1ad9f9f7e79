"""`recollect import --watch`: follow files and folders until somebody says stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from recollect.cli import render
from recollect.cli.terminal import Terminal
from recollect.core.errors import RecollectError
from recollect.core.values import Imported
from recollect.memory import Memory
from recollect.serial import plain

_LISTEN_S = 1.0  # where a signal does not end a wait, it is heard after this long


def watch(memory: Memory, arguments: dict[str, Any], terminal: Terminal) -> int:
    """Follow each path in a thread of its own; give the exit code when told to stop."""
    paths: list[str] = arguments["path"]
    options: dict[str, Any] = {name: value for name, value in arguments.items() if name not in ("path", "again")}
    for path in paths if arguments.get("again") else ():
        memory.import_events(path, again=True, **options)
    stop, showing = threading.Event(), threading.Lock()
    failed: list[RecollectError] = []

    def follow(path: str) -> None:
        try:
            for found in memory.follow(path, stop=stop, **options):
                with showing:
                    _show(terminal, path, found)
        except RecollectError as error:
            failed.append(error)
            stop.set()

    threads = [threading.Thread(target=follow, args=(path,), name=f"recollect-watch-{path}") for path in paths]
    with _told_to(stop):
        for thread in threads:
            thread.start()
        terminal.note(f"Watching {', '.join(paths)}; stop with Ctrl-C.")
        while not stop.wait(_LISTEN_S):
            pass
        for thread in threads:  # a batch that is being stored is finished first
            thread.join()
    if failed:
        raise failed[0]
    return 0


@contextmanager
def _told_to(stop: threading.Event) -> Generator[None]:
    """Let Ctrl-C and SIGTERM ask for the end instead of bringing it about."""

    def ask(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, theirs in before.items():
            signal.signal(number, theirs)


def _show(terminal: Terminal, path: str, found: Imported | RecollectError) -> None:
    if isinstance(found, RecollectError):
        terminal.error(found)
    elif terminal.json_wanted:
        terminal.document({"path": path, "imported": plain(found)})
    else:
        render.imported(terminal.page, found)
    terminal.flush()
