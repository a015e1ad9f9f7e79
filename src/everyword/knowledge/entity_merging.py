"""Merging and splitting entities by hand: pure, each with a record that undoes it.

A pin says which entity a name belongs to, whatever the rules think. Merging pins all names of one entity to another;
splitting pins some names to an entity of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from everyword.errors import InvalidInput, OutOfDate
from everyword.types.graph import Entity, entity_id

Pins = Mapping[str, str]  # id of a name -> id of the entity that it belongs to


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """What the pins were before: None where there was none."""

    before: tuple[tuple[str, str | None], ...]
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curated:
    """The pins after a change, and how to take it back."""

    pins: Pins
    undo: Undo


def merge(pins: Pins, gone: Entity, into: Entity) -> Curated:
    """Make two entities one: every name of the first belongs to the second from now on."""
    if gone.id == into.id:
        raise OutOfDate(f"{gone.name} and {into.name} are one already.")
    if gone.space != into.space:
        raise InvalidInput("Entities of two spaces can't be merged; nothing crosses a space.")
    return _pinned(pins, _names(gone), into.id, f"{gone.name} is {into.name}")


def split(pins: Pins, entity: Entity, names: Iterable[str]) -> Curated:
    """Give some names of an entity to an entity of their own, which goes by the first of them."""
    chosen = list(dict.fromkeys(names))
    own = {entity_id(entity.space, name): name for name in (entity.name, *entity.aliases)}
    ids = [entity_id(entity.space, name) for name in chosen]
    unknown = [name for name, id in zip(chosen, ids, strict=True) if id not in own]
    if not chosen or unknown:
        raise OutOfDate(f"{entity.name} does not go by {', '.join(unknown) or 'no name'}; name some of its aliases.")
    if len(set(ids)) == len(own):
        raise OutOfDate(f"These are all names of {entity.name}; keep one of them.")
    left = [id for id in own if id not in ids]
    # What stays is pinned too, so that no rule brings the two together again by another way.
    kept = _pinned(pins, left, entity.id if entity.id in left else left[0], "")
    made = _pinned(kept.pins, ids, ids[0], f"{', '.join(chosen)} is not {entity.name}")
    return Curated(pins=made.pins, undo=Undo(before=(*kept.undo.before, *made.undo.before), what=made.undo.what))


def undone(pins: Pins, undo: Undo) -> Pins:
    """Take a change back."""
    restored = dict(pins)
    for name, target in undo.before:
        if target is None:
            restored.pop(name, None)
        else:
            restored[name] = target
    return restored


def _names(entity: Entity) -> list[str]:
    ids = [entity_id(entity.space, name) for name in (entity.name, *entity.aliases)]
    return list(dict.fromkeys([entity.id, *ids]))


def _pinned(pins: Pins, names: Iterable[str], target: str, what: str) -> Curated:
    changed = dict(pins)
    before: list[tuple[str, str | None]] = []
    for name in names:
        before.append((name, pins.get(name)))
        changed[name] = target
    return Curated(pins=changed, undo=Undo(before=tuple(before), what=what))
