"""Intents: which plans and tasks are open, what settles them, what an answer does, and when they expire."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from clocks import Clock
from everyword import Memory
from everyword.errors import InvalidFilter, InvalidInput, NotFound
from everyword.knowledge.intents import DEFERRED, EXPIRES_DAYS, FEW_ANSWERS, MOST_THRESHOLD, THRESHOLD
from everyword.types.intents import Intent

START = datetime(2026, 3, 2, 10, tzinfo=UTC)  # a Monday
CITIES = ("Rome", "Porto", "Paris")
DAY = timedelta(days=1)
BILL = "I need to pay the gas bill by Friday."
REPORT = "I have to send the report to Acme by Thursday."
SMALL_TALK = (
    "Hi, how was your weekend?",
    "Pretty good, thanks! The weather was lovely.",
    "Haha, same here.",
    "Did you watch the match last night?",
    "I don't know what to say.",
    "It's so cold today.",
    "I must admit I ate three.",
    "I have to say, the croissants there are amazing.",
    "I wonder if it'll snow.",
    "Definitely!",
)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="none", clock=clock, background=False) as opened:
        yield opened


def say(memory: Memory, *texts: str, days: float = 0, speaker: str = "Leo") -> list[str]:
    """Say things some days after the start; give the events' ids."""
    return [memory.add(text, speaker=speaker, at=START + days * DAY).id for text in texts]


def quotes(intents: list[Intent]) -> list[str]:
    return [intent.statement for intent in intents]


def the_bill(memory: Memory, clock: Clock) -> Intent:
    """Say that the bill is to be paid, a day ago."""
    say(memory, BILL)
    clock.now = START + DAY
    (intent,) = memory.intents.list()
    return intent


# What is one


def test_a_task_with_a_date_is_due_that_day(memory: Memory) -> None:
    (event,) = say(memory, BILL)
    (intent,) = memory.intents.list()
    assert (intent.statement, intent.category, intent.status) == (BILL.rstrip("."), "task", "pending")
    assert (intent.due, intent.events) == (date(2026, 3, 6), (event,))
    # Whose it is, which the words alone do not say.
    assert intent.content == f"Leo: {intent.statement}"
    assert intent.content in memory.concepts.window().text
    (ground,) = intent.grounds
    assert (ground.quote, ground.speaker, ground.at) == (BILL.rstrip("."), "Leo", START)
    assert memory.get(event).text[slice(*ground.span)] == ground.quote
    assert memory.intents.get(intent.id) == intent


def test_a_busy_wing_hides_no_intents_of_another(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everyword.knowledge.intents.MOST_TODOS", 2)
    memory.wing("quiet").add(BILL, speaker="Leo", at=START)
    memory.wing("busy").add_many({"text": f"I plan to visit {city}.", "speaker": "Leo", "at": START} for city in CITIES)
    assert len(memory.wing("quiet").intents.list()) == 1


@pytest.mark.parametrize(
    ("words", "due"),
    [
        ("before Friday", date(2026, 3, 5)),
        ("before July", date(2026, 6, 30)),
        ("before the end of May", date(2026, 5, 31)),
    ],
)
def test_what_is_due_before_a_date_is_due_when_that_begins(memory: Memory, words: str, due: date) -> None:
    say(memory, f"I have to renew my passport {words}.")
    (intent,) = memory.intents.list()
    assert intent.due == due


def test_a_plan_is_one_without_a_date(memory: Memory) -> None:
    say(memory, "I plan to visit Rome.")
    (intent,) = memory.intents.list()
    assert (intent.category, intent.due) == ("plan", None)
    assert memory.intents.list(category="plan") == [intent]
    assert memory.intents.list(category="task") == []


def test_words_that_point_back_come_with_what_they_follow(memory: Memory) -> None:
    at = START - DAY
    memory.add("Can you bring the drill back?", speaker="Mia", session="s", at=at)
    memory.add("I need to bring it back by Friday.", speaker="Leo", session="s", at=at + timedelta(minutes=1))
    memory.add("The handover document is not done. I must write it by Thursday.", speaker="Ana", session="t", at=at)
    found = {one.statement.rstrip("."): one for one in memory.intents.list(now=START)}
    assert found["I must write it by Thursday"].content.endswith("(after “The handover document is not done.”)")
    drill = found["I need to bring it back by Friday"].follows
    assert drill is not None
    assert (drill.quote, drill.speaker) == ("Can you bring the drill back?", "Mia")


def test_two_different_tasks_stay_two_and_the_sooner_goes_first(memory: Memory) -> None:
    say(memory, "I need to renew my passport by 20 June.", BILL)
    assert quotes(memory.intents.list(now=START + 3 * DAY)) == [
        "I need to pay the gas bill by Friday",
        "I need to renew my passport by 20 June",
    ]
    assert len(memory.intents.list(limit=1)) == 1


def test_a_task_that_is_said_again_stays_one(memory: Memory) -> None:
    say(memory, BILL)
    say(memory, BILL, days=1)
    assert len(memory.intents.list(status="any", now=START + DAY)) == 1


def test_a_new_date_takes_the_place_of_the_old_one(memory: Memory, clock: Clock) -> None:
    say(memory, "My dentist appointment is on March 20.")
    (before,) = memory.intents.list()
    clock.now = START + DAY
    say(memory, "My dentist appointment was moved to March 30.", days=1)
    (after,) = memory.intents.list(status="any")
    assert (before.due, after.due) == (date(2026, 3, 20), date(2026, 3, 30))
    assert after.id == before.id
    assert [ground.at for ground in after.grounds] == [START, START + DAY]


def test_small_talk_makes_none(memory: Memory) -> None:
    say(memory, *SMALL_TALK)
    assert memory.intents.list(status="any") == []


def test_what_was_considered_or_need_not_be_done_makes_none(memory: Memory) -> None:
    say(memory, "I'm thinking of moving to Madrid.", "I live in Lisbon.", "I like jazz.")
    assert memory.intents.list(status="any") == []


def test_a_date_alone_makes_none(memory: Memory) -> None:
    say(memory, "When do you have to pay the rent?", speaker="Bo")
    say(memory, "by Thursday")
    assert [one.quote for one in memory.statements()] == ["by Thursday"]
    assert memory.intents.list() == []


def test_without_the_reader_there_are_none() -> None:
    with Memory.open(":memory:", embedder="none", reader="none") as memory:
        say(memory, BILL)
        assert memory.intents.list(status="any", now=START) == []


# What settles it


def test_later_words_resolve_it_and_are_its_proof(memory: Memory, clock: Clock) -> None:
    intent = the_bill(memory, clock)
    (paid,) = say(memory, "I paid the gas bill.", days=1)
    assert memory.intents.list() == []
    (resolved,) = memory.intents.list(status="resolved")
    assert resolved.id == intent.id
    assert resolved.settled_by is not None
    assert (resolved.settled_by.quote, resolved.settled_by.event_id) == ("I paid the gas bill", paid)
    memory.forget(ids=[paid])
    assert memory.intents.list() == [intent]


def test_one_that_is_resolved_leaves_the_others(memory: Memory) -> None:
    say(memory, BILL, "I need to renew my passport by 20 June.")
    say(memory, "I paid the gas bill.", days=1)
    assert quotes(memory.intents.list(now=START + DAY)) == ["I need to renew my passport by 20 June"]


def test_what_was_never_true_is_no_intent(memory: Memory, clock: Clock) -> None:
    the_bill(memory, clock)
    memory.retract(memory.statements(kind="task")[0].id, reason="never_true")
    assert memory.intents.list(status="any") == []


def test_what_is_forgotten_is_gone_with_its_answers(memory: Memory, clock: Clock) -> None:
    intent = the_bill(memory, clock)
    memory.intents.answer(intent.id, "accept")
    memory.forget(ids=[*intent.events])
    assert memory.intents.list(status="any") == []
    with pytest.raises(NotFound):
        memory.intents.get(intent.id)


# Answers


@pytest.mark.parametrize(
    ("answer", "status"), [("accept", "scheduled"), ("reject", "rejected"), ("done", "resolved"), ("defer", "deferred")]
)
def test_an_answer_decides_and_survives_a_rebuild(memory: Memory, clock: Clock, answer: str, status: str) -> None:
    intent = the_bill(memory, clock)
    answered = memory.intents.answer(intent.id, answer)
    assert (answered.id, answered.status) == (intent.id, status)
    assert memory.intents.list(status=status) == [answered]
    assert bool(memory.intents.list()) == (status == "scheduled")
    memory.admin.rebuild()
    assert memory.intents.get(intent.id) == answered


def test_the_last_answer_counts(memory: Memory, clock: Clock) -> None:
    intent = the_bill(memory, clock)
    for answer, status in (("reject", "rejected"), ("accept", "scheduled"), ("done", "resolved")):
        clock.now += timedelta(minutes=1)
        assert memory.intents.answer(intent.id, answer).status == status


def test_an_answer_can_be_taken_back(memory: Memory, clock: Clock) -> None:
    intent = the_bill(memory, clock)
    memory.intents.answer(intent.id, "accept")
    assert memory.intents.answer(intent.id, "done").status == "resolved"
    assert memory.intents.answer(intent.id, "undo").status == "scheduled"
    assert memory.intents.answer(intent.id, "undo") == intent
    assert memory.intents.answer(intent.id, "undo") == intent


def test_an_imported_history_is_answered_at_its_own_time(memory: Memory, clock: Clock) -> None:
    clock.now = START + 900 * DAY
    say(memory, BILL)
    assert memory.intents.list() == []
    (intent,) = memory.intents.list(now=START + DAY)
    assert memory.intents.answer(intent.id, "done").status == "resolved"
    assert memory.intents.list(now=START + DAY) == []


def test_what_is_deferred_comes_back(memory: Memory, clock: Clock) -> None:
    say(memory, "I plan to visit Rome.")
    (intent,) = memory.intents.list()
    until = START + 3 * DAY
    deferred = memory.intents.answer(intent.id, "defer", until=until)
    assert (deferred.status, deferred.until) == ("deferred", until)
    assert memory.intents.list(now=until - timedelta(minutes=1)) == []
    assert quotes(memory.intents.list(now=until)) == [intent.statement]
    again = memory.intents.answer(intent.id, "defer")  # nobody says until when
    assert again.until == clock.now + DEFERRED


def test_a_modified_intent_has_the_new_words(memory: Memory, clock: Clock) -> None:
    intent = the_bill(memory, clock)
    modified = memory.intents.answer(intent.id, "modify", text="Pay the gas bill and the rent.")
    assert (modified.id, modified.statement) == (intent.id, "Pay the gas bill and the rent.")
    assert (modified.status, modified.due) == ("pending", intent.due)
    assert memory.intents.list() == [modified]


def test_a_rejected_one_does_not_hide_unrelated_ones(memory: Memory, clock: Clock) -> None:
    say(memory, BILL, REPORT, "I plan to visit Rome.")
    rejected = next(one for one in memory.intents.list() if "gas" in one.statement)
    memory.intents.answer(rejected.id, "reject")
    left = memory.intents.list()
    assert sorted(quotes(left)) == [REPORT.rstrip("."), "I plan to visit Rome"]
    say(memory, "I need to renew my passport by 20 June.", days=0.5)
    clock.now = START + DAY
    assert "I need to renew my passport by 20 June" in quotes(memory.intents.list())


def test_answers_move_the_threshold_of_their_category_alone(memory: Memory, clock: Clock) -> None:
    say(memory, BILL, "I plan to visit Rome.")
    (task,) = memory.intents.list(category="task")
    for _ in range(FEW_ANSWERS - 1):
        assert memory.intents.answer(task.id, "reject").threshold == THRESHOLD
    memory.intents.answer(task.id, "reject")
    (plan,) = memory.intents.list(category="plan")
    assert plan.threshold == THRESHOLD
    assert THRESHOLD < memory.intents.get(task.id).threshold <= MOST_THRESHOLD


def test_answers_that_make_no_sense_are_told(memory: Memory, clock: Clock) -> None:
    intent = the_bill(memory, clock)
    for answer, given in (
        ("modify", {}),
        ("accept", {"text": "x"}),
        ("accept", {"until": START}),
        ("perhaps", {}),
    ):
        with pytest.raises((InvalidInput, InvalidFilter)):
            memory.intents.answer(intent.id, answer, **given)
    with pytest.raises(NotFound):
        memory.intents.answer("in_0", "accept")
    with pytest.raises(InvalidInput):
        memory.intents.list(status="odd")
    with pytest.raises(InvalidInput):
        memory.intents.list(category="reminder")
    assert memory.intents.list() == [intent]


# Time


def test_it_expires_with_its_date(memory: Memory) -> None:
    say(memory, BILL)
    saturday = datetime(2026, 3, 7, tzinfo=UTC)  # Friday's end
    assert len(memory.intents.list(now=saturday - timedelta(minutes=1))) == 1
    assert memory.intents.list(now=saturday) == []
    (expired,) = memory.intents.list(status="expired", now=saturday + DAY)
    assert expired.statement == BILL.rstrip(".")


def test_without_a_date_it_expires_when_it_was_likely_done(memory: Memory, clock: Clock) -> None:
    say(memory, "I plan to visit Rome.")
    assert len(memory.intents.list(now=START + 7 * DAY)) == 1
    (expired,) = memory.intents.list(now=START + 40 * DAY, status="any")
    assert expired.status == "expired"
    say(memory, "I plan to visit Rome.", days=39)
    (again,) = memory.intents.list(now=START + 40 * DAY)
    assert (again.id, again.reason, again.last_at) == (expired.id, "said 2 times", START + 39 * DAY)


def test_what_was_accepted_is_kept_longer(memory: Memory, clock: Clock) -> None:
    say(memory, "I plan to visit Rome.")
    memory.intents.answer(memory.intents.list()[0].id, "accept")
    last = START + EXPIRES_DAYS * DAY
    assert [one.status for one in memory.intents.list(now=last)] == ["scheduled"]
    assert memory.intents.list(now=last + timedelta(minutes=1)) == []


def test_it_is_more_urgent_the_closer_its_date(memory: Memory) -> None:
    say(memory, BILL)
    urgencies = [memory.intents.list(now=START + days * DAY)[0].urgency for days in (1, 3, 4)]
    assert urgencies == sorted(urgencies)
    assert len(set(urgencies)) == 3


def test_as_of_reads_any_past_state(memory: Memory, clock: Clock) -> None:
    intent = the_bill(memory, clock)
    clock.now = START + 2 * DAY
    say(memory, "I paid the gas bill.", days=2)
    clock.now = START + 3 * DAY
    assert memory.intents.list() == []
    assert quotes(memory.intents.list(as_of=START + DAY)) == [intent.statement]
    assert memory.intents.list(as_of=START + DAY)[0].settled_by is None
    assert memory.intents.list(as_of=START - DAY, status="any") == []
    assert memory.intents.list(as_of=START + 2 * DAY) == []
    say(memory, REPORT, days=3)
    (report,) = memory.intents.list()
    clock.now = START + 3.5 * DAY
    memory.intents.answer(report.id, "reject")
    assert quotes(memory.intents.list(as_of=START + 3.25 * DAY)) == [report.statement]


# Scopes


def test_a_wing_shows_its_own_alone(memory: Memory) -> None:
    home, work = memory.wing("home"), memory.wing("work")
    say(home, BILL)
    say(work, REPORT)
    assert quotes(home.intents.list()) == [BILL.rstrip(".")]
    (report,) = work.intents.list()
    assert report.statement == REPORT.rstrip(".")
    with pytest.raises(NotFound):
        home.intents.answer(report.id, "reject")
    work.intents.answer(report.id, "reject")
    assert quotes(memory.intents.list()) == [BILL.rstrip(".")]


def test_spaces_are_apart(memory: Memory) -> None:
    say(memory, BILL)
    assert memory.space("other").intents.list(status="any") == []


def test_each_person_has_tasks_of_their_own(memory: Memory) -> None:
    say(memory, BILL)
    say(memory, BILL, speaker="Mia")
    say(memory, "I paid the gas bill.", speaker="Mia", days=1)
    (left,) = memory.intents.list(now=START + DAY)
    assert left.grounds[0].speaker == "Leo"
