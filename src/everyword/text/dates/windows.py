"""Values of the date finder: a date as a window of time, its granularity and certainty."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from everyword.types.events import Span


class Granularity(StrEnum):
    """The unit of a date."""

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

    A habit (`repeats`) has no date: its window is the anchor's day. A period of a life (`Granularity.LIFE`) spans from
    the year 1 to the anchor. Check for both before using a window.
    """

    span: Span
    text: str
    start: datetime
    end: datetime  # exclusive
    granularity: Granularity
    certain: bool = True  # False: "a few months ago", "recently", or an ambiguous order of day and month
    repeats: bool = False  # "every Tuesday", "on weekends": a habit, not a date
    bound: Bound | None = None  # by the word before it; only SINCE and UNTIL change the window
    guessed: bool = False  # "on Friday", without a sign whether it is past or future
