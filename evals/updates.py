"""What a memory says after something changed: hand-written stories, each told to a memory of its own.

A story has dated lines and questions, each with the values that are right and those that are wrong: what held before,
or what holds for somebody else. `updates.jsonl` has short stories with one question each, `changes.jsonl` longer ones
in everyday talk: changes in other words, reported by others, planned, taken back, or with the old value still
mentioned. Every other story is held back: develop with the first half, report the second.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from everyword import Memory
from everyword.types.times import as_datetime

STORIES = Path(__file__).parent / "data" / "updates.jsonl"
BUDGET = 300  # tokens of the contexts
_HEADING = "What holds now"
_LATER = timedelta(days=21)  # after the last line, where a question says no time
_ASKED_FOR = ("now", "past", "unchanged", "another", "never")
MEASURES = {
    "ask": ("right", "wrong", "neither", "refused"),
    "first hit": ("right", "wrong", "neither", "refused"),
    "head of the context": ("right", "wrong", "neither", "none"),
}


class Asked(NamedTuple):
    """What is asked weeks later."""

    asks: str  # for what holds now or did in the past, what is unchanged, what another person told, or what nobody told
    question: str
    right: Sequence[str]
    wrong: Sequence[str]
    now: datetime


class Story(NamedTuple):
    """What was said, and what is asked."""

    lines: Sequence[dict[str, str]]
    questions: Sequence[Asked]


def read_stories(path: Path = STORIES, *, held_back: bool = False) -> list[Story]:
    """Read one half of the stories."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [_story(**row) for row in rows[held_back::2]]


def _story(lines: Sequence[dict[str, str]], questions: Sequence[dict[str, Any]], style: str = "") -> Story:
    later = max(as_datetime(line["at"], "at") for line in lines) + _LATER
    asked = [
        Asked(one["asks"], one["question"], one["right"], one["wrong"], as_datetime(one.get("now", later), "now"))
        for one in questions
    ]
    return Story(lines, asked)


def measure(
    stories: Sequence[Story], *, opened: Callable[[], Memory], show: Callable[[str], object] | None = None
) -> Counter[tuple[str, str, str]]:
    """Tell and ask every story; count what is asked for, by whom it is answered, and how."""
    found: Counter[tuple[str, str, str]] = Counter()
    for story in stories:
        with opened() as memory:
            memory.add_many([{"session": line["at"], **line} for line in story.lines])
            memory.admin.settle()
            for asked in story.questions:
                outcomes = _answered(memory, asked)
                found.update((asked.asks, measure, outcome) for measure, (outcome, _) in outcomes.items())
                for name, (outcome, said) in outcomes.items():
                    if show is not None:
                        show(f"{asked.asks} · {name}: {outcome} · {asked.question} -> {said!r}")
    return found


def _answered(memory: Memory, asked: Asked) -> dict[str, tuple[str, str]]:
    answer = memory.ask(asked.question, now=asked.now)
    hits = memory.recall(asked.question, k=1, now=asked.now)
    text = memory.context(asked.question, BUDGET, now=asked.now).text
    head = text.partition(_HEADING)[2].partition("\n\n")[0].partition("</recorded")[0]
    lines = [line for line in head.splitlines() if line.strip()]
    # A date worked out stands before the quote.
    said = [answer.text.splitlines()[0]] if answer.answered else []
    return {
        "ask": (_outcome(said, asked, "refused"), answer.text),
        "first hit": (_outcome([hit.text for hit in hits], asked, "refused"), hits[0].text if hits else ""),
        "head of the context": (_outcome(lines, asked, "none"), " ".join(lines)),
    }


def _outcome(lines: Sequence[str], asked: Asked, nothing: str) -> str:
    """Say what some lines tell: a line with both values tells of the change, and a stale line spoils a right one."""
    if not lines:
        return nothing
    right = [_has(line, asked.right) for line in lines]
    stale = [_has(line, asked.wrong) for line in lines]
    if any(old and not new for new, old in zip(right, stale, strict=True)):
        return "wrong"
    return "right" if any(right) else "neither"


def _has(line: str, values: Iterable[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", line, re.IGNORECASE) for value in values)


def as_table(found: Counter[tuple[str, str, str]]) -> str:
    """Write the counts as a markdown table."""
    lines = ["| asked for | from | outcomes |", "|---|---|---|"]
    for asks in _ASKED_FOR:
        for name, outcomes in MEASURES.items():
            told = {one: found[asks, name, one] for one in outcomes}
            if any(told.values()):
                counts = ", ".join(f"{one} {count}" for one, count in told.items() if count)
                lines.append(f"| {asks} ({sum(told.values())}) | {name} | {counts} |")
    return "\n".join(lines)
