"""Of two statements the newer comes first where today is asked for: measured on our own pairs, half of them traps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.core.values import Hits

_PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "updates.jsonl").read_text(encoding="utf-8").splitlines()
]
_TODAY = [pair for pair in _PAIRS if pair["asks"] == "today"]
_TRAPS = [pair for pair in _PAIRS if pair["asks"] == "other"]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:") as memory:
        yield memory


def test_asked_for_today_the_newer_of_two_statements_mostly_comes_first(memory: Memory) -> None:
    right = [pair["new"] == _asked(memory, pair, pair["old"], pair["new"])[0].event.text for pair in _TODAY]
    assert len(right) == 40
    assert sum(right) >= 33  # without the stage it is 18


def test_what_is_no_news_rarely_takes_the_place_of_what_is_asked(memory: Memory) -> None:
    moved = [
        any(
            score.stage == "newest"
            for hit in _asked(memory, pair, pair["right"], pair["newer"])
            for score in hit.scores
        )
        for pair in _TRAPS
    ]
    assert len(moved) == 40
    assert sum(moved) <= 4


def _asked(memory: Memory, pair: dict[str, str], first: str, second: str) -> Hits:
    space = memory.space(f"{pair['asks']} {pair['question']}")
    said = {"session": "a", "at": "2026-01-05T10:00Z", "role": "user"}
    space.add_many(
        [
            {**said, "text": first, "speaker": "Ana"},
            {
                **said,
                "text": second,
                "speaker": pair.get("newer_speaker", "Ana"),
                "session": "b",
                "at": "2026-04-05T10:00Z",
            },
        ]
    )
    return space.recall(pair["question"], now="2026-06-01")
