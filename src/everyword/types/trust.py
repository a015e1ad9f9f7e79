"""The sources of events and how far each is trusted.

Strangers can control a tool's output or a web page. Each event therefore has a source, and recall, answers, facts and
wake-up treat sources differently. All numbers of this are here.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from everyword.types.events import ASSISTANTS, PROGRAMS, Event


class Source(StrEnum):
    """Who or what an event comes from."""

    USER = "user"  # a person, in their own words
    ASSISTANT = "assistant"  # the model, and its system prompt
    IMPORT = "import"  # a file of unknown authors: notes, mail, commits, another memory
    TOOL = "tool"  # the output of a program that an assistant called
    WEB = "web"  # a fetched page


class Trust(Struct, frozen=True, kw_only=True):
    """How far a source is trusted."""

    # A source of a lower level can't override a higher one in facts, statements and answers.
    level: int
    # Factor for a hit's score in recall, 0 to 1.
    weight: float
    # Share of a context that lines repeating each other may take; the first is always allowed.
    repeats: float
    # Whether its words may be shown without a question, as in a wake-up.
    unasked: bool


TRUST: dict[Source, Trust] = {
    # A diary repeats itself, and a question that counts needs every entry: hence half.
    Source.USER: Trust(level=3, weight=1.0, repeats=0.5, unasked=True),
    # Half of all questions about earlier talks ask for the assistant's words: a lower weight loses evidence there.
    # It does not know a person better than that person does, hence the level.
    Source.ASSISTANT: Trust(level=2, weight=1.0, repeats=0.5, unasked=True),
    # Mostly the user's own, but anyone can send a mail. The weight puts the user's words first where both agree.
    Source.IMPORT: Trust(level=2, weight=0.95, repeats=0.25, unasked=True),
    # Strangers may control it. A weight of .6 costs .08 where good and average candidates are .1 apart: the line stays
    # in the list, after a person's line that says about the same.
    Source.TOOL: Trust(level=1, weight=0.6, repeats=0.02, unasked=False),
    Source.WEB: Trust(level=1, weight=0.6, repeats=0.02, unasked=False),
}

HIGHEST_LEVEL = max(trust.level for trust in TRUST.values())
_UNKNOWN = TRUST[Source.TOOL]
_VOUCHED = frozenset(source.value for source in Source if TRUST[source].level > _UNKNOWN.level)
UNVOUCHED = tuple(source.value for source in Source if source.value not in _VOUCHED)

# Sources by role; any other role, or none, is a person. A system prompt counts as the assistant's: the operator wrote
# it, neither the user nor a stranger.
_BY_ROLE: dict[str, Source] = {
    **dict.fromkeys((*sorted(ASSISTANTS), "system", "developer", "summary"), Source.ASSISTANT),
    **dict.fromkeys(("tool", "function"), Source.TOOL),
    **dict.fromkeys(("note", "document", "memory", "commit"), Source.IMPORT),
}


def source_of_role(role: str | None) -> Source:
    """Derive the source of an event from its role."""
    return _BY_ROLE.get((role or "").lower(), Source.USER)


def source_of(event: Event) -> str:
    """Return an event's source, also before it is stored."""
    return event.source or source_of_role(event.role)


def trust_of(source: str) -> Trust:
    """Return the trust in a source; an unknown source counts as a tool."""
    return TRUST.get(source, _UNKNOWN)  # type: ignore[call-overload]


def is_vouched(source: str) -> bool:
    """Tell whether the named speaker is reliable: a tool or a page can put any name on its words."""
    return source in _VOUCHED


def level_of(event: Event) -> int:
    return trust_of(source_of(event)).level


def states_nothing(event: Event) -> bool:
    """Tell whether an event comes from a program or page, and so gives no statements, facts, goals or concepts."""
    return (event.role or "").lower() in PROGRAMS or not is_vouched(source_of(event))


def may_be_shown_unasked(event: Event) -> bool:
    """Tell whether an event's words may be shown without a question."""
    return trust_of(source_of(event)).unasked


def label_of(event: Event) -> str:
    """Return the source label of a rendered line; "" for a person's words and where the speaker already says it.

    A role is shown where no speaker is named; it says the source that follows from it.
    """
    source, role = source_of(event), (event.role or "").casefold()
    speaker = (event.speaker or role).casefold()
    is_said = speaker == source or (speaker == role and source_of_role(role) == source)
    return "" if source == Source.USER or is_said else source


def effective_at(event: Event) -> datetime:
    """Return the time that decides what is newest: never later than the time of recording."""
    return event.at if event.at <= event.recorded_at else event.recorded_at.astimezone(event.at.tzinfo)
