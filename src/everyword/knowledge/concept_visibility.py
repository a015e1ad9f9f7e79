"""Concepts as one wing sees them: wings share a concept, but none sees the words of another."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from everyword.knowledge.concept_labels import Label, label_of
from everyword.knowledge.reading import said_in
from everyword.storage.protocol import Reader
from everyword.types.concepts import Concept, strength_of


def reworded(reader: Reader, wing: str, concept: Concept, as_of: datetime | None = None) -> Concept:
    """Label a concept by the events of one wing; the label is empty where these do not name it."""
    members = reader.members([concept.id], as_of=as_of)
    events = reader.fetch([one.seq for one in members])
    seqs = [one.seq for one in members if one.seq in events and events[one.seq].wing == wing]
    read = reader.model_readings(seqs) if seqs else {}
    own = [said_in(events[seq], read[seq][1] if seq in read else None) for seq in seqs]
    found = (
        label_of([one.quotes for one in own], [one.things for one in own], own[0].quotes[0])
        if own
        else Label(label="", description="", keys=())
    )
    return replace(
        concept,
        label=found.label,
        description=found.description,
        keys=found.keys,
        entities=(),
        strength=strength_of(len(own)),
        wings=(wing,),
    )
