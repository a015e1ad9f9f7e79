"""Everyword itself, through its public interface: the shipped default, or a variant of it (`variants.py`)."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import to_builtins

import everyword
from evals import provenance
from evals.cache import CachedEmbedder, CachedLateEmbedder, CountedOnce
from evals.errors import EvalError
from evals.systems.third import Third
from evals.systems.variants import variant_of
from evals.values import LINES_TIMED, Answer, Found, Line
from everyword import Memory

_BATCH = 256  # lines a transaction
# What an ingest does not depend on: a store that was written once serves every trial that changes only how it is read.
_READERS = ("retrieval", "api", "interfaces", "memory.py", "aio.py", "client.py")
_KEPT = 3  # versions of the writing code whose stores are kept


class EverywordSystem:
    """One file a store, kept between runs; one of them open at a time."""

    def __init__(self, name: str, embedder: CachedEmbedder, folder: Path) -> None:
        self.name = name
        self._variant = variant_of(name)
        self._third = Third(self._variant.reranker)
        self._embedder = embedder
        self._tokenizer = CountedOnce()
        self._folder = _stores(folder, embedder.card.label)
        self._files: dict[str, Path] = {}
        self._open: tuple[Path, Memory] | None = None

    def ingest(self, store: str, lines: Sequence[Line]) -> float:
        """Write lines in batches, unless that was done before; tell the time that it takes without the cache."""
        path = self._files[store] = self._folder / f"{provenance.hash_of(lines)}.db"
        done = path.with_suffix(".json")
        if done.is_file() and not self._embedder.anew:
            return float(json.loads(done.read_text(encoding="utf-8"))["ms"])
        # Whole or not there: a run may be interrupted, and another may write the same.
        self._files[store] = path.with_suffix(f".{os.getpid()}.new")
        memory = self._memory(store)
        self._embedder.saved_ms()
        begun = time.perf_counter()
        for start in range(0, len(lines), _BATCH):
            memory.add_many([event_of(line) for line in lines[start : start + _BATCH]])
        memory.admin.settle()  # all views, so that each question finds them alike
        _check_whole(memory)
        took_ms = (time.perf_counter() - begun) * 1e3 + self._embedder.saved_ms()
        self._leave()
        written, self._files[store] = self._files[store], self._files[store].replace(path)
        for left in written.parent.glob(f"{written.name}-*"):  # its lock
            left.unlink()
        done.write_text(json.dumps({"ms": took_ms}), encoding="utf-8")
        return took_ms

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
            "version": everyword.__version__,
            "recipe": to_builtins(self._variant.recipe),
            "reranker": self._variant.reranker,
            "model": self._embedder.card.label,
            "tokenizer": self._tokenizer.name,
        }

    def size_bytes(self) -> int:
        """Add up the files."""
        self._leave()
        return sum(path.stat().st_size for path in self._files.values())

    def close(self) -> None:
        """Close; the files stay for the next run."""
        self._leave()
        self._third.close()
        self._embedder.release()

    def _memory(self, store: str) -> Memory:
        path = self._files[store]
        if self._open is None or self._open[0] != path:
            self._leave()
            memory = Memory.open(
                path,
                self._embedder,
                recipe=self._variant.recipe,
                reranker=self._third.reranker,
                llm=self._third.llm,
                llm_extract=False,  # it only reads what was found
                tokenizer=self._tokenizer,
                durability="normal",  # a file of this harness need not survive a power cut
                background=False,
            )
            self._open = (path, memory)
        return self._open[1]

    def _leave(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def _check_whole(memory: Memory) -> None:
    # A memory goes on with words alone when its model fails, and says so. Here that would be another system's figures.
    if memory.notices:
        raise EvalError(f"Everyword worked in a lesser way than asked for: {'; '.join(memory.notices)}")


def event_of(line: Line) -> dict[str, Any]:
    """Write a line as `Memory.add_many` takes it."""
    return {
        "text": line.text,
        "speaker": line.speaker,
        "session": line.session,
        "role": line.role,
        "at": line.at,
        "key": line.key,
    }


def _stores(folder: Path, model: str) -> Path:
    """Give the folder of the stores that the present code writes, and remove those of code that is long gone."""
    parts = sorted((provenance.ROOT / provenance.PRODUCT).iterdir())
    writers = [
        f"{provenance.PRODUCT}/{part.name}" for part in parts if part.name not in _READERS and part.name[0] not in "_."
    ]
    chosen = folder / provenance.code_hash((*writers, "evals/systems/everyword.py", "evals/cache.py"), model)
    chosen.mkdir(parents=True, exist_ok=True)
    chosen.touch()
    for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return chosen
