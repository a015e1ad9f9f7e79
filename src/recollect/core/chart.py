"""The memory as a picture: concepts, entities and intents, and what joins them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MapNode:
    """One thing on the map."""

    id: str
    kind: str  # concept, entity or intent
    label: str
    description: str
    strength: float  # 0 to 1: how much there is of it
    weight: float  # 0 to 1: what time has left of it
    events: int
    first_at: datetime
    last_at: datetime
    quotes: tuple[str, ...] = ()  # verbatim


@dataclass(frozen=True, slots=True, kw_only=True)
class MapEdge:
    """What joins two of them."""

    source: str
    target: str
    kind: str
    weight: float  # 0 to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """Concepts, entities and intents, the strongest of each, with the edges between them."""

    nodes: tuple[MapNode, ...]
    edges: tuple[MapEdge, ...]
