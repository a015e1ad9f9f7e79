"""The same operations on SQLite and on PostgreSQL come to the same: drawn at random, with a seed that is told."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from clocks import Clock
from effort import effort
from everyword import Memory
from everyword.errors import EverywordError
from everyword.jobs import deriver
from everyword.storage.sql import writer
from everyword.types.events import Hit

START = datetime(2026, 1, 1, tzinfo=UTC)
SPEAKERS = ("Ana", "Bo", None, "名前")
SESSIONS = ("s1", "s2", "S1", None)
PLACES = ("Lisbon", "Porto", "Faro", "Braga", "Évora")
WORDS = "tea bread soup rain garden harbour train music letter friend sister doctor work plan budget code".split()
QUESTIONS = ("Where does Ana live?", "tea soup", "What did Bo say about the garden?", "rain yesterday", "\x00?", "名前")
HOSTILE = (
    "a\x00b I live in Faro.",
    "x\udfff\ud800y",
    "\x1aB64:looks like ours",
    "\x01 \\u0000 \\",
    "'; DROP TABLE x; --",
)
METAS: tuple[Any, ...] = ({}, {"n": 1}, {"n": 1.0}, {"n": "a\x00b"}, {"k\ud800": [1, {"x": None}]}, {"n": True})

DERIVED = (
    "statements",
    "graph.entities",
    "facts",
    "concepts.list",
    "concepts.journal",
    "intents.list",
    "concepts.window",
)


def _text(draw: random.Random) -> str:
    kind = draw.random()
    if kind < 0.08:
        return draw.choice(HOSTILE)
    if kind < 0.5:
        return draw.choice(
            (
                f"I live in {draw.choice(PLACES)}.",
                f"I moved to {draw.choice(PLACES)} last month.",
                f"We decided to use {draw.choice(WORDS)} for the {draw.choice(WORDS)}.",
                f"I have to call the {draw.choice(WORDS)} tomorrow.",
                f"I no longer like {draw.choice(WORDS)}.",
                f"I slept badly because of the {draw.choice(WORDS)}.",
                f"Planted {draw.choice(WORDS)} in the garden of the greenhouse.",
                f"I want to learn about {draw.choice(WORDS)} by Friday.",
            )
        )
    return " ".join(draw.choices(WORDS, k=draw.randint(1, 30)))


def _event(draw: random.Random, number: int) -> dict[str, Any]:
    event = {
        "text": _text(draw),
        "speaker": draw.choice(SPEAKERS),
        "session": draw.choice(SESSIONS),
        "at": START + timedelta(minutes=draw.randint(0, 5000)),
        "wing": draw.choice((None, None, "w")),
        "meta": draw.choice(METAS),
    }
    if draw.random() < 0.2:
        event["key"] = f"k{draw.randint(0, 30)}"
    return event


def _operation(draw: random.Random, number: int) -> tuple[str, dict[str, Any]]:
    """Draw an operation; what it names may be there or not."""
    which: dict[str, Any] = {}
    if draw.random() < 0.4:
        which = draw.choice(
            (
                {"speaker": "Ana"},
                {"session": "s1"},
                {"wing": "w"},
                {"since": START + timedelta(minutes=1000)},
                {"as_of": START + timedelta(hours=number / 2)},
                {"meta": draw.choice(METAS[1:])},
                {"speaker": "Bo", "until": START + timedelta(minutes=3000)},
            )
        )
    kinds = {"add_many": 6, "recall": 4, "events": 2, "sessions": 1, "statements": 2, "forget": 1, "upkeep": 1}
    kind = draw.choices(list(kinds), list(kinds.values()))[0]
    if kind == "add_many":
        return kind, {"events": [_event(draw, number) for _ in range(draw.choice((1, 1, 3, 12)))]}
    if kind == "recall":
        return kind, {"query": draw.choice(QUESTIONS), "k": draw.choice((1, 5, 20)), **which}
    if kind == "events":
        return kind, {**which, "newest_first": draw.random() < 0.5, "limit": draw.choice((None, 7))}
    if kind == "forget":
        return kind, draw.choice(({"session": "s2"}, {"speaker": "Bo"}, {"keys": ["k1", "k2"]}, {"wing": "w"}))
    if kind == "upkeep":
        return draw.choice(("admin.rebuild", "admin.settle", "stats")), {}
    return kind, {}


def _outcome(memory: Memory, operation: str, arguments: dict[str, Any]) -> Any:
    """Do it; give what a caller sees, without what can't be the same: places, sizes, times of writing."""
    try:
        result = attrgetter(operation)(memory)(**arguments)
    except EverywordError as error:
        return type(error).__name__
    if operation == "events":
        return list(result)
    if operation == "stats":
        return replace(result, location="", bytes=0, bytes_by_part={}, model="")
    if operation == "forget":
        return result.ids, dict(result.removed)
    return result


def _same(one: Any, other: Any) -> None:
    if isinstance(one, list) and one and isinstance(one[0], Hit):
        assert [hit.event for hit in one] == [hit.event for hit in other]
        np.testing.assert_allclose([hit.score for hit in one], [hit.score for hit in other], atol=1e-4)
        return
    assert one == other


@pytest.mark.parametrize("seed", range(effort(2, 10)))
def test_the_same_operations_come_to_the_same(location: str, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(writer, "SEAL_AT", 40)  # both sealed parts and tails
    # A slow machine derives less while a question waits: then they would rightly differ.
    monkeypatch.setattr(deriver, "_FEW", 1_000)
    monkeypatch.setattr(deriver, "_FEW_S", 3600.0)
    draw, clock = random.Random(seed), Clock(START)
    settings = {"embedder": "hashing", "clock": clock, "fence_key": "the same for both", "background": False}
    with Memory.open(":memory:", **settings) as one, Memory.open(location, **settings) as other:
        for number in range(40):
            clock.now += timedelta(minutes=30)
            space = draw.choice(("home", "home", "away"))
            operation, arguments = _operation(draw, number)
            outcomes = [_outcome(memory.space(space), operation, arguments) for memory in (one, other)]
            _same(*outcomes)
        for space in ("home", "away"):
            for question in QUESTIONS:
                _same(*(memory.space(space).recall(question, k=50) for memory in (one, other)))
            _same(*(list(memory.space(space).events()) for memory in (one, other)))
            for derived in DERIVED:
                _same(*(attrgetter(derived)(memory.space(space))() for memory in (one, other)))
            assert one.space(space).wake_up().text == other.space(space).wake_up().text
        assert one.admin.verify(deep=True).ok
        assert other.admin.verify(deep=True).ok
