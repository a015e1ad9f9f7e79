"""Words for dates and numbers, and parts of patterns built from them.

Patterns are matched at a given position, ignore case, and treat only ASCII as letters. Every repetition is bounded, so
that matching takes linear time.
"""

from __future__ import annotations

import re
from functools import cache

MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,september sept sep,october oct,"
        "november nov,december dec".split(","),
        start=1,
    )
    for name in names.split()
}
# Months that are also a verb, a modal or a first name: they need a preposition or a number beside them.
AMBIGUOUS_MONTHS = frozenset("march april may june august".split())
SHORT_MONTHS = frozenset(name for name in MONTHS if len(name) <= 4 and name not in {"may", "june", "july"})

WEEKDAYS = {
    name: number
    for number, names in enumerate(
        "monday mon,tuesday tues tue,wednesday wed,thursday thurs thur thu,friday fri,saturday sat,sunday sun".split(
            ","
        )
    )
    for name in names.split()
}
WEEKDAY_HEADS = " ".join(WEEKDAYS)
SHORT_WEEKDAYS = frozenset(name for name in WEEKDAYS if not name.endswith("day"))

_ONES = "one two three four five six seven eight nine ten eleven twelve".split()
NUMBERS = {word: number for number, word in enumerate(_ONES, start=1)} | {
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "eighteen": 18,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "a dozen": 12,
}
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
