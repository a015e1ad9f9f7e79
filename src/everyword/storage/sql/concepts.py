"""Read and write the concept graph: versions of concepts and edges, the journal, and what LLMs wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from everyword.storage.rows import (
    CONCEPTS,
    EMBED,
    Act,
    EdgeRow,
    FoldMark,
    Member,
    PlanRow,
    SessionSize,
    Undone,
    WorkRow,
    WrittenRow,
)
from everyword.storage.sql.snapshot import Row, SpaceRows, compact_json, grouped, known_by, names
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
from everyword.types.events import Json, event_id
from everyword.types.times import from_micros


class ConceptRows(SpaceRows):
    """Reads the concept graph, and what LLMs wrote of sessions and concepts."""

    def fold_mark(self) -> FoldMark | None:
        """Tell how far a space is folded; None where nothing is."""
        rows = self._rows("fold_mark")
        return FoldMark(self.cursor(CONCEPTS), *rows[0]) if rows else None

    def vectors_owed_from(self) -> int | None:
        """Tell the first event whose vectors are still owed."""
        return self.sql.one("first_job", (EMBED, self.id))

    def concepts(
        self, *, wing: str | None = None, as_of: datetime | None = None, after: int = 0, limit: int
    ) -> list[tuple[int, Concept]]:
        """List concepts of a wing, or of a time, in the order in which they were last worded, after a number."""
        rows = self._rows("concepts", after=after, limit=limit, wing=wing, as_of=known_by(as_of))
        return [(row[0], _concept(self.space, row, as_of)) for row in rows]

    def strongest_concepts(self, *, limit: int) -> list[Concept]:
        """List those that stand now, the strongest and freshest first; the wings of their events are not told."""
        rows = self._rows("strongest_concepts", weakest=LEAST_GROUNDS, strongest=STRONGEST_FROM, limit=limit)
        return [_concept(self.space, row, None) for row in rows]

    def concept_wings(self, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Tell the wings of the events of some concepts; a concept without any is left out."""
        # Where there are no wings, no event need be looked at.
        if not ids or self._one("wings", limit=1) is None:
            return {}
        of = grouped((id, wing) for id, wing in self._rows("concept_wings", ids=tuple(ids)))
        return {id: tuple(sorted(wings)) for id, wings in of.items()}

    def room_counts(self, wing: str | None, *, as_of: datetime | None = None) -> dict[str | None, int]:
        """Count the events that each labelled concept has in a wing (None: without one), and at None those of any."""
        return self._pairs("room_counts", wing=wing, as_of=known_by(as_of))

    def concepts_by_id(
        self, ids: Sequence[str], *, wing: str | None = None, as_of: datetime | None = None
    ) -> dict[str, Concept]:
        """Look concepts up, also closed ones, by their latest wording."""
        rows = self._rows_of("concepts_by_id", ids, wing=wing, as_of=known_by(as_of))
        return {row[1]: _concept(self.space, row, as_of) for row in rows if row[4]}

    def standing_concepts(self, ids: Sequence[str]) -> dict[str, Concept]:
        """Look up those that stand now, whatever the wing; the wings of their events are not told."""
        rows = self._rows("standing_concepts", ids=tuple(ids)) if ids else []
        return {row[1]: _concept(self.space, row, None) for row in rows}

    def concept_body(self, id: str) -> Mapping[str, Json]:
        """Read how a concept was last worded, as it was put."""
        return json.loads(self._one("concept_body", id) or "{}")

    def concepts_labelled_by(self, ids: Sequence[str]) -> dict[str, int]:
        """Find the entry of the journal by which each concept first had a label; not those that have had none."""
        return self._pairs("concepts_labelled_by", ids=tuple(ids))

    def concept_stands(self, id: str) -> bool:
        return self._one("concept_stands", id) is not None

    def concept_count(self) -> int:
        return self._one("count_concepts")

    def concept_of_label(self, label: str) -> str | None:
        return self._one("concept_of_label", label.casefold())

    def members(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Member]:
        """Read the events of some concepts, in the order in which they came to belong there."""
        return list(map(_member, self._rows_of("fold_members", ids, as_of=known_by(as_of))))

    def members_by(self, number: int) -> list[Member]:
        """Read the events that an entry of the journal brought to concepts, in the order of number."""
        return list(map(_member, self._rows("fold_members_by", number)))

    def recent_members(self, id: str, *, limit: int) -> list[int]:
        """List the latest events of a concept, the oldest of them first."""
        return self._column("fold_recent", id, limit)[::-1]

    def member_reach(self, id: str) -> tuple[int, int]:
        """Tell when the latest event happened that ever belonged to a concept, and the seq that last changed which do.

        Events that left it are among them: what a concept knows of its past does not hang on whether it was read back.
        """
        ((last_at, changed),) = self._rows("fold_reach", id)
        return last_at, changed

    def held_by(self, seqs: Sequence[int], *, as_of: datetime | None = None) -> dict[int, dict[str, float]]:
        """Tell which concepts hold some events, and how strongly."""
        now = as_of is None
        rows = self._rows_of("fold_held", seqs) if now else self._rows_of("fold_held_then", seqs, known_by(as_of))
        held: dict[int, dict[str, float]] = {}
        for seq, concept, weight in rows:
            held.setdefault(seq, {})[concept] = weight
        return held

    def concept_edges(
        self, ids: Sequence[str], *, as_of: datetime | None = None, among: bool = False
    ) -> list[ConceptEdge]:
        """Read the edges between some concepts and others, each with all that supports it; among: of these alone."""
        rows = self._linked("fold_links", "fold_links_now", ids, as_of)
        if among:  # each of them begins at one
            wanted = set(ids)
            return _edges([row for row in rows if row[1] in wanted])
        rows += self._linked("fold_links_into", "fold_links_into_now", ids, as_of)
        return _edges(list({tuple(row): row for row in rows}.values()))

    def concept_linked(self, id: str) -> bool:
        """Tell whether any edge joins a concept to another."""
        return bool(self._one("fold_linked", id))

    def concept_neighbours(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[tuple[str, str]]:
        """Tell which concepts an edge of some kind joins, where one end is one of these; each pair once."""
        rows = self._linked("fold_neighbours", "fold_neighbours_now", ids, as_of)
        return [(source, target) for source, target in rows]

    def _linked(self, then: str, now: str, ids: Sequence[str], as_of: datetime | None) -> list[Row]:
        """Run a query of edges, or the faster one about what holds now."""
        if as_of is not None:
            return self._rows_of(then, ids, as_of=known_by(as_of))
        return self._rows(now, ids=tuple(ids)) if ids else []

    def fold_journal(self, *, node: str | None = None, limit: int) -> list[tuple[int, JournalEntry]]:
        """Read the journal, the newest first; of one node, all of its story."""
        rows = self._rows("fold_entries_newest", limit) if node is None else self._rows("fold_entries_of", node)[::-1]
        return [(row[0], _entry(row)) for row in rows[:limit]]

    def fold_entries(self, *, after: int, limit: int) -> list[tuple[int, JournalEntry]]:
        """Read the journal in its order, after a number."""
        return [(row[0], _entry(row)) for row in self._rows("fold_entries", after, limit)]

    def fold_steps(self, seq: int) -> int:
        """Count the entries that an event caused."""
        return self._one("fold_steps", seq)

    def fold_entry(self, id: str) -> tuple[int, JournalEntry] | None:
        return next(((row[0], _entry(row)) for row in self._rows("fold_entry", id)), None)

    def fold_work(self, *, limit: int) -> list[WorkRow]:
        """Read the concepts that were last confirmed, the oldest first."""
        return list(map(_work, self._rows("fold_work", limit)))

    def fold_work_of(self, id: str) -> WorkRow | None:
        """Read one concept that stands."""
        return next(map(_work, self._rows("fold_work_of", id)), None)

    def fold_loose(self) -> list[int]:
        """List the events that look for company, in order."""
        return self._column("fold_loose")

    def kept_apart(self) -> list[tuple[str, str]]:
        """Read who was told to stay apart."""
        return [(row[0], row[1]) for row in self._rows("fold_apart")]

    # What LLMs wrote

    def written(self, sessions: Sequence[str]) -> dict[str, WrittenRow]:
        """Read what an LLM wrote of sessions."""
        return {row[0]: WrittenRow(*row) for row in self._rows_of("written_of", sessions)}

    def session_reach(self, session: str) -> SessionSize:
        """Tell how long a session is, and where it begins."""
        return SessionSize(*self._rows("session_reach", session)[0])

    def plans_at(self, seqs: Sequence[int]) -> list[PlanRow]:
        """Read the plans that were proposed after events, in their order."""
        rows = self._rows_of("plans_at", seqs)
        return [PlanRow(seq, place, extractor, bool(refused), body) for seq, place, extractor, refused, body in rows]

    def plans_resting_on(self, seqs: Sequence[int]) -> list[tuple[int, int]]:
        """List the plans that rest on events or use their words, by event and place."""
        return [(row[0], row[1]) for row in self._rows_of("plans_resting_on", seqs)]

    def last_plan(self) -> int:
        """Tell the last event after which a plan was proposed; 0 where none was."""
        return int(self._one("last_plan"))

    def last_event_upto(self, seq: int) -> int | None:
        return self._one("last_event_upto", seq)

    def refusals(self) -> int:
        return int(self._one("refusals"))


class ConceptChanges(ConceptRows):
    """Changes the concept graph, and what LLMs wrote."""

    def set_fold_mark(self, mark: FoldMark) -> None:
        self._change("set_fold_mark", mark.epoch, mark.profile)
        self.set_cursor(CONCEPTS, mark.upto)

    def put_entry(self, seq: int, at: int, entry: JournalEntry) -> int:
        """Write an entry of the journal; tell its number."""
        events = None if entry.events == (entry.node_id,) else compact_json(entry.events)
        about = (entry.action, entry.debt, entry.node_id, entry.target_id, entry.edge, entry.reason)
        return self.sql.added("insert_fold_entry", (self.into, entry.id, seq, at, *about, events))

    def put_node(self, act: Act, id: str, body: Mapping[str, Json]) -> None:
        """Word a concept, for the first time or anew; the wording before is closed."""
        self.sql.run("close_fold_node", (*act, None, self.into, id))
        self._change("insert_fold_node", id, str(body["label"]).casefold(), *act, compact_json(body))

    def close_node(self, act: Act, id: str, *, into: str | None = None) -> None:
        """Close a concept with all its edges; where it was absorbed, they lead to the other from now on."""
        self.sql.run("close_fold_node", (*act, into, self.into, id))
        self._close_edges_of(act, id)
        if into is not None:
            values = {"from": id, "to": into, "born": act.seq, "born_at": act.at, "born_by": act.entry}
            for name in ("move_fold_edges_into", "move_fold_edges_from"):
                self.sql.run(name, {"space": self.into, **values})

    def put_concept_edges(self, act: Act, edges: Iterable[EdgeRow]) -> None:
        """Add supports of edges."""
        self._change_each("insert_fold_edge", ((*one, *act) for one in edges))

    def close_concept_edge(self, act: Act, source: str, target: str, kind: EdgeKind) -> None:
        self.sql.run("close_fold_edge", (*act, self.into, source, target, kind))

    def undo_entry(self, act: Act, number: int) -> Undone:
        """Close what an entry added, and add again what it closed."""
        entry = (self.into, number)
        closed = self.sql.rows("close_edges_born_by", (*act, *entry))
        gone = {row[0] for row in self.sql.rows("close_nodes_born_by", (*act, *entry))}
        back = {row[0] for row in self.sql.rows("restore_nodes_closed_by", (*act, *entry))}
        for id in sorted(gone - back):  # what later events hung on it goes with it
            closed += self._close_edges_of(act, id)
        restored = self.sql.rows("restore_edges_closed_by", (*act, *entry))
        self.sql.run("mark_undone", (act.seq, *entry))
        ends = {end for row in (*closed, *restored) for end in row[:2]}
        return Undone(
            concepts=frozenset(gone | back | ends),
            edges=tuple((row[0], row[1], row[2]) for row in closed),
            events=frozenset(row[3] for row in (*closed, *restored)),
        )

    def _close_edges_of(self, act: Act, id: str) -> list[Row]:
        names = ("close_fold_edges_into", "close_fold_edges_from")
        return [row for name in names for row in self.sql.rows(name, (*act, self.into, id))]

    def keep_apart(self, seq: int, pairs: Iterable[tuple[str, str]]) -> None:
        """Note who is to stay apart from an event on."""
        self._change_each("insert_fold_apart", ((seq, *pair) for pair in pairs))

    def put_work(self, row: WorkRow) -> None:
        """Keep a concept at work."""
        self._change("put_fold_work", row.id, row.touched, row.size, row.last_at, row.total, row.recent)

    def drop_work(self, id: str) -> None:
        self._change("drop_fold_work", id)

    def put_loose(self, seq: int) -> None:
        """Note an event that looks for company."""
        self._change("put_fold_loose", seq)

    def settle_loose(self, seqs: Iterable[int], *, by: int) -> None:
        """Note that some look no more, from an event on."""
        into = self.into
        self.sql.run_many("settle_fold_loose", ((by, into, seq) for seq in seqs))

    def roll_back_folding(self, seq: int) -> list[str]:
        """Take back all that an event and those after it caused; list the concepts whose sums must be made anew."""
        stale = {*self._column("work_touched_since", seq), *self._column("held_otherwise_since", seq)}
        for name in ("roll_back_edges", "roll_back_nodes", "roll_back_entries", "roll_back_apart", "roll_back_loose"):
            self._change(name, seq)
        stale |= {row[0] for row in self.sql.rows("reopen_nodes", (self.into, seq))}
        for name in ("reopen_edges", "reopen_entries", "reopen_loose"):
            self._change(name, seq)
        return sorted(stale)

    # What LLMs wrote

    def put_written(self, row: WrittenRow) -> None:
        self._change("put_written", *row)

    def drop_written(self, sessions: Sequence[str]) -> None:
        self._change("drop_written", tuple(sessions))

    def owe_job(self, kind: str, seq: int, *, due_at: int) -> None:
        """Leave a job for an event, or put off the one that is there; one that failed stays as it is."""
        self._change("owe_job", kind, seq, due_at)

    def put_plan(self, seq: int, *, extractor: str, refused: bool, body: str, sources: Sequence[int]) -> int:
        """Keep a plan that was proposed after an event; tell its place among those after that event."""
        place = int(self.sql.one("next_plan_place", (self.into, seq)))
        self._change("put_plan", seq, place, extractor, int(refused), body)
        self._change_each("put_plan_source", ((source, seq, place) for source in sources))
        return place

    def drop_plans(self, plans: Sequence[tuple[int, int]]) -> None:
        for name in ("drop_plan", "drop_plan_sources"):
            self._change_each(name, plans)


def _work(row: Row) -> WorkRow:
    return WorkRow(row[0], json.loads(row[1]), *row[2:])


def _member(row: Row) -> Member:
    concept, seq, raw_id, kind, weight, at, reason = row
    return Member(concept, seq, event_id(raw_id), EdgeKind(kind), weight, at, reason)


def _concept(space: str, row: Row, as_of: datetime | None) -> Concept:
    _, id, body, created_at, events, first_at, last_at, wings, closed_at, merged_into = row
    held: dict[str, Any] = json.loads(body)
    ended = None if closed_at is None or closed_at > known_by(as_of) else from_micros(closed_at)
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
        closed_at=ended,
        merged_into=merged_into if ended else None,
    )


def _edges(rows: Sequence[Row]) -> list[ConceptEdge]:
    """Gather the supports of each edge: as strong as the strongest, as old as the first, as fresh as the latest."""
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
        for (source, target, kind), supports in grouped(((row[0], row[1], row[2]), row) for row in rows).items()
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
        events=(node,) if events is None else tuple(json.loads(events)),
        undone=undone is not None,
    )
