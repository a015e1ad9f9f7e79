"""What a new statement does to what is known: a story told in sentences, and what became of each."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from everyword.knowledge.legacy.extract.compare import (
    SAME_WORDS,
    Action,
    Outcome,
    decide,
    is_single_valued,
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
        ("I live in Lisbon.", "I live in Porto now."),
        ("I work as a nurse.", "I got promoted to ward manager."),
        ("I work at the bank.", "I started a new job at a bakery."),
        ("My favourite band is Sault.", "My favourite band is Khruangbin."),
        ("Our budget is 12,000 euros.", "Our budget is now 15,000 euros."),
        ("Our budget is 12,000 euros.", "Correction: our budget is 15,000 euros, not 12,000."),
        ("The budget for new infra is 30k this year.", "Correction: the budget is 40k, not 30k."),
        ("The budget for new infra is 30k.", "The budget was cut to 25k."),
        ("The deadline for the migration is 15 May.", "Actually, make that deadline 31 May."),
        ("The deadline is 15 May.", "The deadline was moved to 31 May."),
        ("The fee is 12 euros.", "I was wrong about the fee, it's 15 euros."),
        ("I'm single.", "I got engaged."),
        ("I'm 34.", "I'm 35."),
        ("We decided to use PostgreSQL for the billing service.", "Let's use MySQL instead of PostgreSQL."),
        ("We use Kafka for the event bus.", "We switched from Kafka to NATS."),
        ("Our main database is PostgreSQL.", "Our main database is now CockroachDB."),
        ("I don't like olives.", "I like olives."),
        ("I've knitted 20 squares of the blanket.", "I've knitted 30 squares so far."),
        ("I've been using my old phone for 6 months.", "I've been using my old phone for 9 months now."),
        ("I've been spending an hour each day on scales.", "I've been spending two hours each day on scales."),
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
        ("I love jazz.", "I really love jazz."),
        ("I'm allergic to peanuts.", "Yes, I'm allergic to peanuts, so no satay."),
        ("I don't eat pork.", "I don't eat pork."),
        ("We decided to use PostgreSQL.", "We agreed to use PostgreSQL."),
        ("I need to renew my passport.", "I have to renew my passport."),
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
        ("I like jazz.", "I don't like jazz any more."),
        ("I like jazz.", "I don't like jazz."),
        ("I work at the bank.", "I no longer work at the bank."),
        ("I work at the bank.", "I don't work there anymore."),
        ("We decided to use Redis.", "We decided against Redis."),
        ("I need to send the quarterly report by Friday.", "I sent the quarterly report this morning."),
        ("I need to send the quarterly report by Friday.", "I don't need to send the report any more."),
        ("Remind me to water the orchids on Sunday.", "I watered the orchids."),
        ("I live in Lisbon.", "I don't live in Lisbon."),
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
        ("I live in Lisbon.", "I love Porto."),
        ("I live in Lisbon.", "My brother lives in Porto."),
        ("I live in Lisbon.", "I don't live in Porto."),
        ("I live in Porto.", "I used to live in Lisbon."),
        ("I like horror films.", "I don't like films."),
        ("I have a cat.", "I have two dogs."),
        ("I'm allergic to peanuts.", "I'm allergic to cats."),
        ("I need to send the quarterly report by Friday.", "I sent the flowers."),
        ("I need to send the quarterly report by Friday.", "I read the quarterly report yesterday."),
        ("We use PostgreSQL for the billing service.", "We use SQLite for the tests."),
        ("I visited Rome last week.", "I visited Rome last week."),
        ("I'm planning to get a new camera lens.", "I got a new camera strap recently."),
        ("I've read 20 pages of Middlemarch.", "I've read 5 chapters of Emma."),
        ("I'm proud of my son.", "I'm proud of my team."),
    ],
)
def test_what_only_looks_like_a_change_is_added(before: str, after: str) -> None:
    outcome = last(before, after)
    assert outcome.action is Action.ADD
    assert outcome.target is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I work at the bank.", "I was fired."),
        ("I work as a nurse.", "I quit my job."),
        ("I work as a nurse.", "I handed in my notice."),
        ("I work at the Grand Hotel.", "I quit my job at the Grand Hotel."),
        ("My brother Tom works at Acme.", "Tom lost his job yesterday."),
        ("My husband Marc cooks.", "We got divorced."),
        ("My husband Marc cooks.", "Marc and I are separated."),
        ("My husband Marc cooks.", "I'm divorced."),
        ("My girlfriend Mia cooks.", "Mia and I broke up."),
        ("My sister Elena is pregnant.", "Elena had the baby last night."),
    ],
)
def test_what_is_over_need_not_be_named(before: str, after: str) -> None:
    *_, outcome = story(before, after)
    (ended,) = outcome.ended
    assert ended.quote == before


def test_of_two_things_with_one_short_name_neither_changes() -> None:
    *_, outcome = story("The budget for infra is 30k.", "The budget for travel is 5k.", "The budget was cut to 3k.")
    assert outcome.action is Action.ADD
    *_, outcome = story("The limit is 30 requests.", "Correction: the fee is 40, not 30.")
    assert outcome.action is Action.ADD


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I work at the bank.", "I was fired in 2019."),
        ("I work at the bank.", "Tom lost his job."),
        ("I'm a nurse.", "I quit my job."),
        ("I started a new job at Globex.", "I handed in my notice at Acme."),
        ("I started a new job at Globex.", "I quit my job."),
        ("My wife Anna cooks.", "Bob and I split up."),
        ("My husband Paul cooks.", "I moved to Porto after the divorce."),
        ("My sister Elena cooks.", "We got divorced."),
    ],
)
def test_what_is_over_ends_nothing_else(before: str, after: str) -> None:
    assert not any(outcome.ended for outcome in story(before, after))


def test_two_people_can_have_one_name() -> None:
    outcomes = story("My friend Rita visited us yesterday.", "My cousin Rita visited us yesterday.")
    assert {outcome.action for outcome in outcomes} >= {Action.ADD}
    assert [outcome.action for outcome in outcomes if outcome.target is None] == [Action.ADD] * 4


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


def test_a_month_that_has_begun_is_not_older_than_its_days() -> None:
    (home,) = told("I live in Lisbon.")  # 10 March
    (moved,) = told("I moved to Porto in March.", DAYS_APART)  # said on the 20th
    outcome = decide(moved, [adopt(home, recorded_at=START)])
    assert outcome.action is Action.UPDATE
    assert outcome.ends_at == START  # nothing ends before it began


def test_what_is_closed_is_not_closed_again() -> None:
    outcomes = story("I live in Lisbon.", "I moved to Porto.", "I moved to Braga.")
    assert [outcome.action for outcome in outcomes] == [Action.ADD, Action.UPDATE, Action.UPDATE]
    assert outcomes[-1].target is not None
    assert outcomes[-1].target.value == "Porto"


def test_reading_an_event_again_changes_nothing() -> None:
    known: list[Statement] = []
    for draft in told("My brother Tom moved to Oslo. I love jazz. We decided to use Rust."):
        known = _after(known, draft, decide(draft, known))
    again = [
        decide(draft, known) for draft in told("My brother Tom moved to Oslo. I love jazz. We decided to use Rust.")
    ]
    assert {(outcome.action, outcome.reason) for outcome in again} == {(Action.NONE, "read before")}


def test_which_slots_hold_one_value() -> None:
    assert all(
        map(is_single_valued, ["lives_in", "job", "favourite:band", "database", "database:billing service", "wife"])
    )
    assert not any(map(is_single_valued, ["likes:jazz", "has:cat", "allergic:peanuts", "sister:mia"]))


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


@pytest.mark.parametrize("size", range(1, 31))
def test_a_statement_in_nearly_the_same_words_is_found_whatever_its_length(size: int) -> None:
    (plain,) = told("I like jazz.")
    words = [f"word{number}" for number in range(size)]
    for fewer in range(size):
        for more in range(size):
            other = [*words[fewer:], *(f"other{number}" for number in range(more))]
            if size - fewer < SAME_WORDS * (size + more):
                break
            mine, its = (replace(plain, slot=None, value=" ".join(one)) for one in (words, other))
            assert keys_of(mine) & keys_for(its)
