"""Time hooks as an agent runs them: start a process for each, write its input, wait for its end."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everyword.errors import EverywordError, StoreBusy
from everyword.interfaces.hooks import client
from everyword.interfaces.hooks.daemon import LOCK
from everyword.interfaces.hooks.settings import EVENTS, load, save
from everyword.interfaces.hooks.settings_files import home_of
from everyword.storage.sqlite.write_lock import Turn

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
    client.ask_or_start(home, {"do": "start", "cwd": ""}, _READY_S)
    while time.monotonic() < deadline:
        if (client.ask(home, {"do": "ping"}, 1.0) or {}).get("ready"):
            return
        time.sleep(0.1)
    raise EverywordError("The resident process did not become ready.", fix="See the log: everyword hook status")


def _end(home: str) -> None:
    """Stop the resident process and wait until it releases its lock."""
    if client.ask(home, {"do": "stop"}, 1.0) is not None:
        with suppress(StoreBusy), Turn(Path(home) / LOCK, timeout_s=_END_S).taken():
            pass
