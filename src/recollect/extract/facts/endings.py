"""What ends without its object being named: "I was fired", "we got divorced", "I retired"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.core.graph import ANY
from recollect.extract.facts.claims import CLEAR, Claim, Course
from recollect.extract.rules.clauses import Clause, Who

# Nothing follows, or only when and why: "fired up", "retired the old server", "split up the work" are something else.
_WHEN_OR_WHY = (
    r"(?:and|but|so|because|after|before|in|on|when|while|last|this|yesterday|today|recently|early|from my|from work"
    r"|again|by (?:my|the)|over|two|three|a (?:few|couple|year|month|week|while)|\d+)\b"
)
_NO_OBJECT = rf"(?=$|[,.;!]| {_WHEN_OR_WHY})"
_LET_GO = re.compile(
    rf"(?:(?:just|finally|recently) )?(?:fired|laid off|sacked|let go|made redundant|dismissed){_NO_OBJECT}",
    re.IGNORECASE,
)
_THE_JOB = re.compile(rf"(?:my|the) (?:(?:old|day) )?(?:job|position|post){_NO_OBJECT}", re.IGNORECASE)
_BARE = re.compile(rf"$|{_WHEN_OR_WHY}")
_DIVORCED = re.compile(rf"(?:now |finally |officially )?divorced{_NO_OBJECT}", re.IGNORECASE)
_UP = re.compile(rf"up{_NO_OBJECT}")
_PARTNER_AND_I = re.compile(r"(?P<name>[^\W\d_a-z][\w'-]*(?: [^\W\d_a-z][\w'-]*)?) and I")
_MARRIAGE = ("married_to", "partner_of")


def endings(clause: Clause) -> Iterator[Claim]:
    """Read that somebody's work or marriage is over; whose or with whom is known from before, or nobody knows."""
    if clause.negated:
        return
    for relation in _over(clause):
        whom = _PARTNER_AND_I.fullmatch(clause.subject.words) if relation in _MARRIAGE else None
        yield Claim(relation=relation, object=whom["name"] if whom else ANY, course=Course.ENDED, confidence=CLEAR)


def _over(clause: Clause) -> tuple[str, ...]:
    verb, rest = clause.verb, clause.rest
    past = clause.past or (verb in ("quit", "split") and clause.tense == "base" and not clause.helpers)
    if verb in ("be", "get") and _DIVORCED.match(rest) and (past or verb == "be"):
        return _MARRIAGE
    if not past:
        return ()
    if verb in ("be", "get") and _LET_GO.match(rest):
        return ("works_at",)
    if verb in ("quit", "leave", "lose", "resign") and (
        _THE_JOB.match(rest) or (verb == "resign" and _BARE.match(rest))
    ):
        return ("works_at",)
    if verb == "retire" and _BARE.match(rest):
        return ("works_at", "has_role")
    parted = verb in ("divorce", "separate") and _BARE.match(rest)
    parted = parted or (verb in ("split", "break") and _UP.match(rest))
    return _MARRIAGE if parted and clause.subject.who in (Who.SELF, Who.US) else ()
