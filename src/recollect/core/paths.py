"""Paths as people write them, and the folders that every user has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from recollect.core.errors import BadLocation

_KEPT_CHARS = 50  # of a name: with what is put behind it, it must stay one that every system takes
_FIX = "Set HOME, or give the path in full."


def expanded(path: str | os.PathLike[str]) -> Path:
    """Write out whose home a ~ at the beginning means; not everybody has one, in a container for example."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise BadLocation(f"{os.fspath(path)} is in a home that is not known.", fix=_FIX) from error


def beside(target: Path) -> Path:
    """Name a file to be written in full before it takes the name of the target: one that nobody else writes to."""
    return target.with_name(f"{target.name[:_KEPT_CHARS]}.{os.urandom(4).hex()}.partial")


def user_folder(kind: Literal["data", "state"]) -> Path:
    """Tell where this user's programs keep what is theirs, in a folder of ours."""
    # Imported here: a process that is told where things are should not pay for it.
    from platformdirs import user_data_path, user_state_path

    try:
        return expanded((user_data_path if kind == "data" else user_state_path)("recollect", appauthor=False))
    except RuntimeError as error:
        raise BadLocation("This user's home is not known.", fix=_FIX) from error
