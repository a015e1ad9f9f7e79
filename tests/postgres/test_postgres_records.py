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


@pytest.mark.parametrize("name", in_a_file.FORMS)
def test_an_event_of_any_form_is_an_event(memory: Memory, name: str) -> None:
    in_a_file.test_an_event_of_any_form_is_an_event(memory, name)


def test_edits_are_found_by_no_question_and_in_no_list(memory: Memory, clock: Clock) -> None:
    in_a_file.test_edits_are_found_by_no_question_and_in_no_list(memory, clock)


def test_what_was_never_true_is_not_told_of_the_past_either(memory: Memory, clock: Clock) -> None:
    in_a_file.test_what_was_never_true_is_not_told_of_the_past_either(memory, clock)


def test_what_was_replaced_by_what_was_never_true_holds_again(memory: Memory, clock: Clock) -> None:
    in_a_file.test_what_was_replaced_by_what_was_never_true_holds_again(memory, clock)


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
