"""Run named queries within one transaction of one connection: readers and writers are built on this.

The classes above know queries by their names alone, so that another SQL database needs a subclass of `Snapshot`, a
dialect for `queries.py`, and nothing else.

The word tail and the pooled vectors of spaces are cached in memory; each access reads what is new. The store decides,
always: a reader first reads its space's epoch and then only what is newer than the cache. An epoch that moved means
that something was removed or rebuilt, and the cache starts anew. So a cache can be behind or ahead of a snapshot but
never wrong: what a snapshot does not hold is dropped when its events are fetched.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from everyword.storage.nearest import PooledMatrix, PooledView
from everyword.storage.postings import Ranking, Seqs, Tail, flatten
from everyword.storage.rows import EMBED, VIEWS, Model, Space
from everyword.storage.sql.tables import Tables
from everyword.text.terms import ANALYSIS_VERSION
from everyword.types.times import to_micros

Row = Sequence[Any]
K = TypeVar("K")
V = TypeVar("V")

# Queries that change models or facts about the file.
_CHANGES_THE_FILE = frozenset(
    "add_model retire_active retire_building activate_model delete_model set_fact add_fact".split()
)
# Queries that change a space's row.
_CHANGES_A_SPACE = frozenset(("count_space", "next_epoch", "set_words_upto", "take_generation", "adopt_generation"))
_NO_SPACE = 0  # no row belongs to a space of this number
_END_OF_TIME = 1 << 62  # microseconds


class Snapshot(ABC):
    """Runs queries by their names."""

    writes = False
    scrubs_itself = True  # whether forgetting scrubs at once, so that a scrub still owed is a problem

    def __init__(self, caches: Caches, memos: Caches | None = None) -> None:
        self.caches = caches
        self.memos = memos or caches  # what writers remember
        self._spaces: dict[str, Space | None] = {}  # by name, as this transaction read them; None: not there
        self._views: dict[tuple[int, int], PooledView] = {}
        # They come with the row of a space: one query less in every transaction. None: not read, or changed since.
        self.models: list[Row] | None = None
        self.facts: dict[str, str] | None = None
        self._cursors: dict[str, list[Row]] = {}  # of a space's views, by its name

    @abstractmethod
    def query(self, name: str) -> str:
        """Give the text of a query."""

    @abstractmethod
    def rows(self, name: str, values: Sequence[Any] | Mapping[str, Any] = (), where: str = "") -> list[Row]:
        """Run a named query and read all its rows."""

    @abstractmethod
    def each(self, name: str, values: Sequence[Any]) -> Iterator[Row]:
        """Run a named query and read its rows one by one."""

    @abstractmethod
    def run(self, name: str, values: Sequence[Any] | Mapping[str, Any]) -> int:
        """Run a named query that changes something; count the rows that it changed."""

    @abstractmethod
    def run_many(self, name: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a named query for each row of values."""

    @abstractmethod
    def own_problems(self, *, deep: bool) -> Iterator[str]:
        """Let the database check itself, as far as it can."""

    @abstractmethod
    def changed_tables(self) -> Iterator[tuple[str, str]]:
        """Find tables whose rows are not those that were written, each with what is wrong, where that can be told."""

    @abstractmethod
    def own_parts(self) -> dict[str, int]:
        """Count what the database itself is made of."""

    @abstractmethod
    def tables(self) -> Tables:
        """Give access to whole tables."""

    def added(self, name: str, values: Sequence[Any]) -> int:
        """Run a named query that adds one row and gives its number."""
        return int(self.one(name, values))

    def one(self, name: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
        """Run a named query for one value; None where there is no row."""
        rows = self.rows(name, values)
        return rows[0][0] if rows else None

    def storable(self, text: str) -> str | bytes:
        """Give a text as the database can hold it."""
        return text

    def read_json(self, part: str) -> Any:
        """Read what a query took out of stored JSON, itself as JSON."""
        return json.loads(part)

    def space(self, name: str) -> Space | None:
        """Return a space's row, read once in a transaction; None where there is no such space."""
        if name not in self._spaces:
            row = self.rows("space_by_name", (name,))[0]
            self.models, self.facts, self._cursors[name] = map(json.loads, row[10:13])
            self.keep_space(name, None if row[0] is None else Space(*row[:10]))
        return self._spaces[name]

    def cursors(self, name: str) -> list[Row]:
        """Give how far the views of a space are: name, last event, version. They come with its row."""
        space = self.space(name)
        if space is None:
            return []
        return self.rows("cursors", (space.id,)) if self.writes else self._cursors[name]

    def keep_space(self, name: str, space: Space | None) -> None:
        """Take a space's row as it was read or changed just now."""
        self._spaces[name] = space

    def space_to_write(self, name: str) -> Space:
        """Return a space's row; add the space where it is missing."""
        found = self.space(name)
        if found is None:
            found = self._spaces[name] = Space(*self.rows("add_space", (name, ANALYSIS_VERSION))[0])
        return found

    def nearest(self, space: Space, model: Model, vector: NDArray[np.float32], k: int, allowed: Seqs | None) -> Ranking:
        """Rank the `k` nearest events by cosine; a long event counts by its best window."""
        return self.pooled_view(space, model).nearest(vector, k, allowed)

    def prepare(self, space: Space, model: Model) -> None:
        """Read what `nearest` will need."""
        self.pooled_view(space, model)

    def pooled_view(self, space: Space, model: Model) -> PooledView:
        """Give the pooled vectors of a space; a snapshot looks once for newer ones, a writer each time."""
        key = (space.id, model.id)
        if self.writes or key not in self._views:
            self._views[key] = self.caches.pooled(self, space, model)
        return self._views[key]

    def _text(self, name: str, where: str = "") -> str:
        """Give the text of a query that is about to be run, with its conditions."""
        self._before(name)
        return self.query(name).replace("{where}", where)

    def _before(self, name: str) -> None:
        """Drop what was read, where a query is about to change it."""
        if name in _CHANGES_A_SPACE:
            self._spaces.clear()
        elif name in _CHANGES_THE_FILE:
            self.models = self.facts = None


class SpaceRows:
    """Runs queries about one space within one transaction."""

    def __init__(self, sql: Snapshot, space: str) -> None:
        self.sql = sql
        self.space = space

    @property
    def row(self) -> Space | None:
        """Return the space's row, read once in a transaction; None where there is no such space."""
        return self.sql.space(self.space)

    @property
    def id(self) -> int:
        """Return the space's number for a query; where there is no such space, one that finds nothing."""
        row = self.row
        return _NO_SPACE if row is None else row.id

    @property
    def last_seq(self) -> int:
        """Return the number of the last event that was added, also if it was forgotten since."""
        row = self.row
        return 0 if row is None else row.last_seq

    @property
    def has_old_words(self) -> bool:
        """Return whether an older version of the analysis made the postings of the space."""
        row = self.row
        return row is not None and row.analysis < ANALYSIS_VERSION

    @property
    def into(self) -> int:
        """Return the space's number to write with; add the space where it is missing."""
        return self.sql.space_to_write(self.space).id

    def _rows(self, query: str, *values: Any, **named: Any) -> list[Row]:
        """Run a query about the space, whose number is its first value, or the one called `space`."""
        return self.sql.rows(query, self._with_space(values, named))

    def _rows_of(self, query: str, several: Collection[Any], *values: Any, **named: Any) -> list[Row]:
        """Run such a query about several numbers or texts, its second value or `ids`; about none, there are no rows."""
        if not len(several):
            return []
        numbers = not isinstance(next(iter(several)), str | bytes)
        taken = array(cast("Sequence[int]", several)) if numbers else tuple(several)
        return self._rows(query, ids=taken, **named) if named else self._rows(query, taken, *values)

    def _column(self, query: str, *values: Any, **named: Any) -> list[Any]:
        """Run such a query for one value of each row."""
        return [row[0] for row in self._rows(query, *values, **named)]

    def _pairs(self, query: str, *values: Any, **named: Any) -> dict[Any, Any]:
        """Run such a query for two values of each row, by the first of them."""
        return {row[0]: row[1] for row in self._rows(query, *values, **named)}

    def _one(self, query: str, *values: Any, **named: Any) -> Any:
        """Run such a query for one value; None where there is no row."""
        return self.sql.one(query, self._with_space(values, named))

    def _with_space(self, values: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
        return {"space": self.id, **named} if named else (self.id, *values)

    def _change(self, query: str, *values: Any) -> int:
        """Run a query that changes rows of the space; count them."""
        return self.sql.run(query, (self.into, *values))

    def _change_each(self, query: str, several: Iterable[Sequence[Any]]) -> None:
        """Run a query that changes the space for each row of values."""
        into = self.into
        self.sql.run_many(query, ((into, *values) for values in several))

    def cursors(self) -> dict[str, int]:
        """Tell the last event that each view has applied; 0 where it must begin again."""
        found = {(name, version): upto for name, upto, version in self.sql.cursors(self.space)}
        return {name: found.get((name, version), 0) for name, version in VIEWS.items()}

    def cursor(self, view: str) -> int:
        """Tell the last event that a view has applied."""
        return self.cursors()[view]

    def count_behind(self, upto: int, *, most: int = 1 << 62) -> int:
        """Count the events after one, up to a number of them."""
        return self._one("events_behind", upto, most) if upto < self.last_seq else 0

    def count_pending_vectors(self) -> int:
        """Count the events whose vectors are still to be made."""
        return self.sql.one("count_jobs_of_kind", (EMBED, self.id))

    def set_cursor(self, view: str, upto: int) -> None:
        """Note the last event that a view has applied."""
        self._change("set_cursor", view, VIEWS[view], upto)

    def note_last_seq(self, seq: int) -> None:
        """Note that events up to one were copied into the log."""
        self.sql.run("count_space", (0, 0, 0, seq, self.into))


def compact_json(body: object) -> str:
    """Write JSON in as few characters as it takes, all of them ASCII."""
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def known_by(as_of: datetime | None) -> int:
    """Give the moment up to which something was known, in microseconds; later than all times where none is given."""
    return _END_OF_TIME if as_of is None else to_micros(as_of)[0]


def array(numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Make numbers a value that a query takes as a whole; texts are one as a tuple."""
    return np.ascontiguousarray(numbers, dtype=np.int64)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Gather the second values of pairs by the first."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def names(gathered: str | Sequence[str]) -> tuple[str, ...]:
    """Put the names in order that a query gathered: as an array where the database has them, else as JSON."""
    found: Sequence[str | None] = json.loads(gathered) if isinstance(gathered, str) else gathered
    return tuple(sorted(name for name in found if name is not None))


MAX_SPACES = 64  # cached at once; a service with many tenants keeps the busy ones


class _WordTail(Struct):
    version: tuple[int, int, int]
    tail: Tail = field(default_factory=lambda: flatten([]))
    events: int = 0
    last: int = 0


class _Pooled(Struct):
    epoch: int
    matrix: PooledMatrix
    position: int = 0


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

    def word_tail(self, reader: Snapshot, space: Space) -> Tail:
        """Give the terms of the events that are not in postings yet."""
        with self._lock:
            cached = self._words.pop(space.id, None)
            version = (space.epoch, space.generation, space.words_upto)
            if cached is None or cached.version != version:
                cached = _WordTail(version)
            # Within a version the tail only grows, so that a count tells whether there is more to read.
            if cached.events < space.word_tail:
                rows = reader.rows("word_tail_after", (space.id, cached.last))
                cached.tail = cached.tail.followed_by(flatten(rows))
                cached.events += len(rows)
                cached.last = rows[-1][0] if rows else cached.last
            _keep(self._words, space.id, cached)
            return cached.tail

    def pooled(self, reader: Snapshot, space: Space, model: Model) -> PooledView:
        """Give the pooled vectors of a space."""
        key = (space.id, model.id)
        with self._lock:
            cached = self._pooled.pop(key, None)
            if cached is None or cached.epoch != space.epoch:
                cached = _Pooled(space.epoch, PooledMatrix(model.dims))
            self._extend(reader, space, model, cached)
            _keep(self._pooled, key, cached)
            return cached.matrix.view()

    def _extend(self, reader: Snapshot, space: Space, model: Model, cached: _Pooled) -> None:
        rows = reader.rows("pooled_after", (space.id, model.id, cached.position))
        blocks = [row for row in rows if row[1] is not None]
        units: list[NDArray[np.int64]] = []
        vectors: list[NDArray[np.int8]] = []
        for last, positions, of_block, _, pooled in blocks:
            at = np.frombuffer(positions, np.int64)
            new = at > cached.position
            units.append(np.frombuffer(of_block, np.int64)[new])
            vectors.append(np.frombuffer(pooled, np.int8).reshape(len(at), -1)[new])
            cached.position = last
        # Sealing a block and clearing the tail are one transaction: all of the tail comes after the blocks.
        tail = rows[len(blocks) :]
        if tail:
            units.append(np.array([unit for _, _, _, unit, _ in tail], np.int64))
            vectors.append(np.frombuffer(b"".join(pooled for *_, pooled in tail), np.int8).reshape(len(tail), -1))
            cached.position = tail[-1][0]
        if units:
            cached.matrix.extend(np.concatenate(units), np.concatenate(vectors))


def _keep(cache: dict[K, V], key: K, value: V) -> None:
    # Put back as the newest; the one not looked at for longest goes first.
    cache[key] = value
    while len(cache) > MAX_SPACES:
        cache.pop(next(iter(cache)))
