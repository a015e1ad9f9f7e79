"""Plans that an LLM proposes for the concepts: by the window alone, through the one executor, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from everyword import Memory
from everyword.types.concepts import Debt, EdgeKind
from llm_memory import MISBEHAVING, MONDAY, MovedClock, remembering
from llm_server import Asked, Step, chat, serving

BOILER = (
    "The boiler broke down again.",
    "The boiler lost pressure this morning.",
    "There is no hot water, the boiler failed for the third time.",
    "The boiler stopped working in the night.",
)
GARDEN = (
    "I planted tomato seeds in the garden.",
    "My garden needs weeding, the compost is full.",
    "Watering the garden takes me an hour, the soil is dry.",
    "I pruned the roses and mowed the lawn in the garden.",
)
NOTHING: dict[str, Any] = {part: [] for part in ("removes", "merges", "concepts", "members", "words", "links")}
Answer = dict[str, list[dict[str, Any]]]


class Window:
    """What the LLM was shown, to answer by."""

    def __init__(self, asked: Asked) -> None:
        self.shown: dict[str, Any] = json.loads(asked.prompt)

    def concept(self, words: str) -> int:
        """Give the number of the concept of an event with these words."""
        return next(one["concepts"][0] for one in self.shown["events"] if words in one["text"])

    def event(self, words: str) -> int:
        return next(one["number"] for one in self.shown["events"] if words in one["text"])


def proposing(answer: Callable[[Window], Answer]) -> Step:
    """Answer the window with a plan."""

    def step(asked: Asked):
        return chat(json.dumps({**NOTHING, **answer(Window(asked))}))(asked)

    return step


def worded(window: Window, **more: Any) -> dict[str, Any]:
    quotes = [{"event": window.event("broke down"), "quote": "The boiler broke down"}]
    given = {
        "concept": window.concept("broke down"),
        "label": "boiler repairs",
        "description": "The boiler broke down again",
        "quotes": quotes,
    }
    return given | more


def relabel(window: Window) -> Answer:
    return {"words": [worded(window)]}


def tell(memory: Memory, texts: tuple[str, ...], first: int = 0) -> list[str]:
    """Add texts, a day apart."""
    return [
        memory.add(text, speaker="Ana", at=MONDAY - timedelta(days=30) + timedelta(days=first + day)).id
        for day, text in enumerate(texts)
    ]


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


def open_with(server: Any, clock: MovedClock, location: Any = ":memory:"):
    return remembering(server, clock, location, embedder=None, llm_extract=False)


def everything(memory: Memory) -> list[Any]:
    views = [memory.concepts.get(one.id) for one in memory.concepts.list()]
    journal = [(entry.id, entry.action, entry.debt, entry.undone) for entry in memory.concepts.journal(limit=1000)]
    return [[(view.concept, view.grounds, view.edges) for view in views], journal]


def refused(memory: Memory) -> int:
    with memory.scope.engine.store.reader("default") as reader:
        return reader.refusals()


def test_it_words_a_concept_by_what_it_cites_and_the_words_before_stay_in_history(clock: MovedClock) -> None:
    with serving(proposing(relabel)) as server, open_with(server, clock) as memory:
        ids = tell(memory, BOILER)
        (before,) = memory.concepts.list()
        assert before.written_by == "rules"
        clock.pass_by(days=1)
        assert memory.admin.settle() == 1
        (after,) = memory.concepts.list()
        assert (after.id, after.label) == (before.id, "boiler repairs")
        assert after.description == "The boiler broke down again"
        assert after.written_by == "llm/plan.v3 served-model"
        assert after.keys == before.keys
        (entry,) = [one for one in memory.concepts.journal() if one.debt is Debt.PROPOSAL]
        assert (entry.action, entry.events, entry.reason) == ("update_node", (ids[0],), "as an LLM reads the window")
        assert before.label in {one.label for one in _versions(memory, before.id)}
        assert memory.admin.settle() == 0
        assert memory.admin.verify().ok


def _versions(memory: Memory, id: str) -> list[Any]:
    """Read a concept as it was told before an LLM worded it: what was known before takes it back."""
    (entry,) = [one for one in memory.concepts.journal() if one.debt is Debt.PROPOSAL]
    memory.concepts.undo(entry.id)
    return [memory.concepts.get(id).concept]


def test_it_sees_the_window_and_nothing_else(clock: MovedClock) -> None:
    with serving(proposing(lambda _: {})) as server, open_with(server, clock) as memory:
        memory.add("I have to send the grant report to Tomas by Friday.", speaker="Ana", at=MONDAY)
        tell(memory, BOILER)
        memory.admin.settle()
        shown = Window(server.asked[0]).shown
        items = memory.concepts.window().items
        assert {one["text"] for one in shown["events"]} == {item.text for item in items if item.kind == "event"}
        assert shown["goals"] == [item.text for item in items if item.kind == "intent"]
        assert len(shown["concepts"]) == sum(item.kind == "concept" for item in items) == 1


def test_a_link_goes_the_same_way(clock: MovedClock) -> None:
    def linked(window: Window) -> Answer:
        events = [window.event("broke down"), window.event("planted tomato")]
        one, other = window.concept("broke down"), window.concept("planted tomato")
        return {"links": [{"from": one, "to": other, "kind": "causes", "events": events}]}

    with serving(proposing(linked)) as server, open_with(server, clock) as memory:
        ids = [*tell(memory, BOILER), *tell(memory, GARDEN, first=10)]
        memory.admin.settle()
        edges = {edge for one in memory.concepts.list() for edge in memory.concepts.get(one.id).edges}
        (edge,) = [one for one in edges if one.kind is EdgeKind.CAUSES]
        assert set(edge.events) <= set(ids)
        assert edge.reason == "as an LLM reads the window"


def test_a_merge_is_done_by_the_executor_and_can_be_taken_back(clock: MovedClock) -> None:
    def merged(window: Window) -> Answer:
        one, other = window.concept("broke down"), window.concept("planted tomato")
        events = [window.event("broke down"), window.event("planted tomato")]
        return {"merges": [{"one": one, "other": other, "events": events}]}

    with serving(proposing(merged)) as server, open_with(server, clock) as memory:
        tell(memory, BOILER)
        tell(memory, GARDEN, first=10)
        two = [one.events for one in memory.concepts.list()]
        assert len(two) == 2
        memory.admin.settle()
        (one,) = memory.concepts.list()
        assert one.events == sum(two)
        before = everything(memory)
        memory.admin.rebuild()
        assert everything(memory) == before
        (entry,) = [one for one in memory.concepts.journal() if one.debt is Debt.PROPOSAL]
        memory.concepts.undo(entry.id)
        assert len(memory.concepts.list()) == 2
        assert memory.admin.verify().ok


WRONG: dict[str, Callable[[Window], dict[str, Any]]] = {
    "a concept that is not there": lambda window: worded(window, concept=99),
    "an event that is not there": lambda window: worded(window, quotes=[{"event": 99, "quote": "boiler"}]),
    "a quote that nobody said": lambda window: worded(
        window, quotes=[{"event": window.event("broke down"), "quote": "the boiler exploded"}]
    ),
    "no quote": lambda window: worded(window, quotes=[]),
    "words that nobody said": lambda window: worded(window, description="Quarterly revenue grows in Asia"),
    "a number that nobody said": lambda window: worded(window, description="The boiler broke down 7 times"),
    "what is no text": lambda window: worded(window, label="boiler\x00repairs"),
    "no label": lambda window: worded(window, label=" "),
    "a label like a page": lambda window: worded(window, label="boiler repairs " * 20),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_borne_out_is_refused_and_counted(what: str, clock: MovedClock) -> None:
    with (
        serving(proposing(lambda window: {"words": [WRONG[what](window)]})) as server,
        open_with(server, clock) as memory,
    ):
        tell(memory, BOILER)
        before = everything(memory)
        with pytest.warns(UserWarning, match="refused"):
            memory.admin.settle()
        assert everything(memory) == before
        assert refused(memory) == 1
        assert memory.stats().pending == 0
        memory.admin.rebuild()
        assert refused(memory) == 1


def test_what_is_wrong_takes_nothing_else_along(clock: MovedClock) -> None:
    def half_wrong(window: Window) -> Answer:
        return {"words": [WRONG["a concept that is not there"](window), worded(window)]}

    with serving(proposing(half_wrong)) as server, open_with(server, clock) as memory:
        tell(memory, BOILER)
        with pytest.warns(UserWarning, match=r"1 of 2 changes .* there is no concept 99"):
            memory.admin.settle()
        assert [one.label for one in memory.concepts.list()] == ["boiler repairs"]
        assert refused(memory) == 1


# Too far apart for the thresholds.
MEALS = (
    "I ate lentil soup with carrots for lunch.",
    "Grilled salmon tonight, no fries.",
    "I swapped the cake for an apple.",
)


def eating(window: Window, **more: Any) -> dict[str, Any]:
    return {
        "label": "healthy eating",
        "description": "Soup for lunch, grilled salmon, no fries",
        "events": [window.event(text[:12]) for text in MEALS],
        "quotes": [{"event": window.event("salmon"), "quote": "no fries"}],
    } | more


def test_it_makes_a_concept_of_events_that_were_too_far_apart(clock: MovedClock) -> None:
    with (
        serving(proposing(lambda window: {"concepts": [eating(window)]})) as server,
        open_with(server, clock) as memory,
    ):
        ids = tell(memory, MEALS, first=10)
        tell(memory, BOILER)  # something to look at the window for
        assert len(memory.concepts.list()) == 1
        memory.admin.settle()
        (made,) = [one for one in memory.concepts.list() if one.label == "healthy eating"]
        assert (made.events, made.written_by) == (3, "llm/plan.v3 served-model")
        assert {ground.event_id for ground in memory.concepts.get(made.id).grounds} == set(ids)
        before = everything(memory)
        memory.admin.rebuild()
        assert everything(memory) == before
        (entry,) = [one for one in memory.concepts.journal() if one.debt is Debt.PROPOSAL]
        assert (entry.action, entry.events) == ("add_node", tuple(ids))
        memory.concepts.undo(entry.id)
        assert made.id not in {one.id for one in memory.concepts.list()}
        assert memory.admin.verify().ok


def test_events_without_a_concept_are_shown_when_there_are_some(clock: MovedClock) -> None:
    more = (
        "Ludo broke his skateboard.",
        "My grandmother lives in Lisbon.",
        "I bought a red umbrella.",
        "My sister plays the cello.",
        "Tomas works at the harbour.",
    )
    with (
        serving(proposing(lambda window: {"concepts": [eating(window)]})) as server,
        open_with(server, clock) as memory,
    ):
        tell(memory, (*MEALS, *more[:4]))
        memory.admin.settle()
        assert (memory.concepts.list(), server.asked) == ([], [])
        tell(memory, more[4:], first=20)
        memory.admin.settle()
        assert [one.label for one in memory.concepts.list()] == ["healthy eating"]
        assert memory.admin.settle() == 0  # not asked again about the same


UNFOUNDED: dict[str, Callable[[Window], dict[str, Any]]] = {
    "two events": lambda window: eating(window, events=[window.event("salmon"), window.event("apple")]),
    "two events and one of them again": lambda window: eating(
        window, events=[window.event("salmon"), window.event("apple"), window.event("apple")]
    ),
    "an event that is not there": lambda window: eating(window, events=[1, 2, 99]),
    "a name that nobody said": lambda window: eating(window, label="Zabriskie Diet"),
    "a number that nobody said": lambda window: eating(window, label="16 Meals"),
    "a label without a word": lambda window: eating(window, label="***"),
    "a description of something else": lambda window: eating(window, description="Quarterly revenue grows in Asia"),
    "a quote of an event that is not among them": lambda window: eating(
        window, quotes=[{"event": window.event("broke down"), "quote": "broke down"}]
    ),
}


@pytest.mark.parametrize("what", UNFOUNDED)
def test_a_concept_that_is_not_borne_out_is_not_made(what: str, clock: MovedClock) -> None:
    with (
        serving(proposing(lambda window: {"concepts": [UNFOUNDED[what](window)]})) as server,
        open_with(server, clock) as memory,
    ):
        tell(memory, MEALS, first=10)
        tell(memory, BOILER)
        before = everything(memory)
        with pytest.warns(UserWarning, match="refused"):
            memory.admin.settle()
        assert everything(memory) == before


def test_it_puts_an_event_into_a_concept_and_takes_one_out(clock: MovedClock) -> None:
    def moved(window: Window) -> Answer:
        boiler = window.concept("broke down")
        return {
            "members": [
                {"event": window.event("I paid the"), "concept": boiler, "belongs": True},
                {"event": window.event("pressure"), "concept": boiler, "belongs": False},
            ]
        }

    with serving(proposing(moved)) as server, open_with(server, clock) as memory:
        ids = tell(memory, BOILER)
        (paid,) = tell(memory, ("I paid the plumber for a new valve.",), first=10)
        memory.admin.settle()
        (one,) = memory.concepts.list()
        counted = {ground.event_id for ground in memory.concepts.get(one.id).grounds if ground.weight >= 0.5}
        assert counted == {ids[0], ids[2], ids[3], paid}
        assert one.events == 4
        before = everything(memory)
        memory.admin.rebuild()
        assert everything(memory) == before
        for entry in [one for one in memory.concepts.journal() if one.debt is Debt.PROPOSAL]:
            memory.concepts.undo(entry.id)
        counted = {ground.event_id for ground in memory.concepts.get(one.id).grounds if ground.weight >= 0.5}
        assert counted == set(ids)
        assert memory.admin.verify().ok


def test_three_events_stay_with_a_concept(clock: MovedClock) -> None:
    def emptied(window: Window) -> Answer:
        boiler = window.concept("broke down")
        names = ("broke down", "pressure", "hot water")
        return {"members": [{"event": window.event(name), "concept": boiler, "belongs": False} for name in names]}

    with serving(proposing(emptied)) as server, open_with(server, clock) as memory:
        tell(memory, BOILER)
        with pytest.warns(UserWarning, match="1 of 3 changes"):
            memory.admin.settle()
        (one,) = memory.concepts.list()
        assert one.events == 3


def test_one_of_three_events_may_be_changed_for_another(clock: MovedClock) -> None:
    def changed(window: Window) -> Answer:
        boiler = window.concept("broke down")
        return {
            "members": [
                {"event": window.event("pressure"), "concept": boiler, "belongs": False},
                {"event": window.event("I paid the"), "concept": boiler, "belongs": True},
            ]
        }

    with serving(proposing(changed)) as server, open_with(server, clock) as memory:
        ids = tell(memory, BOILER[:3])
        (paid,) = tell(memory, ("I paid the plumber for a new valve.",), first=10)
        memory.admin.settle()
        (one,) = memory.concepts.list()
        assert refused(memory) == 0
        counted = {ground.event_id for ground in memory.concepts.get(one.id).grounds if ground.weight >= 0.5}
        assert counted == {ids[0], ids[2], paid}


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("healthy eating", "healthy eating"),
        ("healthy Lunch", "healthy lunch"),
        ("carb-free firefighting", "carb-free firefighting"),
        ("Salmon And Soup", "salmon and soup"),
    ],
)
def test_a_heading_may_sum_up_in_words_that_nobody_said(label: str, shown: str, clock: MovedClock) -> None:
    with (
        serving(proposing(lambda window: {"concepts": [eating(window, label=label)]})) as server,
        open_with(server, clock) as memory,
    ):
        tell(memory, MEALS, first=10)
        tell(memory, BOILER)
        memory.admin.settle()
        assert shown in [one.label for one in memory.concepts.list()]


def test_it_removes_what_is_no_concept(clock: MovedClock) -> None:
    def removed(window: Window) -> Answer:
        concept, event = window.concept("planted"), window.event("planted")
        return {"removes": [{"concept": concept, "events": [event]}]}

    with serving(proposing(removed)) as server, open_with(server, clock) as memory:
        tell(memory, BOILER)
        tell(memory, GARDEN, first=10)
        gone = next(one for one in memory.concepts.list() if one.label == "garden")
        memory.admin.settle()
        assert gone.id not in {one.id for one in memory.concepts.list()}
        before = everything(memory)
        memory.admin.rebuild()
        assert everything(memory) == before
        (entry,) = [one for one in memory.concepts.journal() if one.debt is Debt.PROPOSAL]
        memory.concepts.undo(entry.id)
        assert gone.id in {one.id for one in memory.concepts.list()}
        assert memory.admin.verify().ok


def test_forgetting_an_event_of_a_concept_that_it_made_takes_its_words_along(tmp_path: Path, clock: MovedClock) -> None:
    def named(window: Window) -> Answer:
        quotes = [{"event": window.event("Nakamura"), "quote": "Nakamura"}]
        events = [window.event(text[:12]) for text in (*MEALS, "I had a Nakam")]
        words = {"label": "Nakamura diet", "description": "Soup for lunch, Nakamura rice, no fries"}
        return {"concepts": [eating(window, **words, events=events, quotes=quotes)]}

    with serving(proposing(named)) as server:
        with open_with(server, clock, tmp_path / "m.db") as memory:
            tell(memory, MEALS, first=10)
            (secret,) = tell(memory, ("I had a Nakamura rice bowl.",), first=15)
            tell(memory, BOILER)
            memory.admin.settle()
            assert "Nakamura diet" in [one.label for one in memory.concepts.list()]
            server.script = [proposing(lambda _: {})]
            memory.forget(ids=[secret])
            assert not [one for one in memory.concepts.list() if "Nakamura" in f"{one.label} {one.description}"]
            assert memory.admin.verify().ok
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"Nakamura" not in stored


def test_a_label_that_another_concept_has_is_refused(clock: MovedClock) -> None:
    with serving(proposing(lambda _: {})) as server, open_with(server, clock) as memory:
        tell(memory, GARDEN)
        tell(memory, BOILER, first=10)
        assert "garden" in [one.label for one in memory.concepts.list()]
        server.script = [proposing(lambda window: {"words": [worded(window, label="garden")]})]
        before = everything(memory)
        with pytest.warns(UserWarning, match="refused"):
            memory.admin.settle()
        assert everything(memory) == before


@pytest.mark.parametrize("how", MISBEHAVING)
def test_whatever_the_model_does_the_words_stay_and_the_job_waits(how: str, clock: MovedClock) -> None:
    with serving(MISBEHAVING[how]) as server, open_with(server, clock) as memory:
        tell(memory, BOILER)
        before = everything(memory)
        with pytest.warns(UserWarning, match="is postponed"):
            memory.admin.settle()
        assert everything(memory) == before
        assert {job.kind for job in memory.admin.jobs()} == {"plan"}
        server.script = [proposing(relabel)]
        clock.pass_by(days=2)
        memory.admin.settle()
        assert [one.label for one in memory.concepts.list()] == ["boiler repairs"]
        assert memory.admin.jobs() == []


def test_rebuild_comes_to_the_same_graph_and_asks_nobody(tmp_path: Path, clock: MovedClock) -> None:
    with serving(proposing(relabel)) as server:
        with open_with(server, clock, tmp_path / "m.db") as memory:
            tell(memory, BOILER)
            memory.admin.settle()
            tell(memory, GARDEN, first=10)
            tell(memory, ("The boiler broke down again, barely an hour after the repair.",), first=20)
            asked, before = len(server.asked), everything(memory)
            memory.admin.rebuild()
            assert everything(memory) == before
            assert len(server.asked) == asked
        with Memory.open(tmp_path / "m.db") as alone:  # without any LLM
            alone.admin.rebuild()
            assert everything(alone) == before


def test_words_of_an_llm_stay_when_the_concept_grows(clock: MovedClock) -> None:
    more = tuple(f"The boiler broke down {often} this week." for often in ("twice", "often", "again", "daily"))
    with serving(proposing(relabel)) as server, open_with(server, clock) as memory:
        tell(memory, BOILER)
        memory.admin.settle()
        tell(memory, more, first=10)
        (one,) = memory.concepts.list()
        assert (one.label, one.events) == ("boiler repairs", 8)


def test_forgetting_what_it_rests_on_takes_the_words_back(tmp_path: Path, clock: MovedClock) -> None:
    def named(window: Window) -> Answer:
        quote = {"event": window.event("Nakamura"), "quote": "the Nakamura hotel"}
        words = worded(window, label="Nakamura repairs", description="The boiler of the Nakamura hotel", quotes=[quote])
        return {"words": [words]}

    with serving(proposing(named)) as server:
        with open_with(server, clock, tmp_path / "m.db") as memory:
            tell(memory, BOILER)
            (secret,) = tell(memory, ("The boiler of the Nakamura hotel broke down too.",), first=10)
            memory.admin.settle()
            assert [one.label for one in memory.concepts.list()] == ["Nakamura repairs"]
            memory.forget(ids=[secret])
            (one,) = memory.concepts.list()
            assert one.written_by == "rules"
            assert "Nakamura" not in f"{one.label} {one.description}"
            assert {job.kind for job in memory.admin.jobs()} == {"plan"}
            assert memory.admin.verify().ok
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"Nakamura" not in stored


def test_no_concept_no_question(clock: MovedClock) -> None:
    with serving(proposing(relabel)) as server, open_with(server, clock) as memory:
        tell(memory, BOILER[:2])
        memory.admin.settle()
        assert server.asked == []
