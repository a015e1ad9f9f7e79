"""Who is who to whom: facts that stand in a name with its relation, "my sister Mia"."""

from __future__ import annotations

import re

from recollect.core.graph import Mention
from recollect.extract.entities.lexicon import ANIMALS
from recollect.extract.facts.claims import CLEAR, OUTRIGHT, Claim, Course

_SIBLINGS = frozenset("sister brother sibling twin stepsister stepbrother half-sister half-brother".split())
_PARENTS = frozenset("mother father parent stepmother stepfather".split())
_CHILDREN = frozenset("son daughter child kid baby toddler stepson stepdaughter".split())
_RELATIVES = frozenset(
    """niece nephew uncle aunt cousin grandmother grandfather grandson granddaughter mother-in-law father-in-law
    sister-in-law brother-in-law son-in-law daughter-in-law godmother godfather godson goddaughter""".split()
)
_FRIENDS = frozenset("friend buddy pal".split())
_COLLEAGUES = frozenset("colleague teammate intern cofounder co-founder bandmate".split())
_FORMER = re.compile(
    r"\b(?:my|our)\s(?:\w+\s){0,1}(?:old|former|previous|ex|first|last|then)\b[\s\w,-]{0,24}$", re.IGNORECASE
)


def kinship(mention: Mention, before: str) -> Claim | None:
    """Read the relation of a named person to somebody: the claim's subject is the one whose relation it is."""
    if mention.kin is None or mention.bare:
        return None
    relation, turned = _relation(mention.kin)
    if relation is None:
        return None
    former = _FORMER.search(before) is not None and relation in ("reports_to", "partner_of", "colleague_of", "knows")
    return Claim(
        relation=relation,
        object=mention.text,
        course=Course.ENDED if former else Course.HOLDS,
        confidence=OUTRIGHT if relation not in ("knows", "friend_of") else CLEAR,
        turned=turned,
    )


def _relation(kin: str) -> tuple[str | None, bool]:
    if kin in _PARENTS:
        return "parent_of", True
    for kins, relation in (
        (_SIBLINGS, "sibling_of"),
        (_CHILDREN, "parent_of"),
        (_RELATIVES, "relative_of"),
        (_FRIENDS, "friend_of"),
        (_COLLEAGUES, "colleague_of"),
        (ANIMALS, "owns_pet"),
    ):
        if kin in kins:
            return relation, False
    if kin.startswith("ex"):
        return None, False
    named = {"spouse": "married_to", "partner": "partner_of", "fiance": "partner_of", "boss": "reports_to"}
    return named.get(kin, "knows"), False
