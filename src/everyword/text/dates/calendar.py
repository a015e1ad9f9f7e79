"""Dates as windows of time, and calendar arithmetic in integers, so that no year can overflow.

A day is the ordinal of `date.toordinal`, a month is `12 * year + month - 1`, a moment is seconds since day 0. Only
`as_utc` makes datetimes; it clips them to the years 1 to 9999.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

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


# The longest time that each lasts; of a season and a quarter, what lies in their last month whenever they begin.
DAYS_IN = dict(zip(Granularity, (1, 1, 2, 7, 31, 90, 90, 366, 3653), strict=True))


class Bound(StrEnum):
    """The open side of a window: "since 2019", "until March"."""

    SINCE = "since"
    UNTIL = "until"
    BEFORE = "before"
    AFTER = "after"
    BY = "by"


class DateMention(Struct, frozen=True, kw_only=True):
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
MONTHS_IN = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


class Interval(Struct, frozen=True, kw_only=True):
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
        return replace(self, certain=False)


def days(first: int, end: int, granularity: Granularity, *, certain: bool = True, dated: bool = False) -> Interval:
    return Interval(start=first * DAY, end=end * DAY, granularity=granularity, certain=certain, dated=dated)


def months_window(first: int, count: int, granularity: Granularity, *, dated: bool = False) -> Interval:
    return days(month_start(first), month_start(first + count), granularity, dated=dated)


def window(unit: str, day: int, step: int = 0) -> Interval:
    """Return the calendar unit of a day, or one some steps after it; weeks begin on Monday."""
    if months := MONTHS_IN.get(unit):
        return months_window(months * (month_of(day) // months + step), months, Granularity(unit))
    if unit in ("week", "weekend"):
        monday = day - weekday(day) + 7 * step
        return days(monday + 5 * (unit == "weekend"), monday + 7, Granularity(unit))
    return days(day + step, day + step + 1, Granularity.DAY)


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
    rule = HOLIDAYS[name]
    if not 1 <= year <= 9999:
        return None
    if isinstance(rule, int):
        return easter(year) + rule
    return ordinal(year, *rule) if len(rule) == 2 else nth_weekday(year, *rule[:3]) + rule[3]


# A month and day; or days after Easter; or month, weekday, which of them, and days after it, as in the United States.
_HOLIDAY_RULES: dict[str, tuple[int, int] | tuple[int, int, int, int] | int] = {
    "new year's day|new year's|new years": (1, 1),
    "mlk day": (1, MONDAY, 3, 0),
    "valentine's day|valentines day|valentine's": (2, 14),
    "st. patrick's day|st patrick's day": (3, 17),
    "april fools' day|april fool's day": (4, 1),
    "ash wednesday": -46,
    "palm sunday": -7,
    "good friday": -2,
    "easter|easter sunday": 0,
    "easter monday": 1,
    "mother's day": (5, SUNDAY, 2, 0),
    "memorial day": (5, MONDAY, -1, 0),
    "father's day": (6, SUNDAY, 3, 0),
    "juneteenth": (6, 19),
    "independence day|fourth of july": (7, 4),
    "labor day|labour day": (9, MONDAY, 1, 0),
    "halloween": (10, 31),
    "veterans day": (11, 11),
    "thanksgiving|thanksgiving day": (11, THURSDAY, 4, 0),
    "black friday": (11, THURSDAY, 4, 1),
    "cyber monday": (11, THURSDAY, 4, 4),
    "christmas eve": (12, 24),
    "christmas|christmas day|xmas": (12, 25),
    "boxing day": (12, 26),
    "new year's eve|new years eve": (12, 31),
}
HOLIDAYS = {name: rule for names, rule in _HOLIDAY_RULES.items() for name in names.split("|")}


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
