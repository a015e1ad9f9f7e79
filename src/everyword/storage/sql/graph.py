"""Read and write the temporal graph: names, mentions, claims, facts, session summaries, edits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from everyword.storage.fact_rows import fact_of, single_of
from everyword.storage.rows import (
    ClaimRow,
    Edit,
    FactFilter,
    FactKey,
    GraphState,
    MentionRow,
    NameRow,
    SummaryRow,
)
from everyword.storage.sql.snapshot import Row, Snapshot, array, words
from everyword.types.events import Span
from everyword.types.graph import Fact, FactDraft, KnownName
from everyword.types.ids import event_id
from everyword.types.times import from_micros, to_micros

_NOTHING_YET = GraphState(None, 0, 0)
_LAST_CHARACTER = "\U0010ffff"
_COUNTED = {
    "entities": "count_entities",
    "names": "count_names",
    "mentions": "count_mentions",
    "claims": "count_claims",
    "facts": "count_facts",
    "open_facts": "count_open_facts",
    "conflicts": "count_conflicts",
    "summaries": "count_summaries",
}


_ALL = 1 << 62  # more rows than any store has


class GraphRows(Snapshot):
    """Reads the graph."""

    def graph_state(self, space: str) -> GraphState:
        """Tell how far the graph is."""
        found = self.space(space)
        rows = self.rows("graph_state", (found.id,)) if found else []
        return GraphState(*rows[0]) if rows else _NOTHING_YET

    def names(self, space: str, *, changed_after: int = -1) -> list[NameRow]:
        """Read names that changed after a version of the graph."""
        found = self.space(space)
        return [_name(row) for row in self.rows("names_changed", (found.id, changed_after))] if found else []

    def names_of(
        self, space: str, *, ids: Sequence[str] = (), keys: Sequence[str] = (), homes: Sequence[str] = ()
    ) -> list[NameRow]:
        """Read names by their ids, by what they fold to, or by whom they belong to."""
        found = self.space(space)
        rows: list[Row] = []
        for query, given in (("names_by_id", ids), ("names_by_key", keys), ("names_by_home", homes)):
            if found is not None and given:
                rows += self.rows(query, (found.id, words(given)))
        return [_name(row) for row in rows]

    def homes_by_prefix(self, space: str, *, prefix: str, type: str | None, wing: str | None, limit: int) -> list[str]:
        """List entities one of whose names begins so, those that are named by most events first."""
        found = self.space(space)
        if found is None:
            return []
        values = {
            "space": found.id,
            "prefix": prefix,
            "beyond": prefix + _LAST_CHARACTER,
            "type": type,
            "wing": wing,
            "limit": limit,
        }
        return [row[0] for row in self.rows("homes_by_prefix", values)]

    def mentions(self, space: str, *, seqs: Sequence[int] = (), homes: Sequence[str] = ()) -> list[MentionRow]:
        """Read where events name what, by the events or by the entities."""
        found = self.space(space)
        rows: list[Row] = []
        if found is not None and len(seqs):
            rows += self.rows("mentions_of_events", (found.id, array(seqs)))
        if found is not None and homes:
            rows += self.rows("mentions_of_homes", (found.id, words(homes)))
        return [_mention(row) for row in rows]

    def mentions_of_name(self, space: str, id: str) -> list[MentionRow]:
        """Read where one name stands, and where it was only looked up, in the order of arrival."""
        found = self.space(space)
        return [_mention(row) for row in self.rows("mentions_of_name", (found.id, id))] if found else []

    def first_named(self, space: str, ids: Sequence[str]) -> dict[str, int]:
        """Tell the first event that has each name, or was said by it, by the ids of the names."""
        found = self.space(space)
        rows = self.rows("first_named", (found.id, words(ids))) if found is not None and ids else []
        return {id: seq for id, seq in rows if seq is not None}

    def named_in_sessions(self, space: str, sessions: Sequence[str], *, most: int) -> dict[str, list[str]]:
        """List the entities that each session names most often."""
        found = self.space(space)
        named: dict[str, list[str]] = {}
        if found is not None and sessions:
            for session, home, _ in self.rows("named_in_sessions", (found.id, words(sessions))):
                homes = named.setdefault(session, [])
                if len(homes) < most:
                    homes.append(home)
        return named

    def claims(self, space: str, key: FactKey) -> list[ClaimRow]:
        """Read what was claimed, of the facts that bear on one another."""
        found = self.space(space)
        if found is None:
            return []
        values = {"space": found.id, "subject": key.subject, "relation": key.relation, "object": key.object}
        return [_claim(row) for row in self.rows("claims_of_key", values)]

    def claims_of(
        self,
        space: str,
        *,
        seqs: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        homes: Sequence[str] | None = None,
        latest: int = _ALL,
    ) -> list[ClaimRow]:
        """Read what events claim, or what is claimed of names or of entities, as subject or object.

        latest: of entities, so many at most, those that were learned last.
        """
        found = self.space(space)
        if found is None:
            return []
        rows: list[Row] = []
        if seqs is not None:
            rows += self.rows("claims_of_events", (found.id, array(seqs)))
        if names is not None:
            rows += self.rows("claims_of_names", (found.id, words(names)))
        if homes is not None:
            rows += self.rows("claims_of_homes", (found.id, words(homes), latest))
        if seqs is None and names is None and homes is None:
            rows += self.rows("all_claims", (found.id,))
        return [_claim(row) for row in rows]

    def session_seqs(self, space: str, session: str) -> list[int]:
        """List the events of a session, in the order in which they happened."""
        found = self.space(space)
        return [row[0] for row in self.rows("session_seqs", (found.id, session))] if found else []

    def facts(self, space: str, which: FactFilter, *, limit: int, offset: int = 0, sources: bool = True) -> list[Fact]:
        """List facts, by subject, relation and time, each with what it rests on, or without."""
        found = self.space(space)
        if found is None:
            return []
        as_of = None if which.as_of is None else to_micros(which.as_of)[0]
        if which.subjects is not None or which.objects is not None:
            subjects, objects = words(which.subjects or ()), words(which.objects or ())
            given = (which.relation, _flag(which.open), _flag(which.conflicts), as_of, limit, offset)
            rows = self.rows("facts_of_homes", (found.id, subjects, objects, *given))
        elif which == FactFilter(conflicts=True):
            rows = self.rows("conflicting_facts", (found.id, limit, offset))
        else:
            values = {
                "space": found.id,
                "relation": which.relation,
                "open": _flag(which.open),
                "conflicts": _flag(which.conflicts),
                "as_of": as_of,
                "limit": limit,
                "offset": offset,
            }
            rows = self.rows("facts_by_filter", values)
        return self._with_sources(found.id, rows, sources=sources)

    def longest_facts(self, space: str, subject: str | None, *, since: int, until: int, limit: int) -> list[Fact]:
        """List the facts that were true in a span, in microseconds: those that were so for most of it first."""
        found = self.space(space)
        if found is None:
            return []
        given = {"space": found.id, "subject": subject, "since": since, "until": until, "limit": limit}
        return self._with_sources(found.id, self.rows("longest_facts", given))

    def fact_subjects(self, space: str) -> list[str]:
        """List those whom there are facts of."""
        found = self.space(space)
        return [row[0] for row in self.rows("fact_subjects", (found.id,))] if found else []

    def facts_by_id(self, space: str, ids: Sequence[str]) -> dict[str, Fact]:
        """Look facts up, each with what it rests on."""
        found = self.space(space)
        rows = self.rows("facts_by_id", (found.id, words(ids))) if found and ids else []
        return {fact.id: fact for fact in self._with_sources(found.id, rows)} if found else {}

    def fact_keys(self, space: str, claims: Sequence[int]) -> list[FactKey]:
        """Tell which facts rest on some claims now."""
        found = self.space(space)
        return [FactKey(*row) for row in self.rows("fact_keys", (found.id, array(claims)))] if found else []

    def fact_rows(self, space: str, key: FactKey) -> dict[str, str]:
        """Read the facts that bear on one another, each as one line of text, by id."""
        found = self.space(space)
        return {row[0]: row[1] for row in self.rows("fact_rows", (found.id, *key))} if found else {}

    def summaries(self, space: str, sessions: Sequence[str] | None = None) -> list[SummaryRow]:
        """Read what sessions were about."""
        found = self.space(space)
        if found is None:
            return []
        if sessions is None:
            return [SummaryRow(*row) for row in self.rows("summaries", (found.id,))]
        return [SummaryRow(*row) for row in self.rows("summaries_of", (found.id, words(sessions)))]

    def edits(self, space: str) -> list[Edit]:
        """Read what was said by hand of who is who, the oldest first."""
        found = self.space(space)
        return [
            Edit(number, at, kind, bool(undone), json.loads(pins))
            for number, at, kind, undone, pins in (self.rows("edits", (found.id,)) if found else [])
        ]

    def graph_counts(self, space: str) -> dict[str, int]:
        """Count entities, facts, conflicts and the like."""
        found = self.space(space)
        return {name: self.one(query, (found.id,)) for name, query in _COUNTED.items()} if found else {}

    def _with_sources(self, space: int, rows: Sequence[Row], *, sources: bool = True) -> list[Fact]:
        bodies: list[dict[str, Any]] = [json.loads(row[5]) for row in rows]
        numbers = sorted({number for body in bodies for number in body["claims"]}) if sources else []
        claims: dict[int, FactDraft] = {}
        for row in self.rows("claims_by_number", (space, array(numbers))) if numbers else []:
            claim = _claim(row)
            claims[claim.number] = claim.draft
        return [
            fact_of(row[0], row[1], row[2], row[3], bool(row[4]), body, claims)
            for row, body in zip(rows, bodies, strict=True)
        ]


class GraphChanges(GraphRows):
    """Changes the graph."""

    def set_graph(self, space: str, *, upto: int | None, gone: bool = False) -> int:
        """Note how far the graph is; `gone` makes caches start anew. Gives the new version."""
        into = self.space_to_write(space).id
        return int(self.rows("set_graph", (into, upto, int(gone)))[0][0])

    def put_names(self, space: str, rows: Iterable[NameRow], *, version: int) -> None:
        """Add names, or what was learned of them; counts and times add to those that are there."""
        into = self.space_to_write(space).id
        self.run_many("put_name", (_name_values(into, row, version) for row in rows))

    def replace_name(self, space: str, row: NameRow, *, version: int) -> None:
        """Put a name in place of what is there."""
        self.run("replace_name", _name_values(self.space_to_write(space).id, row, version))

    def drop_names(self, space: str, ids: Sequence[str]) -> None:
        """Remove names."""
        self.run("drop_names", (self.space_to_write(space).id, words(ids)))

    def move_names(self, space: str, homes: Mapping[str, str], *, version: int) -> None:
        """Give names to other entities."""
        into = self.space_to_write(space).id
        self.run_many("move_name", ((home, version, into, id) for id, home in homes.items()))

    def put_mentions(self, space: str, rows: Iterable[MentionRow]) -> None:
        """Add where events name what; the names are there."""
        into = self.space_to_write(space).id
        self.run_many("put_mention", (_mention_values(into, row) for row in rows))

    def drop_mentions(self, space: str, seqs: Sequence[int]) -> None:
        """Remove where events name what."""
        self.run("delete_mentions_of", (self.space_to_write(space).id, array(seqs)))

    def put_claims(self, space: str, claims: Iterable[tuple[int, FactDraft]]) -> None:
        """Add what events claim."""
        into = self.space_to_write(space).id
        self.run_many("put_claim", (_claim_values(into, seq, draft) for seq, draft in claims))

    def drop_claims(self, space: str, seqs: Sequence[int]) -> None:
        """Remove what events claim; facts that rest on it are to be folded anew by the caller."""
        self.run("delete_claims_of", (self.space_to_write(space).id, array(seqs)))

    def put_facts(self, space: str, facts: Sequence[tuple[Fact, str, Sequence[int]]]) -> None:
        """Add facts, each with its line of text and the numbers of its claims; one with the same id goes."""
        into = self.space_to_write(space).id
        for fact, line, claims in facts:
            times = (_micros(fact.valid_from), _micros(fact.valid_to))
            single = int(single_of(fact.relation))
            what = (into, fact.id, fact.subject, fact.relation, fact.object, single, int(fact.conflicts), *times, line)
            number = self.rows("put_fact", what)[0][0]
            self.run_many("put_fact_claim", ((number, claim) for claim in claims))

    def drop_facts(self, space: str, ids: Sequence[str]) -> None:
        """Remove facts."""
        into = self.space_to_write(space).id
        for name in ("drop_fact_claims", "drop_facts"):
            self.run(name, (into, words(ids)))

    def drop_graph(self, space: str, *, from_seq: int) -> None:
        """Remove what events from one on named and claimed, and all facts; from 0, all that is derived."""
        into = self.space_to_write(space).id
        for name in ("drop_all_fact_claims", "drop_all_facts"):
            self.run(name, (into,))
        for name in ("drop_claims_from", "drop_mentions_from"):
            self.run(name, (into, from_seq))
        if from_seq == 0:
            for name in ("drop_all_names", "drop_all_summaries"):
                self.run(name, (into,))

    def put_summary(self, space: str, row: SummaryRow) -> None:
        """Keep what a session was about."""
        self.run("put_summary", (self.space_to_write(space).id, *row))

    def count_pending(self, space: str, sessions: Mapping[str, int]) -> list[SummaryRow]:
        """Note how many events came to sessions since they were summarised; give these as they are now."""
        into = self.space_to_write(space).id
        return [
            SummaryRow(*row)
            for session, count in sessions.items()
            for row in self.rows("count_pending", (into, session, count))
        ]

    def drop_summaries(self, space: str, sessions: Sequence[str]) -> None:
        """Remove what sessions were about."""
        self.run("drop_summaries", (self.space_to_write(space).id, words(sessions)))

    def put_edit(self, space: str, *, at: int, kind: Literal["merge", "split"], pins: Mapping[str, str]) -> int:
        """Keep a merge or split by hand; give its number."""
        number = int(self.rows("put_edit", (self.space_to_write(space).id, at, kind))[0][0])
        self.run_many("put_pin", ((number, name, target) for name, target in pins.items()))
        return number

    def undo_edit(self, space: str, number: int) -> bool:
        """Take an edit back; False where there is none that holds."""
        return self.run("undo_edit", (self.space_to_write(space).id, number)) > 0

    def drop_loose_pins(self, space: str) -> None:
        """Remove what was said by hand of names that are no more."""
        into = self.space_to_write(space).id
        for name in ("drop_loose_pins", "drop_empty_edits"):
            self.run(name, (into,))


def _name(row: Row) -> NameRow:
    id, home, key, events, first_at, last_at, body = row
    held: dict[str, Any] = json.loads(body)
    known = KnownName(
        key=key,
        written=held["written"],
        votes=held["votes"],
        surest=held["surest"],
        speaks=held["speaks"],
        kin=tuple((owner, kin) for owner, kin in held["kin"]),
    )
    return NameRow(id, home, known, events, first_at, last_at)


def _name_values(space: int, row: NameRow, version: int) -> tuple[Any, ...]:
    known = row.known
    body = {
        "written": dict(known.written),
        "votes": dict(known.votes),
        "surest": known.surest,
        "speaks": known.speaks,
        "kin": known.kin,
    }
    return (space, row.id, known.key, row.home, version, row.events, row.first_at, row.last_at, _json(body))


def _mention(row: Row) -> MentionRow:
    id, seq, start, stop, type, votes, body = row
    kin, owner, bare = json.loads(body) if body else (None, None, False)
    return MentionRow(id, seq, start, stop, type, votes, kin, owner, bool(bare))


def _mention_values(space: int, row: MentionRow) -> tuple[Any, ...]:
    body = _json([row.kin, row.owner, row.bare]) if row.kin else None
    return (space, row.name, row.seq, row.start, row.stop, row.type, row.votes, body)


def _claim(row: Row) -> ClaimRow:
    """Read a claim; columns as every query of claims selects them. Times come back in the zone of the event."""
    number, seq, start, stop, form, subject, relation, target, object, *times, body = row[:-6]
    raw_id, said, at, zone, learned, source = row[-6:]
    text = said if isinstance(said, str) else bytes(said).decode("utf-8", "surrogatepass")
    held: dict[str, Any] = json.loads(body)
    valid_from, begun_by, holds_at, valid_to, ended_by = (
        None if time is None else from_micros(time, zone) for time in times
    )
    draft = FactDraft(
        subject=subject,
        subject_name=held["subject_name"],
        relation=relation,
        object=object,
        object_name=held["object_name"],
        event_id=event_id(raw_id),
        span=Span(start, stop),
        quote=text[start:stop],
        said_at=from_micros(at, zone),
        recorded_at=from_micros(learned),
        confidence=held["confidence"],
        valid_from=valid_from,
        begun_by=begun_by,
        holds_at=holds_at,
        valid_to=valid_to,
        ended_by=ended_by,
        subject_form=form,
        object_form=target if held["entity"] else "",
        extractor=held["extractor"],
        voids=held.get("voids", ""),
        source=source,
    )
    return ClaimRow(number, seq, draft)


def _claim_values(space: int, seq: int, draft: FactDraft) -> tuple[Any, ...]:
    body = {
        "subject_name": draft.subject_name,
        "object_name": draft.object_name,
        "entity": bool(draft.object_form),
        "confidence": draft.confidence,
        "extractor": draft.extractor,
        **({"voids": draft.voids} if draft.voids else {}),
    }
    times = (draft.valid_from, draft.begun_by, draft.holds_at, draft.valid_to, draft.ended_by)
    return (
        space,
        seq,
        *draft.span,
        draft.subject_form,
        draft.relation,
        draft.object_form or draft.object,
        *(_micros(time) for time in times),
        _json(body),
    )


def _flag(wanted: bool | None) -> int | None:
    return None if wanted is None else int(wanted)


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)[0]


def _json(body: object) -> str:
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))
