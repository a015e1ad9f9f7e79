"""What ends without being named: "I was fired", "we got divorced", "I retired", "Elena had her baby"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum

from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who
from everyword.knowledge.legacy.extract.rules.found import CLEAR, IMPLIED, Found, head
from everyword.knowledge.legacy.extract.rules.kin import PARTNERS
from everyword.types.statements import Category, Stance, StatementDraft, StatementKind


class Over(StrEnum):
    """What a clause can end; the value is the slot that such a statement stands in."""

    WORK = "over:work"
    CAREER = "over:career"  # who retires has no other job
    MARRIAGE = "over:marriage"
    PREGNANCY = "over:pregnancy"
    TASK = "over:task"  # done, whoever did it


_WORK = ("employer", "job")
_SLOTS_ENDED: dict[str, tuple[str, ...]] = {
    Over.WORK: _WORK,
    Over.CAREER: _WORK,
    Over.MARRIAGE: tuple(sorted(PARTNERS)),
    Over.PREGNANCY: ("is:pregnant",),
    Over.TASK: (),  # which one, its words tell
}
MARITAL_STATUS = "marital_status"
_ALONE = frozenset(("divorced", "separated"))

# Nothing follows, or only when and why: "fired up", "retired the old server", "split up the work" are something else.
_WHEN_OR_WHY = (
    r"(?:and|but|so|because|after|before|at|in|on|when|while|last|this|yesterday|today|recently|early|from my|from work"
    r"|again|by (?:my|the)|over|two|three|a (?:few|couple|year|month|week|while)|for now|\d+)\b"
)
_NO_OBJECT = rf"(?=$|[,.;!]| {_WHEN_OR_WHY})"
_LET_GO = re.compile(
    rf"(?:(?:just|finally|recently) )?(?:fired|laid off|sacked|let go|made redundant|dismissed){_NO_OBJECT}",
    re.IGNORECASE,
)
_THE_JOB = re.compile(
    rf"(?:my|the|his|her|their) (?:(?:old|day) )?(?:job|position|post){_NO_OBJECT}",
    re.IGNORECASE,
)
_LEAVING = frozenset("quit leave lose resign".split())
_NOTICE = re.compile(r"(?:in )?(?:my|his|her|their) (?:\w+ )?notice\b", re.IGNORECASE)
_BARE = re.compile(rf"$|{_WHEN_OR_WHY}")
_DIVORCED = re.compile(rf"(?:now |finally |officially )?(?P<how>divorced|separated){_NO_OBJECT}", re.IGNORECASE)
_UP = re.compile(rf"up{_NO_OBJECT}")
_BIRTH = re.compile(r"birth\b", re.IGNORECASE)
_BABY = re.compile(r"(?:the|her|my|our|a) (?:\w+ )?(?:baby|twins|son|daughter)\b", re.IGNORECASE)
_PARTNER_AND_I = re.compile(r"(?:my (?:[\w-]+ )?)?(?P<name>[^\W\d_a-z][\w'-]*(?: [^\W\d_a-z][\w'-]*)?) and I")
_AT_A_FIRM = re.compile(r"\b(?:at|from|with) (?:the )?(?P<name>(?-i:[A-Z])[\w'&-]*(?: (?-i:[A-Z])[\w'&-]*){0,3})")
_LEAVES = re.compile(r"(?:quit|leave|resign|hand|give)\b")
_JUST_FOUND = timedelta(days=30)  # notice is mostly given in the weeks after another job was found
_OURS = (Who.SELF, Who.US)


def slots_ended(draft: StatementDraft) -> tuple[str, ...]:
    """Name the slots that are empty once a statement holds: who is divorced has no husband."""
    if draft.slot is None or draft.negated or draft.confidence <= IMPLIED:  # "since the divorce" may be long ago
        return ()
    if draft.slot.attribute == MARITAL_STATUS and (draft.value or "").lower() in _ALONE:
        return _SLOTS_ENDED[Over.MARRIAGE]
    return _SLOTS_ENDED.get(draft.slot.attribute, ())


def is_ending(attribute: str) -> bool:
    """Tell whether a slot only says that something is over: what happened twice ended twice."""
    return attribute in _SLOTS_ENDED


def over(clause: Clause) -> Over | None:
    """Tell what a clause says to be over, if anything."""
    if clause.negated or clause.subject.who not in (*_OURS, Who.PERSON):
        return None
    verb, rest = clause.verb, clause.rest
    past = clause.past or (verb in ("quit", "split") and clause.tense == "base" and not clause.helpers)
    if verb in ("be", "get") and (parted := _DIVORCED.match(rest)) and (past or verb == "be"):
        mutual = parted["how"].lower() == "separated"  # of others, eggs and files are separated, too
        return None if mutual and clause.subject.who not in _OURS else Over.MARRIAGE
    return _ended_by(verb, rest, clause) if past else None


def ends(draft: StatementDraft, known: StatementDraft) -> bool:
    """Tell whether a statement that something is over means a known one: of that person, or at that firm, if named."""
    named = _PARTNER_AND_I.search(draft.quote) if draft.slot and draft.slot.attribute != Over.WORK else None
    named = named or (_AT_A_FIRM.search(draft.quote) if draft.slot and draft.slot.attribute == Over.WORK else None)
    if named is not None:
        return named["name"].lower() in (known.value or "").lower()
    # Who has just found a job quits another one.
    found_another = known.stance is Stance.CHANGED and _LEAVES.match(draft.value or "") is not None
    return (
        not found_another
        or draft.valid_from is None
        or known.valid_from is None
        or (draft.valid_from - known.valid_from > _JUST_FOUND)
    )


def with_ending(clause: Clause, stated: Found | None) -> Found | None:
    """Add to what a clause states that somebody's work, marriage or pregnancy is over; what it was, others said.

    What is stated in a slot of its own stays as it is: "I am divorced" says all of it.
    """
    what = over(clause)
    if what is None or (stated is not None and stated.attribute is not None):
        return stated
    if stated is not None:
        return replace(stated, attribute=what)
    private = what in (Over.MARRIAGE, Over.PREGNANCY)
    return Found(
        kind=StatementKind.EVENT,
        category=Category.RELATIONSHIPS if private else Category.WORK_CAREER,
        confidence=CLEAR,
        attribute=what,
        value=f"{clause.verb} {head(clause.rest)}".strip(),
        stance=Stance.DONE,
    )


def _ended_by(verb: str, rest: str, clause: Clause) -> Over | None:
    if verb in ("be", "get") and _LET_GO.match(rest):
        return Over.WORK
    if verb in _LEAVING and (_THE_JOB.match(rest) or (verb == "resign" and _BARE.match(rest))):
        return Over.WORK
    if verb in ("hand", "give") and _NOTICE.match(rest):
        return Over.WORK
    if verb == "retire" and _BARE.match(rest):
        return Over.CAREER
    if (verb == "give" and _BIRTH.match(rest)) or (verb == "have" and _BABY.match(rest)):
        return Over.PREGNANCY
    parted = verb in ("divorce", "separate") and _BARE.match(rest)
    parted = parted or (verb in ("split", "break") and _UP.match(rest))
    return Over.MARRIAGE if parted and clause.subject.who in _OURS else None
