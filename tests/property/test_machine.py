"""Random operations on a memory, against a plain Python model of what it must hold."""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from effort import effort
from everyword import Event, Memory
from everyword.errors import KeyConflict, NotFound
from everyword.jobs import upkeep
from everyword.storage import nearest as pooled
from everyword.storage.sql import writer

START = datetime(2026, 1, 1, tzinfo=UTC)
SPACES = ("default", "other")
WINGS = (None, "w1")
SPEAKERS = (None, "Ana", "Bo")
SESSIONS = (None, "s1", "s2")
FILLER = ("river", "stone", "garden", "letter", "music", "Lisbon", "2026", "v2.3", "naïve", "河流")
SEAL_AT = 8  # so that a few dozen events have sealed parts and tails

space_of = st.sampled_from(SPACES)
fields_of = st.fixed_dictionaries(
    {
        "speaker": st.sampled_from(SPEAKERS),
        "session": st.sampled_from(SESSIONS),
        "wing": st.sampled_from(WINGS),
        "at": st.integers(0, 20).map(lambda days: START + timedelta(days=days)),
        "words": st.lists(st.sampled_from(FILLER), max_size=6),
    }
)


class MemoryMachine(RuleBasedStateMachine):
    """A memory in a file, and what it must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="everyword-property-"))
        self.now = START
        self.known: dict[str, dict[str, Event]] = {space: {} for space in SPACES}
        self.gone: dict[str, set[str]] = {space: set() for space in SPACES}
        self.count = 0
        self.patches = [
            patch.object(writer, "SEAL_AT", SEAL_AT),
            patch.object(upkeep, "SEAL_AT", SEAL_AT),
            patch.object(pooled, "EXACT_UP_TO", 24),
        ]
        for one in self.patches:
            one.start()

    @initialize()
    def open(self) -> None:
        self.memory = Memory.open(
            self.folder / "memory.db", embedder="hashing", clock=self._clock, durability="normal", tokenizer="words"
        )

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            report = self.memory.admin.verify()
            assert report.ok, report.problems
            self.memory.close()
        for one in self.patches:
            one.stop()
        shutil.rmtree(self.folder)

    def _clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def _handle(self, space: str) -> Memory:
        return self.memory if space == "default" else self.memory.space(space)

    def _draft(self, fields: dict, key: bool = False) -> dict:
        self.count += 1
        word = f"word{self.count}z"
        text = " ".join([*fields["words"][:3], word, *fields["words"][3:]])
        draft = {"text": text, **{name: fields[name] for name in ("speaker", "session", "wing", "at")}}
        return {**draft, "key": f"key{self.count}"} if key else draft

    def _keep(self, space: str, event: Event) -> None:
        assert event.id not in self.known[space]
        self.known[space][event.id] = event
        self.gone[space].discard(event.id)

    # Writing

    @rule(space=space_of, fields=fields_of, key=st.booleans())
    def add(self, space: str, fields: dict, key: bool) -> None:
        written = self._handle(space).add(**self._draft(fields, key))
        assert written.new
        self._keep(space, written.event)

    @rule(space=space_of, batch=st.lists(fields_of, min_size=1, max_size=12))
    def add_many(self, space: str, batch: list[dict]) -> None:
        written = self._handle(space).add_many([self._draft(fields, n % 2 == 0) for n, fields in enumerate(batch)])
        assert written.added == len(batch)
        for one in written:
            self._keep(space, one.event)

    @rule(space=space_of, pick=st.randoms(use_true_random=False))
    def add_again(self, space: str, pick) -> None:
        events = list(self.known[space].values())
        if not events:
            return
        chosen = pick.sample(events, min(3, len(events)))
        written = self._handle(space).add_many(chosen)
        assert written.added == 0
        assert [one.event for one in written] == chosen

    @rule(space=space_of, fields=fields_of, pick=st.randoms(use_true_random=False))
    def conflict(self, space: str, fields: dict, pick) -> None:
        keyed = [event for event in self.known[space].values() if event.key]
        if not keyed:
            return
        new, taken = self._draft(fields), {**self._draft(fields), "key": pick.choice(keyed).key}
        with pytest.raises(KeyConflict):
            self._handle(space).add_many([new, taken])

    # Forgetting

    @rule(space=space_of, pick=st.randoms(use_true_random=False), how_many=st.integers(1, 4))
    def forget_some(self, space: str, pick, how_many: int) -> None:
        ids = list(self.known[space])
        chosen = pick.sample(ids, min(how_many, len(ids)))
        self._forgotten(space, set(chosen), self._handle(space).forget(ids=chosen).ids)

    @rule(space=space_of, session=st.sampled_from(SESSIONS[1:]))
    def forget_session(self, space: str, session: str) -> None:
        expected = {id for id, event in self.known[space].items() if event.session == session}
        self._forgotten(space, expected, self._handle(space).forget(session=session).ids)

    @rule(space=space_of, speaker=st.sampled_from(SPEAKERS[1:]), wing=st.sampled_from(WINGS))
    def forget_speaker(self, space: str, speaker: str, wing: str | None) -> None:
        expected = {
            id
            for id, event in self.known[space].items()
            if event.speaker == speaker and (wing is None or event.wing == wing)
        }
        handle = self._handle(space)
        receipt = (handle if wing is None else handle.wing(wing)).forget(speaker=speaker)
        self._forgotten(space, expected, receipt.ids)

    @rule(space=space_of, days=st.integers(0, 6))
    def forget_before(self, space: str, days: int) -> None:
        before = START + timedelta(days=days)
        expected = {id for id, event in self.known[space].items() if event.at < before}
        self._forgotten(space, expected, self._handle(space).forget(before=before).ids)

    def _forgotten(self, space: str, expected: set[str], ids: tuple[str, ...]) -> None:
        assert set(ids) == expected
        for id in expected:
            del self.known[space][id]
        self.gone[space] |= expected

    # Upkeep

    @rule(vectors=st.booleans())
    def rebuild(self, vectors: bool) -> None:
        self.memory.admin.rebuild(vectors=vectors)

    @rule()
    def settle(self) -> None:
        self.memory.admin.settle()

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.open()

    @rule(space=space_of, fields=fields_of)
    def another_process_writes(self, space: str, fields: dict) -> None:
        with Memory.open(self.folder / "memory.db", embedder="hashing", clock=self._clock, space=space) as other:
            self._keep(space, other.add(**self._draft(fields)).event)

    @rule()
    def verify(self) -> None:
        report = self.memory.admin.verify()
        assert report.ok, report.problems

    # What must hold after each step

    @invariant()
    def the_log_is_what_was_said_and_not_forgotten(self) -> None:
        if not hasattr(self, "memory"):
            return
        for space in SPACES:
            events = list(self._handle(space).events())
            assert {event.id: event for event in events} == self.known[space]
            assert events == sorted(events, key=lambda event: event.at)
            for wing in WINGS[1:]:
                mine = {event.id for event in self._handle(space).wing(wing).events()}
                assert mine == {id for id, event in self.known[space].items() if event.wing == wing}

    @invariant()
    def every_event_is_found_and_no_forgotten_one(self) -> None:
        if not hasattr(self, "memory"):
            return
        for space in SPACES:
            handle = self._handle(space)
            for event in list(self.known[space].values())[-4:] + list(self.known[space].values())[:3]:
                word = next(word for word in event.text.split() if word.startswith("word") and word.endswith("z"))
                hits = handle.recall(word, k=5)
                assert event.id in {hit.event.id for hit in hits}, word
                assert {hit.event.id for hit in hits} <= self.known[space].keys()
                assert handle.get(event.id) == event
            found = {hit.event.id for hit in handle.recall("river stone garden Ana", k=200)}
            assert found <= self.known[space].keys()
            for id in list(self.gone[space])[:2]:
                with pytest.raises(NotFound):
                    handle.get(id)

    @invariant()
    def counters_agree(self) -> None:
        if not hasattr(self, "memory"):
            return
        for space in SPACES:
            stats = self._handle(space).stats()
            assert stats.events == len(self.known[space])
            assert stats.vectors == len(self.known[space])
            assert stats.pending == 0
        assert self.memory.admin.verify(deep=False).ok


TestMemoryMachine = MemoryMachine.TestCase
TestMemoryMachine.settings = settings(
    max_examples=effort(5, 30), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
