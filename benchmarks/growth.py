"""How writes, recall, views and the file grow with the number of events: each curve with its exponent."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.material import KINDS, QUESTIONS, SampledEmbedder
from benchmarks.measure import console, resident_mb, table, times, times_of
from everyword import Memory
from everyword.jobs.deriver import catch_up
from everyword.storage.nearest import EXACT_UP_TO
from everyword.storage.rows import VIEWS
from everyword.text.terms import question_terms

BATCH = 1000
SINGLE = 256  # events added one by one at each size; also those whose views are then timed
ROUNDS = 4  # of every question
COLD_RUNS = 5
# Tables and indexes by what they belong to, told by how their names begin.
PARTS = {
    "token vectors": ("vectors",),
    "pooled vectors": ("pooled",),
    "words": ("word_", "postings"),
    "text and log": ("events",),
    "concepts": ("fold_",),
    "statements": ("statement", "marks", "event_tags", "reading", "journal"),
    "names and facts": ("names", "mentions", "claims", "fact", "entity"),
    "session summaries": ("session", "written_sessions", "digests"),
}
GOALS = {
    "recall, p50 ms": {10_000: 12, 100_000: 25, 1_000_000: 60},
    "new process, p50 ms": {100_000: 400},
    "bytes an event": {100_000: 3500},
}


def growth(folder: Path, sizes: Sequence[int], *, kind: str = "lines", views: bool = True) -> list[dict[str, Any]]:
    """Grow one memory through the sizes; measure at each, print, and return the numbers.

    views=False leaves out all that is derived, because deriving takes longer than all the rest.
    """
    embedder, source, path = SampledEmbedder(kind), KINDS[kind](1), folder / "grown.db"
    results: list[dict[str, Any]] = []
    written = 0
    for size in sizes:
        begun = time.perf_counter()
        with Memory.open(path, embedder, durability="normal", background=False) as memory:
            while written < size:
                batch = list(islice(source, min(BATCH, size - written)))
                memory.add_many(batch)
                written += len(batch)
            console.print(f"{size:,} events written in {time.perf_counter() - begun:.0f} s", highlight=False)
            if views:
                memory.admin.settle()
        filled_s = time.perf_counter() - begun
        in_file = path.stat().st_size
        with Memory.open(path, embedder, background=False, extract=views, fold=views) as memory:
            curves = _recalled(memory, embedder, path) | {"bytes an event": in_file / written}
            parts = by_part(memory.stats(parts=True).bytes_by_part)
            curves |= _written(memory, list(islice(source, SINGLE)), views=views)
            curves["process, MB"] = resident_mb()
            found: dict[str, Any] = {"events": size, "curves": curves, "parts": parts}
            if size > EXACT_UP_TO:
                found["shortlist"] = _shortlist_recall(memory, embedder)
        results.append({**found, "filled_s": filled_s})
        written += SINGLE
        console.print(f"{size:,} events measured: {curves}", highlight=False)
    _print(results, kind, views=views)
    return results


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Fit values ~ sizes ** exponent: 0 is flat, 1 is in proportion."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def by_part(sizes: Mapping[str, int]) -> dict[str, int]:
    """Add up the bytes of tables and indexes by what they belong to."""
    found = dict.fromkeys((*PARTS, "the rest"), 0)
    for name, size in sizes.items():
        found[next((part for part, starts in PARTS.items() if name.startswith(starts)), "the rest")] += size
    return found


def _written(memory: Memory, events: list[dict[str, Any]], *, views: bool) -> dict[str, float]:
    """Add events one by one, each committed to disk, then bring the views up to date."""
    memory.space("warm").add_many(events[:8])
    taken: list[tuple[float, float]] = []
    for event in events:
        begun, worked = time.perf_counter(), time.process_time()
        memory.add_many([event])
        taken.append((time.perf_counter() - begun, time.process_time() - worked))
    one = times_of(taken)
    found = {"one add, p50 ms": one.p50, "one add, p99 ms": one.p99, "one add, CPU ms": one.cpu}
    if views:
        worked = time.process_time()
        done = catch_up(memory.scope.engine, memory.scope.space, VIEWS)
        found["views of one event, CPU ms"] = (time.process_time() - worked) * 1e3 / done
    return found


def _recalled(memory: Memory, embedder: SampledEmbedder, path: Path) -> dict[str, float]:
    whole = times([lambda q=q: memory.recall(q) for q in QUESTIONS], ROUNDS)
    command = [str(Path(sys.executable).with_name("everyword")), "--memory", str(path), "recall", QUESTIONS[0]]
    # Some shells forbid Python to keep compiled modules, which no user does.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    cold = times([lambda: subprocess.run(command, check=True, capture_output=True, env=usual)], COLD_RUNS)
    return {
        "recall, p50 ms": whole.p50,
        "recall, p99 ms": whole.p99,
        "recall, CPU ms": whole.cpu,
        **_stages(memory, embedder),
        "new process, p50 ms": cold.p50,
        "new process, CPU ms": cold.cpu,
    }


def _stages(memory: Memory, embedder: SampledEmbedder) -> dict[str, float]:
    questions = [embedder.question(text) for text in QUESTIONS]
    with memory.scope.engine.store.reader("default") as reader:
        (model,) = [one for one in reader.file.models() if one.state == "active"]
        terms = [dict.fromkeys(question_terms(text), 1.0) for text in QUESTIONS]
        near = [reader.by_vector(model, one.pooled, 200, None).seqs.tolist() for one in questions]
        rows = [[row.tokens for row in reader.passages(model, seqs)] for seqs in near]
        stages = {
            "encoding the question": [lambda q=q: embedder.question(q) for q in QUESTIONS],
            "words": [lambda t=t: reader.by_words(t, 100, None) for t in terms],
            "vectors": [lambda q=q: reader.by_vector(model, q.pooled, 100, None) for q in questions],
            "fetching 200 passages": [lambda s=s: reader.passages(model, s) for s in near],
            "late interaction over 200": [
                lambda q=q, r=r: embedder.late_matches(q, r) for q, r in zip(questions, rows, strict=True)
            ],
        }
        return {f"- {name}, CPU ms": times(actions, ROUNDS).cpu for name, actions in stages.items()}


def _shortlist_recall(memory: Memory, embedder: SampledEmbedder) -> float:
    """Tell the share of the true nearest hundred that the shortlist finds."""
    with memory.scope.engine.store.reader("default") as reader:
        (model,) = [one for one in reader.file.models() if one.state == "active"]
        view = reader.sql.pooled_view(reader.row, model)
    shares: list[float] = []
    for text in QUESTIONS:
        vector = embedder.question(text).pooled
        found = set(view.nearest(vector, 100).seqs.tolist())
        exact = np.concatenate([block.astype(np.float32) @ vector for block in np.array_split(view.pooled, 64)])
        true = view.seqs[np.argsort(-exact)[:100]].tolist()
        shares.append(len(found.intersection(true)) / 100)
    return float(np.mean(shares))


def _print(results: list[dict[str, Any]], kind: str, *, views: bool) -> None:
    sizes = [one["events"] for one in results]
    rows: list[list[object]] = []
    for name in results[0]["curves"]:
        values = [one["curves"][name] for one in results]
        goals = GOALS.get(name, {})
        shown = [_with_goal(value, goals.get(size)) for size, value in zip(sizes, values, strict=True)]
        rows.append([name, *shown, f"{exponent(sizes, values):.2f}" if len(sizes) > 1 else ""])
    derived = "all views derived" if views else "no views"
    columns = [f"{size:,}" for size in sizes]
    table(f"Growth with the number of events ({kind}, {derived})", ["", *columns, "exponent"], rows)
    for one in results:
        if "shortlist" in one:
            console.print(f"{one['events']:,}: {one['shortlist']:.3f} of the true nearest 100 found", highlight=False)
    table(
        "Bytes an event by part",
        ["", *columns],
        [[part, *(f"{one['parts'][part] / one['events']:,.0f}" for one in results)] for part in results[0]["parts"]],
    )


def _with_goal(value: float, goal: float | None) -> str:
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 1 else f"{value:.1f}"
    return shown if goal is None else f"{shown} (goal {goal:,})"
