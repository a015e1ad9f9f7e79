"""Measure a trained model through the product: python -m training.measure FOLDER locomo --data FILE --json OUT ...

Everything after FOLDER goes to `python -m evals run`, with the trained model in the place of the product's own.
FOLDER `speed` times it instead: python -m training.measure FOLDER speed --lines pools.jsonl.xz
"""

# ruff: noqa: T201
from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from training.embedder import Trained


def main() -> None:
    """Run the evaluation or the timing."""
    folder, *rest = sys.argv[1:]
    if rest and rest[0] == "speed":
        speed(Path(folder), Path(rest[rest.index("--lines") + 1]))
        return
    import evals.cache
    from evals.__main__ import main as evaluate

    model = Trained(folder)
    load: Callable[..., Any] = evals.cache.load_embedder
    # The harness takes the name of an embedder; this one has none yet.
    evals.cache.load_embedder = lambda spec=None, **more: model if spec is None else load(spec, **more)  # type: ignore[assignment]
    sys.argv = ["evals", "run", *rest]
    evaluate()


def speed(folder: Path, lines: Path, count: int = 400) -> None:
    """Time it beside the borrowed model, turn about, since the machine is shared; tell also the stored bytes."""
    from tools.fit_codec import _sample  # pyright: ignore[reportPrivateUsage]

    from everyword.models.embedders import ColbertSmall

    texts = _sample(lines, count, random.Random(3))
    models: dict[str, Any] = {"ours": Trained(folder), "borrowed": ColbertSmall()}
    rates: dict[str, list[float]] = {name: [] for name in models}
    waits: dict[str, list[float]] = {name: [] for name in models}
    stored: dict[str, list[int]] = {name: [] for name in models}
    for start in range(0, count, 40):
        for name, model in models.items():
            begun = time.perf_counter()
            made = model.passages(texts[start : start + 40])
            rates[name].append(40 / (time.perf_counter() - begun))
            stored[name] += [len(one.tokens) + one.pooled.nbytes for one in made]
            for _ in range(5):
                begun = time.perf_counter()
                model.question("Where did Ana say that she would move in spring?")
                waits[name].append((time.perf_counter() - begun) * 1e3)
    for name in models:
        print(
            f"{name}: {np.median(rates[name]):.0f} events/s (best {max(rates[name]):.0f}), one question "
            f"{np.median(waits[name]):.1f} ms (best {min(waits[name]):.1f}), {np.mean(stored[name]):.0f} bytes an event"
        )


if __name__ == "__main__":
    main()
