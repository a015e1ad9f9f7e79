"""Who believes what: where things are, who saw it, who was told, who had left."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from everyword import Memory
from everyword.errors import InvalidInput
from everyword.types.intents import KnownBy

START = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="none", fold=False) as opened:
        yield opened


def tell(memory: Memory, *lines: str, session: str = "s", start: datetime = START) -> None:
    """Write lines; "Ana: text" has a speaker, a line without one is a narrator's."""
    for minute, line in enumerate(lines):
        who, _, text = line.rpartition(": ")
        memory.add(text, speaker=who or None, session=session, at=start + timedelta(minutes=minute))


def where(memory: Memory, holder: str | None, thing: str, *, of: str | None = None) -> str | None:
    """Tell what somebody believes of a thing; holder None: how it is."""
    if holder is None:
        return next((one.value for one in memory.concepts.beliefs(thing=thing) if one.holder is None), None)
    return next((one.value for one in memory.concepts.beliefs(holder, thing, of=of)), None)


TWO_IN_A_ROOM = (
    "Sally and Anne are in the room.",
    "Sally put the ball in the basket.",
    "Sally left the room.",
    "Anne moved the ball to the box.",
)


def test_who_left_before_a_thing_moved_believes_the_old_place(memory: Memory) -> None:
    tell(memory, *TWO_IN_A_ROOM)
    assert where(memory, None, "the ball") == "box"
    assert where(memory, "Anne", "ball") == "box"
    assert where(memory, "Sally", "ball") == "basket"
    (false_belief,) = memory.concepts.beliefs("Sally", "ball")
    assert not false_belief.current
    assert false_belief.ground.quote == "Sally put the ball in the basket."
    assert false_belief.by is KnownBy.DID


def test_coming_back_shows_nothing_by_itself(memory: Memory) -> None:
    tell(memory, *TWO_IN_A_ROOM, "Sally came back to the room.")
    assert where(memory, "Sally", "ball") == "basket"


def test_who_stayed_knows(memory: Memory) -> None:
    tell(
        memory,
        "Sally and Anne are in the room.",
        "Sally put the ball in the basket.",
        "Anne moved the ball to the box.",
    )
    assert where(memory, "Sally", "ball") == "box"


def test_what_one_thinks_that_another_thinks(memory: Memory) -> None:
    tell(memory, *TWO_IN_A_ROOM)
    assert where(memory, "Anne", "ball", of="Sally") == "basket"  # Anne saw her leave
    assert where(memory, "Sally", "ball", of="Anne") == "basket"  # Sally does not know that it was moved
    assert where(memory, "Anne", "ball") == "box"


def test_one_in_another_room_sees_nothing(memory: Memory) -> None:
    tell(
        memory,
        "Oliver entered the kitchen.",
        "Ella entered the garden.",
        "Oliver put the plums in the crate.",
        "Ella entered the kitchen.",
        "Oliver moved the plums to the fridge.",
        "Ella exited the kitchen.",
        "Oliver moved the plums to the cupboard.",
    )
    assert where(memory, "Ella", "plums") == "fridge"
    assert where(memory, "Oliver", "plums") == "cupboard"


def test_being_told_changes_a_belief_and_a_lie_does_not_change_the_thing(memory: Memory) -> None:
    tell(memory, *TWO_IN_A_ROOM, "Anne told Sally that the ball is in the cupboard.")
    assert where(memory, "Sally", "ball") == "cupboard"
    assert where(memory, None, "ball") == "box"
    assert where(memory, "Anne", "ball") == "box"
    assert where(memory, "Anne", "ball", of="Sally") == "cupboard"
    (told,) = memory.concepts.beliefs("Sally", "ball")
    assert told.by is KnownBy.TOLD


def test_a_ticket_a_date_and_who_was_away(memory: Memory) -> None:
    tell(
        memory,
        "Ana: The launch date is on Thursday.",
        "Ben: Fine with me.",
        "Ana: Ticket 42 moved to review.",
        "Ana: The launch date changed to Friday.",
        "Ana: Ben was away when the date changed.",
    )
    assert where(memory, None, "Ticket 42") == "review"
    assert where(memory, None, "launch date") == "Friday"
    assert where(memory, "Ana", "the launch date") == "Friday"
    assert where(memory, "Ben", "launch date") is None  # he had not spoken yet when Thursday was said
    assert where(memory, "Ben", "ticket 42") == "review"  # he was in the conversation


def test_i_is_the_speaker_and_she_is_whoever_was_spoken_of(memory: Memory) -> None:
    tell(
        memory,
        "Mia: I moved the retro to Thursday.",
        "Mia: I told Raj about the retro.",
        "Mia: Zoe is on holiday.",
        "Mia: She doesn't know about the retro yet.",
    )
    assert where(memory, "Mia", "retro") == "Thursday"
    assert where(memory, "Raj", "retro") == "Thursday"
    assert where(memory, "Zoe", "retro") is None


def test_somebody_in_no_part_of_a_conversation_knows_nothing_of_it(memory: Memory) -> None:
    tell(memory, "Ana: The demo moved to Monday.", session="one")
    tell(memory, "Ben: Good morning.", session="two", start=START + timedelta(hours=1))
    assert where(memory, "Ben", "demo") is None


@pytest.mark.parametrize(
    "text",
    [
        "We should move the demo to Monday.",
        "The demo might move to Monday.",
        "Did the demo move to Monday?",
        "The demo wasn't moved to Monday.",
        "If the demo is moved to Monday, tell me.",
        "Anne wants to put the demo in the box.",
    ],
)
def test_what_is_only_proposed_asked_or_denied_moves_nothing(memory: Memory, text: str) -> None:
    tell(memory, f"Ana: {text}")
    assert memory.concepts.beliefs() == []


def test_a_story_in_one_event_reads_like_one_in_many(memory: Memory) -> None:
    memory.add(" ".join(TWO_IN_A_ROOM), at=START)
    assert where(memory, "Sally", "ball") == "basket"
    assert where(memory, "Anne", "ball") == "box"


def test_as_of_tells_what_was_believed_by_what_was_known_then() -> None:
    now = START

    with Memory.open(":memory:", embedder="none", clock=lambda: now) as memory:
        memory.add("The ticket is in triage.", speaker="Ana", session="s", at=START)
        now = START + timedelta(days=1)
        memory.add("The ticket moved to review.", speaker="Ana", session="s", at=START + timedelta(days=1))
        assert where(memory, "Ana", "ticket") == "review"
        assert [one.value for one in memory.concepts.beliefs("Ana", "ticket", as_of=START)] == ["triage"]


def test_forgetting_and_rebuilding_leave_no_belief_behind(memory: Memory) -> None:
    tell(memory, *TWO_IN_A_ROOM)
    before = memory.concepts.beliefs()
    memory.admin.rebuild()
    assert memory.concepts.beliefs() == before
    moved = next(event for event in memory.events() if "to the box" in event.text)
    memory.forget(ids=[moved.id])
    assert where(memory, None, "ball") == "basket"
    assert memory.admin.verify().ok


def test_wings_keep_their_own(memory: Memory) -> None:
    memory.wing("work").add("The ticket moved to review.", speaker="Ana", at=START)
    assert memory.wing("home").concepts.beliefs() == []
    assert len(memory.wing("work").concepts.beliefs()) == 2


def test_wrong_arguments_are_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="holder"):
        memory.concepts.beliefs(of="Sally")
    with pytest.raises(InvalidInput, match="thing"):
        memory.concepts.beliefs(thing=" ")


@pytest.mark.parametrize(
    "text",
    [
        "Ana moved " * 2_000,
        "A" * 100_000,
        "The " * 50_000 + "moved to x",
        "\ud800 moved the \x00 to x",
        "Ana and " * 90,
    ],
)
def test_hostile_texts_are_read_in_time(memory: Memory, text: str) -> None:
    memory.add(text, at=START)
    memory.concepts.beliefs()
    assert memory.stats().events == 1


@pytest.mark.parametrize(
    "line",
    [
        "Shall I put the roof on Sunday?",
        "Ben moved the ticket to review?",
        "Did we move the ticket? Has Ben put the ticket in review?",
        "I'll put the ticket in review.",
        "Ben'll put the ticket in review.",
        "I'd put the ticket in review.",
        "Maybe Ben moved the ticket to review.",
        "Perhaps the ticket is in review.",
    ],
)
def test_proposals_and_questions_move_nothing(memory: Memory, line: str) -> None:
    tell(memory, f"Ana: {line}")
    assert memory.concepts.beliefs() == []


@pytest.mark.parametrize(
    ("line", "holder", "thing", "value"),
    [
        ("I've put the draft in the cupboard.", "Ana", "draft", "cupboard"),
        ("We've moved the date to Friday.", "Ana", "date", "Friday"),
        ("Will moved the date to Friday.", "Will", "date", "Friday"),
        ("Ben and I moved the date to Friday.", "Ana", "date", "Friday"),
        ("O'Brien's moved the date to Friday.", "O'Brien", "date", "Friday"),
    ],
)
def test_whoever_moved_it_is_named_without_a_contraction(
    memory: Memory, line: str, holder: str, thing: str, value: str
) -> None:
    tell(memory, f"Ana: {line}")
    assert where(memory, holder, thing) == value
    assert {one.holder for one in memory.concepts.beliefs()} <= {None, "Ana", "Ben", holder}
