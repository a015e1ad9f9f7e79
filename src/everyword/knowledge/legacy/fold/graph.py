"""The part of the concept graph that is at work: what the next event is compared with.

Bounded: the concepts that were last confirmed, and the events that still look for company. So an event costs the same
in a memory of a hundred and of a hundred thousand events. Everything here follows from stored rows, whatever way they
came about: sums of whole numbers in float64 are exact in any order.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from everyword.knowledge.legacy.fold.moments import WORD, Moment
from everyword.knowledge.legacy.fold.themes import Profile
from everyword.storage.protocol import COUNTED

USUAL_FROM = 3  # concepts that have a word in half of their events: it names none of them
MOST_CONCEPTS = 2_048  # at work; an older one comes back by its theme or its label
MOST_LOOSE = 512  # events that look for company: it comes within the next few hundred, or not at all
TAIL = 32  # events whose words a concept remembers, so that one that leaves can be replaced by the one before
WINDOW = 16  # events whose words stand for a concept: what it is about now, not what it once was
UNFAMILIAR = 0.25  # what an area that never came up counts: there is a first time for everything
TELLING_SHARE = 0.25  # of a concept's events that have a word, for the word to be the concept's
NEAREST = 12  # concepts and loose events that are looked at closely, by their vectors

Vector = NDArray[np.float64]
_FAR = -2.0  # below every cosine
_STEPS = 64  # parts of one in which the middle is written
_UNSURE = 48  # events that count as nothing beside those that are there
_NOWHERE = 1e-6  # length of what lies in the middle
_ENOUGH = 4  # vectors whose mean cosine says something
USUAL_LEVEL = 0.3  # cosine of two texts of one memory, as long as there are too few to tell


@dataclass(frozen=True, slots=True)
class Seen:
    """What a concept remembers of one of its events."""

    seq: int
    terms: tuple[str, ...]
    names: tuple[str, ...]
    words: frozenset[str]  # both
    written: str  # the same as JSON: a concept is kept after every event, and its events stay the same

    @classmethod
    def of(cls, seq: int, terms: Sequence[str], names: Sequence[str]) -> Seen:
        """Remember an event."""
        return cls(seq, tuple(terms), tuple(names), frozenset((*terms, *names)), json.dumps([seq, terms, names]))


@dataclass(slots=True, kw_only=True)
class Node:
    """A concept at work."""

    id: str
    label: str
    theme: str | None
    size: int = 0  # events that count
    total: Vector = field(default_factory=lambda: np.zeros(0))
    tail: tuple[Seen, ...] = ()  # of its latest events, without a gap; never fewer than the window has
    touched: int = 0  # seq of the event that last changed it
    last_at: int = 0  # microseconds: when the latest of its events happened
    _counts: Counter[str] | None = None
    _own: list[str] | None = None
    _names: frozenset[str] | None = None

    def add(self, moment: Moment, by: int) -> None:
        """Take an event in."""
        self.size += 1
        self.total = _sum(self.total, moment.vector)
        counts, gone = self._counts, self.tail[-WINDOW : -WINDOW + 1] if len(self.tail) >= WINDOW else ()
        self.remember((*self.tail, Seen.of(moment.seq, moment.terms, moment.names))[-TAIL:])
        if counts is not None:
            _recount(counts, moment.terms, (term for seen in gone for term in seen.terms))
            self._counts = counts
        self.touched, self.last_at = by, max(self.last_at, moment.at)

    def lose(self, moment: Moment, by: int) -> bool:
        """Let an event go; tell whether those that it remembers are still enough."""
        self.size -= 1
        if len(moment.vector) == len(self.total):
            self.total = self.total - moment.vector
        self.remember(tuple(seen for seen in self.tail if seen.seq != moment.seq))
        self.touched = by
        return len(self.tail) >= min(WINDOW, self.size)

    def remember(self, tail: tuple[Seen, ...]) -> None:
        """Set which of its latest events it remembers."""
        self.tail = tail
        self._counts = self._own = self._names = None

    def absorb(self, total: Vector, size: int, seen: Sequence[Seen], by: int, last_at: int) -> None:
        """Take over what another concept was about; `seen` are the latest of its events."""
        self.size += size
        self.total = _sum(self.total, total)
        # Where more came over than are told here, those from before are no longer the ones just before them.
        self.remember((*self.tail, *seen)[-TAIL:] if len(seen) == size else tuple(seen))
        self.touched, self.last_at = by, max(self.last_at, last_at)

    @property
    def window(self) -> tuple[Seen, ...]:
        """Give the latest of its events: what it is about now."""
        return self.tail[-WINDOW:]

    @property
    def counts(self) -> Counter[str]:
        """Tell in how many of its latest events each word stands."""
        if self._counts is None:
            self._counts = Counter(chain.from_iterable(seen.terms for seen in self.window))
        return self._counts

    def share(self, term: str) -> float:
        """Tell in which share of its latest events a word stands."""
        return self.counts[term] / len(self.window) if self.tail else 0.0

    @property
    def own(self) -> list[str]:
        """List the words that enough of its latest events have."""
        if self._own is None:
            least = TELLING_SHARE * len(self.window)
            self._own = [term for term, count in self.counts.items() if count >= least]
        return self._own

    @property
    def mostly(self) -> frozenset[str]:
        """Give the words that half of its latest events have."""
        many = len(self.window)
        return frozenset(term for term, count in self.counts.items() if 2 * count >= many)

    @property
    def main_word(self) -> str:
        """Give the word that most of its latest events have."""
        most = max(self.counts.values(), default=0)
        return min((term for term, count in self.counts.items() if count == most), default="")

    @property
    def names(self) -> frozenset[str]:
        """Give the names in its latest events."""
        if self._names is None:
            self._names = frozenset(name for seen in self.window for name in seen.names)
        return self._names


class Nearness:
    """How near vectors lie to one that was asked for. Good until the rows change."""

    def __init__(self, places: dict[str, int], keys: list[str | None], cosines: NDArray[np.float64]) -> None:
        self._places, self._keys, self._cosines = places, keys, cosines

    def get(self, key: str) -> float | None:
        """Tell one cosine."""
        place = self._places.get(key)
        return float(self._cosines[place]) if place is not None and len(self._cosines) else None

    @property
    def level(self) -> float:
        """Tell how near things lie here on average: models differ in what they call near."""
        there = self._cosines[self._cosines > _FAR]
        return max(0.0, round(float(np.mean(there)), 6)) if len(there) >= _ENOUGH else USUAL_LEVEL

    def top(self, count: int) -> list[tuple[str, float]]:
        """List the nearest; of two as near, the one whose key comes first."""
        cosines = self._cosines
        least = np.partition(cosines, len(cosines) - count)[len(cosines) - count] if count < len(cosines) else _FAR
        places: list[int] = np.flatnonzero((cosines >= least) & (cosines > _FAR)).tolist()
        found = [(key, float(cosines[place])) for place in places if (key := self._keys[place]) is not None]
        return sorted(found, key=lambda one: (-one[1], one[0]))[:count]


class Middle:
    """What all that a graph holds has in common: two friends' talk is alike in much that says nothing of its themes.

    Seen from there, events of different themes lie apart. Without it whatever holds most lies nearest to everything.
    """

    def __init__(self, total: Vector, many: int) -> None:
        # In whole steps, so that products stay exact; the fewer there are, the less is known of what they share.
        self._steps = np.rint(total * (_STEPS / (many + _UNSURE))) if many else np.zeros(0)
        self.square = float(np.dot(self._steps, self._steps)) / _STEPS**2

    def times(self, vectors: Vector) -> Vector | float:
        """Multiply a vector, or each of several."""
        return vectors @ self._steps / _STEPS if vectors.shape[-1] == len(self._steps) else 0.0 * vectors[..., 0]


class Rows:
    """Vectors side by side, each under a key; a place that becomes free is used again."""

    def __init__(self) -> None:
        self._clear(0)

    def put(self, key: str, vector: Vector | NDArray[np.int8], many: int = 1) -> None:
        """Set a key's vector: the sum of so many."""
        if len(vector) == 0:
            return
        if self._matrix.shape[1] != len(vector):  # another model: its vectors compare with nothing here
            self._clear(len(vector))
        place = self._places.get(key)
        if place is None:
            place = self._free.pop() if self._free else len(self._keys)
            self._grow(place + 1)
            self._places[key] = place
            self._keys[place] = key
        self._matrix[place] = vector
        self._squares[place] = float(np.dot(self._matrix[place], self._matrix[place]))
        self._many[place] = many

    def drop(self, key: str) -> None:
        """Forget a key."""
        place = self._places.pop(key, None)
        if place is not None:
            self._keys[place] = None
            self._free.append(place)
            self._matrix[place] = 0.0
            self._squares[place] = 0.0

    def near(self, vector: Vector | NDArray[np.int8], many: int, middle: Middle) -> Nearness:
        """Tell the cosine of each key's mean to that of `vector`, seen from the middle; no order of sums shows."""
        asked = np.asarray(vector, np.float64)
        if not self._places or len(asked) != self._matrix.shape[1] or not asked.any():
            return Nearness({}, [], np.zeros(0))
        rows, counts = self._matrix[: len(self._keys)], self._many[: len(self._keys)]
        squares = self._squares[: len(self._keys)]
        # Products of whole numbers: exact, in whatever order they are added.
        both, mine, theirs = rows @ asked, middle.times(asked) / many, middle.times(rows) / counts
        products = both / (counts * many) - mine - theirs + middle.square
        length = math.sqrt(max(0.0, float(np.dot(asked, asked)) / many**2 - 2 * mine + middle.square))
        lengths = np.sqrt(np.maximum(0.0, squares / counts**2 - 2 * theirs + middle.square))
        cosines = np.full(len(lengths), _FAR)
        there = (squares > 0) & (lengths > _NOWHERE) & (length > _NOWHERE)
        np.divide(products, lengths * length, out=cosines, where=there)
        return Nearness(self._places, self._keys, cosines.round(9))

    def _clear(self, dims: int) -> None:
        self._places: dict[str, int] = {}
        self._keys: list[str | None] = []
        self._free: list[int] = []
        self._matrix = np.zeros((0, dims))
        self._squares = np.zeros(0)
        self._many = np.ones(0)

    def _grow(self, count: int) -> None:
        while len(self._keys) < count:
            self._keys.append(None)
        if count > len(self._matrix):
            capacity = max(64, 2 * len(self._matrix), count)
            matrix, squares, many = np.zeros((capacity, self._matrix.shape[1])), np.zeros(capacity), np.ones(capacity)
            matrix[: len(self._matrix)], squares[: len(self._squares)] = self._matrix, self._squares
            many[: len(self._many)] = self._many
            self._matrix, self._squares, self._many = matrix, squares, many


class Graph:
    """Concepts at work, loose events, and who was told to stay apart."""

    def __init__(self, space: str, profile: Profile) -> None:
        self.space = space
        self.profile = profile
        self.nodes: dict[str, Node] = {}
        self.loose: dict[int, Moment] = {}
        self.apart: set[tuple[str, str]] = set()
        self._themes: dict[str, str] = {}
        self._centres = Rows()
        self._loose_rows = Rows()
        self._loose_ids: dict[str, Moment] = {}
        self._having: dict[str, dict[int, Moment]] = {}
        self._mostly: Counter[str] = Counter()  # in how many concepts most events have a word
        self._most_have: dict[str, frozenset[str]] = {}  # the words that are counted there, by concept
        self._areas: Counter[str] = Counter()
        self._counted: dict[str, int] = {}  # the size with which a concept stands in its area
        self._weighed: dict[str, tuple[Vector, int]] = {}  # what each concept is in the middle with
        self._whole: tuple[Vector, int] = (np.zeros(0), 0)
        self._middle: Middle | None = None
        self.held: dict[int, dict[str, float]] = {}  # concepts that a loose event belongs to for now, how strongly

    # Changing

    def put(self, node: Node) -> None:
        """Set a concept, new or changed."""
        self._count_area(node.theme, node.size - self._counted.get(node.id, 0))
        self._counted[node.id] = node.size
        self.nodes.pop(node.id, None)
        self.nodes[node.id] = node  # as the newest
        if node.theme is not None:
            self._themes[node.theme] = node.id
        self._tell_usual(node.id, node.mostly)
        self._weigh(node.id, node.total, node.size)
        self._centres.put(node.id, node.total, max(1, node.size))

    def drop(self, id: str) -> None:
        """Take a concept out of work."""
        node = self.nodes.pop(id, None)
        if node is None:
            return
        self._count_area(node.theme, -self._counted.pop(id, 0))
        if node.theme is not None and self._themes.get(node.theme) == id:
            del self._themes[node.theme]
        self._tell_usual(id, frozenset())
        self._weigh(id, np.zeros(0), 0)
        self._centres.drop(id)

    def loosen(self, moment: Moment) -> None:
        """Let an event look for company."""
        self.loose[moment.seq] = moment
        self._loose_rows.put(moment.event_id, moment.vector)
        self._loose_ids[moment.event_id] = moment
        for term in moment.terms:
            self._having.setdefault(term, {})[moment.seq] = moment

    def settle(self, seq: int) -> None:
        """Let an event look no more."""
        self.held.pop(seq, None)
        moment = self.loose.pop(seq, None)
        if moment is not None:
            self._loose_rows.drop(moment.event_id)
            self._loose_ids.pop(moment.event_id, None)
            for term in moment.terms:
                having = self._having[term]
                having.pop(seq, None)
                if not having:
                    del self._having[term]

    def moved(self, absorbed: str, into: str | None) -> None:
        """Let loose events that one concept held be held by another, as the latest that holds them, or by none."""
        self.held = {seq: self.held.get(seq, {}) for seq in self.loose}
        for held in self.held.values():
            weight = held.pop(absorbed, None)
            if weight is not None and into is not None:
                if held.get(into, 0.0) < COUNTED <= weight:  # as the rows of both are joined
                    held[into] = weight
                held.setdefault(into, weight)

    # Reading

    def of_theme(self, theme: str) -> Node | None:
        """Find the concept of a theme."""
        id = self._themes.get(theme)
        return self.nodes.get(id) if id is not None else None

    def loose_event(self, id: str) -> Moment | None:
        """Find a loose event by its id."""
        return self._loose_ids.get(id)

    def having(self, term: str) -> list[Moment]:
        """List the loose events with a word, the oldest first."""
        return list(self._having.get(term, {}).values())  # events come, and are read back, in order

    def telling_among_loose(self, window: Sequence[Sequence[str]]) -> dict[str, float]:
        """Weigh the words of some events by how few of those, and of the loose ones, have them."""
        counts = Counter(term for terms in window for term in terms)
        counts.update({term: len(self._having.get(term, ())) for term in counts})
        total = len(self.loose) + len(window)
        return {term: math.log(1 + total / count) for term, count in counts.items()}

    def is_usual(self, term: str) -> bool:
        """Tell whether several concepts have a word in half of their events: then it says little of any one."""
        return self._mostly[term] >= USUAL_FROM

    def is_taken(self, term: str) -> bool:
        """Tell whether a word is no name beside another: it is usual, or a concept has its name from it."""
        return self.is_usual(term) or self.of_theme(WORD + term) is not None

    @property
    def middle(self) -> Middle:
        """Give what the concepts have in common, each as far as it is large."""
        if self._middle is None:
            self._middle = Middle(*self._whole)
        return self._middle

    def near(self, vector: Vector | NDArray[np.int8], many: int = 1) -> Nearness:
        """Tell how near each concept lies to a vector, or to the sum of so many, by its id."""
        return self._centres.near(vector, max(1, many), self.middle)

    def near_loose(self, vector: Vector | NDArray[np.int8], many: int = 1) -> Nearness:
        """Tell how near each loose event lies, by the id of the event."""
        return self._loose_rows.near(vector, max(1, many), self.middle)

    def cosine(self, one: Moment, other: Moment) -> float | None:
        """Tell how near two events lie; None where they have no vectors to compare."""
        if len(one.vector) == 0 or len(one.vector) != len(other.vector):
            return None
        mine, theirs = one.vector.astype(np.float64), other.vector.astype(np.float64)
        middle = self.middle
        first, second = float(middle.times(mine)), float(middle.times(theirs))
        product = float(np.dot(mine, theirs)) - first - second + middle.square
        square = (float(np.dot(mine, mine)) - 2 * first + middle.square) * (
            float(np.dot(theirs, theirs)) - 2 * second + middle.square
        )
        return round(product / math.sqrt(square), 9) if square > 0 else None

    def familiarity(self, theme: str) -> float:
        """Tell how much of what is known belongs to a theme's area, 0 to 1; 1 where nothing is known."""
        total = sum(self._areas.values())
        share = self._areas[self.profile.areas.get(theme, "")] / total if total else 1.0
        return max(UNFAMILIAR, share)

    def kept_apart(self, one: str, other: str) -> bool:
        """Tell whether a person said that two do not belong together."""
        return (one, other) in self.apart or (other, one) in self.apart

    def _weigh(self, id: str, total: Vector, size: int) -> None:
        """Let a concept stand in the middle as it is now."""
        before, count = self._weighed.pop(id, (np.zeros(0), 0))
        whole, many = self._whole
        if len(before) and len(before) == len(whole):
            whole, many = whole - before, many - count
        if len(total) and size:
            if len(total) != len(whole):  # the first, or of another model
                whole, many = np.zeros(len(total)), 0
            whole, many = whole + total, many + size
            self._weighed[id] = (total, size)
        self._whole, self._middle = (whole, many), None

    def _tell_usual(self, id: str, words: frozenset[str]) -> None:
        """Let a concept count for the words that most of its events have."""
        before = self._most_have.pop(id, frozenset())
        _recount(self._mostly, words - before, before - words)
        self._most_have |= {id: words} if words else {}

    def _count_area(self, theme: str | None, by: int) -> None:
        if theme is not None and by:
            self._areas[self.profile.areas.get(theme, "")] += by


class Telling(dict[str, float]):
    """How telling words are: the fewer of those that are compared have one, the more. Worked out when asked for."""

    def __init__(self, counts: Counter[str], total: int) -> None:
        super().__init__()
        self._counts, self._total = counts, total

    def __missing__(self, term: str) -> float:
        count = self._counts[term]
        weight = self[term] = math.log(1 + self._total / count) if count else 0.0
        return weight


def telling(holders: Iterable[Iterable[str]]) -> Telling:
    """Weigh words by how few of those that are compared have them; no word twice in one of them."""
    held = list(holders)
    return Telling(Counter(chain.from_iterable(held)), len(held))


class Said:
    """The words of an event, each by its weight, to be looked for in many others. No order of sums shows."""

    def __init__(self, terms: Iterable[str], weights: Mapping[str, float]) -> None:
        self._weights = {term: weights[term] for term in terms}
        self._whole = math.fsum(self._weights.values())

    def covered(self, node: Node) -> float:
        """Tell which part of them a concept has too, 0 to 1, each as far as its latest events have it."""
        weights, counts, many = self._weights, node.counts, len(node.window)
        both = math.fsum([weights[term] * (counts[term] / many) for term in weights.keys() & counts.keys()])
        return both / self._whole if self._whole else 0.0

    def repeated(self, words: Set[str]) -> float:
        """Tell which part of them stands among some words, 0 to 1."""
        weights = self._weights
        both = math.fsum([weights[term] for term in weights.keys() & words])
        return both / self._whole if self._whole else 0.0


def shared(one: Sequence[str], other: Sequence[str], weights: Telling) -> float:
    """Tell which part of their words two events share, each by its weight, 0 to 1."""
    both = set(one) & set(other)
    if not both:
        return 0.0
    whole = math.fsum(weights[term] for term in (*one, *other))
    return 2 * math.fsum(weights[term] for term in sorted(both)) / whole if whole else 0.0


def summed(vectors: Iterable[NDArray[np.int8]]) -> Vector:
    """Add vectors up, exactly."""
    total = np.zeros(0)
    for vector in vectors:
        total = _sum(total, vector)
    return total


def _recount(counts: Counter[str], more: Iterable[str], less: Iterable[str]) -> None:
    for term in more:
        counts[term] += 1
    for term in less:
        counts[term] -= 1
        if not counts[term]:
            del counts[term]


def _sum(one: Vector, other: Vector | NDArray[np.int8]) -> Vector:
    if len(one) != len(other):
        return np.asarray(other, np.float64).copy() if len(other) else one
    return one + other
