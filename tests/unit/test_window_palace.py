"""The window and the palace: what matters now without a question, and the memory as a place."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.fences import inside

from everyword import AsyncMemory, Memory
from everyword.errors import InvalidInput
from everyword.knowledge.window import SHARES, Node, window
from everyword.models.tokenizers import load_tokenizer
from everyword.types.intents import Tier

START = datetime(2026, 3, 2, 10, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing", tokenizer="words", clock=lambda: START + 2 * DAY) as opened:
        yield opened


def words(text: str) -> int:
    return len(text.split())


def made(nodes: list[Node], budget: int = 400, now: datetime = START) -> dict[Tier, list[str]]:
    shown = window(nodes, now=now, budget=budget, tokenizer=load_tokenizer(words))
    return {tier: [item.id for item in shown.items if item.tier is tier] for tier in Tier}


# The window


def test_what_was_said_last_is_immediate_and_nothing_is_in_two_tiers() -> None:
    nodes = [Node(kind="event", id=f"e{n}", text="a few words here", at=START - n * HOUR) for n in range(60)]
    tiers = made(nodes)
    assert tiers[Tier.IMMEDIATE][0] == "e0"
    held = [id for ids in tiers.values() for id in ids]
    assert len(held) == len(set(held))


def test_each_tier_stays_within_its_share_of_the_budget() -> None:
    nodes = [Node(kind="event", id=f"e{n}", text="five words are in here", at=START - n * HOUR) for n in range(500)]
    shown = window(nodes, now=START, budget=1000, tokenizer=load_tokenizer(words))
    for tier, share in SHARES.items():
        used = sum(item.tokens for item in shown.items if item.tier is tier)
        assert 0.8 * share * 1000 <= used <= share * 1000
    assert shown.tokens <= 1000


def test_a_deadline_inside_a_day_comes_to_the_front() -> None:
    old = START - 20 * DAY
    near = Node(kind="intent", id="near", text="pay the rent", at=old, deadline=START + 5 * HOUR)
    far = Node(kind="intent", id="far", text="see the dentist", at=old, deadline=START + 30 * DAY)
    others = [Node(kind="event", id=f"e{n}", text="some words", at=START - (10 + n) * DAY) for n in range(5)]
    assert made([far, near, *others], budget=100)[Tier.IMMEDIATE][0] == "near"


def test_what_many_point_to_and_what_was_recalled_often_rank_higher() -> None:
    old = START - 60 * DAY
    hub = Node(kind="concept", id="hub", text="the hub", at=old)
    lone = Node(kind="concept", id="lone", text="alone", at=old)
    recalled = Node(kind="event", id="asked for", text="often asked", at=old, recalled=9)
    plain = Node(kind="event", id="never", text="never asked", at=old)
    spokes = [Node(kind="event", id=f"s{n}", text="points there", at=old, links=("hub",)) for n in range(6)]
    shown = window([lone, plain, recalled, hub, *spokes], now=START, budget=1000, tokenizer=load_tokenizer(words))
    score = {item.id: item for item in shown.items}
    assert score["hub"].rank == 1.0 > score["lone"].rank
    assert score["asked for"].access == 1.0 > score["never"].access


def test_what_does_not_fit_one_tier_may_fit_the_next() -> None:
    long = Node(kind="event", id="long", text="word " * 30, at=START)
    assert made([long], budget=200)[Tier.WORKING] == ["long"]


def test_the_window_of_a_memory_holds_events_intents_and_counts_recalls(memory: Memory) -> None:
    memory.add("I need to send the budget report to Ana by 20 March.", speaker="Leo", session="s", at=START)
    memory.add("The harbour was full of herring boats.", speaker="Leo", session="s", at=START + HOUR)
    memory.add("Nothing else of note.", speaker="Leo", session="s", at=START + 2 * HOUR)
    for _ in range(3):
        memory.recall("herring boats in the harbour", k=1)
    memory.add("It rains.", at=START + 3 * HOUR)  # counts are written with the next write
    shown = memory.concepts.window(budget=400)
    by_text = {item.text: item for item in shown.items}
    assert by_text["2 March 2026, Leo: The harbour was full of herring boats."].access == 1.0
    assert by_text["2 March 2026, Leo: Nothing else of note."].access == 0.0
    assert any(item.kind == "intent" and "by 20 March 2026" in item.text for item in shown.items)
    assert inside(shown.text).startswith("[immediate]\n- ")
    assert shown.tokens <= 400


def test_counts_of_recalls_survive_closing_and_go_with_forgetting(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing", tokenizer="words") as memory:
        id = memory.add("Herring boats.", at=START).id
        memory.recall("herring")
    with Memory.open(tmp_path / "m.db", embedder="hashing", tokenizer="words") as memory:
        (item,) = memory.concepts.window().items
        assert item.access == 1.0
        memory.admin.rebuild()  # not derived from the log: it stays
        assert memory.concepts.window().items[0].access == 1.0
        memory.forget(ids=[id])
        assert memory.concepts.window().items == ()
        assert memory.admin.verify().ok


def test_a_recall_waits_for_no_writer(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing", tokenizer="words") as memory:
        memory.add("Herring boats.", at=START)
        with Memory.open(tmp_path / "m.db", embedder="hashing") as other, other.scope.engine.store.file_writer():
            assert memory.recall("herring")
            began = time.monotonic()
            memory.close()  # the counts are given up: they are hints
            assert time.monotonic() - began < 10  # and not waited for as a write would be


def test_a_read_only_memory_shows_its_window(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        memory.add("I must pay the rent by Friday.", at=START)
        memory.admin.settle()  # who only reads can't derive
    with Memory.open(tmp_path / "m.db", embedder="hashing", tokenizer="words", read_only=True) as memory:
        assert memory.recall("rent")
        assert memory.concepts.window(now=START).items
        assert len(memory.intents.list(now=START)) == 1


def test_a_wing_sees_its_own_window_and_answers_are_not_in_it(memory: Memory) -> None:
    memory.wing("work").add("I must send the offer by 20 March.", at=START)
    memory.wing("home").add("The roof leaks.", at=START)
    (intent,) = memory.intents.list()
    memory.intents.answer(intent.id, "accept")
    assert "roof" not in memory.wing("work").concepts.window().text
    assert "Accepted" not in memory.concepts.window().text
    assert memory.space("empty").concepts.window().items == ()
    with pytest.raises(InvalidInput):
        memory.concepts.window(budget=0)


# The palace


def test_the_palace_has_concepts_as_rooms_true_totals_and_tunnels_between_wings() -> None:
    boiler = (
        "broke down",
        "lost pressure",
        "failed again",
        "stopped working",
        "lost pressure again",
        "broke down once more",
    )
    garden = ("I planted tomato seeds in", "I pulled the weeds in", "Watering takes an hour in", "I mowed the lawn in")
    with Memory.open(":memory:", tokenizer="words") as memory:
        for n, what in enumerate(boiler):
            memory.wing("work" if n % 2 else "home").add(f"The boiler {what}.", session="cold", at=START + n * HOUR)
        for n, what in enumerate(garden):
            memory.wing("home").add(f"{what} the garden.", session="green", at=START + n * HOUR)
        memory.wing("home").add("Good morning!", at=START)
        inside = {
            one.label: sum(ground.event_id in here for ground in memory.concepts.get(one.id).grounds)
            for here in [{event.id for event in memory.wing("home").events()}]
            for one in memory.concepts.list()
        }
        assert inside.keys() == {"boiler", "garden"}
        palace = memory.concepts.palace(rooms=1, drawers=2)
        home, work = palace.wings
        assert (home.name, home.events, home.rooms_in_all) == ("home", 8, 2)
        room, rest = home.rooms
        assert room.events == inside[room.label] == max(inside.values())
        assert (rest.id, rest.label, rest.events) == (None, "everything else", 8 - sum(inside.values()))
        drawers = {one.event_id for hall in room.halls for closet in hall.closets for one in closet.drawers}
        assert len(drawers) == 2
        assert work.rooms[0].label == "boiler"
        (tunnel,) = palace.tunnels
        assert (tunnel.label, tunnel.wings) == ("boiler", ("home", "work"))
        assert [wing.name for wing in memory.wing("work").concepts.palace().wings] == ["work"]


async def _asynchronous(path: Path) -> None:
    async with await AsyncMemory.open(path, embedder="none", tokenizer="words", clock=lambda: START) as memory:
        told: list[object] = []
        await memory.on("intent", told.append)
        await memory.add("I must pay the rent by Friday.", at=START)
        await memory.admin.settle()
        assert len(await memory.intents.list()) == len(told) == 1
        assert (await memory.concepts.window()).items
        assert (await memory.concepts.palace()).wings
        stopped = threading.Event()
        stopped.set()
        assert [news async for news in memory.watch(every=0.01, stop=stopped)] == []


def test_all_of_it_can_be_awaited(tmp_path: Path) -> None:
    import asyncio

    asyncio.run(_asynchronous(tmp_path / "m.db"))
