"""How much was said over time, a first glance by words, and lists that are cut short: what pages are drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everyword import Memory
from everyword.errors import InvalidInput
from everyword.types.graph import Fact

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        for day, (who, wing, text) in enumerate(
            [
                ("Ana", "home", "I live in Lisbon."),
                ("Ana", "home", "I have a sister called Inês."),
                ("Will", "work", "I work at Caudal Labs."),
                ("Ana", "work", "I moved to Porto yesterday."),
                ("Will", "work", "I live in Faro."),
            ]
        ):
            memory.add(text, speaker=who, wing=wing, session=f"s{day % 3}", at=START + timedelta(days=day))
        yield memory


def test_events_are_counted_from_the_first_to_the_last(memory: Memory) -> None:
    found = memory.admin.activity(parts=4)
    assert (found.begin, found.events, sum(found.counts), len(found.counts)) == (START, 5, 5, 4)
    assert found.end is not None
    assert found.end > START + timedelta(days=4)
    assert (found.speakers, found.wings) == (("Ana", "Will"), ("home", "work"))


def test_a_span_a_person_and_a_wing_narrow_what_is_counted_and_not_what_there_is_to_choose(memory: Memory) -> None:
    found = memory.admin.activity(since=START + timedelta(days=1), until=START + timedelta(days=4), parts=3)
    assert (found.events, found.counts) == (3, (1, 1, 1))
    assert (found.begin, found.end) == (START + timedelta(days=1), START + timedelta(days=4))
    assert memory.admin.activity(speaker="Will").events == 2
    of_a_wing = memory.admin.activity(wing="home", speaker="Ana")
    assert (of_a_wing.events, of_a_wing.speakers, of_a_wing.wings) == (2, ("Ana", "Will"), ("home", "work"))
    # Who sees a wing alone is told of no other.
    assert memory.wing("home").admin.activity().speakers == ("Ana",)
    assert memory.wing("home").admin.activity().wings == ("home",)


def test_nothing_said_is_nothing_counted(memory: Memory) -> None:
    found = memory.admin.activity(speaker="Nobody", parts=2)
    assert (found.begin, found.end, found.events, found.counts) == (None, None, 0, (0, 0))
    assert memory.space("elsewhere").admin.activity().speakers == ()
    for parts in (0, 1_001):
        with pytest.raises(InvalidInput):
            memory.admin.activity(parts=parts)


def test_a_glance_finds_words_and_claims_no_confidence(memory: Memory) -> None:
    hits = memory.admin.glance("Lisbon", k=1)
    assert [hit.event.text for hit in hits] == ["I live in Lisbon."]
    assert hits.confidence is None
    assert {score.stage for score in hits[0].scores}.isdisjoint({"vectors", "late"})
    assert [hit.event.speaker for hit in memory.admin.glance("live", speaker="Will")] == ["Will"]
    assert memory.wing("work").admin.glance("Lisbon") == []


def test_a_list_that_is_cut_short_is_the_beginning_of_the_whole(memory: Memory) -> None:
    facts, sessions = memory.facts(), memory.sessions()
    assert len({fact.subject for fact in facts}) > 1
    for count in range(1, len(facts) + 2):
        assert memory.facts(limit=count) == facts[:count]
        assert memory.sessions(limit=count) == sessions[:count]
    of_one = memory.sessions(speaker="Ana")
    assert memory.sessions(speaker="Ana", limit=1) == of_one[:1]


def test_facts_of_a_span_come_by_how_long_they_were_true(memory: Memory) -> None:
    since, until = START, START + timedelta(days=30)
    facts = memory.graph.held(since, until)
    assert {fact.id for fact in facts} <= {fact.id for fact in memory.facts()}
    assert all(fact.sources for fact in facts)

    def held(fact: Fact) -> timedelta:
        return min(until, fact.valid_to or until) - max(since, fact.valid_from or since)

    assert [held(fact) for fact in facts] == sorted(map(held, facts), reverse=True)
    assert memory.graph.held(since, until, limit=2) == facts[:2]
    of_ana = memory.graph.held(since, until, subject="Ana")
    assert of_ana == [fact for fact in facts if fact.subject_name == "Ana"]
    lisbon = next(fact for fact in of_ana if fact.object_name == "Lisbon")
    assert lisbon.valid_to is not None
    assert lisbon not in memory.graph.held(lisbon.valid_to, until)  # a window without its end, as a wing's is
    with pytest.raises(InvalidInput, match="later than until"):
        memory.graph.held(until, since)
    assert {fact.object_name for fact in memory.wing("home").graph.held(since, until)} >= {"Lisbon"}
    assert all(fact.subject_name != "Will" for fact in memory.wing("home").graph.held(since, until))
