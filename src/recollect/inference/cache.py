"""A folder of things that can be made again: checks that passed, graphs that were optimised.

Nothing here may fail a caller. Without a writable cache everything works, only the first call is slower.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from recollect.core.private import FILE_MODE, make_private_folder


def cache_folder(part: str) -> Path | None:
    """Give the user's cache folder for one kind of thing, made if need be; None where there can't be one."""
    # Imported here: a process that only shows --help should not pay for it.
    from platformdirs import user_cache_path

    try:
        folder = user_cache_path("recollect", appauthor=False) / part
        make_private_folder(folder)
    except (OSError, RuntimeError):
        return None
    return folder


def is_trusted(path: Path, as_what: str) -> bool:
    """Tell whether this very file (path, size, time of change) was trusted before as what it should be."""
    try:
        mark = _mark(path, as_what)
        return mark is not None and mark.exists()
    except OSError:
        return False


def trust(path: Path, as_what: str) -> None:
    """Remember that this very file is what it should be."""
    with contextlib.suppress(OSError):
        mark = _mark(path, as_what)
        if mark is not None:
            mark.touch(FILE_MODE)


def _mark(path: Path, as_what: str) -> Path | None:
    folder = cache_folder("trusted")
    if folder is None:
        return None
    stat = path.stat()
    facts = f"{os.path.abspath(path)}\n{stat.st_size}\n{stat.st_mtime_ns}\n{as_what}"
    return folder / hashlib.sha256(facts.encode("utf-8", "surrogateescape")).hexdigest()[:32]
