"""Read entities and facts of a scope: those of a whole space, or those that one wing knows of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from everyword.api.arguments import NO_LIMIT, Time, checked_limit, checked_relation, chosen, time_or_none
from everyword.api.scope import Scope
from everyword.errors import InvalidInput, NotFound
from everyword.knowledge.names import find_entity, read_entities, with_names
from everyword.storage.protocol import Reader
from everyword.storage.rows import FACTS, FactFilter
from everyword.types.events import Filter
from everyword.types.graph import RELATIONS, Entity, EntityType, Fact, name_key
from everyword.types.records import RecordKind
from everyword.types.times import from_micros, to_micros

_OF_STATEMENTS = (RecordKind.CORRECTION.value, RecordKind.RETRACTION.value)  # edits that make or end facts


def list_entities(scope: Scope, *, type: str | None, prefix: str | None, limit: int | None) -> list[Entity]:
    """List entities, those that are spoken of most first."""
    most, kind = checked_limit(limit), chosen(EntityType, "type", type)
    key = "" if prefix is None else name_key(checked_entity_name("prefix", prefix))
    with scope.reader(FACTS) as reader:
        homes = reader.homes_by_prefix(prefix=key, type=kind and kind.value, wing=scope.wing, limit=most)
        return _in_wing(scope, reader, read_entities(reader, homes))


def list_facts(
    scope: Scope,
    subject: str | None = None,
    relation: str | None = None,
    *,
    as_of: Time | None = None,
    known_at: Time | None = None,
    limit: int | None = None,
) -> list[Fact]:
    """List facts, by subject and relation."""
    most, true_at = checked_limit(limit), time_or_none(as_of, "as_of")
    which = FactFilter(relation=None if relation is None else checked_relation(relation), as_of=true_at)
    with scope.reader(FACTS) as reader:
        home = None if subject is None else find_one(scope, reader, subject).id
        if home is None and known_at is None and scope.wing is None:
            return _first_facts(scope, reader, which, most)
        return facts_about(scope, reader, home, which, known_at)[:most]


def find_one(scope: Scope, reader: Reader, name: str) -> Entity:
    """Find an entity by any of its names, or by its id."""
    found = _in_wing(scope, reader, read_entities(reader, [find_entity(reader, checked_entity_name("name", name))]))
    if not found:
        raise NotFound(f"Unknown entity {name!r}.", fix="`entities` lists the known names.")
    return found[0]


def _in_wing(scope: Scope, reader: Reader, entities: Sequence[Entity]) -> list[Entity]:
    """Keep the entities that a wing knows, and count what it said of each."""
    here = reader.matching(Filter(wing=scope.wing))
    if scope.wing is None or here is None:
        return list(entities)
    homes = [one.id for one in entities]
    home_of = {row.id: row.home for row in reader.names_of(homes=homes)}
    allowed, said = set(here.tolist()), dict[str, set[int]]()
    for row in reader.mentions(homes=homes):
        if row.seq in allowed:
            said.setdefault(home_of[row.name], set()).add(row.seq)
    outlines = reader.outlines(sorted({seq for seqs in said.values() for seq in seqs}))
    counted: list[Entity] = []
    for one in entities:
        if times := [outlines[seq].at for seq in said.get(one.id, ())]:
            first_at, last_at = from_micros(min(times)), from_micros(max(times))
            counted.append(replace(one, events=len(times), first_at=first_at, last_at=last_at))
    return counted


def facts_about(
    scope: Scope, reader: Reader, home: str | None, which: FactFilter, known_at: Time | None, *, as_object: bool = False
) -> list[Fact]:
    """Read facts as they are stored, or fold them from what a wing said, or from what was known at a time."""
    if known_at is None and scope.wing is None:
        facts = _stored(reader, home, which, as_object=as_object)
    else:
        facts = _folded(scope, reader, home, which, known_at, as_object=as_object)
    return sorted(with_names(reader, facts), key=_as_read)


def _first_facts(scope: Scope, reader: Reader, which: FactFilter, most: int) -> list[Fact]:
    """Read the first of all facts; what they rest on, which is most of the work, only of those that are shown."""
    found = reader.facts(which, limit=NO_LIMIT, sources=False) if which != FactFilter() else None
    every = with_names(reader, _first_by_name(reader, most) if found is None else found)
    first = sorted(every, key=_as_read)[:most]
    full = reader.facts_by_id([fact.id for fact in first])
    return [replace(fact, sources=full[fact.id].sources) for fact in first]


def _first_by_name(reader: Reader, most: int) -> list[Fact]:
    """Read the facts of one subject after the other, by name, until there are enough: each has one at least."""
    subjects = reader.fact_subjects()
    names = {one.id: one.name for one in read_entities(reader, subjects)}
    # One who has no name of its own any more goes by what its facts call it: these are read first, whatever it is.
    namesakes: dict[str, list[str]] = {}
    for subject in sorted(subjects, key=lambda id: (id in names, names.get(id, ""))):
        namesakes.setdefault(names.get(subject, ""), []).append(subject)
    facts: list[Fact] = []
    for name, some in namesakes.items():
        if len(facts) >= most and name:
            break
        facts += reader.facts(FactFilter(subjects=tuple(some)), limit=NO_LIMIT, sources=False)
    return facts


def _stored(reader: Reader, home: str | None, which: FactFilter, *, as_object: bool) -> list[Fact]:
    if home is None:
        return reader.facts(which, limit=NO_LIMIT)
    either = FactFilter(subjects=(home,), objects=(home,), relation=which.relation, as_of=which.as_of)
    found = reader.facts(either, limit=NO_LIMIT)
    return [fact for fact in found if _is_about(fact, home, as_object=as_object)]


def _folded(
    scope: Scope, reader: Reader, home: str | None, which: FactFilter, known_at: Time | None, *, as_object: bool
) -> list[Fact]:
    """Fold what some events claim: those of a wing, or those that were known at a time."""
    from everyword.knowledge.timeline import timeline

    moment = time_or_none(known_at, "known_at")
    seqs = reader.matching(Filter(wing=scope.wing, as_of=moment))
    allowed = set[int]() if seqs is None else set(seqs.tolist())
    for edit in reader.records(_OF_STATEMENTS):  # those that were made in this wing, and by this time
        if scope.wing in (None, edit.event.wing) and (moment is None or edit.event.recorded_at <= moment):
            allowed.add(edit.seq)
    claims = reader.claims_of(homes=None if home is None else [home])
    drafts = [row.draft for row in claims if row.seq in allowed and row.draft.subject != row.draft.object]
    return [
        fact
        for fact in timeline(drafts)
        if (home is None or _is_about(fact, home, as_object=as_object))
        and which.relation in (None, fact.relation)
        and which.conflicts in (None, fact.conflicts)
        and (which.as_of is None or _true_at(fact, which.as_of))
    ]


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


def checked_entity_name(field: str, given: object) -> str:
    """Check the name or id of an entity."""
    if not isinstance(given, str) or not given.strip():
        raise InvalidInput(f"{field} must be a name or an id, not {given!r}.")
    if "\x00" in given or any("\ud800" <= char <= "\udfff" for char in given):
        raise InvalidInput(f"{field} has a NUL or a lone surrogate; names are plain Unicode.")
    return given
