"""Score models in the product's pipeline, many at a time: python -m training.pipeline FOLDER ... --data DATA

DATA has locomo-dev.json (with its audit), longmemeval-dev.json and friends-dev.json, each if it is to be asked. A
memory is opened for each conversation, in a process of its own, and asked every question. What depends on a model's
scale (the recipe's weights) is tried around its value one at a time with --sweep, so that a model is not judged
by weights that were fitted to another. Prints one JSON line a model, task and recipe.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from evals.tasks import TaskOptions, load_task
from evals.values import Asked, Line
from msgspec.structs import replace

from everyword.retrieval.config import HYBRID, SearchConfig

FOUND = 20  # hits a question
FRIENDS_START = datetime(2024, 1, 1, tzinfo=UTC)  # of dialogues that have no date
SHARE_NAMES = ("before", "after")
# One at a time: what is tried beside the recipe as it is.
SWEEP: tuple[dict[str, float], ...] = (
    {"token_power": 0.25},
    {"token_power": 0.5},
    {"token_power": 1.0},
    {"shares": 0.96},
    {"shares": 0.98},
    {"shares": 1.02},
    {"boosts": 0.7},
    {"boosts": 1.4},
    {"boosts": 2.0},
    {"rrf_k": 20},
    {"vectors": 0.8},
    {"vectors": 1.0},
)
REREAD_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.45, 0.7)  # of the third stage's scores beside the second's; 0 is without


def recipe_of(change: dict[str, float]) -> SearchConfig:
    """Give the product's recipe with its neighbours' shares and its boosts scaled, or its token power replaced."""
    recipe = HYBRID
    for name in ("token_power", "reranker_weight", "rrf_k"):
        if name in change:
            recipe = replace(recipe, **{name: change[name]})
    if "shares" in change and recipe.neighbours is not None:
        near = recipe.neighbours
        scaled = {name: tuple(one * change["shares"] for one in getattr(near, name)) for name in SHARE_NAMES}
        recipe = replace(recipe, neighbours=replace(near, **scaled))
    if "vectors" in change and recipe.vectors is not None:
        recipe = replace(recipe, vectors=replace(recipe.vectors, weight=change["vectors"]))
    if "boosts" in change:
        names = ("about", "own", "assistant", "time", "length")
        recipe = replace(recipe, **{name: getattr(recipe, name) * change["boosts"] for name in names})
    return recipe


def stores_of(data: Path) -> list[tuple[str, str, list[Line], list[Asked]]]:
    """List (task, store, lines, questions) of every task whose file is there."""
    found = []
    if (data / "locomo-dev.json").exists():
        options = TaskOptions(data=data / "locomo-dev.json", audit=data / "locomo-dev-audit.jsonl")
        found.append(("locomo", load_task("locomo", options).task))
    if (data / "longmemeval-dev.json").exists():
        options = TaskOptions(data=data / "longmemeval-dev.json", union=True)
        found.append(("longmemeval", load_task("longmemeval", options).task))
    listed = [
        (name, store, list(lines), [one for one in task.questions if one.store == store])
        for name, task in found
        for store, lines in task.stores.items()
    ]
    if (data / "friends-dev.json").exists():
        listed += _friends(json.loads((data / "friends-dev.json").read_text(encoding="utf-8")))
    return listed


def _friends(content: dict[str, Any]) -> list[tuple[str, str, list[Line], list[Asked]]]:
    """Make stores of the development dialogues: a text is a session, a minute lies between two lines."""
    made = []
    for pool, rows in content["pools"].items():
        lines, session = [], 0
        for place, row in enumerate(rows):
            session += row.get("prev", -1) < 0
            at = FRIENDS_START + timedelta(days=9 * session, minutes=place)
            lines.append(
                Line(key=str(place), text=row["text"], speaker=row.get("speaker"), session=str(session), at=at)
            )
        asked = [
            Asked(
                id=f"{pool}-{n}",
                store=pool,
                text=one["question"],
                category="",
                evidence=tuple(map(str, one["positives"])),
            )
            for n, one in enumerate(content["questions"])
            if str(one["pool"]) == pool
        ]
        made.append(("friends-dev", pool, lines, asked))
    return made


def ask(job: tuple[str, str, list[Line], list[Asked], list[dict[str, float]], int, str | None]) -> list[dict[str, Any]]:
    """Remember a store's lines and ask its questions, once a recipe; give what each question scored."""
    folder, task, lines, questions, changes, threads, reranker = job
    os.environ["OMP_NUM_THREADS"] = str(threads)
    from everyword import Memory
    from everyword.retrieval import search

    model = _model(folder, threads)
    rows: list[dict[str, Any]] = []
    seen: list[Any] = [None]
    sure = search.confidence

    def watched(signs: Any, name: str) -> float:
        seen[0] = signs
        return sure(signs, "everyword-small" if name == "trained" else name)

    # The one place where the signs of an answer pass by: tools/fit_confidence.py weighs them.
    search.confidence = watched
    with Memory.open(":memory:", model, durability="normal", reranker=reranker, reader="none") as memory:
        for start in range(0, len(lines), 256):
            memory.add_many([_event(line) for line in lines[start : start + 256]])
        for number, change in enumerate(changes):
            # A memory has one recipe for life; here many are tried on the same lines.
            object.__setattr__(memory.scope.engine, "recipe", recipe_of(change))
            for asked in questions:
                if not asked.answerable and number:
                    continue
                hits = memory.recall(asked.text, k=FOUND, now=asked.now)
                rows.append({"task": task, "id": asked.id, "change": change, "answerable": asked.answerable,
                             "sure": hits.confidence, "signs": seen[0], "store": asked.store,
                             **_scores(asked, hits)})  # fmt: skip
        if memory.notices:
            raise SystemExit(f"worked in a lesser way: {memory.notices}")
    return rows


def _model(folder: str, threads: int) -> Any:
    if folder == "borrowed":
        from evals.cache import open_embedder

        return open_embedder()
    from training.embedder import Trained

    return Trained(folder, threads=threads)


def _event(line: Line) -> dict[str, Any]:
    return {"text": line.text, "speaker": line.speaker, "session": line.session, "role": line.role, "at": line.at,
            "key": line.key}  # fmt: skip


def _scores(asked: Asked, hits: Any) -> dict[str, float]:
    found = [hit.event.key for hit in hits]
    sessions = list(dict.fromkeys(hit.event.session for hit in hits))
    scores: dict[str, float] = {}
    if asked.evidence:
        wanted = set(asked.evidence)
        for k in (5, 10, 20):
            scores[f"frac@{k}"] = len(wanted & set(found[:k])) / len(wanted)
        scores["mrr"] = max((1 / (1 + found.index(key)) for key in wanted if key in found), default=0.0)
    if asked.sessions:
        scores["session any@5"] = float(bool(set(asked.sessions) & set(sessions[:5])))
    return scores


def told(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the means of each task and recipe, and how well confidence tells answerable questions."""
    lines = []
    for task in dict.fromkeys(row["task"] for row in rows):
        for change in ({} if not text else json.loads(text) for text in _changes(rows, task)):
            chosen = [row for row in rows if row["task"] == task and row["change"] == change]
            good = [row for row in chosen if row["answerable"]]
            line: dict[str, Any] = {"task": task, **({"with": change} if change else {})}
            for name in ("frac@5", "frac@10", "frac@20", "mrr", "session any@5"):
                values = [row[name] for row in good if name in row]
                if values:
                    line[name] = round(float(np.mean(values)), 4)
            if not change or "reranker_weight" in change:
                line["questions"] = len(good)
                line["auroc"] = _auroc(chosen)
            lines.append(line)
    return lines


def _changes(rows: list[dict[str, Any]], task: str) -> list[str]:
    chosen = [row["change"] for row in rows if row["task"] == task]
    return list(dict.fromkeys(json.dumps(change) if change else "" for change in chosen))


def _auroc(rows: list[dict[str, Any]]) -> float | None:
    right = np.array([row["answerable"] for row in rows])
    if right.all():
        return None
    order = np.argsort([row["sure"] or 0.0 for row in rows], kind="stable")
    ranks = np.empty(len(rows))
    ranks[order] = np.arange(1, len(rows) + 1)
    count = right.sum()
    return round(float((ranks[right].sum() - count * (count + 1) / 2) / (count * (len(right) - count))), 4)


def main() -> None:
    """Ask all models at once, each store in a process."""
    parser = argparse.ArgumentParser(description="Score models in the product's pipeline.")
    parser.add_argument("models", nargs="+", help='folders with model.onnx, tokenizer.json, codec.npz, or "borrowed"')
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--reranker", help="of the third stage, tried with several weights: onnx:FOLDER")
    parser.add_argument("--tasks", nargs="+")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rows", type=Path, help="write what each question scored")
    arguments = parser.parse_args()
    changes: list[dict[str, float]] = [{}, *(SWEEP if arguments.sweep else ())]
    if arguments.reranker:
        changes = [{"reranker_weight": weight} for weight in REREAD_WEIGHTS]
    stores = [one for one in stores_of(arguments.data) if not arguments.tasks or one[0] in arguments.tasks]
    # The longest first: the others fill the gaps.
    stores.sort(key=lambda one: -sum(len(line.text) for line in one[2]))
    jobs = [
        (model, task, lines, asked, changes, 3 if task == "longmemeval" else 1, arguments.reranker)
        for _, (task, _, lines, asked) in enumerate(stores)
        for model in arguments.models
    ]
    with ProcessPoolExecutor(arguments.processes) as pool:
        results = list(pool.map(ask, jobs))
    for model in arguments.models:
        rows = [row for job, result in zip(jobs, results, strict=True) if job[0] == model for row in result]
        for line in told(rows):
            line = {"model": model, **line}
            print(json.dumps(line), flush=True)
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(json.dumps(line) + "\n")
        if arguments.rows:
            with arguments.rows.open("a") as file:
                file.writelines(json.dumps({"model": model, **row}) + "\n" for row in rows)


if __name__ == "__main__":
    main()
