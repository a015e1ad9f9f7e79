"""The settings of hooks: one JSON file in their home, read by every hook.

Settings are a NamedTuple because dataclasses import `inspect`, which would cost each hook 10 ms.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from everyword.private_files import make_private_folder, open_private

if TYPE_CHECKING:
    from everyword.errors import InvalidSetting

EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")
FILE = "hooks.json"
# By agent: its name for each of our events, where it has such a hook.
AGENT_EVENTS: dict[str, dict[str, str]] = {
    "claude-code": {event: event for event in EVENTS},
    "codex": {event: event for event in EVENTS if event != "SessionEnd"},
    "gemini": {
        "SessionStart": "SessionStart",
        "UserPromptSubmit": "BeforeAgent",
        "PreCompact": "PreCompress",
        "Stop": "AfterAgent",
        "SessionEnd": "SessionEnd",
    },
    # Cursor has no hook after which its transcript could be read, so each reply is saved as it comes.
    "cursor": {"SessionStart": "sessionStart", "UserPromptSubmit": "beforeSubmitPrompt", "Stop": "afterAgentResponse"},
    "copilot": {event: event for event in EVENTS},
}
# The format of the agent's transcripts, as `everyword import` names it.
TRANSCRIPTS = {
    "claude-code": "claude-code",
    "codex": "codex",
    "gemini": "gemini-cli",
    "copilot": "copilot-cli",
}


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
    # Wings by folder name, for folders whose wing has another name. Never modified.
    wings: dict[str, str] = {}  # noqa: RUF012
    resident: bool = True
    # Seconds after which a hook ends itself. A person notices a second; agents end a hook after ten or more.
    timeout_s: float = 1.0


_SWITCHES = ("inject_prompt", "resident", "save_tools")


def load(home: str) -> HookSettings:
    """Read the settings."""
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
    from everyword.interfaces.cli.location import default_path

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
        if name == "off":
            fields[name] = (
                tuple(str(one) for one in cast("list[Any]", value)) if isinstance(value, list | tuple) else ()
            )
        elif not isinstance(value, _types(HookSettings._field_defaults.get(name))):
            raise _invalid(f"Invalid value {value!r} of the hook setting {name}.")
    return HookSettings(**fields)


def _types(default: object) -> tuple[type, ...]:
    if default is None:
        return (str, type(None))
    return (float, int) if isinstance(default, float) else (default.__class__,)


def save(home: str, settings: HookSettings) -> None:
    """Write the settings atomically."""
    path = os.path.join(home, FILE)
    try:
        make_private_folder(home)
        with open(open_private(f"{path}.new", os.O_WRONLY | os.O_TRUNC, like=path), "w", encoding="utf-8") as file:
            json.dump(settings._asdict(), file, indent=2)
        os.replace(f"{path}.new", path)
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
    return settings._replace(off=tuple(one for one in settings.off if one != name) + (() if on else (name,)))


def _invalid(detail: str, fix: str | None = None) -> InvalidSetting:
    from everyword.errors import InvalidSetting  # slow to import; only failures need it

    return InvalidSetting(detail, fix=fix)
