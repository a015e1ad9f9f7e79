"""What "yesterday" was: the times that a line speaks of, worked out from when it was said."""

from __future__ import annotations

import re
from datetime import timedelta

from recollect.core.clock import day_in_words, month_in_words
from recollect.core.dates import DateMention, Granularity, find_dates
from recollect.core.values import Event, Span

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")  # a time that names its year is as good as worked out
_MOST = 3  # times worked out in one line; more would drown it
_LASTS = timedelta(days=1)


def dates_worked_out(event: Event, span: Span) -> list[str]:
    """List a line's relative times with what they come to: `yesterday = 7 May 2023`."""
    words = event.text[span.start : span.end]
    notes: list[str] = []
    for mention in find_dates(words, event.at):
        told = told_date(mention, event)
        if told is not None and not _YEAR.search(mention.text) and told != day_in_words(event.at):
            notes.append(f"{mention.text} = {told}")
    return notes[:_MOST]


def told_date(mention: DateMention, event: Event) -> str | None:
    """Write a window in the unit it was said in; None where it is too vague to be written down."""
    if mention.repeats or not mention.certain:
        return None
    try:
        start = mention.start.astimezone(event.at.tzinfo)
        last = mention.end.astimezone(event.at.tzinfo) - _LASTS
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
