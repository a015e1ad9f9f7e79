"""Processes that die or stop at the worst moment."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from benchmarks.survival import kill_round
from crash_children import HOLD_THE_TURN, OPEN_AND_WRITE, heard

from effort import effort
from everyword import Memory
from everyword.errors import StoreBusy

pytestmark = [pytest.mark.skipif(os.name == "nt", reason="signals"), pytest.mark.usefixtures("no_reader")]


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    acknowledged = 0
    for seed in range(effort(2, 10)):
        report = kill_round(tmp_path / "memory.db", seed)
        assert report.ok, report
        acknowledged += report.acknowledged
    assert acknowledged > 2
    assert report.stored >= acknowledged * 0.9  # all rounds wrote to one file; a few were forgotten


def test_a_writer_that_dies_in_mid_transaction_blocks_nobody_and_leaves_nothing(tmp_path: Path, start) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Before the accident.")
        child = start(HOLD_THE_TURN, path)
        heard(child, "holding")
        child.kill()
        began = time.monotonic()
        memory.add("After the accident.")
        assert time.monotonic() - began < 8
        assert [event.text for event in memory.events()] == ["Before the accident.", "After the accident."]
        assert memory.recall("uncommitted")[0].text != "An uncommitted event."
        assert memory.admin.verify().ok


def test_a_stopped_writer_makes_others_wait_no_longer_than_they_said(tmp_path: Path, start) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing", busy_timeout_s=0.4) as memory:
        memory.add("Before.")
        child = start(HOLD_THE_TURN, path)
        heard(child, "holding")
        child.send_signal(signal.SIGSTOP)
        for n in range(2):
            began = time.monotonic()
            with pytest.raises(StoreBusy):
                memory.add(f"While it stands still, {n}.")
            assert 0.3 < time.monotonic() - began < 8
        assert [event.text for event in memory.events()] == ["Before."]  # readers wait for nobody
        child.send_signal(signal.SIGCONT)
        child.stdin.write("finish\n")
        child.stdin.flush()
        heard(child, "committed")
        memory.add("After.")
        texts = {event.text for event in memory.events()}
        assert texts == {"Before.", "An uncommitted event.", "After."}
        memory.add("And the turn goes on.")
        assert memory.admin.verify().ok


def test_many_processes_may_make_the_same_new_file_at_once(tmp_path: Path, start) -> None:
    for round_ in range(effort(1, 4)):
        path = tmp_path / f"new-{round_}.db"
        children = [start(OPEN_AND_WRITE, path, n) for n in range(4)]
        for child in children:
            heard(child, "ready")
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in children:
            _, stderr = child.communicate(timeout=90)
            assert child.returncode == 0, stderr
        with Memory.open(path, embedder="hashing") as memory:
            assert memory.stats().events == 4
            assert memory.admin.verify().ok
