"""How long hooks take, as an agent feels it: a process started for each, its input written, its end waited for."""

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

from recollect.core.errors import RecollectError, StoreBusy
from recollect.hooks import asking
from recollect.hooks.changing import home_of
from recollect.hooks.resident import LOCK
from recollect.hooks.settings import EVENTS, load, save
from recollect.store.sqlite.turn import Turn

_READY_S = 60.0  # for the resident process to load its model
_END_S = 10.0  # for it to end
# Questions of the kind that people type at an agent; none is about anything in particular.
_PROMPTS = (
    "What did we decide about the database?",
    "Why does the build fail on the second machine?",
    "Please rename the function and run the tests again.",
    "When is the next release planned, and who prepares it?",
    "Fix the flaky test.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long one hook took, over several runs."""

    hook: str
    runs: int
    p50_ms: float
    p95_ms: float
    most_ms: float


def measure(home: str | Path | None = None, *, runs: int = 50) -> list[Timing]:
    """Time every hook on the memory that is set up; the resident process is started first, if it is switched on."""
    place = home_of(home)
    settings = load(str(place))
    # In a home of its own: what is tried here is no session of the user's, and leaves no trace among them.
    with tempfile.TemporaryDirectory(prefix="recollect-", ignore_cleanup_errors=True) as trial:
        save(trial, settings)
        # One that holds no message: what is timed is the hook, and nothing is saved.
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
    said: dict[str, Any] = {
        "session_id": "measured",
        "transcript_path": transcript,
        "cwd": cwd,
        "hook_event_name": event,
        "prompt": prompt,
    }
    command = [*asking.COMMAND, "run", "--home", home]
    started = time.perf_counter()
    subprocess.run(command, input=json.dumps(said).encode(), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def _share(took: Sequence[float], share: float) -> float:
    return took[min(len(took) - 1, int(len(took) * share))] * 1000


def _wait_until_ready(home: str) -> None:
    if not load(home).resident or not asking.possible(home):
        return
    deadline = time.monotonic() + _READY_S
    asking.ask_or_start(home, {"do": "start", "cwd": ""}, _READY_S)
    while time.monotonic() < deadline:
        if (asking.ask(home, {"do": "ping"}, 1.0) or {}).get("ready"):
            return
        time.sleep(0.1)
    raise RecollectError("The resident process does not get ready.", fix="See the log: recollect hook status")


def _end(home: str) -> None:
    """End the resident process, and wait until it is done with its home."""
    if asking.ask(home, {"do": "stop"}, 1.0) is not None:
        with suppress(StoreBusy), Turn(Path(home) / LOCK, timeout_s=_END_S).taken():
            pass
