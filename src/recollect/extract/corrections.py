"""Corrections by hand: a person's word on an artifact is an event like any other, so that the log stays the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple, cast

from recollect.core.artifacts import Artifact, ArtifactDraft, Stance
from recollect.core.values import Event, Json, Span
from recollect.extract.compare import Action

MEMBER = "recollect"  # of an event's meta
ROLE = "correction"
EXTRACTOR = "by hand"


class Correction(NamedTuple):
    """What an event does to an artifact."""

    action: Action  # UPDATE or RETRACT
    artifact_id: str


def correcting(artifact: Artifact, text: str | None) -> dict[str, Json]:
    """Make the event that corrects an artifact, or takes it back where there is no text."""
    action = Action.RETRACT if text is None else Action.UPDATE
    return {
        # By its id, not by its words: these must be gone when the event that said them is forgotten.
        "text": f"Retracted {artifact.id}." if text is None else text,
        "speaker": artifact.speaker,
        "role": ROLE,
        "meta": {MEMBER: {"action": action.value, "artifact": artifact.id}},
    }


def correction_of(event: Event) -> Correction | None:
    """Read whether an event is a correction; anything that only looks like one is not."""
    told = event.meta.get(MEMBER) if event.role == ROLE else None
    if not isinstance(told, Mapping):
        return None
    member = cast("Mapping[str, Any]", told)
    action, id = member.get("action"), member.get("artifact")
    if action not in (Action.UPDATE, Action.RETRACT) or not isinstance(id, str):
        return None
    return Correction(Action(action), id)


def corrected(event: Event, target: Artifact) -> ArtifactDraft:
    """Make the next version of an artifact from the words of its correction."""
    kept: dict[str, Any] = {field.name: getattr(target, field.name) for field in fields(ArtifactDraft)}
    kept |= {"content": event.text, "quote": event.text, "value": event.text, "span": Span(0, len(event.text))}
    kept |= {"event_id": event.id, "date": None, "valid_from": event.at, "valid_to": None}
    kept |= {"stance": Stance.CHANGED, "confidence": 1.0, "extractor": EXTRACTOR}
    return ArtifactDraft(**kept)
