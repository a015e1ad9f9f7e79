"""Count what one `add` and one `recall` touch: files and functions of Everyword, SQL statements, time.

    python tools/profile_call.py [--events 200] [--embedder hashing]

The goals are in CONTRIBUTING.md. SQL statements are those that SQLite runs, transactions included.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import apsw

import everyword
from everyword import Memory

PACKAGE = str(Path(everyword.__file__).parent)


@dataclass
class Counts:
    """What a call touched."""

    files: set[str] = field(default_factory=set)
    functions: set[tuple[str, str]] = field(default_factory=set)
    statements: list[str] = field(default_factory=list)


_counts: Counts | None = None


def _trace_call(frame: FrameType, event: str, _argument: object) -> None:
    if event == "call" and _counts is not None and frame.f_code.co_filename.startswith(PACKAGE):
        name = frame.f_code.co_filename.removeprefix(PACKAGE + "/")
        _counts.files.add(name)
        _counts.functions.add((name, frame.f_code.co_qualname))


def _trace_statement(statement: dict[str, Any]) -> None:
    if _counts is not None and not statement.get("trigger"):
        _counts.statements.append(" ".join(statement["sql"].split()))


def _watch_connection(connection: apsw.Connection) -> None:
    connection.trace_v2(apsw.SQLITE_TRACE_STMT, _trace_statement)


def profiled(call: Callable[[], object]) -> tuple[Counts, float]:
    """Run a call twice: once for the counts, once for the time."""
    global _counts
    _counts = counts = Counts()
    threading.setprofile(_trace_call)
    sys.setprofile(_trace_call)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        _counts = None
    began = time.perf_counter()
    call()
    return counts, time.perf_counter() - began


def main() -> None:
    """Fill a new file, then profile a write and a question."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=200, help="events in the file before (default: 200)")
    parser.add_argument("--embedder", help="as Memory.open takes it (default: the default model)")
    parser.add_argument("--list", action="store_true", help="also list the files and statements")
    options = parser.parse_args()
    apsw.connection_hooks.append(_watch_connection)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "m.db", options.embedder, background=False) as memory,
    ):
        people = ("Ana", "Kofi", "Mei", "Tomas")
        memory.add_many(
            {"text": f"{people[n % 4]} told me about project {n % 17} and trip {n}.", "speaker": people[n % 3]}
            for n in range(options.events)
        )
        said = iter(range(10))

        def add() -> object:
            return memory.add(f"I moved to Lisbon in March, it took {next(said)} weeks.", speaker="Ana", session="s1")

        add()
        memory.recall("Where does Ana live?")
        for name, call in (("add", add), ("recall", lambda: memory.recall("Where does Ana live?"))):
            memory.admin.settle()  # what follows a write is not part of it
            counts, seconds = profiled(call)
            print(
                f"{name}: {len(counts.files)} files, {len(counts.functions)} functions, "
                f"{len(counts.statements)} SQL statements, {1000 * seconds:.1f} ms"
            )
            if options.list:
                print(*(f"  {one}" for one in sorted(counts.files)), sep="\n")
                print(*(f"  {one[:110]}" for one in counts.statements), sep="\n")


if __name__ == "__main__":
    main()
