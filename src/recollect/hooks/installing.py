"""Hooks into an agent's settings and out again: the change is shown, a backup is kept, and the file can be as it was.

Claude Code reads JSON (`~/.claude/settings.json`, or a project's `.claude/settings.json`); Codex reads TOML
(`~/.codex/config.toml`), of which only its `notify` line is ours.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from recollect.core.errors import BadLocation, InvalidInput, InvalidSetting
from recollect.hooks import asking, journal, positions
from recollect.hooks.settings import EVENTS, FILE, from_json, load, save, switched

_INSTALLED = "installed.json"
_BACKUP = ".before-recollect"
_OURS = "recollect.hooks"  # stands in every command of ours
_AGENT_LIMIT_S = 10  # the agent's own limit on a hook; ours is much shorter
_NOTIFY = re.compile(r"^[ \t]*notify[ \t]*=", re.MULTILINE)
_ERRORS_SHOWN = 5

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is done to a settings file, or would be."""

    path: Path
    before: str | None  # None: there was no file
    after: str | None  # None: there is none any more
    backup: Path | None = None

    @property
    def diff(self) -> str:
        """Show the change, line by line."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            f"{self.path} (now)",
            f"{self.path} (then)",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def default_home() -> Path:
    """Tell where hooks keep their settings, log and positions."""
    named = os.environ.get("RECOLLECT_HOOKS_HOME")
    if named:
        return Path(named)
    from platformdirs import user_state_path

    return user_state_path("recollect", appauthor=False) / "hooks"


def install(
    settings_path: str | Path,
    *,
    memory: str,
    home: str | Path | None = None,
    events: tuple[str, ...] = EVENTS,
    dry_run: bool = False,
    **options: Any,
) -> Change:
    """Add the hooks to a settings file; doing it again changes only what was asked for differently."""
    path, place = Path(settings_path).expanduser().absolute(), _home(home)
    unknown = [event for event in events if event not in EVENTS]
    if unknown:
        raise InvalidSetting(f"There is no hook {', '.join(unknown)}.", fix=f"Known: {', '.join(EVENTS)}.")
    location = memory if "://" in memory else os.path.abspath(os.path.expanduser(memory))
    settings = from_json({**_known(place), **options, "memory": location})
    before = _text(path)
    if path.suffix == ".toml":
        after = _codex_with(before or "", place)
    else:
        after = _written(_claude_with(_claude_without(_parsed(path, before)), place, events), before)
    change = Change(path=path, before=before, after=after, backup=_backup(path, place, before))
    if not dry_run:
        save(str(place), settings)
        _apply(change, place)
    return change


def uninstall(settings_path: str | Path, *, home: str | Path | None = None, dry_run: bool = False) -> Change:
    """Take the hooks out: the file as it was before, or, where it was changed since, just without our entries."""
    path, place = Path(settings_path).expanduser().absolute(), _home(home)
    known: Json = _installed(place).get(str(path), {})
    before = _text(path)
    if before is None:
        raise BadLocation(f"There is no {path}.")
    backup = Path(known["backup"]) if known.get("backup") else None
    if known.get("written") == _digest(before):
        after = _text(backup) if backup is not None else None
    elif path.suffix == ".toml":
        after = _codex_without(before)
    else:
        after = _written(_claude_without(_parsed(path, before)), before)
    change = Change(path=path, before=before, after=after, backup=backup)
    if not dry_run:
        _replace(path, after)
        _note(place, str(path), None)
        if backup is not None:
            backup.unlink(missing_ok=True)
        if not _installed(place):
            asking.ask(str(place), {"do": "stop"}, 1.0)
    return change


def status(home: str | Path | None = None) -> Json:
    """Tell what is installed, switched on and going on."""
    place = _home(home)
    try:
        settings = load(str(place))
    except InvalidSetting:
        return {"home": str(place), "installed": []}
    resident = asking.ask(str(place), {"do": "ping"}, 1.0)
    return {
        "home": str(place),
        "memory": settings.memory,
        "installed": [
            {"settings": path, "hooks": _hooks_in(Path(path)), "backup": known.get("backup")}
            for path, known in _installed(place).items()
        ],
        "on": {event: event not in settings.off for event in EVENTS},
        "settings": settings._asdict(),
        "resident": resident,
        "transcripts": positions.count(str(place)),
        "log": str(place / journal.FILE),
        "errors": journal.last_errors(str(place), _ERRORS_SHOWN),
    }


def switch(name: str, *, on: bool, home: str | Path | None = None) -> None:
    """Turn one switch."""
    place = str(_home(home))
    save(place, switched(load(place), name, on=on))


# Claude Code


def _command(home: Path, verb: str) -> list[str]:
    return [*asking.COMMAND, verb, "--home", str(home)]


def _claude_with(settings: Json, home: Path, events: tuple[str, ...]) -> Json:
    hooks: Json = dict(settings.get("hooks", {}))
    ours = {"type": "command", "command": shlex.join(_command(home, "run")), "timeout": _AGENT_LIMIT_S}
    for event in events:
        hooks[event] = [*_entries(hooks, event), {"hooks": [ours]}]
    return {**settings, "hooks": hooks}


def _claude_without(settings: Json) -> Json:
    if "hooks" not in settings:
        return settings
    hooks: Json = {}
    for event, entries in cast("Json", settings["hooks"]).items():
        kept = [entry for entry in _entries({event: entries}, event) if not _is_ours(entry)]
        if kept or not entries:
            hooks[event] = kept
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    return {**settings, "hooks": hooks} if hooks else rest


def _entries(hooks: Json, event: str) -> list[Any]:
    entries: Any = hooks.get(event, [])
    if not isinstance(entries, list):
        raise InvalidInput(f"The hooks of {event} are no list; correct the settings file first.")
    return cast("list[Any]", entries)


def _is_ours(entry: Any) -> bool:
    return f"-m {_OURS} run" in json.dumps(entry)


def _parsed(path: Path, text: str | None) -> Json:
    try:
        settings: Any = json.loads(text) if text and text.strip() else {}
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON ({error}).", fix="Correct it first; it was not touched.") from error
    if not isinstance(settings, dict) or not isinstance(cast("Json", settings).get("hooks", {}), dict):
        raise InvalidInput(f"{path} is not what Claude Code reads.", fix="Check the path; it was not touched.")
    return cast("Json", settings)


def _written(settings: Json, before: str | None) -> str:
    """Write settings in the hand of who wrote them before, so that the change shows nothing but itself."""
    before = "{}\n" if before is None else before
    step = re.search(r"^( +|\t)\S", before, re.MULTILINE)
    text = json.dumps(settings, indent=step[1] if step else 2, ensure_ascii=before.isascii())
    return f"{text}\n" if before.endswith("\n") else text


# Codex


def _codex_with(text: str, home: Path) -> str:
    text = _codex_without(text)
    if "notify" in _parsed_toml(text):
        raise InvalidInput(
            "Codex's settings have a notify command already, and it can have one only.",
            fix="Remove its line first, or call both from a script of your own.",
        )
    # A JSON list of strings is a TOML one. At the top: what follows a [table] belongs to it.
    line = f"notify = {json.dumps(_command(home, 'codex'))}\n"
    return line + text


def _codex_without(text: str) -> str:
    _parsed_toml(text)
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not (_NOTIFY.match(line) and f'"-m", "{_OURS}"' in line))


def _parsed_toml(text: str) -> Json:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"Codex's settings are not TOML ({error}).", fix="Correct them first.") from error


# Files


def _home(home: str | Path | None) -> Path:
    return (default_home() if home is None else Path(home)).expanduser().absolute()


def _known(home: Path) -> Json:
    try:
        return load(str(home))._asdict() if (home / FILE).exists() else {}
    except InvalidSetting:
        return {}


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadLocation(f"{path} can't be read ({error}).") from error


def _backup(path: Path, home: Path, before: str | None) -> Path | None:
    """Name the backup: the one of the first installation, for as long as it lasts."""
    known: Json = _installed(home).get(str(path), {})
    if known:
        return Path(known["backup"]) if known.get("backup") else None
    return None if before is None else path.with_name(path.name + _BACKUP)


def _apply(change: Change, home: Path) -> None:
    first = str(change.path) not in _installed(home)
    if first and change.backup is not None and change.before is not None:
        _replace(change.backup, change.before)
    _replace(change.path, change.after)
    written = _digest(change.after or "")
    _note(home, str(change.path), {"backup": str(change.backup) if change.backup else None, "written": written})


def _replace(path: Path, text: str | None) -> None:
    try:
        if text is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()  # settings are often links into a folder of dotfiles
        new = target.with_name(f"{target.name}.new")
        new.write_text(text, encoding="utf-8")
        if target.exists():
            os.chmod(new, target.stat().st_mode & 0o777)
        os.replace(new, target)
    except OSError as error:
        raise BadLocation(f"{path} can't be written ({error.strerror}).") from error


def _installed(home: Path) -> dict[str, Json]:
    text = _text(home / _INSTALLED)
    try:
        known: Any = json.loads(text) if text else {}
    except ValueError:
        known = {}
    return cast("dict[str, Json]", known) if isinstance(known, dict) else {}


def _note(home: Path, path: str, what: Json | None) -> None:
    known = {name: value for name, value in _installed(home).items() if name != path}
    _replace(home / _INSTALLED, json.dumps(known if what is None else {**known, path: what}, indent=2))


def _hooks_in(path: Path) -> list[str]:
    text = _text(path)
    if text is None:
        return []
    try:
        if path.suffix == ".toml":
            return ["notify"] if _codex_without(text) != text else []
        hooks: Json = _parsed(path, text).get("hooks", {})
        return [event for event in hooks if any(map(_is_ours, _entries(hooks, event)))]
    except InvalidInput:
        return []


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
