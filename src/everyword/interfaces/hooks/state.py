"""What hooks keep in their home: settings, how far each transcript is saved, which sessions lack their start, the log.

Every hook imports this, so it imports little. Settings are a NamedTuple because dataclasses import `inspect`, which
would cost each hook 10 ms. Each transcript and session has a small file of its own, so that sessions do not wait for
each other.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zlib import crc32

from everyword.interfaces.hooks.agents import EVENTS
from everyword.interfaces.hooks.client import json_object
from everyword.private_files import make_private_folder, open_private, private_opener, replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from everyword.errors import InvalidSetting

FILE = "hooks.json"
_SWITCHES = ("inject_prompt", "resident", "save_tools")
_FOLDER = "saved"
_OWED = "owed-"
_KEPT_S = 60 * 24 * 3600  # by then agents have removed the transcript
LOG_FILE = "hooks.log"
_MOST_LOG_BYTES = 1 << 20  # then the log is rotated


# Settings


class HookSettings(NamedTuple):
    """The location of the memory, and what hooks do."""

    memory: str
    space: str | None = None
    embedder: str | None = None
    off: tuple[str, ...] = ()  # hooks that are switched off
    # Messages between two saves. Fewer messages start the model more often; with more, recall lags further behind the
    # running session. Nothing is lost either way: the agent's transcript has them, and the next hook saves them.
    save_every: int = 15
    # Tool calls are mostly files that are on disk anyway, and ten times as much text as the conversation.
    save_tools: bool = False
    inject_prompt: bool = True  # add a few cited lines to a prompt
    # Least calibrated probability that the memory holds an answer. Below it, lines distract more often than they help.
    confidence: float = 0.8
    prompt_tokens: int = 300
    start_tokens: int = 220  # at the start of a session: identity, what matters now, a heading and the fence
    redact: str | None = None  # what is removed before saving: "credentials", "personal" or "none"
    secret_patterns: str | None = None  # a file with patterns of secrets
    # Wings by the path of a project, where somebody chose another than its folder's name. Never modified.
    wings: dict[str, str] = {}  # noqa: RUF012
    resident: bool = True
    # Seconds after which a hook ends itself. A person notices a second; agents end a hook after ten or more.
    timeout_s: float = 1.0


def home_of(home: str | Path | None) -> Path:
    """Return the absolute folder of hooks, as given or by default."""
    from everyword.settings import expanded, user_folder  # only commands and plugins need them

    if home is None:
        home = os.environ.get("EVERYWORD_HOOKS_HOME") or user_folder("state") / "hooks"
    return expanded(home).absolute()


def load(home: str) -> HookSettings:
    try:
        with open(os.path.join(home, FILE), "rb") as file:
            document = json.load(file)
    except (OSError, ValueError) as error:
        raise _invalid(f"Hooks are not installed in {home} ({error}).", "Run: everyword hook install") from error
    return from_json(document)


def load_or_default(home: str) -> HookSettings:
    """Read the settings; without any, as after installing a plugin, use the memory of the command line."""
    if os.path.exists(os.path.join(home, FILE)):
        return load(home)
    from everyword.settings import default_path

    make_private_folder(home)
    return HookSettings(memory=default_path())


def from_json(document: Any) -> HookSettings:
    """Check settings: each must have the type of its default."""
    if not isinstance(document, dict):
        raise _invalid("The hook settings must be a JSON object.")
    fields = {name: value for name, value in cast("dict[str, Any]", document).items() if name in HookSettings._fields}
    if not isinstance(fields.get("memory"), str):
        raise _invalid("The hook settings name no memory.", "Run: everyword hook install")
    for name, value in fields.items():
        if not isinstance(value, _types(HookSettings._field_defaults.get(name))):
            raise _invalid(f"Invalid value {value!r} of the hook setting {name}.")
    return HookSettings(**fields)


def _types(default: object) -> tuple[type, ...]:
    if default is None:
        return (str, type(None))
    if isinstance(default, tuple):
        return (tuple, list)
    return (float, int) if isinstance(default, float) else (default.__class__,)


def save(home: str, settings: HookSettings) -> None:
    """Write the settings atomically."""
    path = os.path.join(home, FILE)
    try:
        make_private_folder(home)
        replace_file(path, json.dumps(settings._asdict(), indent=2).encode())
    except OSError as error:
        from everyword.errors import BadLocation

        fix = "Choose another folder with --home or EVERYWORD_HOOKS_HOME."
        raise BadLocation(f"{path} can't be written ({error.strerror}).", fix=fix) from error


def switched(settings: HookSettings, name: str, *, on: bool) -> HookSettings:
    """Return the settings with one switch changed."""
    if name in _SWITCHES:
        return settings._replace(**{name: on})
    if name not in EVENTS:
        raise _invalid(f"Unknown switch {name!r}.", f"Known: {', '.join((*EVENTS, *_SWITCHES))}.")
    return settings._replace(off=(*(one for one in settings.off if one != name), *(() if on else (name,))))


def _invalid(detail: str, fix: str | None = None) -> InvalidSetting:
    from everyword.errors import InvalidSetting  # slow to import; only failures need it

    return InvalidSetting(detail, fix=fix)


# Transcripts and sessions


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


def write_position(home: str, transcript: str, position: Mapping[str, Any], format: str, cwd: str = "") -> None:
    """Store how far a transcript is saved, atomically. cwd: where the agent works."""
    path = _path(home, transcript)
    make_private_folder(os.path.dirname(path))
    known = {"transcript": transcript, "format": format, "cwd": cwd, "position": dict(position)}
    replace_file(path, json.dumps(known).encode())


def unsaved_transcripts(home: str) -> Iterator[tuple[str, str, str]]:
    """List transcripts that have grown since they were saved, with format and folder. Remove old entries."""
    folder = os.path.join(home, _FOLDER)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        known = _load(path)
        transcript = str(known.get("transcript", ""))
        with suppress(OSError):
            if time.time() - os.path.getmtime(path) > _KEPT_S:
                os.remove(path)
            elif os.path.getsize(transcript) > int(cast("Any", known.get("position") or {}).get("byte", 0)):
                yield transcript, str(known.get("format", "claude-code")), str(known.get("cwd", ""))


def owe_start(home: str, session: str) -> None:
    """Note that a session started without its text; the note keeps its time."""
    path = _owed(home, session)
    if os.path.exists(path):
        return
    make_private_folder(os.path.dirname(path))
    with open(path, "w", encoding="utf-8", opener=private_opener) as file:
        file.write("{}")


def start_owed_since(home: str, session: str) -> float | None:
    """Return the seconds since a session began that still needs the text of its start; None for others."""
    with suppress(OSError):
        return time.time() - os.path.getmtime(_owed(home, session))
    return None


def clear_owed_start(home: str, session: str) -> None:
    """Note that a session got the text of its start."""
    with suppress(OSError):
        os.remove(_owed(home, session))


def count_transcripts(home: str) -> int:
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
            return json_object(file.read())
    except (OSError, ValueError):
        return {}


# The log


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
