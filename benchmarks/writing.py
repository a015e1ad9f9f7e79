"""How fast events are written: beside the embedder alone, and without one."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path

from benchmarks.material import lines
from benchmarks.measure import table
from recollect import Memory
from recollect.core.clock import as_datetime
from recollect.core.lines import prefix
from recollect.core.values import Event
from recollect.inference.late import ColbertSmall

BATCH = 256


def writing(folder: Path, *, embedded: int = 768, plain: int = 50_000) -> dict[str, float]:
    """Measure add_many with the bundled model, with hashing, and without any; print and give events a second."""
    events = list(islice(lines(7), plain))
    alone = _embedder_alone(events[:embedded])
    with_model = _written(folder / "model.db", events[:embedded], None)
    single = _singly(folder / "single.db", events[embedded : embedded + 64])
    hashing = _written(folder / "hashing.db", events[: plain // 2], "hashing")
    without = _written(folder / "none.db", events, "none", batch=1000, extract=False, fold=False)
    stating = _written(folder / "stating.db", events, "none", batch=1000)
    table(
        "Writing, events a second (events of 40 words, batches, each committed to disk)",
        ["", "events/s", "goal"],
        [
            ["the embedder alone", f"{alone:.0f}", ""],
            ["add_many with embedding", f"{with_model:.0f} ({with_model / alone:.0%})", "90% of it"],
            ["add, one by one, with embedding", f"{single:.0f}", ""],
            ["add_many, hashing", f"{hashing:.0f}", ""],
            ["add_many without embedding, artifacts and concepts to follow", f"{without:.0f}", "8,000"],
            ["add_many without embedding", f"{stating:.0f}", ""],
        ],
    )
    rates = {"embedder": alone, "add_many": with_model, "add": single, "hashing": hashing}
    return {**rates, "without": without, "stating": stating}


def _embedder_alone(events: list[dict[str, object]]) -> float:
    model = ColbertSmall()
    texts = [
        prefix(Event(text="", speaker=str(one["speaker"]), at=as_datetime(one["at"]))) + str(one["text"])  # type: ignore[arg-type]
        for one in events
    ]
    model.passages(texts[:64])
    begun = time.perf_counter()
    for start in range(0, len(texts), BATCH):
        model.passages(texts[start : start + BATCH])
    return len(texts) / (time.perf_counter() - begun)


def _written(
    path: Path, events: list[dict[str, object]], embedder: str | None, batch: int = BATCH, **settings: bool
) -> float:
    with Memory.open(path, embedder=embedder, **settings) as memory:
        memory.space("warm").add_many(events[:64])
        begun = time.perf_counter()
        for start in range(0, len(events), batch):
            memory.add_many(events[start : start + batch])
        return len(events) / (time.perf_counter() - begun)


def _singly(path: Path, events: list[dict[str, object]]) -> float:
    with Memory.open(path) as memory:
        memory.space("warm").add("hello")
        begun = time.perf_counter()
        for event in events:
            memory.add_many([event])
        return len(events) / (time.perf_counter() - begun)
