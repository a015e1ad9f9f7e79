"""Of two statements the newer comes first where today is asked for: measured on our own pairs, half of them traps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from everyword import Memory
from everyword.types.events import Hits

_PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data" / "updates.jsonl").read_text(encoding="utf-8").splitlines()
]
_TODAY = [pair for pair in _PAIRS if pair["asks"] == "today"]
_TRAPS = [pair for pair in _PAIRS if pair["asks"] == "other"]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", redact="none") as memory:
        yield memory


@pytest.mark.slow
def test_asked_for_today_the_newer_of_two_statements_mostly_comes_first(memory: Memory) -> None:
    right = [pair["new"] == _asked(memory, pair, pair["old"], pair["new"])[0].event.text for pair in _TODAY]
    assert len(right) == 40
    assert sum(right) >= 32  # without the stage it is 18


@pytest.mark.slow
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


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("When is the exam?", "The exam is on June 18 in Leeds.", "They moved the exam to June 25."),
        ("When does the fair open?", "The fair opens on July 4.", "The fair was postponed, it opens on July 11."),
        ("What is the door code?", "The door code is 2209.", "The door code changed to 4771."),
        ("What is the wifi password?", "The wifi password is blueberry.", "The new wifi password is snowball."),
        ("What is the rate limit?", "The rate limit is 100 a second.", "Correction: the rate limit is 250, not 100."),
    ],
)
def test_a_change_that_somebody_else_tells_counts(memory: Memory, question: str, old: str, new: str) -> None:
    pair = {"question": question, "asks": "somebody else", "newer_speaker": "Bo"}
    assert _asked(memory, pair, old, new)[0].event.text == new


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        (
            "How long have I used my Fitbit?",
            "I have used my Fitbit for 6 months now - do you have any tips for lazy days?",
            "I just saw that I have used my Fitbit for 9 months.",
        ),
        (
            "Where does Rachel from my previous company work now?",
            "I met Rachel from my previous company at the fair.",
            "I will see Rachel from my previous company soon, who is now at TechCorp.",
        ),
    ],
)
def test_what_states_an_answer_goes_above_an_older_line_that_asks_or_lacks_it(
    memory: Memory, question: str, old: str, new: str
) -> None:
    assert _asked(memory, {"question": question, "asks": "older lacks it"}, old, new)[0].event.text == new


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("When did we sit the exam?", "We sat the exam on March 18 in Leeds.", "They moved the next exam to June 25."),
        ("What is the door code?", "The door code is 2209.", "I painted the door blue, now it is nice."),
        ("What is the door code?", "The door code is 2209.", "Is 4771 the new door code?"),
        ("What is the door code?", "The door code is 2209.", "The door code is easy to forget."),
    ],
)
def test_what_somebody_else_says_without_a_change_does_not(memory: Memory, question: str, old: str, new: str) -> None:
    pair = {"question": question, "asks": f"no change: {new}", "newer_speaker": "Bo"}
    assert not any(score.stage == "newest" for hit in _asked(memory, pair, old, new) for score in hit.scores)


def test_a_correction_counts_within_a_session(memory: Memory) -> None:
    space = memory.space("correction")
    for minute, text in enumerate(("The rate limit is 100.", "Correction, the rate limit is 250.")):
        space.add(text, speaker="Ana", session="a", at=f"2026-01-05T10:0{minute}Z")
    assert space.recall("What is the rate limit?", now="2026-06-01")[0].event.text.startswith("Correction")


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
