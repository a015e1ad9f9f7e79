"""The temporal graph, as users ask for it: who and what, what is true of them and since when, and who is who."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from everyword.errors import InvalidFilter, InvalidInput, NotFound
from everyword.facade.arguments import Time, checked_count
from everyword.facade.handle import Handle
from everyword.knowledge.entities import describe_edit, find_entity, in_window, read_entities, with_names
from everyword.knowledge.sessions import with_summaries
from everyword.storage.protocol import Edit, FactFilter, Reader, Writer
from everyword.types.events import Event, Filter, Session
from everyword.types.graph import RELATIONS, Entity, EntityEdit, EntityType, Fact, name_key
from everyword.types.records import RecordKind
from everyword.types.times import as_datetime, from_micros, to_micros

_MOST = 1 << 62
_OF_STATEMENTS = (RecordKind.CORRECTION.value, RecordKind.RETRACTION.value)  # edits that make or end facts


class Graph(Handle):
    """What a memory knows of people, places, projects and things."""

    def entities(self, *, type: str | None = None, prefix: str | None = None, limit: int | None = None) -> list[Entity]:
        """List people, organisations, projects, places, things and topics, those that are spoken of most first.

        type: "person", "organisation", "project", "place", "thing" or "topic". prefix: how one of its names begins.
        """
        if type is not None and type not in tuple(EntityType):
            raise InvalidFilter(f"type={type!r} is not known.", fix=f"Choose one of {', '.join(EntityType)}.")
        most = _MOST if limit is None else checked_count("limit", limit, _MOST)
        key = "" if prefix is None else name_key(_text("prefix", prefix))
        with self._engine.store.reader() as reader:
            homes = reader.homes_by_prefix(self._space, prefix=key, type=type, wing=self._wing, limit=most)
            return read_entities(reader, self._space, homes)

    def entity(self, name: str) -> Entity:
        """Read one entity by any of its names, or by its id."""
        with self._engine.store.reader() as reader:
            return self._entity(reader, name)

    def facts(
        self,
        subject: str | None = None,
        relation: str | None = None,
        *,
        as_of: Time | None = None,
        known_at: Time | None = None,
        limit: int | None = None,
    ) -> list[Fact]:
        """List what is true of somebody or something, each with the words that it rests on and its window of time.

        as_of: what was true then; without it, all that ever was. known_at: as the memory knew it then.
        """
        true_at = None if as_of is None else as_datetime(as_of, "as_of")
        most = _MOST if limit is None else checked_count("limit", limit, _MOST)
        which = FactFilter(relation=relation, as_of=true_at)
        with self._engine.store.reader() as reader:
            home = None if subject is None else self._entity(reader, subject).id
            if home is None and known_at is None and self._wing is None:
                return self._first_facts(reader, which, most)
            return self._facts(reader, home, which, known_at)[:most]

    def timeline(
        self, entity: str, *, since: Time | None = None, until: Time | None = None, limit: int | None = None
    ) -> list[Fact]:
        """Tell what was true of somebody or something, and what happened to it, in the order of time.

        since/until: only what held or happened in this window (until is exclusive).
        """
        first = None if since is None else as_datetime(since, "since")
        last = None if until is None else as_datetime(until, "until")
        most = _MOST if limit is None else checked_count("limit", limit, _MOST)
        with self._engine.store.reader() as reader:
            facts = self._facts(reader, self._entity(reader, entity).id, FactFilter(), None, as_object=True)
        within = [fact for fact in facts if in_window(fact, first, last)]
        return sorted(within, key=lambda fact: (fact.valid_from or fact.said_at, fact.id))[:most]

    def conflicts(self) -> list[Fact]:
        """List facts that say otherwise of one time, with no later word to decide between them."""
        with self._engine.store.reader() as reader:
            return self._facts(reader, None, FactFilter(conflicts=True), None)

    # Who is who, by hand

    def merge(self, gone: str, into: str) -> Entity:
        """Say that two are one: every name of the first belongs to the second from now on. `undo` takes it back."""
        from everyword.knowledge.legacy.extract.entities import merge

        with self._engine.store.writer() as writer:
            one, other = self._entity(writer, gone), self._entity(writer, into)
            curated = merge({}, one, other)
            self._pin(writer, "merge", curated.pins)
            return self._entity(writer, other.id)

    def split(self, entity: str, names: Sequence[str]) -> Entity:
        """Say that some names of one are somebody else's; give that one. `undo` takes it back."""
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InvalidInput(f"names takes a list, not {type(names).__name__}.")
        chosen = [_text("names", name) for name in names]
        from everyword.knowledge.legacy.extract.entities import split

        with self._engine.store.writer() as writer:
            curated = split({}, self._entity(writer, entity), chosen)
            self._pin(writer, "split", curated.pins)
            return self._entity(writer, chosen[0])

    def undo(self, number: int) -> EntityEdit:
        """Take a merge or split back; `edits` lists them with their numbers."""
        checked_count("number", number, _MOST)
        from everyword.knowledge.graph import rehome

        with self._engine.store.writer() as writer:
            if not writer.undo_edit(self._space, number):
                raise NotFound(f"There is no merge or split number {number} to take back here.", fix="See edits().")
            rehome(writer, self._space)
            return next(self._told(writer, edit) for edit in writer.edits(self._space) if edit.number == number)

    def edits(self) -> list[EntityEdit]:
        """List merges and splits by hand, the oldest first."""
        with self._engine.store.reader() as reader:
            return [self._told(reader, edit) for edit in reader.edits(self._space)]

    # Inside

    def _export_wiki(self, folder: Path) -> int:
        from everyword.knowledge.graph_export import write_wiki

        done = write_wiki(folder, self.entities(), self.facts(), self._sessions())
        for name in done.kept:
            self._engine.models.say(f"{name} was changed by hand and stays as it is.")
        return done.written + done.unchanged

    def _export_graph(self, path: Path) -> int:
        from everyword.knowledge.graph_export import write_graph

        return write_graph(path, self.entities(), self.facts(), self._sessions())

    def _sessions(self) -> list[Session]:
        which = Filter(wing=self._wing)
        with self._engine.store.reader() as reader:
            return with_summaries(reader, self._space, reader.sessions(self._space, which), which)

    def _entity(self, reader: Reader, name: str) -> Entity:
        found = read_entities(reader, self._space, [find_entity(reader, self._space, _text("name", name))])[0]
        if self._wing is not None and not self._is_in_wing(reader, found.id):
            raise NotFound(f"Unknown entity {name!r}.", fix="List the names with entities().")
        return found

    def _is_in_wing(self, reader: Reader, home: str) -> bool:
        seqs = sorted({row.seq for row in reader.mentions(self._space, homes=[home])})
        return any(event.wing == self._wing for event in reader.fetch(self._space, seqs).values())

    def _facts(
        self, reader: Reader, home: str | None, which: FactFilter, known_at: Time | None, *, as_object: bool = False
    ) -> list[Fact]:
        if known_at is None and self._wing is None:
            facts = self._stored(reader, home, which, as_object=as_object)
        else:
            facts = self._folded(reader, home, which, known_at, as_object=as_object)
        return sorted(with_names(reader, self._space, facts), key=_as_read)

    def _first_facts(self, reader: Reader, which: FactFilter, most: int) -> list[Fact]:
        """Read the first of all facts; what they rest on, which is most of the work, only of those that are shown."""
        found = reader.facts(self._space, which, limit=_MOST, sources=False) if which != FactFilter() else None
        every = with_names(reader, self._space, self._first_by_name(reader, most) if found is None else found)
        first = sorted(every, key=_as_read)[:most]
        full = reader.facts_by_id(self._space, [fact.id for fact in first])
        return [replace(fact, sources=full[fact.id].sources) for fact in first]

    def _first_by_name(self, reader: Reader, most: int) -> list[Fact]:
        """Read the facts of one subject after the other, by name, until there are enough: each has one at least."""
        subjects = reader.fact_subjects(self._space)
        names = {one.id: one.name for one in read_entities(reader, self._space, subjects)}
        # One who has no name of its own any more goes by what its facts call it: these are read first, whatever it is.
        namesakes: dict[str, list[str]] = {}
        for subject in sorted(subjects, key=lambda id: (id in names, names.get(id, ""))):
            namesakes.setdefault(names.get(subject, ""), []).append(subject)
        facts: list[Fact] = []
        for name, some in namesakes.items():
            if len(facts) >= most and name:
                break
            facts += reader.facts(self._space, FactFilter(subjects=tuple(some)), limit=_MOST, sources=False)
        return facts

    def _stored(self, reader: Reader, home: str | None, which: FactFilter, *, as_object: bool) -> list[Fact]:
        if home is None:
            return reader.facts(self._space, which, limit=_MOST)
        either = FactFilter(subjects=(home,), objects=(home,), relation=which.relation, as_of=which.as_of)
        found = reader.facts(self._space, either, limit=_MOST)
        return [fact for fact in found if _is_about(fact, home, as_object=as_object)]

    def _folded(
        self, reader: Reader, home: str | None, which: FactFilter, known_at: Time | None, *, as_object: bool
    ) -> list[Fact]:
        """Fold what some events claim: those of a wing, or those that were known at a time."""
        from everyword.knowledge.legacy.extract.facts import timeline

        moment = None if known_at is None else as_datetime(known_at, "known_at")
        seqs = reader.matching(self._space, Filter(wing=self._wing, as_of=moment))
        allowed = set[int]() if seqs is None else set(seqs.tolist())
        edits = reader.records(self._space, _OF_STATEMENTS)
        allowed |= {one.seq for one in edits if _knows(one.event, self._wing, moment)}
        claims = reader.claims_of(self._space, homes=None if home is None else [home])
        drafts = [row.draft for row in claims if row.seq in allowed and row.draft.subject != row.draft.object]
        return [
            fact
            for fact in timeline(drafts)
            if (home is None or _is_about(fact, home, as_object=as_object))
            and which.relation in (None, fact.relation)
            and which.conflicts in (None, fact.conflicts)
            and (which.as_of is None or _true_at(fact, which.as_of))
        ]

    def _pin(self, writer: Writer, kind: Literal["merge", "split"], pins: Mapping[str, str]) -> None:
        from everyword.knowledge.graph import rehome

        writer.put_edit(self._space, at=self._engine.now(), kind=kind, pins=pins)
        rehome(writer, self._space)

    def _told(self, reader: Reader, edit: Edit) -> EntityEdit:
        return EntityEdit(
            number=edit.number,
            at=from_micros(edit.at),
            kind=edit.kind,
            what=describe_edit(reader, self._space, edit),
            undone=edit.undone,
        )


def _knows(record: Event, wing: str | None, moment: datetime | None) -> bool:
    """Tell whether an edit was made in a wing, and by a time."""
    return wing in (None, record.wing) and (moment is None or record.recorded_at <= moment)


def _is_about(fact: Fact, home: str, *, as_object: bool) -> bool:
    """Tell whether a fact is about one: as its subject, or as its object where that is the same or was asked for."""
    if fact.subject == home:
        return True
    relation = RELATIONS.get(fact.relation)
    return fact.object == home and (as_object or (relation is not None and relation.symmetric))


def _as_read(fact: Fact) -> tuple[str, str, float, str]:
    since = fact.valid_from
    began = -math.inf if since is None else float(to_micros(since)[0])
    return fact.subject_name, fact.relation, began, fact.object_name


def _true_at(fact: Fact, moment: datetime) -> bool:
    began = fact.valid_from is None or fact.valid_from <= moment
    return began and (fact.valid_to is None or fact.valid_to > moment or fact.valid_from == fact.valid_to == moment)


def _text(field: str, given: object) -> str:
    if not isinstance(given, str) or not given.strip():
        raise InvalidInput(f"{field} must be a name or an id, not {given!r}.")
    if "\x00" in given or any("\ud800" <= char <= "\udfff" for char in given):
        raise InvalidInput(f"{field} has a NUL or a lone surrogate; names are plain Unicode.")
    return given
