"""The context of a date (anchor, neighbouring words, past or future), and the type of rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from everyword.lazy_patterns import lazy_pattern
from everyword.text.dates.calendar import DAY, Interval, parts
from everyword.text.dates.tense import dates_the_verb, verbs_look_back

_WORD_REACH = 24  # characters searched for the word before or after a position
_AHEAD_REACH = 32  # characters searched for "by close of business on" before a position
_MOVE_REACH = 64  # characters searched for "moved the exam to" before a position

# Words that point to the future unless a verb contradicts; _MOVED_TO always does: "a week from Friday", "the launch was
# moved to Friday", "they postponed the exam until Friday".
_AHEAD = lazy_pattern(
    r"\b(?:until|till|by|through|(?:day|week|month|year)s? from)(?: the)?"
    r"(?: (?:eod|cob|(?:end|close) of (?:day|business|play|work))(?: on)?| (?:end|start|beginning|middle) of)?"
    r"(?: the| early| late)?(?: | mid-)$",
    re.IGNORECASE,
)
_MOVE_VERB = r"(?:moved|pushed|shifted|delayed|postponed|rescheduled|bumped|deferred|put (?:off|back)|brought forward)"
_MOVED_TO = lazy_pattern(
    rf"\b(?:(?:day|week|month|year)s? from|{_MOVE_VERB}(?: [\w'-]+){{0,6}}? (?:to|until|till)(?: the)?"
    r"|changed(?: [\w'-]+){0,4}? to(?: the)?|(?:postponed|rescheduled)(?: [\w'-]+){0,4}? for(?: the)?) $",
    re.IGNORECASE,
)
_MOVED_FROM = lazy_pattern(rf"\b(?:{_MOVE_VERB}|changed)(?: [\w'-]+){{0,4}}?(?P<from> from(?: the)?)? $", re.IGNORECASE)
_NEXT_WORD = lazy_pattern(r"\s{1,3}([A-Za-z][A-Za-z']*)")
# Words before a number that show that it is a year.
YEAR_WORDS = frozenset("in since until till by during before after around circa year of from to late early mid".split())
_PART_OF = lazy_pattern(
    r"\b(?:morning|afternoon|evening|night|end|start|beginning|middle|week|weekend|rest|half|all|\w{0,6}day) of $",
    re.IGNORECASE,
)
_CENTURY_TURN = 70  # two-digit years from this one on belong to the last century


@dataclass(frozen=True, slots=True, kw_only=True)
class DateContext:
    """A text and its anchor; `past` overrides the verbs, with `mostly` all but the nearest."""

    text: str
    now: int  # seconds, as in calendar.py
    past: bool | None
    mostly: bool = False
    default_past: bool = True  # if nothing decides

    @property
    def day(self) -> int:
        return self.now // DAY

    def is_past(self, start: int, end: int) -> bool | None:
        """Return whether the nearest verb puts a date in the past (True) or the future (False); None if unclear."""
        if self.past is not None and not self.mostly:
            return self.past
        if self.moved_to(start):
            return False
        past = self.by_verb(start, end)
        return past and (None if self.moved_from(start) else dates_the_verb(self.text, start))

    def by_verb(self, start: int, end: int) -> bool | None:
        """Return the same by the verbs alone, without checking for appointments."""
        if self.past is None:
            return verbs_look_back(self.text, start, end)
        if self.past and self.mostly and verbs_look_back(self.text, start, end, verbs_only=True) is False:
            return False
        return self.past

    def looks_back(self, match: re.Match[str]) -> bool:
        """Return whether an ambiguous date is in the past; `default_past` if nothing decides."""
        if self.before(match.start()) == "since":
            return True
        past = self.is_past(match.start(), match.end())
        if past is not None:
            return past
        if _AHEAD.search(self.text, max(0, match.start() - _AHEAD_REACH), match.start()) is not None:
            return False
        return self.default_past

    def moved_to(self, place: int) -> bool:
        """Return whether something was moved to this date: "postponed the exam until 15 June"."""
        return _MOVED_TO.search(self.text, max(0, place - _MOVE_REACH), place) is not None

    def moved_from(self, place: int) -> bool:
        """Return whether something was moved from this date: "moved the exam from 8 to 15 June"."""
        moved = _MOVED_FROM.search(self.text, max(0, place - _MOVE_REACH), place)
        return moved is not None and (moved["from"] is not None or self.text[place : place + 5].lower() == "from ")

    def before(self, place: int) -> str:
        """Return the word right before a position, in lower case, with its punctuation."""
        words = self.text[max(0, place - _WORD_REACH) : place].rsplit(None, 1)
        return words[-1].lower().lstrip("(\"'“‘[") if words else ""

    def after(self, place: int) -> str:
        """Return the word right after a position as written; empty if punctuation comes first."""
        found = _NEXT_WORD.match(self.text, place, place + _WORD_REACH)
        return found[1] if found else ""


Resolve = Callable[[re.Match[str], DateContext], Interval | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A form of dates: its possible first words ("#" for a digit), its pattern, and its resolver."""

    heads: frozenset[str]
    source: str  # compiled on first use
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
    """Return whether "the end of" or the like precedes a position."""
    return _PART_OF.search(context.text, max(0, start - 16), start) is not None
