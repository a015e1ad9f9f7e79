"""Concepts as attention sees them: which events belong to which, and how they hang together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from recollect.core.folding import Concept
from recollect.engine.rewording import reworded
from recollect.fold.density import Topic
from recollect.store.folding import COUNTED
from recollect.store.protocol import Reader

MOST_OF_AN_EVENT = 2  # concepts that count for one event: the nearest


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """Some concepts, and the events among them that belong to each."""

    by_id: Mapping[str, Topic] = field(default_factory=dict[str, Topic])
    of_event: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])  # by seq
    concepts: Mapping[str, Concept] = field(default_factory=dict[str, Concept])


def topics_of(
    reader: Reader,
    space: str,
    seqs: Sequence[int],
    *,
    wing: str | None = None,
    as_of: datetime | None = None,
    wings: bool = False,
) -> Topics:
    """Find the concepts that some events belong to; wings: and of which wings these are, which takes longer."""
    held = reader.held_by(space, seqs, as_of=as_of)
    nearest = {
        seq: [id for id, weight in sorted(several.items(), key=lambda one: (-one[1], one[0])) if weight >= COUNTED]
        for seq, several in held.items()
    }
    ids = sorted({id for several in nearest.values() for id in several[:MOST_OF_AN_EVENT]})
    found = _found(reader, space, ids, wing, as_of, wings)
    standing = {id: concept for id, concept in found.items() if concept.closed_at is None}
    neighbours: dict[str, set[str]] = {id: set() for id in standing}
    for pair in reader.concept_neighbours(space, sorted(standing), as_of=as_of):
        for one, other in (pair, pair[::-1]):
            if one in neighbours:
                neighbours[one].add(other)
    return Topics(
        by_id={
            id: Topic(
                id=id,
                label=concept.label,
                events=concept.events,
                strength=concept.strength,
                neighbours=frozenset(neighbours[id]),
            )
            for id, concept in standing.items()
        },
        of_event={
            seq: kept
            for seq, several in nearest.items()
            if (kept := tuple(id for id in several[:MOST_OF_AN_EVENT] if id in standing))
        },
        concepts=standing,
    )


def _found(
    reader: Reader, space: str, ids: Sequence[str], wing: str | None, as_of: datetime | None, wings: bool
) -> Mapping[str, Concept]:
    """Look concepts up in the quickest way: those of the present and of all wings are in an index."""
    if wing is not None or as_of is not None:
        found = reader.concepts_by_id(space, ids, wing=wing, as_of=as_of)
        return found if wing is None else {id: reworded(reader, space, wing, one, as_of) for id, one in found.items()}
    standing = reader.standing_concepts(space, ids)
    of = reader.concept_wings(space, ids) if wings else {}
    return {id: replace(one, wings=of[id]) if id in of else one for id, one in standing.items()}
