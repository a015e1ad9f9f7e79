"""What a rule reads in a clause, before subjects and objects get their ids and times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from everyword.knowledge.legacy.extract.rules.clauses import Clause

# How sure a rule is, as the share of its finds that a reader would agree with; read off the labelled sentences.
OUTRIGHT = 0.95
CLEAR = 0.85
LIKELY = 0.7


class Course(StrEnum):
    """How a claim stands in time."""

    HOLDS = "holds"  # "I live in Porto"
    BEGAN = "began"  # "I moved to Porto in March"
    ENDED = "ended"  # "I used to live in Porto", "I left Siemens"
    HAPPENED = "happened"  # "I visited Porto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A relation of a clause's subject to something, in the clause's words."""

    relation: str
    object: str  # words of the clause that begin with the object
    course: Course = Course.HOLDS
    confidence: float = CLEAR
    entity: bool = True  # the object must be a name
    turned: bool = False  # subject and object change places


TURNS_OUT = "turns out"
_ANY_MORE = re.compile(r"\bany ?more\b|\bany longer\b|\bafter all\b", re.IGNORECASE)


def course_of(clause: Clause) -> Course | None:
    """Tell how a state stands in time; None where it is denied."""
    if ends_now(clause):
        return Course.ENDED
    if clause.negated:
        return None
    if clause.past and not clause.helpers & {"have", "has"}:
        return Course.ENDED
    return Course.HOLDS


def ends_now(clause: Clause) -> bool:
    """Tell whether a clause says itself that something is over: "used to", "no longer", "not any more".

    "Turns out I am not" ends what was believed until now.
    """
    if clause.helpers & {"used to", "no longer"}:
        return True
    return clause.negated and (clause.lead.lower() == TURNS_OUT or _ANY_MORE.search(clause.rest) is not None)
