"""Who is who to whom: facts that stand in a name with its relation, "my sister Mia"."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.entities.lexicon import ANIMALS, IS_MY_KIN, KIN_BEFORE_NAME, kin_of
from everyword.knowledge.legacy.extract.facts.claims import CLEAR, OUTRIGHT, Claim, Course, ends_now
from everyword.knowledge.legacy.extract.rules.clauses import Clause
from everyword.knowledge.legacy.extract.rules.kin import KIN_PATTERN, is_over
from everyword.types.graph import Mention

_SIBLINGS = frozenset("sister brother sibling twin stepsister stepbrother half-sister half-brother".split())
_PARENTS = frozenset("mother father parent stepmother stepfather".split())
_CHILDREN = frozenset("son daughter child kid baby toddler stepson stepdaughter".split())
_RELATIVES = frozenset(
    """niece nephew uncle aunt cousin grandmother grandfather grandson granddaughter mother-in-law father-in-law
    sister-in-law brother-in-law son-in-law daughter-in-law godmother godfather godson goddaughter""".split()
)
_FRIENDS = frozenset("friend buddy pal".split())
_COLLEAGUES = frozenset("colleague teammate intern cofounder co-founder bandmate".split())
_MY_KIN = re.compile(rf"(?:my|our) (?:[\w-]+ ){{0,2}}?(?P<kin>{KIN_PATTERN})\b", re.IGNORECASE)
_FROM_BIRTH = frozenset(("parent_of", "sibling_of", "relative_of"))  # no time ends these


def kinship(mention: Mention, before: str, after: str) -> Claim | None:
    """Read the relation of a named person to somebody: the claim's subject is the one whose relation it is."""
    if mention.kin is None or mention.bare:
        return None
    beside = KIN_BEFORE_NAME.search(before) or IS_MY_KIN.match(after)
    if beside is None:
        return kin_claim(mention.kin, mention.text, over=False)
    said = beside.groupdict()
    was = any(said.get(name) in ("was", "used to be") for name in ("be", "been", "named"))
    return kin_claim(mention.kin, mention.text, over=was or is_over(beside["kin"].lower(), beside["how"]))


def kin_claim(kin: str, name: str, *, over: bool) -> Claim:
    """Claim that a name is somebody's relation, or was."""
    relation, turned = _relation(kin)
    return Claim(
        relation=relation,
        object=name,
        course=Course.ENDED if kin.startswith("ex") or (over and relation not in _FROM_BIRTH) else Course.HOLDS,
        confidence=OUTRIGHT if relation not in ("knows", "friend_of") else CLEAR,
        turned=turned,
    )


def no_longer(clause: Clause) -> Claim | None:
    """Read "Dana is no longer my manager", "Tom is not my landlord any more"."""
    name = clause.subject.name
    match = _MY_KIN.match(clause.rest) if clause.verb == "be" and name and ends_now(clause) else None
    return kin_claim(kin_of(match["kin"]), name, over=True) if match and name else None


def _relation(kin: str) -> tuple[str, bool]:
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
        return "married_to" if kin in ("ex-wife", "ex-husband") else "partner_of", False
    named = {"spouse": "married_to", "partner": "partner_of", "fiance": "partner_of", "boss": "reports_to"}
    return named.get(kin, "knows"), False
