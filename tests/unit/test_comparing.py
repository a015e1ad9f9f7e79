"""What a new statement does to known ones: by relations that hold one value, by words, and by the reader's verdicts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from everyword.knowledge.comparing import MOST_COMPARED, Action, Verdict, decide, keys_of, verdict_of
from everyword.knowledge.drafts import category_of
from everyword.types.events import Span
from everyword.types.statements import (
    SaidDate,
    Slot,
    Stance,
    Statement,
    StatementDraft,
    StatementKind,
    Status,
    adopt,
)

MONDAY = datetime(2026, 3, 9, 10, tzinfo=UTC)
EVENT = "ev_" + "0" * 32


def draft(quote: str, kind: StatementKind = StatementKind.ATTRIBUTE, days: int = 0, **given: object) -> StatementDraft:
    relation, value = given.pop("relation", None), given.pop("value", None)
    made = StatementDraft(
        kind=kind,
        content=quote,
        category=category_of(kind, None),
        quote=quote,
        event_id=f"ev_{abs(hash(quote)):032x}"[:35],
        span=Span(0, len(quote)),
        speaker="Mia",
        about="Mia",
        confidence=0.9,
        valid_from=MONDAY + timedelta(days=days),
        slot=Slot("Mia", str(relation)) if relation else None,
        value=str(value) if value else None,
    )
    return replace(made, **given)  # type: ignore[arg-type]


def known(*args: object, **given: object) -> Statement:
    return adopt(draft(*args, **given), recorded_at=MONDAY)  # type: ignore[arg-type]


def never(_draft: StatementDraft, _known: Statement) -> Verdict:
    pytest.fail("the reader must not be asked")


def always(verdict: Verdict):
    return lambda _draft, _known: verdict


def test_a_relation_with_one_value_needs_no_model() -> None:
    old = known("I live in Lisbon", relation="lives_in", value="Lisbon")
    outcome = decide(draft("I moved to Porto", days=5, relation="moved_to", value="Porto"), [old], never)
    assert (outcome.action, outcome.target, outcome.ends_at) == (Action.UPDATE, old, MONDAY + timedelta(days=5))
    assert outcome.reason == "lives in: 'Lisbon' became 'Porto'"


def test_an_unsure_value_takes_a_place_only_where_the_reader_leans_to_it() -> None:
    old = known("I live in Lisbon", relation="lives_in", value="Lisbon")
    new = draft("seven weeks to Sella", days=5, relation="lives_in", value="Sella", confidence=0.6)
    assert decide(new, [old], always(Verdict.OTHER)).action is Action.ADD
    assert decide(new, [old], always(Verdict.MAY_CLOSE)).action is Action.UPDATE
    assert decide(replace(new, confidence=0.8), [old], never).action is Action.UPDATE


def test_of_two_values_in_one_turn_neither_is_replaced_unless_the_reader_says_so() -> None:
    first = known("he's eleven", relation="age", value="eleven", event_id=EVENT)
    second = draft("rated 1640", relation="age", value="1640", event_id=EVENT)
    assert decide(second, [first], always(Verdict.OTHER)).action is Action.ADD
    assert decide(second, [first], always(Verdict.REPLACES)).target == first


def test_the_same_value_again_confirms() -> None:
    old = known("I live in Lisbon", relation="lives_in", value="Lisbon")
    outcome = decide(draft("still in lisbon", days=5, relation="lives_in", value="lisbon"), [old], never)
    assert outcome.action is Action.NONE


def test_what_is_over_is_closed_and_not_replaced() -> None:
    old = known("I work at Acme", relation="works_at", value="Acme")
    over = draft("I no longer work at Acme", days=9, relation="works_at", value="Acme", stance=Stance.ENDED)
    assert decide(over, [old], never).action is Action.RETRACT
    assert decide(replace(over, value="Bolt"), [old], always(Verdict.OTHER)).action is Action.ADD


def test_late_news_keeps_its_place_in_the_past() -> None:
    old = known("I live in Porto", days=30, relation="lives_in", value="Porto")
    outcome = decide(draft("I live in Lisbon", relation="lives_in", value="Lisbon"), [old], never)
    assert (outcome.action, outcome.ends_at) == (Action.ADD, old.valid_from)


def test_a_month_that_reaches_into_the_known_time_is_not_late() -> None:
    old = known("I live in Lisbon", relation="lives_in", value="Lisbon")
    march = SaidDate(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC), "in March")
    moved = draft("I moved to Porto in March", relation="moved_to", value="Porto", date=march, valid_from=march.start)
    assert decide(moved, [old], never).action is Action.UPDATE


@pytest.mark.parametrize(
    ("verdict", "action"),
    [
        (Verdict.SAME, Action.NONE),
        (Verdict.REPLACES, Action.UPDATE),
        (Verdict.ENDS, Action.RETRACT),
        (Verdict.FULFILS, Action.RETRACT),
        (Verdict.MAY_CLOSE, Action.ADD),
        (Verdict.OTHER, Action.ADD),
    ],
)
def test_else_the_reader_decides(verdict: Verdict, action: Action) -> None:
    old = known("I have to pay the gas bill", StatementKind.TASK)
    new = draft("the gas bill went out today", StatementKind.EVENT, days=1)
    assert decide(new, [old], always(verdict)).action is action


def test_a_value_that_was_planned_fulfils_the_plan() -> None:
    old = known("I live in Lisbon", relation="lives_in", value="Lisbon")
    given = {"relation": "moves_to", "value": "Porto", "entities": ("Porto",)}
    plan = known("I'm moving to Porto in April", StatementKind.PLAN, 1, **given)
    new = draft("I live in Porto now", days=40, relation="lives_in", value="Porto")
    outcome = decide(new, [plan, old], never)
    assert (outcome.action, outcome.target, outcome.ended, outcome.fulfilled) == (Action.UPDATE, old, (plan,), plan)
    assert decide(replace(new, value="Faro"), [plan, old], never).fulfilled is None


def test_a_plan_whose_date_is_long_over_is_not_done_by_a_later_deed() -> None:
    date = SaidDate(MONDAY + timedelta(days=5), MONDAY + timedelta(days=6), "on Saturday")
    plan = known("I'll go camping with the kids on Saturday", StatementKind.PLAN, date=date)
    for days, action in ((20, Action.RETRACT), (120, Action.ADD)):
        deed = draft("I went camping with the kids", StatementKind.EVENT, days)
        assert decide(deed, [plan], always(Verdict.FULFILS)).action is action


def test_only_plans_and_tasks_are_fulfilled() -> None:
    old = known("I like the gas stove", StatementKind.PREFERENCE)
    assert decide(draft("the gas stove is in", days=1), [old], always(Verdict.FULFILS)).action is Action.ADD


def test_only_what_happened_or_was_decided_settles_a_task() -> None:
    task = known("I need to paint the kitchen", StatementKind.TASK)
    for kind, confidence, action in (
        (StatementKind.EVENT, 0.9, Action.RETRACT),
        (StatementKind.EVENT, 0.2, Action.ADD),
        (StatementKind.PREFERENCE, 0.9, Action.ADD),
    ):
        said = draft("I painted the kitchen", kind, days=1, confidence=confidence)
        assert decide(said, [task], always(Verdict.FULFILS)).action is action


def test_another_number_is_not_the_same() -> None:
    old = known("the kitchen costs 30 thousand", StatementKind.FACT)
    new = draft("the kitchen costs 40 thousand", StatementKind.FACT, days=1)
    assert decide(new, [old], always(Verdict.SAME)).action is Action.ADD
    again = draft("the kitchen costs 30 thousand", StatementKind.FACT, days=1)
    assert decide(again, [old], never).action is Action.NONE


def test_few_are_compared_and_the_nearest_first() -> None:
    asked: list[str] = []

    def compare(_draft: StatementDraft, one: Statement) -> Verdict:
        asked.append(one.quote)
        return Verdict.OTHER

    others = [known(f"the gas meter number {n} is broken") for n in range(9)]
    decide(draft("have to read the gas meter today", StatementKind.TASK), [*others, known("the gas meter")], compare)
    assert len(asked) == MOST_COMPARED
    assert asked[0] == "the gas meter"
    asked.clear()
    decide(draft("bought a red bicycle"), others, compare)
    assert not asked


def test_what_is_only_considered_changes_nothing() -> None:
    old = known("I live in Lisbon", relation="lives_in", value="Lisbon")
    maybe = draft("maybe I move to Porto", relation="moved_to", value="Porto", stance=Stance.MAYBE)
    assert decide(maybe, [old], never).action is Action.ADD


def test_what_is_closed_is_not_compared() -> None:
    old = replace(known("I live in Lisbon", relation="lives_in", value="Lisbon"), status=Status.SUPERSEDED)
    assert decide(draft("I live in Porto", relation="lives_in", value="Porto"), [old], never).action is Action.ADD


def test_several_can_end_at_once() -> None:
    tasks = [
        known("book the hall for the party", StatementKind.TASK),
        known("invite all to the party", StatementKind.TASK),
    ]
    outcome = decide(draft("the party is off", StatementKind.DECISION, days=1), tasks, always(Verdict.ENDS))
    assert outcome.action is Action.RETRACT
    assert {outcome.target, *outcome.ended} == set(tasks)
    deed = draft("the hall for the party is booked", StatementKind.EVENT, days=1)
    assert decide(deed, tasks, always(Verdict.FULFILS)).ended == ()


def test_relations_of_one_meaning_share_a_key() -> None:
    moved, lives = (draft("x", relation=one, value="Porto") for one in ("moved_to", "lives_in"))
    assert keys_of(moved) & keys_of(lives) >= {"relation:lives_in"}


def test_only_what_is_sure_is_acted_on() -> None:
    nothing = dict.fromkeys(("same", "refines", "replaces", "ends", "fulfils", "unrelated"), 0.0)
    assert verdict_of({**nothing, "replaces": 0.5, "ends": 0.3}) is Verdict.REPLACES
    assert verdict_of({**nothing, "replaces": 0.5, "unrelated": 0.5}) is Verdict.MAY_CLOSE
    assert verdict_of({**nothing, "replaces": 0.4, "unrelated": 0.6}) is Verdict.OTHER
    assert verdict_of({**nothing, "same": 0.9}) is Verdict.SAME
    assert verdict_of({**nothing, "same": 0.6}) is Verdict.OTHER
