"""Days and months with a name or a number of their own: 8 May 2023, May 8th, 4/28, on the 8th, in March."""

from __future__ import annotations

import re

from recollect.core.dates.almanac import (
    Stretch,
    add_months,
    day_window,
    days,
    month_of,
    month_start,
    month_window,
    months_window,
    ordinal,
    parts,
    weekday,
)
from recollect.core.dates.lexicon import (
    AMBIGUOUS_MONTHS,
    COUNTED,
    DAY_NUMBER,
    FUNCTION_WORDS,
    GAP,
    MOD,
    MONTH,
    MONTHS,
    ORDINAL,
    ORDINALS,
    SHORT_MONTHS,
    TO,
    WEEKDAY,
    WEEKDAYS,
    YEAR_AFTER,
    day_number,
    month_number,
    weekday_number,
)
from recollect.core.dates.scene import YEAR_WORDS, Rule, Scene, full_year, part_of, rule, year_after
from recollect.core.dates.values import Granularity

_MODS = "this last next past previous coming upcoming"
_MONTH_HEADS = " ".join(MONTHS)
# Words before a month that make it a time. The weak ones stand before names as often, and need more.
_STRONG = frozenset(
    """in last next this since until till by early late mid during through throughout before after around every each
    past coming previous upcoming end""".split()
)
_DATE_WORDS = frozenset("on by since until till before after from dated around due for of".split())
_NOT_A_NAME = frozenset("i i'm i've i'd i'll we the and but my our".split())


def _dated(year: int, month: int, day: int, last: int | None = None, *, certain: bool = True) -> Stretch | None:
    first = ordinal(year, month, day)
    end = ordinal(year, month, last) if last is not None else first
    if first is None or end is None or end < first:
        return None
    return days(first, end + 1, Granularity.DAY, certain=certain, dated=True)


def _iso(match: re.Match[str], scene: Scene) -> Stretch | None:
    return _dated(int(match["y"]), int(match["m"]), int(match["d"]))


def _iso_month(match: re.Match[str], scene: Scene) -> Stretch | None:
    month = int(match["m"])
    if scene.before(match.start()) not in YEAR_WORDS or not 1 <= month <= 12:
        return None
    return month_window(12 * int(match["y"]) + month - 1, dated=True)


def _slashed(match: re.Match[str], scene: Scene) -> Stretch | None:
    one, two = int(match["a"]), int(match["b"])
    if match["y"] is None:
        return _slashed_without_year(match, scene, one, two)
    if match["sep"] == "." and scene.before(match.start()) not in _DATE_WORDS and not _in_full(match, scene):
        return None  # a version
    year = full_year(int(match["y"]))
    month, day = (two, one) if one > 12 or match["sep"] == "." else (one, two)
    return _dated(year, month, day, certain=match["sep"] == "." or max(one, two) > 12 or one == two)


def _in_full(match: re.Match[str], scene: Scene) -> bool:
    """Tell whether figures with dots are a date whatever word stands before them, as in German: 04.03.2026."""
    padded = len(match["a"]) == len(match["b"]) == 2 and len(match["y"]) == 4
    return padded and 1900 <= int(match["y"]) < 2100 and scene.before(match.start()).lower() not in _NUMBERED


def _slashed_without_year(match: re.Match[str], scene: Scene, one: int, two: int) -> Stretch | None:
    before = scene.before(match.start())
    if match["sep"] == "." or scene.after(match.end()).lower() == "of":
        return None  # 3/4 of it
    if before not in _DATE_WORDS - {"of", "for"} and not (before == "the" and two > 12):
        return None  # 24/7, a score, a share
    month, day = (two, one) if one > 12 else (one, two)
    found = _day_of_year(scene, month, day, back=scene.looks_back(match))
    return found if found is None or two > 12 or one == two else found.vague()


def _day_month(match: re.Match[str], scene: Scene) -> Stretch | None:
    if _is_amount(match, scene):
        return None
    month = month_number(match["month"])
    first = day_number(match["d"])
    last = day_number(match["d2"]) if match["d2"] else None
    groups = match.groupdict()
    lowered = match["month"].lower()
    if (
        lowered in {"may", "march", "mar"}
        and match["month"].islower()
        and not (groups["year"] or match["d"][-1:].isalpha() or scene.before(match.start()) in _DATE_WORDS)
    ):
        return None  # "and may 5 of them", "march 3 abreast"
    year = year_after(match, scene)
    if year is not None:
        return _dated(year, month, first, last)
    back = scene.looks_back(match)
    found = _day_of_year(scene, month, first, last, back=back)
    if match["wd"] and (other := _day_of_year(scene, month, first, last, back=not back)):
        # "Saturday, June 10th": the weekday says which year, whatever the verb says.
        named = weekday_number(match["wd"])
        return (
            other if weekday(other.first_day) == named and (not found or weekday(found.first_day) != named) else found
        )
    return found


def _is_amount(match: re.Match[str], scene: Scene) -> bool:
    return scene.after(match.end()).lower() in COUNTED and match.groupdict()["year"] is None


def _day_of_year(scene: Scene, month: int, day: int, last: int | None = None, *, back: bool) -> Stretch | None:
    """Find the nearest such day behind or ahead; 29 February may be four or eight years away."""
    year = parts(scene.day)[0]
    for step in range(9):
        candidate = ordinal(year - step if back else year + step, month, day)
        if candidate is None or (candidate > scene.day if back else candidate < scene.day):
            continue
        end = candidate + max(0, (last or day) - day)
        return days(candidate, end + 1, Granularity.DAY)
    return None


def _month(match: re.Match[str], scene: Scene) -> Stretch | None:
    name = match["month"].lower().rstrip(".")
    year = year_after(match, scene)
    mod = (match["mod"] or "").lower()
    if year is None and not mod and not _is_month(match, scene, name):
        return None
    if mod and year is None and (scene.text[match.end() : match.end() + 2] == "'s" or _surname(match, scene, name)):
        return None
    number = month_number(name)
    if year is not None:
        return month_window(12 * year + number - 1, dated=True)
    return month_window(_month_by(mod, scene, match, number - 1))


def _month_by(mod: str, scene: Scene, match: re.Match[str], offset: int) -> int:
    """Choose the index of the month: `offset` from January, in the year that the words before it point to."""
    this = month_of(scene.day)
    year = this // 12
    back = (this - offset) % 12
    if mod in {"last", "previous"}:
        return this - (back or 12)
    if mod in {"next", "coming", "upcoming"} or mod.endswith("coming"):
        return this + ((12 - back) % 12 or 12)
    if mod == "this":
        return 12 * year + offset
    return this - back if mod or scene.looks_back(match) else this + (12 - back) % 12


def _is_month(match: re.Match[str], scene: Scene, name: str) -> bool:
    start = match.start()
    before = scene.before(start)
    if start and scene.text[start - 1] == "-":
        before = before.rstrip("-")
    strong = before in _STRONG or part_of(scene, start)
    if name in SHORT_MONTHS:
        return strong and match["month"][0].isupper() and name != "mar"
    if name in AMBIGUOUS_MONTHS:
        if scene.text[match.end() : match.end() + 1] in {"'", "-"} or _surname(match, scene, name):
            return False
        return strong and (match["month"][0].isupper() or before in {"in", "last", "next", "since", "until", "early"})
    return True


def _surname(match: re.Match[str], scene: Scene, name: str) -> bool:
    """Tell whether a capital follows a month that is also a name: by April Jones."""
    after = scene.after(match.end())
    before = scene.before(match.start())
    return (
        name in AMBIGUOUS_MONTHS
        and after[:1].isupper()
        and before not in {"in", "since", "until"}
        and after.lower() not in _NOT_A_NAME
        and after.lower() not in WEEKDAYS
    )


def _month_range(match: re.Match[str], scene: Scene) -> Stretch | None:
    first, last = month_number(match["m1"]) - 1, month_number(match["m2"]) - 1
    year, ending = match["y1"], year_after(match, scene)
    if match["join"].lower().strip() == "and" and not match["from"]:
        return None  # "march and may": two months, or none
    if not (year or ending or match["from"]) and (match["m1"].islower() or match["m2"].islower()):
        return None
    length = (last - first) % 12 + 1
    if ending is not None:
        end = 12 * ending + last
    elif year:
        end = 12 * int(year) + first + length - 1
    else:
        end = _month_by("", scene, match, last)
    start = 12 * int(year) + first if year else end - length + 1
    if start > end:
        return None
    return months_window(start, end - start + 1, Granularity.MONTH, dated=bool(year or ending))


def _day_of_month(match: re.Match[str], scene: Scene) -> Stretch | None:
    follows = scene.after(match.end()).lower()
    before = scene.before(match.start())
    if not (part_of(scene, match.start()) or before in _DATE_WORDS - {"of", "for"} or match["wd"]):
        return None
    if follows and follows not in FUNCTION_WORDS - {"of"}:
        return None  # the 8th floor
    number = day_number(match["d"])
    if not 1 <= number <= 31:
        return None
    if match["rel"]:
        month = month_of(scene.day) + {"last": -1, "this": 0, "next": 1}[match["rel"].lower()]
        found = month_start(month) + number - 1
        return day_window(found) if found < month_start(month + 1) else None
    back = scene.looks_back(match)
    for step in range(12):
        month = month_of(add_months(scene.day - parts(scene.day)[2] + 1, -step if back else step))
        candidate = month_start(month) + number - 1
        if candidate < month_start(month + 1) and (candidate <= scene.day if back else candidate >= scene.day):
            return day_window(candidate)
    return None


_NUMBERED = frozenset("version release build update patch v ver ip".split())  # what has a number with dots

_WEEKDAY_HEADS = " ".join(WEEKDAYS)
_ORDINAL_HEADS = " ".join(word.split("-")[0] for word in ORDINALS)

RULES: tuple[Rule, ...] = (
    rule(
        "#",
        r"(?P<y>\d{4})(?P<s>[-/])(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?(?![-/]?\d)",
        _iso,
    ),
    rule("#", r"(?P<y>[12]\d{3})-(?P<m>\d{2})(?![-/]?\d)", _iso_month),
    rule("#", r"(?P<a>\d{1,2})(?P<sep>[/.])(?P<b>\d{1,2})(?:(?P=sep)(?P<y>\d{4}|\d{2}))?(?![-/.]?\d|%)", _slashed),
    rule(
        f"# the from between {_WEEKDAY_HEADS} {_ORDINAL_HEADS}",
        rf"(?:(?:from|between){GAP})?(?:(?P<wd>{WEEKDAY}),?{GAP})?(?:the{GAP})?(?P<d>{DAY_NUMBER})"
        rf"(?:{TO}(?:the{GAP})?(?P<d2>{DAY_NUMBER}))?"
        rf"{GAP}(?:of{GAP})?(?P<month>{MONTH}){YEAR_AFTER}",
        _day_month,
    ),
    rule(
        f"{_MONTH_HEADS} from between {_WEEKDAY_HEADS}",
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
    rule(f"{_MONTH_HEADS} {_MODS}", rf"{MOD}?(?P<month>{MONTH}){YEAR_AFTER}", _month),
    rule(
        f"the {_WEEKDAY_HEADS}",
        rf"(?:(?P<wd>{WEEKDAY}),?{GAP})?the{GAP}(?P<d>\d{{1,2}}(?:st|nd|rd|th)|{ORDINAL})\b"
        rf"(?:{GAP}(?:of{GAP})?(?P<rel>last|this|next){GAP}month\b|{GAP}of{GAP}the{GAP}month\b)?",
        _day_of_month,
    ),
)
