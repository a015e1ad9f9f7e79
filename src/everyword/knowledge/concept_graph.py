"""The concepts and loose events that an event is compared with, and what it does: join a concept, found one, or wait.

It is bounded: the concepts that were last confirmed, and the newest events that belong to none. So an event costs the
same in a memory of a hundred and of a hundred thousand events. Everything here follows from stored rows, in whatever
order they were read: sums of whole numbers are exact in float64. Only vectors decide, by the events before it, so
folding event by event, in batches, or anew from the log gives the same graph.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct, convert, field
from numpy.typing import NDArray

from everyword.errors import InvalidSetting
from everyword.knowledge.concept_labels import terms_of
from everyword.models.embedders import CODECS
from everyword.storage.rows import Model, WorkRow
from everyword.types.concepts import (
    DEFAULT_WEIGHT,
    LEAST_GROUNDS,
    AddEdge,
    AddNode,
    EdgeKind,
    MergeNodes,
    Operation,
    UpdatePlan,
    concept_id,
)
from everyword.types.events import ASSISTANTS, Event
from everyword.types.times import to_micros
from everyword.types.trust import states_nothing

MOST_CONCEPTS = 2_048  # in the graph; an older one stays stored, and is no longer compared with events
MOST_LOOSE = 512  # events without a concept; they find company within the next few hundred, or not at all
WINDOW = 16  # latest events of a concept, which its label is made of
MOST_DIMENSIONS = 256  # of a vector

Vector = NDArray[np.float64]
_FAR = -2.0  # below every cosine
_STEPS = 64  # the centre is rounded to parts of one, so that products stay exact
_PRIOR = 48  # events that the usual centre of a model counts as: the mean of a few says little
_NO_LENGTH = 1e-6
CAUTION = 0.12  # how far thresholds are raised towards 1 in an empty graph


class Moment(Struct, frozen=True, kw_only=True, eq=False):
    """An event as the concept graph sees it."""

    seq: int
    event_id: str
    at: int  # microseconds: when it happened
    founds: bool  # an assistant's words may join a concept and not found one
    vector: NDArray[np.int8]  # empty without a model
    terms: tuple[str, ...] = ()  # content words of its statements


def moment_of(event: Event, seq: int, vector: NDArray[np.int8] | None, said: Sequence[str]) -> Moment:
    """Read an event for the concept graph; `said` are the quotes of its statements."""
    return Moment(
        seq=seq,
        event_id=event.id,
        at=to_micros(event.at)[0],
        founds=not is_silent(event) and (event.role or "").lower() not in ASSISTANTS,
        vector=np.zeros(0, np.int8) if vector is None else vector[:MOST_DIMENSIONS],
        terms=terms_of(said),
    )


def is_silent(event: Event) -> bool:
    """Tell whether an event says nothing that concepts are made of: a person's edit, a tool's output, a bare photo."""
    return event.record is not None or states_nothing(event)


class Node(Struct, kw_only=True):
    """A concept in the graph."""

    id: str
    label: str
    size: int = 0  # events
    total: Vector = field(default_factory=lambda: np.zeros(0))  # sum of their vectors
    window: tuple[tuple[int, tuple[str, ...]], ...] = ()  # seq and terms of its latest events
    touched: int = 0  # seq of the event that last changed it
    last_at: int = 0  # microseconds: when the latest of its events happened

    def add(self, moment: Moment, by: int) -> None:
        """Take an event in."""
        self.size += 1
        self.total = plus(self.total, moment.vector)
        self.window = (*self.window, (moment.seq, moment.terms))[-WINDOW:]
        self.touched, self.last_at = by, max(self.last_at, moment.at)

    def row(self) -> WorkRow:
        """Write it for the store."""
        total = self.total.astype(np.int32).tobytes()
        recent = json.dumps(self.window, separators=(",", ":"), ensure_ascii=False)
        return WorkRow(self.id, {}, self.size, self.touched, self.last_at, total, recent)

    @classmethod
    def of_row(cls, row: WorkRow) -> Node:
        """Read it back."""
        return cls(
            id=row.id,
            label=row.body["label"],
            size=row.size,
            total=np.frombuffer(row.total, np.int32).astype(np.float64),
            window=tuple((seq, tuple(terms)) for seq, terms in json.loads(row.recent)),
            touched=row.touched,
            last_at=row.last_at,
        )


class Centre:
    """The mean of all events in the graph: what all talk in a memory has in common.

    Vectors are compared after subtracting it. Without that, the largest concept is the nearest to everything.
    """

    def __init__(self, total: Vector, count: int, prior: Vector) -> None:
        if len(prior) == len(total):
            total = total + _PRIOR * prior
        self._steps = np.rint(total * (_STEPS / (count + _PRIOR))) if count else np.zeros(0)
        self.square = float(np.dot(self._steps, self._steps)) / _STEPS**2

    def seen_from(self, vector: NDArray[np.int8]) -> Vector:
        """Give a vector as seen from the centre."""
        return vector - self._steps / _STEPS if len(vector) == len(self._steps) else vector.astype(np.float64)

    def times(self, vectors: Vector) -> Vector | float:
        """Multiply a vector, or each of several."""
        return vectors @ self._steps / _STEPS if vectors.shape[-1] == len(self._steps) else 0.0 * vectors[..., 0]


@cache
def usual_centre(model: str, version: str) -> Vector:
    """Give the mean vector of ordinary talk, if it is known for a model; tools/fit_centre.py computes it."""
    path = CODECS / f"centre-{model}-{version}.npy"
    return np.load(path).astype(np.float64) if path.exists() else np.zeros(0)


class _Vectors:
    """Sums of vectors in a matrix, each under a key; a freed row is used again."""

    def __init__(self) -> None:
        self._clear(0)

    def put(self, key: str, total: Vector | NDArray[np.int8], count: int = 1) -> None:
        """Set a key's vector: the sum of `count` vectors."""
        if len(total) == 0:
            return
        if self._matrix.shape[1] != len(total):  # of another model
            self._clear(len(total))
        place = self._places.get(key)
        if place is None:
            place = self._free.pop() if self._free else len(self._keys)
            self._grow(place + 1)
            self._places[key] = place
            self._keys[place] = key
        self._matrix[place] = total
        self._squares[place] = float(np.dot(self._matrix[place], self._matrix[place]))
        self._counts[place] = count

    def drop(self, key: str) -> None:
        """Remove a key."""
        place = self._places.pop(key, None)
        if place is not None:
            self._keys[place] = None
            self._free.append(place)
            self._matrix[place] = 0.0
            self._squares[place] = 0.0

    def near(
        self, total: Vector | NDArray[np.int8], count: int, centre: Centre, most: int, least: float
    ) -> list[tuple[str, float]]:
        """List the keys nearest to the mean of `count` vectors, seen from the centre, with their cosines."""
        asked = np.asarray(total, np.float64)
        if not self._places or len(asked) != self._matrix.shape[1] or not asked.any():
            return []
        size = len(self._keys)
        rows, counts, squares = self._matrix[:size], self._counts[:size], self._squares[:size]
        both, mine, theirs = rows @ asked, centre.times(asked) / count, centre.times(rows) / counts
        products = both / (counts * count) - mine - theirs + centre.square
        length = math.sqrt(max(0.0, float(np.dot(asked, asked)) / count**2 - 2 * mine + centre.square))
        lengths = np.sqrt(np.maximum(0.0, squares / counts**2 - 2 * theirs + centre.square))
        cosines = np.full(size, _FAR)
        there = (squares > 0) & (lengths > _NO_LENGTH) & (length > _NO_LENGTH)
        np.divide(products, lengths * length, out=cosines, where=there)
        cosines = cosines.round(9)  # no order of sums shows
        places: list[int] = np.flatnonzero(cosines >= least).tolist()
        found = [(key, float(cosines[place])) for place in places if (key := self._keys[place]) is not None]
        return sorted(found, key=lambda one: (-one[1], one[0]))[:most]

    def _clear(self, dims: int) -> None:
        self._places: dict[str, int] = {}
        self._keys: list[str | None] = []
        self._free: list[int] = []
        self._matrix = np.zeros((0, dims))
        self._squares = np.zeros(0)
        self._counts = np.ones(0)

    def _grow(self, size: int) -> None:
        self._keys += [None] * (size - len(self._keys))
        if size > len(self._matrix):
            more = max(64, len(self._matrix), size - len(self._matrix))
            self._matrix = np.vstack((self._matrix, np.zeros((more, self._matrix.shape[1]))))
            self._squares = np.append(self._squares, np.zeros(more))
            self._counts = np.append(self._counts, np.ones(more))


class Graph:
    """Concepts, loose events, and pairs that a person separated."""

    def __init__(self, space: str, profile: Profile, model: Model | None) -> None:
        self.space = space
        self.profile = profile
        self._prior = usual_centre(model.name, model.version) if model is not None else np.zeros(0)
        self.nodes: dict[str, Node] = {}
        self.loose: dict[int, Moment] = {}
        self.apart: set[tuple[str, str]] = set()
        self._centres, self._loose_vectors = _Vectors(), _Vectors()
        self.loose_by_id: dict[str, Moment] = {}
        self._in_centre: dict[str, tuple[Vector, int]] = {}
        self._whole: tuple[Vector, int] = (np.zeros(0), 0)
        self._centre: Centre | None = None

    # Change

    def put(self, node: Node) -> None:
        """Set a concept, new or changed."""
        self.nodes.pop(node.id, None)
        self.nodes[node.id] = node  # as the newest
        self._count_in(node.id, node.total, node.size)
        self._centres.put(node.id, node.total, max(1, node.size))

    def drop(self, id: str) -> None:
        """Remove a concept."""
        if self.nodes.pop(id, None) is not None:
            self._count_in(id, np.zeros(0), 0)
            self._centres.drop(id)

    def loosen(self, moment: Moment) -> None:
        """Add an event without a concept."""
        self.loose[moment.seq] = moment
        self._loose_vectors.put(moment.event_id, moment.vector)
        self.loose_by_id[moment.event_id] = moment
        self._count_in(moment.event_id, moment.vector.astype(np.float64), 1)

    def settle(self, seq: int) -> None:
        """Remove an event that found a concept, or looked for one too long."""
        moment = self.loose.pop(seq, None)
        if moment is not None:
            self._loose_vectors.drop(moment.event_id)
            self.loose_by_id.pop(moment.event_id, None)
            self._count_in(moment.event_id, np.zeros(0), 0)

    # Read

    def near(self, total: Vector | NDArray[np.int8], count: int, *, most: int, least: float) -> list[tuple[str, float]]:
        """List the concepts nearest to the mean of some vectors, with their cosines."""
        return self._centres.near(total, max(1, count), self.centre, most, least)

    def near_loose(
        self, total: Vector | NDArray[np.int8], count: int, *, most: int, least: float
    ) -> list[tuple[Moment, float]]:
        """List the loose events nearest to the mean of some vectors, with their cosines."""
        found = self._loose_vectors.near(total, max(1, count), self.centre, most, least)
        return [(self.loose_by_id[id], cosine) for id, cosine in found]

    def cosine(self, one: Moment, other: Moment) -> float:
        """Compare two events as seen from the centre."""
        if len(one.vector) == 0 or len(one.vector) != len(other.vector):
            return _FAR
        return cosine_of(self.centre.seen_from(one.vector), self.centre.seen_from(other.vector))

    def are_near(self, vectors: Sequence[NDArray[np.int8]]) -> list[bool]:
        """Tell of each event of a concept whether it is so like the others that it belongs without saying its label."""
        if len({len(vector) for vector in vectors}) != 1:
            return [False] * len(vectors)
        seen = [self.centre.seen_from(vector) for vector in vectors]
        total, least = sum(seen[1:], seen[0]), self.limit(self.profile.thresholds.unsaid)
        return [cosine_of(one, total - one) >= least for one in seen]

    def kept_apart(self, one: str, other: str) -> bool:
        """Tell whether a person said that two do not belong together."""
        return (one, other) in self.apart or (other, one) in self.apart

    def background(self, but: str | None = None) -> tuple[Mapping[str, int], int]:
        """Count the terms of all events here but one concept's, and the events."""
        windows = [terms for node in self.nodes.values() if node.id != but for _, terms in node.window]
        held: Sequence[tuple[str, ...]] = [*windows, *(one.terms for one in self.loose.values())]
        counts: Counter[str] = Counter()
        for terms in held:
            counts.update(terms)
        return counts, len(held)

    @property
    def centre(self) -> Centre:
        """Give the mean of all events."""
        if self._centre is None:
            self._centre = Centre(*self._whole, self._prior)
        return self._centre

    def limit(self, threshold: float) -> float:
        """Raise a threshold as long as few events are known: the centre is then a guess, and all seem alike."""
        return threshold + (1 - threshold) * CAUTION * _PRIOR / (self._whole[1] + _PRIOR)

    def _count_in(self, id: str, total: Vector, size: int) -> None:
        before, count = self._in_centre.pop(id, (np.zeros(0), 0))
        whole, many = self._whole
        if len(before) and len(before) == len(whole):
            whole, many = whole - before, many - count
        if len(total) and size:
            if len(total) != len(whole):  # the first, or of another model
                whole, many = np.zeros(len(total)), 0
            whole, many = whole + total, many + size
            self._in_centre[id] = (total, size)
        self._whole, self._centre = (whole, many), None


def cosine_of(one: Vector, other: Vector) -> float:
    """Compare two vectors."""
    lengths = math.sqrt(float(np.dot(one, one)) * float(np.dot(other, other)))
    return round(float(np.dot(one, other)) / lengths, 9) if lengths else _FAR


def summed(vectors: Iterable[NDArray[np.int8]]) -> Vector:
    """Add vectors, exactly."""
    total = np.zeros(0)
    for vector in vectors:
        total = plus(total, vector)
    return total


def plus(one: Vector, other: Vector | NDArray[np.int8]) -> Vector:
    """Add a vector to a sum; one of another model replaces it."""
    if len(one) != len(other):
        return np.asarray(other, np.float64).copy() if len(other) else one
    return one + other


MOST_FOUNDERS = 8  # others join afterwards
_MOST_COMPARED = 24  # nearest loose events
_MOST_NEIGHBOURS = 3  # related concepts of a new one
_MOST_ABSORBED = 2_000  # events of the smaller of two concepts that are merged: one event must not take long


def joining(graph: Graph, moment: Moment) -> UpdatePlan:
    """Let an event join the nearest concept, if that is near enough."""
    for id, cosine in graph.near(moment.vector, 1, most=2, least=graph.limit(graph.profile.thresholds.join)):
        if _may_join(graph, moment, graph.nodes[id], cosine):
            return UpdatePlan(operations=(_join(moment, id, cosine),))
    return UpdatePlan()


def founding(graph: Graph, moment: Moment) -> UpdatePlan:
    """Let an event found a concept with loose events that are all alike."""
    limits = graph.profile.thresholds
    if not moment.founds:
        return UpdatePlan()
    founders = [moment]
    for one, _ in graph.near_loose(moment.vector, 1, most=_MOST_COMPARED, least=limits.pair):
        if not one.founds or one.seq == moment.seq or len(founders) == MOST_FOUNDERS:
            continue
        cosines = [graph.cosine(one, other) for other in founders]
        if min(cosines) >= limits.pair and sum(cosines) >= graph.limit(limits.found) * len(cosines):
            founders.append(one)
    if len(founders) < LEAST_GROUNDS:
        return UpdatePlan()
    ids = tuple(sorted(one.event_id for one in founders))
    id = concept_id(graph.space, ids)
    made = AddNode(
        id=id, label="", description="", reason=f"{len(founders)} events are about the same thing", grounded_in=ids
    )
    reason = "one of the events that it was found in"
    grounds = (
        membership(one.event_id, id, EdgeKind.GROUNDS, reason) for one in sorted(founders, key=lambda one: one.seq)
    )
    return UpdatePlan(operations=(made, *grounds))


def gathering(graph: Graph, node: Node) -> UpdatePlan:
    """Let loose events join a concept that was just founded."""
    near = graph.near_loose(
        node.total, node.size, most=_MOST_COMPARED, least=graph.limit(graph.profile.thresholds.join)
    )
    fitting = [(one, cosine) for one, cosine in near if _may_join(graph, one, node, cosine)]
    return UpdatePlan(operations=tuple(_join(one, node.id, cosine) for one, cosine in fitting))


def _may_join(graph: Graph, moment: Moment, node: Node, cosine: float) -> bool:
    """Tell whether an event near a concept belongs to it: it says the label, or is very near."""
    if graph.kept_apart(moment.event_id, node.id):
        return False
    said = not node.label or not set(terms_of([node.label])).isdisjoint(moment.terms)
    return said or cosine >= graph.limit(graph.profile.thresholds.unsaid)


def relating(graph: Graph, node: Node, moment: Moment) -> UpdatePlan:
    """Link a concept to the nearest others."""
    least = graph.profile.thresholds.neighbour
    near = graph.near(node.total, node.size, most=_MOST_NEIGHBOURS + 1, least=least)
    operations: list[Operation] = []
    for id, cosine in [(id, cosine) for id, cosine in near if id != node.id][:_MOST_NEIGHBOURS]:
        if graph.kept_apart(id, node.id):
            continue
        first, second = sorted((node.id, id))  # it has no direction, so it is written in one way
        operations.append(
            AddEdge(
                source=first,
                target=second,
                kind=EdgeKind.RELATED_TO,
                weight=round(min(1.0, cosine), 3),
                reason=f"similar events (cosine {cosine:.2f})",
                grounded_in=(moment.event_id,),
            )
        )
    return UpdatePlan(operations=tuple(operations))


def merging(graph: Graph, node: Node) -> UpdatePlan:
    """Let the larger of two concepts that are about the same absorb the other."""
    for id, cosine in graph.near(node.total, node.size, most=4, least=graph.profile.thresholds.merge):
        if id == node.id or graph.kept_apart(id, node.id):
            continue
        stays, goes = sorted((node, graph.nodes[id]), key=lambda one: (-one.size, one.id))
        if goes.size <= _MOST_ABSORBED:
            reason = f"about the same (cosine {cosine:.2f})"
            return UpdatePlan(operations=(MergeNodes(id=stays.id, absorbed=goes.id, reason=reason, grounded_in=()),))
    return UpdatePlan()


def the_same(graph: Graph, founders: list[Moment]) -> str | None:
    """Find the concept that events would found a second time."""
    near = graph.near(
        summed(one.vector for one in founders), len(founders), most=1, least=graph.profile.thresholds.merge
    )
    return near[0][0] if near else None


def _join(moment: Moment, id: str, cosine: float) -> AddEdge:
    weight = round(min(1.0, (1 + cosine) / 2), 3)
    return membership(moment.event_id, id, EdgeKind.REINFORCES, f"similar to its events (cosine {cosine:.2f})", weight)


def membership(event: str, concept: str, kind: EdgeKind, reason: str, weight: float | None = None) -> AddEdge:
    """Make the edge by which an event belongs to a concept."""
    weight = DEFAULT_WEIGHT[kind] if weight is None else weight
    return AddEdge(source=event, target=concept, kind=kind, weight=weight, reason=reason, grounded_in=(event,))


# Profiles: what an LLM that names concepts is told about a domain; a file also says how readily they are found

_LONGEST = 1 << 16  # bytes of a profile


_Cosine = Annotated[float, Meta(ge=0, le=1)]


class Thresholds(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Cosines, seen from the centre of the graph, from which on things belong together. See docs/folding.md."""

    join: _Cosine = 0.6  # of an event and the mean of a concept that it joins
    unsaid: _Cosine = 0.65  # the same, of an event that does not say what the concept is called
    found: _Cosine = 0.5  # of an event and others that found a concept with it, on average
    pair: _Cosine = 0.3  # of any two founders
    merge: _Cosine = 0.85  # of two concepts that become one
    neighbour: _Cosine = 0.2  # of two concepts that are related


class Profile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a domain."""

    name: str
    thresholds: Thresholds = field(default_factory=Thresholds)
    prompt: str = ""  # what an LLM that names concepts is told besides


_BUILT_IN = {
    "general": "",
    "personal": "The memory is of a private life: home, family, health, hobbies, travel, money.",
    "software": "The memory is of making and running software: name components, incidents, releases and tools.",
    "support": "The memory is of helping customers: name products, problems and agreements.",
    "research": "The memory is of study and research: name subjects, methods, experiments and papers.",
    "teamwork": "The memory is of a team at work: name projects, clients, decisions and events.",
    "news": "The memory is of public affairs: name events, places, institutions and conflicts.",
}


@cache
def load_profile(name: str) -> Profile:
    """Load a profile by its name, or a TOML file by its path."""
    if name in _BUILT_IN:
        return Profile(name=name, prompt=_BUILT_IN[name])
    path = Path(name).expanduser()
    if not path.is_file():
        known = ", ".join(_BUILT_IN)
        raise InvalidSetting(f"There is no profile {name!r}.", fix=f"Choose one of {known}, or name a TOML file.")
    try:
        if path.stat().st_size > _LONGEST:
            raise ValueError("it is too large")
        told = tomllib.loads(path.read_text(encoding="utf-8", errors="replace"))
        return convert({**told, "name": path.stem}, Profile)
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"The profile {name!r} can't be read: {error}.", fix="See docs/folding.md for its form."
        ) from error
