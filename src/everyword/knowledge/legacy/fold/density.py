"""How much in the memory gathers around a goal, as a number that is computed and can be explained."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

# Weights of the parts, which sum to 1 without the anchor. The goal's own words weigh most: concepts alone are a topic.
MASS_SHARE = 0.40
BREADTH_SHARE = 0.15
CONNECTED_SHARE = 0.10
RECENT_SHARE = 0.15
REINFORCED_SHARE = 0.20
ANCHOR_BONUS = 0.25  # for a time ahead by which: a dated todo stands on its own
FULL_MASS = 1.5  # strength of goals that counts as all: two that say outright that something is not done
FULL_BREADTH = 2  # concepts
FULL_SUPPORT = 7  # events that ground those concepts: log2(1 + 7) = 3
FADES_DAYS = 30.0  # in which recency falls to 1/e


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A concept as density sees it."""

    id: str
    label: str
    events: int  # that ground it
    strength: float = 0.5  # 0 to 1
    neighbours: frozenset[str] = frozenset()  # concepts that an edge joins it with


@dataclass(frozen=True, slots=True, kw_only=True)
class Density:
    """The parts, each 0 to 1, and their sum."""

    mass: float  # of goals
    breadth: float  # how many concepts
    connected: float  # how many of the possible edges among them are there
    recent: float
    reinforced: float  # how many events support goals and concepts
    anchored: bool  # a deadline is ahead

    @property
    def value(self) -> float:
        """Weigh the parts."""
        weighed = (
            MASS_SHARE * self.mass
            + BREADTH_SHARE * self.breadth
            + CONNECTED_SHARE * self.connected
            + RECENT_SHARE * self.recent
            + REINFORCED_SHARE * self.reinforced
            + (ANCHOR_BONUS if self.anchored else 0.0)
        )
        return min(1.0, weighed)

    @property
    def importance(self) -> float:
        """Tell how much it matters, whenever it is due."""
        return min(1.0, 0.6 * self.mass + 0.4 * self.reinforced)

    def explain(self) -> str:
        """Say what the number is made of."""
        parts = {
            "goals": self.mass,
            "concepts": self.breadth,
            "connected": self.connected,
            "recent": self.recent,
            "reinforced": self.reinforced,
        }
        told = ", ".join(f"{name} {value:.2f}" for name, value in parts.items())
        return f"{told}{', a time by which' if self.anchored else ''}"


def density(
    strengths: Sequence[float],
    topics: Collection[Topic],
    *,
    last_at: datetime,
    now: datetime,
    deadline: datetime | None = None,
    said: int = 0,
) -> Density:
    """Compute how dense the cluster around some goals is; `said` tells how often, where the same words come again."""
    support = max(said, len(strengths)) + sum(topic.events for topic in topics)
    return Density(
        mass=min(1.0, sum(strengths) / FULL_MASS),
        breadth=min(1.0, len(topics) / FULL_BREADTH),
        connected=_connected({topic.id: topic.neighbours for topic in topics}),
        recent=recency(last_at, now),
        reinforced=min(1.0, math.log2(1 + support) / math.log2(1 + FULL_SUPPORT)) if support > 1 else 0.0,
        anchored=deadline is not None and deadline > now,
    )


def recency(at: datetime, now: datetime) -> float:
    """Tell how recent a moment is: 1 now, 1/e after FADES_DAYS."""
    days = max(0.0, (now - at).total_seconds() / 86_400)
    return math.exp(-days / FADES_DAYS)


def _connected(neighbours: Mapping[str, frozenset[str]]) -> float:
    ids = sorted(neighbours)
    pairs = [(one, other) for place, one in enumerate(ids) for other in ids[place + 1 :]]
    joined = sum(other in neighbours[one] or one in neighbours[other] for one, other in pairs)
    return joined / len(pairs) if pairs else 0.0
