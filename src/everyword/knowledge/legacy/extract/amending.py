"""Corrections in passing: "scratch that", "actually, make that 40k", "I was wrong, it's in May".

What they speak of was said just before by the same person: in the same event, or in their last one in the session.
Which statement that is follows from the words of these events alone, so that the same log always comes to the same.
Where a correction is taken back, what it had corrected holds again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from everyword.knowledge.legacy.extract import tags
from everyword.knowledge.legacy.extract.noise import is_question
from everyword.knowledge.legacy.extract.rules.apply import ASSISTANTS, EXTRACTOR
from everyword.text.dates import find_dates
from everyword.text.spans import sentences
from everyword.types.events import Event, Span
from everyword.types.statements import SaidDate, Stance, Statement, StatementDraft
from everyword.types.trust import states_nothing

MOST_READ = 600  # characters of an event: a correction in passing is short
MOST_WORDS = 6  # of a value that takes another's place; what is longer is a statement by itself

_STOP = r"[,.:;!…–—-]"
# These say that the speaker was wrong ...
_ERRED = re.compile(
    rf"(?:correction|my (?:bad|mistake)|i (?:was|am|stand) (?:wrong|mistaken|corrected)|i'm (?:wrong|mistaken)"
    rf"|i misspoke)\b{_STOP}*\s*",
    re.IGNORECASE,
)
# ... and these, where nobody else spoke in between.
_HESITATES = re.compile(
    rf"(?:(?P<turns>actually|sorry|oops|ups)|oh|ah|hm+|ok(?:ay)?|well|no|nope|wait|hold on|and|but)\b{_STOP}*\s*",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"(?:(?:scratch|strike) that|i take that back|(?:please )?(?:ignore|disregard) that"
    rf"|(?:please )?(?:forget|ignore|disregard) what i (?:just )?said)(?=$|{_STOP})(?:{_STOP}|\s)*",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"(?:(?P<meant>make that|i meant)|make it|(?:it|that)(?:'s| is| was| should be))\s+(?!not\b)", re.IGNORECASE
)
_VALUE = re.compile(r"(?P<value>[^,;:]{1,60}?)(?:,? (?:and )?not (?P<old>[^,;:]{1,40}?))?[.!… ]*")
_DAY = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|today|tomorrow|tonight|noon|midnight)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?!I\b)[A-Z][\w+#.-]+(?: [A-Z][\w+#.-]+)*")
_NUMBER = re.compile(r"\d[\d.,:]*")
_WORD = re.compile(r"[\w+#]+")
_PREPOSITION = re.compile(r"(?:on|at|in|by|for|to) (?=\S)", re.IGNORECASE)
_ANY_DAY = datetime(2000, 1, 3, tzinfo=UTC)  # where a time stands in a value does not hang on when it was said
_LITTLE = frozenset("a an the on at in by for of to now actually about".split())


class Amendment(NamedTuple):
    """What a sentence does to what was said just before it."""

    span: Span  # of the sentence
    value: str | None = None  # what takes the place of what was said; None where that is only taken back
    old: str | None = None  # what was wrong, where the sentence has it
    sure: bool = True  # the speaker corrects themselves; else it may answer what another said in between


class Amended(NamedTuple):
    """A statement that follows another one by its speaker's word."""

    draft: StatementDraft
    target: StatementDraft


def amendment_in(event: Event) -> Amendment | None:
    """Read whether an event puts right what its speaker said just before. Pure."""
    role = (event.role or "").lower()
    if states_nothing(event) or role in ASSISTANTS:
        return None
    found = (
        _amendment(event.text[span.start : span.end].replace("’", "'"), span)
        for span in sentences(event.text, Span(0, min(len(event.text), MOST_READ)))
    )
    return next((one for one in found if one is not None), None)


def amended(event: Event, amendment: Amendment, said: Sequence[StatementDraft]) -> list[Amended]:
    """Make what follows the last of the statements that an amendment can mean; none where it means none of them."""
    last = said[-1] if said else None
    if last is None:
        return []
    if amendment.value is None:
        return [Amended(_taken_back(event, amendment, one), one) for one in said if one.span == last.span]
    target = next((one for one in reversed(said) if _fits(amendment, one)), None)
    return [Amended(_put_right(event, amendment, target), target)] if target is not None else []


def restored(event: Event, amendment: Amendment, held: Statement) -> StatementDraft:
    """Make the statement that holds again once what had ended or replaced it was taken back."""
    given: dict[str, Any] = {field.name: getattr(held, field.name) for field in fields(StatementDraft)}
    return replace(_said_by(event, amendment, StatementDraft(**given)), valid_from=event.at, valid_to=None)


def _amendment(sentence: str, span: Span) -> Amendment | None:
    if is_question(sentence):
        return None
    opening = _opening(sentence, 0)
    back = _TAKES_BACK.match(sentence, opening.end)
    if back is not None:
        opening = _opening(sentence, back.end())
    points = _POINTS.match(sentence, opening.end)
    meant = points is not None and points["meant"] is not None
    if back is None and (points is None or not (meant or opening.erred or opening.turns)):
        return None
    told = _VALUE.fullmatch(sentence, points.end() if points else opening.end)
    if told is not None and len(told["value"].split()) <= MOST_WORDS and any(_sorts(told["value"])):
        return Amendment(span, told["value"].strip(), told["old"], back is not None or meant or opening.erred)
    return Amendment(span) if back is not None else None


class _Opening(NamedTuple):
    end: int
    erred: bool = False  # it says that something was wrong
    turns: bool = False  # it says that something else is to come


def _opening(sentence: str, place: int) -> _Opening:
    """Read how a sentence begins."""
    found = _Opening(place)
    while match := _ERRED.match(sentence, found.end) or _HESITATES.match(sentence, found.end):
        erred = match.re is _ERRED
        turns = not erred and match["turns"] is not None
        found = _Opening(match.end(), found.erred or erred, found.turns or turns)
    return found


def _sorts(value: str) -> tuple[bool, bool, bool]:
    """Tell whether a value has a day, a number, a name."""
    day = _DAY.search(value) is not None
    return day, _NUMBER.search(value) is not None, not day and _NAME.search(value) is not None


def _fits(amendment: Amendment, said: StatementDraft) -> bool:
    """Tell whether a value can stand in another's place: of the same sort, and of the same measure."""
    new, value = amendment.value or "", said.value or ""
    if value not in said.content or said.stance is Stance.ENDED:
        return False
    if amendment.old and not _words(amendment.old) & _words(value):
        return False
    (day, number, name), (has_day, has_number, has_name) = _sorts(new), _sorts(value)
    if day or has_day:
        return day and has_day
    if number or has_number:
        return number and has_number and _measure(new) <= _measure(value)
    return amendment.sure and name and has_name


def _measure(value: str) -> frozenset[str]:
    """Give the words of a value besides its numbers: "4 cores" is of cores, "30k" of k."""
    return _words(_NUMBER.sub(" ", value))


def _words(value: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(value.lower()) if word not in _LITTLE)


def _taken_back(event: Event, amendment: Amendment, target: StatementDraft) -> StatementDraft:
    draft = _said_by(event, amendment, target)
    return replace(draft, valid_from=None, valid_to=event.at, stance=Stance.ENDED)


def _put_right(event: Event, amendment: Amendment, target: StatementDraft) -> StatementDraft:
    old, new = target.value or "", amendment.value or ""
    value = _substituted(old, new, amendment.old)
    content = target.content.replace(old or value, value)
    draft = replace(_said_by(event, amendment, target), content=content, value=value, stance=Stance.CHANGED)
    timed = target.date is not None or _sorts(old)[0]
    return replace(draft, date=_date(value, event.at) if timed else None, valid_from=event.at)


def _substituted(value: str, new: str, old: str | None) -> str:
    """Put a new day, number or name in the place of the one of its sort; what else a value says stays.

    "Call the notary on Thursday" becomes "call the notary on Friday", not "Friday".
    """
    day, number, _ = _sorts(new)
    parts = _DAY if day else _NUMBER if number else _NAME
    told = [match.span() for match in parts.finditer(value)]
    if old is not None and (place := value.lower().find(old.lower())) >= 0:
        told = [(place, place + len(old))]
    if day and (told or old is None):
        mentions = (mention.span for mention in find_dates(value, _ANY_DAY, past=False))
        told = [(span.start, span.end) for span in mentions] or told
    if len(told) != 1 or (number and not day and _measure(new)):
        return new
    start, end = told[0]
    return f"{value[:start]}{_PREPOSITION.sub('', new) if start else new}{value[end:]}"


def _said_by(event: Event, amendment: Amendment, target: StatementDraft) -> StatementDraft:
    quote = event.text[amendment.span.start : amendment.span.end]
    draft = replace(target, quote=quote, span=amendment.span, event_id=event.id, extractor=EXTRACTOR)
    return replace(draft, tags=tags.tags_of(draft))


def _date(value: str, at: datetime) -> SaidDate | None:
    mention = next(iter(find_dates(value, at, past=False)), None)
    return SaidDate(mention.start, mention.end, mention.text, mention.certain) if mention else None
