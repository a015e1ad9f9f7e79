"""Words for the people and animals in somebody's life."""

from __future__ import annotations

import re

FAMILY = """sister brother sibling mum mom mommy mother dad daddy father parents parent wife husband spouse
    partner fiancé fiancée fiance fiancee son daughter kid kids child children baby toddler twin twins niece
    nephew uncle aunt auntie cousin grandma grandpa granny grandmother grandfather grandparents grandson
    granddaughter stepmother stepfather stepson stepdaughter stepbrother stepsister half-brother half-sister
    mother-in-law father-in-law sister-in-law brother-in-law son-in-law daughter-in-law in-laws godmother
    godfather godson goddaughter family girlfriend boyfriend ex ex-wife ex-husband ex-girlfriend ex-boyfriend
    ex-partner""".split()
OTHERS = """friend friends roommate roommates flatmate housemate neighbour neighbor neighbours neighbors boss
    manager supervisor colleague colleagues coworker coworkers co-worker mentor mentee student students teacher
    professor tutor coach trainer therapist doctor dentist lawyer accountant landlord landlady assistant client
    business-partner teammate bandmate classmate nanny babysitter physio vet""".split()
PETS = "dog dogs puppy cat cats kitten rabbit hamster parrot horse pony pet pets guinea-pig tortoise greyhound".split()

PARTNERS = frozenset("wife husband spouse partner girlfriend boyfriend fiancé fiancée fiance fiancee".split())
SINGLE = PARTNERS | frozenset("mum mom mother dad father".split())
SEVERAL = frozenset(word for word in (*FAMILY, *OTHERS, *PETS) if word.endswith("s") and word != "boss") | {"children"}
ENDED = frozenset(word for word in FAMILY if word.startswith("ex"))
# The longest first, so that "mother-in-law" is not read as "mother".
KIN_PATTERN = "|".join(re.escape(word) for word in sorted(FAMILY + OTHERS + PETS, key=len, reverse=True))

BLOOD = frozenset(
    """sister brother sibling twin half-sister half-brother mum mom mommy mother dad daddy father parent son daughter
    kid child baby toddler niece nephew uncle aunt auntie cousin grandma grandpa granny grandmother grandfather grandson
    granddaughter""".split()
)  # whose relation no time ends
# Between "my" and the relation: it is over, or is not so yet. An old friend is still one, and an old dog too.
_OVER = re.compile(r"\b(?:former|previous|late|ex|then|one-time|first|last)\b", re.IGNORECASE)
_OLD = re.compile(r"\bold\b", re.IGNORECASE)
_STAYS_WHEN_OLD = frozenset("friend friends buddy pal".split()) | frozenset(PETS)
_NOT_YET = re.compile(
    r"\b(?:future|prospective|potential|possible|would-be|soon-to-be|imaginary|ideal|next|fake|pretend)\b",
    re.IGNORECASE,
)


def is_over(kin: str, qualifiers: str) -> bool:
    """Tell whether the words before a relation say that it is over: "my former boss", "my late wife"."""
    if kin in BLOOD:
        return False
    return _OVER.search(qualifiers) is not None or (kin not in _STAYS_WHEN_OLD and _OLD.search(qualifiers) is not None)


def is_not_yet(qualifiers: str) -> bool:
    """Tell whether the words before a relation say that there is none: "my future husband"."""
    return _NOT_YET.search(qualifiers) is not None


def kin_name(owner: str, kin: str) -> str:
    """Name somebody by whose relation they are: "Ana's sister"."""
    return f"{owner}'s {kin}"
