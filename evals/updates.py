"""What a memory says after something changed: hand-written stories, each told to a memory of its own.

A story has dated lines, a question, the value that is right and one that is wrong. It asks for what holds now, for the
past, or for what was never told. Every other story is held back: develop with the first half, report the second.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from everyword import Memory
from everyword.types.times import as_datetime

STORIES = Path(__file__).parent / "data" / "updates.jsonl"
BUDGET = 300  # tokens of the contexts
_HEADING = "What holds now"
_LATER = timedelta(days=21)  # after the last line
MEASURES = {
    "ask": ("right", "wrong", "neither", "refused"),
    "first hit": ("right", "wrong", "neither", "refused"),
    "head of the context": ("right", "wrong", "neither", "none"),
}


class Story(NamedTuple):
    """What was said, and what is asked weeks later."""

    asks: str  # now, past or never
    question: str
    right: str
    wrong: str
    lines: Sequence[dict[str, str]]


def read_stories(path: Path = STORIES, *, held_back: bool = False) -> list[Story]:
    """Read one half of the stories."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Story(**row) for row in rows[held_back::2]]


def measure(
    stories: Sequence[Story], *, opened: Callable[[], Memory], show: Callable[[str], object] | None = None
) -> Counter[tuple[str, str, str]]:
    """Tell and ask every story; count what is asked for, by whom it is answered, and how."""
    found: Counter[tuple[str, str, str]] = Counter()
    for story in stories:
        with opened() as memory:
            for line in story.lines:
                memory.add(line["text"], speaker=line["speaker"], session=line["at"], at=line["at"])
            memory.admin.settle()
            outcomes = _asked(memory, story)
        found.update((story.asks, measure, outcome) for measure, (outcome, _) in outcomes.items())
        for name, (outcome, said) in outcomes.items():
            if show is not None:
                show(f"{story.asks} · {name}: {outcome} · {story.question} -> {said!r}")
    return found


def _asked(memory: Memory, story: Story) -> dict[str, tuple[str, str]]:
    now = max(as_datetime(line["at"], "at") for line in story.lines) + _LATER
    answer = memory.ask(story.question, now=now)
    hits = memory.recall(story.question, k=1, now=now)
    text = memory.context(story.question, BUDGET, now=now).text
    head = text.partition(_HEADING)[2].partition("\n\n")[0].partition("</recorded")[0]
    lines = [line for line in head.splitlines() if line.strip()]
    return {
        "ask": (_outcome(answer.quotes[:1], story, "refused"), answer.text),
        "first hit": (_outcome([hit.text for hit in hits], story, "refused"), hits[0].text if hits else ""),
        "head of the context": (_outcome(lines, story, "none"), " ".join(lines)),
    }


def _outcome(lines: Sequence[str], story: Story, nothing: str) -> str:
    """Say what some lines tell: a line with both values tells of the change, and a stale line spoils a right one."""
    if not lines:
        return nothing
    right = [bool(story.right) and story.right.lower() in line.lower() for line in lines]
    stale = [bool(story.wrong) and story.wrong.lower() in line.lower() for line in lines]
    if any(old and not new for new, old in zip(right, stale, strict=True)):
        return "wrong"
    return "right" if any(right) else "neither"


def as_table(found: Counter[tuple[str, str, str]]) -> str:
    """Write the counts as a markdown table."""
    lines = ["| asked for | from | outcomes |", "|---|---|---|"]
    for asks in ("now", "past", "never"):
        for name, outcomes in MEASURES.items():
            told = {one: found[asks, name, one] for one in outcomes}
            if any(told.values()):
                counts = ", ".join(f"{one} {count}" for one, count in told.items() if count)
                lines.append(f"| {asks} ({sum(told.values())}) | {name} | {counts} |")
    return "\n".join(lines)
