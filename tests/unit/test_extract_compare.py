"""What a new statement does to what is known: a story told in sentences, and what became of each."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from everyword.knowledge.legacy.extract.compare import (
    Action,
    Outcome,
    decide,
    keys_for,
    keys_of,
)
from everyword.knowledge.legacy.extract.rules import extract
from everyword.types.events import Event
from everyword.types.statements import Statement, StatementDraft, Status, adopt

START = datetime(2026, 3, 10, 9, 0, tzinfo=UTC)
DAYS_APART = 10


def told(text: str, day: int = 0, speaker: str = "Ana") -> list[StatementDraft]:
    event = Event(text=text, id=f"ev_{day}", speaker=speaker, at=START + timedelta(days=day))
    return list(extract(event).statements)


def story(*lines: str) -> list[Outcome]:
    """Tell sentences ten days apart, each compared with all that came of those before; the outcomes, in order."""
    known: list[Statement] = []
    outcomes: list[Outcome] = []
    for number, line in enumerate(lines):
        drafts = told(line, number * DAYS_APART)
        assert drafts, line
        for draft in drafts:
            outcome = decide(draft, known)
            # A memory reads only what shares a key: nothing that matters may be missed by it.
            assert decide(draft, [one for one in known if keys_of(one) & keys_for(draft)]) == outcome
            outcomes.append(outcome)
            known = _after(known, draft, outcome)
    return outcomes


def _after(known: list[Statement], draft: StatementDraft, outcome: Outcome) -> list[Statement]:
    if outcome.action is Action.NONE:
        return known
    target = outcome.target
    superseded_at = outcome.ends_at if outcome.action is Action.ADD else None
    new = adopt(draft, recorded_at=START, replaces=target.id if target else None, superseded_at=superseded_at)
    closed = Status.SUPERSEDED if outcome.action is Action.UPDATE else Status.RETRACTED
    return [
        replace(old, status=closed, valid_to=outcome.ends_at) if target and old.id == target.id else old
        for old in known
    ] + [new]


def last(*lines: str) -> Outcome:
    return story(*lines)[-1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Lisbon.", "I moved to Porto."),
        ("Our budget is 12,000 euros.", "Correction: our budget is 15,000 euros, not 12,000."),
        ("I'm single.", "I got engaged."),
        ("I've knitted 20 squares of the blanket.", "I've knitted 30 squares so far."),
    ],
)
def test_a_change_supersedes(before: str, after: str) -> None:
    outcome = last(before, after)
    assert outcome.action is Action.UPDATE
    assert outcome.target is not None
    assert outcome.target.quote == before
    assert outcome.ends_at == START + timedelta(days=DAYS_APART)
    assert outcome.reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Lisbon.", "I still live in Lisbon."),
    ],
)
def test_saying_it_again_reinforces(before: str, after: str) -> None:
    outcome = last(before, after)
    assert (outcome.action, outcome.reinforces) == (Action.NONE, True)
    assert outcome.target is not None
    assert outcome.target.quote == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I like jazz.", "I used to like jazz."),
        ("I need to send the quarterly report by Friday.", "I sent the quarterly report this morning."),
    ],
)
def test_what_is_over_is_closed(before: str, after: str) -> None:
    outcome = last(before, after)
    assert outcome.action is Action.RETRACT
    assert outcome.target is not None
    assert outcome.target.quote == before
    assert outcome.ends_at is not None
    assert outcome.target.valid_from is not None
    assert outcome.ends_at >= outcome.target.valid_from


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Lisbon.", "I'm thinking of moving to Porto."),
        ("I have a cat.", "I have two dogs."),
        ("I'm planning to get a new camera lens.", "I got a new camera strap recently."),
    ],
)
def test_what_only_looks_like_a_change_is_added(before: str, after: str) -> None:
    outcome = last(before, after)
    assert outcome.action is Action.ADD
    assert outcome.target is None


def test_other_people_do_not_overrule() -> None:
    (home,) = told("I live in Lisbon.")
    (other,) = told("I live in Porto.", DAYS_APART, speaker="Ben")
    assert decide(other, [adopt(home, recorded_at=START)]).action is Action.ADD


@pytest.mark.parametrize("late", ["I live in Lisbon.", "I moved to Lisbon in 2012."])
def test_an_older_statement_that_arrives_late_keeps_its_place(late: str) -> None:
    (now,) = told("I live in Porto.", DAYS_APART)
    (old,) = told(late, 0)
    outcome = decide(old, [adopt(now, recorded_at=START)])
    assert (outcome.action, outcome.target) == (Action.ADD, None)
    assert outcome.ends_at == now.valid_from
    past = adopt(old, recorded_at=START, superseded_at=outcome.ends_at)
    assert (past.status, past.valid_to) == (Status.SUPERSEDED, now.valid_from)


def test_reading_an_event_again_changes_nothing() -> None:
    known: list[Statement] = []
    for draft in told("My brother Tom moved to Oslo. I love jazz. We decided to use Rust."):
        known = _after(known, draft, decide(draft, known))
    again = [
        decide(draft, known) for draft in told("My brother Tom moved to Oslo. I love jazz. We decided to use Rust.")
    ]
    assert {(outcome.action, outcome.reason) for outcome in again} == {(Action.NONE, "read before")}


_VALUES = (
    "jazz",
    "old jazz records",
    "the old jazz records of my uncle",
    "green tea",
    "green tea with honey and lemon",
)
_SAID = tuple(
    form.format(value)
    for value in (
        *_VALUES,
        *(f"{a} {b} books about {c}" for a in ("five", "six") for b in ("old", "new") for c in "xyz"),
    )
    for form in (
        "I like {}.",
        "I used to like {}.",
        "I don't like {}.",
        "I need to buy {}.",
        "I bought {} yesterday.",
        "I don't need to buy {} any more.",
        "I've read {}.",
        "We decided to use {} for the shop.",
        "We decided against {}.",
        "Let's use {} instead of green tea.",
    )
)


@pytest.mark.slow
def test_what_shares_no_key_is_never_touched() -> None:
    known: list[Statement] = []
    seen: set[Action] = set()
    for number, text in enumerate(_SAID * 2):
        for draft in told(text, number):
            outcome = decide(draft, known)
            assert decide(draft, [one for one in known if keys_of(one) & keys_for(draft)]) == outcome, text
            known = _after(known, draft, outcome)
            seen.add(outcome.action)
    assert seen == set(Action)
