"""Cache the word tail and the pooled vectors of spaces in memory; each access reads what is new.

The store decides, always: a reader first reads its space's epoch and then only what is newer than the cache. An epoch
that moved means that something was removed or rebuilt, and the cache starts anew. So a cache can be behind or ahead of
a snapshot but never wrong: what a snapshot does not hold is dropped when its events are fetched.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from everyword.storage.nearest import PooledMatrix, PooledView
from everyword.storage.postings import Tail, flatten
from everyword.storage.rows import Model, Space

K = TypeVar("K")
V = TypeVar("V")

MAX_SPACES = 64  # cached at once; a service with many tenants keeps the busy ones


@dataclass(slots=True)
class _WordTail:
    version: tuple[int, int, int]
    tail: Tail = field(default_factory=lambda: flatten([]))
    events: int = 0
    last: int = 0


@dataclass(slots=True)
class _Pooled:
    epoch: int
    matrix: PooledMatrix
    position: int = 0


class _Queries(Protocol):
    """The part of a `Snapshot` that caches need; naming it would make an import cycle."""

    def rows(self, name: str, values: Sequence[Any] = (), /) -> list[Sequence[Any]]: ...


class Caches:
    """The caches of one store, shared by its connections."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words: dict[int, _WordTail] = {}
        self._pooled: dict[tuple[int, int], _Pooled] = {}
        self._memos: dict[int, dict[str, object]] = {}

    def clear(self) -> None:
        """Start anew: a transaction that may have been looked at was undone, and its numbers will be used again."""
        with self._lock:
            self._words.clear()
            self._pooled.clear()
            self._memos.clear()

    def memo(self, space: int) -> dict[str, object]:
        """Give what writers remember of a space; only they look at it, in their turn."""
        with self._lock:
            kept = self._memos.pop(space, {})
            _keep(self._memos, space, kept)
            return kept

    def word_tail(self, reader: _Queries, space: Space) -> Tail:
        """Give the terms of the events that are not in postings yet."""
        with self._lock:
            cached = self._words.pop(space.id, None)
            version = (space.epoch, space.generation, space.words_upto)
            if cached is None or cached.version != version:
                cached = _WordTail(version)
            # Within a version the tail only grows, so that a count tells whether there is more to read.
            if cached.events < space.word_tail:
                rows = [
                    (seq, length, terms)
                    for seq, length, terms in reader.rows("word_tail_after", (space.id, cached.last))
                ]
                cached.tail = cached.tail.followed_by(flatten(rows))
                cached.events += len(rows)
                cached.last = rows[-1][0] if rows else cached.last
            _keep(self._words, space.id, cached)
            return cached.tail

    def pooled(self, reader: _Queries, space: Space, model: Model) -> PooledView:
        """Give the pooled vectors of a space."""
        key = (space.id, model.id)
        with self._lock:
            cached = self._pooled.pop(key, None)
            if cached is None or cached.epoch != space.epoch:
                cached = _Pooled(space.epoch, PooledMatrix(model.dims))
            self._extend(reader, space, model, cached)
            _keep(self._pooled, key, cached)
            return cached.matrix.view()

    def _extend(self, reader: _Queries, space: Space, model: Model, cached: _Pooled) -> None:
        rows = reader.rows("pooled_after", (space.id, model.id, cached.position))
        blocks = [row for row in rows if row[1] is not None]
        for last, positions, units, _, pooled in blocks:
            at = np.frombuffer(positions, np.int64)
            new = at > cached.position
            cached.matrix.extend(
                np.frombuffer(units, np.int64)[new], np.frombuffer(pooled, np.int8).reshape(len(at), -1)[new]
            )
            cached.position = last
        # Sealing a block and clearing the tail are one transaction: all of the tail is behind the blocks.
        tail = rows[len(blocks) :]
        if tail:
            cached.matrix.extend(
                np.array([unit for _, _, _, unit, _ in tail], np.int64),
                np.frombuffer(b"".join(pooled for *_, pooled in tail), np.int8).reshape(len(tail), -1),
            )
            cached.position = tail[-1][0]


def _keep(cache: dict[K, V], key: K, value: V) -> None:
    # Put back as the newest; the one not looked at for longest goes first.
    cache[key] = value
    while len(cache) > MAX_SPACES:
        cache.pop(next(iter(cache)))
