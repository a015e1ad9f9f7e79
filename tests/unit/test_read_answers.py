"""Answers that the reader finds in hits: the surest first, and of two that answer, what holds now."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everyword import Memory
from everyword.models.reader.decoding import FoundAnswer
from everyword.retrieval.answer import ReadAnswer, newest_answer_first, read_answers
from everyword.types.events import Event, Hit, Span

JANUARY = datetime(2026, 1, 5, 10, tzinfo=UTC)
UPDATES = Path(__file__).parents[1] / "data" / "updates.jsonl"


def hit(text: str, seq: int) -> Hit:
    at = JANUARY + timedelta(days=seq)
    event = Event(text=text, speaker="Ana", at=at, recorded_at=at)
    return Hit(event=event, score=1.0 / seq, seq=seq, span=Span(0, len(text)))


def answers(*scored: tuple[str, float]) -> list[ReadAnswer]:
    return [ReadAnswer(hit(text, n), Span(0, len(text)), score) for n, (text, score) in enumerate(scored, 1)]


def test_places_further_down_must_be_surer() -> None:
    hits = [hit(f"line {n}", n) for n in (1, 2, 3)]
    scores = {1: 1.0, 2: 1.2, 3: 4.0}
    read = read_answers(hits, lambda one: FoundAnswer(Span(0, 4), scores[one.seq]), 0.5)
    assert [one.hit.seq for one in read] == [3, 1, 2]
    assert read_answers(hits, lambda _: None, 0.5) == []


def test_the_newest_of_two_answers_comes_first() -> None:
    old, new = answers(("The hut's code is 1111", 3.0), ("The code of the hut is 2222", 2.0))
    found = newest_answer_first("What is the code of the hut?", [old, new], 0.0, lambda *_: 0.5)
    assert found == [new, old]


@pytest.mark.parametrize(
    ("other", "score", "chance"),
    [
        ("The code of the gym is 2222", 2.0, 0.7),  # of another thing, it seems
        ("The code of the hut is 2222", -2.5, 0.9),  # no answer
        ("The code of the hut is 2222", -0.5, 0.5),  # hardly one, and it may be another
        ("The code of the hut is 2222", 2.0, 0.0),  # has nothing to do with it
    ],
)
def test_what_does_not_take_its_place_stays_behind(other: str, score: float, chance: float) -> None:
    read = answers(("The code of the hut is 1111", 2.5), (other, score))
    found = newest_answer_first("What is the code of the hut?", read, 0.0, lambda *_: chance)
    assert found == [one for one in read if one.score >= 0]


def test_an_older_answer_never_comes_first() -> None:
    old, new = answers(("The code of the hut is 1111", 2.0), ("The code of the hut is 2222", 3.0))
    assert newest_answer_first("What is the code of the hut?", [new, old], 0.0, lambda *_: 1.0) == [new, old]


def test_what_was_never_true_answers_nothing() -> None:
    with Memory.open(":memory:", background=False) as memory:
        memory.add("I live in Lisbon.", speaker="Ana", at=JANUARY)
        memory.add("I moved to Porto yesterday.", speaker="Ana", at=JANUARY + timedelta(days=30))
        later = JANUARY + timedelta(days=60)
        assert "Porto" in memory.ask("Where does Ana live?", now=later).text
        (wrong,) = (one for one in memory.statements() if one.value == "Porto")
        memory.retract(wrong.id, reason="never_true")
        assert "Lisbon" in memory.ask("Where does Ana live?", now=later).text


@pytest.mark.parametrize(
    ("reason", "said"), [("ended", "no longer so since 18 November 2026"), ("never_true", "retracted")]
)
def test_what_is_retracted_is_no_answer_and_says_so(reason: str, said: str) -> None:
    with Memory.open(":memory:", background=False) as memory:
        memory.add("I work at Siemens.", speaker="Cara", at=JANUARY)
        memory.add("My boss is Mia.", speaker="Cara", at=JANUARY)
        (work,) = (one for one in memory.statements() if one.value == "Siemens")
        memory.retract(work.id, reason=reason, at="2026-11-18" if reason == "ended" else None)
        now = datetime(2026, 12, 1, tzinfo=UTC)
        answer = memory.ask("Where does Cara work?", now=now)
        assert "Siemens" not in answer.text + answer.nearest
        assert f"I work at Siemens. ({said})" in memory.context("Where does Cara work?", now=now).text
        assert memory.recall("Where does Cara work?", now=now)[0].replaced_at is not None
        assert "Siemens" in memory.ask("Where did Cara work in January 2026?", now=now).text or reason == "never_true"


@pytest.mark.slow
def test_what_changed_is_answered_with_what_holds_now() -> None:
    """Measured: 33 of 40 changes are answered with the newer line, and so are 4 of 40 traps."""
    new, trapped = 0, 0
    for line in UPDATES.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        today = told["asks"] == "today"
        older, newer = (told["old"], told["new"]) if today else (told["right"], told["newer"])
        with Memory.open(":memory:", background=False) as memory:
            memory.add(older, speaker="Ana", session="a", at=JANUARY)
            other = "Bob" if told.get("trap") == "speaker" else "Ana"
            last = memory.add(newer, speaker=other, session="b", at=JANUARY + timedelta(days=90))
            answer = memory.ask(told["question"], now=JANUARY + timedelta(days=100))
        first = answer.citations[0].event_id if answer.citations else None
        new += today and first == last.id
        trapped += not today and first == last.id
    assert new >= 29
    assert trapped <= 6
