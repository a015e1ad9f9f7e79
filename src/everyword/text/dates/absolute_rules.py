"""Rules for dates with a name or number: 8 May 2023, 4/28, on the 8th, in March, last summer, Q3, 2019, Easter."""

from __future__ import annotations

import re

from everyword.text.dates.calendar import (
    HOLIDAYS,
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
    weekday,
    weekend_window,
    year_window,
)
from everyword.text.dates.lexicon import (
    AMBIGUOUS_MONTHS,
    COUNTED,
    DAY_NUMBER,
    DECADES,
    FUNCTION_WORDS,
    GAP,
    MOD,
    MOD_HEADS,
    MONTH,
    MONTHS,
    ORDINAL,
    ORDINALS,
    SEASON,
    SHORT_MONTHS,
    TO,
    WEEKDAY,
    WEEKDAY_HEADS,
    WEEKDAYS,
    YEAR_AFTER,
    day_number,
    month_number,
    weekday_number,
)
from everyword.text.dates.tense import YEAR_WORDS, DateContext, Rule, full_year, part_of, rule, year_after

_MONTH_HEADS = " ".join(MONTHS)
# Words before a month that show that it is not a name or verb.
_MONTH_PREPOSITIONS = frozenset(
    """in last next this since until till by early late mid during through throughout before after around every each
    past coming previous upcoming end""".split()
)
_DATE_WORDS = frozenset("on by since until till before after from dated around due for of".split())
_NOT_A_NAME = frozenset("i i'm i've i'd i'll we the and but my our".split())


def _dated(year: int, month: int, day: int, last: int | None = None, *, certain: bool = True) -> Interval | None:
    first = ordinal(year, month, day)
    end = ordinal(year, month, last) if last is not None else first
    if first is None or end is None or end < first:
        return None
    return days(first, end + 1, Granularity.DAY, certain=certain, dated=True)


def _iso(match: re.Match[str], context: DateContext) -> Interval | None:
    return _dated(int(match["y"]), int(match["m"]), int(match["d"]))


def _iso_month(match: re.Match[str], context: DateContext) -> Interval | None:
    month = int(match["m"])
    if context.before(match.start()) not in YEAR_WORDS or not 1 <= month <= 12:
        return None
    return month_window(12 * int(match["y"]) + month - 1, dated=True)


def _slashed(match: re.Match[str], context: DateContext) -> Interval | None:
    one, two = int(match["a"]), int(match["b"])
    if match["y"] is None:
        return _slashed_without_year(match, context, one, two)
    if match["sep"] == "." and context.before(match.start()) not in _DATE_WORDS and not _is_full_date(match, context):
        return None  # a version number
    year = full_year(int(match["y"]))
    month, day = (two, one) if one > 12 or match["sep"] == "." else (one, two)
    return _dated(year, month, day, certain=match["sep"] == "." or max(one, two) > 12 or one == two)


def _is_full_date(match: re.Match[str], context: DateContext) -> bool:
    """Return whether numbers with dots are a date without a date word before them, as in German: 04.03.2026."""
    padded = len(match["a"]) == len(match["b"]) == 2 and len(match["y"]) == 4
    return padded and 1900 <= int(match["y"]) < 2100 and context.before(match.start()).lower() not in _VERSION_WORDS


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
    possessive = context.text[match.end() : match.end() + 2] == "'s"
    if mod and year is None and (possessive or _is_first_name(match, context, name)):
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
    strong = before in _MONTH_PREPOSITIONS or part_of(context, start)
    if name in SHORT_MONTHS:
        return strong and match["month"][0].isupper() and name != "mar"
    if name in AMBIGUOUS_MONTHS:
        if context.text[match.end() : match.end() + 1] in {"'", "-"} or _is_first_name(match, context, name):
            return False
        return strong and (match["month"][0].isupper() or before in {"in", "last", "next", "since", "until", "early"})
    return True


def _is_first_name(match: re.Match[str], context: DateContext, name: str) -> bool:
    """Return whether a month is a first name with a surname after it: by April Jones."""
    after = context.after(match.end())
    before = context.before(match.start())
    return (
        name in AMBIGUOUS_MONTHS
        and after[:1].isupper()
        and before not in {"in", "since", "until"}
        and after.lower() not in _NOT_A_NAME
        and after.lower() not in WEEKDAYS
    )


def _month_range(match: re.Match[str], context: DateContext) -> Interval | None:
    first, last = month_number(match["m1"]) - 1, month_number(match["m2"]) - 1
    year, ending = match["y1"], year_after(match, context)
    if match["join"].lower().strip() == "and" and not match["from"]:
        return None  # "march and may": two months, or verbs
    if not (year or ending or match["from"]) and (match["m1"].islower() or match["m2"].islower()):
        return None
    length = (last - first) % 12 + 1
    if ending is not None:
        end = 12 * ending + last
    elif year:
        end = 12 * int(year) + first + length - 1
    else:
        end = _month_by("", context, match, last)
    start = 12 * int(year) + first if year else end - length + 1
    if start > end:
        return None
    return months_window(start, end - start + 1, Granularity.MONTH, dated=bool(year or ending))


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


_VERSION_WORDS = frozenset("version release build update patch v ver ip".split())  # words before a number with dots

_ORDINAL_HEADS = " ".join(word.split("-")[0] for word in ORDINALS)

CALENDAR_RULES: tuple[Rule, ...] = (
    rule(
        "#",
        r"(?P<y>\d{4})(?P<s>[-/])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?(?![-/]?\d)",
        _iso,
    ),
    rule("#", r"(?P<y>[12]\d{3})-(?P<m>\d{2})(?![-/]?\d)", _iso_month),
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
    rule(
        f"{_MONTH_HEADS} from between",
        rf"(?P<from>(?:from|between){GAP})?(?P<m1>{MONTH})(?:{GAP}(?P<y1>\d{{4}}))?(?P<join>{TO})(?P<m2>{MONTH})"
        rf"(?!{GAP}\d{{1,2}}\b){YEAR_AFTER}",
        _month_range,
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
_SEASON_NOUNS = frozenset("roll rolls onion onions water waters mattress cleaning chicken apart".split())
_HOLIDAY_NOUNS = frozenset(
    """tree trees gift gifts card cards carol carols movie movies song songs music light lights decoration decorations
    ornament ornaments cookie cookies sweater sweaters shopping present presents market markets egg eggs bunny costume
    costumes candy candies turkey theme themed spirit story special vibe vibes playlist pudding stocking
    tradition traditions""".split()
)


def _season(match: re.Match[str], context: DateContext) -> Interval | None:
    name, year, mod = match["season"].lower(), year_after(match, context), (match["mod"] or "").lower()
    after = context.after(match.end())
    if after.lower() in _SEASON_NOUNS or context.text[match.end() : match.end() + 1] in {"-", "'"}:
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
    if (
        before in {"the", "that"}
        and not _is_title(context.text, match.start() - 4)
        and follows
        and follows not in FUNCTION_WORDS
    ):
        return year_window(year, dated=True).vague()  # "the 2019 election", or an amount
    return None


def _is_title(text: str, start: int) -> bool:
    """Return whether "The" is capitalised inside a sentence, as in the name of a band."""
    return text[start] == "T" and text[max(0, start - 3) : start].rstrip()[-1:] not in {"", ".", "!", "?"}


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


def _named_decade(match: re.Match[str], context: DateContext) -> Interval | None:
    """Resolve "the 90s" and "early 90s"; a bare "90s" is as often a temperature or a speed."""
    has_article = match[0][:1] in "tT" or context.before(match.start()).rstrip("-") in {"early", "late", "mid", "the"}
    return _decade(match, context) if has_article or len(match["digits"]) == 4 else None


def _decade(match: re.Match[str], context: DateContext) -> Interval | None:
    written = match["digits"] or ""
    near = context.text[max(0, match.start() - 40) : match.end() + 12].lower()
    if re.search(r"degree|temperature|high|low|°|fahrenheit|score", near):
        return None
    if len(written) == 4:
        return months_window(12 * int(written), 120, Granularity.DECADE, dated=True)
    tens = int(written) if written else DECADES[match["word"].lower()]
    this = parts(context.day)[0]
    century = this // 100 * 100
    # The latest such decade that has begun: "the 20s" are the 2020s from 2020 on.
    first = century + tens if century + tens <= this else century - 100 + tens
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

PERIOD_RULES: tuple[Rule, ...] = (
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
    rule("the #", r"(?:the )?'?(?P<digits>(?:(?:1[89]|20)\d0)|[1-9]0)'?s\b", _named_decade),
    rule("the", rf"the{GAP}(?P<word>{'|'.join(DECADES)})\b(?P<digits>)", _decade),
    rule(
        f"{_HOLIDAY_HEADS} {MOD_HEADS}",
        rf"{MOD}?(?P<holiday>{_HOLIDAY_NAMES})(?!\w)(?!'\w)(?P<weekend>{GAP}weekend\b)?{YEAR_AFTER}",
        _holiday,
    ),
)
