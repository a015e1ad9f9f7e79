"""Find the nearest of a space's pooled vectors; number the windows that they are of.

A unit is one number for a model, an event and a window, so that vectors need no index but their primary key:

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


# Vectors up to which all are compared. Of more, only a shortlist is, chosen by the signs of their dimensions.
EXACT_UP_TO = 30_000
# The shortlist grows with the square root: 6,300 of 100,000, 20,000 of a million.
_SHORTLIST_ROOTS = 20
SHORTLIST_LEAST = 2_000
# A filter that leaves no more than this is scanned alone, which is exact.
_NARROW = 20_000
_SCALE = np.float32(127)  # stored as signed bytes
_BLOCK = 1024  # vectors made floats at a time where they are not kept: they fit the second-level cache
_SIGNED_AT_ONCE = 1 << 16  # vectors
_SAMPLED = 4_096  # vectors of which the centre is computed


class PooledMatrix:
    """The pooled vectors of one space and model, in the order in which they arrived."""

    def __init__(self, dims: int) -> None:
        self.count = 0
        self._viewed = False
        self._seqs = np.empty(0, np.int64)
        self._bytes = np.empty((0, dims), np.int8)
        self._floats = np.empty((0, dims), np.float32)  # of the first vectors; more are added for the next view
        self._as_floats = 0  # how many
        self._signs: Signs | None = None

    def extend(self, units: NDArray[np.int64], pooled: NDArray[np.int8]) -> None:
        total = self.count + len(units)
        if total > len(self._seqs):
            capacity = max(total, 2 * len(self._seqs), 1024)
            self._seqs, self._bytes = _resized(self._seqs, capacity), _resized(self._bytes, capacity)
        self._seqs[self.count : total] = seqs_of(units)
        self._bytes[self.count : total] = pooled
        self.count = total

    def view(self) -> PooledView:
        """Take what is here now; later vectors are appended after it and do not disturb it.

        The first view has neither floats nor signs: to make them takes as long as several questions, and a process may
        ask only one.
        """
        n = self.count
        first, self._viewed = not self._viewed, True
        if first:
            return PooledView(self._seqs[:n], self._bytes[:n], None, None)
        if n > EXACT_UP_TO:
            self._floats, self._as_floats = self._floats[:0], 0
            # The centre of half as many vectors may be another one.
            known = self._signs if self._signs is not None and 2 * self._signs.since > n else None
            self._signs = Signs.of(self._bytes[:n]) if known is None else known.followed_by(self._bytes[:n])
            return PooledView(self._seqs[:n], self._bytes[:n], self._signs, None)
        if n > len(self._floats):
            self._floats = _resized(self._floats, len(self._seqs))
        self._floats[self._as_floats : n] = self._bytes[self._as_floats : n]
        self._as_floats = n
        return PooledView(self._seqs[:n], self._bytes[:n], None, self._floats[:n])


class Signs(NamedTuple):
    """One bit for each dimension of a vector: whether it is above the mean of all.

    Of the true nearest 100 among 40,000 lines of public text, 98 are among the 4,000 whose bits differ least from the
    question's (`_SHORTLIST_ROOTS`), 93 to 95 where half of 56,000 lines are code; of the nearest 10, 98 to 99 in both.
    Comparing bits takes a tenth of the time of comparing vectors.
    """

    centre: NDArray[np.int8]
    bits: NDArray[np.uint64]  # a row for each 64 dimensions
    since: int  # vectors there were when the centre was computed

    @classmethod
    def of(cls, pooled: NDArray[np.int8]) -> Signs:
        """Take the signs of vectors about the mean of a sample."""
        centre = np.rint(pooled[:: max(1, len(pooled) // _SAMPLED)].mean(0)).astype(np.int8)
        return cls(centre, np.empty((_words(centre), 0), np.uint64), len(pooled)).followed_by(pooled)

    def followed_by(self, pooled: NDArray[np.int8]) -> Signs:
        """Add the signs of the vectors that came since."""
        starts = range(self.bits.shape[1], len(pooled), _SIGNED_AT_ONCE)
        new = [self._bits(pooled[start : start + _SIGNED_AT_ONCE]) for start in starts]
        return self._replace(bits=np.concatenate([self.bits, *new], axis=1)) if new else self

    def shortlist(self, question: NDArray[np.float32], rows: Seqs | None, k: int) -> NDArray[np.intp]:
        """Choose the vectors, all or these, whose signs differ least from the question's."""
        asked = self._bits(np.rint(question[None] * _SCALE))
        apart = np.zeros(self.bits.shape[1], np.uint8 if len(self.centre) < 256 else np.uint16)
        for mine, theirs in zip(self.bits, asked, strict=True):
            apart += np.bitwise_count(mine ^ theirs)
        apart = apart if rows is None else apart[rows]
        size = min(len(apart), max(SHORTLIST_LEAST, 4 * k, int(_SHORTLIST_ROOTS * len(apart) ** 0.5)))
        # Counting is several times as fast as partitioning. Of those at the last distance, the first are taken.
        last = int(np.searchsorted(np.cumsum(np.bincount(apart)), size))
        nearer = np.flatnonzero(apart < last)
        chosen = np.concatenate((nearer, np.flatnonzero(apart == last)[: size - len(nearer)]))
        return chosen if rows is None else rows[chosen]

    def _bits(self, vectors: NDArray[Any]) -> NDArray[np.uint64]:
        padded = np.zeros((len(vectors), 8 * _words(self.centre)), np.uint8)
        signs = np.packbits(vectors > self.centre, axis=1)
        padded[:, : signs.shape[1]] = signs
        return np.ascontiguousarray(padded.view(np.uint64).T)


class PooledView(NamedTuple):
    """The vectors of a space at one moment."""

    seqs: Seqs
    pooled: NDArray[np.int8]
    signs: Signs | None  # where not all are compared
    floats: NDArray[np.float32] | None  # the vectors, if they are kept so

    def nearest(self, question: NDArray[np.float32], k: int, allowed: Seqs | None = None) -> Ranking:
        """Rank the `k` nearest events by cosine; a long event counts by its best window."""
        if not len(self.seqs) or (allowed is not None and not len(allowed)):
            return Ranking(np.empty(0, np.int64), np.empty(0, np.float32))
        rows = None if allowed is None else np.flatnonzero(contained(self.seqs, allowed))
        if self.signs is not None and (rows is None or len(rows) > _NARROW):
            rows = self.signs.shortlist(question, rows, k)
        if rows is None:
            return _best_window(self.seqs, self._near(question), k)
        if self.signs is None and 2 * len(rows) > len(self.seqs):
            # Most of them: copying their rows would take longer than comparing all.
            return _best_window(self.seqs[rows], self._near(question)[rows], k)
        return _best_window(self.seqs[rows], _cosines(self.pooled[rows].astype(np.float32), question), k)

    def _near(self, question: NDArray[np.float32]) -> NDArray[np.float32]:
        """Compare the question with all vectors."""
        if self.floats is not None:
            return _cosines(self.floats, question)
        parts = [self.pooled[at : at + _BLOCK] for at in range(0, len(self.pooled), _BLOCK)]
        return np.concatenate([_cosines(part.astype(np.float32), question) for part in parts])


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


def _words(centre: NDArray[np.int8]) -> int:
    return -(-len(centre) // 64)


def _resized(old: Any, capacity: int) -> Any:
    new = np.empty((capacity, *old.shape[1:]), old.dtype)
    new[: len(old)] = old
    return new
