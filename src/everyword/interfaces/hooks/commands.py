"""The commands of `everyword hook`: install, uninstall, status, on, off, measure."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everyword.errors import EverywordError, StoreBusy
from everyword.interfaces.cli.defaults import default_path
from everyword.interfaces.hooks import client
from everyword.interfaces.hooks import install as installing
from everyword.interfaces.hooks.daemon import LOCK
from everyword.interfaces.hooks.state import AGENT_EVENTS, EVENTS, home_of, load, save
from everyword.settings import REDACTION_LEVELS, expanded

_ALL = "all"  # every changed file, also those changed by `everyword init`
_READY_S = 60.0  # for the resident process to load the model
_END_S = 10.0  # for it to end
# Typical prompts, about nothing in particular.
_PROMPTS = (
    "What did we decide about the database?",
    "Why does the build fail on the second machine?",
    "Please rename the function and run the tests again.",
    "When is the next release planned, and who prepares it?",
    "Fix the flaky test.",
)


def main(arguments: Sequence[str]) -> int:
    """Run a command; return the exit code."""
    try:
        parsed = _parser().parse_args(arguments)
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0
    try:
        _COMMANDS[parsed.verb](parsed)
    except EverywordError as error:
        sys.stderr.write(f"everyword: {error}\n")
        return error.exit_code
    return 0


def _install(parsed: Any) -> None:
    path = _settings_path(parsed)
    wanted = tuple(event for event in EVENTS if event not in (parsed.without or ()))
    patterns = os.path.abspath(expanded(parsed.secret_patterns)) if parsed.secret_patterns else None
    options: dict[str, Any] = {
        "save_every": parsed.every,
        "embedder": parsed.embedder,
        "redact": parsed.redact,
        "secret_patterns": patterns,
    }
    options = {name: value for name, value in options.items() if value}
    options |= {"memory": parsed.memory or default_path(), "home": parsed.home, "events": wanted, "agent": parsed.agent}
    change = installing.install(path, **options, dry_run=True)
    _show(change.diff or "Nothing changes.\n")
    if parsed.dry_run or not _is_confirmed(parsed):
        return
    done = installing.install(path, **options)
    _show(f"Installed into {done.path}." + (f" A backup is in {done.backup}.\n" if done.backup else "\n"))


def _uninstall(parsed: Any) -> None:
    every = parsed.agent == _ALL
    paths = [Path(path) for path in installing.installed(home_of(parsed.home))] if every else [_settings_path(parsed)]
    for path in paths:
        _show(installing.uninstall(path, home=parsed.home, dry_run=True).diff or "Nothing changes.\n")
    if paths and not parsed.dry_run and _is_confirmed(parsed):
        for path in paths:
            installing.uninstall(path, home=parsed.home)
        _show("Removed.\n")


def _status(parsed: Any) -> None:
    found = installing.status(parsed.home)
    if parsed.json:
        _show(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return
    if not found["installed"]:
        _show("No hooks are installed. To install them: everyword init\n")
    for one in found["installed"]:
        _show(f"{one['settings']}: {', '.join(one['hooks']) or 'the MCP server'}\n")
    if "memory" not in found:
        return
    off = [event for event, on in found["on"].items() if not on]
    resident = "running" if found["resident"] else "not running"
    _show(f"memory: {found['memory']}\n")
    _show(f"switched off: {', '.join(off) or 'nothing'}\n")
    _show(f"resident process: {resident}; saved transcripts: {found['transcripts']}; log: {found['log']}\n")
    for error in found["errors"]:
        _show(f"error: {error}\n")


def _switch(parsed: Any) -> None:
    installing.switch(parsed.name, on=parsed.verb == "on", home=parsed.home)


def _measure(parsed: Any) -> None:
    for timing in measure(parsed.home, runs=parsed.runs):
        _show(f"{timing.hook:18} p50 {timing.p50_ms:6.0f} ms   p95 {timing.p95_ms:6.0f} ms   {timing.runs} runs\n")


_COMMANDS = {
    "install": _install,
    "uninstall": _uninstall,
    "status": _status,
    "on": _switch,
    "off": _switch,
    "measure": _measure,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="everyword hook", description="Hooks of coding agents.", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, about in (
        ("install", "save an agent's conversations, and tell it what the memory knows"),
        ("uninstall", "remove the hooks"),
    ):
        verb = verbs.add_parser(name, help=about)
        agents = tuple(AGENT_EVENTS) if name == "install" else (*AGENT_EVENTS, _ALL)
        verb.add_argument("agent", choices=agents, nargs="?", default="claude-code")
        verb.add_argument("--settings", metavar="PATH", help="the agent's settings (default: those of this user)")
        verb.add_argument("--dry-run", action="store_true", help="show the change without making it")
        verb.add_argument("--yes", action="store_true", help="do not ask")
        if name == "install":
            verb.add_argument("--memory", metavar="PATH", help="the memory to save to")
            verb.add_argument("--embedder", metavar="NAME")
            verb.add_argument("--every", type=int, metavar="N", help="messages between two saves (default: 15)")
            verb.add_argument("--redact", choices=REDACTION_LEVELS, help="what to remove (default: credentials)")
            verb.add_argument("--secret-patterns", metavar="PATH", help="a JSON file with patterns of secrets")
            verb.add_argument("--without", action="append", choices=EVENTS, help="leave a hook out")
    status = verbs.add_parser("status", help="show what is installed and switched on, and the last errors")
    status.add_argument("--json", action="store_true", help="one JSON document")
    for name in ("on", "off"):
        verb = verbs.add_parser(name, help=f"switch a hook {name}")
        verb.add_argument("name", metavar="HOOK", help=f"{', '.join(EVENTS)}, inject_prompt, resident, save_tools")
    verbs.add_parser("measure", help="time each hook on this memory").add_argument("--runs", type=int, default=50)
    for verb in verbs.choices.values():
        verb.add_argument("--home", metavar="PATH", help="the folder of the hooks' own files")
    return parser


def _settings_path(parsed: Any) -> Path:
    return expanded(parsed.settings) if parsed.settings else installing.places()[parsed.agent].hooks


def _is_confirmed(parsed: Any) -> bool:
    if parsed.yes:
        return True
    if not (sys.stdin and sys.stdin.isatty()):
        _show("Nothing was changed. Pass --yes to confirm.\n")
        return False
    return input("Continue? [y/N] ").strip().lower() in ("y", "yes")


def _show(text: str) -> None:
    sys.stdout.write(text)


# Measure: start a process for each hook as an agent does, write its input, wait for its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long the runs of one hook took."""

    hook: str
    runs: int
    p50_ms: float
    p95_ms: float
    most_ms: float


def measure(home: str | Path | None = None, *, runs: int = 50) -> list[Timing]:
    """Time every hook on the installed memory; start the resident process first if it is switched on."""
    place = home_of(home)
    settings = load(str(place))
    # In a temporary home, so that the user's sessions and log stay as they are.
    with tempfile.TemporaryDirectory(prefix="everyword-", ignore_cleanup_errors=True) as trial:
        save(trial, settings)
        # A transcript without messages, so that only the hook is timed and nothing is saved.
        transcript = Path(trial) / "transcript.jsonl"
        transcript.write_text('{"type": "mode"}\n' * 100)
        try:
            _wait_until_ready(trial)
            return [_timed(trial, str(place), event, str(transcript), runs) for event in EVENTS]
        finally:
            _end(trial)


def _timed(home: str, cwd: str, event: str, transcript: str, runs: int) -> Timing:
    took = sorted(_once(home, cwd, event, transcript, _PROMPTS[run % len(_PROMPTS)]) for run in range(runs))
    return Timing(hook=event, runs=runs, p50_ms=_share(took, 0.5), p95_ms=_share(took, 0.95), most_ms=took[-1] * 1000)


def _once(home: str, cwd: str, event: str, transcript: str, prompt: str) -> float:
    payload: dict[str, Any] = {
        "session_id": "measured",
        "transcript_path": transcript,
        "cwd": cwd,
        "hook_event_name": event,
        "prompt": prompt,
    }
    command = [*client.COMMAND, "run", "--home", home]
    started = time.perf_counter()
    subprocess.run(command, input=json.dumps(payload).encode(), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def _share(took: Sequence[float], share: float) -> float:
    return took[min(len(took) - 1, int(len(took) * share))] * 1000


def _wait_until_ready(home: str) -> None:
    if not load(home).resident or not client.has_sockets(home):
        return
    deadline = time.monotonic() + _READY_S
    client.start(home)
    while time.monotonic() < deadline:
        if (client.ask(home, {"do": "ping"}, 1.0) or {}).get("ready"):
            return
        time.sleep(0.1)
    raise EverywordError("The resident process did not become ready.", fix="See the log: everyword hook status")


def _end(home: str) -> None:
    """Stop the resident process and wait until it releases its lock."""
    from everyword.storage.sqlite.write_lock import Turn  # slow to import

    if client.ask(home, {"do": "stop"}, 1.0) is not None:
        with suppress(StoreBusy), Turn(Path(home) / LOCK, timeout_s=_END_S).taken():
            pass
