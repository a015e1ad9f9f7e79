"""The memory as a place to walk through: wing > room (concept) > hall (kind) > closet (summary) > drawer (event).

A view and nothing more: it is laid out anew each time from the concepts, statements and events that it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from everyword.knowledge.legacy.fold.sessions import summarise
from everyword.text.terms import shortened
from everyword.types.events import Event
from everyword.types.intents import Closet, Drawer, Hall, Palace, PalaceWing, Room, Tunnel

UNSORTED = "not sorted yet"  # the room of what belongs to no concept
LONGEST_SUMMARY = 160  # characters of a closet's label


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An event with what it belongs to."""

    event: Event
    kinds: tuple[str, ...] = ()  # of the statements that it makes
    concepts: tuple[str, ...] = ()  # ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A concept as the palace sees it."""

    id: str
    label: str
    wings: tuple[str | None, ...] = field(default=())


def lay_out(kept: Sequence[Kept], concepts: Mapping[str, Named], counts: Mapping[str | None, int]) -> Palace:
    """Sort events into wings, rooms, halls, closets and drawers; `counts` tells how many events each wing holds."""
    wings: dict[str | None, dict[str | None, list[Kept]]] = {name: {} for name in counts}
    for one in kept:
        rooms = wings.setdefault(one.event.wing, {})
        for concept in [id for id in one.concepts if id in concepts] or [None]:
            rooms.setdefault(concept, []).append(one)
    return Palace(
        wings=tuple(
            PalaceWing(name=name, events=counts.get(name, 0), rooms=tuple(_rooms(rooms, concepts)))
            for name, rooms in sorted(wings.items(), key=lambda pair: (-counts.get(pair[0], 0), pair[0] or ""))
        ),
        tunnels=tuple(_tunnels(wings, concepts)),
    )


def _rooms(rooms: Mapping[str | None, Sequence[Kept]], concepts: Mapping[str, Named]) -> Iterable[Room]:
    # The fullest first; what is not sorted stands last, however much it is.
    order = sorted(rooms.items(), key=lambda pair: (pair[0] is None, -len(pair[1]), pair[0] or ""))
    for id, held in order:
        label = UNSORTED if id is None else concepts[id].label
        yield Room(id=id, label=label, events=len(held), halls=tuple(_halls(held)))


def _halls(held: Sequence[Kept]) -> Iterable[Hall]:
    by_kind: dict[str | None, list[Event]] = {}
    for one in held:
        for kind in one.kinds or (None,):
            by_kind.setdefault(kind, []).append(one.event)
    for kind, events in sorted(by_kind.items(), key=lambda pair: (pair[0] is None, pair[0] or "")):
        yield Hall(kind=kind, closets=tuple(_closets(events)))


def _closets(events: Sequence[Event]) -> Iterable[Closet]:
    by_session: dict[str | None, list[Event]] = {}
    for event in sorted(events, key=lambda event: (event.at, event.id)):
        by_session.setdefault(event.session, []).append(event)
    for session, said in by_session.items():
        drawers = tuple(
            Drawer(event_id=event.id, text=event.text, at=event.at, speaker=event.speaker) for event in said
        )
        yield Closet(session=session, summary=_summary(said), drawers=drawers)


def _summary(said: Sequence[Event]) -> str:
    """Take the most central sentence, verbatim; the beginning of the first event where there is none."""
    themes = summarise(said).themes
    text = max(themes, key=lambda theme: theme.score).text if themes else said[0].text.strip()
    return shortened(text, LONGEST_SUMMARY)


def _tunnels(
    wings: Mapping[str | None, Mapping[str | None, Sequence[Kept]]], concepts: Mapping[str, Named]
) -> Iterable[Tunnel]:
    for id, concept in concepts.items():
        seen = [name for name, rooms in wings.items() if id in rooms]
        shared = tuple(dict.fromkeys([*seen, *concept.wings]))
        if len(shared) > 1:
            yield Tunnel(concept=id, label=concept.label, wings=tuple(sorted(shared, key=lambda name: name or "")))
