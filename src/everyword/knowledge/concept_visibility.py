"""Concepts as one wing sees them: wings share a concept, but none sees the words of another."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from everyword.storage.protocol import COUNTED, Reader
from everyword.types.concepts import Concept, strength_of


def reworded(reader: Reader, wing: str, concept: Concept, as_of: datetime | None = None) -> Concept:
    """Label a concept by the events of one wing. A label from the profile quotes nobody and stays."""
    from everyword.knowledge.legacy.fold.wording import worded  # slow to import; only handles on a wing need it

    members = reader.members([concept.id], as_of=as_of)
    events = reader.fetch([one.seq for one in members])
    counted = [one for one in members if one.weight >= COUNTED and one.seq in events]
    own = [one for one in counted if events[one.seq].wing == wing]
    theme = reader.concept_body(concept.id).get("theme")
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
