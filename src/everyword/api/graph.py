"""`memory.graph`: entities, what was true of them and when, and which names mean the same one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from everyword.api.arguments import Time, checked_count
from everyword.api.facts import checked_entity_name, facts_about, find_one, list_entities, list_facts
from everyword.api.graph_map import draw_map
from everyword.api.scope import Scope, public
from everyword.errors import InvalidInput, NotFound
from everyword.knowledge.entities import describe_edit, in_window, with_names
from everyword.storage.protocol import FACTS, Edit, FactFilter, Reader, Writer
from everyword.types.graph import Entity, EntityEdit, Fact, Map
from everyword.types.times import as_datetime, from_micros, to_micros

_MOST = 1 << 62


class Graph:
    """What a memory knows of people, places, projects and things."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    @public
    def entities(self, *, type: str | None = None, prefix: str | None = None, limit: int | None = None) -> list[Entity]:
        """List people, organisations, projects, places, things and topics, those that are spoken of most first.

        type: "person", "organisation", "project", "place", "thing" or "topic". prefix: how one of its names begins.
        """
        return list_entities(self.scope, type=type, prefix=prefix, limit=limit)

    @public
    def entity(self, name: str) -> Entity:
        """Read one entity by any of its names, or by its id."""
        with self.scope.reader(FACTS) as reader:
            return find_one(self.scope, reader, name)

    @public
    def timeline(
        self, entity: str, *, since: Time | None = None, until: Time | None = None, limit: int | None = None
    ) -> list[Fact]:
        """List what was true of somebody or something, and what happened to it, in the order of time.

        since/until: only what held or happened in this window (until is exclusive).
        """
        first = None if since is None else as_datetime(since, "since")
        last = None if until is None else as_datetime(until, "until")
        most = _MOST if limit is None else checked_count("limit", limit, _MOST)
        with self.scope.reader(FACTS) as reader:
            home = find_one(self.scope, reader, entity).id
            facts = facts_about(self.scope, reader, home, FactFilter(), None, as_object=True)
        within = [fact for fact in facts if in_window(fact, first, last)]
        return sorted(within, key=lambda fact: (fact.valid_from or fact.said_at, fact.id))[:most]

    @public
    def held(self, since: Time, until: Time, *, subject: str | None = None, limit: int = 100) -> list[Fact]:
        """List the facts that were true in a span of time, those that were so for the longest part of it first."""
        begin, end = as_datetime(since, "since"), as_datetime(until, "until")
        most = checked_count("limit", limit, _MOST)
        if self.scope.wing is not None:  # what a wing knows is folded from its own events
            facts = [one for one in list_facts(self.scope, subject) if in_window(one, begin, end)]
            return sorted(facts, key=lambda one: (-_length(one, begin, end), one.id))[:most]
        with self.scope.reader(FACTS) as reader:
            home = None if subject is None else find_one(self.scope, reader, subject).id
            first, last = to_micros(begin)[0], to_micros(end)[0]
            facts = reader.longest_facts(home, since=first, until=last, limit=most)
            return with_names(reader, facts)

    @public
    def conflicts(self) -> list[Fact]:
        """List facts that contradict each other at one time, with no later statement to decide between them."""
        with self.scope.reader(FACTS) as reader:
            return facts_about(self.scope, reader, None, FactFilter(conflicts=True), None)

    @public
    def map(self, *, limit: int = 150) -> Map:
        """Draw concepts, entities and intents, the strongest of each, and what joins them.

        limit: how many nodes at most; half of them are concepts.
        """
        return draw_map(self.scope, limit=limit)

    @public
    def merge(self, gone: str, into: str) -> Entity:
        """Merge two that are one: all names of the first belong to the second from now on. `undo` reverts it."""
        from everyword.knowledge.entity_merging import merge

        with self.scope.writer(FACTS) as writer:
            one, other = find_one(self.scope, writer, gone), find_one(self.scope, writer, into)
            self._pin(writer, "merge", merge({}, one, other).pins)
            return find_one(self.scope, writer, other.id)

    @public
    def split(self, entity: str, names: Sequence[str]) -> Entity:
        """Split names off that belong to somebody else, and return that one. `undo` reverts it."""
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidInput(f"names takes a list, not {type(names).__name__}.")
        chosen = [checked_entity_name("names", name) for name in names]
        from everyword.knowledge.entity_merging import split

        with self.scope.writer(FACTS) as writer:
            self._pin(writer, "split", split({}, find_one(self.scope, writer, entity), chosen).pins)
            return find_one(self.scope, writer, chosen[0])

    @public
    def undo(self, number: int) -> EntityEdit:
        """Revert a merge or split; `edits` lists them with their numbers."""
        checked_count("number", number, _MOST)
        from everyword.knowledge.graph import rehome

        with self.scope.writer(FACTS) as writer:
            if not writer.undo_edit(number):
                raise NotFound(f"There is no merge or split number {number} to take back here.", fix="See edits().")
            rehome(writer)
            return next(self._described(writer, edit) for edit in writer.edits() if edit.number == number)

    @public
    def edits(self) -> list[EntityEdit]:
        """List merges and splits by hand, the oldest first."""
        with self.scope.reader() as reader:
            return [self._described(reader, edit) for edit in reader.edits()]

    def _pin(self, writer: Writer, kind: Literal["merge", "split"], pins: Mapping[str, str]) -> None:
        from everyword.knowledge.graph import rehome

        writer.put_edit(at=self.scope.engine.now(), kind=kind, pins=pins)
        rehome(writer)

    def _described(self, reader: Reader, edit: Edit) -> EntityEdit:
        return EntityEdit(
            number=edit.number,
            at=from_micros(edit.at),
            kind=edit.kind,
            what=describe_edit(reader, edit),
            undone=edit.undone,
        )


def _length(fact: Fact, begin: datetime, end: datetime) -> float:
    """Tell for how many seconds of a span a fact was true."""
    since = begin if fact.valid_from is None else max(begin, fact.valid_from)
    until = end if fact.valid_to is None else min(end, fact.valid_to)
    return (until - since).total_seconds()
