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

SINGLE = frozenset(
    "wife husband spouse partner girlfriend boyfriend fiancé fiancée fiance fiancee mum mom mother dad father".split()
)
ENDED = frozenset(word for word in FAMILY if word.startswith("ex"))
# The longest first, so that "mother-in-law" is not read as "mother".
KIN_PATTERN = "|".join(re.escape(word) for word in sorted(FAMILY + OTHERS + PETS, key=len, reverse=True))


def kin_name(owner: str, kin: str) -> str:
    """Name somebody by whose relation they are: "Ana's sister"."""
    return f"{owner}'s {kin}"
