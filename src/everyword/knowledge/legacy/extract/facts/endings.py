"""What ends without its object being named: "I was fired", "we got divorced", "I retired"."""

from __future__ import annotations

from collections.abc import Iterator

from everyword.knowledge.legacy.extract.facts.claims import CLEAR, Claim, Course
from everyword.knowledge.legacy.extract.rules.clauses import Clause
from everyword.knowledge.legacy.extract.rules.ending import Over, over
from everyword.types.graph import ANY

_RELATIONS: dict[Over, tuple[str, ...]] = {
    Over.WORK: ("works_at",),
    Over.CAREER: ("works_at", "has_role"),
    Over.MARRIAGE: ("married_to", "partner_of"),
}


def endings(clause: Clause) -> Iterator[Claim]:
    """Read that somebody's work or marriage is over; whose or with whom is known from before, or nobody knows."""
    what = over(clause)
    for relation in _RELATIONS.get(what, ()) if what is not None else ():
        yield Claim(relation=relation, object=ANY, course=Course.ENDED, confidence=CLEAR)
