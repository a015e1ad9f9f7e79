"""Values of the date finder: a date as a window of time, its granularity and certainty."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from everyword.types.events import Span


class Granularity(StrEnum):
    """The unit that a date was said in."""

    MOMENT = "moment"
    DAY = "day"
    WEEKEND = "weekend"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    QUARTER = "quarter"
    YEAR = "year"
    DECADE = "decade"
    LIFE = "life"  # "when I was in college": a period of a life, without dates


class Bound(StrEnum):
    """The open side of a window: "since 2019", "until March"."""

    SINCE = "since"
    UNTIL = "until"
    BEFORE = "before"
    AFTER = "after"
    BY = "by"


@dataclass(frozen=True, slots=True, kw_only=True)
class DateMention:
    """A date in a text and its window, in UTC.

    A habit (`repeats`) has no date: its window is the anchor's day. A time of a life (`Granularity.LIFE`) has no
    window: it spans from the year 1 to the anchor. Both are to be told apart before a window is used.
    """

    span: Span
    text: str
    start: datetime
    end: datetime  # exclusive
    granularity: Granularity
    certain: bool = True  # False: "a few months ago", "recently", or an order of day and month that could be either
    repeats: bool = False  # "every Tuesday", "on weekends": a habit, not a date
    bound: Bound | None = None  # the word before it: SINCE and UNTIL are in the window, the others only named
    guessed: bool = False  # "on Friday" where nothing says whether it is behind or ahead
