"""What the words before a time make of it: the end of March, three days before Christmas, since 2019, around May."""

from __future__ import annotations

from dataclasses import replace

from recollect.core.dates.almanac import (
    DAY,
    Stretch,
    add_months,
    day_window,
    days,
    month_of,
    month_window,
    week_window,
    weekday,
    weekend_window,
)
from recollect.core.dates.lexicon import (
    AMOUNT,
    GAP,
    ORDINALS,
    WEEKDAY,
    WEEKDAYS,
    amount,
    pattern,
    weekday_number,
)
from recollect.core.dates.scene import Scene
from recollect.core.dates.values import Bound, Granularity

_REACH = 48  # characters before a time that can belong to it
_THIRD = 3  # early, mid and late are the thirds of a window

_COMPOSING = frozenset(
    "early mid late of in the before after from to following since until till 'til by through eod cob on day business "
    "play work".split()
)
_DOUBT = frozenset("around about circa roughly approximately maybe probably sometime".split())
_DOUBT_BEFORE = (
    rf"\b(?:around|about|circa|roughly|approximately|maybe|probably|sometime)(?:{GAP}(?:in|on))?{GAP}(?:the{GAP})?$"
)
_PART = (
    rf"(?:\bthe{GAP})?\b(?:very{GAP})?(?P<part>early|mid|late|beginning|start|middle|end)"
    rf"(?:{GAP}(?:part{GAP})?of{GAP}|{GAP}in{GAP}|{GAP}|-)(?:the{GAP})?$"
)
_NTH = (
    rf"(?:\bthe{GAP})?\b(?P<nth>first|second|third|fourth|last|1st|2nd|3rd|4th){GAP}"
    rf"(?P<unit>day|weekend|week|half|month|{WEEKDAY}){GAP}(?:of|in){GAP}(?:the{GAP})?$"
)
_UNIT_OF = rf"(?:\bthe{GAP})?\b(?P<unit>weekend|week|morning|evening|night|afternoon){GAP}of{GAP}$"
_FROM = (
    rf"\b(?:(?P<n>{AMOUNT})|the){GAP}(?P<unit>(?:day|night|morning|evening|week|weekend|month|year)|{WEEKDAY})s?{GAP}"
    rf"(?P<side>before|after|from|following|prior{GAP}to){GAP}(?:the{GAP})?$"
)
# An edge of a window is a day's border: before the end of March is by its last day, by its start is before it.
_THE_END = (
    rf"(?:the{GAP})?(?:very{GAP})?(?:end|close)\b"
    rf"|(?:the{GAP})?(?:month|quarter|year)(?:'s{GAP}|{GAP}|-)end\b|eo[dwmqy]\b|cob\b"
)
_THE_START = rf"(?:the{GAP})?(?:very{GAP})?(?:beginning|start)\b"
_NO_EDGE = "lately|recently"  # "what have you been up to lately"
_BOUND = (
    rf"\b(?P<bound>since|until|till|'til|up{GAP}(?:to|until)|through|before|after|by)(?:{GAP}the)?{GAP}"
    rf"(?:(?:eod|cob|(?:end|close){GAP}of{GAP}(?:day|business|play|work)){GAP}(?:on{GAP})?)?$"
)
_GRANULARITIES = {"week": Granularity.WEEK, "month": Granularity.MONTH, "year": Granularity.YEAR}
_BOUNDS = {
    "since": Bound.SINCE,
    "until": Bound.UNTIL,
    "till": Bound.UNTIL,
    "'til": Bound.UNTIL,
    "through": Bound.UNTIL,
    "before": Bound.BEFORE,
    "after": Bound.AFTER,
    "by": Bound.BY,
}


def composed(scene: Scene, start: int, found: Stretch) -> tuple[int, Stretch]:
    """Read backwards from a time, and give where the whole expression starts and what it means."""
    if found.repeats or found.granularity is Granularity.LIFE:
        return start, found
    for step in (_narrowed, _counted, _moved, _bounded):
        if not _may_compose(scene, start):
            break
        start, found = step(scene, start, found)
    return start, found


def _may_compose(scene: Scene, start: int) -> bool:
    before = scene.before(start)
    return before in _COMPOSING or before in _DOUBT or before.endswith(("-", "early", "late"))


def _narrowed(scene: Scene, start: int, found: Stretch) -> tuple[int, Stretch]:
    begin = max(0, start - _REACH)
    if pattern(_DOUBT_BEFORE).search(scene.text, begin, start):
        found = found.vague()
    part = pattern(_PART).search(scene.text, begin, start)
    if part is None or found.end_day - found.first_day < _THIRD:
        return start, found
    third = (found.end_day - found.first_day) // _THIRD
    which = part["part"].lower()
    first, end = found.first_day, found.end_day
    if which in {"early", "beginning", "start"}:
        end = first + third
    elif which in {"late", "end"}:
        first = end - third
    else:
        first, end = first + third, end - third
    return part.start(), replace(found, start=first * DAY, end=end * DAY)


def _counted(scene: Scene, start: int, found: Stretch) -> tuple[int, Stretch]:
    begin = max(0, start - _REACH)
    whole = pattern(_UNIT_OF).search(scene.text, begin, start)
    if whole and found.granularity is Granularity.DAY:
        unit = whole["unit"].lower()
        if unit in {"week", "weekend"}:
            window = week_window(found.first_day) if unit == "week" else weekend_window(found.first_day)
            return whole.start(), replace(window, certain=found.certain, dated=found.dated)
        return whole.start(), found
    nth = pattern(_NTH).search(scene.text, begin, start)
    if nth is None:
        return start, found
    counted = _nth_of(nth["nth"].lower(), nth["unit"].lower(), found)
    return (nth.start(), replace(counted, certain=found.certain, dated=found.dated)) if counted else (start, found)


def _nth_of(nth: str, unit: str, whole: Stretch) -> Stretch | None:
    number = 0 if nth == "last" else ORDINALS[nth] if nth in ORDINALS else int(nth[0])
    first, end = whole.first_day, whole.end_day
    if unit == "half" and number in {0, 1, 2}:
        middle = add_months(first, 6) if whole.granularity is Granularity.YEAR else (first + end) // 2
        return replace(whole, end=middle * DAY) if number == 1 else replace(whole, start=middle * DAY)
    if unit == "month":
        return month_window(month_of(end - 1) if number == 0 else month_of(first) + number - 1)
    if unit == "day":
        return day_window(end - 1 if number == 0 else first + number - 1)
    which = 5 if unit == "weekend" else WEEKDAYS.get(unit.rstrip("."))
    if unit == "week":
        # The first week is the first seven days, which is what people count, and not the calendar's week.
        start = end - 7 if number == 0 else first + 7 * (number - 1)
        return days(start, min(start + 7, end) if number else end, Granularity.WEEK) if start < end else None
    if which is None:
        return None
    last = end - 1 - (weekday(end - 1) - which) % 7
    day = last if number == 0 else first + (which - weekday(first)) % 7 + 7 * (number - 1)
    return weekend_window(day) if unit == "weekend" else day_window(day)


def _moved(scene: Scene, start: int, found: Stretch) -> tuple[int, Stretch]:
    before = pattern(_FROM).search(scene.text, max(0, start - _REACH), start)
    if before is None:
        return start, found
    back = before["side"].lower().startswith(("before", "prior"))
    unit, written = before["unit"].lower(), before["n"]
    if unit.rstrip(".") in WEEKDAYS:
        if written:
            return start, found
        return before.start(), replace(_weekday_beside(weekday_number(unit), found, back), dated=found.dated)
    low, high = amount(written) if written else (1, 1)
    if low % 1:
        return start, found
    window = _beside(unit, int(low), int(high), found, back, alone=written is None)
    return before.start(), replace(window, certain=found.certain and low == high, dated=found.dated)


def _weekday_beside(which: int, found: Stretch, back: bool) -> Stretch:
    if back:
        day = found.first_day - 1
        return day_window(day - (weekday(day) - which) % 7)
    day = found.end_day
    return day_window(day + (which - weekday(day)) % 7)


def _beside(unit: str, low: int, high: int, found: Stretch, back: bool, *, alone: bool) -> Stretch:
    """Find the window so many units before or after another; "the week before" is the seven days next to it."""
    edge = found.first_day if back else found.end_day
    if unit == "weekend":
        return weekend_window(edge - 7 if back else edge + 7 - (weekday(edge) == 0) * 7)
    granularity = _GRANULARITIES.get(unit, Granularity.DAY)
    near, far = _steps(unit, edge, low, back), _steps(unit, edge, high, back)
    if alone and granularity is not Granularity.DAY:
        return days(min(near, edge), max(near, edge), granularity)
    if back:
        return days(far, near + (found.end_day - found.first_day), granularity)
    return days(near - (found.end_day - found.first_day), far, granularity)


def _steps(unit: str, edge: int, count: int, back: bool) -> int:
    sign = -1 if back else 1
    if unit in {"month", "year"}:
        return add_months(edge, sign * count * (12 if unit == "year" else 1))
    return edge + sign * count * (7 if unit == "week" else 1)


def _bounded(scene: Scene, start: int, found: Stretch) -> tuple[int, Stretch]:
    before = pattern(_BOUND).search(scene.text, max(0, start - _REACH), start)
    if before is None or pattern(_NO_EDGE).match(scene.text, start):
        return start, found
    word = before["bound"].lower()
    bound = _BOUNDS.get(word, Bound.UNTIL)
    if bound is Bound.SINCE and found.start < scene.now:
        return before.start(), replace(found, end=max(found.start + DAY, (scene.day + 1) * DAY), bound=bound)
    if bound is Bound.UNTIL and scene.moved_to(start):
        return start, found  # its new time, and not one that lasts until then
    if bound is Bound.UNTIL:
        begin = min(found.start, scene.day * DAY)
        return before.start(), replace(found, start=begin if found.end > scene.now else found.start, bound=bound)
    if bound is Bound.BEFORE and pattern(_THE_END).match(scene.text, start):
        bound = Bound.BY
    elif bound is Bound.BY and pattern(_THE_START).match(scene.text, start):
        bound = Bound.BEFORE
    return start, replace(found, bound=bound)
