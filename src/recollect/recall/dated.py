"""What "yesterday" was: the times that a line speaks of, worked out from when it was said."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

from recollect.core.clock import day_in_words, month_in_words
from recollect.core.dates import DateMention, Granularity, find_dates

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")  # a time that names its year is as good as worked out
_MOST = 3  # times worked out in one line; more would drown it
_LASTS = timedelta(days=1)


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
        start = mention.start.astimezone(at.tzinfo)
        last = mention.end.astimezone(at.tzinfo) - _LASTS
    except OverflowError:  # the first and last days of the calendar
        return None
    match mention.granularity:
        case Granularity.MOMENT | Granularity.DAY:
            return day_in_words(start)
        case Granularity.WEEK:
            return f"week of {day_in_words(start)}"
        case Granularity.WEEKEND:
            same_year = day_in_words(start).removesuffix(f" {last.year}")
            first = str(start.day) if start.month == last.month else same_year
            return f"{first} to {day_in_words(last)}"
        case Granularity.MONTH:
            return month_in_words(start)
        case Granularity.SEASON | Granularity.QUARTER:
            return f"{month_in_words(start)} to {month_in_words(last)}"
        case Granularity.YEAR:
            return str(start.year)
        case _:
            return None
