"""The concept graph: nodes, edges, plans that change it, and the journal of its changes.

Nodes are events and concepts; edges are typed, weighted and dated. Only an `UpdatePlan` changes the graph, and each
operation of a plan names its reason and its events.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct, field

from everyword.types.events import DEFAULT_SPACE, Json, fingerprint

CONCEPT_PREFIX = "co_"
INTENT_PREFIX = "in_"
ENTRY_PREFIX = "jo_"
LEAST_GROUNDS = 3  # events; two may agree by chance
STRENGTH_BEGINS = 0.5  # strength of a new concept
STRENGTH_GAINS = 0.1  # per further event, up to 1
DECAY_PER_HOUR = 0.005  # of an edge's weight since its last support; it halves in six days


class EdgeKind(StrEnum):
    """The kind of an edge."""

    GROUNDS = "grounds"  # event -> the concept that it helped to create
    REINFORCES = "reinforces"  # event -> a concept that already existed
    CAUSES = "causes"  # concept -> concept: an LLM read that one led to the other
    RELATED_TO = "related_to"  # concept - concept


DEFAULT_WEIGHT: Mapping[EdgeKind, float] = MappingProxyType({EdgeKind.GROUNDS: 0.9, EdgeKind.REINFORCES: 0.7})
MEMBERSHIP = frozenset({EdgeKind.GROUNDS, EdgeKind.REINFORCES})  # edges that make an event a member of a concept


class ConceptEdge(Struct, frozen=True, kw_only=True):
    """An edge of the concept graph, from the id of an event or concept to that of a concept."""

    source: str
    target: str
    kind: EdgeKind
    weight: float  # 0 to 1, at its last support; `weight_at` includes decay
    created_at: datetime  # when the memory learned it
    supported_at: datetime  # time of the last supporting event
    closed_at: datetime | None = None  # None while it is open
    events: tuple[str, ...] = ()  # ids of its supporting events
    reason: str = ""

    def weight_at(self, now: datetime) -> float:
        return decayed(self.weight, self.supported_at, now)


class Concept(Struct, frozen=True, kw_only=True):
    """A theme that three or more events share."""

    id: str
    label: str  # a phrase from its events
    description: str  # one line, in words of its events
    strength: float  # 0.5 to 1; grows by .1 with each further event
    events: int  # number of its events
    created_at: datetime  # when the memory learned it
    first_at: datetime  # time of its first event
    last_at: datetime  # time of its last event
    space: str = DEFAULT_SPACE
    keys: tuple[str, ...] = ()  # further phrases, best first
    entities: tuple[str, ...] = ()  # names in its events, most frequent first
    wings: tuple[str, ...] = ()  # of its events; a concept of two wings is a tunnel
    written_by: str = "rules"  # or the name of the LLM that wrote label and description
    closed_at: datetime | None = None  # None while it is open
    merged_into: str | None = None


class Ground(Struct, frozen=True, kw_only=True):
    """An event of a concept, and how strongly it belongs to it."""

    event_id: str
    kind: EdgeKind  # grounds or reinforces
    weight: float  # similarity, 0 to 1
    at: datetime  # when it happened
    quote: str = ""  # the beginning of its text, verbatim
    reason: str = ""


class ConceptView(Struct, frozen=True, kw_only=True):
    """One concept with its events, edges and journal."""

    concept: Concept
    grounds: tuple[Ground, ...]  # in order of time
    edges: tuple[ConceptEdge, ...]  # to other concepts and intents
    journal: tuple[JournalEntry, ...] = ()


# Plans


class _Change(Struct, frozen=True, kw_only=True):
    reason: str
    grounded_in: tuple[str, ...]  # ids of events


class AddNode(_Change, frozen=True, kw_only=True):
    """Add a concept together with its events."""

    id: str
    label: str
    description: str
    body: Mapping[str, Json] = field(default_factory=dict[str, Json])  # further members of this kind of node


class AddEdge(_Change, frozen=True, kw_only=True):
    """Add an edge, or support an existing one again."""

    source: str
    target: str
    kind: EdgeKind
    weight: float


class UpdateNode(_Change, frozen=True, kw_only=True):
    """Reword a node; its history keeps the old wording."""

    id: str
    label: str | None = None
    description: str | None = None
    body: Mapping[str, Json] = field(default_factory=dict[str, Json])


class MergeNodes(_Change, frozen=True, kw_only=True):
    """Let the stronger of two concepts absorb the other with all its edges and their history."""

    id: str  # the one that stays
    absorbed: str


class RemoveNode(_Change, frozen=True, kw_only=True):
    """Close a node, or one edge of it where `edge` and `target` are given."""

    id: str
    edge: EdgeKind | None = None
    target: str | None = None


Operation = AddNode | AddEdge | UpdateNode | MergeNodes | RemoveNode


class UpdatePlan(Struct, frozen=True, kw_only=True):
    """Changes of the graph that are applied together or not at all."""

    operations: tuple[Operation, ...] = ()
    proposed_by: str = "rules"  # or the name of an LLM


class Debt(StrEnum):
    """Why the graph was changed."""

    EMERGENCE = "emergence"  # events that belong together had no concept
    REINFORCEMENT = "reinforcement"
    MERGING = "merging"
    COMPLETION = "completion"  # a concept had no neighbours
    WORDING = "wording"
    PROPOSAL = "proposal"  # an LLM proposed it
    UNDO = "undo"  # a person reverted a change


class JournalEntry(Struct, frozen=True, kw_only=True):
    """One change of the graph, with its reason and events."""

    id: str  # the same after a rebuild; `concepts.undo` takes it
    at: datetime  # when the memory learned its cause
    action: str  # add_node, add_edge, update_node, merge_nodes, remove_node
    debt: Debt
    reason: str
    node_id: str
    target_id: str | None = None
    edge: EdgeKind | None = None
    events: tuple[str, ...] = ()  # ids
    undone: bool = False


class Folded(Struct, frozen=True, kw_only=True):
    """The result of folding events into the graph; with a dry run, what it would do."""

    events: int  # that were read
    waiting: int  # not read yet
    dry_run: bool
    entries: tuple[JournalEntry, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(entry.debt.value for entry in self.entries))


def concept_id(space: str, founders: tuple[str, ...]) -> str:
    """Derive a concept's id from its first events, in any order."""
    return CONCEPT_PREFIX + fingerprint("concept", space, *sorted(founders)).hex()


def entry_id(event: str, place: int) -> str:
    """Derive an entry's id from the event that caused it and its number among that event's entries."""
    return ENTRY_PREFIX + fingerprint("fold", event, place).hex()


# Number of events at which a concept's strength reaches 1.
STRONGEST_FROM = LEAST_GROUNDS + round((1.0 - STRENGTH_BEGINS) / STRENGTH_GAINS)


def strength_of(events: int) -> float:
    """Compute the strength of a concept from its number of events."""
    return min(1.0, round(STRENGTH_BEGINS + STRENGTH_GAINS * max(0, events - LEAST_GROUNDS), 3))


def decayed(weight: float, since: datetime, now: datetime) -> float:
    hours = max(0.0, (now - since).total_seconds() / 3600)
    return weight * math.exp(-DECAY_PER_HOUR * hours)
