"""`everyword hook`: install hooks and the MCP server in an agent's settings, remove them, and report their status.

Hooks are in JSON, and so are MCP servers, except that Codex keeps its servers in TOML. Files are changed atomically,
with a backup, and with a record of which files were changed.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from msgspec import Struct

from everyword.errors import BadLocation, InvalidInput, InvalidSetting
from everyword.interfaces.cli.parser import Request
from everyword.interfaces.cli.terminal import Page, Terminal
from everyword.interfaces.hooks import client, state
from everyword.interfaces.hooks.agents import AGENTS, EVENTS
from everyword.interfaces.hooks.state import FILE, from_json, home_of, load, save, switched
from everyword.private_files import replace_file
from everyword.settings import checked_redaction, default_path, expanded

_OURS = "everyword.interfaces.hooks"  # part of each of our commands
NAME = "everyword"
ALL = "all"  # every changed file, also those changed by `everyword init`
_ERRORS_SHOWN = 5
_PLUGIN = "everyword@"  # the name of the Claude Code plugin, before that of its marketplace
_INSTALLED = "installed.json"
_BACKUP = ".before-everyword"
_SERVERS = "mcpServers"
_SERVER_OPTIONS = ("--tools", "core", "--project")
# Our table in TOML: its lines, and comments only where another of its lines follows.
_TABLE = re.compile(rf"^\[mcp_servers\.{NAME}\][^\n]*\n(?:(?:[ \t]*(?:#[^\n]*)?\n)*[^\s#\[][^\n]*\n?)*", re.MULTILINE)
Json = dict[str, Any]


class Server(NamedTuple):
    """Our MCP server in an agent's settings."""

    command: list[str]
    memory: str | None


class FileChange(Struct, frozen=True, kw_only=True):
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


# The verbs of `everyword hook`


def run(request: Request, terminal: Terminal) -> int:
    """Run a verb; return the exit code."""
    verb, given = request.operation.name.split()[1], request.arguments
    if verb == "install":
        _install(request, terminal.page)
    elif verb == "uninstall":
        undo(request, terminal)
    elif verb == "status":
        _status(given.get("home"), terminal)
    else:
        switch(given["name"], on=verb == "on", home=given.get("home"))
    return 0


def undo(request: Request, terminal: Terminal) -> int:
    """Remove the hooks from a settings file, or from all that were changed."""
    page, home = terminal.page, request.arguments.get("home")
    every = request.arguments.get("agent") == ALL
    paths = [Path(path) for path in installed(home_of(home))] if every else [_settings_path(request)]
    for path in paths:
        page.text(uninstall(path, home=home, dry_run=True).diff or "Nothing changes.")
    if not paths:
        page.line("Nothing to undo.")
    elif _is_confirmed(request, page):
        for path in paths:
            uninstall(path, home=home)
        page.line("Removed. The memory stays as it is.")
    return 0


def _install(request: Request, page: Page) -> None:
    path, options = _settings_path(request), dict(request.arguments)
    for name in ("settings", "dry_run", "yes"):
        options.pop(name, None)
    if "redact" in options:
        checked_redaction(options["redact"])
    if "secret_patterns" in options:
        options["secret_patterns"] = os.path.abspath(expanded(options["secret_patterns"]))
    options["memory"] = request.memory or default_path()
    if request.embedder:
        options["embedder"] = request.embedder
    page.text(install(path, **options, dry_run=True).diff or "Nothing changes.")
    if _is_confirmed(request, page):
        done = install(path, **options)
        page.line(f"Installed into {done.path}." + (f" A backup is in {done.backup}." if done.backup else ""))


def _status(home: str | None, terminal: Terminal) -> None:
    found, page = status(home), terminal.page
    if terminal.json_wanted:
        terminal.document(found)
        return
    if not found["installed"]:
        page.line("No hooks are installed. To install them: everyword init")
    for one in found["installed"]:
        page.line(f"{one['settings']}: {', '.join(one['hooks']) or 'the MCP server'}")
    if "memory" not in found:
        return
    off = [event for event, on in found["on"].items() if not on]
    resident = "running" if found["resident"] else "not running"
    page.line(f"memory: {found['memory']}")
    page.line(f"switched off: {', '.join(off) or 'nothing'}")
    page.line(f"resident process: {resident}; saved transcripts: {found['transcripts']}; log: {found['log']}")
    for error in found["errors"]:
        page.line(f"error: {error}")


def _settings_path(request: Request) -> Path:
    settings, agent = request.arguments.get("settings"), request.arguments.get("agent", "claude-code")
    if agent not in AGENTS:
        raise InvalidInput(f"Unknown agent {agent!r}.", fix=f"Valid agents: {', '.join(AGENTS)}.")
    return expanded(settings) if settings else AGENTS[agent].hooks_path


def _is_confirmed(request: Request, page: Page) -> bool:
    if request.arguments.get("dry_run"):
        return False
    if request.arguments.get("yes"):
        return True
    if not (sys.stdin and sys.stdin.isatty()):
        page.line("Nothing was changed. Pass --yes to confirm.")
        return False
    return input("Continue? [y/N] ").strip().lower() in ("y", "yes")


# For programs


def has_plugin() -> bool:
    """Tell whether Claude Code has the plugin, which brings hooks and MCP along."""
    path = AGENTS["claude-code"].hooks_path
    try:
        enabled: Any = _parse_json(path, _read_text(path)).get("enabledPlugins")
    except (BadLocation, InvalidInput):
        return False
    return isinstance(enabled, dict) and any(
        name.startswith(_PLUGIN) and on for name, on in cast("Json", enabled).items()
    )


def server_in(path: Path) -> Server | None:
    """Find our MCP server in a settings file."""
    try:
        text = _read_text(path)
        is_toml = path.suffix == ".toml"
        settings = _parse_toml(text or "") if is_toml else _parse_json(path, text)
        entry: Any = settings["mcp_servers" if is_toml else _SERVERS][NAME]
        return Server([entry["command"], *entry["args"]], entry.get("env", {}).get("EVERYWORD_MEMORY"))
    except (BadLocation, InvalidInput, LookupError, TypeError, AttributeError):
        return None


def hooks_in(path: Path) -> list[str]:
    """List the events of a settings file that have our hooks."""
    text = _read_text(path)
    if text is None or path.suffix == ".toml":
        return []
    try:
        hooks: Json = _settings(path, text).get("hooks", {})
        return [event for event in hooks if any(map(_is_ours, _entries(hooks, event)))]
    except InvalidInput:
        return []


def install(
    settings_path: str | Path,
    *,
    memory: str,
    agent: str = "claude-code",
    home: str | Path | None = None,
    dry_run: bool = False,
    **options: Any,
) -> FileChange:
    """Add the hooks to a settings file, with a backup. Installing again changes only the given options."""
    path, place = expanded(settings_path).absolute(), home_of(home)
    settings = from_json({**_known(place), **options, "memory": located(memory)})
    before = _read_text(path)
    known = _settings(path, before)
    made = _with_hooks(_without_hooks(known), place, agent)
    # In the order of the file, so that installing again changes nothing.
    after = _dump_like({**{name: made[name] for name in known if name in made}, **made}, before)
    change = FileChange(path=path, before=before, after=after, backup=_backup_of(path, place, before))
    if not dry_run:
        save(str(place), settings)
        _apply(change, place)
    return change


def uninstall(settings_path: str | Path, *, home: str | Path | None = None, dry_run: bool = False) -> FileChange:
    """Remove the hooks: restore the file, or, if it was changed since, remove only our entries."""
    path, place = expanded(settings_path).absolute(), home_of(home)
    before = _read_text(path)
    if before is None:
        raise BadLocation(f"{path} does not exist.")
    recorded = str(path) in installed(place)
    backup = _backup_of(path, place, before) if recorded else None
    rest = _rest(path, before)
    if recorded and _is_rest_of(path, rest, backup):
        after = None if backup is None else _read_text(backup)
    else:
        after = rest if isinstance(rest, str) else _dump_like(rest, before)
    change = FileChange(path=path, before=before, after=after, backup=backup)
    if not dry_run:
        _replace_file(path, after)
        _record_installed(place, {name: backup for name, backup in installed(place).items() if name != str(path)})
        if backup is not None:
            with suppress(OSError):
                backup.unlink(missing_ok=True)
        if not installed(place):
            client.ask(str(place), {"do": "stop"}, 1.0)
    return change


def add_server(
    settings_path: str | Path, *, memory: str, home: str | Path | None = None, dry_run: bool = False
) -> FileChange:
    """Add the MCP server to a client's settings; adding it again changes nothing."""
    path, place = expanded(settings_path).absolute(), home_of(home)
    before = _read_text(path)
    if path.suffix == ".toml":
        after = _with_server_toml(before or "", located(memory))
    else:
        after = _dump_like(_with_server(path, _parse_json(path, before), located(memory)), before)
    change = FileChange(path=path, before=before, after=after, backup=_backup_of(path, place, before))
    if not dry_run and after != before:
        _apply(change, place)
    return change


def status(home: str | Path | None = None) -> Json:
    """Report what is installed and switched on, whether the resident process runs, and the last errors."""
    place = home_of(home)
    try:
        settings = load(str(place))
    except InvalidSetting:
        return {"home": str(place), "installed": []}
    resident = client.ask(str(place), {"do": "ping"}, 1.0)
    return {
        "home": str(place),
        "memory": settings.memory,
        "installed": [
            {"settings": path, "hooks": hooks_in(Path(path)), "backup": backup}
            for path, backup in installed(place).items()
        ],
        "on": {event: event not in settings.off for event in EVENTS},
        "settings": settings._asdict(),
        "resident": resident,
        "transcripts": state.count_transcripts(str(place)),
        "log": str(place / state.LOG_FILE),
        "errors": state.last_errors(str(place), _ERRORS_SHOWN),
    }


def switch(name: str, *, on: bool, home: str | Path | None = None) -> None:
    """Switch a hook, or a thing that hooks do, on or off."""
    place = str(home_of(home))
    save(place, switched(load(place), name, on=on))


def _known(home: Path) -> Json:
    try:
        return load(str(home))._asdict() if (home / FILE).exists() else {}
    except InvalidSetting:
        return {}


def located(memory: str) -> str:
    """Name a memory from any folder: by the whole path of its file, or by its server."""
    return memory if "://" in memory else os.path.abspath(expanded(memory))


# Hooks in JSON


def _with_hooks(settings: Json, home: Path, name: str) -> Json:
    agent = AGENTS[name]
    options = () if name == "claude-code" else ("--agent", name)
    hook = {**agent.hook, agent.command: shlex.join([*client.COMMAND, "run", *options, "--home", str(home)])}
    entry = {"hooks": [hook]} if agent.in_groups else hook
    hooks: Json = dict(settings.get("hooks", {}))
    for event in agent.events.values():
        hooks[event] = [*_entries(hooks, event), entry]
    return {**({} if agent.in_groups else {"version": 1}), **settings, "hooks": hooks}


def _without_hooks(settings: Json) -> Json:
    if "hooks" not in settings:
        return settings
    hooks: Json = {}
    for event, entries in cast("Json", settings["hooks"]).items():
        left = [_without_ours(entry) for entry in _entries({event: entries}, event)]
        kept = [entry for entry in left if entry is not None]
        if kept or not entries:
            hooks[event] = kept
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    return {**settings, "hooks": hooks} if hooks else rest


def _without_ours(entry: Any) -> Any:
    """Remove our command, also from a group, and keep others; return None if none is left."""
    group = cast("Json", entry) if isinstance(entry, dict) else {}
    if not _is_ours(group):
        return cast("Any", entry)
    commands = group.get("hooks")
    if not isinstance(commands, list):
        return None
    kept = [command for command in cast("list[Any]", commands) if not _is_ours(command)]
    return {**group, "hooks": kept} if kept else None


def _entries(hooks: Json, event: str) -> list[Any]:
    entries: Any = hooks.get(event, [])
    if not isinstance(entries, list):
        raise InvalidInput(f"The hooks of {event} are not a list.", fix="Correct the settings file.")
    return cast("list[Any]", entries)


def _is_ours(entry: Any) -> bool:
    """Tell whether a command, or one of a group, is ours."""
    return f"-m {_OURS} run" in json.dumps(entry)


def _settings(path: Path, text: str | None) -> Json:
    settings = _parse_json(path, text)
    if not isinstance(settings.get("hooks", {}), dict):
        raise InvalidInput(f"{path} is not a settings file with hooks.", fix="Check the path; nothing was changed.")
    return settings


# The MCP server


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
    extra = next((agent.server for agent in AGENTS.values() if Path(agent.servers).name == path.name), Json())
    return {**settings, _SERVERS: {**servers, NAME: {**extra, **_server_entry(memory)}}}


def _with_server_toml(text: str, memory: str) -> str:
    _parse_toml(text)
    ours = _server_entry(memory)
    # Strings and lists of strings look the same in JSON and TOML.
    table = (
        f"[mcp_servers.{NAME}]\ncommand = {json.dumps(ours['command'])}\nargs = {json.dumps(ours['args'])}\n"
        f"env = {{ EVERYWORD_MEMORY = {json.dumps(memory)} }}\n"
    )
    if table in text:
        return text
    rest = _TABLE.sub("", text)
    gap = "" if not rest or rest.endswith("\n\n") else "\n" if rest.endswith("\n") else "\n\n"
    after = f"{rest}{gap}{table}"
    _parse_toml(after)  # fails if a server of this name was written in another style and is now there twice
    return after


def _without_server(settings: Json) -> Json:
    """Remove the MCP server from JSON settings."""
    servers = settings.get(_SERVERS)
    if not isinstance(servers, dict) or NAME not in servers:
        return settings
    kept: Json = {name: entry for name, entry in servers.items() if name != NAME}  # pyright: ignore[reportUnknownVariableType]
    rest = {name: value for name, value in settings.items() if name != _SERVERS}
    return {**settings, _SERVERS: kept} if kept else rest


# What is left without our entries


def _rest(path: Path, text: str) -> Json | str:
    """Return settings without our entries."""
    if path.suffix == ".toml":
        _parse_toml(text)
        return _TABLE.sub("", text)
    return _without_server(_without_hooks(_settings(path, text)))


def _is_rest_of(path: Path, rest: Json | str, backup: Path | None) -> bool:
    """Tell whether the rest is what the backup holds: a user may change the file between two installations."""
    if backup is None:  # no file existed
        return _same("" if isinstance(rest, str) else {}, rest)
    try:
        first = _read_text(backup)
        return first is not None and _same(_rest(path, first), rest)
    except (BadLocation, InvalidInput):
        return False


def _same(first: Json | str, second: Json | str) -> bool:
    """Compare settings, ignoring empty lines."""
    if isinstance(first, str) and isinstance(second, str):
        one, other = (list(filter(str.strip, text.splitlines())) for text in (first, second))
        return one == other
    # Where an agent wants a version, installing added one.
    return first == second or (isinstance(first, dict) and {"version": 1, **first} == second)


# Files


def _parse_json(path: Path, text: str | None) -> Json:
    """Parse settings that are a JSON object; no text counts as an empty object."""
    try:
        return client.json_object(text) if text and text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} can't be read ({error}).", fix="Correct the file; it was not changed.") from error


def _dump_like(settings: Json, before: str | None) -> str:
    """Format settings like the text before, so that a diff shows only the change."""
    before = "{}\n" if before is None else before
    step = re.search(r"^( +|\t)\S", before, re.MULTILINE)
    text = json.dumps(settings, indent=step[1] if step else 2, ensure_ascii=before.isascii())
    return f"{text}\n" if before.endswith("\n") else text


def _parse_toml(text: str) -> Json:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"The settings of Codex are not valid TOML ({error}).", fix="Correct the file.") from error


def _read_text(path: Path) -> str | None:
    """Read a file; return None if it does not exist."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadLocation(f"{path} can't be read ({error}).") from error


def _backup_of(path: Path, home: Path, before: str | None) -> Path | None:
    """Return the path of the backup, which is made by the first installation and kept until the last is removed."""
    if str(path) in installed(home):
        backup = installed(home)[str(path)]
        return None if backup is None else Path(backup)
    return None if before is None else path.with_name(path.name + _BACKUP)


def _apply(change: FileChange, home: Path) -> None:
    """Write a change; before the first one, back up the file."""
    first = str(change.path) not in installed(home)
    if first and change.backup is not None and change.before is not None:
        _replace_file(change.backup, change.before, like=change.path)
    _replace_file(change.path, change.after)
    backup = str(change.backup) if change.backup else None
    _record_installed(home, {**installed(home), str(change.path): backup})


def _replace_file(path: Path, text: str | None, *, like: Path | None = None) -> None:
    """Write a file atomically, with the permissions of the old one or of `like`; None removes it."""
    try:
        if text is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # Settings hold keys, so the new file must never be readable by more users than the old one. They are often
        # links to dotfiles.
        replace_file(path.resolve(), text.encode(), like=like)
    except OSError as error:
        raise BadLocation(f"{path} can't be written ({error.strerror}).") from error


def installed(home: Path) -> dict[str, str | None]:
    """Read which files were changed: the path of the backup, if there was a file, by path."""
    text = _read_text(home / _INSTALLED)
    try:
        return client.json_object(text or "{}")
    except ValueError:
        return {}


def _record_installed(home: Path, known: Mapping[str, str | None]) -> None:
    _replace_file(home / _INSTALLED, json.dumps(known, indent=2))
