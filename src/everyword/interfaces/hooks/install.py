"""Install hooks in an agent's settings, remove them, and report their status.

Claude Code reads JSON (`~/.claude/settings.json`, or a project's `.claude/settings.json`). Codex reads TOML
(`~/.codex/config.toml`), where only the `notify` line is ours.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from everyword.errors import BadLocation, InvalidInput, InvalidSetting
from everyword.interfaces.hooks import client, state
from everyword.interfaces.hooks.settings import EVENTS, FILE, from_json, load, save, switched
from everyword.interfaces.hooks.settings_files import (
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


def install(
    settings_path: str | Path,
    *,
    memory: str,
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
        after = dump_like(_claude_with(_claude_without(_settings(path, before)), place, events), before)
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
            {"settings": path, "hooks": _hooks_in(Path(path)), "backup": known.get("backup")}
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


# Claude Code


def _command(home: Path, verb: str) -> list[str]:
    return [*client.COMMAND, verb, "--home", str(home)]


def _claude_with(settings: Json, home: Path, events: tuple[str, ...]) -> Json:
    hooks: Json = dict(settings.get("hooks", {}))
    ours = {"type": "command", "command": shlex.join(_command(home, "run")), "timeout": _AGENT_TIMEOUT_S}
    for event in events:
        hooks[event] = [*_entries(hooks, event), {"hooks": [ours]}]
    return {**settings, "hooks": hooks}


def _claude_without(settings: Json) -> Json:
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
    """Remove our command from a group and keep others; return None if none is left."""
    group = cast("Json", entry) if isinstance(entry, dict) else {}
    commands = group.get("hooks")
    if not isinstance(commands, list) or not _is_ours(group):
        return cast("Any", entry)
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
        raise InvalidInput(f"{path} is not a settings file of Claude Code.", fix="Check the path; nothing was changed.")
    return settings


# Codex


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
    return without_server(_claude_without(_settings(path, text)))


def _is_rest_of(known: Json, path: Path, rest: Json | str) -> bool:
    """Tell whether the rest equals the backup: a user may change the file between two installations."""
    if not known.get("backup"):
        return not (rest.strip() if isinstance(rest, str) else rest)  # no file existed
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
    return first == second


def _known(home: Path) -> Json:
    try:
        return load(str(home))._asdict() if (home / FILE).exists() else {}
    except InvalidSetting:
        return {}


def _hooks_in(path: Path) -> list[str]:
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
