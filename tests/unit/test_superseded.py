"""What holds now is shown above what it replaced, and what is over says so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from everyword import Memory, Settings
from everyword.retrieval.query_analysis import analyse

HOME = [
    ("I live in Lisbon, in Alfama.", "Ana", "2026-02-02T10:00Z"),
    ("Lisbon has the best trams, says everybody.", "Ben", "2026-02-10T10:00Z"),
    ("I live in Rome.", "Chiara", "2026-03-01T10:00Z"),
    ("I moved to Porto last week!", "Ana", "2026-07-18T10:00Z"),
    ("The trams of Rome are late again.", "Chiara", "2026-09-01T10:00Z"),
]
OLD, NEW = HOME[0][0], HOME[3][0]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", redact="none") as memory:
        for text, speaker, at in HOME:
            memory.add(text, speaker=speaker, session=at[:7], at=at)
        memory.admin.settle()
        yield memory


def test_what_holds_now_comes_first_and_what_is_over_says_so(memory: Memory) -> None:
    hits = memory.recall("Where does Ana live?", k=5)
    assert hits[0].event.text == NEW
    assert hits[0].replaced_by is None
    old = next(hit for hit in hits if hit.event.text == OLD)
    assert old.replaced_by == hits[0].event.id
    assert old.replaced_at is not None
    assert old.replaced_at.date().isoformat() == "2026-07-06"
    assert NEW in memory.ask("Where does Ana live?").quotes


def test_what_replaced_the_only_hit_is_brought_along(memory: Memory) -> None:
    hits = memory.recall("Does Ana live in Alfama?", k=1)
    assert [hit.event.text for hit in hits] == [NEW]
    assert any(score.stage == "holds now" and "since 6 July 2026" in score.why for score in hits[0].scores)


def test_asked_for_the_past_the_old_answer_stays_first(memory: Memory) -> None:
    hits = memory.recall("Where did Ana live before?", k=5)
    assert hits[0].event.text == OLD
    assert hits[0].replaced_by is not None


def test_how_old_somebody_is_asks_for_today() -> None:
    assert not analyse("How old is Ana?", datetime(2026, 9, 1, tzinfo=UTC)).past


def test_what_was_not_known_then_replaces_nothing(memory: Memory) -> None:
    then = memory.recall("Where does Ana live?", k=5, until="2026-06-01")
    assert then[0].event.text == OLD
    assert all(hit.replaced_by is None for hit in then)


def test_a_correction_made_later_hides_nothing_of_what_was_known_then() -> None:
    with Memory.open(":memory:", "hashing") as memory:
        for text, speaker, at in HOME:
            memory.add(text, speaker=speaker, session=at[:7], at=at)
        home = next(one for one in memory.statements(about="Ana") if one.quote in NEW)
        memory.correct(home.id, "I moved to Braga.")
        assert "Braga" in memory.context("Where does Ana live?").text
        then = memory.recall("Where does Ana live?", k=5, until="2026-08-01")
        assert then[0].event.text == NEW
        assert next(hit for hit in then if hit.event.text == OLD).replaced_by == then[0].event.id
        assert "Braga" not in memory.context("Where does Ana live?", until="2026-08-01").text


def test_another_persons_home_is_not_replaced(memory: Memory) -> None:
    hits = memory.recall("Where does Chiara live?", k=5)
    assert hits[0].event.text == "I live in Rome."
    assert hits[0].replaced_by is None


def test_a_context_marks_what_is_over(memory: Memory) -> None:
    text = memory.context("Where does Ana live?", 400).text
    assert f"{OLD} (no longer so since 6 July 2026, see [1])" in text
    assert f"What holds now\n[1] Ana: {NEW} (" in text


def test_a_correction_by_hand_replaces_too(memory: Memory) -> None:
    with Memory.open(":memory:", redact="none") as other:
        other.add("The door code is 2209.", speaker="Ana", at="2026-02-02T10:00Z")
        other.admin.settle()
        (statement,) = other.statements()
        other.correct(statement.id, "The door code is 4771.")
        hits = other.recall("What is the door code?", k=2)
        assert hits[0].event.text == "The door code is 4771."
        assert hits[1].replaced_by == hits[0].event.id


@pytest.mark.parametrize(("reason", "again"), [("ended", []), ("never_true", ["peanuts"])])
def test_a_correction_that_is_retracted_holds_no_more(reason: str, again: list[str]) -> None:
    with Memory.open(":memory:") as other:
        other.add("Elsa is allergic to peanuts.", speaker="Nora", at="2026-05-04T10:00Z")
        other.admin.settle()
        (statement,) = other.statements()
        wrong = other.correct(statement.id, "Elsa is allergic to hazelnuts.")
        other.retract(wrong.id, reason=reason)
        other.admin.settle()
        question = "What is Elsa allergic to?"
        assert [word for word in ("peanuts", "hazelnuts") if word in other.ask(question).text] == again
        assert ("What holds now" in other.context(question).text) == bool(again)
        facts = other.facts("Elsa", relation="allergic_to", as_of="2099-01-01")
        assert [fact.object_name for fact in facts] == again


def test_a_question_right_after_writing_knows_what_was_written() -> None:
    with Memory.open(":memory:", redact="none", settings=Settings(background=False)) as other:
        for text, speaker, at in HOME:
            other.add(text, speaker=speaker, session=at[:7], at=at)
        assert other.recall("Where does Ana live?", k=1)[0].event.text == NEW


JOB = [
    ("I work at Praxis Nordlicht.", "2025-09-02T10:00Z"),
    ("I need to renew my passport.", "2025-09-03T10:00Z"),
    ("I renewed my passport.", "2025-09-09T10:00Z"),
    ("I got the job! I start at Clínica Boavista on October 5, four days a week.", "2026-09-24T10:00Z"),
    ("The first week at Clínica Boavista was great.", "2026-10-11T10:00Z"),
]


def test_what_a_fulfilled_plan_began_holds_from_then_on() -> None:
    with Memory.open(":memory:") as memory:
        for text, at in JOB:
            memory.add(text, speaker="Marta", session=at[:7], at=at, key=text)
        employers = [(one.object_name, one.valid_to is None) for one in memory.facts("Marta", "works_at")]
        assert employers == [("Praxis Nordlicht", False), ("Clínica Boavista", True)]
        (began,) = (one.valid_from for one in memory.facts("Marta", "works_at") if one.open)
        assert began is not None
        assert began.date().isoformat() == "2026-10-05"
        hits = {hit.event.text: hit for hit in memory.recall("Where does Marta work?", k=5)}
        assert hits[JOB[0][0]].replaced_at == began
        assert hits[JOB[3][0]].replaced_at is None
        assert "Clínica Boavista" in memory.ask("Where does Marta work?").text
        assert "Nordlicht" not in memory.wake_up().text
        memory.forget(keys=[JOB[-1][0]])
        assert [(one.object_name, one.open) for one in memory.facts("Marta", "works_at")] == [
            ("Praxis Nordlicht", True)
        ]


def test_a_task_that_was_done_is_not_said_to_be_no_longer_so() -> None:
    with Memory.open(":memory:") as memory:
        for text, at in JOB[1:3]:
            memory.add(text, speaker="Marta", session=at[:10], at=at)
        done = next(hit for hit in memory.recall("Did Marta renew her passport?") if hit.event.text == JOB[1][0])
        assert done.replaced_by is not None
        assert done.replaced_at is None
        assert "no longer so" not in memory.context("Did Marta renew her passport?").text


def test_an_instruction_whose_reason_is_over_says_so() -> None:
    rule = "I'm allergic to hazelnuts, so please never suggest recipes with them."
    over = "The new allergist says I'm not allergic to hazelnuts any more."
    with Memory.open(":memory:") as memory:
        memory.add(rule, speaker="Marta", session="1", at="2025-09-10T10:00Z")
        assert f"Standing instructions\n[1] Marta: {rule}" in memory.context("Suggest a dessert recipe for Marta").text
        memory.add(over, speaker="Marta", session="2", at="2026-11-08T10:00Z")
        (line,) = (one for one in memory.context("Suggest a dessert recipe for Marta").text.splitlines() if rule in one)
        assert "no longer so since 8 November 2026" in line


def test_an_instruction_whose_reason_was_retracted_is_none() -> None:
    rule = "I'm allergic to hazelnuts, so please never suggest recipes with them."
    with Memory.open(":memory:") as memory:
        memory.add(rule, speaker="Marta", session="1", at="2025-09-10T10:00Z")
        (reason,) = (one for one in memory.statements() if "allergic" in one.quote)
        memory.retract(reason.id, reason="never_true")
        text = memory.context("Suggest a dessert recipe for Marta").text
        assert "Standing instructions" not in text
        assert f"{rule} (retracted)" in text
