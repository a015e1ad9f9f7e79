"""Sessions say what they were about, and what was decided, done and left open in them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from everyword import Memory, Session
from everyword.errors import InvalidFilter, InvalidInput
from everyword.types.events import SummaryPart

START = datetime(2026, 3, 2, 10, tzinfo=UTC)
KITCHEN = (
    ("Ana", "Hi!"),
    ("Tom", "Good morning, how are you?"),
    ("Ana", "The kitchen renovation starts in May."),
    ("Tom", "We decided to take oak cabinets for the kitchen."),
    ("Ana", "I need to pay the gas bill by Friday."),
    ("Tom", "Haha, sure! [photo: a cat on a chair]"),
    ("Ana", "```python\nkitchen = Kitchen('I need to paint it')\n```"),
)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="none", background=False) as opened:
        yield opened


def say(memory: Memory, session: str, *lines: tuple[str, str], days: int = 0) -> list[str]:
    return [
        memory.add(text, speaker=who, session=session, at=START + timedelta(days=days, minutes=place)).id
        for place, (who, text) in enumerate(lines)
    ]


def parts(session: Session) -> dict[str, str]:
    return {theme.text.rstrip("."): theme.part for theme in session.summary}


def test_a_summary_quotes_what_matters_and_says_what_each_quote_tells(memory: Memory) -> None:
    say(memory, "s", *KITCHEN)
    (session,) = memory.sessions()
    assert parts(session) == {
        "The kitchen renovation starts in May": SummaryPart.OPEN,
        "We decided to take oak cabinets for the kitchen": SummaryPart.DECIDED,
        "I need to pay the gas bill by Friday": SummaryPart.OPEN,
    }
    for theme in session.summary:
        event = memory.get(theme.event_id)
        assert (event.text[slice(*theme.span)], event.at, event.speaker) == (theme.text, theme.at, theme.speaker)


def test_what_a_session_says_again_otherwise_is_told_as_it_was_said_last(memory: Memory) -> None:
    say(memory, "s", ("Ana", "Deadline for the pilot is 13 November."))
    (session,) = memory.sessions()
    assert set(parts(session)) == {"Deadline for the pilot is 13 November"}
    say(memory, "s", ("Ana", "Also the pilot moves to 27 November."), days=9)
    (session,) = memory.sessions()
    assert set(parts(session)) == {"Also the pilot moves to 27 November"}


def test_what_was_done_in_a_later_session_is_no_longer_open(memory: Memory) -> None:
    say(memory, "s", *KITCHEN)
    (called,) = say(memory, "t", ("Ana", "I paid the gas bill."), days=1)
    later, first = memory.sessions()
    assert parts(later) == {"I paid the gas bill": SummaryPart.DONE}
    assert "I need to pay the gas bill by Friday" not in {
        text for text, part in parts(first).items() if part is SummaryPart.OPEN
    }
    memory.forget(ids=[called])
    assert parts(memory.sessions()[0])["I need to pay the gas bill by Friday"] is SummaryPart.OPEN


def test_a_rebuild_gives_the_same_summaries(memory: Memory) -> None:
    say(memory, "s", *KITCHEN)
    say(memory, "t", ("Ana", "I paid the gas bill."), ("Tom", "Lena from Siemens sells the cabinets."), days=1)
    before = memory.sessions()
    memory.admin.rebuild()
    assert memory.sessions() == before


def test_keys_are_names_without_the_speakers(memory: Memory) -> None:
    say(memory, "s", ("Ana", "Lena from Siemens sells the cabinets."), ("Tom", "Ana, call Lena tomorrow."))
    (session,) = memory.sessions()
    assert {"Lena", "Siemens"} <= set(session.keys) <= set(session.entities)
    assert "Ana" not in session.keys


def test_a_part_of_a_session_has_no_summary(memory: Memory) -> None:
    memory.wing("a").add("The kitchen renovation starts in May.", speaker="Ana", session="s1")
    assert memory.wing("a").sessions()[0].summary
    memory.wing("b").add("The garden is full of roses.", speaker="Bo", session="s1")
    assert memory.wing("a").sessions()[0].summary == ()


def test_a_coding_session_tells_its_commits_and_the_last_result_of_its_tests(memory: Memory) -> None:
    for place, (role, text) in enumerate(
        (
            ("user", "The parser drops the last line of a file without a newline. Please fix it."),
            ("tool", "==== 1 failed, 41 passed in 2.31s ===="),
            ("assistant", "The reader stops one line early."),
            ("tool", "[main 1a2b3c4] Read the last line of a file\n 1 file changed, 3 insertions(+)"),
            ("tool", "==== 42 passed in 2.29s ===="),
            ("tool", "main.py: [x for x in y] passed"),
        )
    ):
        memory.add(text, role=role, session="s", at=START + timedelta(minutes=place))
    (session,) = memory.sessions()
    texts = [theme.text for theme in session.summary]
    assert "The parser drops the last line of a file without a newline." in texts
    done = [theme.text for theme in session.summary if theme.part is SummaryPart.DONE]
    assert done == ["Read the last line of a file", "42 passed in 2.29s"]


def test_small_talk_and_what_programs_say_have_no_summary(memory: Memory) -> None:
    say(memory, "s", ("Ana", "Hi!"), ("Tom", "How are you?"), ("Ana", "Great, thanks!"))
    memory.add("The kitchen renovation starts in May.", role="tool", session="t")
    assert [session.summary for session in memory.sessions()] == [(), ()]


def test_a_question_about_a_period_is_told_what_its_sessions_were_about(memory: Memory) -> None:
    say(memory, "s", *KITCHEN)
    say(memory, "t", ("Ana", "I started a pottery class with my sister."), days=60)
    now = START + timedelta(days=70)
    march = memory.context("What was going on in March?", 300, now=now).text
    lately = memory.context("What has been going on lately?", 300, now=now).text
    assert "The kitchen renovation starts in May." in march
    assert "oak cabinets" in march
    assert "pottery class" not in march
    assert "pottery class" in lately
    assert "kitchen" not in lately
    hers = memory.context("What was going on with Ana in March?", 60, now=now).text
    assert "renovation" in hers
    assert "oak cabinets" not in hers  # Tom says it, and does not name her


def test_a_period_outside_of_what_may_be_seen_tells_nothing(memory: Memory) -> None:
    say(memory, "s", *KITCHEN)
    now = START + timedelta(days=20)
    seen = memory.context("What happened to Ana in March?", 300, now=now, until=START).text
    assert "kitchen" not in seen


def test_sessions_are_listed_in_the_order_that_is_asked_for(memory: Memory) -> None:
    say(memory, "first", ("Ana", "one"), days=0)
    say(memory, "second", ("Ana", "one"), ("Tom", "two"), ("Ana", "three"), days=1)
    say(memory, "third", ("Ana", "one"), ("Tom", "two"), days=2)
    assert [one.name for one in memory.sessions()] == ["third", "second", "first"]
    assert [one.name for one in memory.sessions(order="oldest")] == ["first", "second", "third"]
    assert [one.name for one in memory.sessions(order="longest", limit=2)] == ["second", "third"]
    with pytest.raises(InvalidFilter, match=r"Unknown order 'best'.*latest, oldest, longest"):
        memory.sessions(order="best")


@pytest.mark.parametrize("order", ["latest", "oldest", "longest"])
def test_pages_of_sessions_give_what_the_list_gives(memory: Memory, order: str) -> None:
    for number in range(7):
        say(memory, f"session {number}", *[("Ana", "The kitchen is blue.")] * (1 + number % 3), days=number)
    shown, cursor = list[Session](), None
    while True:
        page = memory.admin.page_of_sessions(order=order, limit=3, cursor=cursor)
        shown += page
        if (cursor := page.next) is None:
            break
    assert shown == memory.sessions(order=order)


def test_a_page_of_sessions_goes_on_behind_the_last_one_shown(memory: Memory) -> None:
    for number in range(5):
        say(memory, f"session {number}", ("Ana", "The kitchen is blue."), days=number)
    first = memory.admin.page_of_sessions(limit=2)
    say(memory, "session 5", ("Ana", "The kitchen is green."), days=5)
    memory.forget(session="session 3")
    say(memory, "session 6", ("Ana", "The kitchen is red."), days=6)
    assert [one.name for one in first] == ["session 4", "session 3"]
    # The last one shown is gone: then the place counts.
    assert [one.name for one in memory.admin.page_of_sessions(limit=2, cursor=first.next)] == ["session 4", "session 2"]
    again = memory.admin.page_of_sessions(limit=3)
    say(memory, "session 7", ("Ana", "The kitchen is grey."), days=7)
    assert [one.name for one in memory.admin.page_of_sessions(limit=2, cursor=again.next)] == ["session 2", "session 1"]


def test_a_cursor_of_sessions_may_point_anywhere(memory: Memory) -> None:
    cursor = "5.0123abcd"
    assert list(memory.admin.page_of_sessions(cursor=cursor)) == []
    say(memory, "one", ("Ana", "The kitchen is blue."))
    assert list(memory.admin.page_of_sessions(cursor=cursor)) == []
    with pytest.raises(InvalidInput, match="cursor"):
        memory.admin.page_of_sessions(cursor="-3.17")
