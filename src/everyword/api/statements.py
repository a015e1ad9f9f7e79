"""Read statements of a scope with their history, and correct or retract them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from everyword.api.arguments import Time, checked_id, checked_text, chosen, time_or_none
from everyword.api.scope import Scope
from everyword.engine.retry import again
from everyword.errors import InvalidInput, NotFound, OutOfDate
from everyword.storage.protocol import Reader
from everyword.storage.rows import FACTS, STATEMENTS, StatementFilter
from everyword.types.events import Change, Event, Json
from everyword.types.records import Reason, RecordKind
from everyword.types.statements import History, Statement, StatementKind, Status, Version

_ANY = "any"


def read_statement(scope: Scope, id: str) -> Statement:
    """Read one statement by its id."""
    with scope.reader(STATEMENTS) as reader:
        found = reader.statement(id) if isinstance(id, str) else None
    if found is None or (scope.wing is not None and _source(scope, found).wing != scope.wing):
        raise NotFound(f"There is no statement with id {id!r} here.")
    return found


def read_history(scope: Scope, id: str | None, events: Sequence[str] | None) -> History:
    """Read every version of a statement, or of all that some events state, and why each followed the one before."""
    if (id is None) == (events is None):
        raise InvalidInput("Give either a statement's id or events.")
    known = [read_statement(scope, id)] if id is not None else []
    with scope.reader(STATEMENTS) as reader:
        if events is not None:
            seqs = {known.event.id: known.seq for known in reader.find([checked_id(id) for id in events]).values()}
            stated = reader.statements_of(list(seqs.values()))
            known += [one for id in dict.fromkeys(events) for one in stated.get(seqs.get(id, -1), ())]
            known += [one for id in reader.confirmed_by(list(seqs.values())) if (one := reader.statement(id))]
        chains = reader.versions([one.id for one in known])
        versions = {one.id: one for begun in known for one in chains.get(begun.id, ())}
        chain, changes = list(versions.values()), reader.changes(list(versions))
        if scope.wing is not None:
            chain, changes = _within_wing(scope, reader, chain, changes)
        sources = reader.find([checked_id(one.event_id) for one in chain]).values()
        said = {source.event.id: source.event.at for source in sources}
    return History(
        versions=tuple(
            Version(
                statement=one,
                said_at=said[one.event_id],
                changes=tuple(change for change in changes if one.id in (change.statement_id, change.target_id)),
            )
            for one in chain
        )
    )


def correct_statement(scope: Scope, id: str, text: str, *, by: str | None) -> Statement:
    """Write a correction, and return the statement that holds then."""
    from everyword.knowledge.comparing import payload_of  # not for a process that only asks
    from everyword.knowledge.graph import speaker_of

    words = checked_text("text", text)
    known, source = again(scope.engine, lambda: _current(scope, id))
    payload = payload_of(known, speaker=speaker_of(source))
    return _edit(scope, known, source, RecordKind.CORRECTION, payload, words, by)


def retract_statement(scope: Scope, id: str, *, reason: str, at: Time | None, by: str | None) -> Statement:
    """Write a retraction, and return the statement that was taken back."""
    why = chosen(Reason, "reason", reason) or Reason.ENDED
    if at is not None and why is not Reason.ENDED:
        raise InvalidInput("Only reason='ended' takes at; what was never true has no end.")
    known, source = again(scope.engine, lambda: _current(scope, id))
    ended = time_or_none(at, "at")
    if ended is not None and known.valid_from is not None and ended < known.valid_from:
        raise InvalidInput(f"It can't have ended before it began, {known.valid_from.isoformat()}.")
    from everyword.knowledge.comparing import payload_of  # not for a process that only asks

    payload = payload_of(known, reason=why, until=ended)
    return _edit(scope, known, source, RecordKind.RETRACTION, payload, "", by)


def statement_filter(
    scope: Scope, *, kind: str | None, about: str | None, status: str, tag: str | None, as_of: Time | None
) -> StatementFilter:
    """Check the filters of a list of statements."""
    return StatementFilter(
        kind=chosen(StatementKind, "kind", kind),
        about=about,
        status=chosen(Status, "status", status, also=_ANY),
        tag=tag,
        wing=scope.wing,
        as_of=time_or_none(as_of, "as_of"),
    )


def _within_wing(
    scope: Scope, reader: Reader, chain: Sequence[Statement], changes: Sequence[Change]
) -> tuple[list[Statement], list[Change]]:
    """Leave out what other wings said; a reason quotes both sides, so both must be of this wing."""
    said = {*(one.event_id for one in chain), *(change.event_id for change in changes if change.event_id)}
    found = reader.find([checked_id(id) for id in said]).values()
    here = {known.event.id for known in found if known.event.wing == scope.wing}
    kept = [one for one in chain if one.event_id in here]
    ids = {None, *(one.id for one in kept)}
    visible = [one for one in changes if one.event_id in here and {one.statement_id, one.target_id} <= ids]
    return kept, visible


def _current(scope: Scope, id: str) -> tuple[Statement, Event]:
    """Read a statement that may be changed, and the event that states it."""
    known = read_statement(scope, id)
    if known.status is not Status.CURRENT:
        raise OutOfDate(
            f"{id} is {known.status}; only current statements can be changed.", fix="`history` shows what replaced it."
        )
    return known, _source(scope, known)


def _edit(
    scope: Scope,
    known: Statement,
    source: Event,
    kind: RecordKind,
    payload: Mapping[str, Json],
    text: str,
    by: str | None,
) -> Statement:
    """Write the record that changes a statement; return what holds then, or the statement that was taken back."""
    scope.record(kind, payload, by=by, events=[source.id], text=text, wing=source.wing)
    scope.derive(STATEMENTS, FACTS)  # also where the settings leave deriving to settle()

    def outcome() -> Statement:
        with scope.reader(STATEMENTS) as reader:
            chain = reader.versions([known.id]).get(known.id, ())
        return next((one for one in chain if one.replaces == known.id), None) or read_statement(scope, known.id)

    return again(scope.engine, outcome)


def _source(scope: Scope, known: Statement) -> Event:
    return scope.source(known.event_id, f"statement {known.id}")
