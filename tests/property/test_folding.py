"""Random histories: the same log folds to the same graph, however it was written, broken off, forgotten or rebuilt."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import effort
from everyword import Memory
from everyword.errors import NotFound
from everyword.jobs.deriver import derive_batch
from everyword.knowledge.concepts import GraphCache

START = datetime(2026, 1, 1, tzinfo=UTC)
# Of each thing the same words are said in changing company: events found concepts, join them, and some change places.
THINGS = ("boiler", "garden", "deadline", "service", "zorblax")
SAID = ("broke", "failed again", "is behind", "needs a repair", "came back in the rain", "stopped")
SMALL_TALK = ("Good morning.", "See you.")
ROLES = ("user", "user", "user", "user", "assistant", "system")
MERGING = "[thresholds]\nmerge = 0.5\nneighbour = 0.0\n"  # so that a few events are enough for merges and links

clauses = st.builds(lambda thing, said: f"the {thing} {said}", st.sampled_from(THINGS), st.sampled_from(SAID))
texts = st.one_of(
    *[st.lists(clauses, min_size=1, max_size=2).map(lambda parts: " and ".join(parts).capitalize() + ".")] * 7,
    st.sampled_from(SMALL_TALK),
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
quick = settings(max_examples=effort(5, 15), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module", params=["general", "merging"])
def profile(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "general":
        return "general"
    path = tmp_path_factory.mktemp("profiles") / "merging.toml"
    path.write_text(MERGING)
    return str(path)


def standing() -> datetime:
    return START


def opened(profile: str, *, fold: bool = True) -> Memory:
    return Memory.open(":memory:", "hashing", clock=standing, reader="none", fold=fold, profile=profile)


def written(history: list[dict[str, Any]], profile: str, *, batch: int, fold: bool = True) -> Memory:
    """Write a history in batches."""
    memory = opened(profile, fold=fold)
    numbered = [{**event, "key": str(number)} for number, event in enumerate(history)]
    for start in range(0, len(numbered), batch):
        memory.add_many(numbered[start : start + batch])
        if fold:
            memory.concepts.fold()
    return memory


def graph(memory: Memory) -> list[Any]:
    """Lay the whole graph out, with the concepts that have no label yet and are not listed."""
    journal = memory.concepts.journal(limit=5_000)
    made = sorted({entry.node_id for entry in journal if entry.action == "add_node"})
    return [
        [_laid_out(memory, id) for id in made],
        [(entry.id, entry.action, entry.reason, entry.undone) for entry in journal],
    ]


def _laid_out(memory: Memory, id: str) -> object:
    try:
        view = memory.concepts.get(id)
    except NotFound:
        return id
    return (
        view.concept,
        [(ground.event_id, ground.kind, ground.weight) for ground in view.grounds],
        sorted((edge.source, edge.target, edge.kind, edge.weight, edge.events) for edge in view.edges),
    )


def bags(seed: int, size: int) -> list[dict[str, Any]]:
    """Make a history of things that happen by chance."""
    rng = random.Random(seed)
    return [
        {
            "text": " and ".join(f"the {rng.choice(THINGS)} {rng.choice(SAID)}" for _ in range(2)),
            "speaker": "Ana",
            "at": START + timedelta(hours=5 * number),
        }
        for number in range(size)
    ]


def test_such_histories_make_concepts_of_which_some_are_merged(profile: str) -> None:
    """The other tests here would hold for an empty graph."""
    with written(bags(1, 40), profile, batch=100) as memory:
        done = {entry.action for entry in memory.concepts.journal(limit=5_000)}
        assert memory.concepts.list()
        assert done >= {"add_node", "add_edge"}
        assert profile == "general" or "merge_nodes" in done


@quick
@given(history=events)
def test_one_by_one_in_batches_later_and_anew_are_the_same(profile: str, history: list[dict[str, Any]]) -> None:
    with written(history, profile, batch=1) as one, written(history, profile, batch=100) as many:
        with written(history, profile, batch=7, fold=False) as later:
            later.admin.settle()
            expected = graph(one)
            assert graph(many) == expected
            assert graph(later) == expected
        many.admin.rebuild()
        assert graph(many) == expected
        assert many.admin.verify(deep=True).ok


@quick
@given(history=events, stops=st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_a_pass_may_stop_and_another_process_go_on_anywhere(
    profile: str, history: list[dict[str, Any]], stops: list[int]
) -> None:
    with written(history, profile, batch=100) as whole, written(history, profile, batch=100, fold=False) as halting:
        engine = halting.scope.engine
        for limit in stops * len(history):
            vars(engine.cache(GraphCache)).update(vars(GraphCache()))  # as a new process: nothing is remembered
            if not derive_batch(engine, engine.store, "default", ("concepts",), limit)[0]:
                break
        halting.concepts.fold()
        assert graph(halting) == graph(whole)


@quick
@given(history=events, gone=st.sets(st.integers(0, 39), min_size=1, max_size=6), undo=st.integers(0, 50))
def test_what_is_forgotten_was_never_there(
    profile: str, history: list[dict[str, Any]], gone: set[int], undo: int
) -> None:
    with written(history, profile, batch=100) as memory:
        entries = [entry for entry in memory.concepts.journal(limit=5_000) if entry.action != "undo"]
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
        left = [{**event, "key": str(number)} for number, event in enumerate(history) if number not in gone]
        with opened(profile) as never:
            never.add_many(left)
            assert len(left) == never.stats().events
            assert graph(memory) == graph(never)
        assert memory.admin.verify(deep=True).ok


@pytest.mark.parametrize(("seed", "size", "gone"), [(3, 20, 14), (0, 35, 21), (1, 40, 5), (2, 54, 23)])
def test_events_that_changed_their_places_are_put_back_when_one_is_forgotten(
    profile: str, seed: int, size: int, gone: int
) -> None:
    history = bags(seed, size)
    with written(history, profile, batch=1) as memory:
        memory.forget(keys=[str(gone)])
        memory.concepts.fold()
        before = graph(memory)
        assert memory.concepts.list()
        for concept in memory.concepts.list():
            belonging = [ground.event_id for ground in memory.concepts.get(concept.id).grounds]
            assert len(set(belonging)) == len(belonging)  # by one edge each
        memory.admin.rebuild()
        assert graph(memory) == before
