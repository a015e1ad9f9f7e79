"""When a claim is true: from the dates in its sentence, seen from the event's own clock."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from everyword.knowledge.legacy.extract.facts.claims import Course
from everyword.text.dates import Bound, DateMention, Granularity, find_dates
from everyword.types.events import Span

_UNIT_DAYS = {"day": 1, "week": 7, "month": 30.44, "year": 365.25}
_SPAN_OF = {
    Granularity.DAY: 1,
    Granularity.WEEKEND: 2,
    Granularity.WEEK: 7,
    Granularity.MONTH: 31,
    Granularity.SEASON: 92,
    Granularity.QUARTER: 92,
    Granularity.YEAR: 366,
    Granularity.DECADE: 3653,
}
_NUMBERS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()
    )
} | {"a": 1, "an": 1, "twenty": 20, "thirty": 30}
_FOR = re.compile(
    r"\bfor (?:about |almost |nearly |over |around |more than |the (?:last|past) ){0,2}"
    r"(?P<n>\d{1,2}|[a-z]{1,8}) (?P<unit>day|week|month|year)s?\b",
    re.IGNORECASE,
)
# What was decided has its own time, which is not that of the deciding.
_DECIDED_TO = re.compile(r"\b(?:decided|agreed|chose|promised|planned) (?:not )?to [a-z]", re.IGNORECASE)


class When(NamedTuple):
    """The times of a claim, as a `FactDraft` has them."""

    valid_from: datetime | None = None
    begun_by: datetime | None = None
    holds_at: datetime | None = None
    valid_to: datetime | None = None
    ended_by: datetime | None = None


def when(course: Course, text: str, sentence: Span, clause: Span, at: datetime) -> When:
    """Tell when a claim is true."""
    date = _date(course, text, sentence, clause, at)
    if course is Course.HAPPENED:
        return When(valid_from=date.start, valid_to=min(date.end, at)) if date else When(valid_from=at, valid_to=at)
    if course is Course.HOLDS:
        return _holds(date, text[clause.start : clause.end], at)
    if course is Course.BEGAN:
        if date is None:
            return When(valid_from=at, begun_by=at)
        return When(valid_from=date.start, begun_by=_by(date, at))
    return _ended(date, at)


def _date(course: Course, text: str, sentence: Span, clause: Span, at: datetime) -> DateMention | None:
    words = text[sentence.start : sentence.end]
    past = None if course is Course.HOLDS else True
    own = Span(clause.start - sentence.start, clause.end - sentence.start)
    mentions = [
        mention
        for mention in find_dates(words, at, past=past, mostly=True)
        if not mention.repeats
        and mention.granularity is not Granularity.LIFE
        and mention.start <= at
        and own.start <= mention.span.start < own.end
        and not _DECIDED_TO.search(words, own.start, mention.span.start)
    ]
    return next((mention for mention in mentions if mention.certain), mentions[0] if mentions else None)


def _holds(date: DateMention | None, words: str, at: datetime) -> When:
    if date is not None and date.bound is Bound.SINCE:
        return When(valid_from=date.start, begun_by=_by(date, at), holds_at=at)
    lasting = _FOR.search(words)
    number = _number(lasting["n"]) if lasting else None
    if lasting and number:
        days = number * _UNIT_DAYS[lasting["unit"].lower()]
        try:
            began = (at - timedelta(days=days)).replace(hour=0, minute=0, second=0, microsecond=0)
        except OverflowError:
            return When(holds_at=at)
        return When(valid_from=began, begun_by=began, holds_at=at)
    return When(holds_at=at)


def _ended(date: DateMention | None, at: datetime) -> When:
    if date is None:
        return When(valid_to=at)
    return When(valid_to=date.start, ended_by=_by(date, at))


def lasted(text: str, sentence: Span, clause: Span, at: datetime) -> When:
    """Tell when a state was that is over: "lived there in 2015", "from 2012 to 2016", "until March"."""
    date = _date(Course.ENDED, text, sentence, clause, at)
    if date is None or date.bound is not None:
        return _ended(date, at)
    end = min(date.end, at)
    return When(valid_from=date.start, begun_by=date.start, valid_to=end, ended_by=end)


def when_told(course: Course, began: DateMention | None, ended: DateMention | None, at: datetime) -> When:
    """Tell when a claim is true whose times somebody else pointed at."""
    if course is Course.HAPPENED:
        return When(valid_from=began.start, valid_to=min(began.end, at)) if began else When(valid_from=at, valid_to=at)
    since, by = (None, None) if began is None else (began.start, _by(began, at))
    if course is Course.ENDED:
        return _ended(ended, at)._replace(valid_from=since, begun_by=by)
    if course is Course.BEGAN and began is None:
        since = by = at
    return When(valid_from=since, begun_by=by, holds_at=at if course is Course.HOLDS else None)


def _by(date: DateMention, at: datetime) -> datetime:
    """Say when it had begun, or ended, for certain: at the end of the unit that was named, but before it was said."""
    try:
        end = date.start + timedelta(days=_SPAN_OF.get(date.granularity, 1))
    except OverflowError:
        end = at
    return max(date.start, min(end if date.bound is Bound.SINCE else date.end, at))


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() else _NUMBERS.get(word.lower())
