"""What folding makes of real conversations, which have no gold graph: does a concept stay one, and hang together?

CogEval's streams are short and of one subject each. In the talk of two people everything is a little like everything
else, and a graph can fail there in a way that short streams never show: one concept takes in whatever is said.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from evals.compare import Grid
from evals.graphs import event_of, sentence_vector
from evals.terminal import Progress, silent
from evals.values import Line, Task
from everyword import Memory

PAIRS = 2_000  # of any two events of a talk, to tell how alike they are
SHOWN = ("events", "concepts", "largest", "inside", "alike within", "alike at all")


def measure_talks(task: Task, *, embedder: Any = None, progress: Progress = silent) -> list[dict[str, Any]]:
    """Fold each conversation of a task; give a row for each."""
    from evals.cache import open_embedder

    own = embedder or open_embedder()
    rows: list[dict[str, Any]] = []
    for done, (store, lines) in enumerate(task.stores.items()):
        progress("talks", done, len(task.stores))
        rows.append({"talk": store, **_measured(lines, own)})
    progress("talks", len(task.stores), len(task.stores))
    return rows


def talks_grid(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Lay out the rows, and their means."""
    means = {name: float(np.mean([row[name] for row in rows])) for name in SHOWN}
    return Grid(
        title=f"concepts of {len(rows)} conversations",
        columns=["talk", *SHOWN, "largest ones"],
        rows=[
            *([row["talk"], *(_shown(row[name]) for name in SHOWN), ", ".join(row["labels"])] for row in rows),
            ["mean", *(_shown(means[name]) for name in SHOWN), ""],
        ],
        note="largest: share of a talk's events that its largest concept counts as its own. inside: share that any "
        "concept counts. alike: mean cosine (BGE-small) of two events of one concept, and of any two. No LLM.",
    )


def _measured(lines: Sequence[Line], embedder: Any) -> dict[str, Any]:
    with Memory.open(":memory:", embedder) as memory:
        memory.add_many([event_of(line) for line in lines])
        memory.admin.settle()
        texts = {event.id: event.text for event in memory.events()}
        views = [memory.concepts.get(concept.id) for concept in memory.concepts.list()]
    held = {view.concept.label: [one.event_id for one in view.grounds] for view in views}
    largest = sorted(held, key=lambda label: (-len(held[label]), label))
    vector = cache(lambda id: _unit(sentence_vector(texts[id])))
    within = [pair for ids in held.values() for pair in itertools.combinations(dict.fromkeys(ids), 2)]
    ids, rng = sorted(texts), random.Random(0)
    some = [rng.sample(ids, 2) for _ in range(PAIRS)] if len(ids) > 1 else []
    return {
        "events": len(texts),
        "concepts": len(held),
        "largest": max((len(set(one)) for one in held.values()), default=0) / max(1, len(texts)),
        "inside": len({id for one in held.values() for id in one}) / max(1, len(texts)),
        "alike within": _mean([float(vector(one) @ vector(other)) for one, other in within]),
        "alike at all": _mean([float(vector(one) @ vector(other)) for one, other in some]),
        "labels": largest[:5],
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value > 1 else f"{value:.3f}"
