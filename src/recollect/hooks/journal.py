"""The hooks' own log: a hook may not trouble the agent with its errors, so they are written down here."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from recollect.core.private import open_private

FILE = "hooks.log"
_MOST_BYTES = 1 << 20  # then it becomes the old one, and the one before that goes


def note(home: str, what: str) -> None:
    """Write one line; a log that can't be written is no reason to fail."""
    path = os.path.join(home, FILE)
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {os.getpid()} {' '.join(what.split())[:2000]}\n"
    with suppress(OSError):
        if os.path.exists(path) and os.path.getsize(path) > _MOST_BYTES:
            os.replace(path, f"{path}.1")
        fd = open_private(path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, line.encode("utf-8", "replace"))
        finally:
            os.close(fd)


def last_errors(home: str, count: int) -> list[str]:
    """Read the latest lines about errors."""
    try:
        with open(os.path.join(home, FILE), encoding="utf-8", errors="replace") as file:
            return [line.rstrip() for line in file if " error: " in line][-count:]
    except OSError:
        return []
