"""Read and write the concept graph: versions of concepts and edges, the journal, and what LLMs wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from everyword.storage.rows import (
    COUNTED,
    EMBED,
    Act,
    EdgeRow,
    FoldMark,
    LooseRow,
    Member,
    PlanRow,
    Reach,
    Undone,
    WorkRow,
    WrittenRow,
)
from everyword.storage.sql.row_mapping import names
from everyword.storage.sql.snapshot import Row, Snapshot, array, words
from everyword.types.concepts import (
    LEAST_GROUNDS,
    STRONGEST_FROM,
    Concept,
    ConceptEdge,
    Debt,
    EdgeKind,
    JournalEntry,
    strength_of,
)
from everyword.types.events import Json
from everyword.types.ids import event_id
from everyword.types.times import from_micros, to_micros

_END_OF_TIME = 1 << 62  # microseconds: now, for all that is known


class FoldingRows(Snapshot):
    """Reads the concept graph."""

    def fold_mark(self, space: str) -> FoldMark | None:
        """Tell how far a space is folded; None where nothing is."""
        found = self.space_id(space)
        rows = self.rows("fold_mark", (found,)) if found is not None else []
        return FoldMark(*rows[0]) if rows else None

    def fold_waiting(self, space: str, upto: int) -> int:
        """Count the events behind a seq."""
        found = self.space_id(space)
        return self.one("events_waiting", (found, upto)) if found is not None else 0

    def vectors_owed_from(self, space: str) -> int | None:
        """Tell the first event whose vectors are still owed."""
        found = self.space_id(space)
        return self.one("first_job", (EMBED, found)) if found is not None else None

    def concepts(
        self, space: str, *, wing: str | None = None, as_of: datetime | None = None, after: int = 0, limit: int
    ) -> list[tuple[int, Concept]]:
        """List concepts of a wing, or of a time, in the order in which they were last worded, from behind a number."""
        found = self.space_id(space)
        if found is None:
            return []
        values: dict[str, Any] = {"space": found, "after": after, "limit": limit}
        rows = self.rows("concepts", {**values, "wing": wing, **_at(as_of)})
        return [(row[0], _concept(space, row, as_of)) for row in rows]

    def strongest_concepts(self, space: str, *, limit: int) -> list[Concept]:
        """List those that stand now, the strongest and freshest first; the wings of their events are not told."""
        found = self.space_id(space)
        values = {"space": found, "counted": COUNTED, "weakest": LEAST_GROUNDS, "strongest": STRONGEST_FROM}
        rows = self.rows("strongest_concepts", {**values, "limit": limit}) if found is not None else []
        return [_concept(space, row, None) for row in rows]

    def concept_wings(self, space: str, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Tell the wings of the events of some concepts; a concept without any is left out."""
        found = self.space_id(space)
        # Where there are no wings, no event need be looked at.
        if found is None or not ids or self.one("wings", {"space": found, "limit": 1}) is None:
            return {}
        of: dict[str, list[str]] = {}
        for id, wing in self.rows("concept_wings", {"space": found, "ids": words(ids), "counted": COUNTED}):
            of.setdefault(id, []).append(wing)
        return {id: tuple(sorted(wings)) for id, wings in of.items()}

    def concepts_by_id(
        self, space: str, ids: Sequence[str], *, wing: str | None = None, as_of: datetime | None = None
    ) -> dict[str, Concept]:
        """Look concepts up, also closed ones, by their latest wording."""
        found = self.space_id(space)
        if found is None or not ids:
            return {}
        values = {"space": found, "ids": words(ids), "wing": wing, **_at(as_of)}
        rows = [row for row in self.rows("concepts_by_id", values) if row[4]]
        return {row[1]: _concept(space, row, as_of) for row in rows}

    def standing_concepts(self, space: str, ids: Sequence[str]) -> dict[str, Concept]:
        """Look up those that stand now, whatever the wing; the wings of their events are not told."""
        found = self.space_id(space)
        if found is None or not ids:
            return {}
        values = {"space": found, "ids": words(ids), "counted": COUNTED}
        return {row[1]: _concept(space, row, None) for row in self.rows("standing_concepts", values)}

    def concept_body(self, space: str, id: str) -> Mapping[str, Json]:
        """Read how a concept was last worded, as it was put."""
        found = self.space_id(space)
        written = self.one("concept_body", (found, id)) if found is not None else None
        return json.loads(written) if written else {}

    def concept_stands(self, space: str, id: str) -> bool:
        """Tell whether a concept is there and not closed."""
        found = self.space_id(space)
        return found is not None and self.one("concept_stands", (found, id)) is not None

    def concept_count(self, space: str) -> int:
        """Count the concepts that stand."""
        found = self.space_id(space)
        return self.one("count_concepts", (found,)) if found is not None else 0

    def concept_of_label(self, space: str, label: str) -> str | None:
        """Find the concept with a label."""
        found = self.space_id(space)
        return self.one("concept_of_label", (found, label.casefold())) if found is not None else None

    def members(self, space: str, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Member]:
        """Read the events of some concepts, in the order in which they came to belong there."""
        found = self.space_id(space)
        if found is None or not ids:
            return []
        values = {"space": found, "ids": words(ids), "as_of": _at(as_of)["as_of"]}
        return [_member(row) for row in self.rows("fold_members", values)]

    def members_by(self, space: str, number: int) -> list[Member]:
        """Read the events that an entry of the journal brought to concepts, in the order of number."""
        found = self.space_id(space)
        return [_member(row) for row in self.rows("fold_members_by", (found, number))] if found is not None else []

    def recent_members(self, space: str, id: str, *, limit: int) -> list[int]:
        """List the latest events that count for a concept, the oldest of them first."""
        found = self.space_id(space)
        rows = self.rows("fold_recent", (found, id, COUNTED, limit)) if found is not None else []
        return [row[0] for row in reversed(rows)]

    def member_reach(self, space: str, id: str) -> tuple[int, int]:
        """Tell when the latest event happened that ever counted for a concept, and the seq that last changed which do.

        Events that left it are among them: what a concept knows of its past does not hang on whether it was read back.
        """
        found = self.space_id(space)
        rows = list(self.rows("fold_reach", (found, id, COUNTED))) if found is not None else []
        return (rows[0][0], rows[0][1]) if rows else (0, 0)

    def held_by(self, space: str, seqs: Sequence[int], *, as_of: datetime | None = None) -> dict[int, dict[str, float]]:
        """Tell which concepts hold some events, and how strongly."""
        found = self.space_id(space)
        held: dict[int, dict[str, float]] = {}
        if found is not None and len(seqs):
            then = () if as_of is None else (to_micros(as_of)[0],)
            for seq, concept, weight in self.rows(
                "fold_held_then" if then else "fold_held", (found, array(seqs), *then)
            ):
                held.setdefault(seq, {})[concept] = weight
        return held

    def concept_edges(
        self, space: str, ids: Sequence[str], *, as_of: datetime | None = None, among: bool = False
    ) -> list[ConceptEdge]:
        """Read the edges between some concepts and others, each with all that supports it; among: of these alone."""
        found = self.space_id(space)
        if found is None or not ids:
            return []
        values: dict[str, Any] = {"space": found, "ids": words(ids)}
        names = ("fold_links_now", "fold_links_into_now")
        if as_of is not None:
            values["as_of"], names = _at(as_of)["as_of"], ("fold_links", "fold_links_into")
        if among:  # each of them begins at one
            wanted = set(ids)
            return _edges([row for row in self.rows(names[0], values) if row[1] in wanted], as_of)
        rows = {tuple(row): row for name in names for row in self.rows(name, values)}
        return _edges(list(rows.values()), as_of)

    def concept_linked(self, space: str, id: str) -> bool:
        """Tell whether any edge joins a concept to another."""
        found = self.space_id(space)
        return found is not None and bool(self.one("fold_linked", (found, id)))

    def concept_neighbours(
        self, space: str, ids: Sequence[str], *, as_of: datetime | None = None
    ) -> list[tuple[str, str]]:
        """Tell which concepts an edge of some kind joins, where one end is one of these; each pair once."""
        found = self.space(space)
        if found is None or not ids:
            return []
        values = {"space": found.id, "ids": words(ids)}
        if as_of is None:
            rows = self.rows("fold_neighbours_now", values)
        else:
            rows = self.rows("fold_neighbours", {**values, "as_of": _at(as_of)["as_of"]})
        return [(source, target) for source, target in rows]

    def fold_journal(
        self, space: str, *, node: str | None = None, before: int | None = None, limit: int
    ) -> list[tuple[int, JournalEntry]]:
        """Read the journal, the newest first; of one node, all of its story."""
        found = self.space_id(space)
        if found is None:
            return []
        if node is not None:
            rows = self.rows("fold_entries_of", (found, node))[::-1]
        else:
            rows = self.rows("fold_entries_newest", (found, before or _END_OF_TIME, limit))
        return [(row[0], _entry(row)) for row in rows[:limit]]

    def fold_entries(self, space: str, *, after: int, limit: int) -> list[tuple[int, JournalEntry]]:
        """Read the journal in its order, from behind a number."""
        found = self.space_id(space)
        rows = self.rows("fold_entries", (found, after, limit)) if found is not None else []
        return [(row[0], _entry(row)) for row in rows]

    def fold_steps(self, space: str, seq: int) -> int:
        """Count the entries that an event caused."""
        found = self.space_id(space)
        return self.one("fold_steps", (found, seq)) if found is not None else 0

    def fold_entry(self, space: str, id: str) -> tuple[int, JournalEntry] | None:
        """Look an entry up."""
        found = self.space_id(space)
        rows = self.rows("fold_entry", (found, id)) if found is not None else []
        return (rows[0][0], _entry(rows[0])) if rows else None

    def fold_work(self, space: str, *, limit: int) -> list[WorkRow]:
        """Read the concepts that were last confirmed, the oldest first."""
        found = self.space_id(space)
        rows = self.rows("fold_work", (found, limit)) if found is not None else []
        return [WorkRow(row[0], json.loads(row[1]), *row[2:]) for row in rows]

    def fold_work_of(self, space: str, id: str) -> WorkRow | None:
        """Read one concept that stands."""
        found = self.space_id(space)
        rows = self.rows("fold_work_of", (found, id)) if found is not None else []
        return WorkRow(rows[0][0], json.loads(rows[0][1]), *rows[0][2:]) if rows else None

    def fold_loose(self, space: str) -> list[LooseRow]:
        """Read the events that look for company, in order."""
        found = self.space_id(space)
        return [LooseRow(*row) for row in self.rows("fold_loose", (found,))] if found is not None else []

    def kept_apart(self, space: str) -> list[tuple[str, str]]:
        """Read who was told to stay apart."""
        found = self.space_id(space)
        return [(row[0], row[1]) for row in self.rows("fold_apart", (found,))] if found is not None else []


class FoldingChanges(FoldingRows):
    """Changes the concept graph."""

    def set_fold_mark(self, space: str, mark: FoldMark) -> None:
        """Note how far a space is folded."""
        self.run("set_fold_mark", (self.space_to_write(space).id, *mark))

    def put_entry(self, space: str, seq: int, at: int, entry: JournalEntry) -> int:
        """Write an entry of the journal; tell its number."""
        values = (
            *(self.space_to_write(space).id, entry.id, seq, at, entry.action, entry.debt, entry.node_id),
            *(entry.target_id, entry.edge, entry.reason, json.dumps(entry.events)),
        )
        return self.added("insert_fold_entry", values)

    def put_node(self, space: str, act: Act, id: str, body: Mapping[str, Json]) -> None:
        """Word a concept, for the first time or anew; the wording before is closed."""
        into = self.space_to_write(space).id
        self.run("close_fold_node", (*act, None, into, id))
        written = json.dumps(body, ensure_ascii=True, separators=(",", ":"))
        self.run("insert_fold_node", (into, id, str(body["label"]).casefold(), *act, written))

    def close_node(self, space: str, act: Act, id: str, *, into: str | None = None) -> None:
        """Close a concept with all its edges; where it was absorbed, they lead to the other from now on."""
        where = self.space_to_write(space).id
        self.run("close_fold_node", (*act, into, where, id))
        for name in ("close_fold_edges_into", "close_fold_edges_from"):
            self.rows(name, (*act, where, id))
        if into is not None:
            values = {"space": where, "from": id, "to": into, "born": act.seq, "born_at": act.at, "born_by": act.entry}
            self.run("close_beside_edges", {**values, "counted": COUNTED})
            for name in ("move_fold_edges_into", "move_fold_edges_from"):
                self.run(name, values)

    def put_concept_edges(self, space: str, act: Act, edges: Iterable[EdgeRow]) -> None:
        """Add supports of edges."""
        into = self.space_to_write(space).id
        self.run_many(
            "insert_fold_edge",
            ((into, one.source, one.target, one.kind, one.weight, one.seq, one.at, *act, one.reason) for one in edges),
        )

    def close_concept_edge(self, space: str, act: Act, source: str, target: str, kind: EdgeKind) -> None:
        """Close an edge."""
        self.run("close_fold_edge", (*act, self.space_to_write(space).id, source, target, kind))

    def undo_entry(self, space: str, act: Act, number: int) -> Undone:
        """Close what an entry added, and add again what it closed."""
        entry = (self.space_to_write(space).id, number)
        closed = self.rows("close_edges_born_by", (*act, *entry))
        gone = {row[0] for row in self.rows("close_nodes_born_by", (*act, *entry))}
        back = {row[0] for row in self.rows("restore_nodes_closed_by", (*act, *entry))}
        for id in sorted(gone - back):  # what later events hung on it goes with it
            for name in ("close_fold_edges_into", "close_fold_edges_from"):
                closed += self.rows(name, (*act, entry[0], id))
        restored = self.rows("restore_edges_closed_by", (*act, *entry))
        nodes = gone | back
        self.run("mark_undone", (act.seq, *entry))
        ends = {end for row in (*closed, *restored) for end in row[:2]}
        return Undone(
            concepts=frozenset(nodes | ends),
            edges=tuple((row[0], row[1], row[2]) for row in closed),
            events=frozenset(row[3] for row in (*closed, *restored)),
        )

    def keep_apart(self, space: str, seq: int, pairs: Iterable[tuple[str, str]]) -> None:
        """Note who is to stay apart from an event on."""
        into = self.space_to_write(space).id
        self.run_many("insert_fold_apart", ((into, seq, one, other) for one, other in pairs))

    def put_work(self, space: str, row: WorkRow) -> None:
        """Keep a concept at work."""
        values = (row.id, row.touched, row.size, row.last_at, row.total, row.recent)
        self.run("put_fold_work", (self.space_to_write(space).id, *values))

    def drop_work(self, space: str, id: str) -> None:
        """Keep it no more."""
        self.run("drop_fold_work", (self.space_to_write(space).id, id))

    def put_loose(self, space: str, row: LooseRow) -> None:
        """Note an event that looks for company."""
        self.run("put_fold_loose", (self.space_to_write(space).id, *row))

    def settle_loose(self, space: str, seqs: Iterable[int], *, by: int) -> None:
        """Note that some look no more, from an event on."""
        into = self.space_to_write(space).id
        self.run_many("settle_fold_loose", ((by, into, seq) for seq in seqs))

    def roll_back_folding(self, space: str, seq: int) -> list[str]:
        """Take back all that an event and those after it caused; list the concepts whose sums must be made anew."""
        where = (self.space_to_write(space).id, seq)
        stale = {row[0] for name in ("work_touched_since", "held_otherwise_since") for row in self.rows(name, where)}
        for name in ("roll_back_edges", "roll_back_nodes", "roll_back_entries", "roll_back_apart", "roll_back_loose"):
            self.run(name, where)
        stale |= {row[0] for row in self.rows("reopen_nodes", where)}
        for name in ("reopen_edges", "reopen_entries", "reopen_loose"):
            self.run(name, where)
        return sorted(stale)


def _at(as_of: datetime | None) -> dict[str, Any]:
    return {"as_of": _END_OF_TIME if as_of is None else to_micros(as_of)[0], "counted": COUNTED}


def _member(row: Row) -> Member:
    concept, seq, raw_id, kind, weight, at, born, reason = row
    return Member(concept, seq, event_id(raw_id), EdgeKind(kind), weight, at, born, reason)


def _concept(space: str, row: Row, as_of: datetime | None) -> Concept:
    _, id, body, created_at, events, first_at, last_at, wings, closed_at, merged_into = row
    held: dict[str, Any] = json.loads(body)
    closed = bool(closed_at is not None and (as_of is None or closed_at <= to_micros(as_of)[0]))
    return Concept(
        id=id,
        label=held["label"],
        description=held["description"],
        strength=strength_of(events),
        events=events,
        created_at=from_micros(created_at),
        first_at=from_micros(first_at),
        last_at=from_micros(last_at),
        space=space,
        keys=tuple(held["keys"]),
        entities=tuple(held["names"]),
        wings=names(wings),
        written_by=held["written_by"],
        closed_at=from_micros(int(closed_at or 0)) if closed else None,
        merged_into=merged_into if closed else None,
    )


def _edges(rows: Sequence[Row], as_of: datetime | None) -> list[ConceptEdge]:
    """Gather the supports of each edge: as strong as the strongest, as old as the first, as fresh as the latest."""
    gathered: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        gathered.setdefault((row[0], row[1], row[2]), []).append(row)
    return [
        ConceptEdge(
            source=source,
            target=target,
            kind=EdgeKind(kind),
            weight=max(row[3] for row in supports),
            created_at=from_micros(min(row[4] for row in supports)),
            supported_at=from_micros(max(row[5] for row in supports)),
            events=tuple(dict.fromkeys(event_id(row[7]) for row in supports)),
            reason=supports[-1][8],
        )
        for (source, target, kind), supports in gathered.items()
    ]


def _entry(row: Row) -> JournalEntry:
    _, id, at, action, debt, reason, node, target, edge, events, undone = row
    return JournalEntry(
        id=id,
        at=from_micros(at),
        action=action,
        debt=Debt(debt),
        reason=reason,
        node_id=node,
        target_id=target,
        edge=EdgeKind(edge) if edge else None,
        events=tuple(json.loads(events)),
        undone=undone is not None,
    )


class WrittenRows(Snapshot):
    """Reads what was written."""

    def written(self, space: str, sessions: Sequence[str]) -> dict[str, WrittenRow]:
        """Read what an LLM wrote of sessions."""
        found = self.space(space)
        rows = self.rows("written_of", (found.id, words(sessions))) if found is not None and sessions else []
        return {row[0]: WrittenRow(*row) for row in rows}

    def session_reach(self, space: str, session: str) -> Reach:
        """Tell how long a session is, and where it begins."""
        found = self.space(space)
        return Reach(*self.rows("session_reach", (found.id, session))[0]) if found else Reach(0, None)

    def plans_at(self, space: str, seqs: Sequence[int]) -> list[PlanRow]:
        """Read the plans that were proposed after events, in their order."""
        found = self.space(space)
        rows = self.rows("plans_at", (found.id, array(seqs))) if found is not None and len(seqs) else []
        return [PlanRow(seq, place, extractor, bool(refused), body) for seq, place, extractor, refused, body in rows]

    def plans_resting_on(self, space: str, seqs: Sequence[int]) -> list[tuple[int, int]]:
        """List the plans that rest on events or use their words, by event and place."""
        found = self.space(space)
        return [(row[0], row[1]) for row in self.rows("plans_resting_on", (found.id, array(seqs)))] if found else []

    def last_plan(self, space: str) -> int:
        """Tell the last event after which a plan was proposed; 0 where none was."""
        found = self.space(space)
        return int(self.one("last_plan", (found.id,))) if found else 0

    def last_event_upto(self, space: str, seq: int) -> int | None:
        """Tell the last event up to a number."""
        found = self.space(space)
        return self.one("last_event_upto", (found.id, seq)) if found else None

    def refusals(self, space: str) -> int:
        """Count what was not let in of what an LLM answered."""
        found = self.space(space)
        return int(self.one("refusals", (found.id,))) if found else 0


class WrittenChanges(WrittenRows):
    """Changes what was written."""

    def put_written(self, space: str, row: WrittenRow) -> None:
        """Keep what an LLM wrote of a session."""
        self.run("put_written", (self.space_to_write(space).id, *row))

    def drop_written(self, space: str, sessions: Sequence[str]) -> None:
        """Remove what an LLM wrote of sessions."""
        self.run("drop_written", (self.space_to_write(space).id, words(sessions)))

    def owe_job(self, space: str, kind: str, seq: int, *, due_at: int) -> None:
        """Leave a job for an event, or put off the one that is there; one that failed stays as it is."""
        self.run("owe_job", (self.space_to_write(space).id, kind, seq, due_at))

    def put_plan(
        self, space: str, seq: int, *, extractor: str, refused: bool, body: str, sources: Sequence[int]
    ) -> int:
        """Keep a plan that was proposed after an event; tell its place among those after that event."""
        into = self.space_to_write(space).id
        place = int(self.one("next_plan_place", (into, seq)))
        self.run("put_plan", (into, seq, place, extractor, int(refused), body))
        self.run_many("put_plan_source", ((into, source, seq, place) for source in sources))
        return place

    def drop_plans(self, space: str, plans: Sequence[tuple[int, int]]) -> None:
        """Remove plans, by event and place."""
        into = self.space_to_write(space).id
        for name in ("drop_plan", "drop_plan_sources"):
            self.run_many(name, ((into, seq, place) for seq, place in plans))
