"""Find dates in a text, read the words before each ("the end of March", "since 2019"), and write them out."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from everyword.lazy_patterns import lazy_pattern
from everyword.text.dates.calendar import (
    DAY,
    DAYS_IN,
    Bound,
    DateMention,
    Granularity,
    Interval,
    add_months,
    as_utc,
    days,
    to_seconds,
    weekday,
    window,
)
from everyword.text.dates.rules import (
    AMOUNT,
    GAP,
    OF_AN_APPOINTMENT,
    ORDINALS,
    RULES_BY_HEAD,
    UNITS,
    WEEKDAY,
    WEEKDAYS,
    amount,
    is_long_ago,
    pattern,
    shift,
    weekday_number,
)
from everyword.text.dates.tense import DateContext, Rule
from everyword.types.events import Span
from everyword.types.times import day_in_words, month_in_words

MAX_CHARACTERS = 64_000  # characters, about as many as a model reads
MAX_DATES = 1_000  # dates in one text; a text with more is a table
_LONGEST_HEAD = 12  # letters of the longest word that can start a date

_WORD = lazy_pattern(r"[^\W\d_]+|\d+")
_GLUE = frozenset("/.:-$€£#@&+%,\\=_")  # before a number: part of a price, a path, a phone number
_JOIN = r"\s?(?:[-–—]|\b(?:to|until|till|through|and)\b)\s?(?:the\s)?"
_RANGE_BEFORE = r"\b(?P<word>from|between)\s(?:the\s)?$"


class _Found(Struct, frozen=True):
    start: int
    end: int
    interval: Interval
    rule: Rule
    match: re.Match[str]
    guessed: bool = False


def find_dates(text: str, anchor: datetime, *, past: bool | None = None, nearest: bool = False) -> list[DateMention]:
    """List the dates in a text, in order, each as a window in UTC.

    anchor: when the text was written, or the question's now, in the writer's time zone (default: UTC). Verbs decide
    whether "on Friday" is past or future; without a verb it is `guessed` as past. past: overrides the verbs. nearest:
    guess the nearer of past and future.
    """
    context = DateContext(text=text[:MAX_CHARACTERS].replace("’", "'"), now=to_seconds(anchor), past=past)
    offset = anchor.utcoffset() or timedelta(0)
    mentions = (_mention(text, found, offset) for found in _ranges(context, _scan(context, nearest)))
    return [mention for mention in mentions if mention is not None]


def _scan(context: DateContext, nearest: bool) -> list[_Found]:
    finds: list[_Found] = []
    reached = 0
    for word in _WORD.finditer(context.text):
        start, end = word.span()
        if len(finds) >= MAX_DATES:
            break
        if start < reached or end - start > _LONGEST_HEAD:
            continue
        head = word[0]
        rules = RULES_BY_HEAD.get("#" if head[0].isdigit() else head.lower())
        found = _longest(context, start, rules) if rules and _can_start(context.text, start) else None
        if found is None:
            continue
        found = _with_direction(context, found, nearest)
        begin, interval = _extended(context, found.start, found.interval)
        while finds and finds[-1].end > begin:
            if finds[-1].start < begin:
                begin, interval = found.start, found.interval
                break
            finds.pop()
        finds.append(replace(found, start=begin, interval=interval))
        reached = found.end
    return finds


def _longest(context: DateContext, start: int, rules: tuple[Rule, ...]) -> _Found | None:
    best: _Found | None = None
    for rule in rules:
        match = pattern(rule.source).match(context.text, start)
        if match is None or (best is not None and match.end() <= best.end) or not _can_end(context.text, match.end()):
            continue
        interval = rule.resolve(match, context)
        if interval is not None:
            best = _Found(start, match.end(), interval, rule, match)
    return best


def _with_direction(context: DateContext, found: _Found, nearest: bool) -> _Found:
    """Mark a date that could also be in the future as guessed; with `nearest`, choose the nearer one."""
    ahead = found.rule.resolve(found.match, replace(context, default_past=False))
    # The verb may tell of an appointment, and so may a deed that the reader found.
    open_to = context.past is None or (nearest and context.before(found.match.start()) in OF_AN_APPOINTMENT)
    if ahead == found.interval and open_to and is_long_ago(found.interval, context):
        ahead = found.rule.resolve(found.match, replace(context, past=False))
    if ahead is None or ahead == found.interval:
        return found
    nearer = ahead.start - context.now < context.now - found.interval.end
    if not nearer and context.is_past(*found.match.span()):
        return found  # the verb is past, and the future date would be farther away
    return replace(found, interval=ahead if nearest and nearer else found.interval, guessed=True)


def _can_start(text: str, start: int) -> bool:
    """Return whether a date can start here: not inside a word, a path, a price, a phone number."""
    if not start:
        return True
    before = text[start - 1]
    if before.isalnum() or before == "_":
        return False
    if text[start].isdigit() and before in _GLUE:
        return before == "-" and start > 1 and not text[start - 2].isalnum()
    return True


def _can_end(text: str, end: int) -> bool:
    follows = text[end : end + 2]
    if follows[:1] == "." and follows[1:].islower():
        return False  # a host or file name
    return not (follows[:1].isalnum() or follows[:1] == "_")


def _ranges(context: DateContext, finds: list[_Found]) -> list[_Found]:
    """Join two dates into a range: "from ... to", "between ... and", or a dash."""
    joined: list[_Found] = []
    for found in finds:
        if joined and (pair := _pair(context, joined[-1], found)) is not None:
            joined[-1] = pair
        else:
            joined.append(found)
    return joined


def _pair(context: DateContext, one: _Found, two: _Found) -> _Found | None:
    begin = two.match.start() if two.interval.bound is Bound.UNTIL else two.start  # "through" joins the two
    join = pattern(_JOIN).fullmatch(context.text, one.end, begin)
    if join is None or one.interval.repeats or two.interval.repeats:
        return None
    opening = pattern(_RANGE_BEFORE).search(context.text, max(0, one.start - 16), one.start)
    if opening is None and "and" in join[0]:
        return None
    first, last = one.interval, two.interval
    if not first.dated:
        nearer = DateContext(text=context.text, now=last.end - 1, past=True)
        first = one.rule.resolve(one.match, nearer) if one.start == one.match.start() else first
    elif not last.dated:
        farther = DateContext(text=context.text, now=first.start, past=False)
        last = two.rule.resolve(two.match, farther) if two.start == two.match.start() else last
    if first is None or last is None or first.start >= last.end:
        return None
    interval = replace(last, start=first.start, certain=first.certain and last.certain, bound=None)
    guessed = (one.guessed or two.guessed) and not (first.dated or last.dated)
    return replace(two, start=opening.start() if opening else one.start, interval=interval, guessed=guessed)


def _mention(text: str, found: _Found, offset: timedelta) -> DateMention | None:
    start, end = as_utc(found.interval.start, offset), as_utc(found.interval.end, offset)
    if start >= end:
        return None  # outside the calendar
    return DateMention(
        span=Span(found.start, found.end),
        text=text[found.start : found.end],
        start=start,
        end=end,
        granularity=found.interval.granularity,
        certain=found.interval.certain,
        repeats=found.interval.repeats,
        bound=found.interval.bound,
        guessed=found.guessed,
    )


_REACH = 48  # characters before a date that may belong to it
_THIRDS = 3  # early, mid and late

_APPROXIMATE_BEFORE = (
    rf"\b(?:around|about|circa|roughly|approximately|maybe|probably|sometime)(?:{GAP}(?:in|on))?{GAP}(?:the{GAP})?$"
)
_PART = (
    rf"(?:\bthe{GAP})?\b(?:very{GAP})?(?P<part>early|mid|late|beginning|start|middle|end)"
    rf"(?:{GAP}(?:part{GAP})?of{GAP}|{GAP}in{GAP}|(?:(?<=early)|(?<=mid)|(?<=late))(?:{GAP}|-))(?:the{GAP})?$"
)
_NTH = (
    rf"(?:\bthe{GAP})?\b(?P<nth>first|second|third|fourth|last|1st|2nd|3rd|4th){GAP}"
    rf"(?P<unit>day|weekend|week|half|{WEEKDAY}){GAP}(?:of|in){GAP}(?:the{GAP})?$"
)
_UNIT_OF = rf"(?:\bthe{GAP})?\b(?P<unit>weekend|week|morning|evening|night|afternoon){GAP}of{GAP}$"
_RELATIVE = (
    rf"\b(?:(?P<n>{AMOUNT})|the){GAP}(?P<unit>(?:day|night|morning|evening|week|weekend|month|year)|{WEEKDAY})s?{GAP}"
    rf"(?P<side>before|after|following|prior{GAP}to){GAP}(?:the{GAP})?$"
)
_NOT_BOUNDED = "lately|recently"  # "what have you been up to lately"
_ENDS = rf"(?:the{GAP})?(?:very{GAP})?(?:\w+-)?end\b"
_BOUND = (
    rf"\b(?P<bound>since|until|till|'til|up{GAP}(?:to|until)|through|before|after|by)(?:{GAP}the)?{GAP}"
    rf"(?P<day_end>(?:cob|(?:end|close){GAP}of{GAP}(?:day|business)){GAP}(?:on{GAP})?)?$"
)


def _extended(context: DateContext, start: int, found: Interval) -> tuple[int, Interval]:
    """Read the words before a date; return the start of the whole expression and its window."""
    if found.repeats:
        return start, found
    for step in (_early_or_late, _nth_part, _relative_to, _bounded):
        start, found = step(context, start, found)
    return start, found


def _early_or_late(context: DateContext, start: int, found: Interval) -> tuple[int, Interval]:
    begin = max(0, start - _REACH)
    if pattern(_APPROXIMATE_BEFORE).search(context.text, begin, start):
        found = found.vague()
    part = pattern(_PART).search(context.text, begin, start)
    if part is None or found.end_day - found.first_day < _THIRDS:
        return start, found
    third = (found.end_day - found.first_day) // _THIRDS
    which = part["part"].lower()
    first, end = found.first_day, found.end_day
    if which in {"early", "beginning", "start"}:
        end = first + third
    elif which in {"late", "end"}:
        first = end - third
    else:
        first, end = first + third, end - third
    return part.start(), replace(found, start=first * DAY, end=end * DAY)


def _nth_part(context: DateContext, start: int, found: Interval) -> tuple[int, Interval]:
    begin = max(0, start - _REACH)
    whole = pattern(_UNIT_OF).search(context.text, begin, start)
    if whole and found.granularity is Granularity.DAY:
        unit = whole["unit"].lower()
        return whole.start(), replace(window(unit, found.first_day), certain=found.certain, dated=found.dated)
    nth = pattern(_NTH).search(context.text, begin, start)
    if nth is None:
        return start, found
    counted = _nth_of(nth["nth"].lower(), nth["unit"].lower(), found)
    return (nth.start(), replace(counted, certain=found.certain, dated=found.dated)) if counted else (start, found)


def _nth_of(nth: str, unit: str, whole: Interval) -> Interval | None:
    number = 0 if nth == "last" else ORDINALS[nth] if nth in ORDINALS else int(nth[0])
    first, end = whole.first_day, whole.end_day
    if unit == "half" and number in {0, 1, 2}:
        middle = add_months(first, 6) if whole.granularity is Granularity.YEAR else (first + end) // 2
        return replace(whole, end=middle * DAY) if number == 1 else replace(whole, start=middle * DAY)
    if unit == "day":
        return window("day", end - 1 if number == 0 else first + number - 1)
    which = 5 if unit == "weekend" else WEEKDAYS.get(unit.rstrip("."))
    if unit == "week":
        # People count the first seven days as the first week, not the calendar week.
        start = end - 7 if number == 0 else first + 7 * (number - 1)
        return days(start, min(start + 7, end) if number else end, Granularity.WEEK) if start < end else None
    if which is None:
        return None
    last = end - 1 - (weekday(end - 1) - which) % 7
    day = last if number == 0 else first + (which - weekday(first)) % 7 + 7 * (number - 1)
    return window("weekend" if unit == "weekend" else "day", day)


def _relative_to(context: DateContext, start: int, found: Interval) -> tuple[int, Interval]:
    before = pattern(_RELATIVE).search(context.text, max(0, start - _REACH), start)
    if before is None:
        return start, found
    back = before["side"].lower().startswith(("before", "prior"))
    unit, written = before["unit"].lower(), before["n"]
    if unit.rstrip(".") in WEEKDAYS:
        if written:
            return start, found
        edge = found.first_day - 7 if back else found.end_day
        day = edge + (weekday_number(unit) - weekday(edge)) % 7
        return before.start(), replace(window("day", day), dated=found.dated)
    low, high = amount(written) if written else (1, 1)
    if low % 1:
        return start, found
    beside = _window_beside(unit, int(low), int(high), found, back, alone=written is None)
    return before.start(), replace(beside, certain=found.certain and low == high, dated=found.dated)


def _window_beside(unit: str, low: int, high: int, found: Interval, back: bool, *, alone: bool) -> Interval:
    """Return the window some units before or after another; "the week before" is the seven days before it."""
    edge = found.first_day if back else found.end_day
    if unit == "weekend":
        return window("weekend", edge, -1 if back else int(weekday(edge) != 0))
    granularity = UNITS.get(unit, Granularity.DAY)
    sign = -1 if back else 1
    near, far = shift(unit, edge, sign * low), shift(unit, edge, sign * high)
    if alone and granularity is not Granularity.DAY:
        return days(min(near, edge), max(near, edge), granularity)
    if back:
        return days(far, near + (found.end_day - found.first_day), granularity)
    return days(near - (found.end_day - found.first_day), far, granularity)


def _bounded(context: DateContext, start: int, found: Interval) -> tuple[int, Interval]:
    before = pattern(_BOUND).search(context.text, max(0, start - _REACH), start)
    if before is None or pattern(_NOT_BOUNDED).match(context.text, start):
        return start, found
    bound = next((one for one in Bound if one == before["bound"].lower()), Bound.UNTIL)  # till, through, up to
    if bound is Bound.BEFORE and (before["day_end"] or pattern(_ENDS).match(context.text, start)):
        bound = Bound.BY  # "before the end of March" is by its last day
    if bound is Bound.SINCE and found.start < context.now:
        return before.start(), replace(found, end=max(found.start + DAY, (context.day + 1) * DAY), bound=bound)
    if bound is Bound.UNTIL:
        begin = min(found.start, context.day * DAY)
        return before.start(), replace(found, start=begin if found.end > context.now else found.start, bound=bound)
    return start, replace(found, bound=bound)


# Dates written out

_YEAR = lazy_pattern(r"(?<!\d)\d{4}(?!\d)")  # a date with its year needs no note
_MOST = 3  # notes in one line; more would drown it
_TICK = timedelta(microseconds=1)  # the end of a window is exclusive


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
    longer = (last - start).days >= DAYS_IN[mention.granularity]
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
    rest = timedelta(days=DAYS_IN[mention.granularity] - 1)
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
