"""Concepts as one wing may see them: several wings share a concept, and none of them the others' words."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from recollect.core.folding import Concept, strength_of
from recollect.store.folding import COUNTED
from recollect.store.protocol import Reader


def reworded(reader: Reader, space: str, wing: str, concept: Concept, as_of: datetime | None = None) -> Concept:
    """Word a concept by the events of a wing alone; a label of the profile says nothing of anybody."""
    from recollect.fold.wording import worded  # whom all wings are open to does not pay for it

    members = reader.members(space, [concept.id], as_of=as_of)
    events = reader.fetch(space, [one.seq for one in members])
    counted = [one for one in members if one.weight >= COUNTED and one.seq in events]
    own = [one for one in counted if events[one.seq].wing == wing]
    theme = reader.concept_body(space, concept.id).get("theme")
    label, description, keys = worded([events[one.seq].text for one in own], theme)
    return replace(
        concept,
        label=label,
        description=description,
        keys=keys,
        entities=(),
        strength=strength_of(len(own)),
        wings=(wing,),
    )
