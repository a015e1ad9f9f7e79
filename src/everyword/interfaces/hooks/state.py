"""State of hooks between runs: how far each transcript is saved, which sessions still need their start, and the log.

Each transcript and session has a small file of its own, so that sessions do not wait for each other.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast
from zlib import crc32

from everyword.private_files import make_private_folder, open_private, private_opener

_FOLDER = "saved"
_OWED = "owed-"
_KEPT_S = 60 * 24 * 3600  # by then agents have removed the transcript
LOG_FILE = "hooks.log"
_MOST_LOG_BYTES = 1 << 20  # then the log is rotated


def read_position(home: str, transcript: str) -> dict[str, Any]:
    """Return where to continue reading; empty if unknown or if the transcript became shorter."""
    position = _load(_path(home, transcript)).get("position")
    if not isinstance(position, dict):
        return {}
    known = cast("dict[str, Any]", position)
    try:
        shorter = os.path.getsize(transcript) < int(known.get("byte", 0))
    except (OSError, ValueError, TypeError):
        return {}
    return {} if shorter else known


def write_position(home: str, transcript: str, position: Mapping[str, Any], format: str) -> None:
    """Store how far a transcript is saved, atomically."""
    path = _path(home, transcript)
    make_private_folder(os.path.dirname(path))
    new = f"{path}.{os.urandom(4).hex()}"  # unique: threads of one process may save one transcript
    with open(new, "w", encoding="utf-8", opener=private_opener) as file:
        json.dump({"transcript": transcript, "format": format, "position": dict(position)}, file)
    os.replace(new, path)


def unsaved_transcripts(home: str) -> Iterator[tuple[str, str]]:
    """List transcripts that have grown since they were saved, with their format. Remove old entries."""
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


def owe_start(home: str, session: str) -> None:
    """Note that a session started without its text."""
    path = _owed(home, session)
    make_private_folder(os.path.dirname(path))
    with open(path, "w", encoding="utf-8", opener=private_opener) as file:
        file.write("{}")


def is_start_owed(home: str, session: str) -> bool:
    """Tell whether a session still needs the text of its start."""
    return os.path.exists(_owed(home, session))


def clear_owed_start(home: str, session: str) -> None:
    """Note that a session got the text of its start."""
    with suppress(OSError):
        os.remove(_owed(home, session))


def count_transcripts(home: str) -> int:
    """Count the known transcripts."""
    folder = os.path.join(home, _FOLDER)
    return sum(not name.startswith(_OWED) for name in os.listdir(folder)) if os.path.isdir(folder) else 0


def _owed(home: str, session: str) -> str:
    return os.path.join(home, _FOLDER, f"{_OWED}{crc32(session.encode('utf-8', 'replace')):08x}")


def _path(home: str, transcript: str) -> str:
    # A transcript is named by its session id. The checksum tells folders apart; hashlib would be slow to import.
    whole = os.path.abspath(transcript)
    return os.path.join(home, _FOLDER, f"{os.path.basename(whole)[-80:]}-{crc32(os.fsencode(whole)):08x}.json")


def _load(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            document: Any = json.load(file)
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}


def log(home: str, what: str) -> None:
    """Append a line to the log; ignore failures."""
    path = os.path.join(home, LOG_FILE)
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {os.getpid()} {' '.join(what.split())[:2000]}\n"
    with suppress(OSError):
        if os.path.exists(path) and os.path.getsize(path) > _MOST_LOG_BYTES:
            os.replace(path, f"{path}.1")
        fd = open_private(path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, line.encode("utf-8", "replace"))
        finally:
            os.close(fd)


def last_errors(home: str, count: int) -> list[str]:
    """Return the last lines with errors."""
    try:
        with open(os.path.join(home, LOG_FILE), encoding="utf-8", errors="replace") as file:
            return [line.rstrip() for line in file if " error: " in line][-count:]
    except OSError:
        return []
