"""What "yesterday" was: the times that a line speaks of, worked out from when it was said."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

from recollect.core.clock import day_in_words, month_in_words
from recollect.core.dates import Bound, DateMention, Granularity, find_dates

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")  # a time that names its year is as good as worked out
_MOST = 3  # times worked out in one line; more would drown it
_TICK = timedelta(microseconds=1)  # a window's end is outside it
_UNIT_DAYS = {
    Granularity.MOMENT: 1,
    Granularity.DAY: 1,
    Granularity.WEEKEND: 2,
    Granularity.WEEK: 7,
    Granularity.MONTH: 31,
    Granularity.YEAR: 366,
}


@lru_cache(maxsize=4096)  # the same lines come up for many questions and budgets
def dates_worked_out(words: str, at: datetime) -> tuple[str, ...]:
    """List the relative times in words that were said at a time, with what they come to: `yesterday = 7 May 2023`."""
    notes: list[str] = []
    for mention in find_dates(words, at):
        told = told_date(mention, at)
        if told is not None and not _YEAR.search(mention.text) and told != day_in_words(at):
            notes.append(f"{mention.text} = {told}")
    return tuple(notes[:_MOST])


def told_date(mention: DateMention, at: datetime) -> str | None:
    """Write a window in the unit it was said in; None where it is too vague, or might lie on either side."""
    if mention.repeats or mention.guessed or not mention.certain:
        return None
    try:
        start, last = edges(mention, at)
    except OverflowError:  # the first and last days of the calendar
        return None
    longer = (last - start).days >= _UNIT_DAYS.get(mention.granularity, 0)
    match mention.granularity:
        case Granularity.MOMENT | Granularity.DAY:
            return _days(start, last) if longer else day_in_words(start)
        case Granularity.WEEK:
            return _days(start, last) if longer else f"week of {day_in_words(start)}"
        case Granularity.WEEKEND:
            return _days(start, last)
        case Granularity.MONTH:
            return f"{month_in_words(start)} to {month_in_words(last)}" if longer else month_in_words(start)
        case Granularity.SEASON | Granularity.QUARTER:
            # "Until summer" may mean either end of it.
            return None if mention.bound is Bound.UNTIL else f"{month_in_words(start)} to {month_in_words(last)}"
        case Granularity.YEAR:
            return f"{start.year} to {last.year}" if longer else str(start.year)
        case _:
            return None


def edges(mention: DateMention, at: datetime) -> tuple[datetime, datetime]:
    """Give the first and the last day of what was named, by the clock it was said at.

    Of a window with an open side that is one unit: "until March" runs up to March from any day, and "since March" on.
    """
    start, last = mention.start.astimezone(at.tzinfo), mention.end.astimezone(at.tzinfo) - _TICK
    rest = timedelta(days=_UNIT_DAYS.get(mention.granularity, 1) - 1)
    if mention.bound is Bound.UNTIL:
        exact = mention.granularity in (Granularity.WEEK, Granularity.WEEKEND)
        return max(start, last - rest) if exact else last, last
    return start, min(last, start + rest) if mention.bound is Bound.SINCE else last


def _days(start: datetime, last: datetime) -> str:
    """Write days in a row, with what they share once: `3 to 5 June 2026`."""
    if start.year != last.year:
        return f"{day_in_words(start)} to {day_in_words(last)}"
    first = str(start.day) if start.month == last.month else day_in_words(start).removesuffix(f" {last.year}")
    return f"{first} to {day_in_words(last)}"
