"""Fill the slots of a template: `{city}` is a word of the list `city`, `{city2}` another one of the same list."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
SPRING, AUTUMN = ("January", "February", "March", "April", "May", "June"), ("July", "August", "September", "October")
MONTHS = (*SPRING, *AUTUMN, "November", "December")
BLOOD_GROUPS = ("A positive", "A negative", "B positive", "B negative", "AB positive", "AB negative", "O negative")
# Letters and digits that nobody confuses when reading a code aloud.
CODE_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"

# Closed classes: days, numbers and codes have no words that could be held back; both sets share them.
CLOSED: Mapping[str, Callable[[random.Random], str]] = {
    "n": lambda rng: str(rng.randint(2, 9)),
    "few": lambda rng: str(rng.randint(2, 4)),
    "teen": lambda rng: str(rng.randint(10, 19)),
    "big": lambda rng: str(rng.randint(21, 199) * 5),
    "percent": lambda rng: f"{rng.randint(3, 19) * 5 - rng.randint(0, 4)}%",
    "money": lambda rng: f"${rng.randint(12, 148) * 10}",
    "price": lambda rng: f"${rng.randint(21, 189) * 100:,}",
    "salary": lambda rng: f"${rng.randint(38, 129) * 1000:,}",
    "code": lambda rng: f"{rng.choice(CODE_LETTERS)}{rng.randint(2, 9)}-{rng.randint(1000, 9999)}",
    "version": lambda rng: f"{rng.randint(1, 9)}.{rng.randint(0, 29)}",
    "date": lambda rng: f"{rng.randint(1, 28)} {rng.choice(MONTHS)}",
    "weekday": lambda rng: rng.choice(WEEKDAYS),
    "month": lambda rng: rng.choice(MONTHS),
    "clock": lambda rng: f"{rng.randint(10, 18)}:{rng.randrange(0, 60, 5):02}",
    "morning": lambda rng: f"{rng.randint(7, 11)}:{rng.randrange(0, 60, 5):02}",
    "evening": lambda rng: f"{rng.randint(19, 21)}:{rng.randrange(0, 60, 5):02}",
    "year": lambda rng: str(rng.randint(1968, 2023)),
    "blood": lambda rng: rng.choice(BLOOD_GROUPS),
}

SLOT = re.compile(r"\{([a-z_]+?)(\d*)\}")
# "a user", "a one-off" and "a European" keep their article.
ARTICLE = re.compile(r"\b([Aa]) (?=\[?(?!one\b|uni|use|eu)[aeiouAEIOU])")


class Words:
    """Word lists that give each word once before any word comes again, so that stories seldom share a name."""

    def __init__(self, lists: Mapping[str, Sequence[str]], rng: random.Random) -> None:
        self.lists = lists
        self.rng = rng
        self._decks: dict[str, list[str]] = {}

    def fill(self, template: str, bound: dict[str, str]) -> str:
        """Fill a template; slots that are not bound yet are drawn, and stay bound for the next template."""
        for base, number in SLOT.findall(template):
            if base + number not in bound:
                bound[base + number] = self._draw(base, bound)
        return with_articles(SLOT.sub(lambda slot: bound[slot[1] + slot[2]], template))

    def _draw(self, base: str, bound: Mapping[str, str]) -> str:
        taken = {value for slot, value in bound.items() if slot.rstrip("0123456789") == base}
        if base in CLOSED:
            while (value := CLOSED[base](self.rng)) in taken:
                pass
            return value
        deck = self._decks.setdefault(base, [])
        if not set(deck) - taken:
            deck[:] = self.rng.sample(self.lists[base], len(self.lists[base]))
        return deck.pop(next(place for place, word in enumerate(deck) if word not in taken))


def with_articles(text: str) -> str:
    """Turn "a olive" into "an olive"."""
    return ARTICLE.sub(r"\1n ", text)


def as_sentence(text: str) -> str:
    """Begin with a capital, past the mark of a needle."""
    start = 1 if text.startswith("[") else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def slots_of(template: str) -> list[str]:
    """Name the slots of a template in order."""
    return [base + number for base, number in SLOT.findall(template)]


def read_lists(text: str, *, held_back: bool) -> dict[str, list[str]]:
    """Read `slot: words | words held back`. Lists whose words hold commas are parted by semicolons."""
    lists: dict[str, list[str]] = {}
    for line in content_lines(text):
        slot, _, rest = line.partition(": ")
        side = rest.split(" | ")[held_back]
        lists[slot] = [word.strip() for word in side.split(";" if ";" in side else ",")]
    return lists


def content_lines(text: str) -> list[str]:
    """Drop comments and blank lines."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
