"""Rules for dates: 8 May 2023, 4/28, on the 8th, in March, last summer, Easter, yesterday, two months ago; habits."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

from everyword.text.dates.calendar import (
    DAY,
    HOLIDAYS,
    HOUR,
    MINUTE,
    SEASON_STARTS,
    Granularity,
    Interval,
    add_months,
    day_window,
    days,
    holiday,
    month_of,
    month_start,
    month_window,
    months_window,
    ordinal,
    parts,
    season_window,
    week_window,
    weekday,
    weekend_window,
    year_window,
)
from everyword.text.dates.lexicon import (
    AMBIGUOUS_MONTHS,
    AMOUNT,
    COUNTED,
    DAY_NUMBER,
    DAY_PART,
    DECADES,
    FUNCTION_WORDS,
    GAP,
    MOD,
    MOD_HEADS,
    MONTH,
    MONTHS,
    NUMBERS,
    ORDINAL,
    ORDINALS,
    SEASON,
    SHORT_MONTHS,
    SHORT_WEEKDAYS,
    TO,
    UNIT,
    WEEKDAY,
    WEEKDAY_HEADS,
    WEEKDAYS,
    YEAR_AFTER,
    amount,
    day_number,
    month_number,
    pattern,
    weekday_number,
)
from everyword.text.dates.tense import YEAR_WORDS, DateContext, Rule, full_year, part_of, rule, year_after

_MONTH_HEADS = " ".join(MONTHS)
# Words before a month that show that it is not a name or verb.
_MONTH_PREPOSITIONS = frozenset(
    """in last next this since until till by early late mid during through throughout before after around every each
    past coming previous upcoming end between""".split()
)
_TO_MONTH = rf"(?:{GAP}\d{{4}})?(?:\s?[-–—]\s?|{GAP}(?:to|until|till|through){GAP})"  # between two months
_RANGE_REACH = 32  # characters searched for the first of them
_DATE_WORDS = frozenset("on by since until till before after from dated around due for of".split())


def _dated(year: int, month: int, day: int, last: int | None = None, *, certain: bool = True) -> Interval | None:
    first = ordinal(year, month, day)
    end = ordinal(year, month, last) if last is not None else first
    if first is None or end is None or end < first:
        return None
    return days(first, end + 1, Granularity.DAY, certain=certain, dated=True)


def _iso(match: re.Match[str], context: DateContext) -> Interval | None:
    return _dated(int(match["y"]), int(match["m"]), int(match["d"]))


def _slashed(match: re.Match[str], context: DateContext) -> Interval | None:
    one, two = int(match["a"]), int(match["b"])
    if match["y"] is None:
        return _slashed_without_year(match, context, one, two)
    if match["sep"] == "." and context.before(match.start()) not in _DATE_WORDS and not _is_full_date(match, context):
        return None  # a version number
    year = full_year(int(match["y"]))
    month, day = (two, one) if one > 12 or match["sep"] == "." else (one, two)
    return _dated(year, month, day, certain=match["sep"] == "." or max(one, two) > 12 or one == two)


_VERSION_WORDS = frozenset("version release build update patch v ver ip".split())  # words before a number with dots


def _is_full_date(match: re.Match[str], context: DateContext) -> bool:
    """Return whether numbers with dots are a date without a date word before them, as in German: 04.03.2026."""
    padded = len(match["a"]) == len(match["b"]) == 2 and len(match["y"]) == 4
    return padded and 1900 <= int(match["y"]) < 2100 and context.before(match.start()) not in _VERSION_WORDS


def _slashed_without_year(match: re.Match[str], context: DateContext, one: int, two: int) -> Interval | None:
    before = context.before(match.start())
    if match["sep"] == "." or context.after(match.end()).lower() == "of":
        return None  # 3/4 of it
    if before not in _DATE_WORDS - {"of", "for"} and not (before == "the" and two > 12):
        return None  # 24/7, a score, a share
    month, day = (two, one) if one > 12 else (one, two)
    found = _day_of_year(context, month, day, back=context.looks_back(match))
    return found if found is None or two > 12 or one == two else found.vague()


def _day_month(match: re.Match[str], context: DateContext) -> Interval | None:
    if _is_amount(match, context):
        return None
    month = month_number(match["month"])
    first = day_number(match["d"])
    last = day_number(match["d2"]) if match["d2"] else None
    groups = match.groupdict()
    lowered = match["month"].lower()
    if (
        lowered in {"may", "march", "mar"}
        and match["month"].islower()
        and not (groups["year"] or match["d"][-1:].isalpha() or context.before(match.start()) in _DATE_WORDS)
    ):
        return None  # "and may 5 of them", "march 3 abreast"
    year = year_after(match, context)
    if year is not None:
        return _dated(year, month, first, last)
    back = context.looks_back(match)
    found = _day_of_year(context, month, first, last, back=back)
    if match["wd"] and (other := _day_of_year(context, month, first, last, back=not back)):
        # "Saturday, June 10th": the weekday decides the year, before the verb.
        named = weekday_number(match["wd"])
        return (
            other if weekday(other.first_day) == named and (not found or weekday(found.first_day) != named) else found
        )
    return found


def _is_amount(match: re.Match[str], context: DateContext) -> bool:
    return context.after(match.end()).lower() in COUNTED and match.groupdict()["year"] is None


def _day_of_year(context: DateContext, month: int, day: int, last: int | None = None, *, back: bool) -> Interval | None:
    """Find the nearest such day in the past or future; 29 February may be four or eight years away."""
    year = parts(context.day)[0]
    for step in range(9):
        candidate = ordinal(year - step if back else year + step, month, day)
        if candidate is None or (candidate > context.day if back else candidate < context.day):
            continue
        end = candidate + max(0, (last or day) - day)
        return days(candidate, end + 1, Granularity.DAY)
    return None


def _month(match: re.Match[str], context: DateContext) -> Interval | None:
    name = match["month"].lower().rstrip(".")
    year = year_after(match, context)
    mod = (match["mod"] or "").lower()
    if year is None and not mod and not _is_month(match, context, name):
        return None
    if mod and year is None and context.text[match.end() : match.end() + 2] == "'s":
        return None
    number = month_number(name)
    if year is not None:
        return month_window(12 * year + number - 1, dated=True)
    return month_window(_month_by(mod, context, match, number - 1))


def _month_by(mod: str, context: DateContext, match: re.Match[str], offset: int) -> int:
    """Return the index of the month `offset` months after January, in the year that its modifier implies."""
    this = month_of(context.day)
    year = this // 12
    back = (this - offset) % 12
    if mod in {"last", "previous"}:
        return this - (back or 12)
    if mod in {"next", "coming", "upcoming"} or mod.endswith("coming"):
        return this + ((12 - back) % 12 or 12)
    if mod == "this":
        return 12 * year + offset
    return this - back if mod or context.looks_back(match) else this + (12 - back) % 12


def _is_month(match: re.Match[str], context: DateContext, name: str) -> bool:
    start = match.start()
    before = context.before(start)
    if start and context.text[start - 1] == "-":
        before = before.rstrip("-")
    strong = before in _MONTH_PREPOSITIONS or part_of(context, start) or _is_in_range(match, context)
    if name in SHORT_MONTHS:
        return strong and match["month"][0].isupper() and name != "mar"
    if name in AMBIGUOUS_MONTHS:
        if context.text[match.end() : match.end() + 1] in {"'", "-"}:
            return False
        return strong and (match["month"][0].isupper() or before in {"in", "last", "next", "since", "until", "early"})
    return True


def _is_in_range(match: re.Match[str], context: DateContext) -> bool:
    """Return whether another month follows or precedes, as in "March to May" and "between March and May"."""
    follows = pattern(rf"{_TO_MONTH}{MONTH}").match(context.text, match.end())
    before = context.text[: match.start()][-_RANGE_REACH:]
    return bool(follows or pattern(rf"(?:{MONTH}{_TO_MONTH}|between{GAP}{MONTH}{GAP}and{GAP})$").search(before))


def _day_of_month(match: re.Match[str], context: DateContext) -> Interval | None:
    follows = context.after(match.end()).lower()
    before = context.before(match.start())
    if not (part_of(context, match.start()) or before in _DATE_WORDS - {"of", "for"} or match["wd"]):
        return None
    if follows and follows not in FUNCTION_WORDS - {"of"}:
        return None  # the 8th floor
    number = day_number(match["d"])
    if not 1 <= number <= 31:
        return None
    if match["rel"]:
        month = month_of(context.day) + {"last": -1, "this": 0, "next": 1}[match["rel"].lower()]
        found = month_start(month) + number - 1
        return day_window(found) if found < month_start(month + 1) else None
    back = context.looks_back(match)
    for step in range(12):
        month = month_of(add_months(context.day - parts(context.day)[2] + 1, -step if back else step))
        candidate = month_start(month) + number - 1
        if candidate < month_start(month + 1) and (candidate <= context.day if back else candidate >= context.day):
            return day_window(candidate)
    return None


_ORDINAL_HEADS = " ".join(word.split("-")[0] for word in ORDINALS)

_CALENDAR_RULES: tuple[Rule, ...] = (
    rule(
        "#",
        r"(?P<y>\d{4})(?P<s>[-/])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?(?![-/]?\d)",
        _iso,
    ),
    rule("#", r"(?P<a>\d{1,2})(?P<sep>[/.])(?P<b>\d{1,2})(?:(?P=sep)(?P<y>\d{4}|\d{2}))?(?![-/.]?\d|%)", _slashed),
    rule(
        f"# the from between {WEEKDAY_HEADS} {_ORDINAL_HEADS}",
        rf"(?:(?:from|between){GAP})?(?:(?P<wd>{WEEKDAY}),?{GAP})?(?:the{GAP})?(?P<d>{DAY_NUMBER})"
        rf"(?:{TO}(?:the{GAP})?(?P<d2>{DAY_NUMBER}))?"
        rf"{GAP}(?:of{GAP})?(?P<month>{MONTH}){YEAR_AFTER}",
        _day_month,
    ),
    rule(
        f"{_MONTH_HEADS} from between {WEEKDAY_HEADS}",
        rf"(?:(?:from|between){GAP})?(?:(?P<wd>{WEEKDAY}),?{GAP})?(?P<month>{MONTH}){GAP}(?:the{GAP})?(?P<d>{DAY_NUMBER})(?![:%]|\.\d)"
        rf"(?:{TO}(?:the{GAP})?(?P<d2>{DAY_NUMBER})(?![:%]|\.\d|{GAP}{MONTH}))?{YEAR_AFTER}",
        _day_month,
    ),
    rule(f"{_MONTH_HEADS} {MOD_HEADS}", rf"{MOD}?(?P<month>{MONTH}){YEAR_AFTER}", _month),
    rule(
        f"the {WEEKDAY_HEADS}",
        rf"(?:(?P<wd>{WEEKDAY}),?{GAP})?the{GAP}(?P<d>\d{{1,2}}(?:st|nd|rd|th)|{ORDINAL})\b"
        rf"(?:{GAP}(?:of{GAP})?(?P<rel>last|this|next){GAP}month\b|{GAP}of{GAP}the{GAP}month\b)?",
        _day_of_month,
    ),
)


_EARLIEST_YEAR, _LATEST_YEAR = 1800, 2199  # other numbers are amounts
_SEASON_PREPOSITIONS = frozenset("in since until by during early late mid mid- before after".split())
_HOLIDAY_NOUNS = frozenset(
    """tree trees gift gifts card cards carol carols movie movies song songs music light lights decoration decorations
    ornament ornaments cookie cookies sweater sweaters shopping present presents market markets egg eggs bunny costume
    costumes candy candies turkey theme themed spirit story special vibe vibes playlist pudding stocking
    tradition traditions""".split()
)


def _season(match: re.Match[str], context: DateContext) -> Interval | None:
    name, year, mod = match["season"].lower(), year_after(match, context), (match["mod"] or "").lower()
    after = context.after(match.end())
    if context.text[match.end() : match.end() + 1] in {"-", "'"}:
        return None
    if year is not None:
        return season_window(name, year, dated=True)
    if not mod and not _is_season(match, context, name, after):
        return None
    return season_window(name, _season_year(mod, context, match, name))


def _season_year(mod: str, context: DateContext, match: re.Match[str], name: str) -> int:
    this = month_of(context.day)
    begun = (this - SEASON_STARTS[name]) // 12  # the year in which the latest such season began
    running = this - (12 * begun + SEASON_STARTS[name]) < 3
    if mod in {"last", "previous", "past"} or mod.endswith("past"):
        return begun - 1 if running else begun
    if mod == "next":
        return begun + 1
    if mod == "this":
        if running or context.is_past(match.start(), match.end()) is True:
            return begun
        return this // 12
    return begun if running or (not mod and context.looks_back(match)) else begun + 1


def _is_season(match: re.Match[str], context: DateContext, name: str, after: str) -> bool:
    before = context.before(match.start())
    if before == "the":
        earlier = context.before(match.start() - 4)
        strong = earlier in {"in", "over", "during", "this", "throughout", "since", "until", "by", "for", "of"}
        certain_noun = name in {"summer", "winter"} or strong
        return certain_noun and (not after or after.lower() in FUNCTION_WORDS - {"of"})
    stated = part_of(context, match.start()) or before in _SEASON_PREPOSITIONS
    return stated and (not after or after.lower() in FUNCTION_WORDS - {"of"})


def _quarter(match: re.Match[str], context: DateContext) -> Interval | None:
    year = year_after(match, context)
    number = int(match["q"]) if match["q"] else ORDINALS[match["nth"].lower()]
    if match["nth"] and year is None:
        return None  # usually of a match
    if year is not None:
        return months_window(12 * year + 3 * (number - 1), 3, Granularity.QUARTER, dated=True)
    this = month_of(context.day) // 3
    back = (this - (number - 1)) % 4
    chosen = this - back if context.looks_back(match) else this + (4 - back) % 4
    return months_window(3 * chosen, 3, Granularity.QUARTER)


def _year(match: re.Match[str], context: DateContext) -> Interval | None:
    year, before, follows = int(match["y"]), context.before(match.start()), context.after(match.end()).lower()
    if not _EARLIEST_YEAR <= year <= _LATEST_YEAR or follows in COUNTED:
        return None
    alone = len(context.text) < 12 and context.text.strip(" .!?") == match[0]  # the answer to "when?"
    bracketed = context.text[match.start() - 1 : match.start()] + context.text[match.end() : match.end() + 1] == "()"
    if before.rstrip("-") in YEAR_WORDS or bracketed or (not before and (follows in {"was", "is"} or alone)):
        return year_window(year, dated=True)
    if before in {"the", "that"} and follows and follows not in FUNCTION_WORDS:
        return year_window(year, dated=True).vague()  # "the 2019 election", or an amount
    return None


def _short_year(match: re.Match[str], context: DateContext) -> Interval | None:
    quote = match.start() - 1
    if context.text[quote : match.start()] != "'" or context.before(quote) not in YEAR_WORDS:
        return None
    return year_window(full_year(int(match[0])), dated=True)


def _year_range(match: re.Match[str], context: DateContext) -> Interval | None:
    first, last = int(match["y"]), int(match["y2"])
    if not _EARLIEST_YEAR <= first < last <= _LATEST_YEAR or context.after(match.end()).lower() in COUNTED:
        return None
    if match["join"].lower().strip() == "and" and not match["from"]:
        return None  # two years
    return months_window(12 * first, 12 * (last - first + 1), Granularity.YEAR, dated=True)


def _decade(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "the 90s", "the nineties" and "early 90s"; a bare "90s" is as often a temperature or a speed."""
    written = match["digits"] or str(DECADES[match["word"].lower()])
    if len(written) == 4:
        return months_window(12 * int(written), 120, Granularity.DECADE, dated=True)
    near = context.text[max(0, match.start() - 40) : match.end() + 12].lower()
    has_article = match[0][:1] in "tT" or context.before(match.start()).rstrip("-") in {"early", "late", "mid", "the"}
    if not has_article or re.search(r"degree|temperature|high|low|°|fahrenheit|score", near):
        return None
    this = parts(context.day)[0]
    century = this // 100 * 100
    # The latest such decade that has begun: "the 20s" are the 2020s from 2020 on.
    first = century + int(written) if century + int(written) <= this else century - 100 + int(written)
    return months_window(12 * first, 120, Granularity.DECADE, dated=True)


def _holiday(match: re.Match[str], context: DateContext) -> Interval | None:
    name = " ".join(match["holiday"].lower().split())
    name = "fourth of july" if name.startswith("4th") else name
    if context.after(match.end()).lower() in _HOLIDAY_NOUNS:
        return None
    year = year_after(match, context)
    if year is not None:
        day = holiday(name, year)
        found = day_window(day, dated=True) if day else None
    else:
        found = _nearest_holiday(name, (match["mod"] or "").lower(), match, context)
    return weekend_window(found.first_day) if found and match["weekend"] else found


def _nearest_holiday(name: str, mod: str, match: re.Match[str], context: DateContext) -> Interval | None:
    year = parts(context.day)[0]
    dates = [found for step in range(-1, 3) if (found := holiday(name, year + step)) is not None]
    behind = [found for found in dates if found < context.day]
    ahead = [found for found in dates if found > context.day]
    if mod in {"last", "previous", "past"} or mod.endswith("past"):
        chosen = behind[-1:]
    elif mod in {"next", "coming", "upcoming"} or mod.endswith("coming"):
        chosen = ahead[:1]
    elif context.day in dates:
        chosen = [context.day]
    elif mod == "this" and context.is_past(match.start(), match.end()) is not True:
        chosen = ahead[:1]
    else:
        chosen = behind[-1:] if context.looks_back(match) else ahead[:1]
    return day_window(chosen[0]) if chosen else None


_HOLIDAY_NAMES = "|".join(
    re.escape(name).replace(r"\ ", GAP) for name in sorted((*HOLIDAYS, "4th of july"), key=len, reverse=True)
)
_HOLIDAY_HEADS = " ".join(re.split(r"[ '.]", name)[0] for name in HOLIDAYS) + " #"

_PERIOD_RULES: tuple[Rule, ...] = (
    rule(f"spring summer autumn fall winter {MOD_HEADS}", rf"{MOD}?(?P<season>{SEASON})\b{YEAR_AFTER}", _season),
    rule(
        "q the first second third fourth",
        rf"(?:q(?P<q>[1-4])|(?:the{GAP})?(?P<nth>first|second|third|fourth){GAP}quarter)\b{YEAR_AFTER}",
        _quarter,
    ),
    rule("#", r"(?P<y>[12]\d{3})(?![-/.,]\d|%|s)", _year),
    rule("#", r"\d\d(?!\w)", _short_year),
    rule(
        "# from between",
        rf"(?P<from>(?:from|between){GAP})?(?P<y>[12]\d{{3}})(?P<join>{TO})(?P<y2>[12]\d{{3}})(?![-/.,]\d|%|s)",
        _year_range,
    ),
    rule(
        "the #", rf"(?:the )?'?(?:(?P<digits>(?:(?:1[89]|20)\d0)|[1-9]0)'?s|(?P<word>{'|'.join(DECADES)}))\b", _decade
    ),
    rule(
        f"{_HOLIDAY_HEADS} {MOD_HEADS}",
        rf"{MOD}?(?P<holiday>{_HOLIDAY_NAMES})(?!\w)(?!'\w)(?P<weekend>{GAP}weekend\b)?{YEAR_AFTER}",
        _holiday,
    ),
)


# Days that vague words reach back.
_VAGUE_DAYS = {"recently": 30, "lately": 30, "the other": 10}
_A_WHILE = 365  # "a while ago"
_ROUND_ABOUT = 1  # units by which "about two weeks ago" may be off
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
_DUE_WORDS = frozenset("by before until till at around due is the this".split())
_PART_BEFORE = (
    rf"\b(?:end|start|beginning|middle|(?:first|last|1st|second|2nd|third|3rd|fourth|4th){GAP}"
    rf"(?:day|week|weekend|half|month|{WEEKDAY})){GAP}of{GAP}$|\b(?:later|earlier){GAP}in{GAP}$"
)


def _named_day(match: re.Match[str], context: DateContext) -> Interval | None:
    back = {"yesterday": -1, "tomorrow": 1, "last": -1}
    return day_window(context.day + back.get(match[0].lower().split()[0], 0))


def _weekday(match: re.Match[str], context: DateContext) -> Interval | None:
    name = match["wd"].lower().rstrip(".")
    mod = " ".join((match["mod"] or "").lower().split())
    if name in SHORT_WEEKDAYS and not (match["wd"][0].isupper() and (mod or _has_day_preposition(match, context))):
        return None
    if context.after(match.end()).lower() in {"school", "best", "roast"}:
        return None
    which = weekday_number(name)
    back, ahead = (weekday(context.day) - which) % 7, (which - weekday(context.day)) % 7
    monday = context.day - weekday(context.day)
    if match["week"]:
        return day_window(monday + which + 7 * {"last": -1, "this": 0, "next": 1}[match["week"].lower()])
    if match["turn"]:
        return day_window(context.day + ((ahead or 7) + 7 if match["turn"][0] in "aA" else -(back or 7) - 7))
    if mod in {"last", "past", "previous", "this past"}:
        return day_window(context.day - (back or 7))
    if mod == "next":
        # The nearest, or the one of next week: if these differ, take next week's, as uncertain.
        return day_window(monday + 7 + which, certain=monday + 7 + which == context.day + (ahead or 7))
    if mod == "this":
        past = context.is_past(match.start(), match.end()) is True
        return day_window(context.day - back if past else context.day + ahead)
    if mod in {"coming", "upcoming", "this coming"} or not context.looks_back(match):
        return day_window(context.day + (ahead or 7))
    return day_window(context.day - (back or 7))


def _has_day_preposition(match: re.Match[str], context: DateContext) -> bool:
    return context.before(match.start()) in {"on", "until", "till", "by", "since", "every", "each"}


def _unit(match: re.Match[str], context: DateContext) -> Interval | None:
    turn, mod = (match["turn"] or "").lower(), " ".join((match["mod"] or "").lower().split())
    step = {"b": -2, "a": 2}[turn[0]] if turn else {"last": -1, "this": 0, "next": 1}.get(mod)
    if step is None or context.after(match.end()).lower() == "of":
        return None
    return unit_window((match["unit"] or match["other"]).lower(), step, context)


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


def _whole_unit(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "the month" in "the last Friday of the month" and "by end of month"; alone it is no date."""
    if pattern(_PART_BEFORE).search(context.text, max(0, match.start() - 32), match.start()) is None:
        return None
    return unit_window(match["unit"].lower(), 0, context)


def _unit_end(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "by month end": the last third of the unit; a "year-end report" is a kind of report."""
    follows = context.after(match.end()).lower()
    if context.before(match.start()) not in _DUE_WORDS or (follows and follows not in FUNCTION_WORDS):
        return None
    whole = unit_window(match["unit"].lower(), 0, context)
    return replace(whole, start=(whole.end_day - (whole.end_day - whole.first_day) // 3) * DAY)


def _ago(match: re.Match[str], context: DateContext) -> Interval | None:
    low, high, vague = _amounts(match)
    if match["approx"] and low > 1:
        low -= _ROUND_ABOUT
    high += _ROUND_ABOUT if match["approx"] else 0
    if match["exact"] and low == high >= 1:
        return day_window(shift(match["unit"].lower(), context.day, -int(low)))
    return _shifted(match["unit"].lower(), low, high, context, back=True, vague=vague)


def _ahead(match: re.Match[str], context: DateContext) -> Interval | None:
    low, high, vague = _amounts(match)
    return _shifted(match["unit"].lower(), low, high, context, back=False, vague=vague)


def _amounts(match: re.Match[str]) -> tuple[float, float, bool]:
    """Read a span of time: its minimum, its maximum, and whether it is vague."""
    low, high = amount(match["n"])
    if match["n2"]:
        other = amount(match["n2"])
        low, high = min(low, other[0]), max(high, other[1])
    if match["half"]:
        low, high = low + 0.5, high + 0.5
    return low, high, low != high or bool(match["n2"] or match["approx"])


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


def _rolling(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "the past three weeks": some units up to now, or from now on."""
    unit, side, whose = match["unit"].lower(), match["side"].lower(), (match["whose"] or "").lower()
    if not match["n"] and (unit not in UNITS or side == "previous" or (whose != "the" and side != "past")):
        return None  # "the next day" is relative to another event
    if context.after(match.end()).lower() == "of":
        return None  # "the last week of March" is relative to March
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


def _vaguely_ago(match: re.Match[str], context: DateContext) -> Interval | None:
    words, unit = " ".join(match[0].lower().split()), match["unit"]
    if unit and unit.lower() in UNITS:
        return _shifted(unit.lower(), 1, 3, context, back=True, vague=True)
    back = next((days for start, days in _VAGUE_DAYS.items() if words.startswith(start)), None)
    if back is None:
        return days(context.day - _A_WHILE, context.day, Granularity.YEAR, certain=False)
    granularity = Granularity.DAY if unit else Granularity.MONTH
    return days(context.day - back, context.day + 1, granularity, certain=False)


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


def _within(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "within two weeks": from now until then; "within two weeks of the move" is relative to the move."""
    unit, (low, high) = match["unit"].lower(), amount(match["n"])
    if high < 1 or context.after(match.end()).lower() in {"of", "after"} or context.is_past(*match.span()) is True:
        return None
    if unit in _SECONDS:
        end = context.now + _SECONDS[unit] * int(high)
        return Interval(start=context.now, end=end, granularity=Granularity.MOMENT)
    return days(context.day, shift(unit, context.day, int(high)) + 1, Granularity.DAY, certain=low == high)


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
_ANY_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"

_RELATIVE_RULES: tuple[Rule, ...] = (
    rule(
        "today tonight yesterday tomorrow last this earlier later just",
        rf"(?:(?:today|tonight|yesterday|tomorrow)\b{DAY_PART}|last{GAP}(?:night|evening)"
        rf"|this{GAP}(?:morning|afternoon|evening)|(?:earlier|later){GAP}today|just{GAP}now)\b",
        _named_day,
    ),
    rule(
        f"{WEEKDAY_HEADS} {MOD_HEADS} the",
        rf"(?:{MOD}|the{GAP}(?=\w+{GAP}(?:before{GAP}last|after{GAP}next)\b))?(?P<wd>{WEEKDAY})"
        rf"(?:{_TURN}|(?:{GAP}(?:of{GAP})?(?P<week>last|this|next){GAP}week\b))?{DAY_PART}",
        _weekday,
    ),
    rule(
        "last this next the",
        rf"(?:{MOD}(?P<unit>week|month|year|quarter|decade)\b|the{GAP}(?P<other>week|month|year|quarter){_TURN})",
        _unit,
    ),
    rule(f"the weekend {MOD_HEADS}", rf"(?:{MOD}|the{GAP})?weekend\b{_TURN}?", _weekend),
    rule(
        "the this week month quarter year decade",
        rf"(?:(?:the|this){GAP})?(?P<unit>week|month|quarter|year|decade)\b",
        _whole_unit,
    ),
    rule("month quarter year", rf"(?P<unit>month|quarter|year)(?:'s{GAP}|{GAP}|-)end\b", _unit_end),
    rule(f"{_AMOUNT_HEADS} {_APPROX_HEADS}", rf"{_APPROX}{SPAN}{GAP}(?:ago|back)\b(?P<exact>{GAP}today\b)?", _ago),
    rule(f"{_AMOUNT_HEADS} {_APPROX_HEADS}", rf"{_APPROX}{SPAN}{GAP}(?:from{GAP}(?:now|today)|hence)\b", _ahead),
    rule("in", rf"in{GAP}{_APPROX}{SPAN}(?:'?{GAP}time)?\b", _in_units),
    rule(
        "the these this last past next coming previous",
        rf"(?:(?P<whose>the|these|this){GAP})?(?P<side>last|past|next|coming|previous){GAP}"
        rf"(?:(?P<n>{AMOUNT}){GAP})?(?P<unit>{UNIT})s?\b",
        _rolling,
    ),
    rule(
        "recently lately the a quite some",
        rf"(?:recently|lately|the{GAP}other{GAP}(?P<unit>day|night|morning|evening|week|weekend|month)"
        rf"|(?:quite{GAP})?(?:a|some)(?:{GAP}(?:little|long|good))?{GAP}(?:while|time){GAP}(?:ago|back))\b",
        _vaguely_ago,
    ),
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
    rule("within", rf"within{GAP}(?:the{GAP}(?:next{GAP}|coming{GAP})?)?{SPAN}\b", _within),
)


def _by_head(rules: tuple[Rule, ...]) -> dict[str, tuple[Rule, ...]]:
    heads: dict[str, list[Rule]] = defaultdict(list)
    for one in rules:
        for head in one.heads:
            heads[head].append(one)
    return {head: tuple(found) for head, found in heads.items()}


RULES_BY_HEAD = _by_head((*_CALENDAR_RULES, *_PERIOD_RULES, *_RELATIVE_RULES))
