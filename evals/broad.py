"""Broad questions: no single line answers "What has Ana been dealing with lately?"; a context must cover many matters.

A question has points, the matters that a good answer mentions, each with the lines that tell it. A point is covered
if the context has one of them. The conversations are LoCoMo's; our file has only questions and the keys of lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from evals.cache import open_embedder
from evals.tasks.locomo import locomo
from evals.values import Line
from everyword import Memory

QUESTIONS = Path(__file__).parent / "data" / "broad.jsonl"
BUDGETS = (300, 600, 1200)
_LATER = timedelta(days=1)  # after the last line


class Broad(NamedTuple):
    """A question, and of each point the keys of the lines that tell it."""

    store: str
    question: str
    points: Sequence[frozenset[str]]


def read_questions(path: Path = QUESTIONS) -> list[Broad]:
    """Read the questions."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [
        Broad(row["conversation"], row["question"], [frozenset(point["keys"]) for point in row["points"]])
        for row in rows
    ]


def measure(
    questions: Sequence[Broad], data: Path, *, show: Callable[[str], object] | None = None
) -> dict[int, list[float]]:
    """Tell every conversation to a memory and ask its questions; give the share of points covered, by budget."""
    covered: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    embedder = open_embedder(None)
    for store, lines in locomo(data).stores.items():
        asked = [one for one in questions if one.store == store]
        with Memory.open(":memory:", embedder) as memory:
            now = _told(memory, lines)
            for one in asked:
                for budget in BUDGETS:
                    context = memory.context(one.question, budget, now=now)
                    shown = {citation.key for citation in context.citations}
                    covered[budget].append(sum(bool(keys & shown) for keys in one.points) / len(one.points))
                if show is not None:
                    show(f"{covered[BUDGETS[-1]][-1]:.2f} {store}: {one.question}")
    return covered


def _told(memory: Memory, lines: Sequence[Line]) -> object:
    memory.add_many(_documents(lines))
    memory.admin.settle()
    return max(line.at for line in lines if line.at is not None) + _LATER


def _documents(lines: Sequence[Line]) -> Iterator[dict[str, object]]:
    for one in lines:
        yield {"text": one.text, "speaker": one.speaker, "session": one.session, "at": one.at, "key": one.key}


def as_table(covered: dict[int, list[float]]) -> str:
    """Write the mean coverage as a markdown table."""
    means = (f"{sum(shares) / max(1, len(shares)):.3f}" for shares in covered.values())
    head = " | ".join(f"{budget:,} tokens" for budget in covered)
    count = len(next(iter(covered.values())))
    return f"| {count} questions: points covered | {head} |\n|---|{'---|' * len(covered)}\n| | {' | '.join(means)} |"
