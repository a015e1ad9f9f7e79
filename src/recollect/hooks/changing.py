"""Changing settings files of others: whole or not at all, with a backup, and a note of what was written."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from recollect.core.errors import BadLocation, InvalidInput
from recollect.core.paths import expanded, user_folder

_INSTALLED = "installed.json"
_BACKUP = ".before-recollect"

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
    return Path(named) if named else user_folder("state") / "hooks"


def home_of(home: str | Path | None) -> Path:
    """Tell where hooks keep their files, as named or by default."""
    return expanded(default_home() if home is None else home).absolute()


def parsed(path: Path, text: str | None) -> Json:
    """Read settings that are a JSON object; no file counts as an empty one."""
    try:
        settings: Any = json.loads(text) if text and text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON ({error}).", fix="Correct it first; it was not touched.") from error
    if not isinstance(settings, dict):
        raise InvalidInput(f"{path} holds no settings.", fix="Check the path; it was not touched.")
    return cast("Json", settings)


def written_like(settings: Json, before: str | None) -> str:
    """Write settings in the hand of who wrote them before, so that the change shows nothing but itself."""
    before = "{}\n" if before is None else before
    step = re.search(r"^( +|\t)\S", before, re.MULTILINE)
    text = json.dumps(settings, indent=step[1] if step else 2, ensure_ascii=before.isascii())
    return f"{text}\n" if before.endswith("\n") else text


def parsed_toml(text: str) -> Json:
    """Read settings that are TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"Codex's settings are not TOML ({error}).", fix="Correct them first.") from error


def text_of(path: Path) -> str | None:
    """Read a file; None where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadLocation(f"{path} can't be read ({error}).") from error


def backup_of(path: Path, home: Path, before: str | None) -> Path | None:
    """Name the backup: the one of the first installation, for as long as it lasts."""
    known: Json = installed(home).get(str(path), {})
    if known:
        return Path(known["backup"]) if known.get("backup") else None
    return None if before is None else path.with_name(path.name + _BACKUP)


def apply(change: Change, home: Path) -> None:
    """Do a change; keep what was there before the first one."""
    first = str(change.path) not in installed(home)
    if first and change.backup is not None and change.before is not None:
        replace_file(change.backup, change.before, like=change.path)
    replace_file(change.path, change.after)
    written = digest(change.after or "")
    note(home, str(change.path), {"backup": str(change.backup) if change.backup else None, "written": written})


def replace_file(path: Path, text: str | None, *, like: Path | None = None) -> None:
    """Write a file, all or nothing, open to those whom the old one was open to, or `like`; None removes it."""
    try:
        if text is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()  # settings are often links into a folder of dotfiles
        new = target.with_name(f"{target.name}.new")
        new.unlink(missing_ok=True)  # of a write that was cut short, and open to who knows whom
        mode = _mode(like or target)
        # Settings hold keys: not for a moment may the new file be open to more than the old one.
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
        if target.exists() or like is not None:
            os.chmod(new, mode)  # what the umask took
        os.replace(new, target)
    except OSError as error:
        raise BadLocation(f"{path} can't be written ({error.strerror}).") from error


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o666  # less what the umask takes


def installed(home: Path) -> dict[str, Json]:
    """Read what was changed, by path."""
    text = text_of(home / _INSTALLED)
    try:
        known: Any = json.loads(text) if text else {}
    except ValueError:
        known = {}
    return cast("dict[str, Json]", known) if isinstance(known, dict) else {}


def note(home: Path, path: str, what: Json | None) -> None:
    """Keep what was written to a file; None: nothing of ours is in it any more."""
    known = {name: value for name, value in installed(home).items() if name != path}
    replace_file(home / _INSTALLED, json.dumps(known if what is None else {**known, path: what}, indent=2))


def digest(text: str) -> str:
    """Tell a file's content from any other."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
