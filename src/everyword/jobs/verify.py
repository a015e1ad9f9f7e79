"""Verify a memory: the checks of the store, and with `deep` a comparison of all derived rows with the log.

A deep check derives each space again in a scratch store, as `rebuild` does, and compares every derived row and every
vector with the stored one. It reads one snapshot, changes nothing, and takes as long as a rebuild.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everyword.engine.encoding import embed
from everyword.engine.engine import Engine, Progress
from everyword.errors import ModelError
from everyword.jobs.rebuild import DERIVED, READ, TABLES_BY_VIEW, copy_base, derive_rows
from everyword.knowledge.concepts import fold_rows_upto
from everyword.models.protocol import Embedder
from everyword.storage.nearest import unit_of
from everyword.storage.opening import open_scratch
from everyword.storage.protocol import Store, Tables
from everyword.storage.rows import CONCEPTS, FoldMark, Model, UnitVector
from everyword.storage.sql.audit import REBUILD, RESTORE, while_readable
from everyword.storage.sql.graph import with_claims_named
from everyword.storage.sql.tables import SPACES, row_hash, shared_columns
from everyword.types.events import Problem, Report

_COPY_BATCH = 2_000  # events
_EMBED_BATCH = 64
# Another kind of processor, or an earlier file of the same weights, rounds differently: the cosine of one text's two
# pooled vectors is above .998 then. Different texts are lower. Digests find damaged bytes.
_NEAR = 0.98

# What folding reads besides: vectors, missing vectors, and the plans of an LLM.
_READ_FOR_CONCEPTS = ("pooled_tail", "pooled_blocks", "jobs", "fold_plans", "fold_plan_sources")
_NOT_COMPARED = frozenset(("names.changed",))  # a version counter for caches


def verify(engine: Engine, *, deep: bool, only: str | None, progress: Progress) -> Report:
    """Check a memory, or one space of it; the report lists the problems."""
    found = engine.store.audit(deep=deep, only=only)
    checked, problems = Counter(found.checked), list(found.problems)
    if deep and not any(problem.where == "file" and problem.fix == RESTORE for problem in problems):
        with engine.store.file_reader() as reader:
            serving = engine.models.serving(reader)
        embedder = serving.embedder if getattr(serving.embedder, "repeatable", False) else None
        with engine.store.table_reader() as stored:
            for row in list(stored.rows(SPACES)):
                if only in (None, row["name"]):
                    check = _SpaceCheck(engine, stored, row["name"], checked, progress)
                    problems += while_readable(check.problems(serving.model, embedder))
    return Report(checked=dict(checked), problems=tuple(problems))


class _SpaceCheck:
    """Derives one space again and compares it."""

    def __init__(self, engine: Engine, stored: Tables, space: str, checked: Counter[str], progress: Progress) -> None:
        self._engine, self._stored, self._space = engine, stored, space
        self._checked, self._progress = checked, progress
        self._cursors = {row["name"]: row["upto"] for row in stored.rows("views", space)}
        self._last_seq = next((row["last_seq"] for row in stored.rows(SPACES) if row["name"] == space), 0)

    def problems(self, model: Model | None, embedder: Embedder | None) -> Iterator[Problem]:
        with closing(open_scratch()) as scratch:
            copy_base(self._stored, scratch, self._space, (*READ, *_READ_FOR_CONCEPTS))
            self._derive(scratch)
            # A view that is behind the log is no problem.
            views = [view for view in DERIVED if self._cursors.get(view, 0) >= self._last_seq]
            if self._fold(scratch):
                views.append(CONCEPTS)
            with scratch.table_reader() as made:
                yield from self._row_problems(made, views)
            if model is not None and embedder is not None:
                yield from self._vector_problems(scratch, model, embedder)

    def _derive(self, scratch: Store) -> None:
        done, total = 0, self._stored.count(self._stored.table("events"))
        rows = self._stored.rows("events", self._space)
        while some := list(islice(rows, _COPY_BATCH)):
            derive_rows(self._engine, scratch, self._space, some)
            done += len(some)
            self._progress("log", done, total)

    def _fold(self, scratch: Store) -> bool:
        mark = next(self._stored.rows("fold_marks", self._space), None)
        if mark is None or not self._cursors.get(CONCEPTS):
            return False
        with scratch.table_writer() as (_, writer):
            writer.put_all("models", self._stored.rows("models"))
        beside = self._engine.on(scratch, llm_spec=None)
        with scratch.writer(self._space) as writer:
            writer.set_fold_mark(FoldMark(0, 0, mark["profile"]))
            folded = fold_rows_upto(beside, writer, self._cursors[CONCEPTS])
        self._progress("concepts", folded, folded)
        return True

    # Rows

    def _row_problems(self, made: Tables, views: list[str]) -> Iterator[Problem]:
        known: tuple[dict[str, dict[int, int]], dict[str, dict[int, int]]] = ({}, {})
        for view in views:
            for name, points_to in TABLES_BY_VIEW[view].items():
                columns = shared_columns(self._stored, made, name)
                ours, theirs = (
                    _hashes(name, reader.rows(name, self._space), columns, points_to, by)
                    for reader, by in zip((self._stored, made), known, strict=True)
                )
                self._checked[f"rows of {name}"] += len(ours)
                self._progress("rows", self._checked.total(), self._checked.total())
                if what := _difference(ours, theirs):
                    yield Problem(where=f"{name} of space {self._space}", what=what, fix=REBUILD)

    # Vectors

    def _vector_problems(self, scratch: Store, model: Model, embedder: Embedder) -> Iterator[Problem]:
        pooled = dict(self._pooled(model))
        windows = {
            row["unit"]: (row["start"], row["stop"], row["tokens"])
            for row in self._stored.rows("vectors", self._space)
            if unit_of(model.id, 0, 0) <= row["unit"] < unit_of(model.id + 1, 0, 0)
        }
        total = wrong = after = 0
        while True:
            with scratch.reader(self._space) as reader:
                rows = reader.log(after=after, limit=_EMBED_BATCH)
            if not rows:
                break
            after = rows[-1][0]
            try:
                encoded = embed(embedder, [event for _, event in rows])
            except ModelError as error:
                self._engine.models.say(f"Vectors were checked only by their digests: {error}")
                return
            for (seq, _), units in zip(rows, encoded, strict=True):
                for window, vector in enumerate(units):
                    unit = unit_of(model.id, seq, window)
                    if unit in windows and unit in pooled:  # a missing one is queued, or reported already
                        total += 1
                        wrong += not _near(vector, windows[unit], pooled[unit])
            self._progress("vectors", total, max(total, len(windows)))
        self._checked["vectors"] += total
        if wrong:
            what = f"{wrong} of {total} are not what their texts give"
            yield Problem(where=f"vectors of space {self._space}", what=what, fix=REBUILD)

    def _pooled(self, model: Model) -> Iterator[tuple[int, bytes]]:
        for row in self._stored.rows("pooled_tail", self._space):
            if row["model"] == model.id:
                yield row["unit"], row["pooled"]
        for row in self._stored.rows("pooled_blocks", self._space):
            if row["model"] == model.id:
                units = np.frombuffer(row["units"], np.int64).tolist()
                vectors = np.frombuffer(row["pooled"], np.uint8).reshape(len(units), -1)
                yield from ((unit, vector.tobytes()) for unit, vector in zip(units, vectors, strict=True))


def _near(vector: UnitVector, window: tuple[int, int, bytes], pooled: bytes) -> bool:
    start, stop, tokens = window
    if tuple(vector.span) != (start, stop) or len(pooled) != len(vector.pooled) or len(tokens) != len(vector.tokens):
        return False
    return _cosine(vector.pooled, np.frombuffer(pooled, np.int8)) >= _NEAR


def _cosine(one: NDArray[np.int8], other: NDArray[np.int8]) -> float:
    a, b = one.astype(np.float64), other.astype(np.float64)
    return float(a @ b / max(1.0, float(np.linalg.norm(a) * np.linalg.norm(b))))


def _hashes(
    table: str,
    rows: Iterator[dict[str, Any]],
    columns: list[str],
    points_to: Mapping[str, str],
    known: dict[str, dict[int, int]],
) -> array[int]:
    """Hash rows independently of the store: replace row numbers by the hashes of the rows they refer to."""
    hashes: array[int] = array("Q")
    numbered = known.setdefault(table, {})
    own = "number" if "number" in columns and "number" not in points_to else None
    compared = [name for name in columns if name != own and f"{table}.{name}" not in _NOT_COMPARED]
    for row in rows:
        for column, target in points_to.items():
            if row[column] is not None:
                row[column] = known[target].get(row[column], -1)
        if table == "facts":
            row["body"] = with_claims_named(row["body"], known["claims"])
        hashed = row_hash(row, compared)
        if own is not None:
            numbered[row[own]] = hashed
        hashes.append(hashed)
    return hashes


def _difference(stored: array[int], derived: array[int]) -> str:
    """Say how many rows only one side has; empty if both have the same rows."""
    ours, theirs = Counter(stored), Counter(derived)
    missing, extra = (theirs - ours).total(), (ours - theirs).total()
    found = [f"{missing} rows that the log gives are missing"] if missing else []
    found += [f"{extra} rows are not what the log gives"] if extra else []
    return " and ".join(found)
