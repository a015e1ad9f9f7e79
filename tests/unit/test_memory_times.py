"""Questions about when: the date with its quote, how long between two things, and which came first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from everyword import Memory
from everyword.retrieval.answer import parse_time_comparison

SAID = (
    ("2026-01-12", "I started the pottery course on January 10th."),
    ("2026-02-03", "Yesterday I adopted a kitten from the shelter."),
    ("2026-03-20", "We painted the garage green last weekend."),
    ("2026-04-02", "I sold the old motorbike today."),
    ("2026-05-15", "In 2019 I climbed the volcano in Sicily."),
)


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing") as opened:
        for day, text in SAID:
            opened.add(text, speaker="Ana", at=f"{day}T10:00Z", session=day)
        yield opened


@pytest.mark.parametrize(
    ("question", "answer", "quotes"),
    [
        (
            "How many days passed between starting the pottery course and adopting the kitten?",
            "23 days.",
            (SAID[0][1], SAID[1][1]),
        ),
        (
            "How many weeks were there between adopting a kitten and selling the motorbike?",
            "8.4 weeks (59 days).",
            (SAID[1][1], SAID[3][1]),
        ),
        (
            "How long was it from the day I adopted the kitten until I sold the motorbike?",
            "59 days.",
            (SAID[1][1], SAID[3][1]),
        ),
        (
            "How many days after adopting the kitten did I sell the motorbike?",
            "59 days.",
            (SAID[1][1], SAID[3][1]),
        ),
        ("Which came first, the kitten or the pottery course?", "The pottery course.", (SAID[1][1], SAID[0][1])),
        ("What happened last: the pottery course or the motorbike?", "The motorbike.", (SAID[0][1], SAID[3][1])),
        ("Did I sell the motorbike before I adopted the kitten?", "No.", (SAID[3][1], SAID[1][1])),
        ("Did I adopt the kitten after the pottery course?", "Yes.", (SAID[1][1], SAID[0][1])),
    ],
)
def test_two_times_are_compared(memory: Memory, question: str, answer: str, quotes: tuple[str, str]) -> None:
    given = memory.ask(question)
    assert given.text.splitlines()[0] == answer
    assert given.quotes == quotes
    assert [memory.get(citation.event_id).text for citation in given.citations] == list(quotes)


def test_a_date_that_is_only_a_year_is_about(memory: Memory) -> None:
    given = memory.ask("How many years were there between climbing the volcano and selling the motorbike?")
    assert given.text.startswith("About 7.2 years")
    assert "2019: “In 2019 I climbed" in given.text


def test_what_lasts_until_a_day_is_counted_from_that_day() -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add("My leave runs until March 20.", at="2026-01-12T10:00Z")
        memory.add("I sold the old motorbike today.", at="2026-04-02T10:00Z")
        given = memory.ask("How many days were there between my leave and selling the motorbike?")
    assert given.text.startswith("13 days.\n20 March 2026: “My leave runs")


def test_when_gives_the_date_that_the_words_come_to(memory: Memory) -> None:
    assert memory.ask("When did I adopt a kitten?").text.startswith("2 February 2026: “Yesterday I adopted a kitten")


@pytest.mark.parametrize(
    ("said", "question", "start"),
    [
        ("Ivo starts on June 13, and Bea starts on July 4.", "When does Bea start?", "4 July 2026: “"),
        ("On June 13, Bea starts, and Ivo on July 4.", "When does Bea start?", "13 June 2026: “"),
        (
            "Delivery of the roof tiles on December 15.",
            "When is the delivery of the roof tiles?",
            "15 December 2026: “",
        ),
        ("Roof inspection: June 2 at noon.", "When was the roof inspection?", "2 June 2026: “"),
        ("The oven will be delivered on June 20.", "When will the oven be delivered?", "20 June 2026: “"),
        ("We had a picnic in Lund.", "When did we have a picnic in Lund?", "7 May 2026: “"),
        ("I need a hotel in Lund.", "When was Ana in Lund?", "“"),
    ],
)
def test_the_date_is_that_of_what_is_asked_and_not_the_day_it_was_said(said: str, question: str, start: str) -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add(said, speaker="Ana", at="2026-05-07T10:00Z")
        assert memory.ask(question, now="2026-08-01").text.startswith(start)


_REPORT = "I finished the report and will present it on 3 July."
_PASSPORT = "Picked up the new passport, valid until 2031."


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("When did I finish the report?", "7 May 2026: “"),
        ("When will I present the report?", "3 July 2026: “"),
        ("When did I pick up the passport?", "7 May 2026: “"),
        ("How many days between the report and the vet?", "8 days."),
        ("Which came first, the vet or the passport?", "The passport."),
    ],
)
def test_a_date_of_another_clause_is_not_that_of_the_deed(question: str, start: str) -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add(_REPORT, speaker="Ana", at="2026-05-07T10:00Z")
        memory.add(_PASSPORT, speaker="Ana", at="2026-05-07T10:00Z")
        memory.add("Took Pudding to the vet.", speaker="Ana", at="2026-05-15T10:00Z")
        assert memory.ask(question, now="2026-08-01").text.startswith(start)


def test_a_day_that_nobody_told_is_not_guessed() -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add("The roof tiles are heavy.", speaker="Ana", at="2026-05-07T10:00Z")
        assert not memory.ask("When do the roof tiles come?", now="2026-08-01").answered


def test_what_nobody_said_is_not_compared() -> None:
    with Memory.open(":memory:", embedder="hashing") as empty:
        assert not empty.ask("Which came first, the kitten or the course?").answered


@pytest.mark.parametrize(
    "question",
    [
        "When did I adopt the kitten?",
        "How long is the pottery course?",
        "What did I do first?",
        "Did I say that before?",
        "between " * 5_000 + "and?",
        "how long " + "between a and " * 2_000,
    ],
)
def test_other_questions_compare_nothing(question: str) -> None:
    assert parse_time_comparison(question) is None
