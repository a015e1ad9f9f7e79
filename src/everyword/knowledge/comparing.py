"""What a new statement does to what is known: add, update, retract, or nothing.

ADD stores the draft. UPDATE stores it as the next version of the target, which ends where the draft begins. RETRACT
closes the target and stores the draft as the words that closed it. NONE stores nothing: the target was confirmed.

A relation that holds one value at a time decides by itself where both values were read surely; for all else the reader
compares the draft with the few statements about the same subject that are most like it.
A person's correction or retraction names its statement and takes precedence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import fields, replace

from everyword.knowledge.claims import compared_as, meaning_of
from everyword.text.terms import question_terms
from everyword.types.events import Event, Json, Span
from everyword.types.graph import RELATIONS, name_key
from everyword.types.records import SPEAKER, Reason, RecordKind
from everyword.types.statements import (
    BY_HAND,
    DONE,
    TO_DO,
    Slot,
    Stance,
    Statement,
    StatementDraft,
    StatementKind,
    Status,
)
from everyword.types.times import as_datetime

MOST_COMPARED = 3  # known statements that the reader compares with a new one: each takes some 8 ms
_SAME_RELATION = 0.5  # what a relation in common adds to the share of common words
_LEAST_LIKE = 0.25
SAME_WORDS = 0.8  # share of words in common (of all words of both) from which two statements are one
# From these probabilities on the reader is right in 9 of 10 cases (measured on the conversations for choosing).
_SURE_CLOSING = 0.7  # that the known statement holds no more, for whatever reason
_SURE_SAME = 0.8
# Two values of a relation that holds one at a time replace each other where both were read surely, or the reader leans
# to it. Of 16 in 150 conversations for choosing, the seven less sure ones below .3 do not, and none is between.
_SURE_VALUE = 0.7
_MAY_CLOSE = 0.5
# What can settle a plan or task: an opinion or a trait can't, however much it sounds alike.
_SETTLING = frozenset((*TO_DO, StatementKind.EVENT, StatementKind.DECISION, StatementKind.FACT))
_LEAST_SETTLING = 0.3  # confidence in a statement that settles one; below it, most are wrong in unscripted talk
_STILL_TOLD = timedelta(days=60)  # after its date, in which people tell that something was done
_BEGINS = {"moves_to": "lives_in"}  # relations that only plans have, and the one that holds when they came true
_OWN = re.compile(r"\b(?:I|me|my|mine)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d[\d.,:]*")


class Action(StrEnum):
    """What becomes of a draft."""

    ADD = "add"
    UPDATE = "update"
    RETRACT = "retract"
    NONE = "none"


class Verdict(StrEnum):
    """How a new statement relates to a known one."""

    SAME = "same"
    REPLACES = "replaces"
    ENDS = "ends"
    FULFILS = "fulfils"
    MAY_CLOSE = "may_close"  # enough for two values of one relation, too little else
    OTHER = "other"


CLOSING = (Verdict.REPLACES, Verdict.ENDS, Verdict.FULFILS)
Compare = Callable[[StatementDraft, Statement], Verdict]


class Outcome(Struct, frozen=True, kw_only=True):
    """What a draft does, to which statement, and why."""

    action: Action
    reason: str
    target: Statement | None = None
    ended: tuple[Statement, ...] = ()  # what is over besides
    fulfilled: Statement | None = None  # the plan or task among these that was done
    ends_at: datetime | None = None  # UPDATE, RETRACT: when the target ended. ADD: since when the draft itself is past


def verdict_of(chances: dict[str, float]) -> Verdict:
    """Take from the reader's probabilities what is sure enough to act on."""
    closing = {one: chances[one] for one in CLOSING}
    if sum(closing.values()) >= _SURE_CLOSING:
        return max(closing, key=lambda one: closing[one])
    if sum(closing.values()) >= _MAY_CLOSE:
        return Verdict.MAY_CLOSE
    return Verdict.SAME if chances[Verdict.SAME] >= _SURE_SAME else Verdict.OTHER


def keys_of(draft: StatementDraft) -> frozenset[str]:
    """Name what a statement is found by when another is to be compared with it: its relation and its words."""
    relation = _relation(draft)
    keys = {f"word:{word}" for word in _words(draft)}
    return frozenset(keys | {f"relation:{relation}"} if relation else keys)


def same_subject(draft: StatementDraft, known: StatementDraft) -> bool:
    """Tell whether two statements are about the same; "my car" of two speakers is not."""
    if (draft.about or "").casefold() != (known.about or "").casefold():
        return False
    if draft.about is not None or draft.speaker == known.speaker:
        return True
    return not (_OWN.search(draft.quote) or _OWN.search(known.quote))


def decide(draft: StatementDraft, known: Sequence[Statement], compare: Compare | None) -> Outcome:
    """Compare a draft with known statements about the same subject and say what it does.

    compare: asks the reader; None where there is none.
    """
    if draft.stance is Stance.MAYBE:
        return Outcome(action=Action.ADD, reason="considered, nothing changes yet")
    near = _nearest(draft, [one for one in known if one.status is Status.CURRENT and one.valid_to is None])
    outcome = _over(draft, near) or _in_slot(draft, near, compare) or _repeated(draft, near)
    if outcome is not None:
        plan = _come_true(draft, near) if outcome.action is Action.UPDATE else None
        return outcome if plan is None else replace(outcome, ended=(plan,), fulfilled=plan)
    closed: list[Outcome] = []
    if compare is None:
        return Outcome(action=Action.ADD, reason="nothing known changes")
    for one in near[:MOST_COMPARED]:
        verdict = compare(draft, one)
        if verdict is Verdict.SAME and _numbers(draft) == _numbers(one) and not _adds_name(draft, one):
            return Outcome(action=Action.NONE, target=one, reason="said before")
        outcome = _closing(draft, one, verdict)
        # A deed does one thing: a second task that it seems to fulfil is mostly another matter in like words.
        if outcome is not None and not (closed and verdict is Verdict.FULFILS):
            closed.append(outcome)
    if not closed:
        return Outcome(action=Action.ADD, reason="nothing known changes")
    first = next((one for one in closed if one.action is Action.UPDATE), closed[0])
    others = [one.target for one in closed if one is not first and one.target is not None]
    fulfilled = next((one.fulfilled for one in closed if one.fulfilled is not None), None)
    return replace(first, ended=tuple(others), fulfilled=fulfilled)


def ended_at(draft: StatementDraft, known: Statement) -> datetime | None:
    """Tell when something ended that a draft says to be over; nothing ends before it began."""
    moment = draft.valid_to or draft.valid_from
    if moment is None or known.valid_from is None:
        return moment
    return max(moment, known.valid_from)


def _closing(draft: StatementDraft, known: Statement, verdict: Verdict) -> Outcome | None:
    if verdict not in CLOSING or _is_late(draft, known):
        return None
    if verdict is Verdict.REPLACES and draft.stance is Stance.ENDED:
        return None  # an end takes nothing's place
    if known.kind in TO_DO and (draft.kind not in _SETTLING or draft.confidence < _LEAST_SETTLING):
        return None
    if known.kind in TO_DO and _is_long_over(draft, known):
        return None
    ends = ended_at(draft, known)
    if verdict is Verdict.REPLACES:
        return Outcome(action=Action.UPDATE, target=known, ends_at=ends, reason="takes its place")
    if verdict is Verdict.FULFILS and known.kind not in TO_DO:
        return None
    if verdict is Verdict.FULFILS:
        return Outcome(action=Action.RETRACT, target=known, ends_at=ends, reason=DONE, fulfilled=known)
    return Outcome(action=Action.RETRACT, target=known, ends_at=ends, reason="no longer so")


def begun(draft: StatementDraft, plan: StatementDraft) -> StatementDraft | None:
    """Say what holds since a draft said that a plan came true: a home or an employer, in the words of the plan.

    None where the plan was to do something once, or names nobody and no place.
    """
    attribute = plan.slot.attribute if plan.slot else None
    meaning = meaning_of(_BEGINS.get(attribute or "", attribute))
    if meaning is None or plan.negated or not any(name in (plan.value or "") for name in plan.entities):
        return None
    relation = RELATIONS[meaning.relation]
    if not relation.single or relation.object is None:
        return None
    told = draft.valid_from or draft.valid_to
    # "In September", said to be done on the 20th, may have been that day.
    since = plan.date.start if plan.date is not None and (told is None or plan.date.end <= told) else told
    kept = "content category quote span speaker about confidence entities value".split()
    return StatementDraft(
        **{name: getattr(plan, name) for name in kept},
        kind=StatementKind.EVENT,
        event_id=draft.event_id,
        valid_from=since,
        slot=Slot(plan.about or "", relation.name),
        stance=Stance.CHANGED,
    )


def put_into_effect(new: StatementDraft, outcome: Outcome, known: Sequence[Statement]) -> Outcome:
    """Let what a fulfilled plan began take the place of what is known in the same relation."""
    old = _in_slot(new, [one for one in known if one.valid_to is None], None)
    if old is None or old.action is not Action.UPDATE or outcome.action is not Action.RETRACT:
        return outcome
    over = (*((outcome.target,) if outcome.target else ()), *outcome.ended)
    return replace(old, ended=over, fulfilled=outcome.fulfilled)


def _over(draft: StatementDraft, near: Sequence[Statement]) -> Outcome | None:
    """Close what a draft calls over in the same relation and value: "I used to like jazz"."""
    if draft.stance is not Stance.ENDED or draft.value is None or _relation(draft) is None:
        return None
    for one in near:
        same = (one.kind, _relation(one), one.negated) == (draft.kind, _relation(draft), False)
        if same and name_key(one.value or "") == name_key(draft.value) and not _is_late(draft, one):
            return Outcome(action=Action.RETRACT, target=one, ends_at=ended_at(draft, one), reason="no longer so")
    return None


def _in_slot(draft: StatementDraft, near: Sequence[Statement], compare: Compare | None) -> Outcome | None:
    """Decide by a relation that holds one value at a time: one home, one employer, one deadline.

    Where one of two values is unsure, the reader must agree: "seven weeks to Sella" is no new home.
    """
    meaning = meaning_of(draft.slot.attribute) if draft.slot else None
    if meaning is None or draft.value is None or draft.kind in TO_DO or not RELATIONS[meaning.relation].single:
        return None
    for one in near:
        if _relation(one) != meaning.relation or one.value is None or one.kind in TO_DO:
            continue
        if one.stance is Stance.ENDED:
            continue  # an event that ended something: it gives no value
        if one.event_id == draft.event_id:
            continue  # of two values in one turn the later is rarely the new one: "he's eleven, rated 1640"
        agrees = name_key(draft.value) == name_key(one.value)
        over = draft.negated or draft.stance is Stance.ENDED
        if over or one.negated:
            if over and agrees and not one.negated and not _is_late(draft, one):
                return Outcome(action=Action.RETRACT, target=one, ends_at=ended_at(draft, one), reason="no longer so")
            continue
        if agrees:
            return Outcome(action=Action.NONE, target=one, reason="said before")
        if _is_late(draft, one):
            late = "older than what is known; it keeps its place in the past"
            return Outcome(action=Action.ADD, ends_at=one.valid_from, reason=late)
        unsure = min(draft.confidence, one.confidence) < _SURE_VALUE
        if unsure and compare is not None and compare(draft, one) in (Verdict.SAME, Verdict.OTHER):
            return None
        relation = meaning.relation.replace("_", " ")
        reason = f"{relation}: {one.value!r} became {draft.value!r}"
        return Outcome(action=Action.UPDATE, target=one, ends_at=ended_at(draft, one), reason=reason)
    return None


def _come_true(draft: StatementDraft, near: Sequence[Statement]) -> Statement | None:
    """Find the plan of what a draft says to hold now: "I'm moving to Porto", and then "I live in Porto"."""
    for one in near:
        new = begun(draft, one) if one.kind in TO_DO else None
        if new is None or _relation(new) != _relation(draft):
            continue
        if name_key(new.value or "") == name_key(draft.value or ""):
            return one
    return None


def _repeated(draft: StatementDraft, near: Sequence[Statement]) -> Outcome | None:
    """Find the same statement in nearly the same words."""
    mine = _words(draft)
    for one in near:
        same = (one.kind, one.negated, one.stance) == (draft.kind, draft.negated, draft.stance)
        same_day = (draft.date and draft.date.start) == (one.date and one.date.start)
        theirs = _words(one)
        if not same or not same_day or not mine or len(mine & theirs) < SAME_WORDS * len(mine | theirs):
            continue
        if _numbers(draft) == _numbers(one):
            return Outcome(action=Action.NONE, target=one, reason="said before")
    return None


def _nearest(draft: StatementDraft, known: Sequence[Statement]) -> list[Statement]:
    """Sort known statements by how much they have in common with a draft; leave out those with too little."""
    mine, relation = _words(draft), _relation(draft)
    scored: list[tuple[float, Statement]] = []
    for one in known:
        theirs = _words(one)
        shared = len(mine & theirs) / math.sqrt(len(mine) * len(theirs)) if mine and theirs else 0.0
        score = shared + (_SAME_RELATION if relation and _relation(one) == relation else 0.0)
        if score >= _LEAST_LIKE:
            scored.append((score, one))
    # A stable sort: of two that are equally near, the newer one, which comes first, stays first.
    return [one for _, one in sorted(scored, key=lambda pair: -pair[0])]


def _relation(draft: StatementDraft) -> str | None:
    return compared_as(draft.slot.attribute) if draft.slot else None


def _words(draft: StatementDraft) -> frozenset[int]:
    return frozenset(question_terms(draft.quote))


def _numbers(draft: StatementDraft) -> frozenset[str]:
    return frozenset(_NUMBER.findall(draft.quote))


def _adds_name(draft: StatementDraft, known: Statement) -> bool:
    """Tell whether a draft names something that the known statement does not."""
    said = known.quote.casefold()
    return any(name.casefold() not in said for name in draft.entities)


def _is_late(draft: StatementDraft, known: Statement) -> bool:
    """Tell whether a draft speaks of a time that was over when the known one began: then it can't overrule it."""
    if known.valid_from is None:
        return False
    if draft.date is not None and draft.valid_from == draft.date.start:
        return draft.date.end <= known.valid_from  # "in March" reaches to its last day
    moment = draft.valid_from or draft.valid_to
    return moment is not None and moment < known.valid_from


def _is_long_over(draft: StatementDraft, todo: Statement) -> bool:
    """Tell whether a plan's date had passed long before: a deed of months later is another one of its kind."""
    if todo.date is None or draft.valid_from is None:
        return False
    return draft.valid_from - todo.date.end > _STILL_TOLD


# Members of a record's payload.
STATEMENT = "statement"
REASON = "reason"
UNTIL = "until"


class Correction(NamedTuple):
    """What a record does to a statement."""

    action: Action  # UPDATE or RETRACT
    statement_id: str
    never_true: bool = False  # a retraction: it was never so, not even before
    until: datetime | None = None  # a retraction: when it ended, where that is not when it was taken back


def payload_of(
    statement: Statement, *, speaker: str | None = None, reason: Reason | None = None, until: datetime | None = None
) -> dict[str, Json]:
    """Write what a record does to a statement: by its id, since words may have to be forgotten.

    speaker: for a correction, whose statement it puts right. reason and until: for a retraction.
    """
    given: dict[str, Json] = {
        STATEMENT: statement.id,
        SPEAKER: speaker,
        REASON: None if reason is None else reason.value,
        UNTIL: None if until is None else until.isoformat(),
    }
    return {name: value for name, value in given.items() if value is not None}


def correction_of(event: Event) -> Correction | None:
    """Read what a record does to a statement; None for all else."""
    if event.record not in (RecordKind.CORRECTION, RecordKind.RETRACTION):
        return None
    payload = event.meta
    if event.record == RecordKind.CORRECTION:
        return Correction(Action.UPDATE, payload[STATEMENT])
    until = payload.get(UNTIL)
    return Correction(
        Action.RETRACT,
        payload[STATEMENT],
        never_true=payload.get(REASON) == Reason.NEVER_TRUE,
        until=None if until is None else as_datetime(until, UNTIL),
    )


def corrected(event: Event, target: Statement, read: Sequence[StatementDraft] = ()) -> StatementDraft:
    """Make the next version of a statement from the words of its correction; `read` is what the reader found in it.

    It says what was so instead, not what changed today: without a time of its own it has that of its target.
    """
    relation = target.slot and compared_as(target.slot.attribute)
    fitting = [one for one in read if relation and _relation(one) == relation]
    dated = next((one for one in (*fitting, *read) if one.date is not None), None)
    since = target.valid_from
    if dated is not None and dated.date is not None and dated.valid_from == dated.date.start:
        since = dated.valid_from
    kept: dict[str, Any] = {field.name: getattr(target, field.name) for field in fields(StatementDraft)}
    kept |= {"content": event.text, "quote": event.text, "span": Span(0, len(event.text)), "event_id": event.id}
    kept |= {"value": next((one.value for one in fitting if one.value), event.text), "speaker": event.speaker}
    kept |= {"date": dated.date if dated is not None else target.date, "valid_from": since, "valid_to": None}
    kept |= {"stance": Stance.CHANGED, "confidence": 1.0, "extractor": BY_HAND}
    return StatementDraft(**kept)
