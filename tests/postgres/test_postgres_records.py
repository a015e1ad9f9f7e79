"""Edits on a server: the same records, the same facts, the same conversion of what was stored before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit import test_records as in_a_file

from clocks import Clock
from everyword import Memory


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture
def memory(location: str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(location, embedder="hashing", clock=clock) as memory:
        memory.add("I live in Bern.", speaker="Ana", session="s1")
        memory.identity(in_a_file.HERS)
        clock.now += in_a_file.DAY
        yield memory


def test_a_rebuild_applies_edits_again(memory: Memory, clock: Clock) -> None:
    in_a_file.test_a_rebuild_applies_edits_again(memory, clock)


def test_forgetting_an_edit_takes_it_back(memory: Memory) -> None:
    in_a_file.test_forgetting_an_edit_takes_it_back(memory)


def test_a_copy_from_a_file_keeps_edits(location: str, tmp_path: Path) -> None:
    from everyword.interfaces.cli import main

    with Memory.open(tmp_path / "memory.db", embedder="hashing") as file:
        file.add("I live in Bern.", speaker="Ana")
        file.identity(in_a_file.HERS)
        file.retract(file.statements()[0].id, reason="never_true")
        told = file.admin.records()
    assert main(["migrate", str(tmp_path / "memory.db"), location]) == 0
    with Memory.open(location, embedder="hashing") as server:
        assert server.admin.records() == told
        assert server.facts() == []
        assert server.admin.verify().ok
