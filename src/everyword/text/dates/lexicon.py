"""Words for dates and numbers, and the pattern pieces made of them.

Patterns are matched at a given place only, without regard to case and over ASCII; every repetition in them is bounded,
so that a text costs no more than its length.
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
# Months that are also a verb, a modal or a first name: they need a word or a number beside them that makes them a time.
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
DECADES = {
    "twenties": 20,
    "thirties": 30,
    "forties": 40,
    "fifties": 50,
    "sixties": 60,
    "seventies": 70,
    "eighties": 80,
    "nineties": 90,
}
# A pattern for words that state an amount.
NUMBER_WORD = (
    "(?:" + "|".join(_ONES) + "|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    "|hundred|thousand|million|half|dozen)"
)
# How many a vague amount may be: fewest and most. People say "a few" for three, and for two and for six.
VAGUE_AMOUNTS = {"couple": (2, 3), "few": (2, 6), "several": (3, 8), "many": (5, 20)}

# Words after a number that make it an amount, not a year or a day.
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
DAY_PART = rf"(?:{GAP}(?:morning|afternoon|evening|night)\b)?"
TO = rf"(?:\s?[-–—]\s?|{GAP}(?:to|until|till|through|and){GAP})"


@cache
def pattern(source: str) -> re.Pattern[str]:
    """Compile a pattern on first use: all of them take a tenth of a second."""
    return re.compile(source, re.IGNORECASE | re.ASCII)


def month_number(name: str) -> int:
    """Read a month's name, as long or short as it was written."""
    return MONTHS[name.lower().rstrip(".")]


def weekday_number(name: str) -> int:
    """Read a weekday's name; Monday is 0."""
    return WEEKDAYS[name.lower().rstrip(".")]


def day_number(written: str) -> int:
    """Read the number of a day of the month: 8, 8th, eighth."""
    lowered = written.lower()
    return ORDINALS[lowered] if lowered in ORDINALS else int(lowered.rstrip("stndrh"))


def amount(written: str) -> tuple[float, float]:
    """Read an amount as its fewest and most."""
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
