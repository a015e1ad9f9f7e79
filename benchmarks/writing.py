"""How fast events are written: beside the embedder alone, and without one."""

from __future__ import annotations

import statistics
import time
from itertools import islice
from pathlib import Path

from benchmarks.material import lines
from benchmarks.measure import table
from everyword import Memory
from everyword.models.embedders import EverywordSmall
from everyword.text.rendering import encoder_prefix
from everyword.types.events import Event
from everyword.types.times import as_datetime

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
    slow = {known: _one_more(known) for known in _KNOWN}
    table(
        "One more statement about somebody, ms (read by rules, compared, stored; median)",
        ["known about them already", "ms", "goal"],
        [[f"{known:,}", f"{took:.2f}", "2"] for known, took in slow.items()],
    )
    rates = {"embedder": alone, "add_many": with_model, "add": single, "hashing": hashing}
    return {**rates, "without": without, "stating": stating}


def _embedder_alone(events: list[dict[str, object]]) -> float:
    model = EverywordSmall()
    texts = [
        encoder_prefix(Event(text="", speaker=str(one["speaker"]), at=as_datetime(one["at"]))) + str(one["text"])  # type: ignore[arg-type]
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


def _one_more(known: int) -> float:
    """Measure what a statement adds to a write, where much is known about the one it speaks of; in milliseconds."""
    said = [{"text": _statement(number), "speaker": "Ana"} for number in range(known + _MORE)]
    took: dict[bool, list[float]] = {}
    for extract in (False, True):
        with Memory.open(":memory:", embedder="none", extract=extract) as memory:
            memory.add_many(said[:known])
            took[extract] = []
            for event in said[known:]:
                begun = time.perf_counter()
                memory.add_many([event])
                took[extract].append(1e3 * (time.perf_counter() - begun))
    return statistics.median(took[True]) - statistics.median(took[False])


def _statement(number: int) -> str:
    thing = f"{_KINDS[number % len(_KINDS)]} {_THINGS[number // 7 % len(_THINGS)]} {number}"
    return _FORMS[number % len(_FORMS)].format(thing)


_KNOWN = (30, 300, 3_000)  # statements
_MORE = 200
_KINDS = "old new red small big quiet loud French Spanish early late".split()
_THINGS = "lamp kettle chair record novel jacket bicycle poster camera clock guitar tent rug puzzle".split()
_FORMS = (
    "I love the {}.",
    "I need to buy the {}.",
    "I bought the {} last week.",
    "I don't like the {}.",
    "I own the {}.",
)


def _singly(path: Path, events: list[dict[str, object]]) -> float:
    with Memory.open(path) as memory:
        memory.space("warm").add("hello")
        begun = time.perf_counter()
        for event in events:
            memory.add_many([event])
        return len(events) / (time.perf_counter() - begun)
