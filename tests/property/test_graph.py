"""Random histories: whatever the order of writing, forgetting and rebuilding, the same log gives the same graph."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.history import START, ZONES, History

from effort import effort
from everyword import Memory
from everyword.storage.rows import FactFilter
from everyword.types.graph import name_key

SPEAKERS = ("Ana", "Ana Silva", "Bo", "Will", None)
SESSIONS = ("s1", "s1", "s2", None)
_SLOTS = {
    "who": (
        "Mike",
        "Michael Chen",
        "Mike Smith",
        "M. Chen",
        "Dr Chen",
        "Mia",
        "Will",
        "Rose",
        "小明",
        "Ana Maria Silva",
    ),
    "place": ("Lisbon", "Porto", "San Francisco"),
    "firm": ("Siemens", "Bosch", "Acme Robotics"),
    "kin": ("sister", "brother", "boss"),
    "word": ("jazz", "chess"),
}
_TEMPLATES = (
    "I live in {place}.",
    "I moved to {place} two months ago.",
    "I used to live in {place}.",
    "I work at {firm}.",
    "I left {firm} in January and joined Bosch.",
    "{who} lives in {place}.",
    "{who} works at {firm}.",
    "Yesterday {who} visited {place}.",
    "My {kin} {who} lives in {place}.",
    "My {kin} is called {who}.",
    "My {kin} works at {firm}.",
    "I am married to {who}.",
    "I like {word}.",
    "we met {who} and mia in {place}, it was fun",
    "我和{who}去了公园。",
    "{who} said that {place} is lovely. She loves {word}.",
    "Poor {who}! Rose and Will came too.",
    "Hi there!",
)


@st.composite
def _events(draw: Callable[..., Any]) -> dict[str, Any]:
    words = {name: draw(st.sampled_from(values)) for name, values in _SLOTS.items()}
    return {
        "text": draw(st.sampled_from(_TEMPLATES)).format(**words),
        "speaker": draw(st.sampled_from(SPEAKERS)),
        "session": draw(st.sampled_from(SESSIONS)),
        "at": (START + timedelta(hours=draw(st.integers(0, 400)))).astimezone(draw(st.sampled_from(ZONES))),
    }


_numbers = st.integers(0, 1_000)
_batches = st.tuples(st.just("add"), st.lists(_events(), min_size=1, max_size=6))
_steps = st.one_of(
    _batches,
    _batches,
    st.tuples(st.just("again"), _numbers),
    st.tuples(st.just("forget"), st.lists(_numbers, min_size=1, max_size=2)),
    st.tuples(st.just("forget"), st.lists(_numbers, min_size=1, max_size=2)),
    st.tuples(st.just("merge"), st.tuples(_numbers, _numbers)),
    st.tuples(st.just("split"), _numbers),
    st.tuples(st.just("undo"), _numbers),
    st.tuples(st.just("rebuild"), st.none()),
)
_histories = st.builds(
    lambda said, steps: [*said, *steps], st.lists(_batches, min_size=1, max_size=3), st.lists(_steps, max_size=8)
)
_moderately = settings(
    max_examples=effort(6, 20), derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def _told(memory: Memory) -> dict[str, Any]:
    """Tell all that a memory derived, without the numbers of its rows."""
    sessions = memory.sessions()
    with memory.scope.engine.store.reader("default") as reader:
        seqs = [seq for seq, _ in reader.log(limit=10_000)]
        places = {seq: place for place, seq in enumerate(seqs)}
        return {
            "names": sorted((row for row in reader.names()), key=lambda row: row.id),
            "mentions": [row._replace(seq=places[row.seq]) for row in reader.mentions(seqs=seqs)],
            "claims": sorted(
                ((places[row.seq], row.draft) for row in reader.claims_of(homes=None)), key=lambda row: str(row)
            ),
            "facts": reader.facts(FactFilter(), limit=10_000),
            "sessions": sessions,
        }


class _History(History):
    def merge(self, numbers: tuple[int, int]) -> None:
        entities = sorted(self.memory.graph.entities(), key=lambda one: one.id)
        one, other = (entities[number % len(entities)] if entities else None for number in numbers)
        if one and other and one.id != other.id:
            self.memory.graph.merge(one.id, other.id)

    def split(self, number: int) -> None:
        several = [
            one
            for one in self.memory.graph.entities()
            if len({name_key(name) for name in (one.name, *one.aliases)}) > 1
        ]
        if several:
            one = sorted(several, key=lambda one: one.id)[number % len(several)]
            self.memory.graph.split(one.id, [min(name for name in one.aliases if name_key(name) != name_key(one.name))])

    def undo(self, number: int) -> None:
        edits = [edit for edit in self.memory.graph.edits() if not edit.undone]
        if edits:
            self.memory.graph.undo(edits[number % len(edits)].number)


@_moderately
@given(_histories)
def test_what_was_made_step_by_step_is_what_a_rebuild_makes(history: list[tuple[str, Any]]) -> None:
    told = _History()
    for step in history:
        told.do(step)
        assert told.memory.admin.verify().problems == ()
    told.memory.admin.settle()
    before = _told(told.memory)
    told.memory.admin.rebuild()
    after = _told(told.memory)
    for part in before:
        assert before[part] == after[part], part
    told.memory.close()


@_moderately
@given(st.lists(_events(), min_size=1, max_size=12), st.lists(_events(), max_size=6))
def test_what_was_forgotten_leaves_no_trace(kept: list[dict[str, Any]], gone: list[dict[str, Any]]) -> None:
    one, other = _History(), _History()
    ids: list[str] = []
    for place, event in enumerate(kept):
        if place < len(gone):
            ids += one.memory.add_many([gone[place] | {"key": f"gone {place}"}]).ids
        one.memory.add_many([event])
        other.memory.add_many([event])
    if ids:
        one.memory.forget(ids=ids)
    one.memory.admin.settle()
    other.memory.admin.settle()
    assert _told(one.memory) == _told(other.memory)
