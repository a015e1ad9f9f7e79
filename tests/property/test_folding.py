"""Random histories: the same log folds to the same graph, however it was written, broken off, forgotten or rebuilt."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import effort
from everyword import Memory
from everyword.jobs.deriver import derive_batch

EVERYDAY = str(Path(__file__).parents[1] / "data" / "folding" / "everyday.toml")  # themes that events fold by
START = datetime(2026, 1, 1, tzinfo=UTC)
CLAUSES = (
    "slept badly",
    "took a nap on the sofa",
    "insomnia until four",
    "the garden needs weeding",
    "planted tomatoes in the greenhouse",
    "the compost is full",
    "the deadline slipped",
    "we are behind schedule on the deadline",
    "deployed the search service",
    "the rollout of the service failed",
    "a bug in the date parser",
    "fixed the crash",
    "the zorblax hummed",
    "a zorblax came by parcel",
    "our zorblax broke in the rain",
    "good morning",
    "see you",
)
# Any of them may found a concept with any other: events change places more often than in what people say.
WORDS = "river stone garden letter music train ticket soup budget invoice roof ladder paint nurse clinic".split()
LINKS = (". ", ", so ", " because ", " and ")
ROLES = ("user", "user", "user", "assistant", "system")

texts = st.lists(st.sampled_from(CLAUSES), min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from(LINKS).map(lambda link: link.join(parts).capitalize() + ".")
)
days = st.integers(0, 60)  # out of order, and at one moment; of one day there is one wing, as an event is in one alone
events = st.lists(
    st.builds(
        lambda text, role, day: {
            "text": text,
            "role": role,
            "at": START + timedelta(days=day),
            "wing": (None, "a", "b")[day % 3],
        },
        texts,
        st.sampled_from(ROLES),
        days,
    ),
    min_size=4,
    max_size=40,
)
profiles = st.sampled_from(("general", EVERYDAY))  # by words alone, and by themes
quick = settings(max_examples=effort(5, 15), deadline=None, suppress_health_check=list(HealthCheck))


def standing() -> datetime:
    return START


def written(history: list[dict[str, Any]], profile: str, *, batch: int, fold: bool = True) -> Memory:
    """Write a history in batches."""
    memory = Memory.open(":memory:", "hashing", clock=standing, extract=False, fold=fold, profile=profile)
    numbered = [{**event, "key": str(number)} for number, event in enumerate(history)]
    for start in range(0, len(numbered), batch):
        memory.add_many(numbered[start : start + batch])
    if fold:
        memory.concepts.fold()  # what a busy machine left over
    return memory


def graph(memory: Memory) -> object:
    views = [memory.concepts.get(concept.id) for concept in memory.concepts.list()]
    return sorted(
        (
            view.concept.id,
            view.concept.label,
            view.concept.description,
            view.concept.strength,
            sorted((ground.event_id, ground.kind, ground.weight) for ground in view.grounds),
            sorted((edge.source, edge.target, edge.kind, edge.weight, edge.events) for edge in view.edges),
            [(entry.id, entry.action, entry.reason, entry.undone) for entry in view.journal],
        )
        for view in views
    )


@quick
@given(history=events, profile=profiles)
def test_one_by_one_in_batches_later_and_anew_are_the_same(history: list[dict[str, Any]], profile: str) -> None:
    with written(history, profile, batch=1) as one, written(history, profile, batch=100) as many:
        with written(history, profile, batch=7, fold=False) as later:
            later.admin.settle()
            expected = graph(one)
            assert graph(many) == expected
            assert graph(later) == expected
        many.admin.rebuild()
        assert graph(many) == expected
        assert many.admin.verify().ok


@quick
@given(history=events, profile=profiles, stops=st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_a_pass_may_stop_and_another_process_go_on_anywhere(
    history: list[dict[str, Any]], profile: str, stops: list[int]
) -> None:
    with written(history, profile, batch=100) as whole, written(history, profile, batch=100, fold=False) as halting:
        engine = halting.scope.engine
        for limit in stops * len(history):
            vars(engine).pop("folds", None)  # as a new process: nothing is remembered
            if not derive_batch(engine, engine.store, "default", ("concepts",), limit)[0]:
                break
        halting.concepts.fold()
        assert graph(halting) == graph(whole)


@quick
@given(
    history=events, profile=profiles, gone=st.sets(st.integers(0, 39), min_size=1, max_size=6), undo=st.integers(0, 50)
)
def test_what_is_forgotten_was_never_there(
    history: list[dict[str, Any]], profile: str, gone: set[int], undo: int
) -> None:
    with written(history, profile, batch=100) as memory:
        entries = [entry for entry in memory.concepts.journal(limit=1_000) if entry.action != "undo"]
        if entries:  # a change that a person took back must survive, or go with what it was about
            memory.concepts.undo(entries[undo % len(entries)].id)
            before = graph(memory)
            memory.admin.rebuild()
            assert graph(memory) == before
            memory.forget(ids=[next(record.id for record in memory.admin.records() if record.kind == "undo_change")])
        keys = [str(number) for number in sorted(gone) if number < len(history)]
        if not keys:
            return
        memory.forget(keys=keys)
        left = [event for number, event in enumerate(history) if number not in gone]
        with Memory.open(":memory:", "hashing", clock=standing, extract=False, profile=profile) as never:
            never.add_many(
                [{**event, "key": str(number)} for number, event in enumerate(history) if number not in gone]
            )
            assert len(left) == never.stats().events
            assert graph(memory) == graph(never)
        assert memory.admin.verify().ok


def bags(seed: int, size: int) -> list[dict[str, Any]]:
    """Make a history of words by chance."""
    rng = random.Random(seed)
    return [
        {"text": " ".join(rng.sample(WORDS, 5)), "speaker": "Ana", "at": START + timedelta(hours=5 * number)}
        for number in range(size)
    ]


@pytest.mark.parametrize(
    ("seed", "size", "gone"), [(3, 20, 14), (6, 20, 7), (0, 35, 21), (5, 35, 9), (9, 35, 29), (2, 54, 23), (7, 54, 11)]
)
def test_events_that_changed_their_places_are_put_back_when_one_is_forgotten(seed: int, size: int, gone: int) -> None:
    history = bags(seed, size)
    with written(history, "general", batch=1) as memory:
        memory.forget(keys=[str(gone)])
        memory.concepts.fold()
        before = graph(memory)
        for concept in memory.concepts.list():
            belonging = [ground.event_id for ground in memory.concepts.get(concept.id).grounds]
            assert len(set(belonging)) == len(belonging)  # by one edge each
        memory.admin.rebuild()
        assert graph(memory) == before
        assert before
