"""Statements -> claims: what somebody did and does, which no relation between two names can hold."""

from __future__ import annotations

from collections.abc import Iterable

from everyword.knowledge.legacy.extract.facts.extract import Names
from everyword.knowledge.legacy.extract.rules.ending import Over
from everyword.types.events import Event, Span
from everyword.types.graph import EntityType, FactDraft, Mention, name_key
from everyword.types.statements import Stance, StatementDraft, StatementKind
from everyword.types.trust import source_of

EXTRACTOR = "stated/3"  # the number changes whenever the same statements would give other facts
# What the slots of statements are as relations; those that the rules for facts read themselves are left to them.
_RELATIONS = {"doing": "does", "plays": "does", "habit": "does", "has": "owns", "favourite": "likes"}
LEAST_CONFIDENCE = 0.6  # what statements only consider, or presuppose weakly, is no fact


def facts_of_statements(event: Event, statements: Iterable[StatementDraft], index: Names) -> list[FactDraft]:
    """Make claims of an event's statements: what happened to whom, when; what somebody does. Pure."""
    drafts = (_draft(event, statement, index) for statement in statements)
    return [draft for draft in drafts if draft is not None]


def _draft(event: Event, statement: StatementDraft, index: Names) -> FactDraft | None:
    relation = _relation(statement)
    value = f"{_verb(statement)} {statement.value or ''}".strip() if statement.value else ""
    if relation is None or not value or not statement.about or statement.negated:
        return None
    if statement.confidence < LEAST_CONFIDENCE or statement.stance is Stance.MAYBE:
        return None
    ended = statement.stance is Stance.ENDED
    start, end = statement.valid_from, statement.valid_to
    if relation == "did":
        start = statement.date.start if statement.date else event.at
        end = statement.date.end if statement.date else event.at
        if start > event.at:
            return None  # it is still to come
    return FactDraft(
        subject=index.id_of(_named(statement.about), event.speaker),
        subject_name=statement.about,
        subject_form=index.form_of(_named(statement.about), event.speaker),
        relation=relation,
        object=name_key(value),
        object_name=value,
        event_id=event.id,
        span=statement.span,
        quote=statement.quote,
        said_at=event.at,
        recorded_at=event.recorded_at,
        source=source_of(event),
        confidence=statement.confidence,
        valid_from=None if ended and relation != "did" else start,
        holds_at=event.at if relation != "did" and not ended else None,
        valid_to=end if relation == "did" else (end or event.at if ended else None),
        extractor=EXTRACTOR,
    )


def _relation(statement: StatementDraft) -> str | None:
    if statement.kind is StatementKind.EVENT:
        # "the RFC is written": by whom?
        by_nobody = statement.slot is not None and statement.slot.attribute == Over.TASK
        return "did" if statement.stance is Stance.DONE and not by_nobody else None
    if statement.slot is None or statement.kind is StatementKind.RELATIONSHIP:  # nobody owns a sister, or an ex
        return None
    return _RELATIONS.get(statement.slot.attribute.partition(":")[0])


def _verb(statement: StatementDraft) -> str:
    """Name what is done by habit: without it, "climb twice a week" would be only how often."""
    what, _, of = statement.slot.attribute.partition(":") if statement.slot is not None else ("", "", "")
    return of.split(" ")[0] if what == "doing" else "play" if what == "plays" else ""


def _named(name: str) -> Mention:
    return Mention(span=Span(0, 0), text=name, type=EntityType.PERSON, score=1.0)
