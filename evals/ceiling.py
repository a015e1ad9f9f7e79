"""How much of the gold answers the evidence itself holds: what no search can better but by chance."""

from __future__ import annotations

from collections import defaultdict

from evals.compare import Grid
from evals.metrics import answer_words, share
from evals.summary import EVERYTHING, estimates
from evals.systems.everyword import event_of
from evals.tasks import Chosen
from evals.terminal import Progress
from evals.values import Asked
from everyword import Memory

_ROOM = 100_000  # tokens: all evidence of any question


def ceiling(chosen: Chosen, progress: Progress) -> Grid:
    """Pack nothing but a question's evidence, as Everyword writes a context, and measure that."""
    questions = [asked for asked in chosen.task.questions if asked.answerable and answer_words(asked.answer)]
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    for number, asked in enumerate(questions):
        progress(asked.store, number, len(questions))
        held = {"gold": share(answer_words(asked.answer), _evidence(chosen, asked))}
        of = [name for name, categories in chosen.groups.items() if asked.category in categories]
        for group in (EVERYTHING, *of, asked.category):
            found[group].append(held)
    columns = {group: estimates(rows, 0)["gold"] for group, rows in found.items()}
    titles = [f"{group} ({estimate.n})" for group, estimate in columns.items()]
    title = f"{chosen.task.name}: words of the gold answer in the evidence"
    return Grid(title=title, columns=["", *titles], rows=[["evidence", *map(str, columns.values())]])


def _evidence(chosen: Chosen, asked: Asked) -> str:
    lines = [line for line in chosen.task.stores[asked.store] if line.key in asked.evidence]
    with Memory.open(":memory:", embedder="hashing", tokenizer="words", extract=False) as memory:
        memory.add_many([event_of(line) for line in lines])
        return memory.context(asked.text, _ROOM, now=asked.now).text if lines else ""
