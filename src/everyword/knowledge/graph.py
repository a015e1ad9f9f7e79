"""Maintain the temporal graph: names, the claims of events about them, and the facts that follow.

Names and statements come from the reader. Which entity a name belongs to, and which facts follow from claims, does not
depend on the order of events. Forgetting removes the effects of events, as if they had never been said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple, cast

from msgspec import Struct, field
from msgspec.structs import replace

from everyword.knowledge.claims import ToldFact, When, claims_of, named_values, overlap, told_facts
from everyword.knowledge.comparing import Action, begun, correction_of
from everyword.knowledge.llm.summaries import forget_written
from everyword.knowledge.names import SPEAKER_VOTE, NameIndex
from everyword.knowledge.reading import NAMELESS, is_assistant, said_by_user, speaker_name
from everyword.knowledge.timeline import timeline
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import FACTS, SPEAKS, SUMMARISE, FactKey, Known, MentionRow, NameRow
from everyword.storage.sql.graph import fact_line, single_of
from everyword.types.events import Event, Span
from everyword.types.graph import RELATIONS, EntityType, FactDraft, KnownName, Mention, entity_id, name_key
from everyword.types.records import RecordKind, events_of, speaks_for
from everyword.types.statements import BY_HAND, DONE, Statement, StatementDraft
from everyword.types.times import to_micros
from everyword.types.trust import effective_at, source_of, states_nothing

_OF_STATEMENTS = (RecordKind.CORRECTION.value, RecordKind.RETRACTION.value)
_INDEX = "names"  # key of the name index in the process cache of a space
_LONGEST_OBJECT = 200  # characters of an object; longer ones make no fact


class Stated(NamedTuple):
    """An event with its place in the log and its statements."""

    seq: int
    event: Event
    drafts: Sequence[StatementDraft]
    mentions: Sequence[Mention] = ()
    llm_facts: Sequence[ToldFact] = ()  # facts from an LLM
    extractor: str = ""  # the LLM
    likely: Mapping[Span, float] = MappingProxyType({})  # how likely a statement has its relation


def add_events(writer: Writer, stated: Sequence[Stated]) -> None:
    """Read names and claims of events, in the order of arrival."""
    index = _index(writer)
    noted = _Noted(writer.space)
    for one in stated:
        noted.add(index, one)
    version = writer.next_graph_version()
    keys = _fact_keys(writer, noted.moved)
    writer.put_names(noted.rows(index), version=version)
    writer.move_names({id: index.home_of(id) for id in sorted(noted.moved)}, version=version)
    writer.put_mentions(noted.mentions)
    writer.put_claims(noted.claims)
    edits = [one for one in stated if one.event.record is not None]
    ending = _put_ends(writer, stated)  # first, since an edit may void an end
    _put_edits(writer, edits)
    seqs = [*(seq for seq, _ in noted.claims), *(one.seq for one in edits), *ending]
    keys |= _keys_now(writer, noted.moved, seqs)
    fold(writer, keys)
    _remember(writer, index, version)


def drop(writer: Writer) -> None:
    """Remove everything derived; edits by people stay."""
    writer.drop_graph()
    writer.next_graph_version(gone=True)


def reread(writer: Writer, stated: Sequence[Stated]) -> None:
    """Replace the claims of events whose statements changed, because an LLM read them or its reading was dropped."""
    upto = writer.cursor(FACTS)
    here = [one for one in stated if one.seq <= upto]
    if not here:
        return
    known = {one.seq for one in here}
    about = _edits_of(writer, [one.event.id for one in here])
    edits = [Stated(one.seq, one.event, ()) for one in about if one.seq <= upto]
    here = sorted([*here, *(one for one in edits if one.seq not in known)], key=lambda one: one.seq)
    seqs = [one.seq for one in here]
    rows: dict[int, list[MentionRow]] = {}
    for row in writer.mentions(seqs=seqs):
        rows.setdefault(row.seq, []).append(row)
    before = bearing_on(writer, seqs)
    writer.drop_claims(seqs)
    claims = [
        (one.seq, draft)
        for one in here
        for draft in _claims(writer.space, mentions_of(one.event, rows.get(one.seq, ())), one)
    ]
    writer.put_claims(claims)
    _put_ends(writer, here)
    _put_edits(writer, [one for one in here if one.event.record is not None])
    fold(writer, {*before, *_keys_now(writer, (), seqs)})


def _edits_of(reader: Reader, ids: Iterable[str]) -> list[Known]:
    """List the corrections and retractions of some events, and those of these edits in turn."""
    found: dict[str, Known] = {}
    sought = set(ids)
    for one in reader.records(_OF_STATEMENTS):  # an edit of an edit comes after it
        if sought & set(events_of(one.event)):
            found[one.event.id] = one
            sought.add(one.event.id)
    return list(found.values())


def fold(writer: Writer, keys: Iterable[FactKey]) -> None:
    """Compute the facts that follow from claims, and write those that changed."""
    for key in sorted(set(keys), key=str):
        claims = {
            row.draft: row.number
            for row in writer.claims(key)
            # A claim between two names of one entity is no fact.
            if row.draft.object != row.draft.subject and key.object in (None, row.draft.object)
        }
        after = {fact.id: fact for fact in timeline(claims)}
        lines = {id: fact_line(fact, [claims[source] for source in fact.sources]) for id, fact in after.items()}
        before = writer.fact_rows(key)
        gone = [id for id, line in before.items() if lines.get(id) != line]
        if gone:
            writer.drop_facts(gone)
        writer.put_facts(
            [
                (fact, lines[id], [claims[source] for source in fact.sources])
                for id, fact in after.items()
                if before.get(id) != lines[id]
            ]
        )


# Edits of statements

_NOWHERE = Span(0, 0)  # of a claim that follows from an edit


def _put_edits(writer: Writer, edits: Sequence[Stated]) -> None:
    """Add the claims of corrections and retractions about the claims under their statement."""
    for seq, event, *_ in edits:
        correction = correction_of(event)
        if correction is None:
            continue
        held = _claims_under(writer, correction.statement_id)
        if event.record == RecordKind.CORRECTION:
            said = [row.draft for row in writer.claims_of(seqs=[seq])]
            drafts = [*_voids(held, event), *_dated_as(held, said)]
        elif correction.never_true:
            drafts = _voids([*held, *_undone_with(writer, correction.statement_id)], event)
        else:
            drafts = _ends(held, event, correction.until or event.at)
        writer.put_claims([(seq, draft) for draft in dict.fromkeys(drafts)])


def _put_ends(writer: Writer, stated: Sequence[Stated]) -> list[int]:
    """End the claims of statements that these events closed, and begin what plans that came true were about.

    Give the events that changed something.
    """
    own = {one.seq: one.event for one in stated if one.drafts and one.event.record is None}
    made = {one.id: (seq, one) for seq, several in writer.statements_of(sorted(own)).items() for one in several}
    ending: list[int] = []
    for change in writer.changes(sorted(made)):
        if change.statement_id not in made or change.target_id is None:
            continue
        if change.action not in (Action.UPDATE, Action.RETRACT):
            continue
        seq, said = made[change.statement_id]
        target = writer.statement(change.target_id)
        held = [one for one in _claims_under(writer, change.target_id) if one.event_id != own[seq].id]
        if target is None:
            continue
        claims = _begins(writer, own[seq], said, target) if change.reason == DONE else []
        if held:
            claims += _ends(held, own[seq], target.valid_to or own[seq].at)
        claims = [replace(one, span=said.span, quote=said.quote, extractor=said.extractor) for one in claims]
        if claims:
            writer.put_claims([(seq, draft) for draft in dict.fromkeys(claims)])
            ending.append(seq)
    return ending


def _begins(writer: Writer, event: Event, said: Statement, plan: Statement) -> list[FactDraft]:
    """Claim what holds since an event said that a plan came true."""
    new, known = begun(said, plan), writer.known([plan.event_id]).get(plan.event_id)
    if new is None or known is None:
        return []
    named = mentions_of(known.event, writer.mentions(seqs=[known.seq]))
    when = When(valid_from=new.valid_from, begun_by=new.valid_from, holds_at=event.at)
    claims = claims_of(said_by_user(known.event), [new], named, NameIndex(writer.space))
    return [replace(_edited(one, event), source=source_of(event), **when._asdict()) for one in claims]


def _voids(held: Sequence[FactDraft], event: Event) -> list[FactDraft]:
    """Void claims; the old ones stay, for questions about what was known before."""
    return [replace(_edited(draft, event), voids=draft.place) for draft in held]


def _ends(held: Sequence[FactDraft], event: Event, at: datetime) -> list[FactDraft]:
    """End the lasting claims that have no end; single happenings need none."""
    going_on = [draft for draft in held if draft.valid_to is None]
    lasting = [draft for draft in going_on if (known := RELATIONS.get(draft.relation)) is None or known.lasts]
    # A claim may be about a time after the edit; the end must come after that.
    return [
        replace(_edited(draft, event), valid_to=at, ended_by=max(at, _last_moment(draft) + timedelta(microseconds=1)))
        for draft in lasting
    ]


def _last_moment(draft: FactDraft) -> datetime:
    """Return the last moment at which a claim says that something holds."""
    said = [one for one in (draft.valid_from, draft.begun_by, draft.holds_at) if one is not None]
    return max(said, default=draft.said_at)


def _dated_as(held: Sequence[FactDraft], said: Sequence[FactDraft]) -> list[FactDraft]:
    """Give a correction without a time the times of the claim that it corrects."""
    before = {(draft.subject_form, draft.relation): draft for draft in held}
    return [
        replace(
            draft,
            valid_from=old.valid_from,
            begun_by=old.begun_by,
            holds_at=(old.holds_at or old.said_at) if old.valid_from is None else old.holds_at,
        )
        for draft in said
        if draft.valid_from is None and draft.valid_to is None
        for old in [before.get((draft.subject_form, draft.relation))]
        if old is not None
    ]


def _edited(draft: FactDraft, event: Event) -> FactDraft:
    """Convert a claim to one of a later event: with the time of that event, and no quote."""
    return replace(
        draft,
        event_id=event.id,
        span=_NOWHERE,
        quote="",
        said_at=event.at,
        recorded_at=event.recorded_at,
        extractor=BY_HAND,
        **When()._asdict(),
    )


def _claims_under(writer: Writer, statement_id: str) -> list[FactDraft]:
    """List the claims that rest on the words of a statement."""
    statement, own, claims = _stated_at(writer, statement_id)
    return [one for one in claims if statement is not None and not one.voids and _rests_on(one, statement, own)]


def _undone_with(writer: Writer, statement_id: str) -> list[FactDraft]:
    """List the ends of other claims that a statement made, and what it took back as a correction."""
    statement, _, claims = _stated_at(writer, statement_id)
    ends = [one for one in claims if one.valid_to is not None and statement is not None and one.span == statement.span]
    return [*(one for one in ends if not one.voids), *(one for one in claims if one.voids)]


def _stated_at(writer: Writer, id: str) -> tuple[Statement | None, list[Statement], list[FactDraft]]:
    """Find a statement, the others of its event, and the claims of that event."""
    statement = writer.statement(id)
    seqs = [known.seq for known in writer.known([statement.event_id]).values()] if statement is not None else []
    others = [one for several in writer.statements_of(seqs).values() for one in several if one.id != id]
    return statement, others, [row.draft for row in writer.claims_of(seqs=seqs)] if seqs else []


def _rests_on(claim: FactDraft, statement: StatementDraft, others: Sequence[StatementDraft]) -> bool:
    """Tell whether a claim belongs to a statement, also if several statements share its words."""
    if not overlap(claim.span, statement.span):
        return False
    name = claim.object_name.casefold()
    if name in _said_by(statement):
        return True
    return not any(overlap(claim.span, one.span) and name in _said_by(one) for one in others)


def _said_by(statement: StatementDraft) -> str:
    return f"{statement.content} {statement.value or ''}".casefold()


# Reading one event


def speaker_of(event: Event) -> str | None:
    """Return the speaker of an event; None if it is a program."""
    if event.record is not None:
        return speaks_for(event)
    return None if states_nothing(event) or is_assistant(event) else speaker_name(event)


def _claims(space: str, mentions: Sequence[Mention], stated: Stated) -> list[FactDraft]:
    event = said_by_user(stated.event)
    speaker = speaker_of(event)
    if speaker is None:
        return []
    forms = NameIndex(space)  # each name is itself, so that the claims of an event do not depend on other entities
    own = {*map(forms.form_of, mentions), *([] if speaker == NAMELESS else [entity_id(space, speaker)])}
    drafts = [
        replace(draft, confidence=round(draft.confidence * stated.likely.get(draft.span, 1.0), 3))
        for draft in claims_of(event, stated.drafts, mentions, forms)
    ]
    # Keep the reader's version of a claim that both found: it exists before the LLM answers.
    ruled = {(draft.subject, draft.relation, draft.object) for draft in drafts}
    found = told_facts(event, speaker, mentions, stated.llm_facts, forms, stated.extractor) if stated.llm_facts else []
    drafts += [draft for draft in found if (draft.subject, draft.relation, draft.object) not in ruled]
    return [
        _known_by_then(draft, event)
        for draft in drafts
        if draft.subject_form in own
        and (not draft.object_form or draft.object_form in own)
        and len(draft.object_name) <= _LONGEST_OBJECT
        and _writable(draft.object)
    ]


def _known_by_then(draft: FactDraft, event: Event) -> FactDraft:
    """Cap the times of a claim from an event dated in the future at its recording time."""
    if event.at <= event.recorded_at:
        return draft
    latest = effective_at(event)
    times = {name: min(time, latest) for name in When._fields if (time := getattr(draft, name)) is not None}
    return replace(draft, **times)


def _writable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


class _Noted(Struct):
    """The rows that a batch of events adds to the graph."""

    space: str
    mentions: list[MentionRow] = field(default_factory=list[MentionRow])
    claims: list[tuple[int, FactDraft]] = field(default_factory=list[tuple[int, FactDraft]])
    moved: set[str] = field(default_factory=set[str])
    seen: dict[str, list[int]] = field(default_factory=dict[str, list[int]])  # key -> times of its events

    def add(self, index: NameIndex, stated: Stated) -> None:
        seq, event, speaker = stated.seq, stated.event, speaker_of(stated.event)
        if speaker == NAMELESS:
            speaker = None
        named = [*stated.mentions, *named_values(said_by_user(event), stated.drafts, stated.mentions)]
        mentions = [one for one in named if name_key(one.text)]
        self.moved.update(index.learn(mentions, speaker))
        rows: dict[tuple[str, int], MentionRow] = {}
        if speaker:
            id = entity_id(self.space, speaker)
            rows[id, SPEAKS] = MentionRow(id, seq, SPEAKS, SPEAKS, EntityType.PERSON, SPEAKER_VOTE)
        for one in mentions:
            id = index.form_of(one)
            rows[id, one.span.start] = MentionRow(id, seq, *one.span, one.type, round(one.score * 100))
        self.mentions += rows.values()
        for key in {name_key(name) for name in (*(one.text for one in mentions), speaker) if name}:
            self.seen.setdefault(key, []).append(to_micros(event.at)[0])
        self.claims += [(seq, draft) for draft in _claims(self.space, mentions, stated)]

    def rows(self, index: NameIndex) -> Iterable[NameRow]:
        for key, times in self.seen.items():
            id = entity_id(self.space, key)
            yield NameRow(id, index.home_of(id), index.known(key), len(times), min(times), max(times))


def mentions_of(event: Event, rows: Iterable[MentionRow]) -> list[Mention]:
    """Restore the mentions of an event from their rows."""
    return [
        Mention(
            span=Span(row.start, row.stop),
            text=event.text[row.start : row.stop],
            type=EntityType(row.type),
            score=row.votes / 100,
        )
        for row in rows
        if row.start >= 0
    ]


# Names


def _index(writer: Writer) -> NameIndex:
    """Return the name index of a space: the cached one, updated with what others changed."""
    memo = writer.memo()
    state = writer.graph_state()
    kept = cast("tuple[int, int, NameIndex] | None", memo.pop(_INDEX, None))
    if kept is None or kept[0] != state.epoch:
        # The merges and splits of entities that people made and did not undo.
        pins = {id: to for edit in writer.edits() if not edit.undone for id, to in edit.pins.items()}
        index, after = NameIndex(writer.space, pins=pins), -1
    else:
        _, after, index = kept
    if after != state.version:
        for row in writer.names(changed_after=after):
            index.restore(row.known)
    return index


def _remember(writer: Writer, index: NameIndex, version: int) -> None:
    writer.memo()[_INDEX] = (writer.graph_state().epoch, version, index)


def rehome(writer: Writer) -> None:
    """Assign every name to its entity again, after names were removed or people merged or split entities."""
    version = writer.next_graph_version(gone=True)
    index = _index(writer)
    homes = index.homes()
    moved = {row.id: homes[row.id] for row in writer.names() if homes[row.id] != row.home}
    keys = _fact_keys(writer, moved)
    writer.move_names(moved, version=version)
    fold(writer, keys | _keys_now(writer, moved, ()))
    _remember(writer, index, version)


def _fact_keys(writer: Writer, names: Iterable[str]) -> set[FactKey]:
    """List the keys of facts that rest on claims of some names."""
    moved = sorted(names)
    if not moved:
        return set()
    return set(writer.fact_keys([claim.number for claim in writer.claims_of(names=moved)]))


def _keys_now(writer: Writer, names: Iterable[str], seqs: Sequence[int]) -> set[FactKey]:
    """List the keys to which the claims of some names and events belong."""
    moved = sorted(names)
    claims = writer.claims_of(names=moved) if moved else []
    claims += writer.claims_of(seqs=sorted(set(seqs))) if seqs else []
    return {key_of(claim.draft) for claim in claims}


def bearing_on(writer: Writer, seqs: Sequence[int]) -> set[FactKey]:
    """List the keys of facts that claims of some events affect."""
    claims = writer.claims_of(seqs=seqs)
    return {*writer.fact_keys([one.number for one in claims]), *(key_of(one.draft) for one in claims)}


def key_of(draft: FactDraft) -> FactKey:
    """Return the key of the facts that a claim affects."""
    return FactKey(draft.subject, draft.relation, None if single_of(draft.relation) else draft.object)


class Going(Struct, frozen=True, kw_only=True):
    """What the graph loses with some events, collected before they are removed."""

    seqs: frozenset[int]
    lost: Mapping[str, _Lost]  # lost votes, by name id
    keys: frozenset[FactKey]
    sessions: frozenset[str]
    owed: frozenset[str]  # sessions whose summary waits for a job of one of these events


def going(writer: Writer, seqs: Iterable[int]) -> Going:
    """Collect what the graph will lose with some events."""
    gone = sorted(seqs)
    events = writer.fetch(gone)
    lost: dict[str, _Lost] = {}
    for row in writer.mentions(seqs=gone):
        lost.setdefault(row.name, _Lost()).add(row, events[row.seq])
    owed = {events[seq].session for seq in writer.job_seqs(SUMMARISE) if seq in events}
    return Going(
        seqs=frozenset(gone),
        lost=lost,
        keys=frozenset(bearing_on(writer, gone)),
        sessions=frozenset(event.session for event in events.values() if event.session is not None),
        owed=frozenset(session for session in owed if session is not None),
    )


def graph_without(writer: Writer, going: Going) -> None:
    """Update the graph after events were removed."""
    version = writer.next_graph_version(gone=True)
    vanished: list[str] = []
    for row in writer.names_of(ids=sorted(going.lost)):
        left = _left(writer, row, going.lost[row.id])
        if left is None:
            vanished.append(row.id)
        else:
            writer.replace_name(left, version=version)
    if vanished:
        writer.drop_names(vanished)
        writer.drop_loose_pins()
    fold(writer, going.keys)
    rehome(writer)
    forget_written(writer, sorted(going.sessions), going.owed)


class _Lost(Struct):
    """The spellings of a name in some events."""

    written: Counter[str] = field(default_factory=Counter[str])
    seqs: set[int] = field(default_factory=set[int])

    def add(self, row: MentionRow, event: Event) -> None:
        # By the spelling that was counted in the index.
        self.written[speaker_of(event) or "" if row.start == SPEAKS else event.text[row.start : row.stop]] += 1
        self.seqs.add(row.seq)


def _left(writer: Writer, row: NameRow, lost: _Lost) -> NameRow | None:
    """Return what is left of a name, or None."""
    rows = writer.mentions_of_name(row.id)
    if not rows:
        return None
    votes: Counter[str] = Counter()
    for one in rows:
        votes[one.type] += one.votes
    known = KnownName(
        key=row.known.key,
        written=dict(Counter(row.known.written) - lost.written),
        votes=dict(sorted(votes.items())),
        speaks=any(one.start == SPEAKS for one in rows),
    )
    times = [outline.at for outline in writer.outlines(sorted({one.seq for one in rows})).values()]
    return NameRow(row.id, row.home, known, row.events - len(lost.seqs), min(times), max(times))
