"""Read an event with the trained reader: its names, and its statements with whom they are about and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from everyword.models.reader.decoding import FoundStatement
from everyword.models.reader.reader import Reader
from everyword.text.dates.finder import find_dates
from everyword.text.dates.windows import DateMention, Granularity
from everyword.text.skipping import prose
from everyword.types.events import ASSISTANTS, Event, Span
from everyword.types.statements import SaidDate
from everyword.types.trust import states_nothing

USER = "user"  # the speaker of an event that names none
_DONE = "done"
# Kinds whose dates lie behind the speaker, and ahead of them; verbs decide for the others.
_LOOKS_BACK = {"event": True, "plan": False, "task": False}


@dataclass(frozen=True, slots=True)
class EventTurn:
    """An event as the reader sees it: its prose, who said it, and on which day."""

    text: str
    speaker: str
    at: str | None


@dataclass(frozen=True, slots=True)
class ReadName:
    """A name in an event."""

    span: Span
    text: str
    type: str  # one of decoding.TYPES
    confidence: float


@dataclass(frozen=True, slots=True)
class ReadStatement:
    """A statement in an event, before it is compared with known ones."""

    span: Span
    quote: str
    kind: str  # one of decoding.KINDS
    mode: str  # one of decoding.MODES
    state: str | None  # of plans and tasks: one of decoding.STATES
    about: str | None  # a name; None if nobody and nothing is named
    relation: str | None
    value: str | None  # verbatim
    date: SaidDate | None
    confidence: float


@dataclass(frozen=True, slots=True)
class EventReading:
    """What the reader finds in one event."""

    names: tuple[ReadName, ...] = ()
    statements: tuple[ReadStatement, ...] = ()


def turn_of(event: Event) -> EventTurn:
    """Give an event the form that the reader takes."""
    return EventTurn(prose(event.text), event.speaker or event.role or USER, event.at.date().isoformat())


def read_event(reader: Reader, event: Event, before: Event | None = None) -> EventReading:
    """Read an event; `before` is the one before it in its session. What programs report states nothing."""
    if states_nothing(event):
        return EventReading()
    turn, previous = turn_of(event), turn_of(before) if before is not None else None
    if not turn.text.strip():
        return EventReading()
    found = reader.read(turn, previous)
    names = [
        ReadName(Span(one.start, one.end), event.text[one.start : one.end], one.type, one.score)
        for one in found.entities
        if _is_whole(event, turn, one.start, one.end)
    ]
    statements = [
        _statement(event, turn, previous, one) for one in found.statements if _is_whole(event, turn, one.start, one.end)
    ]
    own = {turn.speaker} if _is_assistant(event) else set[str]()  # what an assistant says of itself is not kept
    return EventReading(tuple(names), tuple(one for one in statements if one.about not in own))


def _statement(event: Event, turn: EventTurn, previous: EventTurn | None, one: FoundStatement) -> ReadStatement:
    span = Span(one.start, one.end)
    return ReadStatement(
        span=span,
        quote=event.text[span.start : span.end],
        kind=one.kind,
        mode=one.mode,
        state=one.state,
        about=_about(one, turn, previous),
        relation=one.relation,
        value=event.text[one.value.start : one.value.end] if one.value else None,
        date=said_date(turn.text, span, event.at, kind=one.kind, state=one.state),
        confidence=one.score * one.kind_score,
    )


def _about(one: FoundStatement, turn: EventTurn, previous: EventTurn | None) -> str | None:
    if one.about == "speaker":
        return turn.speaker
    if one.about == "listener":
        return previous.speaker if previous is not None and previous.speaker != turn.speaker else None
    return one.about_text if one.about == "name" else None


def said_date(text: str, span: Span, at: datetime, *, kind: str, state: str | None) -> SaidDate | None:
    """Find the date that a statement names; what it tells decides whether "on Friday" is past or ahead."""
    looks_back = True if state == _DONE else _LOOKS_BACK.get(kind)
    mentions = find_dates(text, at, past=looks_back, mostly=True, nearest=True)
    inside = [one for one in mentions if one.span.start < span.end and one.span.end > span.start and _is_date(one)]
    if not inside:
        return None
    first = inside[0]
    return SaidDate(start=first.start, end=first.end, words=first.text, certain=first.certain)


def _is_date(one: DateMention) -> bool:
    return not one.repeats and one.granularity is not Granularity.LIFE


def _is_whole(event: Event, turn: EventTurn, start: int, end: int) -> bool:
    """Tell whether a span has nothing that was hidden from the reader."""
    return turn.text[start:end] == event.text[start:end]


def _is_assistant(event: Event) -> bool:
    return (event.role or "").lower() in ASSISTANTS or (event.speaker or "").casefold() in ASSISTANTS
