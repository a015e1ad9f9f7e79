"""Concepts, as users ask for them: what keeps coming up, on which events that rests, and how the graph came to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from everyword.errors import NotFound, OutOfDate
from everyword.facade.arguments import Time, checked_count
from everyword.facade.handle import Handle
from everyword.knowledge.concept_visibility import reworded
from everyword.storage.protocol import Member, Reader
from everyword.text.terms import whole_until
from everyword.types.concepts import Concept, ConceptEdge, ConceptView, Folded, Ground, JournalEntry
from everyword.types.records import RecordKind
from everyword.types.times import as_datetime, from_micros

_PAGE = 2_000  # concepts read at a time
_QUOTED = 240  # characters of an event beside a concept; `get` has the rest
_MOST = 1 << 62


class Conceiving(Handle):
    """What many events come to."""

    def concepts(
        self, *, about: str | None = None, as_of: Time | None = None, limit: int | None = None
    ) -> list[Concept]:
        """List concepts, the strongest and freshest first.

        about: with this word in their label, keys or names alone. as_of: what was known then, as it was known then.
        """
        most = _MOST if limit is None else checked_count("limit", limit, _MOST)
        then = None if as_of is None else as_datetime(as_of, "as_of")
        if then is None and self._wing is None:
            with self._engine.store.reader() as reader:
                listed = reader.strongest_concepts(self._space, limit=most if about is None else _MOST)
                named = [one for one in listed if about is None or _speaks_of(one, about)]
                return self._with_wings(reader, named[:most])
        found = [one for one in self._concept_pages(then) if about is None or _speaks_of(one, about)]
        return sorted(found, key=lambda one: (-one.strength, -one.last_at.timestamp(), one.id))[:most]

    def _with_wings(self, reader: Reader, concepts: Sequence[Concept]) -> list[Concept]:
        """Fill in the wings, of those alone that are shown: each of their events is looked at for it."""
        wings = reader.concept_wings(self._space, [one.id for one in concepts])
        return [replace(one, wings=wings.get(one.id, ())) for one in concepts]

    def concept(self, id: str, *, as_of: Time | None = None) -> ConceptView:
        """Read one concept with its events, its edges and its story."""
        then = None if as_of is None else as_datetime(as_of, "as_of")
        with self._engine.store.reader() as reader:
            # What is no id is looked for nowhere: stores take several ids at once, and not every text among them.
            ids = [id] if isinstance(id, str) and id.isascii() and id.isprintable() else []
            found = reader.concepts_by_id(self._space, ids, wing=self._wing, as_of=then)
            if id not in found:
                raise NotFound(f"There is no concept with id {id!r} here.", fix="See concepts().")
            grounds = self._grounds(reader, reader.members(self._space, [id], as_of=then))
            edges = reader.concept_edges(self._space, [id], as_of=then)
            if self._wing is not None:
                return self._within(reader, found[id], grounds, edges, then)
            story = reader.fold_journal(self._space, node=id, limit=_PAGE)
        told = [entry for _, entry in reversed(story) if then is None or entry.at <= then]
        return ConceptView(concept=found[id], grounds=grounds, edges=tuple(edges), journal=tuple(told))

    def fold(self, *, dry_run: bool = False) -> Folded:
        """Fold what waits now; `dry_run` only tells what that would change, and why."""
        from everyword.knowledge import concepts as folding

        return folding.fold(self._engine, self._space, dry_run=dry_run)

    def journal(self, *, about: str | None = None, limit: int = 50) -> list[JournalEntry]:
        """Read what was changed in the concept graph, why, and from which events; the newest first.

        about: the id of a concept or an event, for all of its story.
        """
        most = checked_count("limit", limit, _MOST)
        with self._engine.store.reader() as reader:
            entries = [entry for _, entry in reader.fold_journal(self._space, node=about, limit=most)]
            return self._of_wing(reader, entries)

    def unfold(self, id: str, *, by: str | None = None) -> JournalEntry:
        """Take a change back, by the id of its entry in the journal: what was merged is split, and stays so.

        The entry of taking back can be taken back in turn. by: who takes it back (default: "user").
        """
        with self._engine.store.reader() as reader:
            found = reader.fold_entry(self._space, id) if isinstance(id, str) else None
            visible = self._of_wing(reader, [found[1]]) if found is not None else []
        if not visible:
            raise NotFound(f"There is no entry with id {id!r} here.", fix="See journal().")
        entry = visible[0]
        if entry.undone:
            raise OutOfDate(f"{id} was taken back already.", fix="Take that back in turn: see journal().")
        from everyword.ingest.edit_records import write_record
        from everyword.knowledge.concepts import fold, unfolding

        # In the log, so that a rebuild comes to the same graph.
        write_record(
            self._engine,
            self._space,
            RecordKind.UNFOLD,
            unfolding(entry),
            by=self._by(by),
            events=entry.events,
            wing=self._wing,
        )
        fold(self._engine, self._space, dry_run=False)
        return replace(entry, undone=True)

    def _concept_pages(self, as_of: datetime | None) -> Iterator[Concept]:
        after = 0
        while True:
            with self._engine.store.reader() as reader:
                rows = reader.concepts(self._space, wing=self._wing, as_of=as_of, after=after, limit=_PAGE)
                listed = [concept for _, concept in rows]
                if self._wing is not None:
                    listed = [reworded(reader, self._space, self._wing, one, as_of) for one in listed]
            yield from listed
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def _grounds(self, reader: Reader, members: Sequence[Member]) -> tuple[Ground, ...]:
        events = reader.fetch(self._space, [one.seq for one in members])
        grounds = [
            Ground(
                event_id=one.event_id,
                kind=one.kind,
                weight=one.weight,
                at=from_micros(one.at),
                quote=events[one.seq].text[: whole_until(events[one.seq].text, _QUOTED)],
                reason=one.reason,
            )
            for one in members
            if one.seq in events and self._wing in (None, events[one.seq].wing)
        ]
        return tuple(sorted(grounds, key=lambda ground: (ground.at, ground.event_id)))

    def _within(
        self,
        reader: Reader,
        concept: Concept,
        grounds: tuple[Ground, ...],
        edges: Sequence[ConceptEdge],
        as_of: datetime | None,
    ) -> ConceptView:
        """Show a concept as one wing knows it: no words of another wing."""
        ids = [end for edge in edges for end in (edge.source, edge.target)]
        here = reader.concepts_by_id(self._space, ids, wing=self._wing, as_of=as_of)
        mine = {ground.event_id for ground in grounds}
        kept = [replace(edge, events=tuple(id for id in edge.events if id in mine)) for edge in edges]
        kept = [edge for edge in kept if {edge.source, edge.target} <= here.keys()]
        mine_alone = concept if self._wing is None else reworded(reader, self._space, self._wing, concept, as_of)
        return ConceptView(concept=mine_alone, grounds=grounds, edges=tuple(kept))

    def _of_wing(self, reader: Reader, entries: list[JournalEntry]) -> list[JournalEntry]:
        """Leave out what rests on other wings' events."""
        if self._wing is None:
            return entries
        from everyword.types.ids import raw_event_id

        raw = {id: raw_id for one in entries for id in one.events if (raw_id := raw_event_id(id)) is not None}
        found = reader.find(self._space, list(raw.values()))
        here = {id for id, raw_id in raw.items() if raw_id in found and found[raw_id].event.wing == self._wing}
        return [one for one in entries if one.events and set(one.events) <= here]


def _speaks_of(concept: Concept, about: str) -> bool:
    wanted = about.casefold()
    return any(wanted in words.casefold() for words in (concept.label, *concept.keys, *concept.entities))
