"""Run one hook: read the agent's JSON, pass long work on, print the answer, and exit with 0 whatever happens."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from everyword.interfaces.hooks import client, state
from everyword.interfaces.hooks.agents import AGENTS
from everyword.interfaces.hooks.state import HookSettings, home_of, load_or_default
from everyword.text.requests import asked_to_remember

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_INPUT_BYTES = 8 << 20  # enough for a prompt with pasted files; longer input fails to parse
_MOST_TAIL_BYTES = 4 << 20  # of unsaved transcript in which messages are counted; more is saved at once
# What a line of a transcript of Claude Code has that holds words of the user or the agent, and lines of tools have not.
_SPEAKER, _WORDS = rb'"role": ?"(?:user|assistant)"', rb'"(?:content": ?"|type": ?"text")'
_KEPT = "Everyword keeps this message in the user's long-term memory. Tell the user so, in a few words."
_ASKING_SHARE = 0.9  # of a hook's time limit for requests; the rest is left to print the answer
_ASK_AGAIN_S = 0.03  # while the resident process starts
_JUST_S = 5.0  # after the start of a session, in which the resident process may still be starting


def main(argv: Sequence[str] | None = None, stdin: BinaryIO | None = None) -> int:
    """Run a hook, or a process that a hook started. Log errors instead of raising: the agent must go on."""
    started, arguments = time.perf_counter(), list(sys.argv[1:] if argv is None else argv)
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
        # sys.stdin is None if the agent closed standard input.
        given = stdin or getattr(sys.stdin, "buffer", None) or io.BytesIO()
        _run_in_time(home, _option(arguments, "--agent") or "claude-code", given)
    except BaseException as error:
        state.log(home, f"{arguments[0]} error: {type(error).__name__}: {error}")
    else:
        state.log(home, f"{arguments[0]} took {(time.perf_counter() - started) * 1000:.0f} ms")
    return 0


def _option(arguments: list[str], name: str) -> str | None:
    at = arguments.index(name) + 1 if name in arguments else len(arguments)
    return arguments[at] if at < len(arguments) else None


def _run_in_time(home: str, agent: str, stdin: BinaryIO) -> None:
    """Run a hook; end this process after a time, even if a call does not return."""
    import threading

    settings = load_or_default(home)

    def end() -> None:
        state.log(home, f"error: ended after {settings.timeout_s} s")
        os._exit(0)

    timer = threading.Timer(settings.timeout_s, end)
    timer.daemon = True
    timer.start()
    try:
        _Hook(home, settings, agent, client.json_object(stdin.read(_MOST_INPUT_BYTES))).run()
    finally:
        timer.cancel()


class _Hook:
    def __init__(self, home: str, settings: HookSettings, name: str, payload: dict[str, Any]) -> None:
        self._home = home
        self._settings = settings
        self._name = name
        self._agent = AGENTS[name]
        self._payload = payload
        self._event = self._text("hook_event_name")  # as the agent calls it
        self._session = self._text("session_id", "conversation_id")
        roots = payload.get("workspace_roots")
        named = cast("list[Any]", roots) if isinstance(roots, list) else []
        self._cwd = self._text("cwd") or next((root for root in named if isinstance(root, str)), "")
        path = self._text("transcript_path")
        self._path = os.path.abspath(os.path.expanduser(path)) if path else ""
        self._deadline = time.monotonic() + settings.timeout_s * _ASKING_SHARE

    def run(self) -> None:
        event = next((ours for ours, theirs in self._agent.events.items() if theirs == self._event), "")
        if not event or event in self._settings.off:
            return
        if event == "SessionStart":
            # Who takes no context beside a prompt has to wait for it here.
            text = self._start(waits=not self._agent.takes_context_of_prompt)
            self._write_answer(text or "")
            if text is not None:
                state.clear_owed_start(self._home, self._session)
        elif event == "UserPromptSubmit":
            self._on_prompt(self._text("prompt"))
        elif event != "Stop" or self._name != "claude-code" or self._is_due():
            self._save_elsewhere()

    def _on_prompt(self, prompt: str) -> None:
        is_kept = False
        if self._name == "cursor" or asked_to_remember(prompt):
            is_kept = self._save_elsewhere(awaits=prompt[:200])
        if not self._agent.takes_context_of_prompt:
            return
        owed = state.start_owed_since(self._home, self._session)
        # Right after the start, a program may ask once and end; later, nobody waits.
        start_text = None if owed is None else self._start(waits=owed < _JUST_S)
        lines = ""
        if self._settings.inject_prompt and prompt.strip() and not prompt.startswith("/"):  # a slash command
            lines = self._ask({"do": "prompt", "prompt": prompt, "session": self._session, "cwd": self._cwd})
        self._write_answer("\n\n".join(filter(None, (start_text, lines, _KEPT if is_kept else ""))))
        if start_text is not None:
            # Only after printing: the hook may be ended at any time.
            state.clear_owed_start(self._home, self._session)

    def _start(self, *, waits: bool) -> str | None:
        """Return the text for the start of a session; None if it is not ready and will come with the next prompt."""
        text = self._ask({"do": "start", "session": self._session, "cwd": self._cwd}, waits=waits)
        if text is None:
            state.owe_start(self._home, self._session)
        return text

    def _ask(self, request: dict[str, Any], *, waits: bool = False) -> str | None:
        """Ask the resident process, or this one where there can be none. None: it starts now. waits: for its start."""
        if self._settings.resident and client.has_sockets(self._home):
            answer = client.ask(self._home, request, self._deadline - time.monotonic())
            if answer is None:
                client.start(self._home)
            while answer is None and waits and time.monotonic() < self._deadline:
                time.sleep(_ASK_AGAIN_S)
                answer = client.ask(self._home, request, self._deadline - time.monotonic())
            return None if answer is None else str(answer.get("text", ""))
        from everyword.interfaces.hooks.actions import HookActions

        return HookActions(self._home, self._settings).answer(request)

    def _save_elsewhere(self, **more: str) -> bool:
        """Let another process save a transcript; return whether there is one. If that fails, the next hook finds it."""
        what = {**self._transcript(), **more}
        if not what["transcript"]:
            return False
        home, limit = self._home, self._settings.timeout_s / 4
        if not self._settings.resident or client.ask(home, {"do": "save", **what}, limit) is None:
            client.start_detached("save", "--home", home, "--what", json.dumps(what))
        return True

    def _transcript(self) -> dict[str, Any]:
        """Say what to save: a transcript, or, where the agent keeps none that we can read, what the payload says."""
        if self._agent.format and (self._path or self._name != "codex"):  # Codex keeps no file of some sessions
            return {"transcript": self._path, "format": self._agent.format, "cwd": self._cwd}
        turn = {
            "agent": self._name,
            "session": self._session,
            "number": self._text("generation_id", "turn_id"),
            "cwd": self._cwd,
            "prompt": self._text("prompt"),
            "reply": self._text("text", "last_assistant_message"),
        }
        return {"transcript": self._name if self._session else "", "turn": turn}

    def _is_due(self) -> bool:
        """Tell whether enough messages are unsaved."""
        if not self._path or not os.path.exists(self._path):
            return False
        at = state.read_position(self._home, self._path)
        if not at:
            # So that a later session saves the transcript if this one ends without a hook.
            state.write_position(self._home, self._path, {"byte": 0, "line": 0}, "claude-code")
        with open(self._path, "rb") as file:
            file.seek(int(at.get("byte", 0)))
            tail = file.read(_MOST_TAIL_BYTES + 1)
        messages = sum(map(_is_message, tail.splitlines()))
        return len(tail) > _MOST_TAIL_BYTES or messages >= self._settings.save_every

    def _text(self, *names: str) -> str:
        """Return the first of these members that is a text; anything else counts as empty."""
        values = (self._payload.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), "")

    def _write_answer(self, text: str) -> None:
        """Print what the agent is to know, in the form that it reads."""
        if not text:
            return
        answer: dict[str, Any] = {"hookSpecificOutput": {"hookEventName": self._event, "additionalContext": text}}
        if self._agent.answer:
            answer = {self._agent.answer: text}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _is_message(line: bytes) -> bool:
    """Tell whether a line is a whole message of the user or the agent, not of a tool."""
    is_whole = line.endswith(b"}") and b'"tool_result"' not in line
    return is_whole and bool(re.search(_SPEAKER, line) and re.search(_WORDS, line))
