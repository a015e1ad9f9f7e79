"""Random histories: whatever the order of writing, forgetting and rebuilding, the same log states the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.property.history import START, ZONES, History

from effort import effort
from everyword import Memory
from everyword.ingest.write import write_draft
from everyword.storage.postings import terms_of
from everyword.storage.rows import Draft
from everyword.types.events import Change, Event, content_of, identity_of
from everyword.types.statements import Statement, Status
from everyword.types.times import to_micros

SPEAKERS = ("Ana", "Bo")
SESSIONS = ("s1", "s1", "s2", None)
WINGS = (None, "w")

# A small grammar: places, tastes, work, duties, choices, relations, happenings, and what states nothing.
_SLOTS = {
    "place": ("Lisbon", "Porto", "Madrid"),
    "taste": ("jazz", "coffee", "chess"),
    "firm": ("Acme", "Globex"),
    "friend": ("Maria", "Tom"),
    "tool": ("PostgreSQL", "MySQL"),
    "colour": ("blue", "green"),
    "sum": ("100", "200"),
}
_TEMPLATES = (
    "I live in {place}.",
    "I moved to {place}.",
    "I moved to {place} two months ago.",
    "I still live in {place}.",
    "I'm thinking of moving to {place}.",
    "I like {taste}.",
    "I don't like {taste}.",
    "I used to like {taste}.",
    "I work at {firm} now.",
    "I no longer work at {firm}.",
    "I was fired.",
    "I was laid off last week.",
    "My wife {friend} cooks.",
    "{friend} and I split up.",
    "We got divorced.",
    "I need to call {friend}.",
    "I called {friend}.",
    "We decided to use {tool} for the backend.",
    "Let's use {tool} instead of MySQL.",
    "We decided against {tool}.",
    "I need to set up {tool} for the backend.",
    "My favourite colour is {colour}.",
    "My sister is called {friend}.",
    "My sister lives in {place}.",
    "I visited {place} last Tuesday.",
    "The budget is {sum} euros.",
    "I live in {place}, and I like {taste}. We decided to use {tool}.",
    "Correction: the budget is {sum} euros, not 100.",
    "Actually, make that {sum}.",
    "I was wrong, it's {place}.",
    "Scratch that.",
    "I need to call {friend} on Friday.",
    "Correction: it's Monday.",
    "The budget is {sum} euros. Scratch that, it's 300.",
    "Hi there!",
    "What do you think?",
)


@st.composite
def _statements(draw: Callable[..., Any]) -> dict[str, Any]:
    words = {name: draw(st.sampled_from(values)) for name, values in _SLOTS.items()}
    zone = draw(st.sampled_from(ZONES))
    session = draw(st.sampled_from(SESSIONS))
    return {
        "text": draw(st.sampled_from(_TEMPLATES)).format(**words),
        "speaker": draw(st.sampled_from(SPEAKERS)),
        "session": session,
        "wing": WINGS[SESSIONS.index(session) % len(WINGS)],  # the same event is in one wing alone
        "at": (START + timedelta(hours=draw(st.integers(0, 400)))).astimezone(zone),
    }


_numbers = st.integers(0, 1_000)
_batches = st.tuples(st.just("add"), st.lists(_statements(), min_size=2, max_size=8))
_steps = st.one_of(
    _batches,
    _batches,
    st.tuples(st.just("again"), _numbers),
    st.tuples(st.just("forget"), st.lists(_numbers, min_size=1, max_size=2)),
    st.tuples(st.just("correct"), _numbers),
    st.tuples(st.just("retract"), _numbers),
    st.tuples(st.just("disown"), _numbers),
    st.tuples(st.just("rebuild"), st.none()),
)
# Something is said before anything is done to it.
_histories = st.builds(
    lambda said, steps: [*said, *steps], st.lists(_batches, max_size=3), st.lists(_steps, max_size=8)
)
_moderately = settings(
    max_examples=effort(8, 40), derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@dataclass(kw_only=True)
class _Told:
    """All that a memory derived."""

    statements: dict[str, Statement]
    journal: dict[str, list[Change]]
    chains: dict[str, list[str]]
    actions: dict[str, int]
    tags: dict[str, int]


def _told(memory: Memory) -> _Told:
    statements = {one.id: one for one in memory.statements(status="any")}
    ids = sorted(statements)
    with memory.scope.engine.store.reader("default") as reader:
        return _Told(
            statements=statements,
            journal={id: reader.changes([id]) for id in ids},
            chains={id: [one.id for one in chain] for id, chain in reader.versions(ids).items()},
            actions=reader.change_counts(),
            tags=reader.tag_counts(),
        )


class _History(History):
    def correct(self, number: int) -> None:
        if current := self.memory.statements():
            self.memory.correct(current[number % len(current)].id, f"It is number {number}.")

    def retract(self, number: int) -> None:
        if current := self.memory.statements():
            self.memory.retract(current[number % len(current)].id)

    def disown(self, number: int) -> None:
        if current := self.memory.statements():
            self.memory.retract(current[number % len(current)].id, reason="never_true")


def _tell(memory: Memory, event: Event) -> None:
    """Write a row of a log into another, an edit too."""
    if event.record is None:
        memory.add_many([event])
        return
    content = content_of(event)
    moment = to_micros(event.at)
    draft = Draft(event=event, raw_id=identity_of(None, content), content=content, moment=moment, terms=terms_of({}))
    write_draft(memory.scope.engine, "default", lambda: draft)


def _check(memory: Memory, told: _Told) -> None:
    """Check what holds of every memory, whatever was done to it."""
    for one in told.statements.values():
        text = memory.get(one.event_id).text
        assert text[one.span.start : one.span.end] == one.quote
        assert (one.status is Status.CURRENT) == (one.valid_to is None)
        assert one.valid_from is None or one.valid_to is None or one.valid_from <= one.valid_to
        if one.replaces is not None:
            before = told.statements[one.replaces]
            disowned = any(change.reason.endswith("never true") for change in told.journal[one.id])
            assert before.status is not Status.CURRENT or disowned
            assert (before.about or "").casefold() == (one.about or "").casefold()
        # The journal says why each came to be.
        assert any(change.statement_id == one.id and change.reason for change in told.journal[one.id])
    report = memory.admin.verify()
    assert report.ok, report.problems


@_moderately
@given(_histories)
def test_a_rebuild_derives_what_was_there(history: list[tuple[str, Any]]) -> None:
    run = _History()
    with run.memory:
        for step in history:
            run.do(step)
        told = _told(run.memory)
        _check(run.memory, told)
        run.memory.admin.rebuild()
        assert _told(run.memory) == told


@_moderately
@given(_histories)
def test_what_is_left_states_what_it_would_have_stated_alone(history: list[tuple[str, Any]]) -> None:
    """The forgotten leave no trace: those that stay, told one by one to an empty memory, come to the same."""
    run = _History()
    with run.memory:
        for step in history:
            run.do(step)
        with run.memory.scope.engine.store.reader("default") as reader:
            left = [event for _, event in reader.log(limit=10_000)]
        alone = _History()
        with alone.memory:
            for event in left:
                alone.now = event.recorded_at
                _tell(alone.memory, event)
            assert _told(alone.memory) == _told(run.memory)


@_moderately
@given(st.lists(_statements(), min_size=1, max_size=25), st.integers(1, 25), st.randoms(use_true_random=False))
def test_past_states_are_read_as_they_were(said: list[dict[str, Any]], size: int, pick: Any) -> None:
    run = _History()
    with run.memory:
        states: list[tuple[datetime, list[Statement]]] = []
        for start in range(0, len(said), size):
            run.do(("add", said[start : start + size]))
            if pick.random() < 0.3:
                run.do(("retract", pick.randrange(1_000)))
            states.append((run.now, run.memory.statements(status="any")))
        for moment, then in states:
            assert run.memory.statements(status="any", as_of=moment) == then
