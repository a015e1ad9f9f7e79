"""Where the memory is if a command names none. A module of its own, since `everyword mcp` must start fast."""

from __future__ import annotations

import os

from everyword.errors import BadLocation
from everyword.private_files import make_private_folder
from everyword.settings import expanded, user_folder


def default_path(*, make_folder: bool = False) -> str:
    """Return EVERYWORD_MEMORY, or memory.db in the user's data folder."""
    named = os.environ.get("EVERYWORD_MEMORY")
    if named and "://" in named:
        return named
    location = expanded(named) if named else user_folder("data") / "memory.db"
    if make_folder:
        try:
            make_private_folder(location.parent)
        except OSError as error:
            raise BadLocation(f"Can't create the folder of {location} ({error.strerror}).") from error
    return str(location)
