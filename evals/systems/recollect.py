"""Recollect itself, through its public interface: the shipped default, a recipe by name, or a recipe less a stage.

`recollect` is what `Memory.open` gives; `recollect:words` opens with that recipe; `recollect:-late` is the default
without late interaction, `recollect:pooled-words` the recipe `pooled` without its words.
"""

from __future__ import annotations

import inspect
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import recollect
from evals.cache import CachedEmbedder, CachedLateEmbedder, CountedOnce
from evals.errors import EvalError
from evals.values import LINES_TIMED, Answer, Found, Line
from recollect import Memory
from recollect.recall.recipes import RECIPES, Recipe

NAME = "recollect"
_BATCH = 256  # lines a transaction
_STAGES = {"late": "rerank_depth"}  # what a stage is called, where its field has another name


def recollect_system(variant: str, embedder: CachedEmbedder) -> RecollectSystem:
    """Make the system for what follows `recollect:`."""
    return RecollectSystem(f"{NAME}:{variant}" if variant else NAME, recipe_of(variant), embedder)


def recipe_of(variant: str) -> Recipe:
    """Read a recipe's name and the stages to leave out, as in `hybrid-words-late`."""
    name, *stages = variant.split("-")
    recipe = RECIPES.get(name) if name else _default()
    if recipe is None:
        raise EvalError(f"There is no recipe {name!r}. Known: {', '.join(RECIPES)}.")
    for stage in stages:
        recipe = _without(recipe, stage)
    return recipe


def stages(recipe: Recipe) -> list[str]:
    """Name what can be left out of a recipe: parts that are there, and what is off unless a recipe says otherwise."""
    named = {field: stage for stage, field in _STAGES.items()}
    return [
        named.get(one.name, one.name)
        for one in fields(recipe)
        if is_dataclass(given := getattr(recipe, one.name)) or (given and not one.default)
    ]


class RecollectSystem:
    """One file a store; one of them open at a time."""

    def __init__(self, name: str, recipe: Recipe, embedder: CachedEmbedder) -> None:
        self.name = name
        self._recipe = recipe
        self._embedder = embedder
        self._tokenizer = CountedOnce()
        self._folder = Path(tempfile.mkdtemp(prefix="recollect-eval-"))
        self._files: dict[str, Path] = {}
        self._open: tuple[str, Memory] | None = None

    def ingest(self, store: str, lines: Sequence[Line]) -> float:
        """Write lines in batches; tell the time that it takes without the cache."""
        memory = self._memory(store)
        self._embedder.saved_ms()
        begun = time.perf_counter()
        for start in range(0, len(lines), _BATCH):
            memory.add_many([_event(line) for line in lines[start : start + _BATCH]])
        _check_whole(memory)
        return (time.perf_counter() - begun) * 1e3 + self._embedder.saved_ms()

    def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
        """Recall, timed; a context is packed from the same hits when it is asked for."""
        memory = self._memory(store)
        if k <= LINES_TIMED and isinstance(self._embedder, CachedLateEmbedder):
            self._embedder.forget_last()
        self._embedder.saved_ms()
        begun = time.perf_counter()
        hits = memory.recall(question, k=k, now=now)
        took_ms = (time.perf_counter() - begun) * 1e3 + self._embedder.saved_ms()
        _check_whole(memory)
        return Answer(
            found=[Found(key=hit.event.key or "", score=hit.score, session=hit.event.session) for hit in hits],
            confidence=hits.confidence,
            pack=lambda budget: memory.context(question, budget, hits=hits, now=now).text,
            took_ms=took_ms,
        )

    def describe(self) -> Mapping[str, Any]:
        """Tell version, recipe, model and tokenizer."""
        return {
            "version": recollect.__version__,
            "recipe": asdict(self._recipe),
            "model": self._embedder.card.label,
            "tokenizer": self._tokenizer.name,
        }

    def size_bytes(self) -> int:
        """Add up the files."""
        self._leave()
        return sum(path.stat().st_size for path in self._folder.iterdir())

    def close(self) -> None:
        """Close and remove the files."""
        self._leave()
        self._embedder.release()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _memory(self, store: str) -> Memory:
        if self._open is None or self._open[0] != store:
            self._leave()
            path = self._files.setdefault(store, self._folder / f"{len(self._files)}.db")
            memory = Memory.open(
                path,
                self._embedder,
                recipe=self._recipe,
                tokenizer=self._tokenizer,
                durability="normal",  # a temporary file need not survive a power cut
            )
            self._open = (store, memory)
        return self._open[1]

    def _leave(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def _check_whole(memory: Memory) -> None:
    # A memory goes on with words alone when its model fails, and says so. Here that would be another system's figures.
    if memory.notices:
        raise EvalError(f"Recollect worked in a lesser way than asked for: {'; '.join(memory.notices)}")


def _event(line: Line) -> dict[str, Any]:
    return {
        "text": line.text,
        "speaker": line.speaker,
        "session": line.session,
        "role": line.role,
        "at": line.at,
        "key": line.key,
    }


def _default() -> Recipe:
    return inspect.signature(Memory.open).parameters["recipe"].default


def _without(recipe: Recipe, stage: str) -> Recipe:
    """Switch a stage off: an arm becomes None, a depth or a weight 0."""
    field = _STAGES.get(stage, stage)
    known = {one.name for one in fields(recipe)} - {"name"}
    if field not in known:
        raise EvalError(f"A recipe has no stage {stage!r}. Known: {', '.join(sorted(known | set(_STAGES)))}.")
    given = getattr(recipe, field)
    off = type(given)(0) if isinstance(given, bool | int | float) else None
    return replace(recipe, name=f"{recipe.name}-{stage}", **{field: off})
