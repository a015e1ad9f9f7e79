"""Writing through `Memory`: what is stored, what is known already, what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from everyword import Event, Memory
from everyword.errors import InvalidEvent, InvalidInput, InvalidTime, KeyConflict, NotFound

NOW = datetime(2026, 4, 2, 10, 0, tzinfo=UTC)


@pytest.fixture
def memory():
    """Give an empty memory whose clock stands still."""
    with Memory.open(":memory:", embedder="hashing", clock=lambda: NOW) as memory:
        yield memory


# What is stored


def test_every_field_is_kept(memory: Memory) -> None:
    written = memory.add(
        "I moved to Lisbon in March.",
        speaker="Ana",
        session="s1",
        at="2026-04-01T08:30:00+05:45",
        key="mail-17",
        wing="life",
        role="user",
        meta={"source": "mail", "tags": ["a", "b"], "n": 1},
    )
    event = memory.get(written.id)
    assert written.new
    assert event == written.event == memory.get(key="mail-17")
    assert (event.text, event.speaker, event.session, event.key, event.wing, event.role) == (
        "I moved to Lisbon in March.",
        "Ana",
        "s1",
        "mail-17",
        "life",
        "user",
    )
    assert event.at.isoformat() == "2026-04-01T08:30:00+05:45"
    assert event.recorded_at == NOW
    assert event.meta == {"source": "mail", "tags": ["a", "b"], "n": 1}
    assert type(written.event.source) is type(event.source) is str
    assert event.space == "default"


def test_meta_is_a_copy_that_the_caller_cannot_change(memory: Memory) -> None:
    meta = {"list": [1]}
    written = memory.add("x", meta=meta)
    meta["list"].append(2)
    assert memory.get(written.id).meta == written.event.meta == {"list": [1]}


def test_an_event_is_found_as_soon_as_add_returns(memory: Memory) -> None:
    for n in range(5):
        memory.add(f"Fact number{n} about gardens.")
        assert memory.recall(f"number{n}")[0].text == f"Fact number{n} about gardens."


# When it happened


@pytest.mark.parametrize(
    ("at", "stored"),
    [
        ("2026-04-02T10:00Z", "2026-04-02T10:00:00+00:00"),
        ("2026-04-02T10:00:00.123456+01:00", "2026-04-02T10:00:00.123456+01:00"),
        ("2026-04-02T10:00", "2026-04-02T10:00:00+00:00"),
        ("2026-04-02", "2026-04-02T00:00:00+00:00"),
        (date(2026, 4, 2), "2026-04-02T00:00:00+00:00"),
        (datetime(2026, 4, 2, 10), "2026-04-02T10:00:00+00:00"),
        (datetime(2026, 7, 2, 10, tzinfo=ZoneInfo("Europe/Lisbon")), "2026-07-02T10:00:00+01:00"),
        (datetime(2026, 4, 2, 10, tzinfo=timezone(timedelta(hours=-3, minutes=-30))), "2026-04-02T10:00:00-03:30"),
        (0, "1970-01-01T00:00:00+00:00"),
        (1775124000.5, "2026-04-02T10:00:00.500000+00:00"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("9999-12-31T23:59:59.999999-12:00", "9999-12-31T23:59:59.999999-12:00"),
        (None, "2026-04-02T10:00:00+00:00"),
    ],
)
def test_times_are_read_in_many_forms_and_keep_their_zone(memory: Memory, at: object, stored: str) -> None:
    written = memory.add("x", at=at, session="s")  # type: ignore[arg-type]
    assert written.event.at.isoformat() == stored
    assert memory.get(written.id).at.isoformat() == stored
    assert next(memory.events()).at.isoformat() == stored
    assert memory.stats().events == len(memory.sessions()) == 1
    assert memory.recall("x")[0].event.at.isoformat() == stored
    assert memory.context("x").citations


@pytest.mark.parametrize(
    "at", ["yesterday", "", "2026-13-01", float("nan"), float("inf"), 1e300, True, [], b"2026", {}]
)
def test_what_is_no_time_is_refused(memory: Memory, at: object) -> None:
    with pytest.raises(InvalidTime) as told:
        memory.add("x", at=at)  # type: ignore[arg-type]
    assert "time can't be read" not in str(told.value)  # what is wrong was said before the fix
    assert memory.stats().events == 0


def test_bytes_are_no_list_of_messages(memory: Memory) -> None:
    with pytest.raises(InvalidEvent, match="text must be a string, not bytes"):
        memory.add(b"hello")  # type: ignore[arg-type]


def test_a_naive_clock_means_utc() -> None:
    with Memory.open(":memory:", embedder="none", clock=lambda: datetime(2026, 1, 1)) as memory:
        event = memory.add("x").event
    assert event.at == event.recorded_at == datetime(2026, 1, 1, tzinfo=UTC)


# The same again


def test_the_same_event_again_is_known(memory: Memory) -> None:
    first = memory.add("Hello.", speaker="Ana", session="s", at=NOW)
    again = memory.add("Hello.", speaker="Ana", session="s", at="2026-04-02T11:00+01:00", meta={"other": 1})
    assert (first.new, again.new) == (True, False)
    assert again.event == first.event
    assert memory.stats().events == 1


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Hello!"},
        {"speaker": "Bo"},
        {"speaker": None},
        {"session": "t"},
        {"session": None},
        {"at": NOW + timedelta(microseconds=1)},
        {"key": "k"},
    ],
)
def test_what_differs_in_content_is_another_event(memory: Memory, other: dict) -> None:
    base = {"text": "Hello.", "speaker": "Ana", "session": "s", "at": NOW}
    batch = memory.add_many([base, {**base, **other}])
    assert batch.added == 2
    assert len(set(batch.ids)) == 2


def test_a_batch_reports_what_was_new_in_its_order(memory: Memory) -> None:
    memory.add("one", at=NOW)
    batch = memory.add_many(
        [
            {"text": "zero", "at": NOW},
            {"text": "one", "at": NOW},
            {"text": "zero", "at": NOW},
            Event(text="two", at=NOW),
        ]
    )
    assert [written.new for written in batch] == [True, False, False, True]
    assert [written.event.text for written in batch] == ["zero", "one", "zero", "two"]
    assert (batch.added, batch.known) == (2, 2)
    assert batch.ids[0] == batch.ids[2]
    again = memory.add_many([written.event for written in batch])
    assert again.added == 0
    assert again.ids == batch.ids
    assert memory.stats().events == 3
    assert memory.admin.verify().ok


def test_an_empty_batch_is_fine(memory: Memory) -> None:
    assert memory.add_many([]) == []
    assert memory.add_many(iter(())) == []


def test_a_generator_may_give_the_batch(memory: Memory) -> None:
    assert memory.add_many({"text": f"event {n}"} for n in range(3)).added == 3


def test_the_same_key_with_the_same_content_is_known(memory: Memory) -> None:
    first = memory.add("Hello.", key="k", speaker="Ana", at=NOW)
    for again in ({"speaker": "Ana", "at": NOW}, {"speaker": "Ana"}, {}):
        assert not memory.add("Hello.", key="k", **again).new
    assert memory.get(key="k") == first.event


@pytest.mark.parametrize(
    "other", [{"text": "Bye."}, {"speaker": "Bo"}, {"session": "t"}, {"at": NOW - timedelta(days=1)}, {"role": "tool"}]
)
def test_the_same_key_with_other_content_is_an_error_that_changes_nothing(memory: Memory, other: dict) -> None:
    base = {"text": "Hello.", "key": "k", "speaker": "Ana", "session": "s", "role": "user", "at": NOW}
    memory.add_many([base])
    before = list(memory.events()), memory.stats()
    with pytest.raises(KeyConflict) as raised:
        memory.add_many([{"text": "New and fine."}, {**base, **other}, {"text": "Also fine."}])
    assert "k" in str(raised.value)
    assert (list(memory.events()), memory.stats()) == before
    assert memory.recall("fine") == memory.recall("fine")
    assert all("fine" not in hit.text for hit in memory.recall("fine"))
    assert memory.admin.verify().ok


def test_a_key_conflict_within_one_batch_stores_nothing(memory: Memory) -> None:
    with pytest.raises(KeyConflict):
        memory.add_many([{"text": "a", "key": "k"}, {"text": "b", "key": "k"}])
    assert memory.stats().events == 0
    with pytest.raises(NotFound):
        memory.get(key="k")


def test_a_key_is_free_again_after_forgetting(memory: Memory) -> None:
    memory.add("a", key="k")
    memory.forget(keys=["k"])
    assert memory.add("b", key="k").new
    assert memory.get(key="k").text == "b"
    assert memory.admin.verify().ok


def test_a_forgotten_event_may_be_said_again(memory: Memory) -> None:
    first = memory.add("a", at=NOW)
    memory.forget(ids=[first.id])
    again = memory.add("a", at=NOW)
    assert again.new
    assert again.id == first.id
    assert memory.admin.verify().ok


def test_a_key_belongs_to_its_space(memory: Memory) -> None:
    memory.add("a", key="k")
    assert memory.space("other").add("b", key="k").new


# One bad event refuses the batch


@pytest.mark.parametrize(
    "bad",
    [
        {"text": ""},
        {"text": "  \n\t"},
        {"text": None},
        {"text": 5},
        {"text": b"bytes"},
        {},
        {"text": "x", "speaker": ""},
        {"text": "x", "speaker": 5},
        {"text": "x", "session": "a\x00b"},
        {"text": "x", "key": "\ud800"},
        {"text": "x", "wing": "w" * 5000},
        {"text": "x", "role": " "},
        {"text": "x", "unknown": 1},
        {"text": "x", "meta": []},
        {"text": "x", "meta": {"n": float("nan")}},
        {"text": "x", "meta": {"n": float("inf")}},
        {"text": "x", "meta": {"o": object()}},
        {"text": "x", "meta": {"s": {1, 2}}},
        {"text": "x", "meta": {"big": "x" * 300_000}},
        {"text": "x", "meta": {"n": 10**5000}},
        {"text": "x", "meta": {(1, 2): 3}},
        "just a string",
        5,
        None,
        ["text"],
    ],
)
def test_one_bad_event_refuses_the_whole_batch_with_a_reason(memory: Memory, bad: object) -> None:
    with pytest.raises(InvalidEvent) as raised:
        memory.add_many([{"text": "good"}, bad])  # type: ignore[list-item]
    assert len(str(raised.value)) > 15
    assert "1" in str(raised.value)  # which one it was
    assert memory.stats().events == 0


@pytest.mark.parametrize("bad", [None, 5, True])
def test_what_is_no_batch_is_refused(memory: Memory, bad: object) -> None:
    with pytest.raises(InvalidInput):
        memory.add_many(bad)  # type: ignore[arg-type]


def test_meta_with_cycles_is_refused(memory: Memory) -> None:
    cycle: dict = {}
    cycle["self"] = cycle
    with pytest.raises(InvalidEvent):
        memory.add("x", meta=cycle)


@pytest.mark.parametrize("depth", [10, 50, 200, 500, 930, 985, 5_000, 100_000])
def test_nested_meta_is_refused_or_readable_from_anywhere(memory: Memory, depth: int) -> None:
    nested: object = "end"
    for _ in range(depth):
        nested = {"a": nested} if depth % 2 else [nested]
    try:
        written = memory.add("Nested.", meta={"m": nested})
    except InvalidEvent:
        assert depth > 20
        return

    def deep(frames: int):
        return memory.recall("nested")[0].event.meta if frames == 0 else deep(frames - 1)

    assert deep(200) == written.event.meta
    assert [hit.event.id for hit in memory.recall("nested", meta={"m": nested})] == [written.id]
    assert memory.admin.verify().ok


def test_text_above_the_limit_is_refused() -> None:
    with Memory.open(":memory:", embedder="hashing", max_text_bytes=10) as memory:
        memory.add("ééééé")
        with pytest.raises(InvalidEvent, match="max_text_bytes"):
            memory.add("éééééé")


def test_settings_that_do_not_exist_are_refused() -> None:
    for options in ({"colour": "blue"}, {"durability": "none"}, {"busy_timeout_s": 0}, {"busy_timeout_s": "x"}):
        with pytest.raises(InvalidInput):
            Memory.open(":memory:", embedder="hashing", **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        Memory.open(":memory:", embedder="no-such-model")
    with pytest.raises(InvalidInput):
        Memory.open(":memory:", embedder="hashing", recipe="no-such-recipe")


def test_the_same_event_for_a_second_wing_is_not_swallowed() -> None:
    said = {"text": "We meet at noon.", "speaker": "Ana", "at": "2026-04-02T10:00Z"}
    with Memory.open(":memory:", embedder="none") as memory:
        first = memory.wing("a").add(**said)
        assert not memory.wing("a").add(**said).new
        assert not memory.add(**said).new  # who asks for no wing has it
        with pytest.raises(KeyConflict, match="'a'"):
            memory.wing("b").add(**said)
        with pytest.raises(KeyConflict):
            memory.add_many([{**said, "text": "Another.", "wing": wing} for wing in ("a", "b")])
        second = memory.wing("b").add(**said, key="of b")
        assert second.new
        assert [hit.event.id for hit in memory.wing("b").recall("noon")] == [second.id]
        assert [hit.event.id for hit in memory.wing("a").recall("noon")] == [first.id]
