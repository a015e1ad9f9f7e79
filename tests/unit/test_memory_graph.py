"""The temporal graph of a memory: who is who, what is true when, what sessions were about."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from everyword import Memory
from everyword.errors import InvalidFilter, InvalidInput, NotFound
from everyword.types.graph import Fact


def say(memory: Memory, speaker: str, day: str, text: str, session: str | None = None) -> str:
    return memory.add(text, speaker=speaker, at=f"2026-{day}T10:00Z", session=session).id


def told(facts: list[Fact]) -> list[tuple[str, str, str]]:
    return [(fact.subject_name, fact.relation, fact.object_name) for fact in facts]


def day(month: int, number: int) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


def test_somebody_who_moves_lives_in_one_place_at_a_time(memory: Memory) -> None:
    say(memory, "Ana", "01-10", "I live in Leeds.")
    said = say(memory, "Ana", "04-02", "I moved to Porto in March.")
    leeds, porto = memory.facts("Ana", "lives_in")
    assert (leeds.object_name, leeds.valid_to) == ("Leeds", day(3, 1))
    assert (porto.object_name, porto.valid_from, porto.open) == ("Porto", day(3, 1), True)
    assert [(source.event_id, source.quote) for source in porto.sources] == [(said, "I moved to Porto in March")]


def test_the_two_clocks(memory: Memory) -> None:
    clock = [day(1, 10)]
    with Memory.open(":memory:", embedder="none", clock=lambda: clock[0]) as opened:
        opened.add("I live in Leeds.", speaker="Ana", at=day(1, 10))
        clock[0] = day(4, 2)
        opened.add("I moved to Porto in February.", speaker="Ana", at=day(4, 2))
        assert told(opened.facts("Ana", as_of=day(3, 1))) == [("Ana", "lives_in", "Porto")]
        assert told(opened.facts("Ana", as_of=day(3, 1), known_at=day(3, 1))) == [("Ana", "lives_in", "Leeds")]
        assert told(opened.facts("Ana", as_of=day(1, 1))) == []


def test_when_a_fact_was_said_and_when_it_was_learned_are_two_times() -> None:
    clock = [day(6, 1)]
    with Memory.open(":memory:", embedder="none", clock=lambda: clock[0]) as opened:
        opened.add("I live in Leeds.", speaker="Ana", at="2020-01-10T10:00Z")
        opened.add("I live in Oslo.", speaker="Ben", at="2020-02-10T10:00Z")
        clock[0] = day(6, 5)
        opened.add("I live in Oslo.", speaker="Ben", at="2020-01-05T10:00Z")  # earlier said, later learned
        opened.add("I moved to Porto.", speaker="Ana", at="2020-03-10T10:00Z")
        learned = {(one.subject_name, one.object_name): one.recorded_at for one in opened.facts()}
        assert learned["Ana", "Leeds"] == day(6, 1)
        assert learned["Ana", "Porto"] == day(6, 5)
        assert opened.facts("Ana")[0].said_at.year == 2020
        # The same clock as that of known_at.
        known = told(opened.facts(known_at=day(6, 2)))
        assert known == [key for key in told(opened.facts()) if learned[key[0], key[2]] <= day(6, 2)]
        assert opened.facts(known_at="2020-12-31") == []
        assert told(opened.facts("Ana", as_of="2020-02-01")) == [("Ana", "lives_in", "Leeds")]


def test_late_news_of_an_older_time_lands_in_the_past(memory: Memory) -> None:
    say(memory, "Ana", "04-02", "I moved to Porto in March.")
    say(memory, "Ana", "05-01", "I lived in Leeds from 2015 to 2019.")
    assert told(memory.facts("Ana", "lives_in", as_of="2026-05-02")) == [("Ana", "lives_in", "Porto")]
    assert told(memory.facts("Ana", "lives_in", as_of="2017-01-01")) == [("Ana", "lives_in", "Leeds")]


def test_sources_of_a_fact_are_in_the_order_of_time_not_of_arrival(memory: Memory) -> None:
    later = say(memory, "Bo", "01-09", "I live in Lisbon.")
    earlier = say(memory, "Bo", "01-06", "I live in Lisbon.")
    (fact,) = memory.facts("Bo", "lives_in")
    assert [source.event_id for source in fact.sources] == [earlier, later]


def test_who_says_what_nobody_signed_is_nobody(memory: Memory) -> None:
    memory.add("I live in Leeds, and my sister Mia lives in Faro.")
    assert "Speaker" not in {one.name for one in memory.graph.entities()}
    assert told(memory.facts()) == [("Mia", "lives_in", "Faro")]
    assert memory.statements(about="Speaker")  # what is said in the first person stays together


def test_a_contradiction_without_a_winner_is_listed(memory: Memory) -> None:
    say(memory, "Ana", "04-02", "Tom lives in Leeds.")
    say(memory, "Bo", "04-02", "Tom lives in Porto.")
    assert sorted(fact.object_name for fact in memory.graph.conflicts()) == ["Leeds", "Porto"]
    say(memory, "Tom", "05-02", "I live in Porto.")
    assert told(memory.facts("Tom", "lives_in", as_of="2026-05-03")) == [("Tom", "lives_in", "Porto")]


def test_what_holds_in_both_directions_is_found_from_both(memory: Memory) -> None:
    say(memory, "Ana", "01-10", "Mia is my sister.")
    assert told(memory.facts("Mia", "sibling_of")) == [("Ana", "sibling_of", "Mia")]


def test_an_end_closes_what_held_then_also_if_it_was_told_first(memory: Memory) -> None:
    say(memory, "Ana", "04-02", "I no longer work at Siemens.")
    assert not any(fact.open for fact in memory.facts("Ana", "works_at"))
    say(memory, "Ana", "01-10", "I work at Siemens.")  # older, and learned later
    (job,) = memory.facts("Ana", "works_at")
    assert (job.object_name, job.open) == ("Siemens", False)
    memory.admin.rebuild()
    assert memory.facts("Ana", "works_at") == [job]
    say(memory, "Ana", "05-02", "I work at Bosch.")
    assert [fact.object_name for fact in memory.facts("Ana", "works_at") if fact.open] == ["Bosch"]


def test_entities_by_type_and_by_how_they_begin(memory: Memory) -> None:
    say(memory, "Ana", "01-10", "I live in Leeds. My friend Tom works at Siemens.")
    assert {one.name for one in memory.graph.entities(type="person")} == {"Ana", "Tom"}
    assert [one.name for one in memory.graph.entities(prefix="lee")] == ["Leeds"]
    assert memory.graph.entities(limit=1)[0].events == 1
    assert memory.graph.entity("SIEMENS").type == "organisation"
    assert memory.graph.entity(memory.graph.entity("tom").id).name == "Tom"


def test_a_timeline_is_in_the_order_of_time(memory: Memory) -> None:
    say(memory, "Ana", "04-02", "I moved to Porto in March.")
    say(memory, "Ana", "04-05", "I visited Rome last week.")
    say(memory, "Ana", "04-10", "I lived in Leeds from 2015 to 2019.")
    places = [fact.object_name for fact in memory.graph.timeline("Ana") if fact.relation in ("lives_in", "visited")]
    assert places == ["Leeds", "Porto", "Rome"]
    assert "Leeds" not in [fact.object_name for fact in memory.graph.timeline("Ana", since="2026-01-01")]
    assert "Rome" not in [fact.object_name for fact in memory.graph.timeline("Ana", until="2026-03-05")]
    assert [fact.subject_name for fact in memory.graph.timeline("Leeds")] == ["Ana"]


def test_merge_split_and_undo(memory: Memory) -> None:
    say(memory, "Ana", "01-10", "Robert Smith lives in Leeds.")
    say(memory, "Ana", "02-10", "The Hammer works at Siemens.")
    say(memory, "Ana", "02-11", "Joe Hammer works at Siemens.")
    memory.graph.merge("Joe Hammer", "Robert Smith")
    assert ("Robert Smith", "works_at", "Siemens") in told(memory.facts("Joe Hammer"))
    memory.admin.rebuild()
    assert memory.graph.entity("Joe Hammer").name == "Robert Smith"
    (edit,) = memory.graph.edits()
    assert edit.what == "Joe Hammer is Robert Smith"
    assert memory.graph.undo(edit.number).undone
    assert memory.graph.entity("Joe Hammer").name == "Joe Hammer"
    with pytest.raises(NotFound, match="to undo"):
        memory.graph.undo(edit.number)


def test_a_split_holds_against_what_names_suggest(memory: Memory) -> None:
    say(memory, "Ana", "01-10", "Michael Chen lives in Leeds.")
    say(memory, "Ana", "02-10", "Mike works at Siemens.")
    assert memory.graph.entity("Mike").name == "Michael Chen"
    memory.graph.split("Michael Chen", ["Mike"])
    assert memory.graph.entity("Mike").name == "Mike"
    assert told(memory.facts("Michael Chen")) == [("Michael Chen", "lives_in", "Leeds")]
    memory.admin.rebuild()
    assert told(memory.facts("Mike")) == [("Mike", "works_at", "Siemens")]


def test_what_is_forgotten_is_forgotten_of_everybody(memory: Memory) -> None:
    say(memory, "Ana", "01-10", "I live in Leeds.", "s1")
    say(memory, "Ana", "04-02", "I moved to Porto in March. My friend Zebulon helped.", "s2")
    memory.graph.merge("Zebulon", "Ana")
    memory.forget(session="s2")
    assert told(memory.facts("Ana")) == [("Ana", "lives_in", "Leeds")]
    assert memory.facts("Ana")[0].open
    with pytest.raises(NotFound, match="Zebulon"):
        memory.graph.entity("Zebulon")
    assert memory.graph.edits() == []
    assert memory.admin.verify().ok


def test_no_byte_of_a_forgotten_name_is_left(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="none") as memory:
        say(memory, "Ana", "01-10", "I live in Leeds.", "s1")
        say(memory, "Ana", "01-11", "My friend Zebulon Quark works at Siemens.", "s2")
        memory.forget(session="s2")
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"zebulon" not in left.lower()


def test_a_wing_knows_what_was_said_in_it(memory: Memory) -> None:
    memory.wing("home").add("I live in Leeds.", speaker="Ana", at="2026-01-10")
    memory.wing("work").add("I live in Porto. Tom works at Siemens.", speaker="Ana", at="2026-02-10")
    assert told(memory.wing("home").facts("Ana")) == [("Ana", "lives_in", "Leeds")]
    assert memory.wing("home").facts("Ana")[0].open
    assert {one.name for one in memory.wing("home").graph.entities()} == {"Ana", "Leeds"}
    assert (memory.graph.entity("Ana").events, memory.wing("home").graph.entity("Ana").events) == (2, 1)
    assert f"{memory.wing('home').graph.entity('Ana').last_at:%m-%d}" == "01-10"
    with pytest.raises(NotFound):
        memory.wing("home").graph.entity("Tom")


def test_spaces_know_nothing_of_one_another(memory: Memory) -> None:
    say(memory, "Ana", "01-10", "I live in Leeds.")
    other = memory.space("other")
    assert (other.graph.entities(), other.facts(), other.graph.conflicts()) == ([], [], [])


def test_an_older_memory_gets_its_graph(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="none", extract=False) as memory:
        say(memory, "Ana", "01-10", "I live in Leeds.")
        assert memory.facts() == []
    with Memory.open(path, embedder="none") as memory:
        say(memory, "Ana", "01-11", "I work at Siemens.")  # waits for the event before it
        memory.admin.settle()
        assert len(memory.facts("Ana")) == 2


def test_two_handles_on_one_file_see_what_the_other_learned(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="none") as one, Memory.open(path, embedder="none") as other:
        say(one, "Ana", "01-10", "Michael Chen lives in Leeds.")
        say(other, "Ana", "01-11", "Mike works at Siemens.")
        assert one.graph.entity("Mike").name == "Michael Chen"
        other.graph.split("Mike", ["Mike"])
        say(one, "Ana", "01-12", "Mike lives in Porto.")
        assert told(other.facts("Mike", "lives_in")) == [("Mike", "lives_in", "Porto")]


def test_deriving_that_fails_leaves_no_name_and_goes_on_later(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from everyword.storage.protocol import Writer

    def fail(*_: object) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr(Writer, "put_claims", fail)
    say(memory, "Ana", "01-10", "Michael Chen lives in Leeds.")
    with pytest.raises(RuntimeError):
        memory.facts()
    with memory.scope.engine.store.reader("default") as reader:
        assert (reader.names(), reader.cursor("facts")) == ([], 0)
    monkeypatch.undo()
    say(memory, "Ana", "01-11", "Mike works at Siemens.")
    assert memory.graph.entity("Mike").name == "Michael Chen"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "Ana lives in \x00Porto and I like \ud800 tea.",
        "I like " + "very " * 10_000 + "good tea.",
        "My sister's brother's sister's boss Mia's dog Rex lives in Leeds." * 60,
        "'s 's ’s I'm called O'Neil's.",
        "ΑΝΑ lives in Αθήνα. 小明住在北京。",
    ],
)
def test_strange_texts_leave_a_sound_graph(memory: Memory, text: str) -> None:
    for number in range(3):
        memory.add(text, speaker="Ana", at=f"2026-01-1{number}", session="s")
    assert memory.admin.verify().problems == ()
    memory.admin.rebuild(vectors=False)
    assert memory.admin.verify().problems == ()


def test_wrong_arguments_say_what_to_do(memory: Memory) -> None:
    with pytest.raises(InvalidFilter, match="person"):
        memory.graph.entities(type="animal")
    with pytest.raises(NotFound, match="Nobody"):
        memory.facts("Nobody Here")
    with pytest.raises(InvalidInput):
        memory.graph.timeline("")
    with pytest.raises(InvalidInput):
        memory.graph.entity("a\x00b")
    with pytest.raises(InvalidInput):
        memory.graph.split("x", "name")
    say(memory, "Ana", "01-10", "I live in Leeds.")
    with pytest.raises(InvalidInput, match="one already"):
        memory.graph.merge("Ana", "Ana")


@pytest.mark.slow
def test_forgetting_where_a_name_was_first_said_reads_again_only_who_says_it(memory: Memory) -> None:
    first = say(memory, "Ana", "01-10", "We went to Porto and met Zora Quill.")
    memory.add_many(
        {
            "text": f"Number {number % 3} was fine.",
            "speaker": "Bo",
            "at": f"2026-02-01T10:{number % 60:02}Z",
            "key": f"{number}",
        }
        for number in range(200)
    )
    say(memory, "Ana", "03-10", "I moved to Porto. My boss Zora Quill lives there.")
    assert memory.facts()
    memory.forget(ids=[first])
    with memory.scope.engine.store.reader("default") as reader:
        assert reader.cursor("facts") == reader.last_seq  # nothing is left to read again
    before = memory.facts(), memory.graph.entities()
    assert ("Ana", "lives_in", "Porto") in told(before[0])
    memory.admin.rebuild()
    assert (memory.facts(), memory.graph.entities()) == before


def test_what_ends_nothing_is_no_fault_of_the_file(memory: Memory) -> None:
    say(memory, "Ana", "04-02", "I no longer work at Siemens.")
    report = memory.admin.verify()
    assert report.ok, report.problems


def test_an_employer_is_no_role(memory: Memory) -> None:
    say(memory, "Ana", "01-10", "I'm an electrician.")
    say(memory, "Ana", "02-10", "I work at Siemens.")
    assert told(memory.facts("Ana")) == [("Ana", "has_role", "electrician"), ("Ana", "works_at", "Siemens")]
    assert all(fact.open for fact in memory.facts("Ana"))


def test_what_two_speakers_call_their_own_are_two_things(memory: Memory) -> None:
    for speaker in ("Ana", "Bo"):
        say(memory, speaker, "01-10", "My car broke down again.")
    assert [one.speaker for one in memory.statements()] == ["Ana", "Bo"]


def test_a_turn_is_read_again_without_the_one_before_it_when_that_is_forgotten(memory: Memory) -> None:
    first = say(memory, "Ana", "01-10", "I live in Lisbon.", "s1")
    say(memory, "Ana", "01-11", "I live in Lisbon.", "s1")
    assert len(memory.facts("Ana")) == 1
    memory.forget(ids=[first])
    with Memory.open(":memory:", embedder="none") as alone:
        say(alone, "Ana", "01-11", "I live in Lisbon.", "s1")
        assert [one.id for one in alone.statements()] == [one.id for one in memory.statements()]
        assert [one.id for one in alone.facts()] == [one.id for one in memory.facts()]
        assert alone.facts() != []
        assert alone.stats().tags == memory.stats().tags
    assert memory.admin.verify(deep=True).ok
