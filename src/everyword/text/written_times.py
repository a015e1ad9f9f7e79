"""Read a time as people and programs write it: a day in numbers or in words, with or without a clock behind it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

_NUMBERS = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})")
_CLOCK = re.compile(
    r"(?:^|,?\s+(?:at\s+)?|(?<=\d)T)(?P<hour>\d{1,2})(?:"
    r"[:.](?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,6})?)?(?:\s?(?P<half>[ap])\.?\s?m\.?)?"
    r"|\s?(?P<whole>[ap])\.?\s?m\.?)$",
    re.IGNORECASE,
)
LATEST_HOUR = {"a": 0, "p": 12}
_FIRST_SHORT_YEAR = 70  # "70" is 1970, "69" is 2069, as in POSIX

Day = tuple[int, int, int]  # the three numbers of a date, as they are written


class UnclearOrder(ValueError):
    """Either of two numbers may be the day."""


def order_of(dates: Iterable[Day]) -> str | None:
    """Find what comes first in dates of one kind: "ymd", "dmy" or "mdy"; None if the numbers don't tell."""
    dates = list(dates)
    if any(first > 31 for first, _, _ in dates):
        return "ymd"
    day_first, month_first = any(first > 12 for first, _, _ in dates), any(second > 12 for _, second, _ in dates)
    return None if day_first == month_first else "dmy" if day_first else "mdy"


def day_in_numbers(text: str) -> Day | None:
    """Return the numbers of a date such as 13/02/2026, but not of 13.02.2026 and 2026/02/13, which have one order."""
    match = _NUMBERS.fullmatch(_split(text)[0])
    has_one_order = match is None or match[2] == "." or len(match[1]) > 2
    return None if match is None or has_one_order else (int(match[1]), int(match[3]), int(match[4]))


def day_of_numbers(numbers: Day, order: str) -> datetime:
    """Make a day of numbers in a known order; raises ValueError if it does not exist."""
    named = dict(zip(order, numbers, strict=True))
    year = named["y"]
    if year < 100:
        year += 1900 if year >= _FIRST_SHORT_YEAR else 2000
    return datetime(year, named["m"], named["d"])


def read_time(text: str, now: datetime | None, *, order: str | None = None, past: bool | None = True) -> datetime:
    """Read the whole of a text as a time; of a span, its start.

    now: what a day in words is seen from; None: only days with a year are read, and the result has no zone. order: of
    day and month, where other dates of the same kind tell it. Raises ValueError if anything in the text can't be read,
    and UnclearOrder if the order is needed.
    """
    text = text.strip()
    day, clock = _split(text)
    if now is None and not re.search(r"\d{4}", day) and not _NUMBERS.fullmatch(day):
        raise ValueError(f"{text!r} is not a day of a year")
    now = now or datetime(2000, 1, 1)  # any: a year is given
    if text.casefold() == "now":
        return now
    if not day:
        return _with_clock(now.replace(hour=0, minute=0, second=0, microsecond=0), clock)
    if re.fullmatch(r"\d{4}-\d{2}", day):
        day += "-01"
    if match := _NUMBERS.fullmatch(day):
        numbers = (int(match[1]), int(match[3]), int(match[4]))
        known = order_of([numbers]) or ("dmy" if match[2] == "." else order)
        if known is None and numbers[0] != numbers[1]:
            raise UnclearOrder(f"{text!r} may begin with the day or with the month")
        return _with_clock(day_of_numbers(numbers, known or "dmy").replace(tzinfo=now.tzinfo), clock)
    from everyword.text.dates import find_dates  # compiles patterns

    found = [] if day[:4].isdecimal() and day[4:5] == "-" else find_dates(day, now, past=past)
    if len(found) != 1 or found[0].text.strip() != day or found[0].repeats:
        raise ValueError(f"{text!r} is not a time")
    if clock and found[0].end - found[0].start > timedelta(days=1):
        raise ValueError(f"{text!r} names a clock, but no day")
    return _with_clock(found[0].start, clock)


def _split(text: str) -> tuple[str, re.Match[str] | None]:
    """Split a time into its day and its clock."""
    text = text.strip()
    clock = _CLOCK.search(text)
    return (text[: clock.start()], clock) if clock else (text, None)


def _with_clock(day: datetime, clock: re.Match[str] | None) -> datetime:
    if clock is None:
        return day
    hour, half = int(clock["hour"]), (clock["half"] or clock["whole"] or "").casefold()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(f"{clock[0].strip()!r} is not a time of day")
        hour = hour % 12 + LATEST_HOUR[half]
    return day.replace(hour=hour, minute=int(clock["minute"] or 0), second=int(clock["second"] or 0))
