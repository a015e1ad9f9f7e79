"""Run one hook: read the agent's JSON, pass long work on, print the answer, and exit with 0 whatever happens."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from everyword.interfaces.hooks import client, state
from everyword.interfaces.hooks.agents import AGENTS
from everyword.interfaces.hooks.state import HookSettings, home_of, load_or_default

_MOST_INPUT_BYTES = 8 << 20  # enough for a prompt with pasted files; longer input fails to parse
_MOST_TAIL_BYTES = 4 << 20  # of unsaved transcript in which messages are counted; more is saved at once
_REMEMBER = re.compile(
    r"\b(?:remember|keep in mind|note|(?:don'?t|do not|never) forget)\s{0,3}(?:that\b|this\b|:)", re.IGNORECASE
)
_KEPT = "Everyword keeps this message in the user's long-term memory. Tell the user so, in a few words."
_ASKING_SHARE = 0.9  # of a hook's time limit for requests; the rest is left to print the answer
_ASK_AGAIN_S = 0.03  # while the resident process starts
_SCANNED_CHARS = 5_000  # of a prompt, for "remember that"


def main(arguments: list[str], stdin: BinaryIO) -> int:
    """Run a hook, or a process that a hook started. Log errors instead of raising: the agent must go on."""
    started = time.perf_counter()
    home = _option(arguments, "--home") or str(home_of(None))
    try:
        if arguments[0] == "resident":
            from everyword.interfaces.hooks.daemon import serve

            serve(home, int(_option(arguments, "--owner") or 0))
            return 0
        if arguments[0] == "save":
            from everyword.interfaces.hooks.actions import HookActions

            HookActions(home, load_or_default(home)).save(json.loads(_option(arguments, "--what") or "{}"))
            return 0
        settings = load_or_default(home)
        with _limit(settings.timeout_s, home):
            agent = _option(arguments, "--agent") or "claude-code"
            _run(home, settings, agent, _payload(stdin.read(_MOST_INPUT_BYTES)))
    except BaseException as error:
        state.log(home, f"{arguments[0]} error: {type(error).__name__}: {error}")
    else:
        state.log(home, f"{arguments[0]} took {(time.perf_counter() - started) * 1000:.0f} ms")
    return 0


def _option(arguments: list[str], name: str) -> str | None:
    at = arguments.index(name) + 1 if name in arguments else len(arguments)
    return arguments[at] if at < len(arguments) else None


def _payload(raw: bytes) -> dict[str, Any]:
    document: Any = json.loads(raw)
    if not isinstance(document, dict):
        raise ValueError("the agent did not send a JSON object")
    return cast("dict[str, Any]", document)


@contextmanager
def _limit(timeout_s: float, home: str) -> Generator[None]:
    """End this process after a time, even if a call does not return."""
    import threading

    def end() -> None:
        state.log(home, f"error: ended after {timeout_s} s")
        os._exit(0)

    timer = threading.Timer(timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _run(home: str, settings: HookSettings, agent: str, payload: dict[str, Any]) -> None:
    theirs = _text(payload, "hook_event_name")
    event = next((ours for ours, name in AGENTS[agent].events.items() if name == theirs), "")
    payload = {
        **payload,
        "session_id": _text(payload, "session_id") or _text(payload, "conversation_id"),
        "cwd": _text(payload, "cwd") or _first(payload.get("workspace_roots")),
    }
    deadline = time.monotonic() + settings.timeout_s * _ASKING_SHARE
    if not event or event in settings.off:
        return
    if event == "SessionStart":
        # Who takes no context beside a prompt has to wait for it here.
        text = _start(home, settings, payload, deadline, waits=not AGENTS[agent].takes_context_of_prompt)
        _write_answer(agent, theirs, text or "")
        if text is not None:
            state.clear_owed_start(home, payload["session_id"])
    elif event == "UserPromptSubmit":
        _on_prompt(home, settings, agent, theirs, payload, deadline)
    elif event != "Stop" or agent != "claude-code" or _is_due(home, settings, payload):
        _save_elsewhere(home, settings, _transcript(agent, payload))


def _on_prompt(
    home: str, settings: HookSettings, agent: str, theirs: str, payload: dict[str, Any], deadline: float
) -> None:
    prompt, session = _text(payload, "prompt"), payload["session_id"]
    is_kept = False
    if agent == "cursor" or _REMEMBER.search(prompt[:_SCANNED_CHARS]):
        is_kept = _save_elsewhere(home, settings, {**_transcript(agent, payload), "awaits": prompt[:200]})
    if not AGENTS[agent].takes_context_of_prompt:
        return
    just = state.has_just_started(home, session)  # a program may ask once and end; later, nobody waits
    start_text = _start(home, settings, payload, deadline, waits=just) if state.is_start_owed(home, session) else None
    lines = _for_prompt(home, settings, prompt, session, deadline) if settings.inject_prompt else ""
    texts = (start_text, lines, _KEPT if is_kept else "")
    _write_answer(agent, theirs, "\n\n".join(text for text in texts if text))
    if start_text is not None:
        state.clear_owed_start(home, session)  # only after printing: the hook may be ended at any time


def _start(home: str, settings: HookSettings, payload: dict[str, Any], deadline: float, *, waits: bool) -> str | None:
    """Return the text for the start of a session; None if it is not ready and will come with the next prompt."""
    text = _answer(home, settings, {"do": "start", "cwd": _text(payload, "cwd")}, deadline, waits=waits)
    if text is None:
        state.owe_start(home, _text(payload, "session_id"))
    return text


def _for_prompt(home: str, settings: HookSettings, prompt: str, session: str, deadline: float) -> str:
    if not prompt.strip() or prompt.startswith("/"):  # a slash command
        return ""
    return _answer(home, settings, {"do": "prompt", "prompt": prompt, "session": session}, deadline) or ""


def _answer(
    home: str, settings: HookSettings, request: dict[str, Any], deadline: float, *, waits: bool = False
) -> str | None:
    """Ask the resident process, or this one where there can be none. None: it starts now. waits: for its start."""
    if settings.resident and client.has_sockets(home):
        answer = client.ask(home, request, deadline - time.monotonic())
        if answer is None:
            client.start(home)
        while answer is None and waits and time.monotonic() < deadline:
            time.sleep(_ASK_AGAIN_S)
            answer = client.ask(home, request, deadline - time.monotonic())
        return None if answer is None else str(answer.get("text", ""))
    from everyword.interfaces.hooks.actions import HookActions

    return HookActions(home, settings).answer(request)


def _save_elsewhere(home: str, settings: HookSettings, what: dict[str, Any]) -> bool:
    """Let another process save a transcript; return whether there is one. If that fails, the next hook finds it."""
    if not what["transcript"]:
        return False
    if not settings.resident or client.ask(home, {"do": "save", **what}, settings.timeout_s / 4) is None:
        client.start_detached("save", "--home", home, "--what", json.dumps(what))
    return True


def _transcript(agent: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Say what to save: a transcript, or, where the agent keeps none that we can read, what the payload says."""
    path, session, format = _path(payload), payload["session_id"], AGENTS[agent].format
    if format and (path or agent != "codex"):  # Codex keeps no file of some sessions
        return {"transcript": path, "format": format, "cwd": payload["cwd"]}
    turn = {
        "agent": agent,
        "session": session,
        "number": _text(payload, "generation_id") or _text(payload, "turn_id"),
        "cwd": payload["cwd"],
        "prompt": _text(payload, "prompt"),
        "reply": _text(payload, "text") or _text(payload, "last_assistant_message"),
    }
    return {"transcript": agent if session else "", "turn": turn}


def _path(payload: dict[str, Any]) -> str:
    """Return the absolute path of the transcript."""
    path = _text(payload, "transcript_path")
    return os.path.abspath(os.path.expanduser(path)) if path else ""


def _text(payload: dict[str, Any], name: str) -> str:
    """Return a member that is a string; anything else counts as empty."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def _first(values: Any) -> str:
    """Return the first of a list of strings."""
    first: Any = cast("list[Any]", values)[0] if isinstance(values, list) and values else ""
    return first if isinstance(first, str) else ""


def _is_due(home: str, settings: HookSettings, payload: dict[str, Any]) -> bool:
    """Tell whether enough messages are unsaved."""
    path = _path(payload)
    if not path or not os.path.exists(path):
        return False
    at = state.read_position(home, path)
    if not at:
        # So that a later session saves the transcript if this one ends without a hook.
        state.write_position(home, path, {"byte": 0, "line": 0}, "claude-code")
    with open(path, "rb") as file:
        file.seek(int(at.get("byte", 0)))
        tail = file.read(_MOST_TAIL_BYTES + 1)
    return len(tail) > _MOST_TAIL_BYTES or sum(map(_is_message, tail.splitlines())) >= settings.save_every


def _is_message(line: bytes) -> bool:
    """Tell whether a line is a message of the user or the agent, not of a tool, and is complete."""
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


def _write_answer(agent: str, event: str, text: str) -> None:
    """Print what the agent is to know, in the form that it reads."""
    if not text:
        return
    answer: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    if AGENTS[agent].answer:
        answer = {AGENTS[agent].answer: text}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
