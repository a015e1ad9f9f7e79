"""Longer times with a name of their own, and the days that have one: last summer, Q3, in 1987, the 90s, Christmas."""

from __future__ import annotations

import re

from recollect.core.dates.almanac import (
    HOLIDAYS,
    SEASON_STARTS,
    Stretch,
    day_window,
    holiday,
    month_of,
    months_window,
    parts,
    season_window,
    weekend_window,
    year_window,
)
from recollect.core.dates.lexicon import (
    COUNTED,
    DECADES,
    FUNCTION_WORDS,
    GAP,
    MOD,
    ORDINALS,
    SEASON,
    TO,
    YEAR_AFTER,
)
from recollect.core.dates.scene import YEAR_WORDS, Rule, Scene, full_year, part_of, rule, year_after
from recollect.core.dates.values import Granularity

_MODS = "this last next past previous coming upcoming"
_EARLIEST_YEAR, _LATEST_YEAR = 1800, 2199  # a bare number outside is an amount
_SEASON_NOUNS = frozenset("roll rolls onion onions water waters mattress cleaning chicken apart".split())
_HOLIDAY_NOUNS = frozenset(
    """tree trees gift gifts card cards carol carols movie movies song songs music light lights decoration decorations
    ornament ornaments cookie cookies sweater sweaters shopping present presents market markets egg eggs bunny costume
    costumes candy candies turkey theme themed spirit story special vibe vibes playlist pudding stocking
    tradition traditions""".split()
)


def _season(match: re.Match[str], scene: Scene) -> Stretch | None:
    name, year, mod = match["season"].lower(), year_after(match, scene), (match["mod"] or "").lower()
    after = scene.after(match.end())
    if after.lower() in _SEASON_NOUNS or scene.text[match.end() : match.end() + 1] in {"-", "'"}:
        return None
    if year is not None:
        # "Winter 2022" is the one that begins in it.
        return season_window(name, year, dated=True)
    if not mod and not _is_season(match, scene, name, after):
        return None
    return season_window(name, _season_year(mod, scene, match, name))


def _season_year(mod: str, scene: Scene, match: re.Match[str], name: str) -> int:
    this = month_of(scene.day)
    begun = (this - SEASON_STARTS[name]) // 12  # the year of the season that began last
    running = this - (12 * begun + SEASON_STARTS[name]) < 3
    if mod in {"last", "previous", "past"} or mod.endswith("past"):
        return begun - 1 if running else begun
    if mod == "next":
        return begun + 1
    if mod == "this":
        if running or scene.leaning(match.start(), match.end()) is True:
            return begun
        return this // 12
    return begun if running or (not mod and scene.looks_back(match)) else begun + 1


def _is_season(match: re.Match[str], scene: Scene, name: str, after: str) -> bool:
    before = scene.before(match.start())
    if before == "the":
        earlier = scene.before(match.start() - 4)
        strong = earlier in {"in", "over", "during", "this", "throughout", "since", "until", "by", "for", "of"}
        certain_noun = name in {"summer", "winter"} or strong
        return certain_noun and (not after or after.lower() in FUNCTION_WORDS - {"of"})
    if part_of(scene, match.start()) or before in {
        "in",
        "since",
        "until",
        "by",
        "during",
        "early",
        "late",
        "mid",
        "mid-",
        "before",
        "after",
    }:
        return not after or after.lower() in FUNCTION_WORDS - {"of"}
    return False


def _quarter(match: re.Match[str], scene: Scene) -> Stretch | None:
    year = year_after(match, scene)
    number = int(match["q"]) if match["q"] else ORDINALS[match["nth"].lower()]
    if match["nth"] and year is None:
        return None  # of a match, mostly
    if year is not None:
        return months_window(12 * year + 3 * (number - 1), 3, Granularity.QUARTER, dated=True)
    this = month_of(scene.day) // 3
    back = (this - (number - 1)) % 4
    chosen = this - back if scene.looks_back(match) else this + (4 - back) % 4
    return months_window(3 * chosen, 3, Granularity.QUARTER)


def _year(match: re.Match[str], scene: Scene) -> Stretch | None:
    year, before, follows = int(match["y"]), scene.before(match.start()), scene.after(match.end()).lower()
    if not _EARLIEST_YEAR <= year <= _LATEST_YEAR or follows in COUNTED:
        return None
    alone = len(scene.text) < 12 and scene.text.strip(" .!?") == match[0]  # the answer to "when?"
    bracketed = scene.text[match.start() - 1 : match.start()] + scene.text[match.end() : match.end() + 1] == "()"
    if before.rstrip("-") in YEAR_WORDS or bracketed or (not before and (follows in {"was", "is"} or alone)):
        return year_window(year, dated=True)
    if (
        before in {"the", "that"}
        and not _titled(scene.text, match.start() - 4)
        and follows
        and follows not in FUNCTION_WORDS
    ):
        return year_window(year, dated=True).vague()  # "the 2019 election"; or a number of things
    return None


def _titled(text: str, start: int) -> bool:
    """Tell whether "The" stands with its capital inside a sentence, as the names of bands do."""
    return text[start] == "T" and text[max(0, start - 3) : start].rstrip()[-1:] not in {"", ".", "!", "?"}


def _short_year(match: re.Match[str], scene: Scene) -> Stretch | None:
    quote = match.start() - 1
    if scene.text[quote : match.start()] != "'" or scene.before(quote) not in YEAR_WORDS:
        return None
    return year_window(full_year(int(match[0])), dated=True)


def _year_range(match: re.Match[str], scene: Scene) -> Stretch | None:
    first, last = int(match["y"]), int(match["y2"])
    if not _EARLIEST_YEAR <= first < last <= _LATEST_YEAR or scene.after(match.end()).lower() in COUNTED:
        return None
    if match["join"].lower().strip() == "and" and not match["from"]:
        return None  # two years
    return months_window(12 * first, 12 * (last - first + 1), Granularity.YEAR, dated=True)


def _named_decade(match: re.Match[str], scene: Scene) -> Stretch | None:
    """Read "the 90s", and "early 90s" without its article; a bare "90s" is as often a temperature or a speed."""
    has_article = match[0][:1] in "tT" or scene.before(match.start()).rstrip("-") in {"early", "late", "mid", "the"}
    return _decade(match, scene) if has_article or len(match["digits"]) == 4 else None


def _decade(match: re.Match[str], scene: Scene) -> Stretch | None:
    written = match["digits"] or ""
    near = scene.text[max(0, match.start() - 40) : match.end() + 12].lower()
    if re.search(r"degree|temperature|high|low|°|fahrenheit|score", near):
        return None
    if len(written) == 4:
        return months_window(12 * int(written), 120, Granularity.DECADE, dated=True)
    tens = int(written) if written else DECADES[match["word"].lower()]
    this = parts(scene.day)[0]
    century = this // 100 * 100
    # The latest decade of that name that has begun: "the 20s" are the 2020s from 2020 on.
    first = century + tens if century + tens <= this else century - 100 + tens
    return months_window(12 * first, 120, Granularity.DECADE, dated=True)


def _holiday(match: re.Match[str], scene: Scene) -> Stretch | None:
    name = " ".join(match["holiday"].lower().split())
    name = "fourth of july" if name.startswith("4th") else name
    if scene.after(match.end()).lower() in _HOLIDAY_NOUNS:
        return None
    year = year_after(match, scene)
    if year is not None:
        day = holiday(name, year)
        found = day_window(day, dated=True) if day else None
    else:
        found = _nearest_holiday(name, (match["mod"] or "").lower(), match, scene)
    return weekend_window(found.first_day) if found and match["weekend"] else found


def _nearest_holiday(name: str, mod: str, match: re.Match[str], scene: Scene) -> Stretch | None:
    year = parts(scene.day)[0]
    dates = [found for step in range(-1, 3) if (found := holiday(name, year + step)) is not None]
    behind = [found for found in dates if found < scene.day]
    ahead = [found for found in dates if found > scene.day]
    if mod in {"last", "previous", "past"} or mod.endswith("past"):
        chosen = behind[-1:]
    elif mod in {"next", "coming", "upcoming"} or mod.endswith("coming"):
        chosen = ahead[:1]
    elif scene.day in dates:
        chosen = [scene.day]
    elif mod == "this" and scene.leaning(match.start(), match.end()) is not True:
        chosen = ahead[:1]
    else:
        chosen = behind[-1:] if scene.looks_back(match) else ahead[:1]
    return day_window(chosen[0]) if chosen else None


_HOLIDAY_NAMES = "|".join(
    re.escape(name).replace(r"\ ", GAP) for name in sorted((*HOLIDAYS, "4th of july"), key=len, reverse=True)
)
_HOLIDAY_HEADS = " ".join(re.split(r"[ '.]", name)[0] for name in HOLIDAYS) + " #"

RULES: tuple[Rule, ...] = (
    rule(f"spring summer autumn fall winter {_MODS}", rf"{MOD}?(?P<season>{SEASON})\b{YEAR_AFTER}", _season),
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
        f"{_HOLIDAY_HEADS} {_MODS}",
        rf"{MOD}?(?P<holiday>{_HOLIDAY_NAMES})(?!\w)(?!'\w)(?P<weekend>{GAP}weekend\b)?{YEAR_AFTER}",
        _holiday,
    ),
)
