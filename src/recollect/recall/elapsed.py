"""Questions that compare two times: how long between this and that, which of the two came first.

Each of the two is looked for by itself, and dated by what its best hit says, seen from when it was said; the answer
shows both dates with their quotes, so that whoever reads it can check the sum.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from recollect.core.clock import day_in_words
from recollect.core.dates import Granularity, find_dates
from recollect.core.values import Answer, Citation, Hit, Hits, Span
from recollect.recall.analyse import Analysis
from recollect.recall.answer import sentence_of
from recollect.recall.dated import edges, told_date

_MOST_READ = 400  # characters: what is longer compares no two things
_UNIT_DAYS = {"day": 1.0, "week": 7.0, "month": 30.44, "year": 365.25}
_EXACT = (Granularity.MOMENT, Granularity.DAY)
_MANY_DAYS = 60  # from here on a number of days means little by itself, and is told in months or years too

Wanted = Literal["elapsed", "first", "last", "before", "after"]


class Compared(NamedTuple):
    """Two things whose times a question compares."""

    wanted: Wanted
    one: str
    two: str
    unit: str | None = None  # "day", "week" ..., where the question says in which it wants to know


def compared(question: str) -> Compared | None:
    """Tell which two things a question compares in time; None where it does not."""
    text = " ".join(question.replace("’", "'").split())
    if len(text) > _MOST_READ:
        return None
    for pattern, wanted in _PATTERNS:
        found = pattern.search(text)
        if found is not None:
            parts = found.groupdict()
            unit = (parts.get("unit") or "").rstrip("s").lower() or None
            order = _ORDER[parts["order"].lower()] if wanted == "before" else wanted
            return Compared(order, parts["one"].strip(" ,"), parts["two"].strip(" ,"), unit)
    return None


def elapsed(question: str, what: Compared, asked: Analysis, one: Hits, two: Hits) -> Answer | None:
    """Answer from the best hit for each; None where one has none, or both are the same words."""
    if not one or not two:
        return None
    first, second = _dated(one[0], what.one, asked), _dated(two[0], what.two, asked)
    if (first.hit.seq, first.span) == (second.hit.seq, second.span):
        return None
    verdict = _verdict(what, first, second)
    if verdict is None:
        return None
    found = (first, second)
    sure = [hits.confidence for hits in (one, two) if hits.confidence is not None]
    return Answer(
        question=question,
        text=f"{verdict}\n" + "\n".join(_shown(one, f"[{number}]") for number, one in enumerate(found, 1)),
        citations=tuple(
            Citation(mark=f"[{number}]", event_id=one.hit.event.id, span=one.span, key=one.hit.event.key)
            for number, one in enumerate(found, 1)
        ),
        quotes=tuple(one.hit.event.text[one.span.start : one.span.end] for one in found),
        confidence=min(sure, default=None),
    )


class _Dated(NamedTuple):
    hit: Hit
    span: Span
    start: datetime
    exact: bool
    told: str


def _dated(hit: Hit, part: str, asked: Analysis) -> _Dated:
    at = hit.event.at
    span = sentence_of(hit, part, asked)
    for mention in find_dates(hit.event.text[span.start : span.end], at):
        told = told_date(mention, at)
        if told is not None:
            first, last = edges(mention, at)
            exact = mention.granularity in _EXACT and first.date() == last.date()
            return _Dated(hit, span, first, exact, told)
    return _Dated(hit, span, at, True, day_in_words(at))


def _verdict(what: Compared, one: _Dated, two: _Dated) -> str | None:
    apart = _days(two) - _days(one)
    if what.wanted == "elapsed":
        return _length(abs(apart), what.unit, exact=one.exact and two.exact)
    if apart == 0:
        return None  # both on one day: no words decide
    if what.wanted in ("first", "last"):
        earlier = (apart > 0) == (what.wanted == "first")
        return f"{_capital(what.one if earlier else what.two)}."
    return "Yes." if (apart > 0) == (what.wanted == "before") else "No."


def _days(one: _Dated) -> int:
    offset = one.hit.event.at.utcoffset() or timedelta(0)
    try:
        return (one.start.replace(tzinfo=None) - (one.start.utcoffset() or timedelta(0)) + offset).toordinal()
    except OverflowError:  # the first and last days of the calendar
        return one.start.toordinal()


def _length(days: int, unit: str | None, *, exact: bool) -> str:
    about = "" if exact else "About "
    if unit is not None and unit != "day":
        count = days / _UNIT_DAYS[unit]
        return _capital(f"{about}{_counted(round(count, 1), unit)} ({_counted(days, 'day')}).")
    rest = ""
    if days >= _MANY_DAYS:
        larger = "year" if days >= 2 * _UNIT_DAYS["year"] else "month"
        rest = f" (about {_counted(round(days / _UNIT_DAYS[larger], 1), larger)})"
    return _capital(f"{about}{_counted(days, 'day')}{rest}.")


def _counted(count: float, unit: str) -> str:
    return f"{count:g} {unit}{'' if count == 1 else 's'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _shown(one: _Dated, mark: str) -> str:
    words = one.hit.event.text[one.span.start : one.span.end]
    who = f"{one.hit.event.speaker}, " if one.hit.event.speaker else ""
    return f"{one.told}: “{words}” ({who}{day_in_words(one.hit.event.at)}) {mark}"


_HOW_LONG = r"how (?:long|much time|many (?P<unit>days?|weeks?|months?|years?))\b"
_ORDER: dict[str, Wanted] = {"before": "before", "after": "after"}
_WRITTEN: tuple[tuple[str, Wanted], ...] = (
    (rf"{_HOW_LONG}[^?]{{0,60}}? between (?P<one>[^?]{{3,200}}?),? and (?P<two>[^?]{{3,200}})", "elapsed"),
    (rf"{_HOW_LONG}[^?]{{0,40}}? from (?P<one>[^?]{{3,200}}?) (?:un)?til(?:l)? (?P<two>[^?]{{3,200}})", "elapsed"),
    (rf"{_HOW_LONG} (?:after|before) (?P<one>[^?]{{3,200}}?) (?:did|was|were) (?P<two>[^?]{{3,200}})", "elapsed"),
    (
        r"\b(?:which|what|who|whom)\b[^?]{0,80}? first\b[,:]? ?(?P<one>[^?]{3,200}?),? or (?P<two>[^?]{3,200})",
        "first",
    ),
    (
        r"\b(?:which|what|who|whom)\b[^?]{0,80}? (?:last|later|most recently)\b[,:]? ?(?P<one>[^?]{3,200}?),?"
        r" or (?P<two>[^?]{3,200})",
        "last",
    ),
    (r"^(?:did|was|were|had) (?P<one>[^?]{3,200}?) (?P<order>before|after) (?P<two>[^?]{3,200})", "before"),
)
_PATTERNS: tuple[tuple[re.Pattern[str], Wanted], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), wanted) for pattern, wanted in _WRITTEN
)
