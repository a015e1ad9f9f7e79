"""No statement without its words: a draft's quote must stand in its event, and its content must not go beyond them.

The reader passes by construction. What an LLM writes does not: it alters quotes, and it adds names and numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from everyword.types.events import Event, Span
from everyword.types.statements import StatementDraft

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A draft that was not let in, and why."""

    draft: StatementDraft
    fault: Fault
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What came of a batch of drafts."""

    accepted: tuple[StatementDraft, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    counts: Mapping[Fault, int] = field(default_factory=dict[Fault, int])


def check_all(event: Event, drafts: Iterable[StatementDraft], *, known: Collection[str] = ()) -> Checked:
    """Check drafts and count the faults."""
    accepted: list[StatementDraft] = []
    rejected: list[Rejected] = []
    for draft in drafts:
        checked = check(event, draft, known=known)
        if isinstance(checked, Rejected):
            rejected.append(checked)
        else:
            accepted.append(checked)
    counts = Counter(refusal.fault for refusal in rejected)
    return Checked(accepted=tuple(accepted), rejected=tuple(rejected), counts=counts)


def check(event: Event, draft: StatementDraft, *, known: Collection[str] = ()) -> StatementDraft | Rejected:
    """Let a draft in, with its span corrected where the quote stands in one place only; or say why not.

    `known` are names that may stand in its content besides those of the event: other speakers, resolved entities.
    """
    if draft.event_id != event.id:
        return Rejected(draft=draft, fault=Fault.OTHER_EVENT, detail=draft.event_id)
    if not draft.content.strip():
        return Rejected(draft=draft, fault=Fault.NO_CONTENT)
    placed = _placed(event.text, draft)
    if isinstance(placed, Rejected):
        return placed
    foreign = _foreign_number(event, draft)
    if foreign is not None:
        return Rejected(draft=draft, fault=Fault.NEW_NUMBER, detail=foreign)
    foreign = _foreign_name(event, draft, known)
    if foreign is not None:
        return Rejected(draft=draft, fault=Fault.NEW_NAME, detail=foreign)
    return placed


def _placed(text: str, draft: StatementDraft) -> StatementDraft | Rejected:
    quote = draft.quote
    if not quote.strip():
        return Rejected(draft=draft, fault=Fault.NO_QUOTE)
    start, end = draft.span
    if 0 <= start < end <= len(text) and text[start:end] == quote:
        return draft
    first = text.find(quote)
    if first < 0:
        return Rejected(draft=draft, fault=Fault.NOT_SAID, detail=quote[:80])
    if text.find(quote, first + 1) >= 0:
        return Rejected(draft=draft, fault=Fault.UNCLEAR_PLACE, detail=quote[:80])
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
