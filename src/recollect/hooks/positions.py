"""What hooks note between two runs: how far each transcript is saved, and which sessions are owed their beginning.

A small file for each, so that no session waits for another.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast
from zlib import crc32

from recollect.core.private import make_private_folder, private_opener

_FOLDER = "saved"
_OWED = "owed-"
_KEPT_S = 60 * 24 * 3600  # then agents have long removed the transcript themselves


def read(home: str, transcript: str) -> dict[str, Any]:
    """Tell where reading goes on; empty where nothing is known, or the transcript was begun anew."""
    position = _load(_path(home, transcript)).get("position")
    if not isinstance(position, dict):
        return {}
    known = cast("dict[str, Any]", position)
    try:
        shorter = os.path.getsize(transcript) < int(known.get("byte", 0))
    except (OSError, ValueError, TypeError):
        return {}
    return {} if shorter else known


def write(home: str, transcript: str, position: Mapping[str, Any], format: str) -> None:
    """Note how far a transcript is saved, all or nothing."""
    path = _path(home, transcript)
    make_private_folder(os.path.dirname(path))
    new = f"{path}.{os.urandom(4).hex()}"  # of this call alone: threads of one process save one transcript too
    with open(new, "w", encoding="utf-8", opener=private_opener) as file:
        json.dump({"transcript": transcript, "format": format, "position": dict(position)}, file)
    os.replace(new, path)


def unsaved(home: str) -> Iterator[tuple[str, str]]:
    """Find transcripts that have grown since they were saved: their sessions ended without a hook. Drop old notes."""
    folder = os.path.join(home, _FOLDER)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        known = _load(path)
        transcript = str(known.get("transcript", ""))
        with suppress(OSError):
            if time.time() - os.path.getmtime(path) > _KEPT_S:
                os.remove(path)
            elif os.path.getsize(transcript) > int(cast("Any", known.get("position") or {}).get("byte", 0)):
                yield transcript, str(known.get("format", "claude-code"))


def owe(home: str, session: str) -> None:
    """Note that a session began without being told what an agent should know."""
    path = _owed(home, session)
    make_private_folder(os.path.dirname(path))
    with open(path, "w", encoding="utf-8", opener=private_opener) as file:
        file.write("{}")


def is_owed(home: str, session: str) -> bool:
    """Tell whether that is so."""
    return os.path.exists(_owed(home, session))


def settle(home: str, session: str) -> None:
    """Note that it was told."""
    with suppress(OSError):
        os.remove(_owed(home, session))


def count(home: str) -> int:
    """Count the transcripts that are known."""
    folder = os.path.join(home, _FOLDER)
    return sum(not name.startswith(_OWED) for name in os.listdir(folder)) if os.path.isdir(folder) else 0


def _owed(home: str, session: str) -> str:
    return os.path.join(home, _FOLDER, f"{_OWED}{crc32(session.encode('utf-8', 'replace')):08x}")


def _path(home: str, transcript: str) -> str:
    # Transcripts are named by their session's id; the sum tells folders apart, and is cheaper to import than a hash.
    whole = os.path.abspath(transcript)
    return os.path.join(home, _FOLDER, f"{os.path.basename(whole)[-80:]}-{crc32(os.fsencode(whole)):08x}.json")


def _load(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            given: Any = json.load(file)
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}
