"""The concept graph on the command line, called in this process: what each verb prints, in text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from everyword import Memory
from everyword.interfaces.cli import main

BOILER = (
    "The boiler broke down again.",
    "The boiler lost pressure this morning.",
    "There is no hot water, the boiler failed for the third time.",
    "The boiler stopped working in the night.",
)


@pytest.fixture
def location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "memory.db"
    monkeypatch.setenv("EVERYWORD_MEMORY", str(path))
    with Memory.open(path, durability="normal") as memory:
        for day, text in enumerate(BOILER, 1):
            memory.add(text, speaker="Ana", at=f"2026-04-{day:02}T10:00Z")
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(shown(capsys, *arguments, "--json"))


def test_concepts_are_listed_shown_told_and_taken_back(location: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "boiler" in shown(capsys, "concepts")
    (concept,) = document(capsys, "concepts")["concepts"]
    assert concept["events"] == 4
    page = shown(capsys, "concept", concept["id"])
    assert "“The boiler lost pressure this morning.”" in page
    assert f"new {concept['id']}" in page
    joined = document(capsys, "journal")["entries"][0]
    assert joined["debt"] == "reinforcement"
    assert joined["reason"] in shown(capsys, "journal", "--about", concept["id"])
    assert "undone" in shown(capsys, "undo_change", joined["id"])
    assert document(capsys, "concept", concept["id"])["concept"]["events"] == 3
    assert "folded 0 events" in shown(capsys, "fold")
    assert document(capsys, "fold", "--dry-run")["dry_run"] is True


def test_what_is_not_there_is_told(location: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("concept", "undo_change"):
        assert main((verb, "co_nothing")) == 4
        assert "There is no" in capsys.readouterr().err
