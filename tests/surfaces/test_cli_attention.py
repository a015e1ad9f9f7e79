"""Intents, the window and the palace on the command line, and watching a file that another process writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.surfaces.command import Run, runner

from everyword import Memory

NOW = datetime.now(UTC).replace(microsecond=0)
SAID = (
    ("I need to send the budget report to Ana by tomorrow.", "Leo", "work"),
    ("The ticket moved to review.", "Leo", "work"),
    ("I like jazz.", "Ana", None),
)


@pytest.fixture
def run(location: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    with Memory.open(location, embedder="hashing", durability="normal") as memory:
        for minute, (text, speaker, wing) in enumerate(SAID):
            memory.add(text, speaker=speaker, wing=wing, session="s", at=NOW - timedelta(minutes=10 - minute))

    return runner(capsys)


def test_intents_with_their_quotes_and_what_an_answer_does(run: Run) -> None:
    shown = run("intents")
    assert shown.code == 0
    assert "task" in shown.out
    assert "“I need to send the budget report to Ana by tomorrow” (Leo)" in shown.out
    (intent,) = run("intents", "--json").json["intents"]
    assert intent["status"] == "pending"
    assert intent["grounds"][0]["quote"] == SAID[0][0].rstrip(".")
    assert 0 < intent["priority"] <= 1
    answered = run("answer_intent", intent["id"][:12], "accept", "--json").json
    assert answered["status"] == "scheduled"
    assert "rejected by hand, " in run("answer_intent", intent["id"], "reject").out
    assert "Nothing found" in run("intents").out or run("intents").out == ""
    assert run("intents", "--status", "rejected", "--json").json["intents"][0]["id"] == intent["id"]


def test_wrong_words_end_with_an_exit_code_and_a_fix(run: Run) -> None:
    assert run("intents", "--status", "odd").code == 2
    assert run("answer_intent", "in_0", "accept").code != 0


def test_the_window_needs_no_question(run: Run) -> None:
    out = run("window", "--budget", "400").out
    assert "[immediate]" in out
    assert "Ana: I like jazz." in out
    assert "to be done (task" in out
    document = run("window", "--json").json
    assert document["tokens"] <= document["budget"] == 2000
    assert {item["tier"] for item in document["items"]} <= {"immediate", "working", "background"}


def test_the_palace_is_a_tree(run: Run) -> None:
    lines = run("palace").out.splitlines()
    assert lines[0].startswith("work")
    assert any(line.startswith("        ") and "The ticket moved to review." in line for line in lines)
    document = run("palace", "--json").json
    assert {wing["name"] for wing in document["wings"]} == {"work", None}
    assert run("palace", "--wing", "work", "--json").json["wings"][0]["events"] == 2


def test_watch_prints_what_another_process_writes(run: Run, location: Path) -> None:
    command = [sys.executable, "-m", "everyword", "watch", "--kind", "intent", "--every", "1", "--count", "1", "--json"]
    watching = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        for turn in range(40):
            run("add", f"I must call the plumber number{turn} by tomorrow.")
            try:
                out, err = watching.communicate(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            raise AssertionError("nothing was seen")
    finally:
        if watching.poll() is None:
            watching.kill()
            watching.communicate()
    assert watching.returncode == 0, err
    assert "plumber" in json.loads(out)["intent"]["statement"]
