"""When a claim is true: from the dates in its sentence, seen from the event's own clock."""

from __future__ import annotations

from datetime import datetime, timedelta

from everyword.knowledge.relations import Course, When
from everyword.text.dates import Bound, DateMention, Granularity

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


def _ended(date: DateMention | None, at: datetime) -> When:
    if date is None:
        return When(valid_to=at)
    return When(valid_to=date.start, ended_by=_by(date, at))


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
