"""Where an event comes from, and how far it is trusted.

Anyone who can make a program print something can write a tool's output or a web page. So each event has a source, and
recall, answers, facts and wake-up treat sources differently. Every number of that is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recollect.core.roles import ASSISTANTS, PROGRAMS
from recollect.core.values import Event


class Source(StrEnum):
    """Who or what brought an event."""

    USER = "user"  # a person, in their own words
    ASSISTANT = "assistant"  # the model that talks with them, and what sets it up
    IMPORT = "import"  # a file whose author nobody vouches for: notes, mail, commits, another memory's store
    TOOL = "tool"  # the output of a program that an assistant called
    WEB = "web"  # a fetched page


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """How far a source is trusted."""

    # What a person says is not taken back by a source of a lower level: facts, statements and answers compare it.
    level: int
    # Share of its score that a hit keeps in recall, 0 to 1.
    weight: float
    # Share of a context that lines which repeat one another may take; the first one is always allowed.
    repeats: float
    # Whether its words may be shown when nobody asked, as in a wake-up.
    unasked: bool


TRUST: dict[Source, Trust] = {
    # Own words are the measure. A diary repeats itself, and a question that counts needs every entry: so half.
    Source.USER: Trust(level=3, weight=1.0, repeats=0.5, unasked=True),
    # Half of all questions about earlier talks ask for what the assistant said: a lower weight costs evidence there.
    # It does not know a person better than they do, hence the level.
    Source.ASSISTANT: Trust(level=2, weight=1.0, repeats=0.5, unasked=True),
    # Mostly the user's own, but anyone can send a mail: enough to put own words first where both say the same.
    Source.IMPORT: Trust(level=2, weight=0.95, repeats=0.25, unasked=True),
    # Written by whoever controls the program's input. A weight of .6 takes off .08 where good and middling candidates
    # are .1 apart: the tool's line stays in the list, behind a person's line that says about the same.
    Source.TOOL: Trust(level=1, weight=0.6, repeats=0.02, unasked=False),
    Source.WEB: Trust(level=1, weight=0.6, repeats=0.02, unasked=False),
}

HIGHEST_LEVEL = max(trust.level for trust in TRUST.values())

# Roles that are not a person's. Any other role, and none, is a person's. A system prompt belongs to the assistant: it
# is the operator's word, neither the user's nor a stranger's.
_BY_ROLE: dict[str, Source] = {
    **dict.fromkeys((*sorted(ASSISTANTS), "system", "developer", "summary"), Source.ASSISTANT),
    **dict.fromkeys(("tool", "function"), Source.TOOL),
    **dict.fromkeys(("note", "document", "memory", "commit"), Source.IMPORT),
}


def source_of_role(role: str | None) -> Source:
    """Derive the source of an event that does not name one. The migration 0016 does the same in SQL."""
    return _BY_ROLE.get((role or "").lower(), Source.USER)


def source_of(event: Event) -> str:
    """Give the source of an event, also of one that was never stored."""
    return event.source or source_of_role(event.role)


def trust_of(source: str) -> Trust:
    """Look up the trust in a source; an unknown one is trusted like a tool."""
    return TRUST.get(source, TRUST[Source.TOOL])  # type: ignore[call-overload]


def is_vouched(source: str) -> bool:
    """Tell whether the named speaker can be taken to have said it: a tool or a page can put any name on its words."""
    return trust_of(source).level > TRUST[Source.TOOL].level


UNVOUCHED = tuple(source.value for source in Source if not is_vouched(source))


def level_of(event: Event) -> int:
    """Tell the level of trust in an event."""
    return trust_of(source_of(event)).level


def states_nothing(event: Event) -> bool:
    """Tell whether an event is read for no statements, facts, goals or concepts: a program or a page reports it."""
    return (event.role or "").lower() in PROGRAMS or not is_vouched(source_of(event))


def may_be_shown_unasked(event: Event) -> bool:
    """Tell whether an event's words may be shown where nobody asked for them."""
    return trust_of(source_of(event)).unasked


def label_of(event: Event) -> str:
    """Give the label that a rendered line carries; "" for a person's words and where the speaker already says it."""
    source = source_of(event)
    return "" if source == Source.USER or (event.speaker or "").casefold() in (source, event.role) else source


def effective_at(event: Event) -> datetime:
    """Give the time that counts for what is newest: an event dated after it was recorded counts from then."""
    return event.at if event.at <= event.recorded_at else event.recorded_at.astimezone(event.at.tzinfo)
