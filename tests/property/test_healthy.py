"""Random histories of a healthy memory: neither a quick nor a deep check finds a problem."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from effort import effort
from everyword import Memory
from everyword.errors import OutOfDate

HISTORIES = effort(2, 20)
SPEAKERS = (None, "Ana", "Bo", "ANA", "x" * 119 + "ß", "İlker", "李雷", "Zoë", "👩‍👩‍👧", "é", "Dr. Who", "Acme Inc Ltd")
SESSIONS = ("s1", "s2", "ß" * 120, "s4")
WORDS = (*"river chess boat Porto bill passport deploy naïve 河流 مرحبا ﷺ ß ﬀ İ 👍🏽 e\u0301 \u200b \ud800".split(),)
SENTENCES = (
    *(
        "I moved to {a}.",
        "My sister {n} lives in {a}.",
        "I need to pay the {a} bill.",
        "Scratch that.",
        "I finished {a}.",
    ),
    *("Actually, I live in {b}, not {a}.", "{n} works at Acme Labs.", "I want to learn {a}.", "{a} {b} {a} {b}"),
    *("Did you call {n} about the {a}?", "We decided to use {a} for the {b}.", "{n} is married to {m}."),
)


class History:
    """A memory, and random things to do with it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.pick, self.folder, self.steps = random.Random(seed), folder, 0
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.memory = self._open()

    def go_on(self) -> None:
        self.steps += 1
        step: Callable[[Memory], Any] = self.pick.choice(
            (
                *(self.add, self.add, self.add_many, self.add_many, self.add_many),
                *(self.forget, self.forget_session, self.correct, self.retract, self.copy, self.merge, self.split),
                *(self.undo, self.undo_change, self.rebuild, self.settle, self.reopen, self.ask),
            )
        )
        with suppress(OutOfDate):  # what was picked can't be split
            step(self.memory if self.pick.random() < 0.8 else self.memory.space("other"))

    def add(self, memory: Memory) -> None:
        memory.add(**self._event())

    def add_many(self, memory: Memory) -> None:
        memory.add_many([self._event() for _ in range(self.pick.randrange(2, 12))])

    def forget(self, memory: Memory) -> None:
        ids = [event.id for event in memory.events()]
        memory.forget(ids=self.pick.sample(ids, min(len(ids), 3)))

    def forget_session(self, memory: Memory) -> None:
        memory.forget(session=self.pick.choice(SESSIONS))

    def correct(self, memory: Memory) -> None:
        if known := memory.statements():
            memory.correct(self.pick.choice(known).id, self._text())

    def retract(self, memory: Memory) -> None:
        if known := memory.statements():
            memory.retract(self.pick.choice(known).id)

    def copy(self, memory: Memory) -> None:
        path = self.folder / f"{self.steps}.jsonl"
        memory.admin.export(path)
        self.memory.space("copy").import_events(path)

    def merge(self, memory: Memory) -> None:
        known = memory.graph.entities()
        if len(known) > 1:
            memory.graph.merge(*(one.id for one in self.pick.sample(known, 2)))

    def split(self, memory: Memory) -> None:
        if known := [one for one in memory.graph.entities() if one.aliases]:
            one = self.pick.choice(known)
            memory.graph.split(one.id, [self.pick.choice(one.aliases)])

    def undo(self, memory: Memory) -> None:
        if known := [edit for edit in memory.graph.edits() if not edit.undone]:
            memory.graph.undo(self.pick.choice(known).number)

    def undo_change(self, memory: Memory) -> None:
        if known := [entry for entry in memory.concepts.journal() if not entry.undone]:
            memory.concepts.undo(self.pick.choice(known).id)

    def rebuild(self, _: Memory) -> None:
        self.memory.admin.rebuild(vectors=self.pick.random() < 0.5)

    def settle(self, _: Memory) -> None:
        self.memory.admin.settle()

    def reopen(self, _: Memory) -> None:
        self.memory.close()
        self.memory = self._open()

    def ask(self, memory: Memory) -> None:
        memory.recall("Where does Ana live?")

    def _open(self) -> Memory:
        path = self.folder / "memory.db"
        return Memory.open(path, embedder="hashing", clock=self._clock, durability="normal", tokenizer="words")

    def _clock(self) -> datetime:
        self.now += timedelta(seconds=self.pick.choice((1, 60, 86_400)))
        return self.now

    def _text(self) -> str:
        parts = {"a": WORDS, "b": WORDS, "n": ("Ana", "Mia", "Tom"), "m": ("Bo", "Lea")}
        return " ".join(
            self.pick.choice(SENTENCES).format(**{name: self.pick.choice(several) for name, several in parts.items()})
            for _ in range(self.pick.choice((1, 1, 2, 3)))
        )

    def _event(self) -> dict[str, Any]:
        given = {
            "speaker": self.pick.choice(SPEAKERS),
            "session": self.pick.choice((None, *SESSIONS)),
            "wing": self.pick.choice((None, None, "w1", "w2")),
            "role": self.pick.choice((None, None, "user", "assistant", "tool")),
            "at": self.pick.choice((None, datetime(2026, self.pick.randrange(1, 12), 5, tzinfo=UTC))),
            "key": self.pick.choice((None, f"k{self.pick.random()}")),
            "meta": self.pick.choice((None, {"x": "ß"})),
        }
        return {"text": self._text(), **{name: value for name, value in given.items() if value is not None}}


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_healthy_memory_has_no_problems(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path, seed)
    for _ in range(4 + seed % 12):
        history.go_on()
    assert history.memory.admin.verify().problems == ()
    assert history.memory.admin.verify(deep=True).problems == ()
    history.memory.close()


def test_a_name_that_folding_makes_longer(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        memory.add("I moved to Lisbon.", speaker="x" * 119 + "ß")
        assert memory.admin.verify().problems == ()


def test_a_concept_goes_with_its_last_event(tmp_path: Path) -> None:
    pick = random.Random(1)
    words = (
        "river stone garden letter music Lisbon Porto Ana Mia chess doctor bill train moved bought likes wants learned "
        "sister garden kitchen boat tomorrow Tuesday"
    ).split()
    texts = [
        f"{' '.join(pick.choice(words) for _ in range(14))} {number}. I moved to {pick.choice(words)}. "
        f"My sister {pick.choice(['Mia', 'Lea'])} wants to learn {pick.choice(words)}."
        for number in range(92)
    ]
    with Memory.open(tmp_path / "memory.db", embedder="hashing", reader="none", durability="normal") as memory:
        memory.add_many([{"text": text, "speaker": "Ana", "session": f"s{n // 20}"} for n, text in enumerate(texts)])
        memory.admin.settle()
        assert memory.admin.verify().problems == ()
