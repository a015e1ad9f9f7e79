"""Derive statements from events, with tags and links.

Reading an event is pure; comparing it with known statements needs the write lock.
Each event is compared only with earlier statements about the same subject, so that deriving all or some of them again
gives the same result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from everyword.knowledge.graph import Stated
from everyword.knowledge.legacy.extract.amending import Amended, Amendment, amended, amendment_in, restored
from everyword.knowledge.legacy.extract.compare import Action, Outcome, decide, ended_at, keys_for, keys_of
from everyword.knowledge.legacy.extract.corrections import Correction, corrected, correction_of
from everyword.knowledge.legacy.extract.links import Link, Placed, link
from everyword.knowledge.legacy.extract.llm.stored import LLMReading, beside, from_body
from everyword.knowledge.legacy.extract.quotes import Checked, check_all
from everyword.knowledge.legacy.extract.rules import EXTRACTOR, extract
from everyword.knowledge.legacy.extract.tags import tags_of_event
from everyword.storage.protocol import Writer
from everyword.text.terms import question_terms
from everyword.types.events import Change, Edge, Event
from everyword.types.ids import fingerprint, raw_event_id
from everyword.types.statements import Stance, Statement, StatementDraft, Status, adopt, statement_id
from everyword.types.times import from_micros, to_micros
from everyword.types.trust import HIGHEST_LEVEL, effective_at, level_of

# Newest current statements about one subject with which a new one is compared.
_COMPARED = 50
_KEY_BYTES = 8
_MOST_AMENDED = 4  # steps from a correction back to what it corrects: "no, 40k", "make that 50", "scratch that"
LINKED_TURNS = 10  # earlier turns to which the statements of an event may be linked
REJECT = "reject"


class Reading(NamedTuple):
    """The statements of an event before comparison with known ones."""

    event: Event
    checked: Checked
    tags: tuple[str, ...]
    correction: Correction | None  # of a statement, if the event is a person's edit
    refused: tuple[str, ...] = ()  # reasons why findings of an LLM were refused
    follows: Mapping[str, str] = MappingProxyType({})  # from an LLM: id -> id of the statement that it replaces
    by_llm: LLMReading = LLMReading()  # findings of an LLM
    amendment: Amendment | None = None  # a correction of what the speaker just said
    amends: Mapping[str, str] = MappingProxyType({})  # id of a statement -> the one that it amends


def read(event: Event, stored: str | None = None) -> Reading:
    """Read an event by rules, and add the stored reading of an LLM. Pure."""
    correction = correction_of(event)
    edit = event.record is not None  # an edit makes no statements itself
    checked = check_all(event, () if edit else extract(event).statements)
    found = LLMReading() if edit else from_body(event, stored)
    noted = beside(checked.accepted, found.noted)
    return Reading(
        event,
        replace(checked, accepted=(*checked.accepted, *(draft for draft, _ in noted))),
        () if edit else tags_of_event(event),
        correction,
        found.refused,
        {statement_id(draft): follows for draft, follows in noted if follows},
        found,
        None if edit else amendment_in(event),
    )


def derive(writer: Writer, readings: Sequence[tuple[int, Reading]], abouts: set[str] | None = None) -> None:
    """Compare the statements of events with known ones, in the order of arrival; abouts: only these subjects."""
    state = _Known(writer)
    if abouts is None:
        writer.put_tags({seq: reading.tags for seq, reading in readings if reading.tags})
    for seq, reading in readings:
        if reading.correction is not None:
            _correct(state, seq, reading, abouts)
            continue
        reading = _with_amended(writer, seq, reading)
        new = [
            statement
            for draft in reading.checked.accepted
            if abouts is None or _about(draft) in abouts
            for statement in _settle(state, seq, reading, draft)
        ]
        # Refusals have no subject, so they stay in the journal when only some subjects are derived again.
        for refusal in reading.checked.rejected if abouts is None else ():
            state.note(seq, reading.event, REJECT, reason=f"{refusal.fault.value}: {refusal.detail}")
        for reason in reading.refused if abouts is None else ():
            state.note(seq, reading.event, REJECT, reason=reason)
        # With `abouts`, derive_anew() makes the links, which need all statements of an event.
        if new and abouts is None:
            writer.put_edges(_edges(writer, seq, new))
    writer.put_changes(state.changes)


def leaning(writer: Writer, seqs: Sequence[int]) -> dict[int, set[str]]:
    """Find the events that amend what was just said, and the subjects of what they amend."""
    readings = ((seq, read(event)) for seq, event in writer.fetch(seqs).items())
    amending = {seq: _with_amended(writer, seq, one) for seq, one in readings if one.amendment is not None}
    return {seq: {_about(draft) for draft in one.checked.accepted} for seq, one in amending.items()}


def derive_anew(writer: Writer, abouts: set[str], seqs: Sequence[int]) -> None:
    """Derive the statements about some subjects again from the remaining events."""
    before = _ids_of(writer, seqs)
    writer.drop_statements(sorted(abouts))
    events, stored = writer.fetch(seqs), writer.readings(seqs)
    derive(writer, [(seq, read(events[seq], stored.get(seq))) for seq in sorted(events)], abouts)
    after = _ids_of(writer, seqs)
    relink(writer, [seq for seq in events if before.get(seq) != after.get(seq)])
    writer.drop_loose_edges()


def relink(writer: Writer, seqs: Sequence[int]) -> None:
    """Renew the links of events whose statements changed, and of the turns after them."""
    for seq in sorted({*seqs, *writer.said_later(seqs, limit=LINKED_TURNS)}):
        stated = writer.statements_of([seq]).get(seq, [])
        writer.drop_links([one.id for one in stated])
        writer.put_edges(_edges(writer, seq, stated) if stated else ())


def stated(writer: Writer, seqs: Sequence[int]) -> list[Stated]:
    """Read events again, with the stored readings of an LLM."""
    events, stored = writer.fetch(seqs), writer.readings(seqs)
    return [stated_in(seq, read(events[seq], stored.get(seq))) for seq in sorted(events)]


def stated_in(seq: int, reading: Reading) -> Stated:
    """Give what the graph needs of a reading."""
    by_llm = reading.by_llm
    return Stated(seq, reading.event, reading.checked.accepted, by_llm.facts, by_llm.extractor)


def _with_amended(writer: Writer, seq: int, reading: Reading) -> Reading:
    """Add the statements of a correction of what the speaker just said."""
    if reading.amendment is None:
        return reading
    accepted = reading.checked.accepted
    stated = [one for one in accepted if one.extractor == EXTRACTOR]
    found = _amended(writer, seq, reading.event, reading.amendment, stated, _MOST_AMENDED)
    return reading._replace(
        checked=replace(reading.checked, accepted=(*accepted, *(one.draft for one in found))),
        amends={statement_id(one.draft): statement_id(one.target) for one in found},
    )


def _amended(
    writer: Writer, seq: int, event: Event, amendment: Amendment, stated: Sequence[StatementDraft], most: int
) -> list[Amended]:
    said = [one for one in stated if one.span.end <= amendment.span.start]
    said = said or _said_before(writer, seq, event, alone=not amendment.sure, most=most)
    return amended(event, amendment, said)


def _said_before(writer: Writer, seq: int, event: Event, *, alone: bool, most: int) -> list[StatementDraft]:
    """List what the same speaker stated or put right in their last turn; alone: and only if nobody spoke after it."""
    before = writer.said_earlier(seq, limit=LINKED_TURNS)
    events = writer.fetch(before[:1] if alone else before)
    place = next((one for one in before if one in events and events[one].speaker == event.speaker), None)
    if place is None:
        return []
    mine = events[place]
    stated = list(check_all(mine, extract(mine).statements).accepted)
    amendment = amendment_in(mine) if most else None
    if amendment is None:
        return stated
    found = _amended(writer, place, mine, amendment, stated, most - 1)
    return [*stated, *(one.draft for one in found)]


@dataclass(slots=True)
class _Known:
    """What is current, as this transaction sees it, and the journal of what it did."""

    writer: Writer
    changes: list[tuple[int, Change]] = field(default_factory=list[tuple[int, Change]])

    def like(self, draft: StatementDraft) -> list[Statement]:
        """Read what a draft may touch, the newest first."""
        keys = _hashed(_about(draft), keys_for(draft))
        known = self.writer.standing_by(keys, limit=_COMPARED)
        return [one for one in known if _about(one) == _about(draft)]

    def levels(self, statements: Sequence[Statement]) -> dict[str, int]:
        """Tell how far the sources of statements are trusted, by the statements' ids."""
        raw = {one.event_id: raw_event_id(one.event_id) or b"" for one in statements}
        found = {known.event.id: known.event for known in self.writer.find(list(raw.values())).values()}
        return {one.id: level_of(found[one.event_id]) if one.event_id in found else 0 for one in statements}

    def add(self, seq: int, statement: Statement) -> None:
        self.writer.put_statement(seq, statement, _hashed(_about(statement), keys_of(statement)))

    def close(self, statement: Statement, outcome: Outcome, event: Event) -> None:
        status = Status.SUPERSEDED if outcome.action is Action.UPDATE else Status.RETRACTED
        at = to_micros(event.recorded_at)[0]
        ends = outcome.ends_at or effective_at(event)
        self.writer.close_statement(statement.id, status=status, valid_to=ends, at=at)

    def undo(self, statement: Statement) -> None:
        """Close a statement as if it had never held; what it had replaced holds again, also in the past."""
        self.writer.close_statement(
            statement.id,
            status=Status.RETRACTED,
            valid_to=statement.valid_from or statement.recorded_at,
            at=to_micros(statement.recorded_at)[0],
        )
        before = self.writer.statement(statement.replaces) if statement.replaces else None
        if before is not None and before.status is Status.SUPERSEDED:
            self.writer.reopen_statement(before.id, _hashed(_about(before), keys_of(before)))

    def note(
        self,
        seq: int,
        event: Event,
        action: str,
        *,
        reason: str,
        statement: str | None = None,
        target: str | None = None,
    ) -> None:
        change = Change(
            at=event.recorded_at,
            action=action,
            reason=reason,
            statement_id=statement,
            target_id=target,
            event_id=event.id,
        )
        self.changes.append((seq, change))


def _settle(state: _Known, seq: int, reading: Reading, draft: StatementDraft) -> Iterable[Statement]:
    """Do what comparing says; give the statement that was added, if one was."""
    event, id, draft = reading.event, statement_id(draft), _in_zone(draft, reading.event)
    if state.writer.statement(id) is not None:
        return ()  # the same words were read twice
    draft, outcome = _back_to(state, reading, draft) or (draft, decide(draft, state.like(draft)))
    if outcome.action is Action.ADD and id in reading.follows:
        followed = state.writer.statement(reading.follows[id])
        outcome = _as_stated(draft, followed, "as an LLM reads it") or outcome
    if outcome.action is Action.ADD and id in reading.amends:
        followed = state.writer.statement(reading.amends[id])
        outcome = _as_stated(draft, followed, "by the speaker's own word") or _nothing_left(followed)
    outcome = _by_trust(state, event, draft, outcome)
    target = outcome.target.id if outcome.target else None
    if outcome.action is Action.NONE:
        if target is not None:  # else the journal could not tell about whom it is, when that is derived anew
            state.note(seq, event, outcome.action, reason=outcome.reason, target=target)
        return ()
    late = outcome.ends_at if outcome.action is Action.ADD else None
    follows = target if outcome.action in (Action.UPDATE, Action.RETRACT) else None
    statement = adopt(draft, recorded_at=event.recorded_at, replaces=follows, superseded_at=late)
    if outcome.target is not None and outcome.target.status is Status.CURRENT and follows is not None:
        state.close(outcome.target, outcome, event)
    state.add(seq, statement)
    state.note(seq, event, outcome.action, reason=outcome.reason, statement=statement.id, target=target)
    for other in outcome.ended:
        ended = Outcome(action=Action.RETRACT, reason="over with it", target=other, ends_at=ended_at(draft, other))
        state.close(other, ended, event)
        state.note(seq, event, ended.action, reason=ended.reason, statement=statement.id, target=other.id)
    return (statement,)


def _by_trust(state: _Known, event: Event, draft: StatementDraft, outcome: Outcome) -> Outcome:
    """Let a less trusted source end nothing that a more trusted one stated; what it claims is kept as not current."""
    touched = [*((outcome.target,) if outcome.target else ()), *outcome.ended]
    level = level_of(event)
    if not touched or (level == HIGHEST_LEVEL and outcome.action is not Action.NONE):
        return outcome
    levels = state.levels(touched)
    higher = [one for one in touched if levels[one.id] > level]
    when = draft.valid_from or effective_at(event)
    if outcome.action is Action.NONE:
        lower = outcome.target is not None and levels[outcome.target.id] < level
        if not lower or outcome.target is None or outcome.target.status is not Status.CURRENT:
            return outcome
        return replace(outcome, action=Action.UPDATE, ends_at=when, reason="said by a more trusted source")
    if not higher:
        return outcome
    if outcome.action is Action.ADD and outcome.target not in higher:
        return replace(outcome, ended=tuple(one for one in outcome.ended if one not in higher))
    reason = "claimed by a less trusted source than what it contradicts"
    return Outcome(action=Action.ADD, target=outcome.target, ends_at=when, reason=reason)


def _in_zone(draft: StatementDraft, event: Event) -> StatementDraft:
    """Convert its times to the time zone of the speaker, as the store will.

    Times of an event dated in the future are capped at its recording time.
    """
    _, zone = to_micros(event.at)
    latest = to_micros(event.recorded_at)[0] if event.at > event.recorded_at else None

    def local(moment: datetime) -> datetime:
        return from_micros(to_micros(moment)[0], zone)

    def known(moment: datetime) -> datetime:
        micros = to_micros(moment)[0]
        return from_micros(micros if latest is None else min(micros, latest), zone)

    date = draft.date and draft.date._replace(start=local(draft.date.start), end=local(draft.date.end))
    return replace(
        draft,
        date=date,
        valid_from=draft.valid_from and known(draft.valid_from),
        valid_to=draft.valid_to and known(draft.valid_to),
    )


def _back_to(state: _Known, reading: Reading, draft: StatementDraft) -> tuple[StatementDraft, Outcome] | None:
    """Restore a statement if what ended or replaced it is taken back."""
    if reading.amendment is None or reading.amendment.value is not None:
        return None
    taken_back = reading.amends.get(statement_id(draft))
    target = state.writer.statement(taken_back) if taken_back else None
    held = state.writer.statement(target.replaces) if target and target.replaces else None
    if target is None or held is None or held.stance is Stance.ENDED or _about(held) != _about(draft):
        return None
    again = _in_zone(restored(reading.event, reading.amendment, held), reading.event)
    # The target may only have ended something; then a newer statement takes precedence.
    only_ended = target.stance is Stance.ENDED and decide(again, state.like(again)).action is Action.ADD
    if target.status is not Status.CURRENT and not only_ended:
        return None
    ends = effective_at(reading.event)
    return again, Outcome(action=Action.UPDATE, target=target, ends_at=ends, reason="taken back, so it holds again")


def _nothing_left(followed: Statement | None) -> Outcome:
    return Outcome(action=Action.NONE, target=followed, reason="corrects what is no longer held")


def _as_stated(draft: StatementDraft, target: Statement | None, reason: str) -> Outcome | None:
    """Accept that a statement ends or replaces a known one, unless it is about an earlier time."""
    ends = draft.valid_to or draft.valid_from
    if target is None or ends is None or draft.stance is Stance.MAYBE:
        return None
    if target.status is not Status.CURRENT or _about(target) != _about(draft):
        return None
    if target.valid_from is not None and ends < target.valid_from:
        return None
    if draft.stance is Stance.STILL:
        return Outcome(action=Action.NONE, target=target, reinforces=True, reason=f"still so, {reason}")
    if draft.stance in (Stance.ENDED, Stance.DONE) or draft.negated != target.negated:
        return Outcome(action=Action.RETRACT, target=target, ends_at=ends, reason=f"over, {reason}")
    if draft.kind is not target.kind:
        return None
    return Outcome(action=Action.UPDATE, target=target, ends_at=ends, reason=f"takes its place, {reason}")


def _correct(state: _Known, seq: int, reading: Reading, abouts: set[str] | None) -> None:
    """Apply a person's edit, which takes precedence over rules."""
    if reading.correction is None:
        return
    action, id, never_true, until = reading.correction
    target = state.writer.statement(id)
    if target is None or (abouts is not None and _about(target) not in abouts):
        return
    event = reading.event
    if target.status is not Status.CURRENT:
        # Noted anyway, so that this event is derived again together with its target.
        state.note(seq, event, Action.NONE, reason=f"by {event.speaker}, when it held no more", target=target.id)
        return
    if never_true:
        state.undo(target)
        reason = f"retracted by {event.speaker}: it was never true"
    else:
        reason = f"retracted by {event.speaker}: no longer true"
        state.close(target, Outcome(action=action, target=target, ends_at=until or event.at, reason=reason), event)
    added = None
    if action is Action.UPDATE:
        added = adopt(corrected(event, target), recorded_at=event.recorded_at, replaces=target.id)
        state.add(seq, added)
        reason = f"corrected by {event.speaker}"
    state.note(seq, event, action, reason=reason, statement=added.id if added else None, target=target.id)


def _about(draft: StatementDraft) -> str:
    return (draft.about or "").casefold()


def _hashed(about: str, keys: Iterable[str]) -> list[int]:
    """Hash keys within one subject, so that no word is left in the index after forgetting."""
    return [int.from_bytes(fingerprint("key", about, key)[:_KEY_BYTES], signed=True) for key in sorted(keys)]


# Links


def _ids_of(writer: Writer, seqs: Sequence[int]) -> dict[int, set[str]]:
    return {seq: {one.id for one in several} for seq, several in writer.statements_of(seqs).items()}


def _edges(writer: Writer, seq: int, new: Sequence[Statement]) -> list[Edge]:
    before = writer.said_earlier(seq, limit=LINKED_TURNS)
    stated = writer.statements_of(before)
    turn_of = {earlier: -distance for distance, earlier in enumerate(before, 1)}
    earlier = [Placed(statement=one, turn=turn_of[at]) for at, several in stated.items() for one in several]
    found = link([Placed(statement=one, turn=0) for one in new], earlier, _similarity)
    return [_edge(one) for one in found]


def _edge(found: Link) -> Edge:
    return Edge(
        source=found.source,
        target=found.target,
        kind=found.kind.value,
        weight=found.weight,
        at=found.at,
        reason=found.reason,
    )


def _similarity(one: Statement, other: Statement) -> float:
    """Compare by words; vectors would make the result depend on the model."""
    mine, theirs = set(question_terms(one.content)), set(question_terms(other.content))
    return len(mine & theirs) / math.sqrt(len(mine) * len(theirs)) if mine and theirs else 0.0
