"""The reader's names for relations, as the relations of facts.

People who labelled text chose the names freely, so several mean the same relation.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from everyword.types.graph import RELATIONS


class Course(StrEnum):
    """What a claim says about time."""

    HOLDS = "holds"
    BEGAN = "began"
    ENDED = "ended"
    HAPPENED = "happened"


class When(NamedTuple):
    """The times of a claim, as a `FactDraft` has them."""

    valid_from: datetime | None = None
    begun_by: datetime | None = None
    holds_at: datetime | None = None
    valid_to: datetime | None = None
    ended_by: datetime | None = None


class Meaning(NamedTuple):
    """What a name of the reader means."""

    relation: str
    course: Course = Course.HOLDS
    turned: bool = False  # the value is the subject: "my mother Rosa" makes Rosa a parent


# Words for relations between people. The reader confuses them (an aunt is a sibling), the words do not.
_KIN = {
    "sibling_of": "sister brother sibling twin",
    "parent_of": "son daughter child kid",
    "married_to": "wife husband spouse",
    "partner_of": "partner girlfriend boyfriend fiancé fiancée fiance fiancee",
    "relative_of": "aunt auntie uncle cousin niece nephew grandma grandmother grandpa grandfather grandson",
    "friend_of": "friend mate",
    "colleague_of": "colleague coworker",
    "reports_to": "boss manager supervisor",
    "knows": "neighbour neighbor teacher dentist doctor landlord landlady lawyer coach",
}
_PARENTS = "mum mom mother dad father".split()
_SAME = {
    "comes_from": "from",
    "born_on": "birthday",
    "located_in": "location",
    "has_role": "job role position title",
    "studies": "learns",
    "married_to": "spouse husband wife",
    "partner_of": "partner",
    "parent_of": "child",
    "sibling_of": "sibling",
    "relative_of": "cousin uncle aunt brother_in_law",
    "friend_of": "friend",
    "colleague_of": "colleague",
    "reports_to": "boss supervisor",
    "knows": "neighbour teacher contact",
    "owns_pet": "pet",
    "likes": "loves prefers interested_in favourite_team favorite_team",
}
_MEANINGS: dict[str, Meaning] = {
    **{name: Meaning(relation) for relation, names in _SAME.items() for name in names.split()},
    "parent": Meaning("parent_of", turned=True),
    "moved_to": Meaning("lives_in", Course.BEGAN),
    "starts_job": Meaning("works_at", Course.BEGAN),
    "worked_at": Meaning("works_at", Course.ENDED),
    "visits": Meaning("visited", Course.HAPPENED),
    "travels_to": Meaning("visited", Course.HAPPENED),
}


_KIN_MEANINGS: dict[str, Meaning] = {
    **{word: Meaning(relation) for relation, words in _KIN.items() for word in words.split()},
    **dict.fromkeys(_PARENTS, Meaning("parent_of", turned=True)),
}
_KIN_WORD = re.compile(
    rf"\b({'|'.join(sorted(_KIN_MEANINGS, key=len, reverse=True))})s?\b(-in-law| in law)?", re.IGNORECASE
)
BETWEEN_PEOPLE = frozenset((*_KIN, "parent_of"))


def kin_in(quote: str) -> Meaning | None:
    """Find the one relation between people that a quote names; None if it names none, or several."""
    found = {
        Meaning("relative_of") if match[2] else _KIN_MEANINGS[match[1].casefold()]
        for match in _KIN_WORD.finditer(quote)
    }
    return found.pop() if len(found) == 1 else None


def meaning_of(name: str | None) -> Meaning | None:
    """Look up what a name means as a relation of facts; None if it is none."""
    if name is None:
        return None
    known = RELATIONS.get(name)
    if known is not None:
        return Meaning(name, Course.HOLDS if known.lasts else Course.HAPPENED)
    return _MEANINGS.get(name)


def compared_as(name: str | None) -> str | None:
    """Give the name under which a relation is compared: "moved_to" and "lives_in" are about the same thing."""
    meaning = meaning_of(name)
    return meaning.relation if meaning is not None else name
