"""From what an LLM answered to drafts: names put as the memory has them, dates worked out here, every quote checked.

Nothing that the LLM wrote is believed for being written. Its quote must stand in the event, its content must be made of
words that were said, its dates are resolved from the words that it points at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from everyword.knowledge.drafts import STATES, Rejected, check, tags_of
from everyword.knowledge.llm.facts import FACTS_SCHEMA, MOST_SURE, means_speaker, place_of, quote_fault, time_said
from everyword.knowledge.llm.grounding import mostly_said
from everyword.knowledge.llm.scene import LONGEST_BEFORE, Scene
from everyword.models.llm.json_schema import list_schema, object_schema
from everyword.models.protocol import Schema
from everyword.text.dates import find_dates
from everyword.text.rendering import visible
from everyword.text.terms import question_terms, shortened
from everyword.types.events import Event
from everyword.types.statements import TO_DO, Category, SaidDate, Slot, Stance, Statement, StatementDraft, StatementKind

LONGEST_CONTENT = 240  # characters; the quote has the rest
MOST_STATEMENTS = 20  # of one pass: a turn that states more is a document

# What holds one value at a time, named as the reader names it, so that one can replace what the other found.
ATTRIBUTES = (
    "lives_in",
    "works_at",
    "job",
    "age",
    "birthday",
    "diet",
    "budget",
    "price",
    "deadline",
    "version",
    "status",
)
OTHER = "other"
_NAME = re.compile(r"[^\W\d_][\w'’-]*")
_MOST_NAMES = 200  # of the turns before; they are short

_ITEM: dict[str, Schema] = {
    "quote": {"type": "string"},
    "content": {"type": "string"},
    "kind": {"type": "string", "enum": [kind.value for kind in StatementKind]},
    "category": {"type": "string", "enum": [category.value for category in Category]},
    "about": {"type": ["string", "null"]},
    "attribute": {"type": "string", "enum": [*ATTRIBUTES, OTHER]},
    "value": {"type": ["string", "null"]},
    "negated": {"type": "boolean"},
    "stance": {"type": "string", "enum": [stance.value for stance in Stance]},
    "when": {"type": ["string", "null"]},
    "follows": {"type": ["integer", "null"]},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
}
SCHEMA = object_schema(statements=list_schema(object_schema(**_ITEM), MOST_STATEMENTS), facts=FACTS_SCHEMA)


class Noted(NamedTuple):
    """A draft that was let in, and the statement that the LLM says it ends or takes the place of."""

    draft: StatementDraft
    follows: str | None


class Drafted(NamedTuple):
    """What came of an answer."""

    noted: list[Noted]
    refused: list[str]  # why, a line each


def drafted(scene: Scene, statements: Sequence[Mapping[str, Any]], extractor: str) -> Drafted:
    """Make drafts of statements that meet the schema; say of each that is not let in why."""
    known_names = _names_shown(scene)
    said = question_terms(" ".join((scene.text, *known_names, *(turn.text for turn in scene.before), scene.speaker)))
    noted: list[Noted] = []
    refused: list[str] = []
    for statement in statements:
        draft = _dated(scene, _draft(scene, statement, extractor), (statement["when"] or "").strip())
        reason = _reason(draft, said)
        checked = _checked(scene.event, draft, known_names) if reason is None else None
        if isinstance(checked, Rejected):
            reason = f"{checked.fault.value}: {checked.detail}"
        if checked is None or isinstance(checked, Rejected):
            refused.append(f"{extractor}: {reason}")
            continue
        follows = _followed(scene, statement)
        noted.append(Noted(checked, follows.id if follows else None))
    return Drafted(noted, refused)


def _checked(event: Event, draft: StatementDraft, known: Collection[str]) -> StatementDraft | Rejected:
    """Check a draft; a date that its words come to may be written out in its content, and no other number."""
    content, date = draft.content, draft.date
    for mention in reversed(find_dates(content, event.at, nearest=True)) if date else ():
        if date and mention.start < date.end and date.start < mention.end:
            content = content[: mention.span.start] + content[mention.span.end :]
    # Without its date: that would let in each of its numbers as any number.
    checked = check(event, replace(draft, content=content, date=None), known=known)
    if isinstance(checked, Rejected):
        return checked
    return replace(checked, content=draft.content, date=date)


def _names_shown(scene: Scene) -> tuple[str, ...]:
    """List the names that content may hold although the event does not: they were said just before, or are known."""
    words = (word for turn in scene.before for word in _NAME.findall(turn.text[:LONGEST_BEFORE]))
    before = [word for word in words if word[0].isupper()]
    speakers = (turn.speaker for turn in scene.before if turn.speaker)
    return (*scene.names, *dict.fromkeys((*speakers, *before[:_MOST_NAMES])))


def _reason(draft: StatementDraft, said: Collection[int]) -> str | None:
    """Say why a draft is refused before its quote is even looked for."""
    fault = quote_fault(draft.quote)
    if fault is not None:
        return fault
    if not mostly_said(draft.content, said):
        return f"its content goes beyond what was said: {draft.content[:80]}"
    return None


def _draft(scene: Scene, statement: Mapping[str, Any], extractor: str) -> StatementDraft:
    event = scene.event
    kind = StatementKind(statement["kind"])
    stance = Stance(statement["stance"])
    about = _about(scene, statement["about"])
    quote = statement["quote"].strip()
    span = place_of(visible(event.text), quote)
    if span.end:
        quote = event.text[span.start : span.end]  # with the hidden characters that the LLM was not shown
    value = _value(statement, quote)
    ended = stance is Stance.ENDED and kind in (*STATES, *TO_DO)
    draft = StatementDraft(
        kind=kind,
        content=_short(statement["content"]),
        category=Category(statement["category"]),
        quote=quote,
        event_id=event.id,
        span=span,
        speaker=event.speaker,
        about=about,
        confidence=min(MOST_SURE, float(statement["confidence"])),
        valid_from=None if ended else event.at,
        valid_to=event.at if ended else None,
        entities=tuple(one.text for one in scene.named if span.start <= one.span.start < span.end),
        negated=statement["negated"],
        slot=_slot(scene, statement, about, value),
        value=value,
        stance=stance,
        extractor=extractor,
    )
    return replace(draft, tags=tags_of(draft))


def _about(scene: Scene, said: str | None) -> str:
    """Name whom a statement is about: the speaker where nobody is named, a known name as it is known."""
    name = " ".join((said or "").split())
    if means_speaker(scene, name):
        return scene.speaker
    return next((known for known in scene.names if known.casefold() == name.casefold()), name)


def _value(statement: Mapping[str, Any], quote: str) -> str | None:
    value = (statement["value"] or "").strip()
    return value if value and value.casefold() in quote.casefold() else None


def _slot(scene: Scene, statement: Mapping[str, Any], about: str, value: str | None) -> Slot | None:
    if value is None:
        return None
    follows = _followed(scene, statement)
    if follows is not None and follows.slot is not None and (follows.about or "").casefold() == about.casefold():
        return follows.slot  # the next value of the same
    attribute = statement["attribute"]
    return None if attribute == OTHER else Slot(about, attribute)


def _followed(scene: Scene, statement: Mapping[str, Any]) -> Statement | None:
    number: int = statement["follows"] or 0
    return scene.known[number - 1] if 0 < number <= len(scene.known) else None


def _short(content: str) -> str:
    plain = " ".join(content.split())
    return shortened(plain, LONGEST_CONTENT)


# Dates


def _dated(scene: Scene, draft: StatementDraft, when: str) -> StatementDraft:
    """Resolve the time that the words say, against the event's own clock."""
    said = time_said(scene, draft.span, when) if draft.span.end else None
    if said is None:
        return draft
    date = SaidDate(said.start, said.end, said.text, said.certain and not said.guessed)
    return replace(draft, date=date, valid_from=_begins(draft, date, scene.event.at))


def _begins(draft: StatementDraft, date: SaidDate, at: datetime) -> datetime | None:
    """Since the date that was said where that has passed, else since it was said."""
    if draft.valid_from is None or draft.kind in TO_DO or date.start > at:
        return draft.valid_from
    return date.start
