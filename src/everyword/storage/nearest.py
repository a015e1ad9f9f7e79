"""Units: one number for a model, an event and a window, so that vectors need no index but their primary key.

bits 62..52  model (up to 2,047)      bits 51..10  seq of the event      bits 9..0  window"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everyword.storage.postings import Ranking, Seqs, best, contained

_WINDOW_BITS = 10
_SEQ_BITS = 42


def unit_of(model: int, seq: int, window: int) -> int:
    """Join the three numbers."""
    return (model << (_SEQ_BITS + _WINDOW_BITS)) | (seq << _WINDOW_BITS) | window


def unit_bounds(model: int) -> tuple[int, int]:
    """Give the lowest and highest unit of a model."""
    return unit_of(model, 0, 0), unit_of(model + 1, 0, 0) - 1


def seq_of(unit: int) -> int:
    return (unit >> _WINDOW_BITS) & ((1 << _SEQ_BITS) - 1)


def seqs_of(units: NDArray[np.int64]) -> NDArray[np.int64]:
    return (units >> _WINDOW_BITS) & ((1 << _SEQ_BITS) - 1)


# Vectors up to which all their dimensions are kept as floats and scanned: beyond, time and memory grow past the goals.
EXACT_UP_TO = 150_000
# Dimensions that make the shortlist: half of them, but no fewer than tell texts apart at all.
_LEAST_PREFIX = 64
# How much of the store is rescored (`make bench` measures what the shortlist misses).
SHORTLIST_SHARE = 0.01
SHORTLIST_LEAST = 2_000
# A filter that leaves no more than this is scanned alone, which is exact.
_NARROW = 40_000
_SCALE = np.float32(127)  # stored as signed bytes
_BLOCK = 1024  # vectors made floats at a time where they are not kept: they fit the second-level cache


class PooledMatrix:
    """The pooled vectors of one space and model, in the order in which they arrived."""

    def __init__(self, dims: int) -> None:
        self.count = 0
        self._viewed = False
        self._seqs = np.empty(0, np.int64)
        self._bytes = np.empty((0, dims), np.int8)
        self._floats = np.empty((0, dims), np.float32)  # of the first vectors; more are added for the next view
        self._as_floats = 0  # how many

    def extend(self, units: NDArray[np.int64], pooled: NDArray[np.int8]) -> None:
        total = self.count + len(units)
        if total > len(self._seqs):
            capacity = max(total, 2 * len(self._seqs), 1024)
            self._seqs, self._bytes = _resized(self._seqs, capacity), _resized(self._bytes, capacity)
        self._seqs[self.count : total] = seqs_of(units)
        self._bytes[self.count : total] = pooled
        self.count = total

    def view(self) -> PooledView:
        """Take what is here now; later vectors are appended behind it and do not disturb it.

        The first view has no floats: to keep them takes as long as several questions, and a process may ask only one.
        """
        n = self.count
        dims = self._bytes.shape[1]
        if n > EXACT_UP_TO:
            dims = min(dims, max(_LEAST_PREFIX, dims // 2))
        if self._viewed:
            if self._floats.shape[1] > dims:
                self._floats = self._floats[:, :dims].copy()
            if n > len(self._floats):
                self._floats = _resized(self._floats, len(self._seqs))
            self._floats[self._as_floats : n] = self._bytes[self._as_floats : n, :dims]
            self._as_floats = n
        floats = self._floats[:n] if self._viewed else None
        self._viewed = True
        return PooledView(self._seqs[:n], self._bytes[:n], dims, floats)


class PooledView(NamedTuple):
    """The vectors of a space at one moment."""

    seqs: Seqs
    pooled: NDArray[np.int8]
    dims: int  # that are compared at first: all, or the first ones where there are too many vectors
    floats: NDArray[np.float32] | None  # these dimensions, if they are kept

    def nearest(self, question: NDArray[np.float32], k: int, allowed: Seqs | None = None) -> Ranking:
        """Rank the `k` nearest events by cosine; a long event counts by its best window."""
        if not len(self.seqs) or (allowed is not None and not len(allowed)):
            return Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
        rows = None if allowed is None else np.flatnonzero(contained(self.seqs, allowed))
        if self.dims < self.pooled.shape[1] and (rows is None or len(rows) > _NARROW):
            # Choose the rows to rescore by their first dimensions.
            near = self._near(question) if rows is None else self._near(question)[rows]
            size = min(len(near), max(SHORTLIST_LEAST, 4 * k, int(SHORTLIST_SHARE * len(near))))
            chosen = np.argpartition(near, len(near) - size)[len(near) - size :]
            rows = chosen if rows is None else rows[chosen]
        if rows is None:
            return _best_window(self.seqs, self._near(question), k)
        if self.dims == self.pooled.shape[1] and 2 * len(rows) > len(self.seqs):
            # Most of them: copying their rows would take longer than comparing all.
            return _best_window(self.seqs[rows], self._near(question)[rows], k)
        return _best_window(self.seqs[rows], _cosines(self.pooled[rows].astype(np.float32), question), k)

    def _near(self, question: NDArray[np.float32]) -> NDArray[np.float32]:
        """Compare the question with all vectors, by the dimensions that are compared at first."""
        asked = question[: self.dims]
        if self.floats is not None:
            return _cosines(self.floats, asked)
        parts = [self.pooled[at : at + _BLOCK, : self.dims] for at in range(0, len(self.pooled), _BLOCK)]
        return np.concatenate([_cosines(part.astype(np.float32), asked) for part in parts])


def _best_window(seqs: Seqs, scores: NDArray[np.float32], k: int) -> Ranking:
    # Windows of one event take several places: look at more rows until k events are seen.
    take = 2 * k
    while True:
        ranked = best(seqs, scores, take)
        _, first = np.unique(ranked.seqs, return_index=True)
        first.sort()
        if len(first) >= k or take >= len(scores):
            first = first[:k]
            return Ranking(ranked.seqs[first], ranked.scores[first])
        take *= 4


def _cosines(vectors: NDArray[np.float32], question: NDArray[np.float32]) -> NDArray[np.float32]:
    # einsum stays on this thread. A BLAS product takes half the time on an idle machine and, spread over threads that
    # wait for each other, up to thirty times as long on a busy one.
    return np.einsum("ij,j->i", vectors, question / _SCALE)


def _resized(old: Any, capacity: int) -> Any:
    new = np.empty((capacity, *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new
