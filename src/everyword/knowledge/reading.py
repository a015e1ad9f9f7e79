"""Read an event with the trained reader: its names, and its statements with whom they are about and when.

A reading is kept as spans; quotes, values and dates are taken from the event again when it is read back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from everyword.lazy_patterns import lazy_pattern
from everyword.models.reader.decoding import FoundEntity, FoundStatement
from everyword.models.reader.reader import TextReader, TurnReading
from everyword.text.dates import Bound, DateMention, find_dates
from everyword.text.rendering import speaker_of
from everyword.text.spans import Composed, composed, prose
from everyword.types.events import ASSISTANTS, Event, Span
from everyword.types.records import RecordKind, speaks_for
from everyword.types.statements import SaidDate
from everyword.types.trust import states_nothing

USER = "user"  # the speaker of an event that names none
NAMELESS = "Speaker"  # how statements name whoever said what nobody signed; no person of the graph
_DONE = "done"
_PEOPLE = "people"
_RELATIONSHIP = "relationship"
_VALUE, _CONFIDENCE = 7, 8  # their places in a stored statement
_REDACTED = lazy_pattern(r"[^\S\n]*(?:\w+[^\S\n]+)?\[redacted: [^\]\n]*\]")  # behind a word at most: "is"
_BLANK_LINE = lazy_pattern(r"\n[^\S\n]*\n\s*")
# A conjunction after the last word of a statement: what it leads to is another one.
_GOES_ON = lazy_pattern(r"[\s,](?:and|or|but|because|und|oder|aber|weil|et|ou|mais|pero|porque|mas)\Z")
_LONGEST_CONJUNCTION = 8  # with what stands before it
# Words that go on in a phrase: a statement that ends in one before another word, or follows one, is cut within it. In
# 14,017 statements of talk they changed 154; of the 90 in real talk 83 became better, and none much worse.
_WITHIN = (
    r"an?|the|my|your|our|their|its|every|of|with|for|from|at|in|on|into|by|about|as|than|during|without|after|before"
    r"|is|are|was|were|be|been|am|can|could|will|would|should|must|has|have|had|not|very|too|i|we|he|she|they"
    r"|(?:it|he|she)['’]s|i['’]m|(?:we|they)['’]re|(?:is|are|was|were|do|does|did)n['’]t"
)
_ENDS_WITHIN = lazy_pattern(
    rf"(?:(?<![\w'’])(?:{_WITHIN}|to|so|that|who|which|if|when|while|since|because|though)[\s,]*)+\Z", re.IGNORECASE
)
_BEGINS_WITHIN = lazy_pattern(rf"\b(?:{_WITHIN})[^\S\n]+\Z", re.IGNORECASE)
_WORD_BEFORE = lazy_pattern(r"\w[^\S\n]+\Z")
_JOINS = lazy_pattern(r"(?:and|or|but)\s", re.IGNORECASE)
_WORD_FOLLOWS = lazy_pattern(r"[^\S\n]+(?!(?:and|or|but|because)\b)[\w$£€\"“]", re.IGNORECASE)
_CLAUSE_EDGE = lazy_pattern(
    r"(?<![.!?…])[.!?…]++(?=\s|\Z)|[;:,](?=\s|\Z)|[()\n]|\s[-–—]++\s|\s(?:and|or|but|because)\s|\Z", re.IGNORECASE
)
_MOST_ADDED = 80  # characters; a message without punctuation has no clauses
# Kinds whose dates lie behind the speaker, and ahead of them; verbs decide for the others.
_LOOKS_BACK = {"event": True, "plan": False, "task": False}


class EventTurn(Struct, frozen=True):
    """An event as the reader sees it: its prose, who said it, and on which day."""

    text: str
    speaker: str
    at: str | None


class ReadName(Struct, frozen=True):
    """A name in an event."""

    span: Span
    text: str
    type: str  # one of decoding.TYPES
    confidence: float


class ReadStatement(Struct, frozen=True):
    """A statement in an event, before it is compared with known ones."""

    span: Span
    quote: str
    kind: str  # one of decoding.KINDS
    mode: str  # one of decoding.MODES
    state: str | None  # of plans and tasks: one of decoding.STATES
    about: str | None  # a name; None if nobody and nothing is named
    relation: str | None
    value: Span | None
    date: SaidDate | None
    confidence: float
    lasting: float  # how likely it is worth telling unasked weeks later
    relation_confidence: float = 1.0  # that it has this relation, or one of the same meaning


class EventReading(Struct, frozen=True):
    """What the reader finds in one event."""

    names: tuple[ReadName, ...] = ()
    statements: tuple[ReadStatement, ...] = ()


def turn_of(event: Event) -> EventTurn:
    """Give an event the form that the reader takes."""
    return EventTurn(prose(event.text), event.speaker or event.role or USER, event.at.date().isoformat())


def said_by_user(event: Event) -> Event:
    """Attribute a correction to the speaker of the corrected statement, whom "I" in it means."""
    return event if event.record is None else replace(event, speaker=speaks_for(event))


def speaker_name(event: Event) -> str:
    """Name who speaks, in any event."""
    return speaker_of(event) or NAMELESS


def read_event(reader: TextReader, event: Event, before: Event | None = None) -> EventReading:
    """Read an event; `before` is the one before it in its session. What programs report states nothing."""
    if states_nothing(event) or event.record not in (None, RecordKind.CORRECTION):
        return EventReading()
    turn, previous = turn_of(event), turn_of(before) if before is not None else None
    if not turn.text.strip():
        return EventReading()
    found = _read(reader, turn, previous)
    names = [
        ReadName(span := _below_heading(event.text, one.start, one.end), event.text[slice(*span)], one.type, one.score)
        for one in found.entities
        if _is_whole(event, turn, one.start, one.end)
    ]
    edges = [0, *(edge for one in found.statements for edge in (one.start, one.end)), len(turn.text)]
    statements = [
        _statement(event, turn, previous, one, Span(edges[2 * place], edges[2 * place + 3]))
        for place, one in enumerate(found.statements)
        if _is_whole(event, turn, one.start, one.end)
    ]
    own = {speaker_name(event)} if is_assistant(event) else set[str]()  # what an assistant says of itself is not kept
    return EventReading(tuple(names), tuple(one for one in statements if one.about not in own))


def _read(reader: TextReader, turn: EventTurn, previous: EventTurn | None) -> TurnReading:
    """Read a turn with composed letters, as the reader has learned them; give spans of the turn as it is."""
    letters = composed(turn.text)
    if letters is None:
        return reader.read(turn, previous)
    found = reader.read(replace(turn, text=letters.text), previous)
    return TurnReading(
        tuple(replace(one, **_place(letters, one)) for one in found.entities),
        tuple(
            replace(one, **_place(letters, one), value=letters.back(one.value) if one.value else None)
            for one in found.statements
        ),
    )


def _place(letters: Composed, one: FoundEntity | FoundStatement) -> dict[str, int]:
    return letters.back(Span(one.start, one.end))._asdict()


def _statement(
    event: Event, turn: EventTurn, previous: EventTurn | None, one: FoundStatement, room: Span
) -> ReadStatement:
    """Take over a statement; `room` is what no other statement has."""
    # From the end: to look for it from the start would take minutes in thousands of spaces.
    goes_on = _GOES_ON.search(turn.text, max(one.start, one.end - _LONGEST_CONJUNCTION), one.end)
    said = turn.text[one.start : goes_on.start()].rstrip(" ,\t\n") if goes_on else turn.text[one.start : one.end]
    span = Span(one.start, one.start + len(said))
    if one.kind == _RELATIONSHIP:  # "my sister Ana" is whole wherever it stands
        room = Span(span.start, room.end)
    wider = _whole_phrases(turn.text, span, room)
    span = _below_heading(event.text, *(wider if _is_whole(event, turn, *wider) else span))
    if mark := _REDACTED.match(event.text, span.end):  # which says that there was a value
        span = Span(span.start, mark.end())
    return ReadStatement(
        span=span,
        quote=event.text[span.start : span.end],
        kind=one.kind,
        mode=one.mode,
        state=one.state,
        about=_about(one, event, turn, previous),
        relation=one.relation,
        value=Span(one.value.start, one.value.end) if one.value and one.value.start >= span.start else None,
        date=said_date(turn.text, span, event.at, kind=one.kind, state=one.state),
        confidence=one.score * one.kind_score,
        lasting=one.lasting,
        relation_confidence=_likely(one),
    )


def _likely(one: FoundStatement) -> float:
    """Add up the chances of the relations that mean the same; which one it is between people, their words say."""
    from everyword.knowledge.claims import BETWEEN_PEOPLE, compared_as  # compiles patterns: not for who only asks

    def meaning(name: str) -> str | None:
        relation = compared_as(name)
        return _PEOPLE if relation in BETWEEN_PEOPLE else relation

    own = meaning(one.relation or "")
    return round(sum(chance for name, chance in one.relation_scores.items() if meaning(name) == own), 3)


def _whole_phrases(text: str, span: Span, room: Span) -> Span:
    """Widen a statement that is cut within a phrase to its clause; cut off its last words if there is no room."""
    start, end = span
    room = Span(max(room.start, start - _MOST_ADDED), min(room.end, end + _MOST_ADDED))
    tail = max(start, end - _MOST_ADDED)
    if (last := _ENDS_WITHIN.search(text[tail:end])) and _WORD_FOLLOWS.match(text, end):
        edge = _CLAUSE_EDGE.search(text, end)
        if edge is not None and edge.start() <= room.end:
            end = edge.start()
        elif kept := text[start : tail + last.start()].rstrip(" ,"):
            end = start + len(kept)
    joins = _JOINS.match(text, start) and _WORD_BEFORE.search(text, room.start, start)
    if joins or _BEGINS_WITHIN.search(text, room.start, start):
        edges = [edge.end() for edge in _CLAUSE_EDGE.finditer(text, room.start, start) if edge.end() < start]
        if edges or room.start == 0:
            start = start - len(text[(edges or [0])[-1] : start].lstrip())
    return Span(start, end)


def to_body(reading: EventReading, compared: dict[str, str] | None = None) -> str:
    """Write a reading as JSON, with how its statements compare to earlier ones."""
    body: dict[str, Any] = {
        "names": [[*one.span, one.type, round(one.confidence, 2)] for one in reading.names],
        "statements": [
            [*one.span, one.kind, one.mode, one.state, one.about, one.relation, one.value]
            + [round(chance, 3) for chance in (one.confidence, one.lasting, one.relation_confidence)]
            for one in reading.statements
        ],
    }
    if compared:
        body["compared"] = compared
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def from_body(event: Event, body: str) -> EventReading:
    """Read a reading back."""
    held: dict[str, Any] = json.loads(body)
    text = prose(event.text) if held["statements"] else ""
    names = [ReadName(Span(a, b), event.text[a:b], type, score) for a, b, type, score in held["names"]]
    statements = [
        ReadStatement(
            *(Span(a, b), event.text[a:b], kind, mode, state, about, relation, Span(*value) if value else None),
            said_date(text, Span(a, b), event.at, kind=kind, state=state),
            *chances,
        )
        for a, b, kind, mode, state, about, relation, value, *chances in held["statements"]
    ]
    return EventReading(tuple(names), tuple(statements))


class Said(NamedTuple):
    """What the reader found in an event; all of its text where nothing was read."""

    quotes: tuple[str, ...]  # of its statements, the surest first
    things: tuple[str, ...] = ()  # names, and what statements are about
    names: tuple[str, ...] = ()


def said_in(event: Event, body: str | None) -> Said:
    """Give what a stored reading found in an event, faster than `from_body`; without one, its text."""
    held: dict[str, Any] = json.loads(body) if body is not None else {"names": (), "statements": ()}
    statements = sorted(held["statements"], key=lambda one: (-one[_CONFIDENCE], one[0], one[1]))
    names = [event.text[start:end] for start, end, *_ in held["names"]]
    quotes = tuple(event.text[one[0] : one[1]] for one in statements) or (event.text,)
    values = (event.text[slice(*one[_VALUE])] for one in statements if one[_VALUE])
    return Said(quotes, (*names, *values), tuple(sorted(set(names))))


def states_something(body: str) -> bool:
    """Tell whether a stored reading has a statement."""
    return '"statements":[]' not in body


def compared_in(body: str) -> dict[str, str]:
    """Read how the statements of an event compare to earlier ones."""
    return json.loads(body).get("compared", {})


def _about(one: FoundStatement, event: Event, turn: EventTurn, previous: EventTurn | None) -> str | None:
    if one.about == "speaker":
        return speaker_name(event)
    if one.about == "listener":
        return previous.speaker if previous is not None and previous.speaker != turn.speaker else None
    if one.about != "name" or not one.about_text:
        return None
    return " ".join(one.about_text[slice(*_below_heading(one.about_text, 0, len(one.about_text)))].split())


@lru_cache(maxsize=16)  # a long text has hundreds of statements
def _dates(text: str, at: datetime, looks_back: bool | None) -> Sequence[DateMention]:
    return find_dates(text, at, past=looks_back, nearest=True)


def said_date(text: str, span: Span, at: datetime, *, kind: str, state: str | None) -> SaidDate | None:
    """Find the date that a statement names; what it tells decides whether "on Friday" is past or ahead."""
    looks_back = True if state == _DONE else _LOOKS_BACK.get(kind)
    mentions = _dates(text, at, looks_back)
    inside = [one for one in mentions if one.span.start < span.end and one.span.end > span.start and not one.repeats]
    if not inside:
        return None
    first = inside[0]
    before = first.bound is Bound.BEFORE
    return SaidDate(start=first.start, end=first.end, words=first.text, certain=first.certain, before=before)


def _below_heading(text: str, start: int, end: int) -> Span:
    """Cut off what stands above a blank line, a heading mostly; a line that ends in a colon goes on below."""
    for blank in _BLANK_LINE.finditer(text, start, end):
        if not text[start : blank.start()].rstrip().endswith(":"):
            start = blank.end()
    return Span(start, end)


def _is_whole(event: Event, turn: EventTurn, start: int, end: int) -> bool:
    """Tell whether a span has nothing that was hidden from the reader."""
    return turn.text[start:end] == event.text[start:end]


def is_assistant(event: Event) -> bool:
    """Tell whether an assistant speaks, by its role or its name."""
    return (event.role or "").lower() in ASSISTANTS or (event.speaker or "").casefold() in ASSISTANTS
