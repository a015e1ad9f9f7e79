"""Fit the weights of retrieval/confidence.py: how the signs of an answer add up to a probability.

    python -m tools.fit_confidence --locomo FILE [--audit FILE] --longmemeval FILE [--embedder everyword-small]

Reads development questions, answerable and not, makes others (people, planted facts), asks the memory each of them as a
user would, and fits a logistic regression to the signs that recall saw. Prints the numbers to put into confidence.py,
and what they come to on questions that the fit had not seen (one conversation, or a fifth of the questions, left out at
a time): the area under the ROC curve, and the shares of questions with and without an answer that are answered.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from evals.cache import open_embedder
from evals.tasks import TaskOptions, load_task
from evals.values import Task
from numpy.typing import NDArray

from everyword import Memory
from everyword.retrieval import search
from everyword.retrieval.confidence import Signs

L2 = 2.0  # strength of the pull towards 0, in standardised units: six weights for two thousand questions need little
FOLDS = 5
# LongMemEval has few questions that can't be answered; each of its questions counts for so many of LoCoMo's.
LONGMEMEVAL_WEIGHT = 3.0
MADE_WEIGHT = 0.7  # questions made from templates are more alike than they are many
SEED = 1

Floats = NDArray[np.float64]


class Example(NamedTuple):
    """One question as the fit sees it."""

    signs: Signs
    answerable: bool
    fold: str
    weight: float


def main() -> None:
    """Read, ask, fit, print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--locomo", type=Path, required=True)
    options.add_argument("--audit", type=Path)
    options.add_argument("--longmemeval", type=Path, required=True)
    options.add_argument("--embedder", help="the model whose matches are weighed; the default one if none is named")
    given = options.parse_args()
    locomo = load_task("locomo", TaskOptions(data=given.locomo, audit=given.audit)).task
    longmemeval = load_task("longmemeval", TaskOptions(data=given.longmemeval, union=True)).task
    made = {name: load_task(name, TaskOptions(seed=SEED)).task for name in ("people", "planted")}
    sets = {
        "LoCoMo": list(_examples(locomo, 1.0, given.embedder)),
        "LongMemEval": list(_examples(longmemeval, LONGMEMEVAL_WEIGHT, given.embedder)),
        **{name: list(_examples(task, MADE_WEIGHT, given.embedder)) for name, task in made.items()},
    }
    both = [example for examples in sets.values() for example in examples]
    weights, bias = _fit(both)
    written = ", ".join(f"{name}={weight:.2f}" for name, weight in zip(Signs._fields, weights, strict=True))
    print(f"Weighing(Signs({written}), {bias:.2f})")
    for name, examples in sets.items():
        area, told, untold = _left_out(examples, both)
        print(
            f"{name}: AUROC {area:.3f}; answered {told:.2f} with an answer, {untold:.2f} without; {len(examples)} asked"
        )


def _examples(task: Task, weight: float, model: str | None) -> Iterator[Example]:
    embedder = open_embedder(model)
    seen: list[Signs] = []

    def watching(signs: Signs, _: str) -> float:
        seen.append(signs)
        return 0.0

    # The one place where all signs pass by; nothing else of recall changes.
    search.confidence = watching
    for store, lines in task.stores.items():
        with Memory.open(":memory:", embedder) as memory:
            memory.add_many(
                {"text": one.text, "speaker": one.speaker, "session": one.session, "role": one.role, "at": one.at}
                for one in lines
            )
            for number, asked in enumerate(asked for asked in task.questions if asked.store == store):
                seen.clear()
                memory.recall(asked.text, now=asked.now)
                fold = store if len(task.stores) > 1 else f"{store} {number % FOLDS}"
                yield Example(seen[0], asked.answerable, fold, weight)


def _fit(examples: Sequence[Example]) -> tuple[Floats, float]:
    """Weigh the signs by Newton's method on the penalised likelihood; give weights of the signs as they are."""
    signs = np.array([example.signs for example in examples])
    mean, spread = signs.mean(axis=0), signs.std(axis=0)
    design = np.column_stack([(signs - mean) / spread, np.ones(len(signs))])
    answerable = np.array([example.answerable for example in examples], float)
    counts = np.array([example.weight for example in examples])
    pull = np.diag([*[L2] * signs.shape[1], 0.0])
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-design @ weights))
        slope = design.T @ (counts * (chance - answerable)) + pull @ weights
        curve = design.T @ (design * (counts * chance * (1 - chance))[:, None]) + pull
        weights -= np.linalg.solve(curve, slope)
    raw = weights[:-1] / spread
    return raw, float(weights[-1] - raw @ mean)


def _left_out(examples: Sequence[Example], both: Sequence[Example]) -> tuple[float, float, float]:
    """Score each example by a fit without its fold; give the area, and the shares that are answered of both kinds."""
    folds = list(dict.fromkeys(example.fold for example in examples))
    groups = [set(folds[number::FOLDS]) for number in range(min(FOLDS, len(folds)))]
    scores = np.zeros(len(examples))
    for group in groups:
        weights, bias = _fit([example for example in both if example.fold not in group])
        for number, example in enumerate(examples):
            if example.fold in group:
                scores[number] = float(np.array(example.signs) @ weights + bias)
    right = np.array([example.answerable for example in examples])
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores)] = np.arange(1, len(scores) + 1)
    count = right.sum()
    area = float((ranks[right].sum() - count * (count + 1) / 2) / (count * (len(right) - count)))
    return area, float((scores[right] >= 0).mean()), float((scores[~right] >= 0).mean())


if __name__ == "__main__":
    main()
