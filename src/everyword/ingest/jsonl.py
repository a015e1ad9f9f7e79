"""Write events as JSON Lines, one line per event: the file that `export` makes and `import` reads."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from everyword.errors import BadLocation
from everyword.private_files import private_opener
from everyword.settings import beside
from everyword.types.events import Event
from everyword.types.serialization import event_to_json


def write_events(path: Path, events: Iterable[Event]) -> int:
    """Write events to a new file atomically; return their number."""
    if path.exists():
        raise BadLocation(f"{path} exists already; an export never overwrites. Choose another name.")
    partial = beside(path)
    count = 0
    try:
        # ASCII, so that JSON escapes lone surrogates and they survive.
        with open(partial, "w", encoding="ascii", newline="\n", opener=private_opener) as file:
            for event in events:
                file.write(json.dumps(event_to_json(event)) + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise BadLocation(f"{path} can't be written ({error.strerror}).") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
    return count
