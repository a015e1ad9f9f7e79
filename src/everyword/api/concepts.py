"""`memory.concepts`: themes that events share, how the concept graph came to them, and views made of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from everyword.api.arguments import NO_LIMIT, Time, checked_count, checked_limit, time_or_none
from everyword.api.intents import intents_of_the_minute
from everyword.api.scope import Scope, in_pages, public, public_in_steps
from everyword.engine.retry import again
from everyword.errors import NotFound, OutOfDate
from everyword.knowledge.concept_labels import reworded
from everyword.storage.protocol import Reader
from everyword.storage.rows import CONCEPTS, STATEMENTS, Member
from everyword.text.terms import whole_until
from everyword.types.concepts import Concept, ConceptEdge, ConceptView, Folded, Ground, JournalEntry
from everyword.types.events import Event
from everyword.types.intents import Palace, Window
from everyword.types.records import RecordKind
from everyword.types.times import from_micros

_LONGEST_STORY = 2_000  # entries of the journal
_MOST_QUOTED = 240  # characters of an event beside a concept; `get` has the rest
_MOST_SHOWN = 1_000  # rooms of a wing, drawers of a room

# Inside the class `list` is a method.
_Concepts = list[Concept]
_Entries = list[JournalEntry]


class Concepts:
    """What many events come to."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    @public
    def list(self, *, about: str | None = None, as_of: Time | None = None, limit: int | None = None) -> _Concepts:
        """List concepts, the strongest and freshest first.

        about: with this word in their label, keys or names alone. as_of: what was known then, as it was known then.
        """
        return list_concepts(self.scope, about=about, as_of=as_of, limit=limit)

    @public
    def get(self, id: str, *, as_of: Time | None = None) -> ConceptView:
        """Read one concept with its events, its edges and its story."""
        then = time_or_none(as_of, "as_of")
        with self.scope.reader(CONCEPTS) as reader:
            # What is no id is looked for nowhere: stores take several ids at once, and not every text among them.
            ids = [id] if isinstance(id, str) and id.isascii() and id.isprintable() else []
            found = reader.concepts_by_id(ids, wing=self.scope.wing, as_of=then)
            if id not in found:
                raise NotFound(f"There is no concept with id {id!r} here.", fix="`concepts` lists them.")
            grounds = self._grounds(reader, reader.members([id], as_of=then))
            edges = reader.concept_edges([id], as_of=then)
            if self.scope.wing is not None:
                return self._within(reader, found[id], grounds, edges, then)
            story = reader.fold_journal(node=id, limit=_LONGEST_STORY)
        entries = [entry for _, entry in reversed(story) if then is None or entry.at <= then]
        return ConceptView(concept=found[id], grounds=grounds, edges=tuple(edges), journal=tuple(entries))

    @public_in_steps
    def fold(self, *, dry_run: bool = False) -> Folded:
        """Fold what waits now; `dry_run` only tells what that would change, and why."""
        from everyword.knowledge.concepts import count_waiting, would_fold

        engine, space = self.scope.engine, self.scope.space
        self._read_events()
        if dry_run:
            return again(engine, lambda: would_fold(engine, space))
        before = again(engine, self._last_entry)
        done = self.scope.derive(CONCEPTS)
        entries = again(engine, lambda: self._entries_after(before))
        return Folded(events=done, waiting=count_waiting(engine, space), dry_run=False, entries=tuple(entries))

    @public
    def journal(self, *, about: str | None = None, limit: int = 50) -> _Entries:
        """Read what was changed in the concept graph, why, and from which events; the newest first.

        about: the id of a concept or an event, for all of its story.
        """
        most = checked_count("limit", limit, NO_LIMIT)
        with self.scope.reader(CONCEPTS) as reader:
            entries = [entry for _, entry in reader.fold_journal(node=about, limit=most)]
            return self._of_wing(reader, entries)

    @public_in_steps
    def undo(self, id: str, *, by: str | None = None) -> JournalEntry:
        """Take a change back, by the id of its entry in the journal: what was merged is split, and stays so.

        The entry of taking back can be taken back in turn. by: who takes it back (default: "user").
        """
        from everyword.knowledge.concepts import undo_payload

        entry, wing = again(self.scope.engine, lambda: self._entry(id)), self.scope.wing
        # In the log, so that a rebuild comes to the same graph.
        self.scope.record(RecordKind.UNDO_CHANGE, undo_payload(entry), by=by, events=entry.events, wing=wing)
        self._read_events()
        self.scope.derive(CONCEPTS)
        return replace(entry, undone=True)

    @public
    def window(self, budget: int = 2000, *, now: Time | None = None, as_of: Time | None = None) -> Window:
        """Show what matters now, without a question: three tiers of events, concepts and intents in a token budget.

        as_of: by what was known then, and at that time unless `now` says otherwise.
        """
        from everyword.knowledge.window import window_in

        checked_count("budget", budget, 1_000_000)
        known = time_or_none(as_of, "as_of")
        moment = known if now is None and known is not None else self.scope.moment(now)
        with self.scope.reader(STATEMENTS, CONCEPTS) as reader:
            return window_in(
                reader,
                wing=self.scope.wing,
                now=moment,
                budget=budget,
                tokenizer=self.scope.engine.tokenizer,
                as_of=known,
                intents=intents_of_the_minute(self.scope, reader, moment) if now is None and known is None else None,
                fence_key=self.scope.engine.fence_key.of(reader.file),
            )

    @public
    def palace(self, *, rooms: int = 20, drawers: int = 10, as_of: Time | None = None) -> Palace:
        """Lay the memory out as a place: wing > room (concept) > hall (kind) > closet (summary) > drawer (event).

        rooms: how many a wing shows at most. drawers: how many of the newest events a room shows at most.
        as_of: by what was known then.
        """
        from everyword.knowledge.window import palace_in

        checked_count("rooms", rooms, _MOST_SHOWN)
        checked_count("drawers", drawers, _MOST_SHOWN)
        with self.scope.reader(CONCEPTS, STATEMENTS) as reader:
            then = time_or_none(as_of, "as_of")
            return palace_in(reader, wing=self.scope.wing, rooms=rooms, drawers=drawers, as_of=then)

    def _read_events(self) -> None:
        """Bring statements up to date: concepts are made of events that state something."""
        if self.scope.engine.settings.extract:
            self.scope.derive(STATEMENTS)

    def _last_entry(self) -> int:
        with self.scope.reader() as reader:
            return reader.last_number("fold_journal")

    def _entries_after(self, number: int) -> list[JournalEntry]:
        with self.scope.reader() as reader:
            return [entry for _, entry in reader.fold_entries(after=number, limit=NO_LIMIT)]

    def _entry(self, id: str) -> JournalEntry:
        """Find an entry that can be taken back."""
        with self.scope.reader(CONCEPTS) as reader:
            found = reader.fold_entry(id) if isinstance(id, str) else None
            visible = self._of_wing(reader, [found[1]]) if found is not None else []
        if not visible:
            raise NotFound(f"There is no entry with id {id!r} here.", fix="`journal` lists the entries.")
        if visible[0].undone:
            raise OutOfDate(f"{id} was undone already.", fix="To redo it, undo its undoing, which `journal` lists.")
        return visible[0]

    def _grounds(self, reader: Reader, members: Sequence[Member]) -> tuple[Ground, ...]:
        events = reader.fetch([one.seq for one in members])
        grounds = [
            Ground(
                event_id=one.event_id,
                kind=one.kind,
                weight=one.weight,
                at=from_micros(one.at),
                quote=quote_of(events[one.seq]),
                reason=one.reason,
            )
            for one in members
            if one.seq in events and self.scope.wing in (None, events[one.seq].wing)
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
        here = reader.concepts_by_id(ids, wing=self.scope.wing, as_of=as_of)
        mine = {ground.event_id for ground in grounds}
        kept = [replace(edge, events=tuple(id for id in edge.events if id in mine)) for edge in edges]
        kept = [edge for edge in kept if {edge.source, edge.target} <= here.keys()]
        if self.scope.wing is not None:
            concept = reworded(reader, self.scope.wing, concept, as_of)
        return ConceptView(concept=concept, grounds=grounds, edges=tuple(kept))

    def _of_wing(self, reader: Reader, entries: _Entries) -> _Entries:
        """Leave out what rests on other wings' events."""
        if self.scope.wing is None:
            return entries
        found = reader.known(id for one in entries for id in one.events)
        here = {id for id, known in found.items() if known.event.wing == self.scope.wing}
        return [one for one in entries if one.events and set(one.events) <= here]


def quote_of(event: Event) -> str:
    """Quote the beginning of an event beside a concept."""
    return event.text[: whole_until(event.text, _MOST_QUOTED)]


def list_concepts(scope: Scope, *, about: str | None, as_of: Time | None, limit: int | None) -> list[Concept]:
    """List concepts, the strongest and freshest first."""
    most = checked_limit(limit)
    then = time_or_none(as_of, "as_of")
    if then is None and scope.wing is None:
        with scope.reader(CONCEPTS) as reader:
            listed = reader.strongest_concepts(limit=most if about is None else NO_LIMIT)
            named = [one for one in listed if about is None or _speaks_of(one, about)]
            # Wings are read of those alone that are shown: each of their events is looked at for it.
            wings = reader.concept_wings([one.id for one in named[:most]])
            return [replace(one, wings=wings.get(one.id, ())) for one in named[:most]]

    def page(after: int, size: int) -> list[tuple[int, Concept]]:
        with scope.reader(CONCEPTS) as reader:
            rows = reader.concepts(wing=scope.wing, as_of=then, after=after, limit=size)
            return [(n, one if scope.wing is None else reworded(reader, scope.wing, one, then)) for n, one in rows]

    found = [one for one in in_pages(scope, page, 0) if one.label and (about is None or _speaks_of(one, about))]
    return sorted(found, key=lambda one: (-one.strength, -one.last_at.timestamp(), one.id))[:most]


def _speaks_of(concept: Concept, about: str) -> bool:
    wanted = about.casefold()
    return any(wanted in words.casefold() for words in (concept.label, *concept.keys, *concept.entities))
