"""Read and write the temporal graph: names, mentions, claims, facts, edits."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from everyword.storage.rows import ClaimRow, Edit, FactFilter, FactKey, GraphState, MentionRow, NameRow, read_text
from everyword.storage.sql.snapshot import Row, SpaceRows, array, compact_json, grouped
from everyword.types.events import Span, event_id
from everyword.types.graph import RELATIONS, Fact, FactDraft, KnownName
from everyword.types.times import from_micros, optional_micros, optional_moment

_LAST_CHARACTER = "\U0010ffff"


class GraphRows(SpaceRows):
    def graph_state(self) -> GraphState:
        """Read the versions by which caches of names expire."""
        rows = self._rows("graph_state")
        return GraphState(*rows[0]) if rows else GraphState(0, 0)

    def names(self, *, changed_after: int = -1) -> list[NameRow]:
        """Read names that changed after a version of the graph."""
        return list(map(_name, self._rows("names_changed", changed_after)))

    def names_of(
        self, *, ids: Sequence[str] = (), keys: Sequence[str] = (), homes: Sequence[str] = ()
    ) -> list[NameRow]:
        """Read names by their ids, by what they fold to, or by whom they belong to."""
        asked = (("names_by_id", ids), ("names_by_key", keys), ("names_by_home", homes))
        return [_name(row) for query, given in asked for row in self._rows_of(query, given)]

    def homes_by_prefix(self, *, prefix: str, type: str | None, wing: str | None, limit: int) -> list[str]:
        """List entities one of whose names begins so, those that are named by most events first."""
        beyond = prefix + _LAST_CHARACTER
        return self._column("homes_by_prefix", prefix=prefix, beyond=beyond, type=type, wing=wing, limit=limit)

    def mentions(self, *, seqs: Sequence[int] = (), homes: Sequence[str] = ()) -> list[MentionRow]:
        """Read where events name what, by the events or by the entities."""
        rows = self._rows_of("mentions_of_events", seqs) + self._rows_of("mentions_of_homes", homes)
        return [MentionRow(*row) for row in rows]

    def mentions_of_name(self, id: str) -> list[MentionRow]:
        """Read where one name stands, and where it was only looked up, in the order of arrival."""
        return [MentionRow(*row) for row in self._rows("mentions_of_name", id)]

    def first_named(self, ids: Sequence[str]) -> dict[str, int]:
        """Tell the first event that has each name, or was said by it, by the ids of the names."""
        return {id: seq for id, seq in self._rows_of("first_named", ids) if seq is not None}

    def named_in_sessions(self, sessions: Sequence[str], *, most: int) -> dict[str, list[str]]:
        """List the entities that each session names most often."""
        named = grouped((session, home) for session, home, _ in self._rows_of("named_in_sessions", sessions))
        return {session: homes[:most] for session, homes in named.items()}

    def claims(self, key: FactKey) -> list[ClaimRow]:
        """Read what was claimed, of the facts that bear on one another."""
        return list(map(_claim, self._rows("claims_of_key", **key._asdict())))

    def claims_of(
        self, *, seqs: Sequence[int] = (), names: Collection[str] = (), homes: Sequence[str] | None = ()
    ) -> list[ClaimRow]:
        """Read what events claim, or what is claimed of names or of entities (None: of all), as subject or object."""
        if homes is None:
            return list(map(_claim, self._rows("all_claims")))
        asked = (("claims_of_events", seqs), ("claims_of_names", names), ("claims_of_homes", homes))
        return [_claim(row) for query, given in asked for row in self._rows_of(query, given)]

    def session_seqs(self, session: str) -> list[int]:
        """List the events of a session, in the order in which they happened."""
        return self._column("session_seqs", session)

    def facts(self, which: FactFilter, *, limit: int, sources: bool = True) -> list[Fact]:
        """List facts, by subject, relation and time, each with what it rests on, or without."""
        if which == FactFilter(conflicts=True):
            return self._with_sources(self._rows("conflicting_facts", limit), sources=sources)
        given: dict[str, Any] = {name: getattr(which, name) for name in ("relation", "open", "conflicts")}
        given |= {"as_of": optional_micros(which.as_of), "limit": limit}
        if which.subjects is None and which.objects is None:
            rows = self._rows("facts_by_filter", **given)
        else:
            rows = self._rows("facts_of_homes", subjects=which.subjects or (), objects=which.objects or (), **given)
        return self._with_sources(rows, sources=sources)

    def longest_facts(self, subject: str | None, *, since: int, until: int, limit: int) -> list[Fact]:
        """List the facts that were true in a span, in microseconds: those that were so for most of it first."""
        rows = self._rows("longest_facts", subject=subject, since=since, until=until, limit=limit)
        return self._with_sources(rows)

    def fact_subjects(self) -> list[str]:
        return self._column("fact_subjects")

    def facts_by_id(self, ids: Sequence[str]) -> dict[str, Fact]:
        """Look facts up, each with what it rests on."""
        return {fact.id: fact for fact in self._with_sources(self._rows_of("facts_by_id", ids))}

    def fact_keys(self, claims: Sequence[int]) -> list[FactKey]:
        """Tell which facts rest on some claims now."""
        return [FactKey(*row) for row in self._rows_of("fact_keys", claims)]

    def fact_rows(self, key: FactKey) -> dict[str, str]:
        """Read the facts that bear on one another, each as one line of text, by id."""
        return self._pairs("fact_rows", *key)

    def edits(self) -> list[Edit]:
        """Read what was said by hand of who is who, the oldest first."""
        return [
            Edit(number, at, kind, bool(undone), json.loads(pins))
            for number, at, kind, undone, pins in self._rows("edits")
        ]

    def graph_counts(self) -> dict[str, int]:
        return self._pairs("graph_counts")

    def _with_sources(self, rows: Sequence[Row], *, sources: bool = True) -> list[Fact]:
        bodies: list[dict[str, Any]] = [json.loads(row[5]) for row in rows]
        numbers = sorted({number for body in bodies for number in body["claims"]}) if sources else []
        found = map(_claim, self._rows_of("claims_by_number", numbers))
        claims = {claim.number: claim.draft for claim in found}
        return [_fact(row, body, claims) for row, body in zip(rows, bodies, strict=True)]


class GraphChanges(GraphRows):
    def next_graph_version(self, *, gone: bool = False) -> int:
        """Take the next version of the names; `gone` makes caches start anew."""
        return int(self.sql.rows("set_graph", (self.into, int(gone)))[0][0])

    def put_names(self, rows: Iterable[NameRow], *, version: int) -> None:
        """Add names, or what was learned of them; counts and times add to those that are there."""
        self._change_each("put_name", (_name_values(row, version) for row in rows))

    def replace_name(self, row: NameRow, *, version: int) -> None:
        """Put a name in place of what is there."""
        self._change("replace_name", *_name_values(row, version))

    def drop_names(self, ids: Sequence[str]) -> None:
        self._change("drop_names", tuple(ids))

    def move_names(self, homes: Mapping[str, str], *, version: int) -> None:
        """Give names to other entities."""
        into = self.into
        self.sql.run_many("move_name", ((home, version, into, id) for id, home in homes.items()))

    def put_mentions(self, rows: Iterable[MentionRow]) -> None:
        """Add where events name what; the names are there."""
        self._change_each("put_mention", rows)

    def drop_mentions(self, seqs: Sequence[int]) -> None:
        """Remove where events name what."""
        self._change("delete_mentions_of", array(seqs))

    def put_claims(self, claims: Iterable[tuple[int, FactDraft]]) -> None:
        self._change_each("put_claim", (_claim_values(seq, draft) for seq, draft in claims))

    def drop_claims(self, seqs: Sequence[int]) -> None:
        """Remove what events claim; facts that rest on it are to be folded anew by the caller."""
        self._change("delete_claims_of", array(seqs))

    def put_facts(self, facts: Sequence[tuple[Fact, str, Sequence[int]]]) -> None:
        """Add facts, each with its line of text and the numbers of its claims; one with the same id goes."""
        into = self.into
        for fact, line, claims in facts:
            times = (optional_micros(fact.valid_from), optional_micros(fact.valid_to))
            single = int(single_of(fact.relation))
            what = (into, fact.id, fact.subject, fact.relation, fact.object, single, int(fact.conflicts), *times, line)
            number = self.sql.rows("put_fact", what)[0][0]
            self.sql.run_many("put_fact_claim", ((number, claim) for claim in claims))

    def drop_facts(self, ids: Sequence[str]) -> None:
        for name in ("drop_fact_claims", "drop_facts"):
            self._change(name, tuple(ids))

    def drop_graph(self) -> None:
        names = ("drop_all_fact_claims", "drop_all_facts", "drop_all_claims", "drop_all_mentions", "drop_all_names")
        for name in names:
            self._change(name)

    def put_edit(self, *, at: int, kind: Literal["merge", "split"], pins: Mapping[str, str]) -> int:
        """Keep a merge or split by hand; give its number."""
        number = int(self.sql.rows("put_edit", (self.into, at, kind))[0][0])
        self.sql.run_many("put_pin", ((number, name, target) for name, target in pins.items()))
        return number

    def undo_edit(self, number: int) -> bool:
        """Take an edit back; False where there is none that holds."""
        return self.sql.run("undo_edit", (self.into, number)) > 0

    def drop_loose_pins(self) -> None:
        """Remove what was said by hand of names that are no more."""
        for name in ("drop_loose_pins", "drop_empty_edits"):
            self._change(name)


def _name(row: Row) -> NameRow:
    id, home, key, events, first_at, last_at, body = row
    return NameRow(id, home, KnownName(key=key, **json.loads(body)), events, first_at, last_at)


def _name_values(row: NameRow, version: int) -> tuple[Any, ...]:
    known = row.known
    body = {"written": dict(known.written), "votes": dict(known.votes), "speaks": known.speaks}
    return (row.id, known.key, row.home, version, row.events, row.first_at, row.last_at, compact_json(body))


def _claim(row: Row) -> ClaimRow:
    """Read a claim; columns as every query of claims selects them. Times come back in the zone of the event."""
    number, seq, start, stop, form, subject, relation, target, object, *times, body = row[:-6]
    raw_id, said, at, zone, learned, source = row[-6:]
    held: dict[str, Any] = json.loads(body)
    moments = [optional_moment(time, zone) for time in times]
    draft = FactDraft(
        subject=subject,
        relation=relation,
        object=object,
        event_id=event_id(raw_id),
        span=Span(start, stop),
        quote=read_text(said)[start:stop],
        said_at=from_micros(at, zone),
        recorded_at=from_micros(learned),
        subject_form=form,
        object_form=target if held.pop("entity") else "",
        source=source,
        **dict(zip(_TIMES, moments, strict=True)),
        **held,
    )
    return ClaimRow(number, seq, draft)


_TIMES = ("valid_from", "begun_by", "holds_at", "valid_to", "ended_by")


def _claim_values(seq: int, draft: FactDraft) -> tuple[Any, ...]:
    body: dict[str, Any] = {"subject_name": draft.subject_name, "object_name": draft.object_name}
    body |= {"entity": bool(draft.object_form), "confidence": draft.confidence, "extractor": draft.extractor}
    if draft.voids:
        body["voids"] = draft.voids
    times = [optional_micros(getattr(draft, name)) for name in _TIMES]
    what = (draft.subject_form, draft.relation, draft.object_form or draft.object)
    return (seq, *draft.span, *what, *times, compact_json(body))


# As files have it since the first of them; when a fact was learned is in no line, but with the events it rests on.
_SAID_AT = "recorded_at"


def fact_line(fact: Fact, claims: Sequence[int]) -> str:
    """Write what a fact's columns do not hold; equal facts are equal text."""
    body = {
        "subject_name": fact.subject_name,
        "object_name": fact.object_name,
        "valid_from": _written(fact.valid_from),
        "valid_to": _written(fact.valid_to),
        _SAID_AT: fact.said_at.isoformat(),
        "confidence": fact.confidence,
        "conflicts": fact.conflicts,
        "claims": list(claims),  # in the order of the fact's sources; numbers follow the order of arrival
    }
    return compact_json(body)


def _fact(row: Row, body: Mapping[str, Any], claims: Mapping[int, FactDraft]) -> Fact:
    id, subject, relation, object, conflicts, _ = row
    return Fact(
        id=id,
        subject=subject,
        subject_name=body["subject_name"],
        relation=relation,
        object=object,
        object_name=body["object_name"],
        valid_from=_read(body["valid_from"]),
        valid_to=_read(body["valid_to"]),
        said_at=datetime.fromisoformat(body[_SAID_AT]),
        confidence=body["confidence"],
        sources=tuple(claims[number] for number in body["claims"] if number in claims),
        conflicts=bool(conflicts),
    )


def renumbered(line: str, by: int) -> str:
    """Give a fact's line for claims whose numbers have moved, all by as much."""
    body: dict[str, Any] = json.loads(line)
    body["claims"] = [number + by for number in body["claims"]]
    return compact_json(body)


def with_claims_named(line: str, names: Mapping[int, int]) -> str:
    """Give a fact's line with what its claims say in the place of their numbers, which differ from store to store."""
    body: dict[str, Any] = json.loads(line)
    body["claims"] = sorted(names.get(number, 0) for number in body["claims"])
    return compact_json(body)


def single_of(relation: str) -> bool:
    known = RELATIONS.get(relation)
    return known is not None and known.single and known.lasts


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _read(written: str | None) -> datetime | None:
    return None if written is None else datetime.fromisoformat(written)
