"""What folding adds to an event, as a memory grows."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path

from benchmarks.material import SampledEmbedder, lines
from benchmarks.measure import table
from everyword import Memory

WRITTEN = 2_000  # events in one transaction, with folding left for later
MARKS = (1_000, 3_000, 10_000, 30_000, 100_000)  # events of the memory at which the cost of the next ones is taken


def folding(folder: Path, events: int = MARKS[-1]) -> list[dict[str, float]]:
    """Fold events in the order of arrival; give ms of processor time an event at each mark, and what came of them."""
    source = lines(11)
    rows: list[dict[str, float]] = []
    done, wall, spent, since = 0, 0.0, 0.0, 0
    with Memory.open(
        folder / "folding.db", SampledEmbedder(), fold=False, extract=False, durability="normal"
    ) as memory:
        while done < events:
            memory.add_many(islice(source, min(WRITTEN, events - done) if done >= MARKS[0] else MARKS[0]))
            begun, worked = time.perf_counter(), time.process_time()
            done += memory.concepts.fold().events
            wall += time.perf_counter() - begun
            spent += time.process_time() - worked
            if any(since < mark <= done for mark in MARKS):
                count = done - since
                rows.append(
                    {
                        "events": done,
                        "cpu_ms": 1e3 * spent / count,
                        "wall_ms": 1e3 * wall / count,
                        "concepts": memory.stats().concepts,
                    }
                )
            wall, spent, since = 0.0, 0.0, done
    table(
        "Folding: what it adds to an event (of 40 words), as the memory grows",
        ["events", "ms of processor time", "ms of wall time", "concepts", "goal, ms"],
        [
            [f"{row['events']:,}", f"{row['cpu_ms']:.2f}", f"{row['wall_ms']:.2f}", f"{row['concepts']:,.0f}", "5"]
            for row in rows
        ],
    )
    return rows
