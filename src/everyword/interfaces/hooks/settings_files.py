"""Change the settings files of other programs: atomically, with a backup, and with a record of what was written."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from everyword.errors import BadLocation, InvalidInput
from everyword.settings import expanded, user_folder

_INSTALLED = "installed.json"
_BACKUP = ".before-everyword"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of a settings file."""

    path: Path
    before: str | None  # None: no file
    after: str | None  # None: the file is removed
    backup: Path | None = None

    @property
    def diff(self) -> str:
        """Show the change as a unified diff."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            f"{self.path} (before)",
            f"{self.path} (after)",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def default_home() -> Path:
    """Return the default folder for the settings, log and state of hooks."""
    named = os.environ.get("EVERYWORD_HOOKS_HOME")
    return Path(named) if named else user_folder("state") / "hooks"


def home_of(home: str | Path | None) -> Path:
    """Return the absolute folder of hooks, as given or by default."""
    return expanded(default_home() if home is None else home).absolute()


def parse_json(path: Path, text: str | None) -> Json:
    """Parse settings that are a JSON object; no text counts as an empty object."""
    try:
        settings: Any = json.loads(text) if text and text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON ({error}).", fix="Correct the file; it was not changed.") from error
    if not isinstance(settings, dict):
        raise InvalidInput(f"{path} is not a JSON object.", fix="Check the path; the file was not changed.")
    return cast("Json", settings)


def dump_like(settings: Json, before: str | None) -> str:
    """Format settings like the text before, so that a diff shows only the change."""
    before = "{}\n" if before is None else before
    step = re.search(r"^( +|\t)\S", before, re.MULTILINE)
    text = json.dumps(settings, indent=step[1] if step else 2, ensure_ascii=before.isascii())
    return f"{text}\n" if before.endswith("\n") else text


def parse_toml(text: str) -> Json:
    """Parse settings that are TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"The settings of Codex are not valid TOML ({error}).", fix="Correct the file.") from error


def read_text(path: Path) -> str | None:
    """Read a file; return None if it does not exist."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadLocation(f"{path} can't be read ({error}).") from error


def backup_of(path: Path, home: Path, before: str | None) -> Path | None:
    """Return the path of the backup, which is made by the first installation and kept until the last is removed."""
    known: Json = installed(home).get(str(path), {})
    if known:
        return Path(known["backup"]) if known.get("backup") else None
    return None if before is None else path.with_name(path.name + _BACKUP)


def apply(change: Change, home: Path) -> None:
    """Write a change; before the first one, back up the file."""
    first = str(change.path) not in installed(home)
    if first and change.backup is not None and change.before is not None:
        replace_file(change.backup, change.before, like=change.path)
    replace_file(change.path, change.after)
    written = digest(change.after or "")
    backup = str(change.backup) if change.backup else None
    record_installed(home, str(change.path), {"backup": backup, "written": written})


def replace_file(path: Path, text: str | None, *, like: Path | None = None) -> None:
    """Write a file atomically, with the permissions of the old one or of `like`; None removes it."""
    try:
        if text is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()  # settings are often links to dotfiles
        new = target.with_name(f"{target.name}.new")
        new.unlink(missing_ok=True)  # left by an interrupted write, with unknown permissions
        mode = _mode(like or target)
        # Settings hold keys, so the new file must never be readable by more users than the old one.
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
        if target.exists() or like is not None:
            os.chmod(new, mode)  # undo the umask
        os.replace(new, target)
    except OSError as error:
        raise BadLocation(f"{path} can't be written ({error.strerror}).") from error


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o666  # minus the umask


def installed(home: Path) -> dict[str, Json]:
    """Read the records of changed files, by path."""
    text = read_text(home / _INSTALLED)
    try:
        known: Any = json.loads(text) if text else {}
    except ValueError:
        known = {}
    return cast("dict[str, Json]", known) if isinstance(known, dict) else {}


def record_installed(home: Path, path: str, entry: Json | None) -> None:
    """Record what was written to a file; None: the file holds nothing of ours any more."""
    known = {name: value for name, value in installed(home).items() if name != path}
    replace_file(home / _INSTALLED, json.dumps(known if entry is None else {**known, path: entry}, indent=2))


def digest(text: str) -> str:
    """Return a hash of a file's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


NAME = "everyword"
_SERVERS = "mcpServers"
_SERVER_OPTIONS = ("--tools", "core", "--project")
_TABLE = re.compile(rf"^\[mcp_servers\.{NAME}\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE)


def add_server(
    settings_path: str | Path, *, memory: str, home: str | Path | None = None, dry_run: bool = False
) -> Change:
    """Add the MCP server to a client's settings; adding it again changes nothing."""
    path, place = expanded(settings_path).absolute(), home_of(home)
    location = memory if "://" in memory else os.path.abspath(expanded(memory))
    before = read_text(path)
    if path.suffix == ".toml":
        after = _with_server_toml(before or "", location)
    else:
        after = dump_like(_with_server(path, parse_json(path, before), location), before)
    change = Change(path=path, before=before, after=after, backup=backup_of(path, place, before))
    if not dry_run and after != before:
        apply(change, place)
    return change


def without_server(settings: Json) -> Json:
    """Remove the MCP server from JSON settings."""
    servers = settings.get(_SERVERS)
    if not isinstance(servers, dict) or NAME not in servers:
        return settings
    kept: Json = {name: entry for name, entry in servers.items() if name != NAME}  # pyright: ignore[reportUnknownVariableType]
    rest = {name: value for name, value in settings.items() if name != _SERVERS}
    return {**settings, _SERVERS: kept} if kept else rest


def without_server_toml(text: str) -> str:
    """Remove the MCP server from TOML settings."""
    return _TABLE.sub("", text)


def _server_entry(memory: str) -> Json:
    program = shutil.which("everyword")
    # -P keeps modules in the working folder of the client from being imported.
    command = [program, "mcp"] if program else [sys.executable, "-P", "-m", "everyword", "mcp"]
    # Few tools, because an assistant reads them before every turn; and the wing that hooks use.
    return {"command": command[0], "args": [*command[1:], *_SERVER_OPTIONS], "env": {"EVERYWORD_MEMORY": memory}}


def _with_server(path: Path, settings: Json, memory: str) -> Json:
    servers = settings.get(_SERVERS, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"{_SERVERS} in {path} is not an object.", fix="Correct the file; it was not changed.")
    # Copilot CLI also wants the type, and which tools to offer.
    extra = {"type": "local", "tools": ["*"]} if path.name == "mcp-config.json" else {}
    return {**settings, _SERVERS: {**servers, NAME: {**extra, **_server_entry(memory)}}}


def _with_server_toml(text: str, memory: str) -> str:
    parse_toml(text)
    ours = _server_entry(memory)
    # Strings and lists of strings look the same in JSON and TOML.
    table = "".join(
        (
            f"[mcp_servers.{NAME}]\n",
            f"command = {json.dumps(ours['command'])}\n",
            f"args = {json.dumps(ours['args'])}\n",
            f"env = {{ EVERYWORD_MEMORY = {json.dumps(memory)} }}\n",
        )
    )
    if table in text:
        return text
    rest = without_server_toml(text)
    gap = "" if not rest or rest.endswith("\n\n") else "\n" if rest.endswith("\n") else "\n\n"
    after = f"{rest}{gap}{table}"
    parse_toml(after)  # fails if a server of this name was written in another style and is now there twice
    return after
