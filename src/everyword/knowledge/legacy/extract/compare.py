"""What a new statement does to what is known: add, update, retract, or nothing. Pure; the caller finds the similar
ones.

ADD stores the draft. UPDATE stores it as the next version of the target, which ends where the draft begins. RETRACT
closes the target and stores the draft as the words that closed it. NONE stores nothing; `reinforces` says that the
target was confirmed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import combinations

from everyword.knowledge.legacy.extract.deeds import action_in, does, in_order, settled_by, words_in
from everyword.knowledge.legacy.extract.rules.ending import ends, is_ending, slots_ended
from everyword.knowledge.legacy.extract.rules.tools import TOPICS
from everyword.types.statements import TO_DO, Slot, Stance, Statement, StatementDraft, StatementKind, Status

SAME_WORDS = 0.8  # share of words in common (of all words of both) from which two statements are one
_ROUNDING = 1e-9  # of the share above: a bound on words must not be one too tight


class Action(StrEnum):
    """What becomes of a draft."""

    ADD = "add"
    UPDATE = "update"
    RETRACT = "retract"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a draft does, to which statement, and why."""

    action: Action
    reason: str
    target: Statement | None = None
    ended: tuple[Statement, ...] = ()  # what is over besides: "I was fired" ends a job and an employer
    reinforces: bool = False
    ends_at: datetime | None = None  # UPDATE, RETRACT: when the target ended. ADD: since when the draft itself is past


def decide(draft: StatementDraft, similar: Sequence[Statement]) -> Outcome:
    """Compare a draft with similar statements and say what it does."""
    if draft.stance is Stance.MAYBE:
        return _repeated(draft, similar) or Outcome(action=Action.ADD, reason="considered, nothing changes yet")
    for rule in (_said_already, _by_slot, _by_replacement, _by_short_name, _against, _settled, _repeated):
        outcome = rule(draft, similar)
        if outcome is not None:
            return replace(outcome, ended=_ended_with(draft, similar, outcome))
    known = Outcome(action=Action.ADD, reason="nothing like it is known")
    return replace(known, ended=_ended_with(draft, similar, known))


def keys_of(known: StatementDraft) -> frozenset[str]:
    """Name what a statement can be found by, when a later one is to be compared with it.

    Whatever `decide` finds to be touched by a draft shares one of keys_for(draft) with it: a person of whom a thousand
    things are known costs no more than one of whom ten are.
    """
    keys = {*_slot_keys(known), *_wording_keys(known)}
    if known.kind in _CHOICES:
        keys.update(f"choice:{word}" for word in words_in(known.value))
        if known.slot is not None:
            short = known.slot._replace(attribute=_HEAD.split(known.slot.attribute, 1)[0])
            keys.update(_keys_of_slot(short))
    if known.kind in TO_DO or _is_undone(known):
        keys.update(_deed_keys(known))
    return frozenset(keys)


def keys_for(draft: StatementDraft) -> frozenset[str]:
    """Name what a draft is compared by: the keys of all that it may repeat, follow, end or settle."""
    keys = {*_slot_keys(draft), *_wording_keys(draft)}
    if draft.slot is not None:
        ended = slots_ended(draft)
        keys.update(key for one in ended for key in _keys_of_slot(draft.slot._replace(attribute=one)))
    match = _replaced(draft)
    refused = draft.value if draft.kind is StatementKind.DECISION and draft.negated else None
    keys.update(f"choice:{word}" for word in words_in(match["old"] if match else refused))
    if _is_dropped(draft) or draft.stance is Stance.DONE:
        keys.update(_deed_keys(draft))
    return frozenset(keys)


def is_single_valued(attribute: str) -> bool:
    """Tell whether a slot holds one value at a time. "likes:jazz" has its value in its name and holds yes or no."""
    prefix, _, value = attribute.partition(":")
    return not value or prefix in _SINGLE_WITH_NAME


_SINGLE_WITH_NAME = frozenset(("favourite", *TOPICS))
_REPLACED = re.compile(
    r"\b(?:instead of|rather than|in place of|no longer|over|from|replac(?:e|es|ed|ing)|drop(?:s|ped|ping)?) (?:the "
    r"|using |our )?(?P<old>[\w+#.-]+(?: [\w+#.-]+){0,2})",
    re.IGNORECASE,
)
# "It is 40k, not 30k" names what it replaces as well.
_CONTRAST = re.compile(r",? (?:and )?not (?P<old>[\w+#.:%-]+(?: [\w+#.-]+){0,2})[.!]*$", re.IGNORECASE)
_HEAD = re.compile(r"\s(?:for|of|at|on|in|to|with|from|between)\s")
_CHOICES = frozenset((StatementKind.DECISION, StatementKind.KEY_FACT))


def _said_already(draft: StatementDraft, similar: Sequence[Statement]) -> Outcome | None:
    """The same words of the same event were read before."""
    for known in similar:
        if (known.event_id, known.span, known.kind, known.about, known.slot) == (
            draft.event_id,
            draft.span,
            draft.kind,
            draft.about,
            draft.slot,
        ):
            return Outcome(action=Action.NONE, target=known, reason="read before")
    return None


def _ended_with(draft: StatementDraft, similar: Sequence[Statement], outcome: Outcome) -> tuple[Statement, ...]:
    """Find what is over though nobody names it: "we got divorced" ends a marriage, whoever it was with."""
    slots = slots_ended(draft) if outcome.action is not Action.NONE else ()
    return tuple(
        known
        for known in similar
        if known.slot is not None
        and known.slot.attribute in slots
        and known is not outcome.target
        and _is_open(known)
        and _same_person(draft, known)
        and not known.negated
        and not _is_late(draft, known)
        and ends(draft, known)
    )


def _by_slot(draft: StatementDraft, similar: Sequence[Statement]) -> Outcome | None:
    """The same slot: it agrees, contradicts, ends, or comes late."""
    if draft.slot is None or is_ending(draft.slot.attribute):
        return None
    outcomes = (_in_slot(draft, known) for known in similar if _is_open(known) and _same_slot(draft, known))
    return next((outcome for outcome in outcomes if outcome is not None), None)


def _in_slot(draft: StatementDraft, known: Statement) -> Outcome | None:
    agrees = _same_value(draft, known)
    if draft.stance is Stance.ENDED:
        closes = (agrees or not words_in(draft.value)) and not _is_late(draft, known)
        return _over(draft, known) if closes else None
    if agrees and draft.negated == known.negated and _numbers(draft) != _numbers(known) and not _is_late(draft, known):
        return _followed(draft, known, f"the number changed: {known.value!r} became {draft.value!r}")
    if agrees and draft.negated == known.negated:
        return Outcome(action=Action.NONE, target=known, reinforces=True, reason=_confirms(draft))
    if _is_late(draft, known):
        late = "older than what is known; it keeps its place in the past"
        return Outcome(action=Action.ADD, ends_at=known.valid_from, reason=late)
    if agrees:
        return (
            _over(draft, known, "denied") if draft.negated else _followed(draft, known, "the opposite was said before")
        )
    if draft.negated or known.negated or draft.slot is None or not is_single_valued(draft.slot.attribute):
        return None
    attribute = draft.slot.attribute
    return _followed(draft, known, f"{attribute} holds one value: {known.value!r} became {draft.value!r}")


def _by_replacement(draft: StatementDraft, similar: Sequence[Statement]) -> Outcome | None:
    """A choice that names what it replaces: "let's use MySQL instead of PostgreSQL"."""
    match = _replaced(draft)
    if match is None:
        return None
    old = words_in(match["old"])
    for known in similar:
        kept = words_in(known.value)
        # A number stands in many places: what it is of must be the same.
        of_it = match.re is _REPLACED or _are_of_one_thing(draft, known)
        if _is_standing_choice(known, draft) and of_it and old & kept and not kept <= words_in(draft.value) - old:
            return _followed(draft, known, f"replaces {match['old'].rstrip('.')!r}")
    return None


def _replaced(draft: StatementDraft) -> re.Match[str] | None:
    """Find what a choice says that it replaces."""
    if draft.kind not in _CHOICES or draft.negated:
        return None
    return _REPLACED.search(draft.quote) or _CONTRAST.search(draft.quote)


def _are_of_one_thing(draft: StatementDraft, known: Statement) -> bool:
    if draft.slot is None or known.slot is None:
        return draft.slot is known.slot
    return bool(words_in(draft.slot.attribute) & words_in(known.slot.attribute))


def _by_short_name(draft: StatementDraft, similar: Sequence[Statement]) -> Outcome | None:
    """A thing that is called by less than its name, and said to have changed: "the budget" for "the budget for tools".

    Where two have that name, nobody knows which one is meant.
    """
    if draft.kind is not StatementKind.KEY_FACT or draft.slot is None or draft.stance is not Stance.CHANGED:
        return None
    name = draft.slot.attribute
    meant = [
        known
        for known in similar
        if known.slot is not None
        and _HEAD.split(known.slot.attribute, 1)[0] == name != known.slot.attribute
        and _is_standing_choice(known, draft)
        and _same_person(draft, known)
    ]
    return _followed(draft, meant[0], f"{name} changed") if len(meant) == 1 else None


def _against(draft: StatementDraft, similar: Sequence[Statement]) -> Outcome | None:
    """A choice that was taken back: "we decided against MySQL"."""
    refused = words_in(draft.value)
    if draft.kind is not StatementKind.DECISION or not draft.negated or not refused:
        return None
    for known in similar:
        if _is_standing_choice(known, draft) and refused <= words_in(known.value):
            return _over(draft, known, "decided against")
    return None


def _settled(draft: StatementDraft, similar: Sequence[Statement]) -> Outcome | None:
    """A thing to do that was done, or that is to be done no more."""
    dropped = _is_dropped(draft)
    if not dropped and draft.stance is not Stance.DONE:
        return None
    for known in similar:
        to_do = (known.kind in TO_DO and not known.negated) or (not dropped and _is_undone(known))
        open_task = to_do and _is_open(known) and _same_person(draft, known)
        if open_task and not _is_late(draft, known) and does(draft.value, known.value):
            return _over(draft, known, "called off" if dropped else "done")
    return None


def _repeated(draft: StatementDraft, similar: Sequence[Statement]) -> Outcome | None:
    """The same statement in other or the same words."""
    mine = words_in(draft.value or draft.content)
    for known in similar:
        if known.kind is not draft.kind or not _is_open(known) or not _same_person(draft, known):
            continue
        if draft.slot and known.slot and not _same_slot(draft, known):
            continue
        if (known.negated, known.stance) != (draft.negated, draft.stance) or not _same_day(draft, known):
            continue
        theirs = words_in(known.value or known.content)
        if mine and len(mine & theirs) >= SAME_WORDS * len(mine | theirs):
            return Outcome(action=Action.NONE, target=known, reinforces=True, reason="said before")
    return None


def _is_undone(known: StatementDraft) -> bool:
    """Tell whether it says that somebody did not do something so far: "I still haven't paid the fee"."""
    return known.kind is StatementKind.EVENT and known.negated and known.stance is Stance.HOLDS


def _is_dropped(draft: StatementDraft) -> bool:
    return draft.kind in TO_DO and (draft.negated or draft.stance is Stance.ENDED)


def _followed(draft: StatementDraft, known: Statement, why: str) -> Outcome:
    return Outcome(action=Action.UPDATE, target=known, ends_at=_not_before(draft.valid_from, known), reason=why)


def ended_at(draft: StatementDraft, known: Statement) -> datetime | None:
    """Tell when something ended that a draft says to be over."""
    return _not_before(draft.valid_to or draft.valid_from, known)


def _over(draft: StatementDraft, known: Statement, why: str = "no longer so") -> Outcome:
    ends = ended_at(draft, known)
    return Outcome(action=Action.RETRACT, target=known, ends_at=ends, reason=why)


def _not_before(moment: datetime | None, known: Statement) -> datetime | None:
    """Nothing ends before it began, however early the day that was said begins."""
    if moment is None or known.valid_from is None:
        return moment
    return max(moment, known.valid_from)


def _confirms(draft: StatementDraft) -> str:
    return "still so" if draft.stance is Stance.STILL else "said before"


def _is_open(known: Statement) -> bool:
    return known.status is Status.CURRENT and known.valid_to is None


def _is_standing_choice(known: Statement, draft: StatementDraft) -> bool:
    return known.kind in _CHOICES and _is_open(known) and not known.negated and not _is_late(draft, known)


def _same_person(draft: StatementDraft, known: Statement) -> bool:
    return (draft.about or "").casefold() == (known.about or "").casefold()


def _same_slot(draft: StatementDraft, known: Statement) -> bool:
    if draft.slot is None or known.slot is None or draft.slot.about.casefold() != known.slot.about.casefold():
        return False
    mine, theirs = draft.slot.attribute, known.slot.attribute
    if mine == theirs:
        return True
    (prefix, _, named), (other, _, other_named) = mine.partition(":"), theirs.partition(":")
    said, known_words = words_in(named), words_in(other_named)
    if prefix != other or not said or not known_words:
        return False
    # A count may leave out of what: "30 squares" goes on from "20 squares of the blanket".
    return said == known_words or (prefix == "count" and (said < known_words or known_words < said))


def _slot_keys(draft: StatementDraft) -> Iterator[str]:
    return _keys_of_slot(draft.slot) if draft.slot is not None else iter(())


def _keys_of_slot(slot: Slot) -> Iterator[str]:
    """Write a slot so that those in which _same_slot() sees one slot have a key in common."""
    prefix, _, named = slot.attribute.partition(":")
    words = sorted(words_in(named))
    # Of two counts one may name more words than the other: each word is a key.
    for name in words if words and prefix == "count" else (" ".join(words) or named,):
        yield f"slot:{slot.about.casefold()}:{prefix}:{name}"


def _wording_keys(draft: StatementDraft) -> Iterator[str]:
    """Give pairs of a statement's words, so that whatever shares SAME_WORDS of all of them has one in common with it.

    Two such statements share at least SAME_WORDS * n of n words: at least two of any n - SAME_WORDS * n + 2, if both
    take them from one order. The longest words come first in it: they are the rarest.
    """
    words = sorted(words_in(draft.value or draft.content), key=lambda word: (-len(word), word))
    if not words:
        return
    shared = math.ceil(SAME_WORDS * len(words) - _ROUNDING)
    for several in combinations(words[: len(words) - shared + 2], min(2, len(words))):
        yield f"{draft.kind}:{draft.stance}:{draft.negated:d}:{' '.join(several)}"


def _deed_keys(draft: StatementDraft) -> Iterator[str]:
    """Give a deed's verb with each word after it: does() wants the verb and at least one of them."""
    action = action_in(draft.value)
    if action is not None:
        verbs = (action[0], *sorted(settled_by(action[0]))) if draft.stance is Stance.DONE else (action[0],)
        yield from (f"deed:{verb}:{word}" for verb in verbs for word in action[1])


def _same_value(draft: StatementDraft, known: Statement) -> bool:
    attribute = draft.slot.attribute if draft.slot else ""
    if not is_single_valued(attribute):
        return True  # the value is in the slot's name
    mine, theirs = words_in(draft.value), words_in(known.value)
    return bool(mine) and (mine <= theirs or theirs <= mine) and bool(theirs)


def _numbers(statement: StatementDraft) -> frozenset[str]:
    """List the numbers in what a counting slot holds."""
    if statement.slot is None or not statement.slot.attribute.startswith(_COUNTING_SLOTS):
        return frozenset()
    return frozenset(word for word in in_order(statement.value) if word.isdigit() or word in _COUNTS)


def _same_day(draft: StatementDraft, known: Statement) -> bool:
    if draft.kind is not StatementKind.EVENT:
        return True
    mine = draft.date.start if draft.date else draft.valid_from
    theirs = known.date.start if known.date else known.valid_from
    return mine is None or theirs is None or mine.date() == theirs.date()


def _is_late(draft: StatementDraft, known: Statement) -> bool:
    """Tell whether a draft speaks of a time that was over when the known one began: then it can't overrule it."""
    if known.valid_from is None:
        return False
    if draft.date is not None and draft.valid_from == draft.date.start:
        return draft.date.end <= known.valid_from  # "in March" reaches to its last day
    moment = draft.valid_from or draft.valid_to
    return moment is not None and moment < known.valid_from


_COUNTING_SLOTS = ("count:", "doing:")
_COUNTS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty hundred once
    twice""".split()
)
