"""What encoding takes: tokens encoded and bytes of vectors for the tokens that are stored, and time, text by text."""

from __future__ import annotations

import json
import lzma
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.material import KINDS
from benchmarks.measure import table, times
from everyword.engine.encoding import embed
from everyword.models.embedders import EverywordSmall
from everyword.models.tokenizers import load_tokenizer
from everyword.text.rendering import encoder_prefix
from everyword.text.spans import windows
from everyword.types.events import Event
from everyword.types.times import as_datetime

TIMED = 96  # events of each kind whose encoding is timed
ROUNDS = 5


class Cost(NamedTuple):
    """What the events of one kind cost."""

    events: int
    stored_tokens: float  # of an event's text
    encoded_per_stored: float  # tokens that the model reads, for each token of the text
    vector_bytes: float  # of an event
    single_ms: float
    per_second: float  # in batches


def encoding(files: Sequence[Path]) -> dict[str, Cost]:
    """Measure made-up chat lines and assistant turns, and the texts of files; print a table."""
    kinds = {
        "chat lines of 40 words": [_event(one) for one in islice(KINDS["lines"](7), 400)],
        "assistant turns of 1,800 characters": [_event(one) for one in islice(KINDS["assistant"](7), 60)],
    }
    for path in files:
        kinds |= _read(path)
    embedder = EverywordSmall()
    embedder.passages(["warm"])
    costs = {name: _cost(embedder, events) for name, events in kinds.items()}
    table(
        "Encoding with the default model",
        ["", "events", "tokens", "encoded / stored", "bytes of vectors", "one by one, ms", "in batches, events/s"],
        [
            [
                name,
                cost.events,
                f"{cost.stored_tokens:.0f}",
                f"{cost.encoded_per_stored:.2f}",
                f"{cost.vector_bytes:.0f}",
                f"{cost.single_ms:.1f}",
                f"{cost.per_second:.0f}",
            ]
            for name, cost in costs.items()
        ],
    )
    return costs


def _cost(embedder: EverywordSmall, events: Sequence[Event]) -> Cost:
    count = load_tokenizer().count
    stored = sum(count(event.text) for event in events)
    lines = dict.fromkeys(encoder_prefix(event) + window.text for event in events for window in windows(event.text))
    encoded = sum(map(count, lines))
    some = events[:: max(1, len(events) // TIMED)][:TIMED]
    begun = time.perf_counter()
    vectors = embed(embedder, some)
    per_second = len(some) / (time.perf_counter() - begun)
    single = times([lambda one=one: embed(embedder, [one]) for one in some[:12]], ROUNDS)
    sizes = [len(one.tokens) + one.pooled.nbytes for event in vectors for one in event]
    return Cost(len(events), stored / len(events), encoded / stored, sum(sizes) / len(some), single.p50, per_second)


def _read(path: Path) -> dict[str, list[Event]]:
    """Read JSON lines of events or of conversations, or the file of a benchmark that evals knows."""
    name = path.name.split(".")[0]
    if path.suffix == ".json":
        return _of_benchmark(path, name)
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {name: [_event(turn) for row in rows for turn in row.get("turns", [row])]}


def _of_benchmark(path: Path, name: str) -> dict[str, list[Event]]:
    from evals.tasks.locomo import locomo
    from evals.tasks.longmemeval import longmemeval

    is_locomo = "conversation" in json.loads(path.read_bytes())[0]
    task = locomo(path) if is_locomo else longmemeval(path, union=True)
    kinds: dict[str, list[Event]] = {}
    for line in (line for store in task.stores.values() for line in store):
        event = Event(text=line.text, speaker=line.speaker, at=as_datetime(line.at or 0))
        kinds.setdefault(f"{name}, {line.role}" if line.role else name, []).append(event)
    return kinds


def _event(given: dict[str, Any]) -> Event:
    return Event(
        text=str(given["text"]), speaker=given.get("speaker"), at=as_datetime(given.get("at") or 1_600_000_000)
    )
