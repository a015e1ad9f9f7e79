"""What reading events for what they state adds to a write, and its arms to a question, as a memory grows."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.material import QUESTIONS, lines
from benchmarks.measure import table
from everyword import Memory
from everyword.ingest import write
from everyword.knowledge import graph
from everyword.knowledge import statements as derive
from everyword.retrieval.arms import by_links, by_statements
from everyword.retrieval.config import HYBRID
from everyword.text.terms import question_terms

MARKS = (1_000, 10_000, 30_000, 100_000)  # events of the memory at which the cost of the next ones is taken
WRITTEN = 1_000  # events in one transaction
SINGLY = 300  # events written one by one at each mark
ROUNDS = 5  # of the questions
_COLUMNS = ("read", "compared", "both", "graph", "statements", "links")


def extracting(folder: Path, events: int = MARKS[-1]) -> list[dict[str, float]]:
    """Write events in the order of arrival; give ms of processor time an event, and a question, at each mark."""
    source, done = lines(13), 0
    rows: list[dict[str, float]] = []
    with Memory.open(folder / "extracting.db", embedder="none", fold=False, durability="normal") as memory:
        for mark in (mark for mark in MARKS if mark <= events):
            while done < mark:
                done += len(memory.add_many(islice(source, min(WRITTEN, mark - done))))
            rows.append({"events": done, **_written(memory, list(islice(source, SINGLY))), **_asked(memory)})
            done += SINGLY
    table(
        "What events state: ms of processor time, median (events of 40 words; goal 2 an event)",
        ["events", "read by rules", "compared, linked", "together", "graph", "arm by statements", "arm by links"],
        [[f"{row['events']:,}", *(f"{row[name]:.2f}" for name in _COLUMNS)] for row in rows],
    )
    return rows


def _written(memory: Memory, events: list[dict[str, object]]) -> dict[str, float]:
    """Write one by one, and tell what reading, deriving and the graph took of it."""
    read, derived, graphed = _Timed(derive.read), _Timed(derive.derive), _Timed(graph.add_events)
    write.read, write.derive, derive.add_events = read, derived, graphed  # type: ignore[assignment]
    try:
        for event in events:
            memory.add_many([event])
    finally:
        write.read, write.derive, derive.add_events = derive.read, derived.does, graphed.does
    compared = [one - two for one, two in zip(derived.took, graphed.took, strict=True)]
    both = [one + two for one, two in zip(read.took, compared, strict=True)]
    taken = {"read": read.took, "compared": compared, "both": both, "graph": graphed.took}
    return {name: statistics.median(each) for name, each in taken.items()}


def _asked(memory: Memory) -> dict[str, float]:
    """Ask as recall does of what words find, and tell what both arms take of it."""
    assert HYBRID.statements is not None
    assert HYBRID.links is not None
    took: dict[str, list[float]] = {"statements": [], "links": []}
    with memory.scope.engine.store.reader("default") as reader:
        for text in QUESTIONS * ROUNDS:
            terms = dict.fromkeys(question_terms(text), 1.0)
            found = reader.by_words(terms, HYBRID.statements.reach, None)
            ranked = list(zip(found.seqs.tolist(), found.scores.tolist(), strict=True))
            begun = time.process_time()
            by_statements(reader, terms, [seq for seq, _ in ranked], HYBRID.statements)
            between = time.process_time()
            by_links(reader, ranked[:100], HYBRID.links)
            took["statements"].append(1e3 * (between - begun))
            took["links"].append(1e3 * (time.process_time() - between))
    return {name: statistics.median(each) for name, each in took.items()}


class _Timed:
    """Does what another does, and keeps how long that took, in ms of processor time."""

    def __init__(self, does: Callable[..., Any]) -> None:
        self.does = does
        self.took: list[float] = []

    def __call__(self, *given: Any, **named: Any) -> Any:
        begun = time.process_time()
        try:
            return self.does(*given, **named)
        finally:
            self.took.append(1e3 * (time.process_time() - begun))
