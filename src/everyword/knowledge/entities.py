"""Read entities from their names, put current names into facts, and merge and split entities by hand.

A pin says which entity a name belongs to, whatever the rules think. Merging pins all names of one entity to another;
splitting pins some names to an entity of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from everyword.errors import InvalidInput, NotFound, OutOfDate
from everyword.storage.protocol import Reader
from everyword.storage.rows import Edit, NameRow
from everyword.types.graph import ENTITY_PREFIX, Entity, EntityType, Fact, entity_id, name_key
from everyword.types.times import from_micros


def find_entity(reader: Reader, name: str) -> str:
    """Find the entity that a name or id means; return its id."""
    ids, keys = ((name,), ()) if name.startswith(ENTITY_PREFIX) else ((), (name_key(name),))
    rows = reader.names_of(ids=ids, keys=keys)
    if not rows:
        raise NotFound(f"Unknown entity {name!r}.", fix="`entities` lists the known names.")
    return rows[0].home


def read_entities(reader: Reader, homes: Sequence[str]) -> list[Entity]:
    """Read entities by id, in the given order; skip unknown ids."""
    by_home: dict[str, list[NameRow]] = {}
    for row in reader.names_of(homes=homes):
        by_home.setdefault(row.home, []).append(row)
    return [_entity(reader.space, home, by_home[home]) for home in dict.fromkeys(homes) if home in by_home]


def with_names(reader: Reader, facts: Sequence[Fact]) -> list[Fact]:
    """Put the current names of subjects and objects into facts."""
    ids = {id for fact in facts for id in (fact.subject, fact.object) if id.startswith(ENTITY_PREFIX)}
    names = {entity.id: entity.name for entity in read_entities(reader, sorted(ids))}
    return [
        replace(
            fact,
            subject_name=names.get(fact.subject, fact.subject_name),
            object_name=names.get(fact.object, fact.object_name),
        )
        for fact in facts
    ]


def describe_edit(reader: Reader, edit: Edit) -> str:
    """Describe a merge or split in words; an entity without a name is shown as "?"."""
    ids = sorted({*edit.pins, *edit.pins.values()})
    names = {row.id: _shown(row) for row in reader.names_of(ids=ids)}
    by_target: dict[str, list[str]] = {}
    for name, target in edit.pins.items():
        if name != target:
            by_target.setdefault(names.get(target, "?"), []).append(names.get(name, "?"))
    if edit.kind == "merge":
        return "; ".join(f"{', '.join(sorted(own))} is {target}" for target, own in sorted(by_target.items()))
    targets = sorted({names.get(target, "?") for target in edit.pins.values()})
    return f"{' and '.join(targets)} are two"


def in_window(fact: Fact, since: datetime | None, until: datetime | None) -> bool:
    """Tell whether a fact held or happened in a window that excludes `until`."""
    if until is not None and fact.valid_from is not None and fact.valid_from >= until:
        return False
    if since is None or fact.valid_to is None or fact.valid_to > since:
        return True
    return fact.valid_from == fact.valid_to == since


def _entity(space: str, home: str, rows: Sequence[NameRow]) -> Entity:
    votes: Counter[str] = Counter()
    for row in rows:
        votes.update(row.known.votes)
    own = next((row for row in rows if row.id == home), rows[0])
    name = _shown(own)
    spellings = {text for row in rows for text in row.known.written}
    return Entity(
        id=home,
        name=name,
        type=EntityType(min(votes, key=lambda type: (-votes[type], type))),
        space=space,
        aliases=tuple(sorted(spellings - {name})),
        events=sum(row.events for row in rows),
        first_at=from_micros(min(row.first_at for row in rows)),
        last_at=from_micros(max(row.last_at for row in rows)),
    )


def _shown(row: NameRow) -> str:
    written = row.known.written
    return min(written, key=lambda text: (-written[text], text.isupper(), text), default=row.known.key)


def merging_pins(gone: Entity, into: Entity) -> dict[str, str]:
    """Make two entities one: pin every name of the first to the second."""
    if gone.id == into.id:
        raise OutOfDate(f"{gone.name} and {into.name} are one already.")
    if gone.space != into.space:
        raise InvalidInput("Entities of two spaces can't be merged; nothing crosses a space.")
    return dict.fromkeys((gone.id, *_name_ids(gone)), into.id)


def splitting_pins(entity: Entity, names: Iterable[str]) -> dict[str, str]:
    """Give some names of an entity to an entity of their own, which goes by the first of them."""
    chosen = list(dict.fromkeys(names))
    own = _name_ids(entity)
    ids = [entity_id(entity.space, name) for name in chosen]
    unknown = [name for name, id in zip(chosen, ids, strict=True) if id not in own]
    if not chosen or unknown:
        raise OutOfDate(f"{entity.name} does not go by {', '.join(unknown) or 'no name'}; name some of its aliases.")
    if len(set(ids)) == len(own):
        raise OutOfDate(f"These are all names of {entity.name}; keep one of them.")
    left = [id for id in own if id not in ids]
    # What stays is pinned too, so that no rule brings the two together again by another way.
    stays = entity.id if entity.id in left else left[0]
    return {**dict.fromkeys(left, stays), **dict.fromkeys(ids, ids[0])}


def _name_ids(entity: Entity) -> list[str]:
    return list(dict.fromkeys(entity_id(entity.space, name) for name in (entity.name, *entity.aliases)))
