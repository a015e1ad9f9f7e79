"""How fast events are written by kind of text, and how fast views follow."""

from __future__ import annotations

import statistics
import time
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.material import KINDS
from benchmarks.measure import table
from everyword import Memory
from everyword.models.embedders import EverywordSmall
from everyword.text.rendering import encoder_prefix
from everyword.types.events import Event
from everyword.types.times import as_datetime

BATCH = 256
WARM = 32  # events of another space, before anything is timed

Events = list[dict[str, Any]]


def writing(folder: Path, *, short: int = 1_024, long: int = 96, words: int = 20_000) -> dict[str, float]:
    """Measure writes; print and give events a second, and milliseconds of one `add`."""
    chat = list(islice(KINDS["chat"](7), words))
    answers = list(islice(KINDS["assistant"](7), long))
    found: dict[str, float] = {"encoder, chat lines": _encoder_alone(chat[:short])}
    found["chat lines"] = _written(folder / "chat.db", chat[:short])
    found["assistant turns"] = _written(folder / "long.db", answers)
    found["before encoding"] = _written(folder / "words.db", chat, wait=False)
    found["add p50 ms"], found["add p99 ms"] = _single(folder / "single.db", chat[:200])
    found["views"] = _derived(folder / "views.db", chat[:short])
    table(
        "Writing, each batch or event committed to disk",
        ["", "measured", "goal"],
        [
            ["the encoder alone, chat lines/s", f"{found['encoder, chat lines']:.0f}", ""],
            ["add_many, chat lines of 12 words/s", f"{found['chat lines']:.0f}", "150"],
            ["add_many, assistant turns of 1,800 characters/s", f"{found['assistant turns']:.1f}", "12"],
            ["add_many(wait=False), chat lines/s", f"{found['before encoding']:.0f}", "2,000"],
            ["one add, p50 / p99 ms", f"{found['add p50 ms']:.1f} / {found['add p99 ms']:.1f}", "12"],
            ["views that follow, events/s", f"{found['views']:.0f}", ""],
        ],
    )
    return found


def _encoder_alone(events: Events) -> float:
    model = EverywordSmall()
    texts = [
        encoder_prefix(Event(text="", speaker=str(one["speaker"]), at=as_datetime(one["at"]))) + str(one["text"])
        for one in events
    ]
    model.passages(texts[:64])
    begun = time.perf_counter()
    for start in range(0, len(texts), BATCH):
        model.passages(texts[start : start + BATCH])
    return len(texts) / (time.perf_counter() - begun)


def _written(path: Path, events: Events, *, wait: bool = True) -> float:
    """Write in batches; give events a second."""
    with Memory.open(path, background=False) as memory:
        memory.space("warm").add_many(events[:WARM])
        begun = time.perf_counter()
        for start in range(0, len(events), BATCH):
            memory.add_many(events[start : start + BATCH], wait=wait)
        return len(events) / (time.perf_counter() - begun)


def _single(path: Path, events: Events) -> tuple[float, float]:
    with Memory.open(path) as memory:
        memory.add("hello")
        took: list[float] = []
        for event in events:
            begun = time.perf_counter()
            memory.add_many([event])
            took.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(took), statistics.quantiles(took, n=100)[98]


def _derived(path: Path, events: Events) -> float:
    with Memory.open(path, "hashing", background=False) as memory:
        memory.space("warm").add_many(events[:WARM])
        memory.admin.settle()
        memory.add_many(events)
        begun = time.perf_counter()
        memory.admin.settle()
        return len(events) / (time.perf_counter() - begun)
