"""Install hooks in an agent's settings, remove them, and report their status.

Agents read JSON: Claude Code, Codex and Gemini CLI a list of groups for each event, Cursor and Copilot CLI a list of
commands. Versions of Codex without hooks have one `notify` line in TOML (`~/.codex/config.toml`).
"""

from __future__ import annotations

import json
import os
import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from everyword.errors import BadLocation, InvalidInput, InvalidSetting
from everyword.interfaces.hooks import client, state
from everyword.interfaces.hooks.settings import AGENT_EVENTS, EVENTS, FILE, from_json, load, save, switched
from everyword.interfaces.hooks.settings_files import (
    NAME,
    Change,
    Json,
    apply,
    backup_of,
    digest,
    dump_like,
    home_of,
    installed,
    parse_json,
    parse_toml,
    read_text,
    record_installed,
    replace_file,
    without_server,
    without_server_toml,
)
from everyword.settings import expanded

_OURS = "everyword.interfaces.hooks"  # part of each of our commands
_AGENT_TIMEOUT_S = 10  # after which the agent ends a hook; HookSettings.timeout_s ends it much earlier
_NOTIFY = re.compile(r"^[ \t]*notify[ \t]*=", re.MULTILINE)
_ERRORS_SHOWN = 5
_PLUGIN = "everyword@"  # the name of the Claude Code plugin, before that of its marketplace


class Place(NamedTuple):
    """Where a coding agent keeps its settings."""

    title: str
    folder: Path  # there if the agent is installed
    hooks: Path
    mcp: Path


def places() -> dict[str, Place]:
    """Return the settings of each agent for this user."""
    home = expanded("~")
    claude = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    copilot = Path(os.environ.get("COPILOT_HOME") or home / ".copilot")
    gemini, cursor = home / ".gemini", home / ".cursor"
    return {
        "claude-code": Place("Claude Code", claude, claude / "settings.json", home / ".claude.json"),
        "codex": Place("Codex", codex, codex / "hooks.json", codex / "config.toml"),
        "gemini": Place("Gemini CLI", gemini, gemini / "settings.json", gemini / "settings.json"),
        "cursor": Place("Cursor", cursor, cursor / "hooks.json", cursor / "mcp.json"),
        "copilot": Place("Copilot CLI", copilot, copilot / "hooks" / "everyword.json", copilot / "mcp-config.json"),
    }


def has_plugin(place: Place) -> bool:
    """Tell whether Claude Code has the plugin, which brings hooks and MCP along."""
    try:
        enabled: Any = parse_json(place.hooks, read_text(place.hooks)).get("enabledPlugins")
    except (BadLocation, InvalidInput):
        return False
    return isinstance(enabled, dict) and any(
        name.startswith(_PLUGIN) and on for name, on in cast("dict[str, Any]", enabled).items()
    )


class Server(NamedTuple):
    """Our MCP server in an agent's settings."""

    command: list[str]
    memory: str | None


def server_in(path: Path) -> Server | None:
    """Find our MCP server in a settings file."""
    try:
        text = read_text(path)
        settings = parse_toml(text or "") if path.suffix == ".toml" else parse_json(path, text)
        entry: Any = settings["mcp_servers" if path.suffix == ".toml" else "mcpServers"][NAME]
        return Server([entry["command"], *entry["args"]], entry.get("env", {}).get("EVERYWORD_MEMORY"))
    except (BadLocation, InvalidInput, LookupError, TypeError, AttributeError):
        return None


def install(
    settings_path: str | Path,
    *,
    memory: str,
    agent: str = "claude-code",
    home: str | Path | None = None,
    events: tuple[str, ...] = EVENTS,
    dry_run: bool = False,
    **options: Any,
) -> Change:
    """Add the hooks to a settings file, with a backup. Installing again changes only the given options."""
    path, place = expanded(settings_path).absolute(), home_of(home)
    unknown = [event for event in events if event not in EVENTS]
    if unknown:
        raise InvalidSetting(f"Unknown hook {', '.join(unknown)}.", fix=f"Known: {', '.join(EVENTS)}.")
    location = memory if "://" in memory else os.path.abspath(expanded(memory))
    settings = from_json({**_known(place), **options, "memory": location})
    before = read_text(path)
    if path.suffix == ".toml":
        after = _codex_with(before or "", place)
    else:
        known = _settings(path, before)
        made = _with_hooks(_without_hooks(known), place, agent, events)
        # In the order of the file, so that installing again changes nothing.
        after = dump_like({**{name: made[name] for name in known if name in made}, **made}, before)
    change = Change(path=path, before=before, after=after, backup=backup_of(path, place, before))
    if not dry_run:
        save(str(place), settings)
        apply(change, place)
    return change


def uninstall(settings_path: str | Path, *, home: str | Path | None = None, dry_run: bool = False) -> Change:
    """Remove the hooks: restore the file, or, if it was changed since, remove only our entries."""
    path, place = expanded(settings_path).absolute(), home_of(home)
    known: Json = installed(place).get(str(path), {})
    before = read_text(path)
    if before is None:
        raise BadLocation(f"{path} does not exist.")
    backup = Path(known["backup"]) if known.get("backup") else None
    rest = _rest(path, before)
    if known.get("written") == digest(before) and _is_rest_of(known, path, rest):
        after = read_text(backup) if backup is not None else None
    elif isinstance(rest, str):
        after = rest
    else:
        after = dump_like(rest, before)
    change = Change(path=path, before=before, after=after, backup=backup)
    if not dry_run:
        replace_file(path, after)
        record_installed(place, str(path), None)
        if backup is not None:
            with suppress(OSError):
                backup.unlink(missing_ok=True)
        if not installed(place):
            client.ask(str(place), {"do": "stop"}, 1.0)
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
            {"settings": path, "hooks": hooks_in(Path(path)), "backup": known.get("backup")}
            for path, known in installed(place).items()
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


# JSON


def _command(home: Path, verb: str, *options: str) -> list[str]:
    return [*client.COMMAND, verb, *options, "--home", str(home)]


def _with_hooks(settings: Json, home: Path, agent: str, events: tuple[str, ...]) -> Json:
    hooks: Json = dict(settings.get("hooks", {}))
    options = () if agent == "claude-code" else ("--agent", agent)
    command = shlex.join(_command(home, "run", *options))
    entry: Json = {"type": "command", "command": command, "timeout": _AGENT_TIMEOUT_S}
    if agent == "gemini":
        entry = {"name": "everyword", **entry, "timeout": _AGENT_TIMEOUT_S * 1000}  # in milliseconds
    elif agent == "copilot":
        entry = {"type": "command", "bash": command, "timeoutSec": _AGENT_TIMEOUT_S}
    elif agent == "cursor":
        entry = {"command": command, "timeout": _AGENT_TIMEOUT_S}
    is_flat = agent in ("cursor", "copilot")
    for event in events:
        if theirs := AGENT_EVENTS[agent].get(event):
            hooks[theirs] = [*_entries(hooks, theirs), entry if is_flat else {"hooks": [entry]}]
    return {**({"version": 1} if is_flat else {}), **settings, "hooks": hooks}


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
    settings = parse_json(path, text)
    if not isinstance(settings.get("hooks", {}), dict):
        raise InvalidInput(f"{path} is not a settings file with hooks.", fix="Check the path; nothing was changed.")
    return settings


# TOML of Codex


def _codex_with(text: str, home: Path) -> str:
    text = _codex_without(text)
    if "notify" in parse_toml(text):
        raise InvalidInput(
            "Codex has a notify command already, and allows only one.",
            fix="Remove its line, or call both commands from a script.",
        )
    # At the top, because lines after a [table] belong to it. A JSON list of strings is valid TOML.
    line = f"notify = {json.dumps(_command(home, 'codex'))}\n"
    return line + text


def _codex_without(text: str) -> str:
    parse_toml(text)
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not (_NOTIFY.match(line) and f'"-m", "{_OURS}"' in line))


# Files


def _rest(path: Path, text: str) -> Json | str:
    """Return settings without our entries."""
    if path.suffix == ".toml":
        return without_server_toml(_codex_without(text))
    return without_server(_without_hooks(_settings(path, text)))


def _is_rest_of(known: Json, path: Path, rest: Json | str) -> bool:
    """Tell whether the rest equals the backup: a user may change the file between two installations."""
    if not known.get("backup"):
        # No file existed. A version is ours too, where an agent wants one.
        return not (rest.strip() if isinstance(rest, str) else rest.keys() - {"version"})
    try:
        first = read_text(Path(known["backup"]))
        return first is not None and _same(_rest(path, first), rest)
    except (BadLocation, InvalidInput):
        return False


def _same(first: Json | str, second: Json | str) -> bool:
    """Compare settings, ignoring empty lines."""
    if isinstance(first, str) and isinstance(second, str):
        return [line for line in first.splitlines() if line.strip()] == [
            line for line in second.splitlines() if line.strip()
        ]
    # Where an agent wants a version, installing added one.
    return first == second or (isinstance(first, dict) and {"version": 1, **first} == second)


def _known(home: Path) -> Json:
    try:
        return load(str(home))._asdict() if (home / FILE).exists() else {}
    except InvalidSetting:
        return {}


def hooks_in(path: Path) -> list[str]:
    """List the events of a settings file that have our hooks."""
    text = read_text(path)
    if text is None:
        return []
    try:
        if path.suffix == ".toml":
            return ["notify"] if _codex_without(text) != text else []
        hooks: Json = _settings(path, text).get("hooks", {})
        return [event for event in hooks if any(map(_is_ours, _entries(hooks, event)))]
    except InvalidInput:
        return []
