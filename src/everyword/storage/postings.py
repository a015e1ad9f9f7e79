"""Postings: which events hold a term, packed in chunks, and BM25 over them.

Shared by every backend, so that all of them rank alike. A chunk holds up to a few thousand postings of one term:

    1 byte    width of an offset in bytes, 2 or 4
    n x width offset of each event's seq from the chunk's first seq, ascending
    n x 1     how often the event holds the term (at most 255)
    n x 1     the event's length, in steps (see LENGTHS)

A posting carries its event's length so that scoring needs no second look-up.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Seqs = NDArray[np.int64]
Scores = NDArray[np.float32]

# BM25. Chat turns are short and differ little in length, so the usual values hold (checked on development data).
K1 = 1.2
B = 0.75

SEAL_AT = 4096  # events in the tail: scanning it costs a millisecond, and a chunk of fewer would be mostly overhead
_MAX_COUNT = 255
_NARROW = 1 << 16  # offsets below this take two bytes
_EXACT_LENGTHS = 40  # lengths up to here are kept exactly, beyond in steps of 6%: BM25 moves by under 2%
_LENGTH_STEP = 1.06
LENGTHS: NDArray[np.float32] = np.concatenate(
    [
        np.arange(_EXACT_LENGTHS, dtype=np.float32),
        _EXACT_LENGTHS * np.power(_LENGTH_STEP, np.arange(256 - _EXACT_LENGTHS, dtype=np.float32)),
    ]
).astype(np.float32)


class Terms(Struct, frozen=True, kw_only=True):
    """The terms of one event, ready to be stored: n terms of 64 bits, then n counts of one byte."""

    packed: bytes
    length: int  # all terms, each as often as it occurs


class Ranking(NamedTuple):
    """Events in rank order, and the score of each."""

    seqs: Seqs
    scores: Scores


class Postings(NamedTuple):
    """The events that hold one term."""

    seqs: Seqs
    counts: NDArray[np.uint8]
    lengths: NDArray[np.uint8]  # steps of LENGTHS


def terms_of(counts: Mapping[int, int]) -> Terms:
    """Make an event's terms from counted words."""
    # Plain arrays: an event has a few dozen terms, for which numpy's calls cost more than their work.
    length = sum(counts.values())
    often = counts.values() if length <= _MAX_COUNT else [min(count, _MAX_COUNT) for count in counts.values()]
    return Terms(packed=array("q", counts).tobytes() + bytes(often), length=length)


def unpack_terms(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    size = len(data) // 9
    return np.frombuffer(data, np.int64, size), np.frombuffer(data, np.uint8, size, offset=8 * size)


def length_step(length: int) -> int:
    """Find the step that stands for a length."""
    if length < _EXACT_LENGTHS:
        return length
    return min(255, _EXACT_LENGTHS + round(math.log(length / _EXACT_LENGTHS) / math.log(_LENGTH_STEP)))


class Tail(NamedTuple):
    """The newest events' terms, flat: entry i says that event `seqs[i]` holds `terms[i]`."""

    seqs: Seqs
    terms: NDArray[np.int64]
    counts: NDArray[np.uint8]
    lengths: NDArray[np.uint8]

    def followed_by(self, more: Tail) -> Tail:
        return Tail(
            np.concatenate([self.seqs, more.seqs]),
            np.concatenate([self.terms, more.terms]),
            np.concatenate([self.counts, more.counts]),
            np.concatenate([self.lengths, more.lengths]),
        )

    def of(self, term: int) -> Postings:
        (at,) = (self.terms == term).nonzero()
        return Postings(self.seqs[at], self.counts[at], self.lengths[at])


def flatten(rows: Sequence[Sequence[Any]]) -> Tail:
    """Lay out (seq, length, packed terms) of events flat."""
    unpacked = [unpack_terms(data) for _, _, data in rows]
    sizes = np.array([len(terms) for terms, _ in unpacked], dtype=np.int64)
    seqs = np.array([seq for seq, _, _ in rows], dtype=np.int64)
    steps = np.array([length_step(length) for _, length, _ in rows], dtype=np.uint8)
    terms = np.concatenate([np.empty(0, np.int64), *(terms for terms, _ in unpacked)])
    counts = np.concatenate([np.empty(0, np.uint8), *(counts for _, counts in unpacked)])
    return Tail(np.repeat(seqs, sizes), terms, counts, np.repeat(steps, sizes))


def chunks_of(tail: Tail) -> Iterator[tuple[int, int, bytes]]:
    """Turn events' terms into chunks: (term, first seq, bytes), in the order of the terms."""
    if not len(tail.terms):
        return
    order = np.lexsort((tail.seqs, tail.terms))
    seqs, terms = tail.seqs[order], tail.terms[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(terms)) + 1])
    stops = np.append(starts[1:], len(terms))
    # Most chunks have one or two postings: all are laid out at once and cut up as bytes.
    offsets = seqs - np.repeat(seqs[starts], stops - starts)
    narrow, wide = offsets.astype(np.uint16).tobytes(), offsets.astype(np.uint32).tobytes()
    counts, lengths = tail.counts[order].tobytes(), tail.lengths[order].tobytes()
    rows = zip(terms[starts].tolist(), seqs[starts].tolist(), starts.tolist(), stops.tolist(), strict=True)
    for term, first, start, stop in rows:
        width, packed = (2, narrow) if offsets[stop - 1] < _NARROW else (4, wide)
        places = packed[width * start : width * stop]
        yield term, first, bytes([width]) + places + counts[start:stop] + lengths[start:stop]


def pack(postings: Postings) -> bytes:
    offsets = postings.seqs - postings.seqs[0]
    width = 2 if offsets[-1] < _NARROW else 4
    packed = offsets.astype(np.uint16 if width == 2 else np.uint32)
    return bytes([width]) + packed.tobytes() + postings.counts.tobytes() + postings.lengths.tobytes()


def unpack(first: int, chunk: bytes) -> Postings:
    width = chunk[0]
    size = (len(chunk) - 1) // (width + 2)
    offsets = np.frombuffer(chunk, np.uint16 if width == 2 else np.uint32, size, offset=1)
    rest = 1 + size * width
    return Postings(
        offsets.astype(np.int64) + first,
        np.frombuffer(chunk, np.uint8, size, offset=rest),
        np.frombuffer(chunk, np.uint8, size, offset=rest + size),
    )


def without(first: int, chunk: bytes, removed: Seqs) -> tuple[int, bytes] | None:
    """Take events out of a chunk; None when none is left."""
    postings = unpack(first, chunk)
    keep = ~np.isin(postings.seqs, removed)
    if not keep.any():
        return None
    kept = Postings(postings.seqs[keep], postings.counts[keep], postings.lengths[keep])
    return int(kept.seqs[0]), pack(kept)


class Bm25:
    """Add up BM25 over the terms of a question, then rank.

    `add` takes one term's postings, all of them: how many there are is the term's document frequency.
    """

    def __init__(self, *, events: int, words: int) -> None:
        self._events = events
        average = max(1.0, words / max(1, events))
        self._norms = (K1 * (1 - B + B * LENGTHS / average)).astype(np.float32)
        self._seqs: list[Seqs] = []
        self._scores: list[Scores] = []

    def add(self, parts: Sequence[Postings], weight: float = 1.0) -> None:
        """Score the events that hold one term."""
        frequency = sum(len(part.seqs) for part in parts)
        if not frequency:
            return
        idf = math.log(1 + (self._events - frequency + 0.5) / (frequency + 0.5)) if self._events >= frequency else 0.0
        scale = np.float32(weight * max(idf, 1e-6) * (K1 + 1))
        for part in parts:
            counts = part.counts.astype(np.float32)
            self._seqs.append(part.seqs)
            self._scores.append((scale * counts / (counts + self._norms[part.lengths])).astype(np.float32, copy=False))

    def top(self, k: int, allowed: Seqs | None = None) -> Ranking:
        """Rank the best `k` events, the newer first among equals; `allowed` is sorted."""
        seqs, scores = self._summed()
        if allowed is not None and len(seqs):
            keep = contained(seqs, allowed)
            seqs, scores = seqs[keep], scores[keep]
        return best(seqs, scores, k)

    def _summed(self) -> tuple[Seqs, Scores]:
        if not self._seqs:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        lowest = min(int(seqs[0]) for seqs in self._seqs)
        highest = max(int(seqs[-1]) for seqs in self._seqs)
        total = sum(map(len, self._seqs))
        if highest - lowest > 16 * total + 65_536:  # a few events far apart: a dense array would be mostly air
            seqs, inverse = np.unique(np.concatenate(self._seqs), return_inverse=True)
            return seqs, np.bincount(inverse, np.concatenate(self._scores)).astype(np.float32)
        sums = np.zeros(highest - lowest + 1, np.float32)
        for seqs, scores in zip(self._seqs, self._scores, strict=True):
            sums[seqs - lowest] += scores  # an event is at most once in a part
        hit = np.flatnonzero(sums)
        return hit + lowest, sums[hit]


def best(seqs: Seqs, scores: Scores, k: int) -> Ranking:
    """Rank the best `k`, the newer first among equals."""
    if len(scores) > k:
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        keep = np.flatnonzero(scores >= threshold)
        seqs, scores = seqs[keep], scores[keep]
    order = np.lexsort((-seqs, -scores))[:k]
    return Ranking(seqs[order], scores[order])


def contained(seqs: Seqs, allowed: Seqs) -> NDArray[np.bool_]:
    """Tell which of some events are among others, which are sorted."""
    if not len(allowed):
        return np.zeros(len(seqs), np.bool_)
    at = np.minimum(np.searchsorted(allowed, seqs), len(allowed) - 1)
    return allowed[at] == seqs
