"""Survival: what is left after `kill -9`, and after many processes at once. Used by the tests and by `make bench`.

Each process is a fresh interpreter (`python -m benchmarks.survival ROLE ...`), as unrelated programs on one file are.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parent.parent
BATCH = 5  # events that one writer adds in one transaction; readers must see all of them or none
THINKING_S = 0.005  # of a reader between two questions: one that only spins measures the scheduler, not the store
SHARED = 40  # events that every writer tries to add: each must be new exactly once


@dataclass(frozen=True, slots=True, kw_only=True)
class KillReport:
    """What was left after one `kill -9`."""

    seed: int
    delay_s: float
    acknowledged: int  # events whose add returned before the process died
    stored: int  # events in the file afterwards; what was in flight may be among them
    lost: tuple[str, ...]  # acknowledged, and not there: must be empty
    returned: tuple[str, ...]  # forgotten, acknowledged as such, and there: must be empty
    unfindable: tuple[str, ...]  # there, and not found by their own word: must be empty
    half: tuple[str, ...]  # batches of which only a part is there: must be empty
    problems: tuple[str, ...]  # what verify() says: must be empty

    @property
    def ok(self) -> bool:
        """Tell whether the memory kept its word."""
        return not (self.lost or self.returned or self.unfindable or self.half or self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class StormReport:
    """What came of many writers and readers on one file."""

    writers: int
    readers: int
    seconds: float
    added: int  # transactions' events, acknowledged as new
    per_second: float
    reads: int
    longest_wait_s: float  # of any single add or add_many
    p99_wait_s: float
    fewest: int  # transactions of the writer that got the fewest
    most: int
    lost: int
    doubled: int
    half: int  # times a reader saw a part of a batch
    errors: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Tell whether nothing went wrong."""
        return not (self.lost or self.doubled or self.half or self.errors or self.problems)


@dataclass(slots=True)
class _Said:
    """What a writer told before it died."""

    added: set[str] = field(default_factory=set[str])
    forgetting: set[str] = field(default_factory=set[str])
    forgotten: set[str] = field(default_factory=set[str])


def kill_round(path: str | os.PathLike[str], seed: int) -> KillReport:
    """Let a process write to a file, kill it at a random moment, and look at what is left."""
    from everyword import Memory

    delay_s = random.Random(seed).uniform(0.0, 0.4)
    said = _killed(path, seed, delay_s)
    with Memory.open(path, embedder="hashing") as memory:
        memory.admin.settle()  # an interrupted forget has still to rewrite the file
        events = {event.key or "": event for event in memory.events()}
        batches: dict[str, int] = {}
        for event in events.values():
            if event.session is not None:
                batches[event.session] = batches.get(event.session, 0) + 1
        mine = [key for key in sorted(said.added) if key in events]
        sample = random.Random(seed).sample(mine, min(20, len(mine)))
        problems = tuple(f"{problem.where}: {problem.what}" for problem in memory.admin.verify().problems)
        unfindable = tuple(key for key in sample if key not in {hit.event.key for hit in memory.recall(_word(key))})
    return KillReport(
        seed=seed,
        delay_s=delay_s,
        acknowledged=len(said.added),
        stored=len(events),
        lost=tuple(sorted(said.added - said.forgetting - events.keys())),
        returned=tuple(sorted(said.forgotten & events.keys())),
        unfindable=unfindable,
        half=tuple(session for session, count in batches.items() if count != BATCH),
        problems=problems,
    )


def storm(path: str | os.PathLike[str], writers: int = 8, readers: int = 4, seconds: float = 30) -> StormReport:
    """Let processes write and read one file at once for a while; count what went wrong."""
    processes = [_start("writer", path, n, seconds) for n in range(writers)]
    processes += [_start("reader", path, n, seconds) for n in range(readers)]
    for process in processes:
        _line(process)  # ready
    for process in processes:
        _tell(process, "go")
    told = [json.loads(_line(process) or "{}") for process in processes]
    errors = [error for one in told for error in one.get("errors", ["a process died"])]
    for process in processes:
        _, stderr = process.communicate(timeout=60)
        errors += [stderr.strip()] if process.returncode else []
    wrote, read = told[:writers], told[writers:]
    return _summed(path, wrote, read, errors, seconds)


# The parent's side


def _summed(
    path: str | os.PathLike[str], wrote: list[dict], read: list[dict], errors: list[str], seconds: float
) -> StormReport:
    from everyword import Memory

    acknowledged = {key for one in wrote for key in one.get("keys", [])}
    new = sum(one.get("new", 0) for one in wrote)
    with Memory.open(path, embedder="hashing") as memory:
        stored = [event.key or "" for event in memory.events()]
        problems = tuple(f"{problem.where}: {problem.what}" for problem in memory.admin.verify().problems)
    waits = sorted(wait for one in wrote for wait in one.get("waits", []))
    turns = [len(one.get("waits", [])) for one in wrote]
    return StormReport(
        writers=len(wrote),
        readers=len(read),
        seconds=seconds,
        added=new,
        per_second=new / seconds,
        reads=sum(one.get("reads", 0) for one in read),
        longest_wait_s=waits[-1] if waits else 0.0,
        p99_wait_s=waits[int(len(waits) * 0.99)] if waits else 0.0,
        fewest=min(turns, default=0),
        most=max(turns, default=0),
        lost=len(acknowledged - set(stored)),
        # Twice in the log, or acknowledged as new by two writers.
        doubled=len(stored) - len(set(stored)) + max(0, new - len(set(stored))),
        half=sum(one.get("half", 0) for one in read),
        errors=tuple(errors),
        problems=problems,
    )


def _killed(path: str | os.PathLike[str], seed: int, delay_s: float) -> _Said:
    process = _start("victim", path, seed)
    lines: list[str] = []
    assert process.stdout is not None

    def listen(pipe: IO[str]) -> None:
        lines.extend(pipe)

    try:
        _line(process)  # it is open and about to write
        listener = threading.Thread(target=listen, args=(process.stdout,))
        listener.start()
        time.sleep(delay_s)
    finally:
        process.kill()
    listener.join()
    process.wait()
    died_by_itself = process.returncode not in (-9, 1)
    stderr = process.stderr.read() if process.stderr else ""
    process.communicate()
    if died_by_itself or "Traceback" in stderr:
        raise AssertionError(f"the writer failed before it was killed: {stderr}")
    return _heard(lines)


def _heard(lines: list[str]) -> _Said:
    said = _Said()
    for line in lines:
        if not line.endswith("\n"):
            continue  # killed while it spoke
        what, *keys = line.split()
        {"added": said.added, "forgetting": said.forgetting, "forgot": said.forgotten}[what].update(keys)
    return said


def _start(role: str, *args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.survival", role, *map(str, args)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def _tell(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()


# The children's side


def _word(key: str) -> str:
    return "word" + key.replace("-", "x")


def _event(key: str, session: str | None = None) -> dict[str, object]:
    return {"key": key, "text": f"The event {key} says {_word(key)} and some common words.", "session": session}


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def _warm() -> None:
    """Load what the first write and the first question bring along: it is the file that is to be measured."""
    from everyword import Memory

    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add("Warm words, said by nobody.")
        memory.recall("warm")


def _victim(path: str, seed: int) -> None:
    """Add, add batches, and forget, until killed; say what is done as soon as it is."""
    from everyword import Memory
    from everyword.storage.sql import writer

    writer.SEAL_AT = 64  # sealing happens every few hundred events; here it should be hit by a kill now and then
    draw = random.Random(seed)
    with Memory.open(path, embedder="hashing") as memory:
        alive: list[str] = []
        _warm()
        _say("ready")
        for n in range(1_000_000):
            key = f"k{seed}-{n}"
            if draw.random() < 0.3:
                batch = [f"{key}-{part}" for part in range(BATCH)]
                memory.add_many([_event(one, session=key) for one in batch])
                _say("added", *batch)
            else:
                memory.add(**_event(key))
                alive.append(key)
                _say("added", key)
            if alive and draw.random() < 0.02:
                gone = alive.pop(draw.randrange(len(alive)))
                _say("forgetting", gone)
                memory.forget(keys=[gone])
                _say("forgot", gone)


def _writer(path: str, number: int, seconds: float) -> None:
    """Add single events and batches, some of them also added by all others, as fast as it goes."""
    from everyword import Memory

    waits: list[float] = []
    keys: list[str] = []
    errors: list[str] = []
    new = turn = 0
    with Memory.open(path, embedder="hashing", reader="none") as memory:
        _warm()
        _say("ready")
        sys.stdin.readline()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            turn += 1
            key = f"w{number}-{turn}"
            if turn % 3 == 0 and turn // 3 <= SHARED:
                events = [_event(f"shared-{turn // 3}")]
            elif turn % 3 == 1:
                events = [_event(f"{key}-{part}", session=key) for part in range(BATCH)]
            else:
                events = [_event(key)]
            began = time.monotonic()
            try:
                written = memory.add_many(events)
            except Exception as error:
                errors.append(f"writer {number}: {error!r}")
                continue
            finally:
                waits.append(time.monotonic() - began)
            keys += [str(event["key"]) for event in events]
            new += written.added
    _say(json.dumps({"waits": waits, "keys": keys, "errors": errors, "new": new}))


def _reader(path: str, number: int, seconds: float) -> None:
    """Recall, and see that batches are whole."""
    from everyword import Memory

    errors: list[str] = []
    reads = half = 0
    draw = random.Random(number)
    with Memory.open(path, embedder="hashing", reader="none") as memory:
        _warm()
        _say("ready")
        sys.stdin.readline()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                hits = memory.recall(f"common words of {_word(f'w{draw.randrange(8)}-{draw.randrange(200)}')}", k=5)
                sessions = {hit.event.session for hit in hits if hit.event.session}
                half += sum(len(list(memory.events(session=session))) != BATCH for session in sessions)
                memory.stats()
            except Exception as error:
                errors.append(f"reader {number}: {error!r}")
            reads += 1
            time.sleep(THINKING_S)
    _say(json.dumps({"reads": reads, "half": half, "errors": errors}))


def main(role: str, path: str, number: str, seconds: str = "0") -> None:
    """Be one of the processes."""
    if role == "victim":
        _victim(path, int(number))
    elif role == "writer":
        _writer(path, int(number), float(seconds))
    else:
        _reader(path, int(number), float(seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
