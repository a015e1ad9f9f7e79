"""The context of a date in its text: the anchor, the words around it, and whether it lies in the past; and rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from everyword.text.dates.calendar import DAY, Interval, parts
from everyword.text.dates.tense import arranged, verbs_look_back

_NEIGHBOUR = 24  # characters searched for the word before or after a position
_LEADING = 32  # characters searched for "by close of business on" before a position
_MOVING = 64  # characters searched for "moved the exam to" before a position

# Words that point ahead unless a verb says otherwise; and below those that always do: "a week from Friday", "the launch
# was moved to Friday", "they postponed the exam until Friday".
_AHEAD = re.compile(
    r"\b(?:until|till|by|through|(?:day|week|month|year)s? from)(?: the)?"
    r"(?: (?:eod|cob|(?:end|close) of (?:day|business|play|work))(?: on)?| (?:end|start|beginning|middle) of)?"
    r"(?: the| early| late)?(?: | mid-)$",
    re.IGNORECASE,
)
_PUT_OFF = r"(?:moved|pushed|shifted|delayed|postponed|rescheduled|bumped|deferred|put (?:off|back)|brought forward)"
_FROM_ONE = re.compile(
    rf"\b(?:(?:day|week|month|year)s? from|{_PUT_OFF}(?: [\w'-]+){{0,6}}? (?:to|until|till)(?: the)?"
    r"|changed(?: [\w'-]+){0,4}? to(?: the)?|(?:postponed|rescheduled)(?: [\w'-]+){0,4}? for(?: the)?) $",
    re.IGNORECASE,
)
_MOVED = re.compile(rf"\b(?:{_PUT_OFF}|changed)(?: [\w'-]+){{0,4}}?(?P<from> from(?: the)?)? $", re.IGNORECASE)
_NEXT_WORD = re.compile(r"\s{1,3}([A-Za-z][A-Za-z']*)")
# Words before a number, or between a part and its whole, that make it a year or a month.
YEAR_WORDS = frozenset("in since until till by during before after around circa year of from to late early mid".split())
_PART_OF = re.compile(
    r"\b(?:morning|afternoon|evening|night|end|start|beginning|middle|week|weekend|rest|half|all|\w{0,6}day) of $",
    re.IGNORECASE,
)
_CENTURY_TURN = 70  # two-digit years from here on belong to the last century


@dataclass(frozen=True, slots=True, kw_only=True)
class DateContext:
    """A text and its anchor; `past` overrides the verbs, or with `mostly` all but the nearest ones."""

    text: str
    now: int  # seconds, as in calendar.py
    past: bool | None
    mostly: bool = False
    unsaid: bool = True  # the direction where nothing says which

    @property
    def day(self) -> int:
        return self.now // DAY

    def is_past(self, start: int, end: int) -> bool | None:
        """Tell whether a position lies in the past (True) or ahead (False) by the nearest verb; None where unclear."""
        if self.past is not None and not self.mostly:
            return self.past
        if self.moved_to(start):
            return False
        past = self.by_verb(start, end)
        return past and (None if self.moved_from(start) else arranged(self.text, start))

    def by_verb(self, start: int, end: int) -> bool | None:
        """Tell the same by the verbs alone, ignoring what was arranged for that date."""
        if self.past is None:
            return verbs_look_back(self.text, start, end)
        if self.past and self.mostly and verbs_look_back(self.text, start, end, verbs_only=True) is False:
            return False
        return self.past

    def looks_back(self, match: re.Match[str]) -> bool:
        """Decide whether a date without a direction of its own lies in the past; `unsaid` where nothing says which."""
        if self.before(match.start()) == "since":
            return True
        past = self.is_past(match.start(), match.end())
        if past is not None:
            return past
        if _AHEAD.search(self.text, max(0, match.start() - _LEADING), match.start()) is not None:
            return False
        return self.unsaid

    def moved_to(self, place: int) -> bool:
        """Tell whether something was moved to this date: "postponed the exam until 15 June"."""
        return _FROM_ONE.search(self.text, max(0, place - _MOVING), place) is not None

    def moved_from(self, place: int) -> bool:
        """Tell whether something was moved from this date: "moved the exam from 8 to 15 June"."""
        moved = _MOVED.search(self.text, max(0, place - _MOVING), place)
        return moved is not None and (moved["from"] is not None or self.text[place : place + 5].lower() == "from ")

    def before(self, place: int) -> str:
        """Return the word right before a position, in lower case, with its punctuation."""
        words = self.text[max(0, place - _NEIGHBOUR) : place].rsplit(None, 1)
        return words[-1].lower().lstrip("(\"'“‘[") if words else ""

    def after(self, place: int) -> str:
        """Return the word right after a position as written; empty if punctuation comes first."""
        found = _NEXT_WORD.match(self.text, place, place + _NEIGHBOUR)
        return found[1] if found else ""


Resolve = Callable[[re.Match[str], DateContext], Interval | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A form of dates: its possible first words ("#" for a digit), its pattern, and a resolver."""

    heads: frozenset[str]
    source: str  # compiled when first needed
    resolve: Resolve


def rule(heads: str, source: str, resolve: Resolve) -> Rule:
    """Make a rule; `heads` are words separated by spaces."""
    return Rule(heads=frozenset(heads.split()), source=source, resolve=resolve)


def year_after(match: re.Match[str], context: DateContext) -> int | None:
    """Read the year after a month, season or holiday: 2019, '98, of last year."""
    groups = match.groupdict()
    if groups.get("year"):
        return full_year(int(match["year"].lstrip("'")))
    if groups.get("ryear"):
        return parts(context.day)[0] + {"last": -1, "this": 0, "next": 1}[match["ryear"].lower()]
    return None


def full_year(written: int) -> int:
    """Complete a year with two digits."""
    return written if written >= 100 else written + (1900 if written >= _CENTURY_TURN else 2000)


def part_of(context: DateContext, start: int) -> bool:
    """Tell whether "the end of" or the like precedes a position."""
    return _PART_OF.search(context.text, max(0, start - 16), start) is not None
