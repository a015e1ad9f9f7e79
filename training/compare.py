"""Compare models on LoCoMo with nothing of the pipeline between: python -m training.compare FOLDER ... --data FILE

Every line of a conversation is ranked by the stored token vectors (late), and by the stored pooled vector (pooled).
`borrowed` in the place of a folder is the product's own model. For reports, never for choosing.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from evals.tasks.locomo import locomo

from training.embedder import Trained

MONTHS = "January February March April May June July August September October November December".split()


def main() -> None:
    """Rank and print."""
    parser = argparse.ArgumentParser(description="Compare models line by line.")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--audit", type=Path)
    arguments = parser.parse_args()
    task = locomo(arguments.data, audit=arguments.audit)
    for name in arguments.models:
        model = _open(name)
        late, near, sizes = [], [], []
        for store, lines in task.stores.items():
            passages = model.passages([_form(line) for line in lines])
            sizes += [len(one.tokens) + one.pooled.nbytes for one in passages]
            place = {line.key: number for number, line in enumerate(lines)}
            pooled = np.stack([one.pooled for one in passages]).astype(np.float32)
            packed = [one.tokens for one in passages]
            for asked in task.questions:
                wanted = [place[key] for key in asked.evidence if key in place]
                if asked.store == store and asked.answerable and wanted:
                    question = model.question(asked.text)
                    late.append(_found(model.late_matches(question, packed).best.mean(axis=1), wanted))
                    near.append(_found(pooled @ question.pooled, wanted))
        shown = [f"{kind} frac@10 {np.mean(one):.4f}" for kind, one in (("late", late), ("pooled", near))]
        print(f"{name}: {', '.join(shown)}; {np.mean(sizes):.0f} bytes an event, {len(late)} questions", flush=True)


def _open(name: str) -> Any:
    if name != "borrowed":
        return Trained(name)
    from evals.cache import open_embedder

    return open_embedder()


def _form(line: Any) -> str:
    date = f"[{line.at.day} {MONTHS[line.at.month - 1]} {line.at.year}] "
    return f"{date}{line.speaker}: {line.text}" if line.speaker else date + line.text


def _found(scores: Any, wanted: list[int]) -> float:
    best = set(np.argsort(-scores, kind="stable")[:10].tolist())
    return sum(line in best for line in wanted) / len(wanted)


if __name__ == "__main__":
    main()
