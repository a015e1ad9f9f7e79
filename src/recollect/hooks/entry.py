"""One hook: read what the agent says, hand on what takes long, answer what can be answered at once, end with 0."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from recollect.hooks import asking, journal, positions
from recollect.hooks.settings import HookSettings, load

_MOST_INPUT_BYTES = 8 << 20  # a prompt with pasted files; what is longer is cut, and no JSON any more
_MOST_TAIL_BYTES = 4 << 20  # unsaved transcript that is looked through; more than this is saved without counting
_REMEMBER = re.compile(
    r"\b(?:remember|keep in mind|note|(?:don'?t|do not|never) forget)\s{0,3}(?:that\b|this\b|:)", re.IGNORECASE
)
_ASKING_SHARE = 0.9  # of a hook's time, for what it asks others: what was told by then must still be handed on
_LOOKED_AT_CHARS = 5_000  # of a prompt, for "remember that"


def main(arguments: list[str], stdin: BinaryIO) -> int:
    """Run what an agent or a hook started; nothing that goes wrong here is the agent's trouble."""
    started = time.perf_counter()
    home = _option(arguments, "--home") or ""
    try:
        if arguments[0] == "resident":
            from recollect.hooks.resident import serve

            serve(home, int(_option(arguments, "--owner") or 0))
            return 0
        if arguments[0] == "save":
            from recollect.hooks.work import Work

            Work(home, load(home)).save(json.loads(_option(arguments, "--what") or "{}"))
            return 0
        settings = load(home)
        with _limit(settings.timeout_s, home):
            if arguments[0] == "codex":
                _codex(home, settings, _payload(arguments[-1].encode("utf-8", "surrogateescape")))
            else:
                _run(home, settings, _payload(stdin.read(_MOST_INPUT_BYTES)))
    except BaseException as error:
        journal.note(home, f"{arguments[0]} error: {type(error).__name__}: {error}")
    else:
        journal.note(home, f"{arguments[0]} took {(time.perf_counter() - started) * 1000:.0f} ms")
    return 0


def _option(arguments: list[str], name: str) -> str | None:
    at = arguments.index(name) + 1 if name in arguments else len(arguments)
    return arguments[at] if at < len(arguments) else None


def _payload(raw: bytes) -> dict[str, Any]:
    given: Any = json.loads(raw)
    if not isinstance(given, dict):
        raise ValueError("the agent sent no JSON object")
    return cast("dict[str, Any]", given)


@contextmanager
def _limit(timeout_s: float, home: str) -> Generator[None]:
    """End this process in time, also from within a call that does not return."""
    import threading

    def end() -> None:
        journal.note(home, f"error: ended after {timeout_s} s")
        os._exit(0)

    timer = threading.Timer(timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _run(home: str, settings: HookSettings, said: dict[str, Any]) -> None:
    event, session = _text(said, "hook_event_name"), _text(said, "session_id")
    deadline = time.monotonic() + settings.timeout_s * _ASKING_SHARE
    if event in settings.off:
        return
    if event == "SessionStart":
        told = _start(home, settings, said, deadline)
        _tell(event, told or "")
        if told is not None:
            positions.settle(home, session)
    elif event == "UserPromptSubmit":
        prompt = _text(said, "prompt")
        if _REMEMBER.search(prompt[:_LOOKED_AT_CHARS]):
            _hand_over(home, settings, {**_transcript(said), "awaits": prompt[:200]})
        owed = _start(home, settings, said, deadline) if positions.is_owed(home, session) else None
        lines = _for_prompt(home, settings, prompt, session, deadline) if settings.inject_prompt else ""
        _tell(event, "\n\n".join(text for text in (owed, lines) if text))
        if owed is not None:
            positions.settle(home, session)  # not before it is told: a hook may end at any time
    elif event in ("PreCompact", "SessionEnd") or (event == "Stop" and _is_due(home, settings, said)):
        _hand_over(home, settings, _transcript(said))


def _start(home: str, settings: HookSettings, said: dict[str, Any], deadline: float) -> str | None:
    """Give what a session should be told at its start; None: nobody could say it in time, and it is owed."""
    cwd, session = _text(said, "cwd"), _text(said, "session_id")
    if settings.resident and asking.possible(home):
        answer = asking.ask(home, {"do": "start", "cwd": cwd}, deadline - time.monotonic())
        if answer is None:
            # The first session of the day: it is not kept waiting, and gets this with its first prompt.
            asking.start(home)
            positions.owe(home, session)
            return None
        return str(answer.get("text", ""))
    from recollect.hooks.work import Work

    return Work(home, settings).start(cwd)


def _for_prompt(home: str, settings: HookSettings, prompt: str, session: str, deadline: float) -> str:
    if not prompt.strip() or prompt.startswith("/"):  # a command of the agent, not a question
        return ""
    if settings.resident and asking.possible(home):
        request = {"do": "prompt", "prompt": prompt, "session": session}
        answer = asking.ask(home, request, deadline - time.monotonic())
        if answer is None:
            asking.start(home)  # for the next prompt: this one is not kept waiting
        return str((answer or {}).get("text", ""))
    from recollect.hooks.work import Work

    return Work(home, settings).for_prompt(prompt, session)


def _hand_over(home: str, settings: HookSettings, what: dict[str, Any]) -> None:
    """Have a transcript saved by somebody else; if that fails, the next hook finds it unsaved."""
    if not what["transcript"]:
        return
    if settings.resident and asking.ask(home, {"do": "save", **what}, settings.timeout_s / 4) is not None:
        return
    asking.detached("save", "--home", home, "--what", json.dumps(what))


def _transcript(said: dict[str, Any]) -> dict[str, Any]:
    return {"transcript": _path(said), "format": "claude-code"}


def _path(said: dict[str, Any]) -> str:
    """Find the transcript wherever whoever reads it stands: it may be named from here, or from the user's home."""
    path = _text(said, "transcript_path")
    return os.path.abspath(os.path.expanduser(path)) if path else ""


def _text(said: dict[str, Any], name: str) -> str:
    """Take a member for what it should be; anything else counts as empty."""
    value = said.get(name)
    return value if isinstance(value, str) else ""


def _is_due(home: str, settings: HookSettings, said: dict[str, Any]) -> bool:
    """Count the messages that are not saved yet."""
    path = _path(said)
    if not path or not os.path.exists(path):
        return False
    at = positions.read(home, path)
    if not at:
        # Noted when first seen: if this session ends without a hook, the next one knows what is unsaved.
        positions.write(home, path, {"byte": 0, "line": 0}, "claude-code")
    with open(path, "rb") as file:
        file.seek(int(at.get("byte", 0)))
        tail = file.read(_MOST_TAIL_BYTES + 1)
    return len(tail) > _MOST_TAIL_BYTES or sum(map(_is_message, tail.splitlines())) >= settings.save_every


def _is_message(line: bytes) -> bool:
    """Tell what a person or the agent said from what tools did; half a line is nothing yet."""
    if b'"user"' not in line and b'"assistant"' not in line:
        return False
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(record, dict) or cast("Any", record).get("type") not in ("user", "assistant"):
        return False
    message: Any = cast("dict[str, Any]", record).get("message")
    content: Any = cast("dict[str, Any]", message).get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return True
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return any(isinstance(block, dict) and cast("Any", block).get("type") == "text" for block in blocks)


def _codex(home: str, settings: HookSettings, said: dict[str, Any]) -> None:
    if said.get("type") == "agent-turn-complete":
        # Codex says when a turn is over and never when a session is: every turn is saved.
        _hand_over(home, settings, {"transcript": "codex", "format": "codex", "turn": said})


def _tell(event: str, text: str) -> None:
    if text:
        answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
