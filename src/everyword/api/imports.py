"""Import a file or folder, once or for as long as somebody follows it, and export events to a file."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from everyword.api.arguments import checked_path
from everyword.api.scope import Scope
from everyword.engine.engine import Progress, silent
from everyword.errors import EverywordError
from everyword.private_files import new_file
from everyword.storage.open_files import is_held
from everyword.types.events import Event, Imported
from everyword.types.serialization import event_to_json
from everyword.types.times import zone_of

_YOUNG_S = 2.0  # since its last change: whoever writes may not have finished
LOOK_EVERY_S = 2.0  # between two looks at a folder: what is said is found in seconds, and looking costs little


class _Stopped(Exception):
    """Somebody said stop in the middle of a look; what was stored by then stays."""


def import_path(
    scope: Scope,
    path: str | os.PathLike[str],
    *,
    format: str | None,
    redact: str | None,
    tz: str,
    encode: bool,
    again: bool = False,
    progress: Progress = silent,
    waits: bool = False,
    tools: bool = True,
) -> Imported:
    """Recognise a file or folder, and import it in batches.

    waits: someone may still be writing; leave files alone that changed just now. tools: also what tools said.
    """
    # Imported here: a process that only asks should not pay for what reads files.
    from everyword.ingest.importers import recognise
    from everyword.ingest.importers.everyword_files import SPACE
    from everyword.ingest.importing import ImportOptions, import_source
    from everyword.ingest.redaction.redact import rules_of

    found = recognise(checked_path(path), format)
    found.source.notes[SPACE] = scope.space
    how = ImportOptions(
        wing=scope.wing,
        rules=rules_of(scope.engine.settings, redact),
        zone=zone_of(tz),
        encode=encode,
        again=again,
        skip_recent=waits,
        tools=tools,
    )
    try:
        return import_source(scope.engine, scope.space, found, how, progress=progress)
    finally:
        found.source.close()


def follow_path(
    path: str | os.PathLike[str], look: Callable[..., Imported], *, every_s: float, stop: threading.Event
) -> Iterator[Imported | EverywordError]:
    """Import what is there, and then again and again what is new, until `stop` is set. look: `import_path` of it."""
    looked = False
    left_out: Mapping[str, int] = {}

    def go_on(_what: str, _done: int, _total: int) -> None:
        if stop.is_set():
            raise _Stopped

    while not stop.is_set():
        try:
            done = look(progress=go_on, waits=True)
            if not looked or done.read or done.skipped != left_out:  # what can't be read is so at every look
                yield done
            looked, left_out = True, done.skipped
        except _Stopped:
            return
        except EverywordError as error:
            if looked:
                yield error
            elif not _is_empty(path) and not _is_being_written(path):
                raise
        stop.wait(every_s)


def _is_being_written(path: str | os.PathLike[str]) -> bool:
    """Tell whether something here changed just now: half a file can't be judged."""
    try:
        return any(time.time() - one.stat().st_mtime < _YOUNG_S for one in _there(path))
    except OSError:
        return True  # it went while we looked: things are moving


def _is_empty(path: str | os.PathLike[str]) -> bool:
    """Tell a folder in which nothing is yet."""
    return checked_path(path).is_dir() and not any(True for _ in _there(path))


def _there(path: str | os.PathLike[str]) -> Iterator[Path]:
    """List what could be imported: not a memory that is open here and lies in the same folder, always written to."""
    source = checked_path(path)
    return (one for one in (source.rglob("*") if source.is_dir() else [source]) if not is_held(one))


def write_events(path: Path, events: Iterable[Event]) -> int:
    """Write events to a new file atomically; return their number."""
    count = 0
    with new_file(path) as file:
        for event in events:
            # ASCII, so that JSON escapes lone surrogates and they survive.
            file.write(json.dumps(event_to_json(event)).encode("ascii") + b"\n")
            count += 1
    return count
