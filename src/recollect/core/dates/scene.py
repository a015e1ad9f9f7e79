"""Where a time expression stands: its text, its anchor, its neighbours, and whether its verbs look back or ahead."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from recollect.core.dates.almanac import DAY, Stretch, parts
from recollect.core.dates.tense import arranged, leaning

_NEIGHBOUR = 24  # characters in which the word before or after a place is looked for
_LEADING = 32  # characters in which "by close of business on" is looked for before a place
_MOVING = 64  # characters in which "moved the exam to" is looked for before a place

# Words that look ahead where no verb says otherwise, and those that do so whatever it says: "a week from Friday",
# "the launch was moved to Friday", "they postponed the exam until Friday".
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
_CENTURY_TURN = 70  # of years with two digits, those from here on are of the last century


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A text, read at its anchor; `past` overrides what its verbs say, or with `mostly` what the farther ones do."""

    text: str
    now: int  # seconds, as `almanac` counts
    past: bool | None
    mostly: bool = False
    unsaid: bool = True  # what is taken to be past where nothing says which

    @property
    def day(self) -> int:
        return self.now // DAY

    def leaning(self, start: int, end: int) -> bool | None:
        """Tell whether what stands around a place looks back (True) or ahead (False), by the nearest verb."""
        if self.past is not None and not self.mostly:
            return self.past
        if self.moved_to(start):
            return False
        past = self.by_verb(start, end)
        return past and (None if self.moved_from(start) else arranged(self.text, start))

    def by_verb(self, start: int, end: int) -> bool | None:
        """Tell what the verbs alone say, whatever was arranged for that time."""
        if self.past is None:
            return leaning(self.text, start, end)
        if self.past and self.mostly and leaning(self.text, start, end, verbs_only=True) is False:
            return False
        return self.past

    def looks_back(self, match: re.Match[str]) -> bool:
        """Tell whether a find without a direction of its own lies behind; `unsaid` where nothing says which."""
        if self.before(match.start()) == "since":
            return True
        past = self.leaning(match.start(), match.end())
        if past is not None:
            return past
        if _AHEAD.search(self.text, max(0, match.start() - _LEADING), match.start()) is not None:
            return False
        return self.unsaid

    def moved_to(self, place: int) -> bool:
        """Tell whether a place is the time that something was moved to: "postponed the exam until 15 June"."""
        return _FROM_ONE.search(self.text, max(0, place - _MOVING), place) is not None

    def moved_from(self, place: int) -> bool:
        """Tell whether a place is the time that something was moved from: "moved the exam from 8 to 15 June"."""
        moved = _MOVED.search(self.text, max(0, place - _MOVING), place)
        return moved is not None and (moved["from"] is not None or self.text[place : place + 5].lower() == "from ")

    def before(self, place: int) -> str:
        """Give the word, in small letters, that stands right before a place; with its punctuation, if it has any."""
        words = self.text[max(0, place - _NEIGHBOUR) : place].rsplit(None, 1)
        return words[-1].lower().lstrip("(\"'“‘[") if words else ""

    def after(self, place: int) -> str:
        """Give the word that stands right after a place, as it is written; nothing if punctuation comes first."""
        found = _NEXT_WORD.match(self.text, place, place + _NEIGHBOUR)
        return found[1] if found else ""


Resolve = Callable[[re.Match[str], Scene], Stretch | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A form that times take: the words it can begin with ("#" for a digit), its pattern, what it means."""

    heads: frozenset[str]
    source: str  # compiled when first needed
    resolve: Resolve


def rule(heads: str, source: str, resolve: Resolve) -> Rule:
    """Make a rule; heads are written as words with spaces between."""
    return Rule(heads=frozenset(heads.split()), source=source, resolve=resolve)


def year_after(match: re.Match[str], scene: Scene) -> int | None:
    """Read the year that stands behind a month, a season, a holiday: 2019, '98, of last year."""
    groups = match.groupdict()
    if groups.get("year"):
        return full_year(int(match["year"].lstrip("'")))
    if groups.get("ryear"):
        return parts(scene.day)[0] + {"last": -1, "this": 0, "next": 1}[match["ryear"].lower()]
    return None


def full_year(written: int) -> int:
    """Complete a year that was written with two digits."""
    return written if written >= 100 else written + (1900 if written >= _CENTURY_TURN else 2000)


def part_of(scene: Scene, start: int) -> bool:
    """Tell whether "the end of" or the like stands before a place."""
    return _PART_OF.search(scene.text, max(0, start - 16), start) is not None
