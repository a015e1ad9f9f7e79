"""The one executor: a plan is carried out whole, or refused whole with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from everyword import Memory
from everyword.errors import InvalidInput
from everyword.knowledge import concepts as folding
from everyword.types.concepts import (
    AddEdge,
    AddNode,
    Debt,
    EdgeKind,
    MergeNodes,
    RemoveNode,
    UpdateNode,
    UpdatePlan,
    concept_id,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = (
    "The boiler broke down again.",
    "The boiler lost pressure this morning.",
    "There is no hot water, the boiler failed for the third time.",
    "I planted tomato seeds in the garden.",
    "My garden needs weeding, the compost is full.",
    "Watering the garden takes me an hour, the soil is dry.",
    "The old clock struck nine in the hall.",
    "Nobody knows who painted that ladder.",
    "A parcel stood at the door.",
)
Run = Callable[[UpdatePlan], tuple[str, ...]]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as opened:
        for number, text in enumerate(TEXTS):
            opened.add(text, speaker="Ana", at=START + timedelta(days=number))
        opened.admin.settle()
        yield opened


def run(memory: Memory, *operations: Any, debt: Debt = Debt.PROPOSAL) -> tuple[str, ...]:
    """Hand a plan in as an LLM would: in a transaction, on account of the last event."""
    engine, space = memory.scope.engine, memory.scope.space
    with engine.store.writer(space) as writer:
        mark = writer.fold_mark()
        assert mark is not None
        executor = folding.executor_for(engine, writer, mark)
        (seq, event) = writer.log(after=mark.upto - 1, limit=1)[0]
        executor.begin(folding.cause_of(seq, event))
        made = executor.run(UpdatePlan(operations=operations, proposed_by="somebody"), debt)
        executor.flush()
    return made


def ids(memory: Memory) -> list[str]:
    return [event.id for event in memory.events()]


def by_label(memory: Memory) -> dict[str, str]:
    return {concept.label: concept.id for concept in memory.concepts.list()}


def new_concept(events: list[str], **changes: Any) -> tuple[Any, ...]:
    """Plan a concept on some events."""
    id = concept_id("default", tuple(events))
    body: Mapping[str, Any] = {"keys": [], "names": [], "description": "", "written_by": "somebody"}
    given = {"label": "Things in the hall", "description": "", "reason": "seen together", "body": body, **changes}
    given["body"] = {**given["body"], "label": given["label"]}
    node = AddNode(id=id, grounded_in=tuple(events), **given)
    edges = [
        AddEdge(source=one, target=id, kind=EdgeKind.GROUNDS, weight=0.9, reason="seen together", grounded_in=(one,))
        for one in events
    ]
    return (node, *edges)


def edge(source: str, target: str, kind: EdgeKind, **changes: Any) -> AddEdge:
    grounds = {"weight": 0.5, "reason": "so it seems", "grounded_in": (), **changes}
    return AddEdge(source=source, target=target, kind=kind, **grounds)


def test_what_is_wrong_is_refused_whole(memory: Memory) -> None:
    events, known = ids(memory), by_label(memory)
    boiler, garden = known["boiler"], known["garden"]
    wrong: dict[str, tuple[Any, ...]] = {
        "there is no ev_0": new_concept([*events[6:8], "ev_" + "0" * 32]),
        "there is no co_nothing": (edge(boiler, "co_nothing", EdgeKind.CAUSES, grounded_in=(events[0],)),),
        "there is no co_gone": (RemoveNode(id="co_gone", reason="over", grounded_in=(events[0],)),),
        "there is no co_lost": (UpdateNode(id="co_lost", label="x", reason="better", grounded_in=(events[0],)),),
    }
    before = (memory.concepts.list(), memory.concepts.journal(limit=1_000))
    good = edge(boiler, garden, EdgeKind.RELATED_TO, grounded_in=(events[0],))
    for reason, operations in wrong.items():
        with pytest.raises(InvalidInput, match=reason):
            run(memory, good, *operations)
    assert (memory.concepts.list(), memory.concepts.journal(limit=1_000)) == before


def test_a_concept_that_is_there_already_is_confirmed_instead(memory: Memory) -> None:
    events, boiler = ids(memory), by_label(memory)["boiler"]
    assert run(memory, *new_concept(events[6:], label="Boiler")) == ()
    assert by_label(memory).keys() == {"boiler", "garden"}
    assert set(events[6:]) <= {ground.event_id for ground in memory.concepts.get(boiler).grounds}


def test_the_stronger_absorbs_every_edge_and_can_give_them_back(memory: Memory) -> None:
    events, known = ids(memory), by_label(memory)
    boiler, garden = known["boiler"], known["garden"]
    (third,) = run(memory, *new_concept(events[6:]))
    run(memory, edge(garden, third, EdgeKind.CAUSES, grounded_in=(events[3],)))
    split = {id: memory.concepts.get(id) for id in (boiler, garden, third)}
    run(memory, MergeNodes(id=boiler, absorbed=garden, reason="one thing", grounded_in=(events[0],)), debt=Debt.MERGING)
    merged = memory.concepts.get(boiler)
    assert {ground.event_id for ground in merged.grounds} >= set(events[:6])
    assert (boiler, third, EdgeKind.CAUSES) in {(one.source, one.target, one.kind) for one in merged.edges}
    assert garden not in {concept.id for concept in memory.concepts.list()}
    assert memory.admin.verify().ok
    entry = next(entry for entry in memory.concepts.journal() if entry.action == "merge_nodes")
    memory.concepts.undo(entry.id)
    for id, before in split.items():
        after = memory.concepts.get(id)
        assert after.grounds == before.grounds
        assert {(one.source, one.target, one.kind) for one in after.edges} == {
            (one.source, one.target, one.kind) for one in before.edges
        }
    assert memory.admin.verify().ok
    with pytest.raises(InvalidInput, match="separated"):
        run(memory, MergeNodes(id=boiler, absorbed=garden, reason="again", grounded_in=(events[0],)))


def test_a_concept_is_removed_with_its_edges(memory: Memory) -> None:
    events, known = ids(memory), by_label(memory)
    run(memory, edge(known["boiler"], known["garden"], EdgeKind.RELATED_TO, grounded_in=(events[0],)))
    run(memory, RemoveNode(id=known["garden"], reason="not wanted", grounded_in=(events[3],)))
    assert by_label(memory).keys() == {"boiler"}
    assert memory.concepts.get(known["boiler"]).edges == ()
    assert memory.admin.verify().ok
