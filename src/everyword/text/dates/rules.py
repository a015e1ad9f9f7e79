"""Rules for dates: 8 May 2023, 4/28, on the 8th, in March, last summer, Easter, yesterday, two months ago; habits."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache

from msgspec.structs import replace

from everyword.text.dates.calendar import (
    DAY,
    HOLIDAYS,
    HOUR,
    MINUTE,
    MONTHS_IN,
    SEASON_STARTS,
    Granularity,
    Interval,
    add_months,
    days,
    holiday,
    month_of,
    month_start,
    months_window,
    ordinal,
    parts,
    weekday,
    window,
)
from everyword.text.dates.tense import YEAR_WORDS, DateContext, Rule, full_year, part_of, year_after

# Words for dates and numbers, and parts of patterns built from them. Patterns are matched at a given position, ignore
# case, and treat only ASCII as letters. Every repetition is bounded, so that matching takes linear time.

_MONTHS = (
    "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,september sept sep,october oct,"
    "november nov,december dec"
)
MONTHS = {name: number for number, names in enumerate(_MONTHS.split(","), 1) for name in names.split()}
# Months that are also a verb, a modal or a first name: they need a preposition or a number beside them.
AMBIGUOUS_MONTHS = frozenset("march april may june august".split())
SHORT_MONTHS = frozenset(name for name in MONTHS if len(name) <= 4 and name not in {"may", "june", "july"})

_WEEKDAYS = "monday mon,tuesday tues tue,wednesday wed,thursday thurs thur thu,friday fri,saturday sat,sunday sun"
WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAYS.split(",")) for name in names.split()}
WEEKDAY_HEADS = " ".join(WEEKDAYS)
SHORT_WEEKDAYS = frozenset(name for name in WEEKDAYS if not name.endswith("day"))

_ONES = "one two three four five six seven eight nine ten eleven twelve".split()
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_TEENS = {"thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "eighteen": 18}
NUMBERS = {word: number for number, word in enumerate(_ONES, start=1)} | _TEENS | _TENS | {"a dozen": 12}
_FIRST_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
ORDINALS = (
    {word: number for number, word in enumerate(_FIRST_ORDINALS, start=1)}
    | {f"twenty-{word}": 20 + number for number, word in enumerate(_FIRST_ORDINALS[:9], start=1)}
    | {"thirtieth": 30, "thirty-first": 31}
)
_DECADES = "twenties thirties forties fifties sixties seventies eighties nineties".split()
DECADES = {word: 10 * number for number, word in enumerate(_DECADES, start=2)}
# A pattern for number words.
NUMBER_WORD = (
    "(?:" + "|".join(_ONES) + "|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    "|hundred|thousand|million|half|dozen)"
)
# The minimum and maximum of vague amounts. People say "a few" for anything from two to six.
VAGUE_AMOUNTS = {"couple": (2, 3), "few": (2, 6), "several": (3, 8), "many": (5, 20)}

# Words after a number that show that it is an amount, not a year or a day.
COUNTED = frozenset(
    """people dollars euros pounds bucks cents percent miles kilometers kilometres km meters metres feet steps
    words pages calories points votes units items copies guests students users followers subscribers members
    employees years months weeks days hours minutes seconds times kg lbs mb gb others more degrees reps laps
    men women kids children""".split()
)
# Words that can follow "on the 8th" or "the summer"; any other makes it an adjective: the 8th floor, the summer camp.
FUNCTION_WORDS = frozenset(
    """a an the and or but so at in on for of to with from by because since when where while if as after before until
    till i i'm i'll i've we we're we'll we've you you're he he's she she's they they're it it's is was were are will
    would had has have did do does that this my our your his her their its not just then too also there with about
    though although which who""".split()
)

GAP = r"\s{1,3}"
# The full stop belongs to the abbreviation only if the date continues.
MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b(?:\.(?=\s?\d))?"
WEEKDAY = "(?:" + "|".join(sorted(WEEKDAYS, key=len, reverse=True)) + r")\b(?:\.(?=,?\s?\d))?"
SEASON = "(?:spring|summer|autumn|fall|winter)"
UNIT = "(?:second|minute|min|hour|day|night|week|fortnight|weekend|month|year|decade)"
AMOUNT = (
    r"(?:\d{1,4}(?:\.5)?|half" + GAP + r"an?|an?" + GAP + r"(?:half|dozen|couple(?:" + GAP + r"of)?|few)|an?|"
    r"couple(?:" + GAP + r"of)?|few|several|many|" + "|".join(NUMBERS) + r")\b"
)
ORDINAL = "(?:" + "|".join(sorted(ORDINALS, key=len, reverse=True)) + ")"
DAY_NUMBER = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?|{ORDINAL})\b"
YEAR_AFTER = rf"(?:,?{GAP}(?:of{GAP}|in{GAP})?(?:(?P<year>[12]\d{{3}}|'\d\d)\b|(?P<ryear>last|this|next){GAP}year\b))?"
MOD = rf"(?:(?P<mod>this{GAP}past|this{GAP}coming|this|last|next|past|previous|coming|upcoming){GAP})"
MOD_HEADS = "this last next past previous coming upcoming"  # the first words of MOD
DAY_PART = rf"(?:{GAP}(?:morning|afternoon|evening|night)\b)?"
TO = rf"(?:\s?[-–—]\s?|{GAP}(?:to|until|till|through|and){GAP})"


@cache
def pattern(source: str) -> re.Pattern[str]:
    """Compile a pattern on first use: compiling all takes a tenth of a second."""
    return re.compile(source, re.IGNORECASE | re.ASCII)


def month_number(name: str) -> int:
    return MONTHS[name.lower().rstrip(".")]


def weekday_number(name: str) -> int:
    """Return the number of a weekday by its name; Monday is 0."""
    return WEEKDAYS[name.lower().rstrip(".")]


def day_number(written: str) -> int:
    """Parse a day of the month: 8, 8th, eighth."""
    lowered = written.lower()
    return ORDINALS[lowered] if lowered in ORDINALS else int(lowered.rstrip("stndrh"))


def amount(written: str) -> tuple[float, float]:
    """Parse an amount as its minimum and maximum."""
    lowered = " ".join(written.lower().split())
    if lowered[0].isdigit():
        return float(lowered), float(lowered)
    for word, span in VAGUE_AMOUNTS.items():
        if word in lowered:
            return span
    if "half" in lowered:
        return 0.5, 0.5
    number = NUMBERS.get(lowered, 1)
    return number, number


_MODS = {"past": "last", "previous": "last", "this past": "last", "upcoming": "coming", "this coming": "coming"}
_STEPS = {"last": -1, "this": 0, "next": 1}
_DAYS_OF_WEEK = 7  # what comes every week is ahead
_LEAP_YEARS = 8  # from one 29 February to the next, around 1900


def _mod(match: re.Match[str]) -> str:
    """Return the word before a date: last, this, next or coming."""
    mod = " ".join((match["mod"] or "").lower().split())
    return _MODS.get(mod, mod)


def _choose(
    windows: Iterable[Interval], match: re.Match[str], context: DateContext, mod: str = "", back: bool | None = None
) -> Interval | None:
    """Choose among windows in order of time: the last one before now, the running one, or the next one."""
    behind = running = ahead = None
    for one in windows:
        if one.end_day <= context.day:
            behind = one
        elif one.first_day <= context.day:
            running = one
        else:
            ahead = one
            break
    if mod in {"next", "coming"}:
        return ahead
    if mod == "last":
        return behind
    if running is not None:
        return running
    if mod == "this":
        past = context.is_past(*match.span())
        if past is None and behind and behind.end_day <= context.day - _DAYS_OF_WEEK:
            past = parts(behind.first_day)[0] == parts(context.day)[0]  # "this March", said in June
        return behind if past else ahead
    return behind if (context.looks_back(match) if back is None else back) else ahead


# Days back that a date without a year may lie, where no verb says that it is past: of 1,084 days and months in our own
# labelled conversations that would lie farther back, 8 do. A past verb may only tell of an appointment: "I booked it
# for 20 October". Of 46 that would lie farther back behind such a word, none does.
_LONGEST_BACK = 150
OF_AN_APPOINTMENT = frozenset("for to from by until till before".split())


def is_long_ago(interval: Interval, context: DateContext) -> bool:
    """Tell whether a date without a year can hardly be meant, since its next time is so much nearer."""
    return context.day - interval.end_day > _LONGEST_BACK


def _yearly(
    of_year: Callable[[int], Interval | None],
    match: re.Match[str],
    context: DateContext,
    mod: str = "",
    back: bool | None = None,
    reach: int = 2,
) -> Interval | None:
    """Choose the year of something that comes every year. reach: years in which it is certain to come."""
    this = parts(context.day)[0]
    found = [one for one in map(of_year, range(this - reach, this + reach + 1)) if one is not None]
    chosen = _choose(found, match, context, mod, back)
    if chosen is None or back is not None or mod or context.past or not is_long_ago(chosen, context):
        return chosen
    if context.before(match.start()) not in OF_AN_APPOINTMENT and context.is_past(*match.span()):
        return chosen
    return next((one for one in found if one.first_day > context.day), chosen)


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


_VERSION_WORDS = frozenset("version release build update patch v ver ip".split())  # words before a number with dots


def _slashed(match: re.Match[str], context: DateContext) -> Interval | None:
    one, two, dots = int(match["a"]), int(match["b"]), match["sep"] == "."
    month, day = (two, one) if one > 12 or dots else (one, two)
    before = context.before(match.start())
    if match["y"] is None:
        stated = before in _DATE_WORDS - {"of", "for"} or (before == "the" and two > 12)
        if dots or not stated or context.after(match.end()).lower() == "of":
            return None  # 24/7, a score, a share, 3/4 of it
        found = _day_of_year(month, day, day, match, context)
        return found if found is None or two > 12 or one == two else found.vague()
    if dots and before not in _DATE_WORDS:
        # In full, as in German, a date needs no word before it: 04.03.2026. Others are versions.
        full = len(match["a"]) == len(match["b"]) == 2 and 1900 <= int(match["y"]) < 2100
        if not full or before in _VERSION_WORDS:
            return None
    return _dated(full_year(int(match["y"])), month, day, certain=dots or max(one, two) > 12 or one == two)


def _day_month(match: re.Match[str], context: DateContext) -> Interval | None:
    lowered, year = match["month"].lower(), year_after(match, context)
    first = day_number(match["d"])
    last = day_number(match["d2"]) if match["d2"] else first
    if match["year"] is None:
        if context.after(match.end()).lower() in COUNTED:
            return None
        stated = match["d"][-1:].isalpha() or context.before(match.start()) in _DATE_WORDS
        if match["month"].islower() and lowered in {"may", "march", "mar"} and not stated:
            return None  # "and may 5 of them", "march 3 abreast"
    month = month_number(lowered)
    if year is not None:
        return _dated(year, month, first, last)
    found = _day_of_year(month, first, last, match, context)
    if match["wd"] and (found is None or weekday(found.first_day) != weekday_number(match["wd"])):
        # "Saturday, June 10th": the weekday decides the year, before the verb.
        other = _day_of_year(month, first, last, match, context, back=found is None or found.first_day > context.day)
        return other if other and weekday(other.first_day) == weekday_number(match["wd"]) else found
    return found


def _day_of_year(
    month: int, first: int, last: int, match: re.Match[str], context: DateContext, back: bool | None = None
) -> Interval | None:
    def of_year(year: int) -> Interval | None:
        day = ordinal(year, month, first)
        return None if day is None else days(day, day + 1 + max(0, last - first), Granularity.DAY)

    reach = _LEAP_YEARS if (month, first) == (2, 29) else 2
    return _yearly(of_year, match, context, back=back, reach=reach)


def _month(match: re.Match[str], context: DateContext) -> Interval | None:
    name, year, mod = match["month"].lower().rstrip("."), year_after(match, context), _mod(match)
    if year is None and not mod and not _is_month(match, context, name):
        return None
    if mod and year is None and context.text[match.end() : match.end() + 2] == "'s":
        return None

    def of_year(year: int) -> Interval:
        return months_window(12 * year + month_number(name) - 1, 1, Granularity.MONTH)

    return replace(of_year(year), dated=True) if year is not None else _yearly(of_year, match, context, mod)


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
    number, this = day_number(match["d"]), month_of(context.day)

    def in_month(month: int) -> Interval | None:
        day = month_start(month) + number - 1
        return window("day", day) if number and day < month_start(month + 1) else None

    if match["rel"]:
        return in_month(this + _STEPS[match["rel"].lower()])
    near = map(in_month, range(this - 2, this + 3))
    return _choose((one for one in near if one), match, context)


_ORDINAL_HEADS = " ".join(word.split("-")[0] for word in ORDINALS)

_CALENDAR_RULES: tuple[Rule, ...] = (
    Rule(
        "#", r"(?P<y>\d{4})(?P<s>[-/])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?(?![-/]?\d)", _iso
    ),
    Rule("#", r"(?P<a>\d{1,2})(?P<sep>[/.])(?P<b>\d{1,2})(?:(?P=sep)(?P<y>\d{4}|\d{2}))?(?![-/.]?\d|%)", _slashed),
    Rule(
        f"# the from between {WEEKDAY_HEADS} {_ORDINAL_HEADS}",
        rf"(?:(?:from|between){GAP})?(?:(?P<wd>{WEEKDAY}),?{GAP})?(?:the{GAP})?(?P<d>{DAY_NUMBER})"
        rf"(?:{TO}(?:the{GAP})?(?P<d2>{DAY_NUMBER}))?"
        rf"{GAP}(?:of{GAP})?(?P<month>{MONTH}){YEAR_AFTER}",
        _day_month,
    ),
    Rule(
        f"{_MONTH_HEADS} from between {WEEKDAY_HEADS}",
        rf"(?:(?:from|between){GAP})?(?:(?P<wd>{WEEKDAY}),?{GAP})?(?P<month>{MONTH}){GAP}(?:the{GAP})?(?P<d>{DAY_NUMBER})(?![:%]|\.\d)"
        rf"(?:{TO}(?:the{GAP})?(?P<d2>{DAY_NUMBER})(?![:%]|\.\d|{GAP}{MONTH}))?{YEAR_AFTER}",
        _day_month,
    ),
    Rule(f"{_MONTH_HEADS} {MOD_HEADS}", rf"{MOD}?(?P<month>{MONTH}){YEAR_AFTER}", _month),
    Rule(
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
    name, year, mod = match["season"].lower(), year_after(match, context), _mod(match)

    def of_year(year: int) -> Interval:
        return months_window(12 * year + SEASON_STARTS[name], 3, Granularity.SEASON)

    if context.text[match.end() : match.end() + 1] in {"-", "'"}:
        return None
    if year is not None:
        return replace(of_year(year), dated=True)
    return _yearly(of_year, match, context, mod) if mod or _is_season(match, context, name) else None


def _is_season(match: re.Match[str], context: DateContext, name: str) -> bool:
    before = context.before(match.start())
    after = context.after(match.end()).lower()
    if after and after not in FUNCTION_WORDS - {"of"}:
        return False
    if before == "the":
        earlier = context.before(match.start() - 4)
        strong = earlier in {"in", "over", "during", "this", "throughout", "since", "until", "by", "for", "of"}
        return name in {"summer", "winter"} or strong
    return part_of(context, match.start()) or before in _SEASON_PREPOSITIONS


def _quarter(match: re.Match[str], context: DateContext) -> Interval | None:
    year = year_after(match, context)
    number = int(match["q"]) if match["q"] else ORDINALS[match["nth"].lower()]

    def of_year(year: int) -> Interval:
        return months_window(12 * year + 3 * (number - 1), 3, Granularity.QUARTER)

    if year is not None:
        return replace(of_year(year), dated=True)
    return None if match["nth"] else _yearly(of_year, match, context)  # "the third quarter" is usually of a match


def _whole_year(year: int) -> Interval:
    return months_window(12 * year, 12, Granularity.YEAR, dated=True)


def _year(match: re.Match[str], context: DateContext) -> Interval | None:
    year, before, follows = int(match["y"]), context.before(match.start()), context.after(match.end()).lower()
    if not _EARLIEST_YEAR <= year <= _LATEST_YEAR or follows in COUNTED:
        return None
    alone = len(context.text) < 12 and context.text.strip(" .!?") == match[0]  # the answer to "when?"
    bracketed = context.text[match.start() - 1 : match.start()] + context.text[match.end() : match.end() + 1] == "()"
    if before.rstrip("-") in YEAR_WORDS or bracketed or (not before and (follows in {"was", "is"} or alone)):
        return _whole_year(year)
    if before in {"the", "that"} and follows and follows not in FUNCTION_WORDS:
        return _whole_year(year).vague()  # "the 2019 election", or an amount
    return None


def _short_year(match: re.Match[str], context: DateContext) -> Interval | None:
    quote = match.start() - 1
    if context.text[quote : match.start()] != "'" or context.before(quote) not in YEAR_WORDS:
        return None
    return _whole_year(full_year(int(match[0])))


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
    if context.after(match.end()).lower() in _HOLIDAY_NOUNS:
        return None

    def of_year(year: int) -> Interval | None:
        day = holiday("fourth of july" if name.startswith("4th") else name, year)
        return None if day is None else days(day, day + 1, Granularity.DAY)

    year = year_after(match, context)
    found = _yearly(of_year, match, context, _mod(match)) if year is None else of_year(year)
    if found and match["weekend"]:
        return window("weekend", found.first_day)
    return found and replace(found, dated=year is not None)


_HOLIDAY_NAMES = "|".join(
    re.escape(name).replace(r"\ ", GAP) for name in sorted((*HOLIDAYS, "4th of july"), key=len, reverse=True)
)
_HOLIDAY_HEADS = " ".join(re.split(r"[ '.]", name)[0] for name in HOLIDAYS) + " #"

_PERIOD_RULES: tuple[Rule, ...] = (
    Rule(f"spring summer autumn fall winter {MOD_HEADS}", rf"{MOD}?(?P<season>{SEASON})\b{YEAR_AFTER}", _season),
    Rule(
        "q the first second third fourth",
        rf"(?:q(?P<q>[1-4])|(?:the{GAP})?(?P<nth>first|second|third|fourth){GAP}quarter)\b{YEAR_AFTER}",
        _quarter,
    ),
    Rule("#", r"(?P<y>[12]\d{3})(?![-/.,]\d|%|s)", _year),
    Rule("#", r"\d\d(?!\w)", _short_year),
    Rule(
        "# from between",
        rf"(?P<from>(?:from|between){GAP})?(?P<y>[12]\d{{3}})(?P<join>{TO})(?P<y2>[12]\d{{3}})(?![-/.,]\d|%|s)",
        _year_range,
    ),
    Rule(
        "the #", rf"(?:the )?'?(?:(?P<digits>(?:(?:1[89]|20)\d0)|[1-9]0)'?s|(?P<word>{'|'.join(DECADES)}))\b", _decade
    ),
    Rule(
        f"{_HOLIDAY_HEADS} {MOD_HEADS}",
        rf"{MOD}?(?P<holiday>{_HOLIDAY_NAMES})(?!\w)(?!'\w)(?P<weekend>{GAP}weekend\b)?{YEAR_AFTER}",
        _holiday,
    ),
)


# Days that vague words reach back.
_VAGUE_DAYS = {"recently": 30, "lately": 30, "the other": 10}
_A_WHILE = 365  # "a while ago"
_ROUND_ABOUT = 1  # units by which "about two weeks ago" may be off
UNITS = {unit: Granularity(unit) for unit in "week month year weekend quarter decade".split()}
_SECONDS = {"second": 1, "minute": MINUTE, "hour": HOUR}
# A half is counted in the smaller unit: its name and number.
_SMALLER = {
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
    step = {"yesterday": -1, "tomorrow": 1, "last": -1}.get(match[0].lower().split()[0], 0)
    return window("day", context.day + step)


def _weekday(match: re.Match[str], context: DateContext) -> Interval | None:
    mod, which = _mod(match), weekday_number(match["wd"])
    if match["wd"].lower().rstrip(".") in SHORT_WEEKDAYS and not (
        match["wd"][0].isupper()
        and (mod or context.before(match.start()) in {"on", "until", "till", "by", "since", "every", "each"})
    ):
        return None
    if context.after(match.end()).lower() in {"school", "best", "roast"}:
        return None
    # The nearest before and after today, and that of this week.
    this_week = context.day - weekday(context.day) + which
    behind = this_week if this_week < context.day else this_week - 7
    ahead = this_week if this_week > context.day else this_week + 7
    if match["week"]:
        return window("day", this_week + 7 * _STEPS[match["week"].lower()])
    if match["turn"]:
        return window("day", ahead + 7 if match["turn"][0] in "aA" else behind - 7)
    if mod == "next":
        # The nearest, or the one of next week: if these differ, take next week's, as uncertain.
        return replace(window("day", this_week + 7), certain=this_week + 7 == ahead)
    today = [context.day] if mod == "this" and this_week == context.day else []
    return _choose((window("day", day) for day in (behind, *today, ahead)), match, context, mod)


def _unit(match: re.Match[str], context: DateContext) -> Interval | None:
    turn = (match["turn"] or "").lower()
    step = {"b": -2, "a": 2}[turn[0]] if turn else _STEPS.get(" ".join((match["mod"] or "").lower().split()))
    if step is None or context.after(match.end()).lower() == "of":
        return None
    return window((match["unit"] or match["other"]).lower(), context.day, step)


def _weekend(match: re.Match[str], context: DateContext) -> Interval | None:
    mod, turn = _mod(match), (match["turn"] or "").lower()
    if not mod and context.before(match.start()) in {"of", "a", "per"}:
        return None
    step = -2 if turn.startswith("b") else 2 if turn else 1 if mod == "next" else None
    if step is not None:
        return window("weekend", context.day, step)
    return _choose((window("weekend", context.day, step) for step in (-1, 0, 1)), match, context, mod)


def _whole_unit(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "the month" in "the last Friday of the month" and "by end of month"; alone it is no date."""
    stated = pattern(_PART_BEFORE).search(context.text, max(0, match.start() - 32), match.start())
    return window(match["unit"].lower(), context.day) if stated else None


def _unit_end(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "by month end": the last third of the unit; a "year-end report" is a kind of report."""
    follows = context.after(match.end()).lower()
    if context.before(match.start()) not in _DUE_WORDS or (follows and follows not in FUNCTION_WORDS):
        return None
    whole = window(match["unit"].lower(), context.day)
    return replace(whole, start=(whole.end_day - (whole.end_day - whole.first_day) // 3) * DAY)


def _ago(match: re.Match[str], context: DateContext) -> Interval | None:
    low, high, vague = _amounts(match)
    if match["approx"]:
        low, high = low - _ROUND_ABOUT * (low > 1), high + _ROUND_ABOUT
    if match["exact"] and low == high >= 1:
        return window("day", shift(match["unit"].lower(), context.day, -int(low)))
    return _shifted(match["unit"].lower(), -low, -high, context, vague=vague)


def _ahead(match: re.Match[str], context: DateContext) -> Interval | None:
    low, high, vague = _amounts(match)
    return _shifted(match["unit"].lower(), low, high, context, vague=vague)


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


def _shifted(unit: str, near: float, far: float, context: DateContext, *, vague: bool) -> Interval | None:
    """Move the anchor by some units; the window is as wide as the unit, or as the uncertainty."""
    if near % 1 or far % 1:
        smaller, factor = _SMALLER.get(unit, (unit, 1))
        slack = (1 if smaller == "month" else 3) * (-1 if far < 0 else 1)
        unit, near, far, vague = smaller, near * factor - slack, far * factor + slack, True
    one, other = _unit_at(unit, int(near), context), _unit_at(unit, int(far), context)
    start, end = min(one.start, other.start), max(one.end, other.end)
    if start == one.start and end == one.end and not vague:
        return one
    return replace(one, start=start, end=end, certain=not vague)


def _unit_at(unit: str, count: int, context: DateContext) -> Interval:
    if seconds := _SECONDS.get(unit):
        start = context.now + count * seconds
        return Interval(start=start, end=start + max(seconds, MINUTE), granularity=Granularity.MOMENT)
    if unit == "fortnight":
        return window("week", context.day, 2 * count)
    if unit == "decade":  # centred on the year
        first = 12 * (parts(context.day)[0] + 10 * count - 5)
        return replace(months_window(first, 120, Granularity.DECADE), certain=False)
    return window(unit, context.day, count)


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
    if months := MONTHS_IN.get(unit):
        return add_months(day, count * months)
    return day + count * {"week": 7, "fortnight": 14, "weekend": 7}.get(unit, 1)


def _vaguely_ago(match: re.Match[str], context: DateContext) -> Interval | None:
    words, unit = " ".join(match[0].lower().split()), match["unit"]
    if unit and unit.lower() in UNITS:
        return _shifted(unit.lower(), -1, -3, context, vague=True)
    back = next((days for start, days in _VAGUE_DAYS.items() if words.startswith(start)), None)
    if back is None:
        return days(context.day - _A_WHILE, context.day, Granularity.YEAR, certain=False)
    granularity = Granularity.DAY if unit else Granularity.MONTH
    return days(context.day - back, context.day + 1, granularity, certain=False)


def _habit(match: re.Match[str], context: DateContext) -> Interval | None:
    words = match[0].lower()
    if match["plural"] and context.before(match.start()) in {"last", "next", "this", "two", "few"}:
        return None
    if match["adverb"] and not match[0].islower():
        return None  # a newspaper
    granularity = next((found for name, found in UNITS.items() if name in words), Granularity.DAY)
    return replace(window("day", context.day), granularity=granularity, repeats=True, certain=False)


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
    Rule(
        "today tonight yesterday tomorrow last this earlier later just",
        rf"(?:(?:today|tonight|yesterday|tomorrow)\b{DAY_PART}|last{GAP}(?:night|evening)"
        rf"|this{GAP}(?:morning|afternoon|evening)|(?:earlier|later){GAP}today|just{GAP}now)\b",
        _named_day,
    ),
    Rule(
        f"{WEEKDAY_HEADS} {MOD_HEADS} the",
        rf"(?:{MOD}|the{GAP}(?=\w+{GAP}(?:before{GAP}last|after{GAP}next)\b))?(?P<wd>{WEEKDAY})"
        rf"(?:{_TURN}|(?:{GAP}(?:of{GAP})?(?P<week>last|this|next){GAP}week\b))?{DAY_PART}",
        _weekday,
    ),
    Rule(
        "last this next the",
        rf"(?:{MOD}(?P<unit>week|month|year|quarter|decade)\b|the{GAP}(?P<other>week|month|year|quarter){_TURN})",
        _unit,
    ),
    Rule(f"the weekend {MOD_HEADS}", rf"(?:{MOD}|the{GAP})?weekend\b{_TURN}?", _weekend),
    Rule(
        "the this week month quarter year decade",
        rf"(?:(?:the|this){GAP})?(?P<unit>week|month|quarter|year|decade)\b",
        _whole_unit,
    ),
    Rule("month quarter year", rf"(?P<unit>month|quarter|year)(?:'s{GAP}|{GAP}|-)end\b", _unit_end),
    Rule(f"{_AMOUNT_HEADS} {_APPROX_HEADS}", rf"{_APPROX}{SPAN}{GAP}(?:ago|back)\b(?P<exact>{GAP}today\b)?", _ago),
    Rule(f"{_AMOUNT_HEADS} {_APPROX_HEADS}", rf"{_APPROX}{SPAN}{GAP}(?:from{GAP}(?:now|today)|hence)\b", _ahead),
    Rule("in", rf"in{GAP}{_APPROX}{SPAN}(?:'?{GAP}time)?\b", _in_units),
    Rule(
        "the these this last past next coming previous",
        rf"(?:(?P<whose>the|these|this){GAP})?(?P<side>last|past|next|coming|previous){GAP}"
        rf"(?:(?P<n>{AMOUNT}){GAP})?(?P<unit>{UNIT})s?\b",
        _rolling,
    ),
    Rule(
        "recently lately the a quite some",
        rf"(?:recently|lately|the{GAP}other{GAP}(?P<unit>day|night|morning|evening|week|weekend|month)"
        rf"|(?:quite{GAP})?(?:a|some)(?:{GAP}(?:little|long|good))?{GAP}(?:while|time){GAP}(?:ago|back))\b",
        _vaguely_ago,
    ),
    Rule(
        f"every each once twice {_AMOUNT_HEADS} weekends weekdays {WEEKDAY_HEADS} "
        + " ".join(f"{name}s" for name in WEEKDAYS)
        + " daily weekly monthly yearly annually quarterly biweekly nightly",
        rf"(?:(?:every|each){GAP}(?:(?:other|single|few|couple{GAP}of|{AMOUNT}|{ORDINAL}){GAP})?"
        rf"(?:{UNIT}|{WEEKDAY}|{MONTH}|{SEASON}|morning|afternoon|evening|christmas|thanksgiving|easter|halloween)s?"
        rf"{DAY_PART}|(?P<plural>{_ANY_WEEKDAY}(?:s|s?{GAP}(?:morning|afternoon|evening|night)s)|weekends|weekdays)"
        r"|(?P<adverb>daily|(?:bi)?weekly|monthly|yearly|annually|quarterly|nightly)"
        rf"|(?:once|twice|{AMOUNT}{GAP}(?:times|days|nights|hours)){GAP}(?:an?|per|each|every){GAP}"
        r"(?:day|night|week|weekend|month|year|quarter))\b",
        _habit,
    ),
    Rule("within", rf"within{GAP}(?:the{GAP}(?:next{GAP}|coming{GAP})?)?{SPAN}\b", _within),
)


def _by_head(rules: tuple[Rule, ...]) -> dict[str, tuple[Rule, ...]]:
    heads: dict[str, list[Rule]] = defaultdict(list)
    for one in rules:
        for head in one.heads.split():
            heads[head].append(one)
    return {head: tuple(found) for head, found in heads.items()}


RULES_BY_HEAD = _by_head((*_CALENDAR_RULES, *_PERIOD_RULES, *_RELATIVE_RULES))
