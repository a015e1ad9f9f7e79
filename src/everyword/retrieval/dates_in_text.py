"""Resolve the relative dates in a text ("yesterday") from the time when it was said, and write them out."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from everyword.lazy_patterns import lazy_pattern
from everyword.text.dates import Bound, DateMention, Granularity, find_dates
from everyword.types.times import day_in_words, month_in_words

_YEAR = lazy_pattern(r"(?<!\d)\d{4}(?!\d)")  # a date with its year needs no note
_MOST = 3  # notes in one line; more would drown it
_TICK = timedelta(microseconds=1)  # the end of a window is exclusive
_UNIT_DAYS = {
    Granularity.MOMENT: 1,
    Granularity.DAY: 1,
    Granularity.WEEKEND: 2,
    Granularity.WEEK: 7,
    Granularity.MONTH: 31,
    Granularity.YEAR: 366,
}


@lru_cache(maxsize=4096)  # many questions and budgets show the same lines
def date_notes(words: str, at: datetime) -> tuple[str, ...]:
    """List the relative dates in a text with what they resolve to: `yesterday = 7 May 2023`."""
    notes: list[str] = []
    for mention in find_dates(words, at):
        written = write_date(mention, at)
        if written is not None and not _YEAR.search(mention.text) and written != day_in_words(at):
            notes.append(f"{mention.text} = {written}")
    return tuple(notes[:_MOST])


def write_date(mention: DateMention, at: datetime) -> str | None:
    """Write a date in the unit it was said in; None where it is too vague or its direction is a guess."""
    if mention.repeats or mention.guessed or not mention.certain:
        return None
    try:
        start, last = first_and_last_day(mention, at)
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


def first_and_last_day(mention: DateMention, at: datetime) -> tuple[datetime, datetime]:
    """Return the first and last day of a date, by the clock of its speaker.

    For a window with an open side that is one unit: March itself for "until March" and "since March".
    """
    start, last = mention.start.astimezone(at.tzinfo), mention.end.astimezone(at.tzinfo) - _TICK
    rest = timedelta(days=_UNIT_DAYS.get(mention.granularity, 1) - 1)
    if mention.bound is Bound.UNTIL:
        exact = mention.granularity in (Granularity.WEEK, Granularity.WEEKEND)
        return max(start, last - rest) if exact else last, last
    return start, min(last, start + rest) if mention.bound is Bound.SINCE else last


def _days(start: datetime, last: datetime) -> str:
    """Write a range of days, with common parts once: `3 to 5 June 2026`."""
    if start.year != last.year:
        return f"{day_in_words(start)} to {day_in_words(last)}"
    first = str(start.day) if start.month == last.month else day_in_words(start).removesuffix(f" {last.year}")
    return f"{first} to {day_in_words(last)}"
