"""Derive statements from events, with tags.

Reading an event is pure; comparing it with known statements needs the write lock.
Each event is compared only with earlier statements about the same subject, so that deriving all or some of them again
gives the same result.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from everyword.errors import Closed
from everyword.knowledge.claims import meaning_of
from everyword.knowledge.comparing import (
    Action,
    Compare,
    Correction,
    Outcome,
    Verdict,
    begun,
    corrected,
    correction_of,
    decide,
    ended_at,
    keys_of,
    put_into_effect,
    same_subject,
    verdict_of,
)
from everyword.knowledge.drafts import drafts_of, mentions_in
from everyword.knowledge.graph import Stated
from everyword.knowledge.llm.answers import LLMReading, beside, from_body
from everyword.knowledge.reading import EventReading, compared_in, read_event, said_by_user, to_body, turn_of
from everyword.knowledge.reading import from_body as reading_from_body
from everyword.models.onnx import each
from everyword.models.reader.reader import TextReader
from everyword.models.reader.rows import Side
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import STATEMENTS
from everyword.types.events import Change, Event, Span, fingerprint
from everyword.types.statements import DONE, Stance, Statement, StatementDraft, Status, adopt, statement_id
from everyword.types.times import from_micros, to_micros
from everyword.types.trust import HIGHEST_LEVEL, effective_at, level_of

# Newest current statements about one subject with which a new one is compared.
_COMPARED = 50
# First statements of an event that the reader compares. It does so under the write lock, for which others wait; a
# message has a few statements, and a text of many is no message.
_MOST_COMPARING = 24
_KEY_BYTES = 8
_PAIR_CHARS = 8  # of each id, in the key of a stored comparison
REJECT = "reject"
_CLOSING = (Action.UPDATE, Action.RETRACT)


class Reading(NamedTuple):
    """The statements of an event before comparison with known ones."""

    event: Event
    found: EventReading  # by the reader
    drafts: tuple[StatementDraft, ...]  # of `found`
    accepted: tuple[StatementDraft, ...]  # `drafts`, but none of an edit, and what an LLM found beside them
    correction: Correction | None  # of a statement, if the event is a person's edit
    compared: dict[str, str]  # verdicts of the reader on pairs of statements, added to while deriving
    follows: Mapping[str, str] = MappingProxyType({})  # from an LLM: id -> id of the statement that it replaces
    by_llm: LLMReading = LLMReading()  # findings of an LLM


def read_new(
    reader: Reader, model: TextReader | None, rows: Iterable[tuple[int, Event]], stopping: threading.Event | None = None
) -> dict[int, EventReading]:
    """Read events with the model, but those whose reading is stored. stopping: once it is set, raise Closed."""
    rows = list(rows)
    if model is None or not rows:
        return {}
    stored = reader.model_readings([seq for seq, _ in rows])
    unread = [(seq, event) for seq, event in rows if stored.get(seq, ("",))[0] != model.name]
    turns = [(said_by_user(event), event_before(reader, seq, event)) for seq, event in unread]

    def read(turn: tuple[Event, Event | None]) -> EventReading:
        if stopping is not None and stopping.is_set():
            raise Closed("The memory is being closed.")
        return read_event(model, *turn)

    readings = each(read, turns)
    return {seq: reading for (seq, _), reading in zip(unread, readings, strict=True)}


def event_before(reader: Reader, seq: int, event: Event) -> Event | None:
    """Find the event before one in its session."""
    if event.session is None or event.record is not None:
        return None
    before = reader.said_earlier(seq, limit=1)
    return reader.fetch(before).get(before[0]) if before else None


def readings_of(
    reader: Reader,
    rows: Iterable[tuple[int, Event]],
    model: TextReader | None = None,
    found: Mapping[int, EventReading] = MappingProxyType({}),
) -> dict[int, Reading]:
    """Give the readings of events: those just `found`, stored ones, and what an LLM found."""
    rows = list(rows)
    seqs = [seq for seq, _ in rows]
    stored, by_llm = reader.model_readings(seqs), reader.readings(seqs)
    missing = [(seq, event) for seq, event in rows if seq not in found and seq not in stored]
    found = {**read_new(reader, model, missing), **found}
    return {seq: _reading(event, found.get(seq), stored.get(seq), by_llm.get(seq), model) for seq, event in rows}


def _reading(
    event: Event,
    found: EventReading | None,
    stored: tuple[str, str] | None,
    by_llm: str | None,
    model: TextReader | None,
) -> Reading:
    name = model.name if found is not None and model is not None else stored[0] if stored else ""
    compared: dict[str, str] = {}
    if found is None:
        found = reading_from_body(event, stored[1]) if stored else EventReading()
        compared = compared_in(stored[1]) if stored else {}
    edit = event.record is not None  # an edit makes no statements itself
    drafts = drafts_of(said_by_user(event), found, name)
    accepted = [] if edit else drafts
    told = LLMReading() if edit else from_body(event, by_llm)
    noted = beside(accepted, told.noted)
    return Reading(
        event,
        found,
        tuple(drafts),
        (*accepted, *(draft for draft, _ in noted)),
        correction_of(event),
        compared,
        {statement_id(draft): follows for draft, follows in noted if follows},
        told,
    )


def derive(
    writer: Writer,
    readings: Sequence[tuple[int, Reading]],
    model: TextReader | None,
    abouts: set[str] | None = None,
    numbers: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Compare the statements of events with known ones, in the order of arrival.

    abouts: only these subjects. numbers: row numbers that statements had before they were dropped, by id.
    """
    state = _Known(writer, model, numbers)
    if abouts is None:
        writer.put_tags({seq: tags for seq, reading in readings if (tags := _tags(reading))})
    kept: dict[int, str] = {}
    for seq, reading in readings:
        if reading.correction is not None:
            _correct(state, seq, reading, abouts)
            continue
        known = len(reading.compared)
        for number, draft in enumerate(reading.accepted):
            if abouts is None or _about(draft) in abouts:
                _settle(state, seq, reading, draft, compares=number < _MOST_COMPARING)
        # Refusals have no subject, so they stay in the journal when only some subjects are derived again.
        for reason in reading.by_llm.refused if abouts is None else ():
            state.note(seq, reading.event, REJECT, reason, None, None)
        if reading.found != EventReading() and (abouts is None or len(reading.compared) > known):
            kept[seq] = to_body(reading.found, reading.compared)
    writer.put_changes(state.changes)
    if model is not None and kept:
        writer.put_model_readings(kept, model=model.name)


def _tags(reading: Reading) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for draft in reading.accepted for tag in draft.tags))


def derive_anew(
    writer: Writer, model: TextReader | None, abouts: set[str], seqs: Sequence[int], reread: Iterable[int] = ()
) -> list[int]:
    """Derive the statements about some subjects again from the remaining events; give the events that this changed.

    reread: events that were read again, so that others have to be compared with them again.
    """
    # What is derived as before keeps its place, and is no news for those who read on from a number.
    before, numbers = _ids_of(writer, seqs), writer.statement_numbers(seqs)
    writer.drop_statements(sorted(abouts))
    readings = readings_of(writer, sorted(writer.fetch(seqs).items()))
    if model is not None:
        _forget_verdicts(writer, model, readings, reread)
    derive(writer, sorted(readings.items()), model, abouts, numbers)
    after = _ids_of(writer, seqs)
    return [seq for seq in readings if before.get(seq) != after.get(seq)]


class Reread(NamedTuple):
    """An event that was read again."""

    abouts: set[str]  # whom it was and is about
    renamed: bool  # whether its names changed


def read_without(writer: Writer, model: TextReader | None, seqs: Sequence[int]) -> dict[int, Reread]:
    """Read events again whose turn before is forgotten: it may have helped to understand them."""
    upto, again = writer.cursor(STATEMENTS), dict[int, Reread]()
    stored = writer.model_readings(seqs)
    for seq, event in sorted(writer.fetch(seqs).items()):
        if model is None or event.record is not None or seq > upto:
            continue
        before = reading_from_body(event, stored[seq][1]) if seq in stored else EventReading()
        now = read_event(model, event, event_before(writer, seq, event))
        writer.put_model_readings({seq: to_body(now)}, model=model.name)
        now = reading_from_body(event, to_body(now))
        _retag(writer, seq, event)
        abouts = {(one.about or "").casefold() for one in (*before.statements, *now.statements)}
        again[seq] = Reread(abouts, renamed=before.names != now.names)
    return again


def _retag(writer: Writer, seq: int, event: Event) -> None:
    """Renew the tags and the refusals of an event."""
    reading = readings_of(writer, [(seq, event)])[seq]
    writer.drop_tags([seq])
    writer.put_tags({seq: _tags(reading)})
    writer.drop_refusals([seq])
    writer.put_changes((seq, change_of(event, REJECT, reason)) for reason in reading.by_llm.refused)


def _forget_verdicts(writer: Writer, model: TextReader, readings: Mapping[int, Reading], seqs: Iterable[int]) -> None:
    """Forget how statements compare to those of some events, which were read again."""
    stale = {_short(statement_id(draft)) for seq in seqs if seq in readings for draft in readings[seq].accepted}
    for seq, reading in readings.items():
        old = [key for key in reading.compared if key[_PAIR_CHARS:] in stale]
        for key in old:
            del reading.compared[key]
        if old:
            writer.put_model_readings({seq: to_body(reading.found, reading.compared)}, model=model.name)


def stated(writer: Writer, seqs: Sequence[int]) -> list[Stated]:
    """Read events again, as they were read before."""
    readings = readings_of(writer, sorted(writer.fetch(seqs).items()))
    return [stated_in(seq, reading) for seq, reading in readings.items()]


def stated_in(seq: int, reading: Reading) -> Stated:
    """Give what the graph needs of a reading."""
    by_llm = reading.by_llm
    drafts = reading.drafts if reading.event.record is not None else reading.accepted
    likely = {one.span: one.relation_confidence for one in reading.found.statements}
    return Stated(seq, reading.event, drafts, mentions_in(reading.found), by_llm.facts, by_llm.extractor, likely)


class _Known(Struct):
    """What is current, as this transaction sees it, and the journal of what it did."""

    writer: Writer
    model: TextReader | None
    numbers: Mapping[str, int]
    changes: list[tuple[int, Change]] = field(default_factory=list[tuple[int, Change]])

    def like(self, draft: StatementDraft) -> list[Statement]:
        """Read what a draft may touch, the newest first."""
        keys = _hashed(_about(draft), keys_of(draft))
        known = self.writer.standing_by(keys, limit=_COMPARED)
        return [one for one in known if same_subject(draft, one)]

    def compare(self, seq: int, reading: Reading) -> Compare | None:
        """Compare statements of an event with known ones by the reader, if there is one; what it said once is kept."""
        if (model := self.model) is None:
            return None

        def verdict(draft: StatementDraft, known: Statement) -> Verdict:
            key = f"{_short(statement_id(draft))}{_short(known.id)}"
            if key not in reading.compared:
                earlier = self._side(known)
                later = self._of(seq, reading.event, draft.span, draft.about)
                found = verdict_of(model.compare(earlier, later)) if earlier is not None else Verdict.OTHER
                reading.compared[key] = found.value
            return Verdict(reading.compared[key])

        return verdict

    def _side(self, known: Statement) -> Side | None:
        found = self.writer.known([known.event_id]).get(known.event_id)
        return self._of(found.seq, found.event, known.span, known.about) if found is not None else None

    def _of(self, seq: int, event: Event, span: Span, about: str | None) -> Side:
        before = event_before(self.writer, seq, event)
        return Side(turn_of(event), span, about or "", turn_of(before) if before is not None else None)

    def levels(self, statements: Sequence[Statement]) -> dict[str, int]:
        """Tell how far the sources of statements are trusted, by the statements' ids."""
        found = self.writer.known(one.event_id for one in statements)
        return {one.id: level_of(found[one.event_id].event) if one.event_id in found else 0 for one in statements}

    def add(self, seq: int, statement: Statement) -> None:
        keys = _hashed(_about(statement), keys_of(statement))
        self.writer.put_statement(seq, statement, keys, number=self.numbers.get(statement.id))

    def close(self, statement: Statement, outcome: Outcome, event: Event, *, over: bool = True) -> None:
        """Close a statement; over: what it says holds no more, so that it ends."""
        status = Status.SUPERSEDED if outcome.action is Action.UPDATE else Status.RETRACTED
        at = to_micros(event.recorded_at)[0]
        ends = outcome.ends_at or effective_at(event) if over else None
        self.writer.close_statement(statement.id, status=status, valid_to=ends, at=at)

    def undo(self, statement: Statement) -> None:
        """Close a statement as if it had never held; what it had replaced holds again, also in the past."""
        self.writer.close_statement(
            statement.id,
            status=Status.RETRACTED,
            valid_to=statement.valid_from or statement.recorded_at,
            at=to_micros(statement.recorded_at)[0],
        )
        for id in self._closed_by(statement):
            before = self.writer.statement(id)
            if before is not None and before.status is not Status.CURRENT:
                self.writer.reopen_statement(before.id, _hashed(_about(before), keys_of(before)))

    def _closed_by(self, statement: Statement) -> list[str]:
        """List what a statement ended: what it replaced, and what was over with it."""
        journal = [*self.writer.changes([statement.id]), *(change for _, change in self.changes)]
        closing = [one for one in journal if one.statement_id == statement.id and one.action in _CLOSING]
        return list(dict.fromkeys(one.target_id for one in closing if one.target_id is not None))

    def note(self, seq: int, event: Event, action: str, reason: str, statement: str | None, target: str | None) -> None:
        self.changes.append((seq, change_of(event, action, reason, statement=statement, target=target)))


def change_of(
    event: Event, action: str, reason: str, *, statement: str | None = None, target: str | None = None
) -> Change:
    """Make an entry of the journal about what an event did."""
    at = event.recorded_at
    return Change(at=at, action=action, reason=reason, statement_id=statement, target_id=target, event_id=event.id)


def _settle(state: _Known, seq: int, reading: Reading, draft: StatementDraft, *, compares: bool) -> None:
    """Do what comparing says. compares: whether the reader is asked."""
    event, id, draft = reading.event, statement_id(draft), _in_zone(draft, reading.event)
    if state.writer.statement(id) is not None:
        return  # the same words were read twice
    outcome = decide(draft, state.like(draft), state.compare(seq, reading) if compares else None)
    if outcome.action is Action.ADD and id in reading.follows:
        followed = state.writer.statement(reading.follows[id])
        outcome = _as_stated(draft, followed) or outcome
    new = begun(draft, outcome.fulfilled) if outcome.fulfilled is not None else None
    if new is not None:
        outcome = put_into_effect(new, outcome, state.like(new))
        if meaning_of(draft.slot and draft.slot.attribute) is None and new.value and new.value in draft.quote:
            draft = replace(draft, slot=new.slot, value=new.value)
    holding = outcome.fulfilled if new is not None else None  # the plan, which is no goal any more, and true
    outcome = _by_trust(state, event, draft, outcome)
    target = outcome.target.id if outcome.target else None
    if outcome.action is Action.NONE:
        if target is not None:  # else the journal could not tell about whom it is, when that is derived anew
            state.note(seq, event, outcome.action, outcome.reason, None, target)
        return
    late = outcome.ends_at if outcome.action is Action.ADD else None
    follows = target if outcome.action in (Action.UPDATE, Action.RETRACT) else None
    statement = adopt(draft, recorded_at=event.recorded_at, replaces=follows, superseded_at=late)
    if outcome.target is not None and outcome.target.status is Status.CURRENT and follows is not None:
        state.close(outcome.target, outcome, event, over=outcome.target is not holding)
    state.add(seq, statement)
    state.note(seq, event, outcome.action, outcome.reason, statement.id, target)
    for other in outcome.ended:
        reason = DONE if other is outcome.fulfilled else "over with it"
        ended = Outcome(action=Action.RETRACT, reason=reason, target=other, ends_at=ended_at(draft, other))
        state.close(other, ended, event, over=other is not holding)
        state.note(seq, event, ended.action, ended.reason, statement.id, other.id)


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

    def local(moment: datetime) -> datetime:
        return from_micros(to_micros(moment)[0], zone)

    def known(moment: datetime) -> datetime:
        return local(min(moment, event.recorded_at) if event.at > event.recorded_at else moment)

    date, since, until = draft.date, draft.valid_from, draft.valid_to
    date = date and date._replace(start=local(date.start), end=local(date.end))
    return replace(draft, date=date, valid_from=since and known(since), valid_to=until and known(until))


def _as_stated(draft: StatementDraft, target: Statement | None) -> Outcome | None:
    """Accept what an LLM says: that a statement ends or replaces a known one, unless it is about an earlier time."""
    ends = draft.valid_to or draft.valid_from
    if target is None or ends is None or draft.stance is Stance.MAYBE:
        return None
    if target.status is not Status.CURRENT or _about(target) != _about(draft):
        return None
    if target.valid_from is not None and ends < target.valid_from:
        return None
    if draft.stance is Stance.STILL:
        return Outcome(action=Action.NONE, target=target, reason="still so, as an LLM reads it")
    if draft.stance in (Stance.ENDED, Stance.DONE) or draft.negated != target.negated:
        return Outcome(action=Action.RETRACT, target=target, ends_at=ends, reason="over, as an LLM reads it")
    if draft.kind is not target.kind:
        return None
    return Outcome(action=Action.UPDATE, target=target, ends_at=ends, reason="takes its place, as an LLM reads it")


def _correct(state: _Known, seq: int, reading: Reading, abouts: set[str] | None) -> None:
    """Apply a person's edit, which takes precedence over what was read."""
    if reading.correction is None:
        return
    action, id, never_true, until = reading.correction
    target = state.writer.statement(id)
    if target is None or (abouts is not None and _about(target) not in abouts):
        return
    event = reading.event
    if target.status is not Status.CURRENT:
        # Noted anyway, so that this event is derived again together with its target.
        state.note(seq, event, Action.NONE, f"by {event.speaker}, when it held no more", None, target.id)
        return
    added = None
    ended = until or event.at
    if action is Action.UPDATE:
        drafts = [_in_zone(draft, event) for draft in reading.drafts]
        added = adopt(corrected(event, target, drafts), recorded_at=event.recorded_at, replaces=target.id)
        ended = ended_at(added, target) or ended
    if never_true:
        state.undo(target)
        reason = f"retracted by {event.speaker}: it was never true"
    else:
        reason = f"retracted by {event.speaker}: no longer true"
        state.close(target, Outcome(action=action, target=target, ends_at=ended, reason=reason), event)
    if added is not None:
        state.add(seq, added)
        reason = f"corrected by {event.speaker}"
    state.note(seq, event, action, reason, added.id if added else None, target.id)


def _short(id: str) -> str:
    return id.rpartition("_")[2][:_PAIR_CHARS]


def _about(draft: StatementDraft) -> str:
    return (draft.about or "").casefold()


def _hashed(about: str, keys: Iterable[str]) -> list[int]:
    """Hash keys within one subject, so that no word is left in the index after forgetting."""
    return [int.from_bytes(fingerprint("key", about, key)[:_KEY_BYTES], signed=True) for key in sorted(keys)]


def _ids_of(writer: Writer, seqs: Sequence[int]) -> dict[int, set[tuple[str, str | None]]]:
    return {seq: {(one.id, one.replaces) for one in several} for seq, several in writer.statements_of(seqs).items()}
