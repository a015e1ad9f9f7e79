"""Rules for times relative to the anchor: yesterday, two months ago, by end of week; habits and periods of a life."""

from __future__ import annotations

import re
from dataclasses import replace

from everyword.text.dates.calendar import (
    DAY,
    FIRST_DAY,
    HOUR,
    MINUTE,
    Granularity,
    Interval,
    add_months,
    day_window,
    days,
    month_of,
    month_window,
    months_window,
    parts,
    season_window,
    week_window,
    weekday,
    weekend_window,
    year_window,
)
from everyword.text.dates.lexicon import (
    AMOUNT,
    DAY_PART,
    FUNCTION_WORDS,
    GAP,
    MOD,
    MOD_HEADS,
    MONTH,
    NUMBERS,
    ORDINAL,
    SEASON,
    SHORT_WEEKDAYS,
    UNIT,
    VAGUE_AMOUNTS,
    WEEKDAY,
    WEEKDAY_HEADS,
    WEEKDAYS,
    amount,
    pattern,
    weekday_number,
)
from everyword.text.dates.tense import DateContext, Rule, rule

RECENTLY = 30  # days that "recently" and "lately" reach back
THE_OTHER_DAY = 10  # days that "the other day" reaches back
A_WHILE = 365  # days that "a while ago" reaches back
ROUND_ABOUT = 1  # units by which "about two weeks ago" may be off
UNITS = {
    "week": Granularity.WEEK,
    "month": Granularity.MONTH,
    "year": Granularity.YEAR,
    "weekend": Granularity.WEEKEND,
    "quarter": Granularity.QUARTER,
    "decade": Granularity.DECADE,
}
_SECONDS = {"second": 1, "minute": MINUTE, "hour": HOUR}
_SMALLER = {  # a half is counted in the smaller unit: its name and number
    "decade": ("year", 10),
    "year": ("month", 12),
    "month": ("day", 30),
    "week": ("day", 7),
    "hour": ("minute", 60),
}
_PART_BEFORE = (
    rf"\b(?:end|start|beginning|middle|(?:first|last|1st|second|2nd|third|3rd|fourth|4th){GAP}"
    rf"(?:day|week|weekend|half|month|{WEEKDAY})){GAP}of{GAP}$|\b(?:later|earlier){GAP}in{GAP}$"
)
_PRESENT_VERBS = frozenset("is am are i'm still she's he's they're we're".split())


def _named_day(match: re.Match[str], context: DateContext) -> Interval | None:
    word = match["word"].lower()
    back = {"yesterday": -1, "tomorrow": 1, "last": -1}
    return day_window(context.day + back.get(word.split()[0], 0))


def _part_of_today(match: re.Match[str], context: DateContext) -> Interval | None:
    return day_window(context.day)


def _weekday(match: re.Match[str], context: DateContext) -> Interval | None:
    groups = match.groupdict()
    name = match["wd"].lower().rstrip(".")
    mod = " ".join((groups.get("mod") or "").lower().split())
    if name in SHORT_WEEKDAYS and not (match["wd"][0].isupper() and (mod or _has_day_preposition(match, context))):
        return None
    if context.after(match.end()).lower() in {"school", "best", "roast"}:
        return None
    which = weekday_number(name)
    back, ahead = (weekday(context.day) - which) % 7, (which - weekday(context.day)) % 7
    monday = context.day - weekday(context.day)
    week = groups.get("week") or groups.get("week2")
    if week:
        return day_window(monday + which + 7 * {"last": -1, "this": 0, "next": 1}[week.lower()])
    turn = (groups.get("turn") or "").lower()
    if turn.startswith("before"):
        return day_window(context.day - (back or 7) - 7)
    if turn.startswith("after"):
        return day_window(context.day + (ahead or 7) + 7)
    return _weekday_by(mod, match, context, which)


def _weekday_by(mod: str, match: re.Match[str], context: DateContext, which: int) -> Interval:
    back, ahead = (weekday(context.day) - which) % 7, (which - weekday(context.day)) % 7
    if mod in {"last", "past", "previous", "this past"}:
        return day_window(context.day - (back or 7))
    if mod == "next":
        # The nearest, or the one of next week: if these differ, take next week's, as uncertain.
        found = context.day - weekday(context.day) + 7 + which
        return day_window(found, certain=found == context.day + (ahead or 7))
    if mod == "this":
        past = context.is_past(match.start(), match.end()) is True
        return day_window(context.day - back if past else context.day + ahead)
    if mod in {"coming", "upcoming", "this coming"} or not context.looks_back(match):
        return day_window(context.day + (ahead or 7))
    return day_window(context.day - (back or 7))


def _has_day_preposition(match: re.Match[str], context: DateContext) -> bool:
    return context.before(match.start()) in {"on", "until", "till", "by", "since", "every", "each"}


def _unit(match: re.Match[str], context: DateContext) -> Interval | None:
    unit, turn = match["unit"].lower(), (match["turn"] or "").lower()
    mod = " ".join(match["mod"].lower().split())
    step = {"last": -1, "this": 0, "next": 1}.get(mod)
    if step is None or (mod == "this" and turn) or context.after(match.end()).lower() == "of":
        return None
    return unit_window(unit, step * (2 if turn else 1), context)


def _unit_before_last(match: re.Match[str], context: DateContext) -> Interval | None:
    return unit_window(match["unit"].lower(), -2 if match["turn"].lower().startswith("before") else 2, context)


def unit_window(unit: str, step: int, context: DateContext) -> Interval:
    """Return a calendar unit some steps after the current one."""
    year = parts(context.day)[0]
    if unit == "week":
        return week_window(context.day + 7 * step)
    if unit == "weekend":
        return weekend_window(context.day + 7 * step)
    if unit == "month":
        return month_window(month_of(context.day) + step)
    if unit == "quarter":
        return months_window(3 * (month_of(context.day) // 3 + step), 3, Granularity.QUARTER)
    if unit == "decade":
        return months_window(120 * (year // 10 + step), 120, Granularity.DECADE)
    if unit in {"night", "evening"}:
        return day_window(context.day + step)
    return year_window(year + step)


def _weekend(match: re.Match[str], context: DateContext) -> Interval | None:
    mod = " ".join((match["mod"] or "").lower().split())
    if not mod and context.before(match.start()) in {"of", "a", "per"}:
        return None
    this = weekend_window(context.day)
    inside = weekday(context.day) >= 5
    turn = (match["turn"] or "").lower()
    last = weekend_window(context.day - 7)
    if turn:
        return weekend_window(context.day + (-14 if turn.startswith("before") else 14))
    if mod in {"last", "past", "previous", "this past"}:
        return last
    if mod == "next":
        return weekend_window(context.day + 7)
    if mod == "this" or inside:
        return this if inside or context.is_past(match.start(), match.end()) is not True else last
    return last if not mod and context.looks_back(match) else this


def _within_unit(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "earlier this week", "the rest of the year": the part of a unit before or after now."""
    unit = match["unit"].lower()
    whole = day_window(context.day) if unit in {"today", "day"} else unit_window(unit, 0, context)
    if unit == "today":
        return whole
    if match["side"].lower() == "earlier":
        return replace(whole, end=min(whole.end, (context.day + 1) * DAY))
    return replace(whole, start=max(whole.start, context.day * DAY))


def _whole_unit(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "the month" in "the end of the month" and "the last Friday of the month"; alone it is no date."""
    if pattern(_PART_BEFORE).search(context.text, max(0, match.start() - 32), match.start()) is None:
        return None
    return unit_window(match["unit"].lower(), 0, context)


def _ago(match: re.Match[str], context: DateContext) -> Interval | None:
    low, high = amount(match["n"])
    vague = match["n"].lower() not in NUMBERS and any(word in match["n"].lower() for word in VAGUE_AMOUNTS)
    if match["n2"]:
        low, high = min(low, amount(match["n2"])[0]), max(high, amount(match["n2"])[1])
        vague = True
    if match["approx"]:
        low, high, vague = low - ROUND_ABOUT if low > 1 else low, high + ROUND_ABOUT, True
    if match["half"]:
        low, high = low + 0.5, high + 0.5
    if match["exact"] and low == high >= 1:
        return day_window(shift(match["unit"].lower(), context.day, -int(low)))
    return _shifted(match["unit"].lower(), low, high, context, back=True, vague=vague)


def _ahead(match: re.Match[str], context: DateContext) -> Interval | None:
    low, high = amount(match["n"])
    if match["n2"]:
        low, high = min(low, amount(match["n2"])[0]), max(high, amount(match["n2"])[1])
    if match["half"]:
        low, high = low + 0.5, high + 0.5
    return _shifted(match["unit"].lower(), low, high, context, back=False, vague=low != high or bool(match["approx"]))


def _in_units(match: re.Match[str], context: DateContext) -> Interval | None:
    if context.is_past(match.start(), match.end()) is True:
        return None  # "I finished it in two weeks" is a duration
    if context.after(match.end()).lower() in {"of", "ago", "or"}:
        return None
    return _ahead(match, context)


def _shifted(unit: str, low: float, high: float, context: DateContext, *, back: bool, vague: bool) -> Interval | None:
    """Move the anchor by some units; the window is as wide as the unit, or as the uncertainty."""
    if unit.startswith("min"):
        unit = "minute"
    if low % 1 or high % 1:
        smaller, factor = _SMALLER.get(unit, (unit, 1))
        slack = 1 if smaller == "month" else 3
        unit, low, high, vague = smaller, low * factor - slack, high * factor + slack, True
    sign = -1 if back else 1
    one, other = _unit_at(unit, sign * int(low), context), _unit_at(unit, sign * int(high), context)
    start, end = min(one.start, other.start), max(one.end, other.end)
    if start == one.start and end == one.end and not vague:
        return one
    return replace(one, start=start, end=end, certain=not vague)


def _unit_at(unit: str, count: int, context: DateContext) -> Interval:
    if unit in _SECONDS:
        start = context.now + count * _SECONDS[unit]
        return Interval(start=start, end=start + max(_SECONDS[unit], MINUTE), granularity=Granularity.MOMENT)
    if unit == "fortnight":
        return week_window(context.day + 14 * count)
    if unit == "decade":  # centred on the year
        return months_window(12 * (parts(context.day)[0] + 10 * count - 5), 120, Granularity.DECADE, certain=False)
    return unit_window(unit, count, context) if unit in UNITS else day_window(context.day + count)


def _several_weekdays_ago(match: re.Match[str], context: DateContext) -> Interval | None:
    low, high = (int(number) for number in amount(match["n"]))
    which = weekday_number(match["wd"].lower().removesuffix("s"))
    nearest = context.day - ((weekday(context.day) - which) % 7 or 7)
    return days(nearest - 7 * (high - 1), nearest - 7 * (low - 1) + 1, Granularity.DAY, certain=low == high)


def _seasons_ago(match: re.Match[str], context: DateContext) -> Interval | None:
    count = int(amount(match["n"])[0])
    name = match["season"].lower()
    last = season_window(name, parts(context.day)[0])
    year = parts(context.day)[0] - (0 if last.end <= context.now else 1)
    return season_window(name, year - count + 1)


def _units_ago(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "weeks ago", without a number."""
    return _shifted(match["unit"].lower(), 2, 10, context, back=True, vague=True)


def _rolling(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "the past three weeks": some units up to now, or from now on."""
    unit, side = match["unit"].lower(), match["side"].lower()
    follows = context.after(match.end()).lower()
    if follows == "of" or (unit in {"day", "night", "hour", "minute", "second"} and not match["n"]):
        return None  # "the last week of March" is relative to March, "the next day" to another event
    ahead = side in {"next", "coming"}
    if ahead and not match["n"] and context.is_past(match.start(), match.end()) is True:
        return None
    low, high = amount(match["n"]) if match["n"] else (1, 1)
    count = int(high) if high >= 1 else 1
    first, last = context.day, shift(unit, context.day, count if ahead else -count)
    return days(min(first, last), max(first, last) + 1, UNITS.get(unit, Granularity.DAY), certain=low == high)


def shift(unit: str, day: int, count: int) -> int:
    """Move a day by some units."""
    if unit in {"month", "year", "decade"}:
        return add_months(day, count * {"month": 1, "year": 12, "decade": 120}[unit])
    return day + count * {"week": 7, "fortnight": 14, "weekend": 7}.get(unit, 1)


def _recently(match: re.Match[str], context: DateContext) -> Interval | None:
    return days(context.day - RECENTLY, context.day + 1, Granularity.MONTH, certain=False)


def _the_other(match: re.Match[str], context: DateContext) -> Interval | None:
    unit = match["unit"].lower()
    if unit in {"week", "weekend", "month"}:
        return _shifted(unit, 1, 3, context, back=True, vague=True)
    return days(context.day - THE_OTHER_DAY, context.day + 1, Granularity.DAY, certain=False)


def _just_now(match: re.Match[str], context: DateContext) -> Interval | None:
    return Interval(start=context.now - HOUR, end=context.now + MINUTE, granularity=Granularity.MOMENT)


def _a_while_ago(match: re.Match[str], context: DateContext) -> Interval | None:
    return days(context.day - A_WHILE, context.day, Granularity.YEAR, certain=False)


def _long_ago(match: re.Match[str], context: DateContext) -> Interval | None:
    if match[0].lower().startswith("not"):
        return days(context.day - 2 * RECENTLY, context.day, Granularity.MONTH, certain=False)
    return days(FIRST_DAY, max(context.day - A_WHILE, FIRST_DAY + 1), Granularity.LIFE, certain=False)


def _habit(match: re.Match[str], context: DateContext) -> Interval | None:
    unit = (match.groupdict().get("unit") or match[0]).lower()
    granularity = next((found for name, found in UNITS.items() if name in unit), Granularity.DAY)
    return replace(day_window(context.day), granularity=granularity, repeats=True, certain=False)


def _plural_weekday(match: re.Match[str], context: DateContext) -> Interval | None:
    if context.before(match.start()) in {"last", "next", "this", "two", "few"}:
        return None
    return _habit(match, context)


def _habit_word(match: re.Match[str], context: DateContext) -> Interval | None:
    return _habit(match, context) if match[0].islower() else None


def _life(match: re.Match[str], context: DateContext) -> Interval | None:
    if match[0][:2].lower() == "in" and context.before(match.start()) in _PRESENT_VERBS:
        return None  # where someone is now
    return days(FIRST_DAY, max(context.day, FIRST_DAY + 1), Granularity.LIFE, certain=False)


_AMOUNT_HEADS = "# a an half couple few several many " + " ".join(NUMBERS)
_APPROX = (
    r"(?:(?P<approx>about|around|almost|nearly|roughly|over|approximately|maybe|like|probably|some|"
    rf"(?:more|less){GAP}than){GAP})?"
)
SPAN = (
    rf"(?P<n>{AMOUNT})(?:(?:\s?[-–]\s?|{GAP}(?:to|or){GAP})(?P<n2>{AMOUNT}))?{GAP}"
    rf"(?P<unit>{UNIT})s?(?P<half>{GAP}and{GAP}a{GAP}half)?"
)
_APPROX_HEADS = "about around almost nearly roughly over approximately maybe like probably some more less"
_TURN = rf"(?:{GAP}(?P<turn>before{GAP}last|after{GAP}next)\b)"
_PERSON = r"(?:i|he|she|we|they|you|my [a-z]{1,12}|[A-Z][a-z]{1,15})"
_YOUNG = (
    r"(?:an?\s(?:little\s|small\s|young\s|poor\s)?(?:kid|child|boy|girl|baby|teen|teenager|toddler|student|freshman|"
    r"sophomore|senior|undergrad|youngster)|kids|children|teenagers|students|little|young|younger|small)"
)
_SCHOOL = (
    r"(?:college|(?:high|middle|elementary|primary|grade|grad|graduate|law|med|medical|secondary)\sschool|"
    r"kindergarten|university)"
)
_ANY_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"

RELATIVE_RULES: tuple[Rule, ...] = (
    rule("today tonight yesterday tomorrow", rf"(?P<word>today|tonight|yesterday|tomorrow)\b{DAY_PART}", _named_day),
    rule("last", rf"(?P<word>last){GAP}(?:night|evening)\b", _named_day),
    rule("this", rf"this{GAP}(?:morning|afternoon|evening)\b", _part_of_today),
    rule("earlier later", rf"(?:earlier|later){GAP}today\b", _part_of_today),
    rule(
        f"{WEEKDAY_HEADS} {MOD_HEADS}",
        rf"{MOD}?(?P<wd>{WEEKDAY})(?:{_TURN}|(?:{GAP}(?:of{GAP})?(?P<week>last|this|next){GAP}week\b))?{DAY_PART}",
        _weekday,
    ),
    rule("the", rf"the{GAP}(?P<wd>{WEEKDAY}){_TURN}", _weekday),
    rule(
        "last this next",
        rf"(?P<week2>last|this|next){GAP}week(?:,?{GAP}on)?,?{GAP}(?P<wd>{WEEKDAY}){DAY_PART}",
        _weekday,
    ),
    rule("last this next", rf"{MOD}(?P<unit>week|month|year|quarter|decade)\b(?P<turn>)", _unit),
    rule("the", rf"the{GAP}(?P<unit>week|month|year|quarter){_TURN}", _unit_before_last),
    rule(f"the weekend {MOD_HEADS}", rf"(?:{MOD}|the{GAP})?weekend\b{_TURN}?", _weekend),
    rule(
        "earlier later the",
        rf"(?P<side>earlier|later|(?:the{GAP})?rest{GAP}of){GAP}(?:this|the){GAP}(?P<unit>week|month|year|quarter|day)\b",
        _within_unit,
    ),
    rule("the this", rf"(?:the|this){GAP}(?P<unit>week|month|quarter|year|decade)\b", _whole_unit),
    rule(f"{_AMOUNT_HEADS} {_APPROX_HEADS}", rf"{_APPROX}{SPAN}{GAP}(?:ago|back)\b(?P<exact>{GAP}today\b)?", _ago),
    rule(f"{_AMOUNT_HEADS} {_APPROX_HEADS}", rf"{_APPROX}{SPAN}{GAP}(?:from{GAP}(?:now|today)|hence)\b", _ahead),
    rule("in", rf"in{GAP}{_APPROX}{SPAN}(?:'?{GAP}time)?\b", _in_units),
    rule(_AMOUNT_HEADS, rf"(?P<n>{AMOUNT}){GAP}(?P<wd>{_ANY_WEEKDAY}s?){GAP}ago\b", _several_weekdays_ago),
    rule(_AMOUNT_HEADS, rf"(?P<n>{AMOUNT}){GAP}(?P<season>{SEASON})s?{GAP}ago\b", _seasons_ago),
    rule("days weeks months years decades hours minutes", rf"(?P<unit>{UNIT})s{GAP}ago\b", _units_ago),
    rule(
        "the these this last past next coming previous",
        rf"(?:(?:the|these|this){GAP})?(?P<side>last|past|next|coming|previous){GAP}(?P<n>{AMOUNT}){GAP}(?P<unit>{UNIT})s?\b",
        _rolling,
    ),
    rule("the", rf"the{GAP}(?P<side>last|past|next|coming){GAP}(?P<n>)(?P<unit>week|month|year|decade)\b", _rolling),
    rule("this past", rf"(?:this{GAP})?(?P<side>past){GAP}(?P<n>)(?P<unit>week|month|year|decade)\b", _rolling),
    rule("recently lately", r"(?:recently|lately)\b", _recently),
    rule("the", rf"the{GAP}other{GAP}(?P<unit>day|night|morning|evening|week|weekend|month)\b", _the_other),
    rule("just", rf"just{GAP}now\b", _just_now),
    rule(
        "a quite some",
        rf"(?:quite{GAP})?(?:a|some)(?:{GAP}(?:little|long|good))?{GAP}(?:while|time){GAP}(?:ago|back)\b",
        _a_while_ago,
    ),
    rule("ages long not", rf"(?:ages|(?:not{GAP}(?:so{GAP}|too{GAP})?)?long){GAP}ago\b", _long_ago),
    rule(
        "every each",
        rf"(?:every|each){GAP}(?:(?:other|single|few|couple{GAP}of|{AMOUNT}|{ORDINAL}){GAP})?"
        rf"(?P<unit>{UNIT}|{WEEKDAY}|{MONTH}|{SEASON}|morning|afternoon|evening|christmas|thanksgiving|easter|halloween)s?{DAY_PART}\b",
        _habit,
    ),
    rule(
        " ".join(f"{name}s" for name in WEEKDAYS) + f" weekends weekdays {WEEKDAY_HEADS}",
        rf"(?P<unit>{_ANY_WEEKDAY}(?:s|s?{GAP}(?:morning|afternoon|evening|night)s)|weekends|weekdays)\b",
        _plural_weekday,
    ),
    rule(
        "daily weekly monthly yearly annually quarterly biweekly nightly",
        r"(?P<unit>daily|(?:bi)?weekly|monthly|yearly|annually|quarterly|nightly)\b",
        _habit_word,
    ),
    rule(
        f"once twice {_AMOUNT_HEADS}",
        rf"(?:once|twice|{AMOUNT}{GAP}(?:times|days|nights|hours)){GAP}(?:an?|per|each|every){GAP}(?P<unit>day|night|week|weekend|month|year|quarter)\b",
        _habit,
    ),
    rule(
        "when back",
        rf"(?:back\s)?when\s{_PERSON}\s(?:was|were)\s(?:(?:still|just|only|about|around|very)\s)?"
        rf"(?:{_YOUNG}|(?:still\s)?(?:in|at)\s(?:{_SCHOOL}|school)|\d{{1,2}}(?=\W|$)(?!\s(?:{UNIT}|miles|minutes|percent))|(?:{'|'.join(NUMBERS)})(?=[\s,.]))"
        r"(?:\syears?\sold)?",
        _life,
    ),
    rule(
        "as since",
        r"(?:as|since)\san?\s(?:(?:little|small|young)\s)?"
        r"(?:kid|child|boy|girl|baby|teen|teenager|toddler|student)\b",
        _life,
    ),
    rule(
        "in during since throughout",
        r"(?:in|during|since|throughout)\s(?:my|his|her|their|our|your)\s(?:(?:early|mid|late)[\s-])?"
        r"(?:[1-9]0s|teens|twenties|thirties|forties|fifties|sixties|seventies|eighties|youth|childhood|(?:school|college|university|student)\s(?:days|years))\b",
        _life,
    ),
    rule("in during since throughout", rf"(?:in|during|since|throughout)\s{_SCHOOL}\b", _life),
    rule("growing while", r"(?:while\s)?growing\sup(?=,|\sin\b)", _life),
)


_THIRDS = 3  # "the end of" a window is its last third
_ABBREVIATIONS = {"eod": "day", "cob": "day", "eow": "week", "eom": "month", "eoq": "quarter", "eoy": "year"}
_DUE_BEFORE = rf"\b(?:by|before|until|till|(?P<at>at)|around|due|is|eta)(?:{GAP}(?:the|this))?{GAP}$"
_REACH = 16  # characters searched for such a word before a date
_A_DAY_AFTER = rf",?{GAP}(?:on{GAP})?(?:the{GAP})?(?:{WEEKDAY}|{MONTH}|today|tomorrow|\d)"


def _end_of_unit(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "by end of month", "before year-end", "by EOD": the last part of the current unit.

    Without such a preposition it is no date: "at the end of the day" is an idiom, a "year-end report" a kind of report.
    """
    due = pattern(_DUE_BEFORE).search(context.text, max(0, match.start() - _REACH), match.start())
    if due is None or (match["day"] and due["at"]):
        return None
    follows = context.after(match.end()).lower()
    if (follows and follows not in FUNCTION_WORDS) or pattern(_A_DAY_AFTER).match(context.text, match.end()):
        return None  # "by close of business on Friday" is relative to Friday
    unit = (match["unit"] or match["whole"] or _ABBREVIATIONS.get((match["short"] or "").lower(), "day")).lower()
    whole = unit_window(unit, 0, context) if unit in UNITS else day_window(context.day)
    last = max(1, (whole.end_day - whole.first_day) // _THIRDS)
    return replace(whole, start=(whole.end_day - last) * DAY)


def _within(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "within two weeks": from now until then; "within two weeks of the move" is relative to the move."""
    unit, (low, high) = match["unit"].lower(), amount(match["n"])
    if high < 1 or context.after(match.end()).lower() in {"of", "after"} or context.is_past(*match.span()) is True:
        return None
    if unit in _SECONDS:
        end = context.now + _SECONDS[unit] * int(high)
        return Interval(start=context.now, end=end, granularity=Granularity.MOMENT)
    return days(context.day, shift(unit, context.day, int(high)) + 1, Granularity.DAY, certain=low == high)


DUE_RULES: tuple[Rule, ...] = (
    rule(
        "end close month quarter year eod cob eow eom eoq eoy",
        rf"(?:(?:end|close){GAP}of{GAP}(?:(?:the{GAP})?(?P<day>day|business|play|work)|(?P<unit>week|month|quarter|year))"
        rf"|(?P<whole>month|quarter|year)(?:'s{GAP}|{GAP}|-)end|(?P<short>eo[dwmqy]|cob))\b",
        _end_of_unit,
    ),
    rule("within", rf"within{GAP}(?:the{GAP}(?:next{GAP}|coming{GAP})?)?{SPAN}\b", _within),
)
