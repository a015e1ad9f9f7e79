"""Nearest pooled vectors: exact while it is cheap, then a shortlist by sign bits that is rescored exactly.

Lives in memory, filled from the file and brought up to date at each look (see `sqlite/caches.py`); nothing is kept
beside the file, so there is nothing to fall out of step with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.postings import Ranking, Seqs, best
from recollect.store.units import seqs_of

# Past this many vectors the float copy for the exact scan costs more memory and time than the shortlist loses.
EXACT_UP_TO = 150_000
# How much of the store is rescored: sign bits place a true neighbour in the best hundredth (see `make bench`).
SHORTLIST_SHARE = 0.01
SHORTLIST_LEAST = 2_000
# A filter that leaves no more than this is scanned alone, which is exact.
_NARROW = 40_000
_SCALE = np.float32(127)  # stored as signed bytes


class PooledMatrix:
    """The pooled vectors of one space and model, in the order in which they arrived."""

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self.count = 0
        self._seqs = np.empty(0, np.int64)
        self._bytes = np.empty((0, dims), np.int8)
        self._floats: NDArray[np.float32] | None = np.empty((0, dims), np.float32)
        self._signs = np.empty((0, _words(dims)), np.uint64)

    def extend(self, units: NDArray[np.int64], pooled: NDArray[np.int8]) -> None:
        """Append vectors."""
        total = self.count + len(units)
        if total > EXACT_UP_TO and self._floats is not None:
            self._floats = None
            self._signs = _signs(self._bytes)
        if total > len(self._seqs):
            self._grow(max(total, 2 * len(self._seqs), 1024))
        new = slice(self.count, total)
        self._seqs[new] = seqs_of(units)
        self._bytes[new] = pooled
        if self._floats is None:
            self._signs[new] = _signs(pooled)
        else:
            self._floats[new] = pooled
        self.count = total

    def view(self) -> PooledView:
        """Take what is here now; later vectors are appended behind it and do not disturb it."""
        n = self.count
        floats = None if self._floats is None else self._floats[:n]
        return PooledView(self._seqs[:n], self._bytes[:n], floats, self._signs[:n])

    def _grow(self, capacity: int) -> None:
        self._seqs = _resized(self._seqs, capacity)
        self._bytes = _resized(self._bytes, capacity)
        if self._floats is None:
            self._signs = _resized(self._signs, capacity)
        else:
            self._floats = _resized(self._floats, capacity)


class PooledView(NamedTuple):
    """The vectors of a space at one moment."""

    seqs: Seqs
    pooled: NDArray[np.int8]
    floats: NDArray[np.float32] | None  # None: too many for the exact scan
    signs: NDArray[np.uint64]

    def nearest(self, question: NDArray[np.float32], k: int, allowed: Seqs | None = None) -> Ranking:
        """Rank the `k` nearest events by cosine; a long event counts by its best window."""
        if not len(self.seqs) or (allowed is not None and not len(allowed)):
            return Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
        rows = self._rows(question, allowed)
        if rows is None:
            assert self.floats is not None
            return _best_window(self.seqs, _cosines(self.floats, question), k)
        return _best_window(self.seqs[rows], _cosines(self.pooled[rows].astype(np.float32), question), k)

    def _rows(self, question: NDArray[np.float32], allowed: Seqs | None) -> NDArray[np.int64] | None:
        """Choose the rows to score; None for all."""
        if allowed is None:
            return None if self.floats is not None else self._shortlist(question, None)
        rows = np.flatnonzero(np.isin(self.seqs, allowed, kind="sort"))
        return rows if len(rows) <= _NARROW else self._shortlist(question, rows)

    def _shortlist(self, question: NDArray[np.float32], rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
        if self.floats is not None:  # small enough to be exact: no signs were made
            assert rows is not None
            return rows
        asked = _signs(question[None, :])[0]
        codes = self.signs if rows is None else self.signs[rows]
        distance = np.zeros(len(codes), np.uint8 if codes.shape[1] < 4 else np.uint16)
        for word in range(codes.shape[1]):
            distance += np.bitwise_count(codes[:, word] ^ asked[word])
        # Distances are few small numbers: counting them finds the cut faster than partitioning does.
        size = max(SHORTLIST_LEAST, int(SHORTLIST_SHARE * len(distance)))
        cut = np.searchsorted(np.bincount(distance).cumsum(), size)
        near = np.flatnonzero(distance <= cut)
        return near if rows is None else rows[near]


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


def _signs(vectors: NDArray[np.int8] | NDArray[np.float32]) -> NDArray[np.uint64]:
    bits = np.packbits(vectors > 0, axis=1)
    padded = np.zeros((len(bits), _words(vectors.shape[1]) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64)


def _words(dims: int) -> int:
    return (dims + 63) // 64


def _resized(old: Any, capacity: int) -> Any:
    new = np.empty((capacity, *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new
