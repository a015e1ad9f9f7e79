"""The command line on a server: verbs as on a file, and a worker as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from everyword import Memory
from everyword.interfaces.cli import main
from postgres_server import PASSWORD


def test_verbs_take_the_location_of_a_server(
    location: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERYWORD_MEMORY", location)
    monkeypatch.setenv("EVERYWORD_EMBEDDER", "hashing")
    assert main(["add", "I moved to Lisbon in March.", "--speaker", "Ana"]) == 0
    assert main(["recall", "Where does Ana live?", "--json"]) == 0
    assert "I moved to Lisbon in March." in capsys.readouterr().out.splitlines()[-1]
    assert main(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert "PostgreSQL" in checks["server"]["detail"]
    assert checks["row-level security"]["state"] == "ok"
    assert PASSWORD not in str(checks)


def test_a_worker_process_works_until_it_is_told_to_stop(location: str) -> None:
    with Memory.open(location, embedder="hashing", embed_on_write=False) as memory:
        memory.add("I moved to Lisbon.", speaker="Ana")
        worker = subprocess.Popen(
            [sys.executable, "-m", "everyword", "worker", "--embedder", "hashing"],
            env={**os.environ, "EVERYWORD_MEMORY": location},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            deadline = time.monotonic() + 60
            while memory.stats().pending and time.monotonic() < deadline:
                time.sleep(0.2)
            assert memory.stats().pending == 0
        finally:
            worker.send_signal(signal.SIGTERM)
            out, err = worker.communicate(timeout=60)
    assert worker.returncode == 0, err
    assert "done: " in out
    assert "done: 0" not in out
    assert PASSWORD not in out + err


def test_a_worker_without_a_memory_says_what_to_do(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EVERYWORD_MEMORY", raising=False)
    assert main(["worker", "--once"]) == 2
    assert "EVERYWORD_MEMORY" in capsys.readouterr().err
