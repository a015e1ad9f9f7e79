"""An import that is killed loses nothing and repeats nothing; one that watches ends when it is told to."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from everyword import Memory

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="signals"), pytest.mark.usefixtures("no_reader")]

IMPORT = """
import sys
from everyword import Memory

with Memory.open(sys.argv[1], embedder="hashing", durability="normal") as memory:
    told = lambda what, done, total: print(done, flush=True)
    memory.import_events(sys.argv[2], format="claude-code", progress=told)
"""
SESSIONS, TURNS = 6, 600


def write_sessions(folder: Path, turns: int = TURNS) -> None:
    folder.mkdir()
    for session in range(SESSIONS):
        rows = (
            {
                "type": "user",
                "uuid": f"{session}-{number}",
                "parentUuid": None,
                "isSidechain": False,
                "sessionId": f"s{session}",
                "cwd": "/home/ana/boat",
                "timestamp": f"2026-03-{1 + session:02}T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z",
                "message": {
                    "role": "user",
                    "content": f"Turn {number} of session {session}: the keel is number {number}.",
                },
            }
            for number in range(turns)
        )
        (folder / f"s{session}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_killed_import_goes_on_where_it_stopped(tmp_path: Path) -> None:
    source, path = tmp_path / "sessions", tmp_path / "memory.db"
    write_sessions(source)
    chance = random.Random(8)
    stored = [0]
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", IMPORT, str(path), str(source)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        for _ in range(chance.randrange(1, 4)):
            child.stdout.readline()  # a batch that is stored
        time.sleep(chance.uniform(0.0, 0.05))
        child.kill()
        child.communicate()
        with Memory.open(path, embedder="hashing") as memory:
            stored.append(memory.stats().events)
            assert memory.admin.verify().ok
    assert stored == sorted(stored)
    assert stored[1] > 0
    with Memory.open(path, embedder="hashing") as memory:
        done = memory.import_events(source, format="claude-code")
        # What was stored is not even read again, but for the turns of one record.
        assert done.added == SESSIONS * TURNS - stored[-1]
        assert done.read - done.added <= 1
        texts = [event.text for event in memory.events()]
        assert len(texts) == len(set(texts)) == SESSIONS * TURNS
        assert memory.admin.verify().ok


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_watching_ends_when_it_is_told_to(tmp_path: Path, number: signal.Signals) -> None:
    source, path = tmp_path / "sessions", tmp_path / "memory.db"
    write_sessions(source, 10)
    command = [sys.executable, "-m", "everyword", "import", str(source), "--watch", "--json"]
    environment = {**os.environ, "EVERYWORD_MEMORY": str(path), "EVERYWORD_EMBEDDER": "hashing"}
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert json.loads(child.stdout.readline())["imported"]["added"] == SESSIONS * 10
    more = {"type": "user", "uuid": "more", "sessionId": "s1", "message": {"role": "user", "content": "One more turn."}}
    with (source / "s1.jsonl").open("a") as file:
        file.write(json.dumps(more) + "\n")
    assert json.loads(child.stdout.readline())["imported"]["added"] == 1
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 0, said
    with Memory.open(path, embedder="hashing") as memory:
        assert memory.stats().events == SESSIONS * 10 + 1
        assert memory.admin.verify(deep=False).ok
