"""Intents: what gathers into one, what settles it, what an answer does, and what is never one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clocks import Clock
from everyword import Memory
from everyword.errors import InvalidFilter, InvalidInput, NotFound
from everyword.knowledge.legacy.fold.clusters import Goal
from everyword.knowledge.legacy.fold.density import Topic, density
from everyword.knowledge.legacy.fold.goals import MarkKind, marks_of
from everyword.knowledge.legacy.fold.intents import crystallise
from everyword.knowledge.legacy.fold.unmet import is_trouble
from everyword.types.events import Event, Span
from everyword.types.feed import Waiting
from everyword.types.intents import Evidence, Intent, IntentCategory, IntentStatus

START = datetime(2026, 3, 2, 10, tzinfo=UTC)  # a Monday
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SMALL_TALK = """Hi, how was your weekend?
Pretty good, thanks! We went to the lake and the weather was lovely.
I need a coffee before I can think straight.
Haha, same here. I should go to bed earlier.
Did you watch the match last night?
No, I fell asleep on the sofa. I want to see the highlights though.
We should catch up for lunch sometime!
Definitely, I'd love that.
My cat knocked over a plant this morning.
I hope it doesn't rain tomorrow.
I wish it was Friday already.
You should try the new bakery, the rolls are great.
I have to say, the croissants there are amazing.
I must admit I ate three.
Well, I need to go now. Talk soon!
Good morning! I slept so badly.
Poor you. I need more sleep too.
It's so cold today, I want my warm bed.
I know, I should have brought a scarf.
Same. Somebody should invent a self-filling cup.
I really want to visit Japan some day.
How cute! I want a puppy.
I still can't believe how warm it was last week.
I don't know what to say.
I wonder if it'll snow.
We're still waiting for summer, aren't we?
I need a holiday.
I'd love to join you but I'm shattered.
I should really drink less coffee.
Good for you! I have to get going, bye.""".splitlines()


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    # What goals do by themselves, derived when the test says so.
    with Memory.open(":memory:", embedder="none", clock=clock, fold=False, background=False) as opened:
        yield opened


def say(memory: Memory, *texts: str, at: datetime = START, speaker: str = "Leo", session: str = "s") -> None:
    memory.add_many(
        {"text": text, "speaker": speaker, "session": session, "at": at + timedelta(minutes=n)}
        for n, text in enumerate(texts)
    )


def statements(intents: list[Intent]) -> list[str]:
    return [intent.statement for intent in intents]


# What is one


def test_a_todo_with_a_deadline_is_an_intent_on_its_own(memory: Memory) -> None:
    say(memory, "I need to send the budget report to Ana by Friday.")
    (intent,) = memory.intents.list()
    assert intent.statement == "I need to send the budget report to Ana by Friday"
    assert intent.category is IntentCategory.TASK
    assert intent.status is IntentStatus.PENDING
    assert intent.deadline == datetime(2026, 3, 7, tzinfo=UTC)
    assert intent.grounds[0].quote in memory.get(intent.grounds[0].event_id).text
    assert "time by which" in intent.reason


@pytest.mark.parametrize(
    "text",
    [
        "The tax return is due on March 12.",
    ],
)
def test_what_is_due_on_a_day_is_an_intent_on_its_own(memory: Memory, text: str) -> None:
    say(memory, text)
    (intent,) = memory.intents.list()
    assert intent.deadline == datetime(2026, 3, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "I still have to finish the report that I promised in January.",
        "I still want to finish the book that I began in February.",
        "I still have to answer the letter that came on Friday.",
    ],
)
def test_a_time_that_is_past_is_no_deadline(memory: Memory, text: str) -> None:
    say(memory, text)
    (intent,) = memory.intents.list()
    assert intent.deadline is None


def test_that_one_has_no_time_is_no_task(memory: Memory) -> None:
    say(memory, "I can't on the 11th.", "We can't make it tomorrow.")
    assert memory.intents.list() == []


@pytest.mark.parametrize(
    ("said", "due"),
    [
        (("I have to send the tax forms by Friday.", "Correction: it's Monday."), "2026-03-09"),
        (
            (
                "I need to submit the grant application by Friday.",
                "The deadline for the grant application was moved to March 20.",
            ),
            "2026-03-20",
        ),
    ],
)
def test_a_deadline_follows_what_put_it_right(memory: Memory, said: tuple[str, ...], due: str) -> None:
    say(memory, *said)
    (intent,) = memory.intents.list(now=START + HOUR)
    assert str(intent.due) == due


@pytest.mark.parametrize(
    ("goal", "mended"),
    [
        ("I need to fix the VPN on the laptop by Thursday.", "vpn is fixed now"),
        ("We need to prepare the Oslo trip by Friday.", "The Oslo trip is cancelled."),
    ],
)
def test_trouble_that_is_over_settles_what_it_was_about(memory: Memory, goal: str, mended: str) -> None:
    say(memory, goal)
    assert len(memory.intents.list(now=START + HOUR)) == 1
    say(memory, mended, at=START + HOUR)
    assert memory.intents.list(now=START + 2 * HOUR) == []


@pytest.mark.parametrize(
    "later",
    [
        "The kitchen tap works again, but it still drips.",
        "Is the kitchen tap fixed?",
    ],
)
def test_trouble_that_is_not_over_settles_nothing(memory: Memory, later: str) -> None:
    say(memory, "I must get the kitchen tap repaired by Friday.")
    say(memory, later, at=START + HOUR)
    assert "I must get the kitchen tap repaired by Friday" in statements(memory.intents.list(now=START + 2 * HOUR))


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("The trip is cancelled.", False),
        ("The train was cancelled again.", True),
    ],
)
def test_the_end_of_trouble_is_none(text: str, trouble: bool) -> None:
    assert is_trouble(text.casefold()) is trouble


def test_a_todo_that_was_reworded_by_hand_is_due_as_it_says_now(memory: Memory) -> None:
    say(memory, "I have to send the tax forms by Friday.")
    (todo,) = memory.statements()
    memory.correct(todo.id, "send the tax forms and the receipts by March 20")
    (intent,) = memory.intents.list(now=START + HOUR)
    assert (intent.statement, str(intent.due)) == ("send the tax forms and the receipts by March 20", "2026-03-20")


def test_a_deed_that_was_taken_back_settles_nothing(memory: Memory) -> None:
    say(memory, "I need to send the invoice to Acme by Friday.", "I sent the invoice to Acme.")
    assert memory.intents.list(now=START + HOUR) == []
    say(memory, "Scratch that.", at=START + HOUR)
    assert statements(memory.intents.list(now=START + 2 * HOUR)) == ["I need to send the invoice to Acme by Friday"]


@pytest.mark.parametrize(
    ("said", "words", "due"),
    [
        ("2026-03-02", "before the end of the month", "2026-03-31"),
        ("2026-12-15", "before the end of the year", "2026-12-31"),
        ("2026-03-02", "by EOW", "2026-03-08"),
        ("2026-03-02", "before April", "2026-03-31"),
    ],
)
def test_the_end_of_a_time_is_its_last_day(memory: Memory, said: str, words: str, due: str) -> None:
    at = datetime.fromisoformat(said).replace(hour=9, tzinfo=UTC)
    say(memory, f"I have to file the VAT return {words}.", at=at)
    (intent,) = memory.intents.list(now=at + HOUR)
    assert str(intent.due) == due


def test_a_deadline_at_the_end_of_the_calendar_breaks_nothing(memory: Memory) -> None:
    heard: list[Intent] = []
    memory.on("intent", heard.append)
    say(memory, "I must cancel the trial before 9999-12-31.")
    memory.admin.settle()
    assert len(heard) == 1
    (intent,) = memory.intents.list()
    memory.intents.answer(intent.id, "defer")
    assert [one.status for one in memory.intents.list(status="any")] == [IntentStatus.DEFERRED]
    assert memory.concepts.window()


def test_an_intent_does_not_drift_from_goal_to_goal(memory: Memory) -> None:
    said = [
        "I still have to mend the river gauge before the flood season.",
        "I still have to paint the river boat before the flood party.",
        "I still have to paint the garden boat shed this spring.",
        "I still have to clear the garden path by the shed.",
        "I still have to clear the attic path to the window.",
        "I still have to wash the attic window curtains.",
        "I still have to hem the curtains in the kitchen window.",
    ]
    for day, text in enumerate(said):
        say(memory, text, at=START + day * DAY)
    assert max(len(intent.grounds) for intent in memory.intents.list(limit=20, now=START + 9 * DAY)) <= 4


def test_a_wish_said_twice_in_other_words_is_one_intent_with_both_quotes(memory: Memory) -> None:
    say(memory, "We really have to make the auth test suite reliable.")
    assert memory.intents.list() == []  # said once, and nothing shows that it is not met
    say(memory, "Still no owner for the flaky auth tests, I'd like to get that suite stable.", at=START + DAY)
    (intent,) = memory.intents.list()
    assert len(intent.grounds) == 2
    assert intent.density >= intent.threshold


def test_one_thing_in_other_words_is_one_intent_and_one_verb_is_not(memory: Memory) -> None:
    say(memory, "We ought to do something about the gutter.")
    say(memory, "Nobody has looked at the gutter since autumn.", at=START + DAY)
    say(memory, "I should send the offer to Tom.", "I still have to send the photos to Mara.", at=START + 2 * DAY)
    found = {intent.statement: len(intent.grounds) for intent in memory.intents.list(now=START + 2 * DAY)}
    assert found == {"Nobody has looked at the gutter since autumn": 2, "I still have to send the photos to Mara": 1}


def test_what_goes_wrong_shows_a_goal_unmet_and_is_none_by_itself(memory: Memory) -> None:
    say(memory, "The garage door is stuck again.")
    assert memory.intents.list(status="any") == []
    say(memory, "I want to buy a new motor for the garage door.", at=START + DAY)
    (intent,) = memory.intents.list(now=START + 2 * DAY)
    assert intent.statement == "I want to buy a new motor for the garage door"
    assert intent.grounds[0].quote == "The garage door is stuck again."
    say(memory, "Bought the new motor for the garage door.", at=START + 3 * DAY)
    say(memory, "The garage door makes a mess of the paint.", at=START + 4 * DAY)
    assert memory.intents.list(now=START + 5 * DAY) == []


def test_an_id_stays_when_an_intent_grows(memory: Memory) -> None:
    say(memory, "I must book the hotel in Bergen by 20 March.")
    (before,) = memory.intents.list()
    say(memory, "The Bergen hotel still has to be booked.", at=START + DAY)
    (after,) = memory.intents.list()
    assert after.id == before.id
    assert len(after.grounds) == 2
    assert after.importance > before.importance


def test_pure_small_talk_makes_no_intent_however_often_it_is_repeated(memory: Memory) -> None:
    for day in range(4):
        say(memory, *SMALL_TALK, at=START + day * DAY, session=f"day {day}")
    assert memory.intents.list(status="any", limit=100, now=START + 4 * DAY) == []


@pytest.mark.slow
def test_small_talk_makes_no_intent_where_it_makes_concepts(clock: Clock) -> None:
    with Memory.open(":memory:", embedder="hashing", clock=clock) as memory:
        for day in range(3):
            say(memory, *SMALL_TALK, at=START + day * DAY, session=f"day {day}")
        memory.admin.settle()
        assert memory.intents.list(status="any", limit=100, now=START + 3 * DAY) == []


@pytest.mark.parametrize(
    "text",
    [
        "I had to re-run the deploy by Friday.",
        "We should have sent the report by Friday.",
    ],
)
def test_what_is_past_denied_supposed_asked_or_told_to_another_is_no_goal(text: str) -> None:
    assert [mark for mark in marks_of(Event(text=text, at=START)) if mark.kind is MarkKind.GOAL] == []


def is_goal(text: str) -> bool:
    return any(mark.kind is MarkKind.GOAL for mark in marks_of(Event(text=text, at=START)))


@pytest.mark.parametrize(
    "text",
    [
        "Neighbours have pleaded for a zebra crossing.",
        "They won't deliver the stove until the deposit is there.",
        "Request from the choir: more light on the stairs.",
    ],
)
def test_what_is_asked_pledged_held_up_put_off_or_there_in_part_is_a_goal(text: str) -> None:
    assert is_goal(text)


@pytest.mark.parametrize(
    "text",
    [
        "Tomatoes need plenty of sun.",
        "The request for a crossing was granted.",
    ],
)
def test_what_holds_in_general_or_came_about_is_no_goal(text: str) -> None:
    assert not is_goal(text)


def test_amounts_tell_no_things_apart_and_numbers_of_things_do(memory: Memory) -> None:
    say(memory, "The parish plans to raise 300,000 for the organ by 2030.")
    say(memory, "Just 1,200 of what the parish organ costs is there so far.", at=START + DAY)
    say(memory, "Invoice 4711 for the scaffold is still unpaid.", at=START + 2 * DAY)
    say(memory, "Invoice 4712 for the scaffold is still unpaid.", at=START + 3 * DAY)
    grounds = [len(intent.grounds) for intent in memory.intents.list(now=START + 4 * DAY)]
    assert grounds == [2]


def test_an_assistant_has_no_goals_but_its_deeds_count(memory: Memory) -> None:
    memory.add("I need to send the invoice to Mara by Friday.", speaker="Leo", role="user", at=START)
    memory.add("You should send the offer to Tom by Friday.", speaker="bot", role="assistant", at=START + HOUR)
    assert len(memory.intents.list()) == 1
    memory.add("Done, I sent the invoice to Mara.", speaker="bot", role="assistant", at=START + 2 * HOUR)
    assert memory.intents.list(now=START + 3 * HOUR) == []


def test_what_only_others_want_is_shown_to_nobody(memory: Memory) -> None:
    say(memory, "The Corner Bakery wants its money back.", "The Corner Bakery needs the money for a new oven.")
    assert memory.intents.list(status="any") == []


# What settles one


@pytest.mark.parametrize(
    ("goal", "deed"),
    [
        ("I need to send the budget report to Ana by Friday.", "I sent it."),
        ("My permit runs out in August! I have to renew it before June.", "I renewed my permit."),
        ("I promised Lena the pitch deck by Thursday.", "Pitch deck sent to Lena."),
    ],
)
def test_later_words_settle_an_intent_without_being_told(memory: Memory, goal: str, deed: str) -> None:
    say(memory, goal)
    assert len(memory.intents.list()) == 1
    say(memory, deed, at=START + HOUR)
    assert memory.intents.list(now=START + 2 * HOUR) == []
    (settled,) = memory.intents.list(status="resolved", now=START + 2 * HOUR)
    assert settled.settled_by is not None
    assert settled.settled_by.quote in deed
    assert memory.intents.list(as_of=START - DAY) == []


@pytest.mark.parametrize(
    "text",
    [
        "I haven't sent it yet.",
        "My neighbour got a puppy, it chewed the doormat.",
    ],
)
def test_what_is_not_done_or_is_another_thing_settles_nothing(memory: Memory, text: str) -> None:
    say(memory, "I need to send the budget report to Ana by Friday.")
    say(memory, text, at=START + HOUR)
    assert len(memory.intents.list(now=START + 2 * HOUR)) == 1


def test_what_is_to_stop_is_not_met_by_happening_again(memory: Memory) -> None:
    say(memory, "I still have to stop the booking site from selling the attic room twice.")
    say(memory, "The booking site sold the attic room to two families.", at=START + DAY)
    assert len(memory.intents.list(now=START + 2 * DAY)) == 1


def test_what_a_goal_only_waits_for_does_not_settle_it(memory: Memory) -> None:
    say(memory, "I still have to empty the barn once the harvest has ended.")
    say(memory, "The harvest ended on Sunday.", at=START + DAY)
    assert len(memory.intents.list(now=START + 2 * DAY)) == 1


def test_a_deed_before_the_goal_settles_nothing(memory: Memory) -> None:
    say(memory, "Sent the report to Ana.", "I need to send the report to Ana again by Friday.")
    assert len(memory.intents.list()) == 1


def test_what_is_to_be_done_again_is_another_intent(memory: Memory) -> None:
    say(memory, "I need to pay the rent by 6 March.", "Paid the rent.")
    say(memory, "I need to pay the rent by 6 April.", at=START + 20 * DAY)
    now = START + 21 * DAY
    (open_one,) = memory.intents.list(now=now)
    (done,) = memory.intents.list(status="resolved", now=now)
    assert open_one.id != done.id
    assert open_one.deadline == datetime(2026, 4, 7, tzinfo=UTC)


def test_a_passed_deadline_and_long_silence_expire(memory: Memory) -> None:
    say(memory, "I need to send the budget report to Ana by Friday.")
    assert len(memory.intents.list(now=START + 5 * DAY)) == 1
    assert memory.intents.list(now=START + 10 * DAY) == []
    assert len(memory.intents.list(status="expired", now=START + 10 * DAY)) == 1
    say(memory, "I still haven't found a dentist in Porto.", "I want to find a dentist in Porto.", at=START)
    assert len(memory.intents.list(now=START + 50 * DAY)) == 1
    assert memory.intents.list(now=START + 70 * DAY) == []


# How pressing


def test_a_deadline_inside_a_day_doubles_the_urgency(memory: Memory) -> None:
    say(memory, "I need to send the budget report to Ana by Friday.")
    week, two_days, one_day = (memory.intents.list(now=START + hours * HOUR)[0].urgency for hours in (0, 80, 100))
    assert week == pytest.approx(0.2 + 0.2 + 0.1)  # base, just said, and a deadline within a week
    assert two_days == pytest.approx(0.2 + 0.2 * math.exp(-0.8) + 0.2)
    assert one_day == 1.0  # (base + said four days ago + .3) x 2


def test_the_most_pressing_stand_first_and_five_at_most(memory: Memory) -> None:
    for day in range(3, 15):
        say(memory, f"I must return the book number{day} by {day} March.", at=START)
    shown = memory.intents.list()
    assert len(shown) == 5
    assert shown == sorted(shown, key=lambda intent: -intent.priority)
    assert shown[0].deadline == datetime(2026, 3, 4, tzinfo=UTC)
    assert len(memory.intents.list(limit=50)) == 12


def test_density_counts_concepts_edges_recency_and_events() -> None:
    one = Topic(id="a", label="a", events=3)
    two = Topic(id="b", label="b", events=3, neighbours=frozenset({"a"}))
    bare = density([0.6], [], last_at=START, now=START).value
    with_one = density([0.6], [one], last_at=START, now=START).value
    with_two = density([0.6], [one, two], last_at=START, now=START)
    apart = density([0.6], [one, Topic(id="b", label="b", events=3)], last_at=START, now=START).value
    assert bare < with_one < apart < with_two.value <= 1
    assert density([0.6], [one], last_at=START, now=START + 30 * DAY).value < with_one
    assert density([0.6, 0.6], [one], last_at=START, now=START).value > with_one
    assert "connected 1.00" in with_two.explain()


def test_a_concept_lifts_a_goal_over_its_threshold_and_is_named() -> None:
    text = "The deploy script still has no owner."
    ground = Evidence(event_id="ev_1", span=Span(0, len(text)), quote=text, at=START)
    goal = Goal(seq=1, ground=ground, session=None, category=IntentCategory.TASK, strength=0.8, clause=text)
    assert crystallise([goal], [], [], {}, now=START) == []
    topic = Topic(id="co_1", label="deploy script", events=5)
    placed = Goal(
        seq=1, ground=ground, session=None, category=IntentCategory.TASK, strength=0.8, clause=text, topics=("co_1",)
    )
    (intent,) = crystallise([placed], [], [], {"co_1": topic}, now=START)
    assert intent.concepts == ("co_1",)
    assert intent.topics == ("deploy script",)


# Answers


def test_a_rejected_intent_is_never_shown_again(memory: Memory, clock: Clock) -> None:
    say(memory, "I should learn the trumpet solo by Friday.")
    (intent,) = memory.intents.list()
    clock.now = START + HOUR
    assert memory.intents.answer(intent.id, "reject").status is IntentStatus.REJECTED
    say(memory, "I still should learn that trumpet solo by Friday.", at=START + DAY)
    assert memory.intents.list(now=START + DAY) == []
    assert memory.intents.list(status="rejected", now=START + DAY)[0].id == intent.id


def test_accept_schedules_defer_waits_modify_rewords_done_resolves(memory: Memory, clock: Clock) -> None:
    say(memory, "I need to send the budget report to Ana by 20 March.")
    (intent,) = memory.intents.list()
    assert memory.intents.answer(intent.id, "accept").status is IntentStatus.SCHEDULED
    clock.now += HOUR
    deferred = memory.intents.answer(intent.id, "defer", until=START + 3 * DAY)
    assert (deferred.status, deferred.until) == (IntentStatus.DEFERRED, START + 3 * DAY)
    assert memory.intents.list() == []
    assert len(memory.intents.list(now=START + 4 * DAY)) == 1
    clock.now += HOUR
    assert memory.intents.answer(intent.id, "modify", text="Send Ana the summary").statement == "Send Ana the summary"
    clock.now += HOUR
    assert memory.intents.answer(intent.id, "done").status is IntentStatus.RESOLVED
    assert memory.intents.list() == []


def test_feedback_moves_the_threshold_of_its_category_alone(memory: Memory, clock: Clock) -> None:
    say(memory, "I need to pay the phone bill by 20 March.", "I promised Tom to lend the ladder by 20 March.")
    by_category = {intent.category: intent for intent in memory.intents.list()}
    task, promise = by_category[IntentCategory.TASK], by_category[IntentCategory.PROMISE]
    assert task.threshold == promise.threshold == 0.38
    clock.now += HOUR
    memory.intents.answer(task.id, "accept")
    after = {intent.category: intent.threshold for intent in memory.intents.list()}
    assert after[IntentCategory.TASK] == pytest.approx(0.38 / 1.15)  # w = .7 + .3 x 1.5
    assert after[IntentCategory.PROMISE] == 0.38


def test_after_many_rejections_less_of_the_kind_is_shown(memory: Memory, clock: Clock) -> None:
    chores = ("water the ferns", "call the plumber", "renew my passport", "sharpen the skates")
    say(memory, *(f"I need to {chore} by 20 March." for chore in chores))
    for left in (3, 2, 0):  # one or two may be a slip; after three the rest of the kind is no longer shown
        clock.now += HOUR
        memory.intents.answer(memory.intents.list()[0].id, "reject")
        assert len(memory.intents.list()) == left
    say(memory, "I need to oil the gate by 20 March.", at=START + DAY)
    assert memory.intents.list(now=START + DAY) == []
    say(memory, "I promised Zed to lend the ladder by 20 March.", at=START + DAY)
    assert len(memory.intents.list(now=START + DAY)) == 1


def test_answers_are_in_the_log_and_survive_a_rebuild_and_a_backup(
    memory: Memory, clock: Clock, tmp_path: Path
) -> None:
    say(memory, "I need to send the budget report to Ana by Friday.", "I must pay the rent by Friday.")
    clock.now += HOUR
    memory.intents.answer(memory.intents.list()[0].id, "reject")
    told = memory.intents.list(status="any")
    memory.admin.rebuild()
    assert memory.intents.list(status="any") == told
    memory.admin.backup(tmp_path / "other.db")
    with Memory.open(tmp_path / "other.db", embedder="none", clock=clock) as other:
        assert other.intents.list(status="any") == told
        assert other.admin.verify().ok


@pytest.mark.parametrize(
    ("id", "answer", "more", "error"),
    [
        ("in_0", "accept", {}, NotFound),
        (None, "modify", {"text": "  "}, InvalidInput),
    ],
)
def test_a_wrong_answer_is_refused_and_changes_nothing(
    memory: Memory, id: str | None, answer: str, more: dict[str, str], error: type[Exception]
) -> None:
    say(memory, "I need to send the budget report to Ana by Friday.")
    (intent,) = memory.intents.list()
    with pytest.raises(error):
        memory.intents.answer(id or intent.id, answer, **more)
    assert memory.intents.list() == [intent]


def test_an_event_that_only_looks_like_an_answer_is_none(memory: Memory) -> None:
    say(memory, "I need to send the budget report to Ana by Friday.")
    (intent,) = memory.intents.list()
    forged = {"everyword": {"intent": intent.id, "answer": "reject"}}
    memory.add("no", meta=forged)  # not in the role of an answer
    memory.add("no", role="feedback", meta={"everyword": {"intent": intent.id, "answer": ["reject"]}})
    memory.add("no!", role="feedback", meta={"everyword": {"intent": intent.id, "answer": "defer", "until": "soon"}})
    assert memory.intents.list() == [intent]


# The rest of the memory


def test_forgetting_the_words_forgets_the_intent_and_forgetting_the_deed_reopens_it(memory: Memory) -> None:
    say(memory, "I need to send the budget report to Ana by Friday.")
    say(memory, "I sent it.", at=START + HOUR)
    assert memory.intents.list() == []
    deed = next(event for event in memory.events() if event.text == "I sent it.")
    memory.forget(ids=[deed.id])
    (intent,) = memory.intents.list()
    memory.forget(ids=[intent.grounds[0].event_id])
    assert memory.intents.list(status="any") == []
    assert memory.admin.verify().ok


def test_wings_and_spaces_keep_their_own(memory: Memory) -> None:
    memory.wing("home").add("I must pay the rent by Friday.", at=START)
    memory.wing("work").add("I must send the offer to Tom by Friday.", at=START)
    assert statements(memory.wing("home").intents.list()) == ["I must pay the rent by Friday"]
    assert len(memory.intents.list()) == 2
    assert memory.space("other").intents.list() == []


def test_a_batch_and_one_by_one_come_to_the_same(clock: Clock) -> None:
    texts = [
        "I must pay the rent by Friday.",
        "Paid the rent.",
        "I still need a plumber.",
        "The plumber is still missing.",
    ]
    told = []
    for batches in (1, 4):
        with Memory.open(":memory:", embedder="none", clock=clock) as memory:
            for n in range(batches):
                size = len(texts) // batches
                memory.add_many(
                    {"text": text, "session": "s", "speaker": "Leo", "at": START + timedelta(minutes=n * size + m)}
                    for m, text in enumerate(texts[n * size : (n + 1) * size])
                )
            told.append(memory.intents.list(status="any"))
    assert told[0] == told[1] != []


def test_marks_that_were_put_off_follow_with_settle(tmp_path: Path, clock: Clock) -> None:
    with Memory.open(tmp_path / "m.db", embedder="none", clock=clock, extract=False) as memory:
        say(memory, "I must pay the rent by Friday.")
        assert memory.intents.list() == []
        memory.admin.settle()
        assert len(memory.intents.list()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 I must pay by Friday",
        "ſ I need ß İ",
    ],
)
def test_hostile_texts_are_read_in_time_and_lose_nothing(memory: Memory, text: str) -> None:
    memory.add(text, at=START)
    memory.intents.list(status="any")
    assert memory.stats().events == 1


# Being told


def test_a_listener_is_told_of_what_is_new_once_and_five_an_hour_at_most(memory: Memory, clock: Clock) -> None:
    say(memory, "I must pay the rent by 20 March.")
    told: list[Intent] = []
    end = memory.on("intent", told.append)

    def derive(*texts: str) -> None:
        say(memory, *texts)
        memory.admin.settle()

    derive("It is raining.")
    assert told == []  # what was there already is not new
    derive("I must send the offer to Tom by 20 March.")
    derive("It still rains.")
    assert statements(told) == ["I must send the offer to Tom by 20 March"]
    derive(*(f"I must return the book number{n} by 20 March." for n in range(9)))
    assert len(told) == 5
    clock.now += 2 * HOUR
    derive("The sun is out.")
    assert len(told) == 10
    end()
    clock.now += 2 * HOUR
    derive("I must call Nora by 20 March.")
    assert len(told) == 10


def test_a_listener_that_fails_loses_nothing_and_one_that_writes_is_fine(memory: Memory) -> None:
    def fail(_: Intent) -> None:
        raise RuntimeError("no")

    memory.on("intent", fail)
    memory.on("intent", lambda intent: memory.add(f"Noted: {intent.id}"))
    memory.add("I must pay the rent by Friday.", at=START)
    with pytest.warns(UserWarning, match="listener failed"):
        memory.admin.settle()
    assert memory.stats().events == 2
    with pytest.raises(InvalidFilter):
        memory.on("weather", fail)


def test_watching_sees_what_another_handle_writes(tmp_path: Path, clock: Clock) -> None:
    with (
        Memory.open(tmp_path / "m.db", embedder="none", clock=clock) as reading,
        Memory.open(tmp_path / "m.db", embedder="none", clock=clock) as writing,
    ):
        say(writing, "I must pay the rent by Friday.")
        looks = 0

        def stop() -> bool:
            nonlocal looks
            looks += 1
            if looks == 2:
                say(writing, "I must send the offer to Tom by Friday.")
            return looks > 4

        news = list(reading.watch(every=0.001, stop=stop))
        words = "I must send the offer to Tom by Friday"
        assert [(kind, one.text if kind == "event" else one.statement) for kind, one in news] == [
            ("event", f"{words}."),
            ("intent", words),
        ]
        looks = 0
        assert [kind for kind, _ in reading.watch(kinds=["job"], every=0.001, stop=stop)] == []
        with pytest.raises(InvalidInput):
            reading.watch(kinds="intent")


def test_a_listener_is_told_of_every_event_and_of_work_that_waits(tmp_path: Path, clock: Clock) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing", embed_on_write=False, clock=clock) as memory:
        memory.add("said before", at=START)
        events: list[Event] = []
        jobs: list[Waiting] = []
        memory.on("event", events.append)
        memory.wing("elsewhere").on("event", lambda _: pytest.fail("not of this wing"))
        memory.on("job", jobs.append)
        memory.add_many({"text": f"line {number}", "at": START} for number in range(7))
        assert [one.text for one in events] == [f"line {number}" for number in range(7)]
        assert [one.event_id for one in jobs] == [one.id for one in events]


@pytest.mark.parametrize(
    "text",
    [
        "Could you send me the slides by Friday?",
        "Can you please review the contract before Saturday?",
        "Would someone book the room by tomorrow?",
    ],
)
def test_what_is_asked_for_by_a_day_is_an_intent(memory: Memory, text: str) -> None:
    say(memory, text)
    (intent,) = memory.intents.list()
    assert intent.deadline is not None
    say(memory, "I sent the slides.", "The contract is reviewed.", "We booked the room.", at=START + timedelta(hours=1))
    assert memory.intents.list() == []


@pytest.mark.parametrize(
    "text",
    [
        "Could you review this diff?",
    ],
)
def test_what_is_asked_for_now_is_none(memory: Memory, text: str) -> None:
    say(memory, text)
    assert memory.intents.list() == []


def test_what_is_over_does_not_come_back_with_other_words(memory: Memory) -> None:
    say(memory, "I need the report for our board meeting on Friday!")
    assert len(memory.intents.list()) == 1
    say(memory, "Hello again, the board agreed.", "The report of the board was wrong again.", at=START + 30 * DAY)
    assert memory.intents.list(now=START + 30 * DAY) == []
    say(memory, "I still have to write the report for our board meeting.", at=START + 31 * DAY)
    assert len(memory.intents.list(now=START + 31 * DAY)) == 1


def test_what_is_of_the_past_years_is_due_at_no_time(memory: Memory) -> None:
    say(memory, "I still need to gather the tax papers of the last three years.")
    (intent,) = memory.intents.list()
    assert intent.deadline is None
