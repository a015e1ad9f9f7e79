"""Goals measured on sentences by somebody who never saw the rules (tests/data/README.md says how they came about)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clocks import Clock
from everyword import Memory
from everyword.knowledge.legacy.fold.goals import MarkKind, marks_of
from everyword.types.events import Event
from everyword.types.intents import Intent

FOLDER = Path(__file__).parent.parent / "data"
SAMPLES = ("goals", "goals_second")
PARTS = ("development", "held out")
START = datetime(2026, 3, 2, 10, tzinfo=UTC)
APART = timedelta(days=3)  # between the two sentences of a pair
LATER = timedelta(days=1)  # after the last, when somebody looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How much of one part of the sample is read."""

    either: float  # pairs of which a sentence is read as a goal
    both: float  # pairs of which both are
    shown: float  # pairs that make an intent
    joined: float  # pairs that make one intent with both sentences
    trap_goals: float  # traps that are read as a goal
    trap_intents: float  # traps that make an intent alone


def measured(sample: str, part: str) -> Shares:
    """Count one part of a sample."""
    told = (FOLDER / f"{sample}.jsonl").read_text(encoding="utf-8").splitlines()
    rows: list[dict[str, Any]] = [row for line in told if (row := json.loads(line))["part"] == part]
    pairs = [(row["first"], row["second"]) for row in rows if row["type"] == "pair"]
    traps = [row["text"] for row in rows if row["type"] == "trap"]
    goals = [[_is_goal(text) for text in pair] for pair in pairs]
    clock = Clock(START)
    with Memory.open(":memory:", embedder="hashing", clock=clock) as memory:
        shown = [_intents(memory, f"pair {place}", clock, *pair) for place, pair in enumerate(pairs)]
        trapped = [_intents(memory, f"trap {place}", clock, text) for place, text in enumerate(traps)]
    return Shares(
        either=sum(map(any, goals)) / len(pairs),
        both=sum(map(all, goals)) / len(pairs),
        shown=sum(map(bool, shown)) / len(pairs),
        joined=sum(any(len(intent.grounds) > 1 for intent in intents) for intents in shown) / len(pairs),
        trap_goals=sum(map(_is_goal, traps)) / len(traps),
        trap_intents=sum(map(bool, trapped)) / len(traps),
    )


def _is_goal(text: str) -> bool:
    return any(mark.kind is MarkKind.GOAL for mark in marks_of(Event(text=text, at=START)))


def _intents(memory: Memory, space: str, clock: Clock, *texts: str) -> list[Intent]:
    own = memory.space(space)
    for place, text in enumerate(texts):
        clock.now = START + place * APART
        own.add(text, speaker="Leo", session=f"day {place}", at=clock.now)
    clock.now += LATER
    return own.intents.list(limit=100)


# What was reached when this was written, less one or two pairs: a change that costs more shows here.
FLOORS = {  # pairs: read, shown, joined
    ("goals", "development"): (0.95, 0.72, 0.65),
    ("goals", "held out"): (0.82, 0.6, 0.52),
    ("goals_second", "development"): (0.94, 0.74, 0.72),
    ("goals_second", "held out"): (0.66, 0.2, 0.19),
}
CEILINGS = {  # traps: read as a goal, shown
    ("goals", "development"): (0.04, 0.0),
    ("goals", "held out"): (0.2, 0.02),
    ("goals_second", "development"): (0.03, 0.0),
    ("goals_second", "held out"): (0.16, 0.02),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_goals_said_in_other_words_become_intents_and_traps_do_not(sample: str, part: str) -> None:
    shares = measured(sample, part)
    reached = (shares.either, shares.shown, shares.joined)
    assert all(share >= floor for share, floor in zip(reached, FLOORS[sample, part], strict=True)), shares
    trapped = (shares.trap_goals, shares.trap_intents)
    assert all(share <= most for share, most in zip(trapped, CEILINGS[sample, part], strict=True)), shares


if __name__ == "__main__":
    for name in SAMPLES:
        for half in PARTS:
            print(name, half, measured(name, half))
