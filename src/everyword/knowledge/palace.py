"""The memory as a place to walk through: wing > room (concept) > hall (kind) > closet (session) > drawer (event).

A view and nothing more: it is laid out from the concepts, statements and newest events each time. Rooms count all of
their events; drawers show the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from everyword.knowledge.concepts import topics_of
from everyword.storage.protocol import Reader
from everyword.text.terms import shortened
from everyword.types.concepts import Concept
from everyword.types.events import Event
from everyword.types.intents import Closet, Drawer, Hall, Palace, PalaceWing, Room, Tunnel

EVERYTHING_ELSE = "everything else"  # the room of events without a concept
_EVENTS = 2_000  # newest events that are sorted into rooms
_LONGEST_SUMMARY = 160  # characters of a closet's label


class Kept(NamedTuple):
    """An event with the kinds of its statements."""

    event: Event
    kinds: tuple[str, ...]


def palace_in(reader: Reader, *, wing: str | None, rooms: int, drawers: int, as_of: datetime | None = None) -> Palace:
    """Lay out a snapshot, or with as_of what was known at a time. rooms: of a wing; drawers: of a room, at most."""
    events = reader.fetch(reader.newest_events(wing, as_of=as_of, limit=_EVENTS))
    topics = topics_of(reader, list(events), wing=wing, as_of=as_of)
    stated = reader.statements_of(list(events))
    shown: dict[str | None, dict[str | None, list[Kept]]] = {}  # wing -> room -> newest events
    for seq, event in sorted(events.items(), key=lambda pair: (pair[1].at, pair[0]), reverse=True):
        here = shown.setdefault(event.wing, {})
        for room in topics.of_event.get(seq, (None,)):
            held = here.setdefault(room, [])
            if len(held) < drawers:
                kinds = tuple(dict.fromkeys(statement.kind.value for statement in stated.get(seq, ())))
                held.append(Kept(event, kinds))
    totals = reader.wing_counts(as_of=as_of)
    in_rooms = {name: reader.room_counts(name, as_of=as_of) for name in totals if wing in (None, name)}
    return Palace(
        wings=tuple(
            PalaceWing(
                name=name,
                events=totals[name],
                rooms_in_all=len(in_rooms[name]),
                rooms=tuple(_rooms(shown.get(name, {}), in_rooms[name], totals[name], rooms, topics.concepts)),
            )
            for name in sorted(in_rooms, key=lambda name: (-totals[name], name or ""))
        ),
        tunnels=tuple(_tunnels(in_rooms, topics.concepts)),
    )


def _rooms(
    shown: Mapping[str | None, Sequence[Kept]],
    counts: Mapping[str, int],
    total: int,
    most: int,
    concepts: Mapping[str, Concept],
) -> Iterable[Room]:
    """Open the fullest rooms; events without a concept come last."""
    known = [id for id in shown if id is not None and id in counts]
    for id in sorted(known, key=lambda id: (-counts[id], id))[:most]:
        yield Room(id=id, label=concepts[id].label, events=counts[id], halls=tuple(_halls(shown[id])))
    others = total - sum(counts.values())
    if others > 0 and None in shown:
        yield Room(id=None, label=EVERYTHING_ELSE, events=others, halls=tuple(_halls(shown[None])))


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
        yield Closet(session=session, summary=shortened(said[0].text.strip(), _LONGEST_SUMMARY), drawers=drawers)


def _tunnels(in_rooms: Mapping[str | None, Mapping[str, int]], concepts: Mapping[str, Concept]) -> Iterable[Tunnel]:
    for id, concept in concepts.items():
        wings = [name for name, counts in in_rooms.items() if id in counts]
        if len(wings) > 1:
            yield Tunnel(concept=id, label=concept.label, wings=tuple(sorted(wings, key=lambda name: name or "")))
