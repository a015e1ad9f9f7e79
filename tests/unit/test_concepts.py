"""Concepts through `Memory`: what emerges, on which events, what changed and why, and how to take it back."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest

from clocks import Clock
from everyword import AsyncMemory, Memory
from everyword.errors import InvalidInput, InvalidSetting, NotFound
from everyword.knowledge.concept_graph import load_profile
from everyword.types.concepts import Debt, EdgeKind
from everyword.types.serialization import to_json

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
BOILER = (
    "The boiler broke down again.",
    "The boiler lost pressure this morning.",
    "There is no hot water, the boiler failed for the third time.",
    "The boiler stopped working in the night.",
    "The boiler lost pressure again this evening.",
)
GARDEN = (
    "I planted tomato seeds in the garden.",
    "My garden needs weeding, the compost is full.",
    "Watering the garden takes me an hour, the soil is dry.",
    "I pruned the roses and mowed the lawn in the garden.",
)
TALK = ("Hi there!", "How are you?", "Fine, thanks.", "See you tomorrow!", "Good night.", "Ha ha, yes.")


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    with Memory.open(":memory:", clock=clock) as opened:
        yield opened


@pytest.fixture
def linking(clock: Clock, tmp_path: Path) -> Iterator[Memory]:
    """A memory whose profile links all concepts."""
    profile = tmp_path / "linking.toml"
    profile.write_text("[thresholds]\nneighbour = 0.0\n")
    with Memory.open(":memory:", clock=clock, profile=str(profile)) as opened:
        yield opened


def tell(memory: Memory, texts: tuple[str, ...], *, clock: Clock | None = None, wing: str | None = None) -> list[str]:
    """Add texts, a day apart."""
    ids: list[str] = []
    for number, text in enumerate(texts):
        if clock is not None:
            clock.now += DAY
        at = clock.now if clock is not None else START + number * DAY
        ids.append(memory.add(text, speaker="Ana", at=at, wing=wing).id)
    return ids


def labels(memory: Memory) -> set[str]:
    return {concept.label for concept in memory.concepts.list()}


def test_three_events_make_a_concept_and_two_do_not(memory: Memory) -> None:
    tell(memory, BOILER[:2])
    assert memory.concepts.list() == []
    tell(memory, BOILER)
    assert labels(memory) == {"boiler"}


def test_a_concept_names_its_events_word_for_word(memory: Memory) -> None:
    ids = tell(memory, BOILER[:3])
    view = memory.concepts.get(memory.concepts.list()[0].id)
    assert {ground.event_id for ground in view.grounds} == set(ids)
    assert [ground.quote for ground in view.grounds] == list(BOILER[:3])
    assert all(0 < ground.weight <= 1 for ground in view.grounds)
    assert all(any(key.lower() in text.lower() for text in BOILER) for key in view.concept.keys)


def test_what_confirms_a_concept_strengthens_it_and_makes_no_second_one(memory: Memory) -> None:
    tell(memory, BOILER[:3])
    before = memory.concepts.list()[0]
    tell(memory, BOILER)
    (after,) = memory.concepts.list()
    assert (after.id, after.label) == (before.id, before.label)
    assert before.strength == 0.5
    assert after.strength == pytest.approx(0.5 + 0.1 * (after.events - 3))


def test_small_talk_comes_to_nothing(memory: Memory) -> None:
    tell(memory, TALK * 3)
    assert memory.concepts.list() == []
    assert memory.concepts.journal() == []


def test_two_matters_stay_two(memory: Memory) -> None:
    mixed = tuple(text for pair in zip(BOILER, GARDEN, strict=False) for text in pair)
    tell(memory, mixed)
    assert labels(memory) == {"boiler", "garden"}
    for concept in memory.concepts.list():
        own = BOILER if concept.label == "boiler" else GARDEN
        firm = [ground.quote for ground in memory.concepts.get(concept.id).grounds if ground.weight >= 0.5]
        assert set(firm) <= set(own)


def test_an_edge_fades_with_time_and_reading_it_changes_nothing(linking: Memory) -> None:
    memory = linking
    tell(memory, (*BOILER, *GARDEN))
    edge = next(edge for concept in memory.concepts.list() for edge in memory.concepts.get(concept.id).edges)
    week = edge.supported_at + 7 * DAY
    assert edge.weight_at(edge.supported_at) == edge.weight
    assert edge.weight_at(week) == pytest.approx(edge.weight * 0.4317, rel=1e-3)
    assert memory.concepts.get(edge.source).edges == memory.concepts.get(edge.source).edges


def test_the_journal_says_what_why_and_from_which_events(memory: Memory) -> None:
    ids = tell(memory, BOILER)
    entries = memory.concepts.journal()
    assert {entry.debt for entry in entries} >= {Debt.EMERGENCE, Debt.REINFORCEMENT}
    made = next(entry for entry in entries if entry.action == "add_node")
    assert set(made.events) <= set(ids)
    assert len(made.events) >= 3
    assert made.reason
    assert memory.concepts.get(made.node_id).journal[0] == made


def test_a_dry_run_tells_what_would_happen_and_changes_nothing(clock: Clock) -> None:
    with Memory.open(":memory:", clock=clock, fold=False) as memory:
        tell(memory, BOILER)
        would = memory.concepts.fold(dry_run=True)
        assert (would.events, would.waiting, would.dry_run) == (5, 0, True)
        assert memory.concepts.list() == []
        assert memory.concepts.journal() == []
        did = memory.concepts.fold()
        assert did.entries == would.entries
        assert labels(memory) == {"boiler"}
        assert memory.concepts.fold().events == 0


def test_as_of_shows_the_graph_as_it_was_known(memory: Memory, clock: Clock) -> None:
    tell(memory, BOILER[:3], clock=clock)
    then = clock.now
    early = memory.concepts.list()[0]
    tell(memory, BOILER[3:], clock=clock)
    assert memory.concepts.list(as_of=START) == []
    (past,) = memory.concepts.list(as_of=then)
    assert (past.events, past.strength, past.last_at) == (early.events, early.strength, early.last_at)
    assert len(memory.concepts.get(past.id, as_of=then).grounds) == 3
    assert memory.concepts.list()[0].events > past.events


def test_the_window_and_the_palace_can_be_seen_as_they_were(memory: Memory, clock: Clock) -> None:
    tell(memory, BOILER, clock=clock)
    then = clock.now
    window, palace = memory.concepts.window(), memory.concepts.palace()
    tell(memory, GARDEN, clock=clock)
    memory.add("I water the garden each evening.", wing="outside")
    made = next(entry for entry in memory.concepts.journal(limit=100) if entry.action == "add_node")
    clock.now += DAY
    memory.concepts.undo(made.id)
    assert memory.concepts.window(as_of=then) == window
    assert memory.concepts.palace(as_of=then) == palace
    assert memory.concepts.palace() != palace
    assert memory.concepts.palace(as_of=START - DAY).wings == ()


def test_forgetting_takes_all_that_rests_on_it(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, clock=clock) as memory:
        ids = tell(memory, (*BOILER[:3], "The boiler broke down again, said the xylophonist."))
        assert memory.concepts.list()[0].events == 4
        memory.forget(ids=ids[3:])
        assert memory.concepts.list()[0].events == 3
        memory.forget(ids=ids[:1])
        assert memory.concepts.list() == []
        assert memory.admin.verify().ok
    assert b"ylophonist" not in path.read_bytes()


def test_forgetting_leaves_the_graph_of_a_memory_that_never_knew(clock: Clock) -> None:
    with (
        Memory.open(":memory:", clock=clock) as one,
        Memory.open(":memory:", clock=clock) as other,
    ):
        ids = tell(one, (*BOILER, *GARDEN))
        one.forget(ids=[ids[1]])
        for number, text in enumerate((*BOILER, *GARDEN)):
            if number != 1:
                other.add(text, speaker="Ana", at=START + number * DAY)
        assert graph(one) == graph(other)


def test_a_rebuild_comes_to_the_same_graph(memory: Memory) -> None:
    tell(memory, (*BOILER, *TALK, *GARDEN))
    before = graph(memory)
    memory.admin.rebuild()
    assert graph(memory) == before
    assert memory.admin.verify().ok


def test_taking_a_change_back_lasts(memory: Memory) -> None:
    ids = tell(memory, BOILER)
    joined = next(entry for entry in memory.concepts.journal() if entry.edge is EdgeKind.REINFORCES)
    event, concept = joined.node_id, joined.target_id
    assert event in ids
    assert concept is not None
    assert memory.concepts.undo(joined.id).undone
    assert event not in {ground.event_id for ground in memory.concepts.get(concept).grounds}
    after = graph(memory)
    with pytest.raises(InvalidInput, match="undone already"):
        memory.concepts.undo(joined.id)
    memory.admin.rebuild()
    assert graph(memory) == after


def test_forgetting_that_a_change_was_taken_back_leaves_the_sums_that_folding_goes_on_from(memory: Memory) -> None:
    tell(memory, BOILER)
    (concept,) = memory.concepts.list()

    def sums() -> tuple[int, bytes]:
        with memory.scope.engine.store.writer("default") as writer:
            work = writer.fold_work_of(concept.id)
        assert work is not None
        return work.size, work.total

    before = sums()
    confirmed = next(entry for entry in memory.concepts.journal() if entry.debt is Debt.REINFORCEMENT)
    memory.concepts.undo(confirmed.id)
    assert sums() != before
    memory.forget(ids=[memory.admin.records(kind="undo_change")[0].id])
    assert sums() == before


def test_a_concept_that_is_none_can_be_taken_back(memory: Memory, clock: Clock) -> None:
    tell(memory, BOILER[:3])
    made = next(entry for entry in memory.concepts.journal() if entry.action == "add_node")
    clock.now += DAY
    memory.concepts.undo(made.id)
    assert memory.concepts.list() == []
    assert memory.concepts.get(made.node_id, as_of=START).concept.closed_at is None
    assert memory.admin.verify().ok


def test_taking_a_concept_back_takes_what_later_events_hung_on_it_and_can_be_taken_back(linking: Memory) -> None:
    memory = linking
    tell(memory, (*GARDEN, *BOILER))
    before = {view.concept.id: view for view in (memory.concepts.get(one.id) for one in memory.concepts.list())}
    made = next(entry for entry in memory.concepts.journal(limit=100) if entry.action == "add_node")
    assert before[made.node_id].edges, "it has links that other entries made"
    assert before[made.node_id].concept.events > len(made.events)
    memory.concepts.undo(made.id)
    assert memory.admin.verify().ok
    assert made.node_id not in {one.id for one in memory.concepts.list()}
    left = [edge for one in memory.concepts.list() for edge in memory.concepts.get(one.id).edges]
    assert all(made.node_id not in (edge.source, edge.target) for edge in left)
    undo = next(entry for entry in memory.concepts.journal(limit=100) if entry.action == "undo")
    memory.concepts.undo(undo.id)
    assert memory.admin.verify().ok
    again = memory.concepts.get(made.node_id)
    assert again.concept.events == before[made.node_id].concept.events
    assert {(edge.source, edge.target) for edge in again.edges} == {
        (edge.source, edge.target) for edge in before[made.node_id].edges
    }
    seen = graph(memory)
    memory.admin.rebuild()
    assert graph(memory) == seen


def test_wings_share_a_concept_but_not_each_others_words(memory: Memory) -> None:
    tell(memory, BOILER[:2], wing="ana")
    tell(memory, ("The boiler of the Qvistgaard hotel broke down too.",), wing="bo")
    (shared,) = memory.concepts.list()
    assert shared.wings == ("ana", "bo")
    view = memory.wing("ana").concepts.get(shared.id)
    assert len(view.grounds) == 2
    assert "Qvistgaard" not in json.dumps(to_json(view))
    assert "Qvistgaard" not in json.dumps([to_json(one) for one in memory.wing("ana").concepts.list()])
    assert memory.wing("ana").concepts.journal() == []
    told = [one for one in memory.wing("ana").changes() if one.kind == "concept"]
    assert [one.item.id for one in told] == [shared.id]  # type: ignore[union-attr]
    for seen in (told, memory.wing("ana").concepts.window(), memory.wing("ana").concepts.palace()):
        assert "Qvistgaard" not in str(seen)
    with pytest.raises(NotFound):
        memory.wing("nobody").concepts.get(shared.id)


def test_a_concept_is_told_when_it_first_has_a_label_and_once() -> None:
    unsure, sure = ("boiler breaks {} more", "the boiler breaks {} more")
    with Memory.open(":memory:", "hashing", reader="none") as memory:
        for told in (unsure.format("once"), unsure.format("twice"), sure.format("thrice")):
            memory.add(told, wing="home")
        (made,) = [entry.node_id for entry in memory.concepts.journal() if entry.action == "add_node"]
        assert memory.concepts.get(made).concept.label == ""
        home, read = memory.wing("home"), memory.changes().position
        for scope in (memory, home):
            assert scope.concepts.list() == []
            assert [one for one in scope.changes() if one.kind == "concept"] == []
        for word in ("often", "daily", "nightly"):
            memory.add(sure.format(word), wing="home")
        assert labels(memory) == labels(home) == {"boiler"}
        for news in (memory.changes(after=read), memory.changes(), home.changes()):
            assert [one.item.label for one in news if one.kind == "concept"] == ["boiler"]  # type: ignore[union-attr]


def test_a_wing_names_a_concept_by_things_as_all_do(memory: Memory) -> None:
    tell(memory, BOILER[:2], wing="ana")
    tell(memory, BOILER[2:], wing="bo")
    assert labels(memory.wing("ana")) == labels(memory) == {"boiler"}


def test_spaces_share_nothing(memory: Memory) -> None:
    tell(memory.space("one"), BOILER[:2])
    tell(memory.space("two"), BOILER[2:4])
    assert memory.space("one").concepts.list() == memory.space("two").concepts.list() == []


def test_another_process_goes_on_where_one_stopped(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "memory.db"
    with (
        Memory.open(path, clock=clock) as one,
        Memory.open(path, clock=clock) as other,
        Memory.open(":memory:", clock=clock) as alone,
    ):
        for number, text in enumerate((*BOILER, *GARDEN)):
            for memory in ((one, other)[number % 2], alone):
                memory.add(text, speaker="Ana", at=START + number * DAY)
        assert graph(one) == graph(other) == graph(alone)


def test_a_file_from_before_is_folded_by_settle(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, fold=False) as memory:
        tell(memory, BOILER)
        assert memory.concepts.list() == []
        memory.admin.settle()
        assert labels(memory) == {"boiler"}


def test_the_words_of_an_assistant_found_nothing(memory: Memory) -> None:
    for text in BOILER:
        memory.add(text, role="assistant", at=START)
    assert memory.concepts.list() == []


def test_without_a_reader_all_that_is_said_is_folded() -> None:
    with Memory.open(":memory:", reader="none") as memory:
        tell(memory, BOILER)
        assert labels(memory) == {"boiler"}
        assert memory.concepts.list(about="boil")
        assert memory.concepts.list(about="garden") == []


@pytest.mark.parametrize(
    "text", ["[thresholds", "[thresholds]\njoin = 2.0", "[thresholds]\nnothing = 0.5", "thresholds = 1", "themes = 1"]
)
def test_a_profile_that_cannot_be_read_is_told(tmp_path: Path, text: str) -> None:
    profile = tmp_path / "bad.toml"
    profile.write_text(text)
    with pytest.raises(InvalidSetting, match="profile"):
        Memory.open(":memory:", "none", profile=str(profile))


def test_a_profile_may_be_in_the_home_folder_and_one_that_is_kept_from_us_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "bees.toml").write_text('prompt = "Bees."')
    assert load_profile("~/bees.toml").prompt == "Bees."
    monkeypatch.setattr(Path, "read_text", Mock(side_effect=PermissionError("no")))
    (tmp_path / "locked.toml").write_text("")
    with pytest.raises(InvalidSetting, match="can't be read"):
        load_profile("~/locked.toml")


def test_an_unknown_profile_is_named_with_those_there_are() -> None:
    with pytest.raises(InvalidSetting, match="software"):
        Memory.open(":memory:", "none", profile="cooking")


def test_what_is_not_there_is_told(memory: Memory) -> None:
    for wrong in ("co_0", "", "ev_1"):
        with pytest.raises(NotFound):
            memory.concepts.get(wrong)
        with pytest.raises(NotFound):
            memory.concepts.undo(wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "because " * 5_000,
        "a" * 200_000,
        "\x00 boiler \ud800 broke",
        "सो गया " * 100,
        "睡眠" * 2_000,
        "'" * 1_000 + ", so " * 200,
        "Boiler " * 20_000,
        "🛏️💤 boiler",
    ],
)
def test_whatever_comes_is_stored_and_folds_or_not(memory: Memory, text: str) -> None:
    tell(memory, BOILER[:3])
    for number in range(4):
        assert memory.add(f"{text} {number}", at=START + number * DAY).new
    assert memory.notices == []
    assert memory.admin.verify().ok


def test_verify_finds_an_edge_that_lost_its_event(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path) as memory:
        tell(memory, BOILER)
        assert memory.concepts.list()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE fold_edges SET seq = 999 WHERE number = 1")
        connection.execute("DELETE FROM fold_edges WHERE number > 1")
    connection.close()
    with Memory.open(path) as memory:
        assert any("concepts" in problem.where for problem in memory.admin.verify().problems)
        memory.admin.rebuild()
        assert memory.admin.verify().ok


def test_the_same_for_asyncio() -> None:
    async def use() -> list[str]:
        async with await AsyncMemory.open(":memory:") as memory:
            for number, text in enumerate(BOILER):
                await memory.add(text, at=START + number * DAY)
            (concept,) = await memory.concepts.list()
            view = await memory.concepts.get(concept.id)
            assert (await memory.concepts.journal())[-1].events
            assert (await memory.concepts.fold(dry_run=True)).events == 0
            return [view.concept.label]

    assert asyncio.run(use()) == ["boiler"]


def graph(memory: Memory) -> object:
    """Lay the whole graph out, without the order in which rows were written."""
    views = [memory.concepts.get(concept.id) for concept in memory.concepts.list()]
    return sorted(
        (
            view.concept.id,
            view.concept.label,
            view.concept.description,
            view.concept.strength,
            [(ground.event_id, ground.kind, ground.weight) for ground in view.grounds],
            sorted((edge.source, edge.target, edge.kind, edge.weight, edge.events) for edge in view.edges),
            [(entry.id, entry.action, entry.reason, entry.undone) for entry in view.journal],
        )
        for view in views
    )


def test_what_is_done_to_the_memory_itself_names_nobody(memory: Memory) -> None:
    tell(memory, BOILER[:3])
    memory.concepts.undo(memory.concepts.journal()[0].id)
    memory.identity("You are Kim of Oslo.")
    memory.add("Nothing to be read here.", role="system")
    assert [entity.name for entity in memory.graph.entities()] == ["Ana"]
    memory.admin.rebuild()
    assert [entity.name for entity in memory.graph.entities()] == ["Ana"]
