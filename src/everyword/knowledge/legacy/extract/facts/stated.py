"""Artifacts -> claims: what somebody did and does, which no relation between two names can hold."""

from __future__ import annotations

from collections.abc import Iterable

from everyword.knowledge.legacy.extract.facts.extract import Names
from everyword.knowledge.legacy.extract.rules.ending import Over
from everyword.types.events import Event, Span
from everyword.types.graph import EntityType, FactDraft, Mention, name_key
from everyword.types.statements import ArtifactDraft, ArtifactKind, Stance
from everyword.types.trust import source_of

EXTRACTOR = "stated/3"  # the number changes whenever the same artifacts would give other facts
# What the slots of artifacts are as relations; those that the rules for facts read themselves are left to them.
_RELATIONS = {"doing": "does", "plays": "does", "habit": "does", "has": "owns", "favourite": "likes"}
LEAST_CONFIDENCE = 0.6  # what artifacts only consider, or presuppose weakly, is no fact


def facts_of_artifacts(event: Event, artifacts: Iterable[ArtifactDraft], index: Names) -> list[FactDraft]:
    """Make claims of an event's artifacts: what happened to whom, when; what somebody does. Pure."""
    drafts = (_draft(event, artifact, index) for artifact in artifacts)
    return [draft for draft in drafts if draft is not None]


def _draft(event: Event, artifact: ArtifactDraft, index: Names) -> FactDraft | None:
    relation = _relation(artifact)
    value = f"{_verb(artifact)} {artifact.value or ''}".strip() if artifact.value else ""
    if relation is None or not value or not artifact.about or artifact.negated:
        return None
    if artifact.confidence < LEAST_CONFIDENCE or artifact.stance is Stance.MAYBE:
        return None
    ended = artifact.stance is Stance.ENDED
    start, end = artifact.valid_from, artifact.valid_to
    if relation == "did":
        start = artifact.date.start if artifact.date else event.at
        end = artifact.date.end if artifact.date else event.at
        if start > event.at:
            return None  # it is still to come
    return FactDraft(
        subject=index.id_of(_named(artifact.about), event.speaker),
        subject_name=artifact.about,
        subject_form=index.form_of(_named(artifact.about), event.speaker),
        relation=relation,
        object=name_key(value),
        object_name=value,
        event_id=event.id,
        span=artifact.span,
        quote=artifact.quote,
        said_at=event.at,
        recorded_at=event.recorded_at,
        source=source_of(event),
        confidence=artifact.confidence,
        valid_from=None if ended and relation != "did" else start,
        holds_at=event.at if relation != "did" and not ended else None,
        valid_to=end if relation == "did" else (end or event.at if ended else None),
        extractor=EXTRACTOR,
    )


def _relation(artifact: ArtifactDraft) -> str | None:
    if artifact.kind is ArtifactKind.EVENT:
        by_nobody = artifact.slot is not None and artifact.slot.attribute == Over.TASK  # "the RFC is written": by whom?
        return "did" if artifact.stance is Stance.DONE and not by_nobody else None
    if artifact.slot is None or artifact.kind is ArtifactKind.RELATIONSHIP:  # nobody owns a sister, or an ex
        return None
    return _RELATIONS.get(artifact.slot.attribute.partition(":")[0])


def _verb(artifact: ArtifactDraft) -> str:
    """Name what is done by habit: without it, "climb twice a week" would be only how often."""
    what, _, of = artifact.slot.attribute.partition(":") if artifact.slot is not None else ("", "", "")
    return of.split(" ")[0] if what == "doing" else "play" if what == "plays" else ""


def _named(name: str) -> Mention:
    return Mention(span=Span(0, 0), text=name, type=EntityType.PERSON, score=1.0)
