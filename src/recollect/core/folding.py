"""The concept graph: what many events come to, how its parts hang together, and every change that was made to it.

Nodes are events, concepts, intents and moments; edges are typed, weighted and dated. Nothing changes but by an
`UpdatePlan`, and each operation of a plan says why, and on which events it rests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from recollect.core.ids import fingerprint
from recollect.core.values import DEFAULT_SPACE, Json

CONCEPT_PREFIX = "co_"
INTENT_PREFIX = "in_"
ENTRY_PREFIX = "jo_"
LEAST_GROUNDS = 3  # events; two that agree may be chance
STRENGTH_BEGINS = 0.5  # of a concept on its first grounds
STRENGTH_GAINS = 0.1  # by each event that confirms it; held at 1
DECAY_PER_HOUR = 0.005  # of an edge since its last support: it halves in six days


class NodeKind(StrEnum):
    """What a node stands for."""

    EVENT = "event"
    CONCEPT = "concept"
    INTENT = "intent"
    TIME = "time"


class EdgeKind(StrEnum):
    """How one node bears on another."""

    GROUNDS = "grounds"  # event -> the concept or intent that it founded
    REINFORCES = "reinforces"  # event -> a concept that was there already
    CAUSES = "causes"  # concept -> concept: words of an event say that one led to the other
    TRIGGERS = "triggers"  # concept -> intent
    PART_OF = "part_of"  # the narrower concept -> the broader
    RELATED_TO = "related_to"
    DERIVED_FROM = "derived_from"  # intent -> what it came from
    DEADLINE_FOR = "deadline_for"  # moment -> intent
    USER_FEEDBACK = "user_feedback"  # event of an answer -> intent


DEFAULT_WEIGHT: Mapping[EdgeKind, float] = MappingProxyType(
    {
        EdgeKind.CAUSES: 0.9,
        EdgeKind.GROUNDS: 0.9,
        EdgeKind.TRIGGERS: 0.8,
        EdgeKind.USER_FEEDBACK: 0.8,
        EdgeKind.REINFORCES: 0.7,
        EdgeKind.PART_OF: 0.7,
        EdgeKind.DERIVED_FROM: 0.6,
        EdgeKind.DEADLINE_FOR: 0.6,
        EdgeKind.RELATED_TO: 0.5,
    }
)
_EVENT, _CONCEPT, _INTENT, _TIME = NodeKind.EVENT, NodeKind.CONCEPT, NodeKind.INTENT, NodeKind.TIME
# Which kinds of nodes an edge may join, from -> to.
EDGE_ENDS: Mapping[EdgeKind, frozenset[tuple[NodeKind, NodeKind]]] = MappingProxyType(
    {
        EdgeKind.GROUNDS: frozenset({(_EVENT, _CONCEPT), (_EVENT, _INTENT)}),
        EdgeKind.REINFORCES: frozenset({(_EVENT, _CONCEPT), (_EVENT, _INTENT)}),
        EdgeKind.CAUSES: frozenset({(_CONCEPT, _CONCEPT)}),
        EdgeKind.PART_OF: frozenset({(_CONCEPT, _CONCEPT)}),
        EdgeKind.RELATED_TO: frozenset({(_CONCEPT, _CONCEPT)}),
        EdgeKind.TRIGGERS: frozenset({(_CONCEPT, _INTENT)}),
        EdgeKind.DERIVED_FROM: frozenset({(_INTENT, _CONCEPT), (_INTENT, _EVENT), (_CONCEPT, _CONCEPT)}),
        EdgeKind.DEADLINE_FOR: frozenset({(_TIME, _INTENT)}),
        EdgeKind.USER_FEEDBACK: frozenset({(_EVENT, _INTENT)}),
    }
)
MEMBERSHIP = frozenset({EdgeKind.GROUNDS, EdgeKind.REINFORCES})  # by these an event belongs to a concept


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptEdge:
    """A link of the concept graph. An end is the id of an event, a concept, an intent, or a moment as ISO text."""

    source: str
    target: str
    kind: EdgeKind
    weight: float  # 0 to 1, as it was when last supported; `weight_at` tells what time has left of it
    created_at: datetime  # when the memory learned of it
    supported_at: datetime  # when what supports it last happened
    closed_at: datetime | None = None  # None while it holds
    events: tuple[str, ...] = ()  # ids of the events that it rests on
    reason: str = ""

    def weight_at(self, now: datetime) -> float:
        """Tell what time has left of the weight. Computed from dates: reading it changes nothing."""
        return decayed(self.weight, self.supported_at, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """A recurring pattern that three events or more come to."""

    id: str
    label: str  # a phrase of the events that ground it
    description: str  # one line, in words of theirs
    strength: float  # 0.5 to 1: grows by .1 with each event that confirms it
    events: int  # how many count for it, with a weight of .5 or more; those beside it don't
    created_at: datetime  # when the memory learned of it
    first_at: datetime  # when the first of its events happened
    last_at: datetime  # and the last
    space: str = DEFAULT_SPACE
    keys: tuple[str, ...] = ()  # further phrases, the most telling first
    entities: tuple[str, ...] = ()  # names in its events, the most frequent first
    wings: tuple[str, ...] = ()  # that its events belong to; a concept of two wings is a tunnel
    written_by: str = "rules"  # or the name of the LLM that wrote label and description
    closed_at: datetime | None = None  # None while it stands
    merged_into: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """An event that belongs to a concept, and how strongly."""

    event_id: str
    kind: EdgeKind  # grounds or reinforces
    weight: float  # how near it lies, 0 to 1
    at: datetime  # when it happened
    quote: str = ""  # its text, or the beginning of it, verbatim
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptView:
    """One concept with all that hangs on it."""

    concept: Concept
    grounds: tuple[Ground, ...]  # in the order in which they happened
    edges: tuple[ConceptEdge, ...]  # to other concepts and intents
    journal: tuple[JournalEntry, ...] = ()  # its story


# Plans


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNode:
    """Make a concept. Its grounds come with it: a concept without events is none."""

    id: str
    label: str
    description: str
    reason: str
    grounded_in: tuple[str, ...]  # ids of events
    kind: NodeKind = NodeKind.CONCEPT
    body: Mapping[str, Json] = field(default_factory=dict[str, Json])  # what else a kind of node has


@dataclass(frozen=True, slots=True, kw_only=True)
class AddEdge:
    """Link two nodes; a link that is there already is supported anew."""

    source: str
    target: str
    kind: EdgeKind
    weight: float
    reason: str
    grounded_in: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateNode:
    """Word a node anew; the old wording stays in its history."""

    id: str
    reason: str
    grounded_in: tuple[str, ...]
    label: str | None = None
    description: str | None = None
    body: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeNodes:
    """Let the stronger of two concepts absorb the other, with all its edges, their kinds and their history."""

    id: str  # the one that stays
    absorbed: str
    reason: str
    grounded_in: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNode:
    """Close a node or, where a kind of edge and its other end are named, one edge."""

    id: str
    reason: str
    grounded_in: tuple[str, ...]
    edge: EdgeKind | None = None
    target: str | None = None


Operation = AddNode | AddEdge | UpdateNode | MergeNodes | RemoveNode


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePlan:
    """Changes to the graph that are made together or not at all."""

    operations: tuple[Operation, ...] = ()
    proposed_by: str = "rules"  # or the name of an LLM


class Debt(StrEnum):
    """What the graph owed, or who asked: why an entry of the journal is there."""

    EMERGENCE = "emergence"  # events that belong together and had no concept
    REINFORCEMENT = "reinforcement"
    MERGING = "merging"
    COMPLETION = "completion"  # a concept without neighbours
    STRUCTURE = "structure"  # part_of and causes, as the events tell them
    WORDING = "wording"
    PROPOSAL = "proposal"  # an LLM proposed it, by what it saw in the window
    UNDO = "undo"  # a person took a change back
    INTENT = "intent"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One change of the graph: what, why, and from which events."""

    id: str  # the same after a rebuild; `unfold` takes it
    at: datetime  # when the memory learned what caused it
    action: str  # add_node, add_edge, update_node, merge_nodes, remove_node
    debt: Debt
    reason: str
    node_id: str
    target_id: str | None = None
    edge: EdgeKind | None = None
    events: tuple[str, ...] = ()  # ids
    undone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """What a pass over the log did, or with a dry run would do."""

    events: int  # read
    waiting: int  # not read yet: the pass was bounded
    dry_run: bool
    entries: tuple[JournalEntry, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Count the changes by debt."""
        found: dict[str, int] = {}
        for entry in self.entries:
            found[entry.debt.value] = found.get(entry.debt.value, 0) + 1
        return found


def concept_id(space: str, founders: tuple[str, ...]) -> str:
    """Derive a concept's id from the events that founded it, in whatever order."""
    return CONCEPT_PREFIX + fingerprint("concept", space, *sorted(founders)).hex()


def entry_id(event: str, place: int) -> str:
    """Derive an entry's id from the event that caused it, and its place among what that event caused."""
    return ENTRY_PREFIX + fingerprint("fold", event, place).hex()


# Events of a concept from which on more are not told apart.
STRONGEST_FROM = LEAST_GROUNDS + round((1.0 - STRENGTH_BEGINS) / STRENGTH_GAINS)


def strength_of(events: int) -> float:
    """Tell how strong a concept of so many events is."""
    return min(1.0, round(STRENGTH_BEGINS + STRENGTH_GAINS * max(0, events - LEAST_GROUNDS), 3))


def decayed(weight: float, since: datetime, now: datetime) -> float:
    """Tell what is left of a weight after the time since its last support."""
    hours = max(0.0, (now - since).total_seconds() / 3600)
    return weight * math.exp(-DECAY_PER_HOUR * hours)
