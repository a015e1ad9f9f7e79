"""What the hooks are set to do: one JSON file in their home, read by every hook.

A NamedTuple where the rest of the code has dataclasses: those bring `inspect`, which would cost each hook 10 ms.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from recollect.core.private import make_private_folder, open_private

if TYPE_CHECKING:
    from recollect.core.errors import InvalidSetting

EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
FILE = "hooks.json"


class HookSettings(NamedTuple):
    """Where the memory is, and what hooks may do."""

    memory: str
    space: str | None = None
    embedder: str | None = None
    off: tuple[str, ...] = ()  # the hooks that are switched off
    # Messages between two saves. Fewer cost more starts of the model; more are lost from recall while a session runs
    # (never from the disk: the agent's own transcript has them, and the next hook saves them).
    save_every: int = 15
    # What tools were asked and answered is mostly files that are on disk anyway, and ten times what was said.
    save_tools: bool = False
    inject_prompt: bool = True  # a few cited lines beside a prompt
    # Calibrated probability that the memory holds an answer. Below it, lines would more often distract than help.
    confidence: float = 0.8
    prompt_tokens: int = 300
    start_tokens: int = 220  # at the start of a session: who the agent is, what matters now, a heading and the fence
    redact: str | None = None  # what is taken out: "credentials", "personal" or "none"
    secret_patterns: str | None = None  # a file of patterns beside or instead of those that are known
    # The wing of a folder's sessions, by the folder's name, where it has another. Never changed in place.
    wings: dict[str, str] = {}  # noqa: RUF012
    resident: bool = True
    # Seconds after which a hook ends itself, whatever it waits for. A person notices a second; an agent's own limit is
    # ten or more.
    timeout_s: float = 1.0


_SWITCHES = ("inject_prompt", "resident", "save_tools")


def load(home: str) -> HookSettings:
    """Read the settings."""
    try:
        with open(os.path.join(home, FILE), "rb") as file:
            given = json.load(file)
    except (OSError, ValueError) as error:
        raise _invalid(f"The hooks are not set up in {home} ({error}).", "Run: recollect hook install") from error
    return from_json(given)


def from_json(given: Any) -> HookSettings:
    """Check settings; each has the type that its default has."""
    if not isinstance(given, dict):
        raise _invalid("The settings of hooks are a JSON object.")
    fields = {name: value for name, value in cast("dict[str, Any]", given).items() if name in HookSettings._fields}
    if not isinstance(fields.get("memory"), str):
        raise _invalid("The settings of hooks name no memory.", "Run: recollect hook install")
    for name, value in fields.items():
        if name == "off":
            fields[name] = (
                tuple(str(one) for one in cast("list[Any]", value)) if isinstance(value, list | tuple) else ()
            )
        elif not isinstance(value, _types(HookSettings._field_defaults.get(name))):
            raise _invalid(f"The hooks' setting {name} can't be {value!r}.")
    return HookSettings(**fields)


def _types(default: object) -> tuple[type, ...]:
    if default is None:
        return (str, type(None))
    return (float, int) if isinstance(default, float) else (default.__class__,)


def save(home: str, settings: HookSettings) -> None:
    """Write the settings, all or nothing."""
    path = os.path.join(home, FILE)
    try:
        make_private_folder(home)
        with open(open_private(f"{path}.new", os.O_WRONLY | os.O_TRUNC, like=path), "w", encoding="utf-8") as file:
            json.dump(settings._asdict(), file, indent=2)
        os.replace(f"{path}.new", path)
    except OSError as error:
        from recollect.core.errors import BadLocation

        fix = "Choose another home of hooks: --home, or RECOLLECT_HOOKS_HOME."
        raise BadLocation(f"{path} can't be written ({error.strerror}).", fix=fix) from error


def switched(settings: HookSettings, name: str, *, on: bool) -> HookSettings:
    """Give the settings with one switch turned."""
    if name in _SWITCHES:
        return settings._replace(**{name: on})
    if name not in EVENTS:
        raise _invalid(f"There is no switch {name!r}.", f"Known: {', '.join((*EVENTS, *_SWITCHES))}.")
    return settings._replace(off=tuple(one for one in settings.off if one != name) + (() if on else (name,)))


def _invalid(detail: str, fix: str | None = None) -> InvalidSetting:
    from recollect.core.errors import InvalidSetting  # only a hook that fails pays for it

    return InvalidSetting(detail, fix=fix)
