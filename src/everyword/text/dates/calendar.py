"""Dates as windows of time, and calendar arithmetic in integers, so that no year can overflow.

A day is the ordinal of `date.toordinal`, a month is `12 * year + month - 1`, a moment is seconds since day 0. Only
`as_utc` makes datetimes; it clips them to the years 1 to 9999.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
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

    A habit (`repeats`) has no date: its window is the anchor's day. Check for it before using a window.
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


DAY = 86_400  # seconds
HOUR = 3_600  # seconds
MINUTE = 60  # seconds
FIRST_MONTH, LAST_MONTH = 12, 12 * 10_000  # January of year 1; the month after the last
FIRST_DAY, LAST_DAY = 1, date.max.toordinal()
# Meteorological seasons of the northern hemisphere: the first month of each, counted from 0. Winter runs into the next
# year. Texts do not tell whether their writer lives in the southern hemisphere.
SEASON_STARTS = {"spring": 2, "summer": 5, "autumn": 8, "fall": 8, "winter": 11}
MONDAY, THURSDAY, SUNDAY = 0, 3, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A window in the local time of its anchor: seconds since day 0, the end exclusive."""

    start: int
    end: int
    granularity: Granularity
    certain: bool = True
    repeats: bool = False
    dated: bool = False  # its year is given, so that neither verbs nor neighbouring dates move it
    bound: Bound | None = None

    @property
    def first_day(self) -> int:
        return self.start // DAY

    @property
    def end_day(self) -> int:
        return -(-self.end // DAY)

    def vague(self) -> Interval:
        """Return the same window, marked as uncertain."""
        return replace(self, certain=False)


def days(first: int, end: int, granularity: Granularity, *, certain: bool = True, dated: bool = False) -> Interval:
    """Return a window of whole days; `end` is the day after the last."""
    return Interval(start=first * DAY, end=end * DAY, granularity=granularity, certain=certain, dated=dated)


def day_window(day: int, *, certain: bool = True, dated: bool = False) -> Interval:
    """Return the window of one day."""
    return days(day, day + 1, Granularity.DAY, certain=certain, dated=dated)


def week_window(day: int) -> Interval:
    """Return the week of a day, Monday to Sunday."""
    monday = day - weekday(day)
    return days(monday, monday + 7, Granularity.WEEK)


def weekend_window(day: int) -> Interval:
    """Return the Saturday and Sunday of a day's week."""
    monday = day - weekday(day)
    return days(monday + 5, monday + 7, Granularity.WEEKEND)


def months_window(
    first: int, count: int, granularity: Granularity, *, certain: bool = True, dated: bool = False
) -> Interval:
    """Return a window of `count` whole months."""
    return days(month_start(first), month_start(first + count), granularity, certain=certain, dated=dated)


def month_window(month: int, *, dated: bool = False) -> Interval:
    """Return the window of one month."""
    return months_window(month, 1, Granularity.MONTH, dated=dated)


def year_window(year: int, *, dated: bool = False) -> Interval:
    """Return the window of one year."""
    return months_window(12 * year, 12, Granularity.YEAR, dated=dated)


def season_window(name: str, year: int, *, dated: bool = False) -> Interval:
    """Return the window of a season by the year in which it begins: winter 2022 ends in 2023."""
    return months_window(12 * year + SEASON_STARTS[name], 3, Granularity.SEASON, dated=dated)


def weekday(day: int) -> int:
    """Return the weekday of a day; Monday is 0."""
    return (day - 1) % 7


def ordinal(year: int, month: int, day: int) -> int | None:
    """Return the ordinal of a day; None if it does not exist."""
    try:
        return date(year, month, day).toordinal()
    except (ValueError, OverflowError):
        return None


def parts(day: int) -> tuple[int, int, int]:
    """Split a day into year, month and day."""
    found = date.fromordinal(min(max(day, FIRST_DAY), LAST_DAY))
    return found.year, found.month, found.day


def month_of(day: int) -> int:
    """Return the index of a day's month."""
    year, month, _ = parts(day)
    return 12 * year + month - 1


def month_start(month: int) -> int:
    """Return the first day of a month, clipped to the calendar."""
    if month >= LAST_MONTH:
        return LAST_DAY + 1
    month = max(month, FIRST_MONTH)
    return date(month // 12, month % 12 + 1, 1).toordinal()


def add_months(day: int, count: int) -> int:
    """Move a day by whole months, in a shorter month to its last day."""
    start = month_start(month_of(day) + count)
    length = month_start(month_of(day) + count + 1) - start
    return start + min(parts(day)[2], max(length, 1)) - 1


def nth_weekday(year: int, month: int, which: int, nth: int) -> int:
    """Return the nth of a weekday in a month; -1 is the last."""
    if nth < 0:
        last = month_start(12 * year + month) - 1
        return last - (weekday(last) - which) % 7
    first = month_start(12 * year + month - 1)
    return first + (which - weekday(first)) % 7 + 7 * (nth - 1)


def easter(year: int) -> int:
    """Return Easter Sunday of the western churches (Gregorian computus of Meeus and Jones)."""
    golden, century, of_century = year % 19, year // 100, year % 100
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    to_sunday = (32 + 2 * (century % 4) + 2 * (of_century // 4) - epact - of_century % 4) % 7
    late = (golden + 11 * epact + 22 * to_sunday) // 451
    month, before = divmod(epact + to_sunday - 7 * late + 114, 31)
    return date(year, month, before + 1).toordinal()


def holiday(name: str, year: int) -> int | None:
    """Return the day of a holiday in a year."""
    if not 1 <= year <= 9999:
        return None
    if name in _FIXED_HOLIDAYS:
        return ordinal(year, *_FIXED_HOLIDAYS[name])
    if name in _FROM_EASTER:
        return easter(year) + _FROM_EASTER[name]
    month, which, nth, plus = _NTH_HOLIDAYS[name]
    return nth_weekday(year, month, which, nth) + plus


_FIXED_HOLIDAYS = {
    name: day
    for day, names in {
        (1, 1): "new year's day|new year's|new years",
        (2, 14): "valentine's day|valentines day|valentine's",
        (3, 17): "st. patrick's day|st patrick's day",
        (4, 1): "april fools' day|april fool's day",
        (6, 19): "juneteenth",
        (7, 4): "independence day|fourth of july",
        (10, 31): "halloween",
        (11, 11): "veterans day",
        (12, 24): "christmas eve",
        (12, 25): "christmas|christmas day|xmas",
        (12, 26): "boxing day",
        (12, 31): "new year's eve|new years eve",
    }.items()
    for name in names.split("|")
}
_FROM_EASTER = {
    "easter": 0,
    "easter sunday": 0,
    "easter monday": 1,
    "good friday": -2,
    "palm sunday": -7,
    "ash wednesday": -46,
}
# Month, weekday, which of them, and days after it, as in the United States.
_NTH_HOLIDAYS = {
    "thanksgiving": (11, THURSDAY, 4, 0),
    "thanksgiving day": (11, THURSDAY, 4, 0),
    "black friday": (11, THURSDAY, 4, 1),
    "cyber monday": (11, THURSDAY, 4, 4),
    "mother's day": (5, SUNDAY, 2, 0),
    "father's day": (6, SUNDAY, 3, 0),
    "memorial day": (5, MONDAY, -1, 0),
    "labor day": (9, MONDAY, 1, 0),
    "labour day": (9, MONDAY, 1, 0),
    "mlk day": (1, MONDAY, 3, 0),
}
HOLIDAYS = (*_FIXED_HOLIDAYS, *_FROM_EASTER, *_NTH_HOLIDAYS)


def to_seconds(moment: datetime) -> int:
    """Convert a moment to seconds since day 0 on its local clock."""
    return moment.toordinal() * DAY + moment.hour * HOUR + moment.minute * MINUTE + moment.second


def as_utc(seconds: int, offset: timedelta) -> datetime:
    """Convert a local moment to a datetime, clipped to the calendar."""
    shifted = seconds - int(offset.total_seconds())
    day, second = divmod(shifted, DAY)
    if day < FIRST_DAY:
        return datetime.min.replace(tzinfo=UTC)
    if day > LAST_DAY:
        return datetime.max.replace(tzinfo=UTC)
    return datetime.combine(date.fromordinal(day), datetime.min.time(), UTC) + timedelta(seconds=second)
