"""Turn what the reader found in an event into statement drafts and name mentions, and check drafts against the event.

No statement without its words: a draft's quote must stand in its event, and its content must not go beyond them. The
reader passes by construction. What an LLM writes does not: it alters quotes, and it adds names and numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from unicodedata import normalize

from msgspec.structs import replace

from everyword.knowledge.claims import meaning_of
from everyword.knowledge.reading import EventReading, ReadStatement
from everyword.types.events import Event, Span
from everyword.types.graph import EntityType, Mention
from everyword.types.statements import TO_DO, Category, SaidDate, Slot, Stance, StatementDraft, StatementKind

ACTION_REQUIRED = "action:required"
_CATEGORIES: Mapping[StatementKind, Category] = {
    StatementKind.ATTRIBUTE: Category.IDENTITY,
    StatementKind.FACT: Category.CONTEXT,
    StatementKind.PREFERENCE: Category.PREFERENCES,
    StatementKind.RELATIONSHIP: Category.RELATIONSHIPS,
    StatementKind.HABIT: Category.LIFESTYLE,
    StatementKind.EVENT: Category.EXPERIENCES,
    StatementKind.PLAN: Category.PLANS_GOALS,
    StatementKind.TASK: Category.PLANS_GOALS,
    StatementKind.DECISION: Category.PLANS_GOALS,
    StatementKind.INSIGHT: Category.OPINIONS,
    StatementKind.INSTRUCTION: Category.PREFERENCES,
}
# Categories of relations that say more than the kind does.
_BY_RELATION: Mapping[str, Category] = {
    **dict.fromkeys(("job", "role", "works_at", "works_on", "salary", "position"), Category.WORK_CAREER),
    **dict.fromkeys(("studies", "learns", "exam", "grade", "teaches"), Category.LEARNING),
    **dict.fromkeys(("allergic_to", "health", "diet", "injured", "surgery", "dose"), Category.WELLNESS),
    **dict.fromkeys(("plays", "favourite_team", "interested_in", "watches", "reads"), Category.INTERESTS),
}
_TYPES: Mapping[str, EntityType] = {
    "person": EntityType.PERSON,
    "organisation": EntityType.ORGANISATION,
    "project": EntityType.PROJECT,
    "place": EntityType.PLACE,
    "pet": EntityType.THING,
    "product": EntityType.THING,
    "work": EntityType.THING,
    "event": EntityType.TOPIC,
    "other": EntityType.TOPIC,
}
_JOBS = frozenset(("job", "role", "has_role", "position"))
# What lasts until it ends. What happened once does not end.
STATES = frozenset((StatementKind.ATTRIBUTE, StatementKind.PREFERENCE, StatementKind.RELATIONSHIP, StatementKind.HABIT))
# The reader has no class for what is over; English says so in a few fixed words.
_OVER = re.compile(r"\bused to (?!it\b|the\b|this\b|that\b)|\bno longer\b", re.IGNORECASE)
_LEFT = re.compile(r"\b(?:left|quit|resigned|retired|fired|laid off|moved (?:away|out))\b", re.IGNORECASE)
_ANY_MORE = re.compile(r"\bany ?more\b|\bany longer\b", re.IGNORECASE)


def drafts_of(event: Event, reading: EventReading, model: str) -> list[StatementDraft]:
    """Make drafts of the statements in a reading."""
    return [_draft(event, reading, one, model) for one in reading.statements]


def mentions_in(reading: EventReading) -> list[Mention]:
    """Make mentions of the names in a reading."""
    return [Mention(span=one.span, text=one.text, type=_TYPES[one.type], score=one.confidence) for one in reading.names]


def tags_of(draft: StatementDraft) -> tuple[str, ...]:
    """Tag a statement with its category, and with whether something is to be done."""
    tags = [f"category:{draft.category.value}"]
    if draft.kind in TO_DO and not draft.negated and draft.valid_to is None and draft.stance is Stance.HOLDS:
        tags.append(ACTION_REQUIRED)
    return tuple(tags)


def category_of(kind: StatementKind, relation: str | None) -> Category:
    """Tell the part of life that a statement belongs to."""
    return _BY_RELATION.get(relation or "") or _CATEGORIES[kind]


def _draft(event: Event, reading: EventReading, one: ReadStatement, model: str) -> StatementDraft:
    kind = StatementKind(one.kind)
    stance = _stance(one, kind)
    over = stance is Stance.ENDED and kind in (*STATES, *TO_DO)
    value = event.text[one.value.start : one.value.end] if one.value else None
    relation = _relation(reading, one)
    draft = StatementDraft(
        kind=kind,
        # An instruction is about the assistant, who did not say it.
        content=content_of(one.quote, None if kind is StatementKind.INSTRUCTION else one.about),
        category=category_of(kind, relation),
        quote=one.quote,
        event_id=event.id,
        span=one.span,
        speaker=event.speaker,
        about=one.about,
        confidence=round(one.confidence, 3),
        date=one.date,
        valid_from=None if over else _begins(one.date, kind, event.at),
        valid_to=event.at if over or stance is Stance.DONE else None,
        entities=tuple(dict.fromkeys(name.text for name in reading.names if _inside(name.span, one.span))),
        negated=one.mode == "negated",
        slot=Slot(one.about or "", relation) if relation else None,
        value=value,
        stance=stance,
        lasting=round(one.lasting, 3),
        extractor=model,
    )
    return replace(draft, tags=tags_of(draft))


def _relation(reading: EventReading, one: ReadStatement) -> str | None:
    """Tell the relation of a statement; a job whose value is a name is an employer."""
    if one.relation not in _JOBS or one.value is None:
        return one.relation
    value = one.value
    return "works_at" if any(_inside(value, name.span) for name in reading.names) else one.relation


def content_of(quote: str, about: str | None) -> str:
    """Word a statement: its quote, behind the name of whom it is about unless the quote has that."""
    plain = " ".join(quote.split())
    named = about is None or about.casefold() in normalize("NFC", plain).casefold()
    return plain if named else f"{about}: {plain}"


def _stance(one: ReadStatement, kind: StatementKind) -> Stance:
    if one.mode == "hypothetical":
        return Stance.MAYBE
    if one.state == "done":
        return Stance.DONE
    if one.state == "dropped" or (kind in STATES and _is_over(one)) or (kind is StatementKind.EVENT and _leaves(one)):
        return Stance.ENDED
    return Stance.HOLDS


def _is_over(one: ReadStatement) -> bool:
    return bool(_OVER.search(one.quote) or (one.mode == "negated" and _ANY_MORE.search(one.quote)))


def _leaves(one: ReadStatement) -> bool:
    """Tell whether an event ends a home or a job: "I left Porto"."""
    meaning = meaning_of(one.relation)
    return meaning is not None and meaning.relation in ("lives_in", "works_at") and bool(_LEFT.search(one.quote))


def _begins(date: SaidDate | None, kind: StatementKind, at: datetime) -> datetime:
    """Say since when it is true: since the date that was said where that has passed, else since it was said."""
    return date.start if date is not None and date.start <= at and kind not in TO_DO else at


def _inside(one: Span, other: Span) -> bool:
    return other.start <= one.start and one.end <= other.end


SHORTEST_STEM = 3  # letters that two forms of a word share at least: "prefer", "preferring"


class Fault(StrEnum):
    """Why a draft is not let in."""

    OTHER_EVENT = "it names another event"
    NO_QUOTE = "it has no quote"
    NOT_SAID = "its quote is not in the event"
    UNCLEAR_PLACE = "its quote is in the event more than once, and its span is none of these places"
    NEW_NAME = "its content has a name that the event does not have"
    NEW_NUMBER = "its content has a number that the event does not have"
    NO_CONTENT = "it has no content"


class Rejected(Exception):
    """Says why a draft is not let in."""

    def __init__(self, fault: Fault, detail: str = "") -> None:
        super().__init__(f"{fault.value}: {detail}")
        self.fault = fault


def check_all(
    event: Event, drafts: Iterable[StatementDraft], *, known: Collection[str] = ()
) -> tuple[list[StatementDraft], list[str]]:
    """Check drafts; give those that are let in, and why the others are not."""
    accepted: list[StatementDraft] = []
    refused: list[str] = []
    for draft in drafts:
        try:
            accepted.append(check(event, draft, known=known))
        except Rejected as reason:
            refused.append(str(reason))
    return accepted, refused


def check(event: Event, draft: StatementDraft, *, known: Collection[str] = ()) -> StatementDraft:
    """Let a draft in, with its span corrected where the quote stands in one place only, or raise Rejected.

    `known` are names that may stand in its content besides those of the event: other speakers, resolved entities.
    """
    if draft.event_id != event.id:
        raise Rejected(Fault.OTHER_EVENT, draft.event_id)
    if not draft.content.strip():
        raise Rejected(Fault.NO_CONTENT)
    placed = _placed(event.text, draft)
    if (foreign := _foreign_number(event, draft)) is not None:
        raise Rejected(Fault.NEW_NUMBER, foreign)
    if (foreign := _foreign_name(event, draft, known)) is not None:
        raise Rejected(Fault.NEW_NAME, foreign)
    return placed


def _placed(text: str, draft: StatementDraft) -> StatementDraft:
    quote = draft.quote
    if not quote.strip():
        raise Rejected(Fault.NO_QUOTE)
    start, end = draft.span
    if 0 <= start < end <= len(text) and text[start:end] == quote:
        return draft
    first = text.find(quote)
    if first < 0:
        raise Rejected(Fault.NOT_SAID, quote[:80])
    if text.find(quote, first + 1) >= 0:
        raise Rejected(Fault.UNCLEAR_PLACE, quote[:80])
    return replace(draft, span=Span(first, first + len(quote)))


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
# Words that content begins with although nobody said them.
_COMMON = frozenset(
    "the a an user assistant speaker they he she it we i their his her this that these those no not in on at".split()
)


def _foreign_number(event: Event, draft: StatementDraft) -> str | None:
    said = {_digits(number) for number in _NUMBER.findall(event.text)}
    words = {word.lower() for word in _words(event.text)}
    said |= {digits for word, digits in _NUMBER_WORDS.items() if word in words}
    said |= {_digits(number) for name in (event.speaker, draft.about) for number in _NUMBER.findall(name or "")}
    if draft.date is not None:  # a date that was resolved may be written out
        for moment in (draft.date.start, draft.date.end):
            said |= {str(moment.year), str(moment.month), str(moment.day), f"{moment.month:02}", f"{moment.day:02}"}
    for number in _NUMBER.findall(draft.content):
        parts = re.split(r"[.,:]", number)
        if _digits(number) not in said and not all(part in said for part in parts):
            return number
    for word in _words(draft.content):
        digits = _NUMBER_WORDS.get(word.lower())
        if digits is not None and word.lower() != "one" and digits not in said:
            return word
    return None


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text))


def _digits(number: str) -> str:
    return re.sub(r"[.,:]", "", number)


def _foreign_name(event: Event, draft: StatementDraft, known: Collection[str]) -> str | None:
    said = {word.lower() for word in _words(event.text)}
    said |= {part for word in said for part in re.split(r"['’-]", word)}
    for name in (event.speaker or "", event.role or "", *known):
        said |= {word.lower() for word in _words(name)}
    stems = {word[:SHORTEST_STEM] for word in said if len(word) >= SHORTEST_STEM}
    months = {moment.strftime("%B").lower() for moment in draft.date[:2]} if draft.date else set[str]()
    for text in (draft.content, draft.about or "", *draft.entities):
        begins = True
        text = unicodedata.normalize("NFC", text)
        for match in _WORD.finditer(text):
            word = match[0]
            plain = re.sub(r"['’]s?$", "", word.lower())
            if word[0].isupper() and plain not in said | _COMMON | months and not (begins and _is_plain(plain, stems)):
                return word
            begins = text[match.end() : match.end() + 1] in (":", ".")
    return None


def _is_plain(word: str, stems: set[str]) -> bool:
    """The first word of a statement is in capitals whatever it is: a verb, or a form of a word that was said."""
    return word[:SHORTEST_STEM] in stems
