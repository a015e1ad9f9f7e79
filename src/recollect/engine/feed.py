"""The feed of a space: what happened behind a position, read from the numbers that rows get as they arrive.

Nothing is written for it. A new kind of thing joins with a row in `SOURCES`. Intents have no rows: they are told where
an event speaks of them, as they stand when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from recollect.core.artifacts import TO_DO
from recollect.core.clock import from_micros
from recollect.core.feed import NOW, Feed, News, Waiting, places_of, position_of
from recollect.core.values import Event
from recollect.engine.rewording import reworded
from recollect.store.artifacts import ArtifactFilter
from recollect.store.protocol import Reader

if TYPE_CHECKING:
    from recollect.core.attention import Intent
    from recollect.store.service import JobRow

ADDED = "add_node"  # as the journal says that a concept is new
# Marks of events by which an intent begins, ends, or is answered.
_OF_INTENTS = ("goal", "deed", "trouble", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Whose news are read, and how its intents stand; those that were told already are not told twice."""

    reader: Reader
    space: str
    wing: str | None = None
    intents: Callable[[], Sequence[Intent]] = tuple
    told: set[str] = field(default_factory=set[str])


class Item(NamedTuple):
    """One numbered thing; `news` is None for one that a wing does not see, or that is none by itself."""

    number: int
    news: News | None


# where, behind which number, how many at most
Read = Callable[[Scene, int, int], list[Item]]


class Source(NamedTuple):
    """Where news come from: what they are called, which rows are read for them, and how."""

    place: str  # its name in a position
    kind: str
    table: str  # whose numbers count
    read: Read


def feed(scene: Scene, after: str | None, *, limit: int) -> Feed:
    """Read what happened behind a position: None is the beginning, "now" the end."""
    reader, space = scene.reader, scene.space
    if after == NOW:
        return Feed(position=position_of({one.place: reader.last_number(space, one.table) for one in SOURCES}))
    places = {} if after is None else places_of(after)
    known = {
        # A kind of news that is younger than the position begins where it stands.
        one.place: places.get(one.place, 0 if after is None else reader.last_number(space, one.table))
        for one in SOURCES
    }
    news: list[News] = []
    more = False
    for source in SOURCES:
        items = source.read(scene, known[source.place], limit)
        news += [item.news for item in items if item.news is not None]
        more = more or len(items) >= limit
        if items:
            known[source.place] = items[-1].number
    return Feed(news, position=position_of(known), more=more)


def events(scene: Scene, after: int, limit: int) -> list[Item]:
    """Read events in the order in which they arrived."""
    rows = scene.reader.log(scene.space, after=after, limit=limit)  # records of edits are no events
    return [Item(seq, _news("event", one.recorded_at, one) if _sees(scene, one) else None) for seq, one in rows]


def concepts(scene: Scene, after: int, limit: int) -> list[Item]:
    """Read which concepts were formed, and still stand."""
    rows = scene.reader.fold_entries(scene.space, after=after, limit=limit)
    added = {entry.node_id: entry.at for _, entry in rows if entry.action == ADDED}
    found = scene.reader.concepts_by_id(scene.space, list(added), wing=scene.wing) if added else {}
    if scene.wing is not None:
        found = {id: reworded(scene.reader, scene.space, scene.wing, one) for id, one in found.items()}
    return [
        Item(number, _news("concept", entry.at, concept) if standing else None)
        for number, entry in rows
        for concept in [found.get(entry.node_id)]
        for standing in [entry.action == ADDED and concept is not None and concept.closed_at is None]
    ]


def jobs(scene: Scene, after: int, limit: int) -> list[Item]:
    """Read the work that came to wait, and still does."""
    rows = scene.reader.jobs_of(scene.space, after=after, limit=limit)
    spoken = scene.reader.fetch(scene.space, [row.seq for row in rows])
    return [
        Item(row.id, _news("job", event.recorded_at, waiting(row, event)) if event and _sees(scene, event) else None)
        for row in rows
        for event in [spoken.get(row.seq)]
    ]


def waiting(row: JobRow, event: Event | None) -> Waiting:
    """Tell of a job."""
    return Waiting(
        id=row.id,
        kind=row.kind,
        event_id=None if event is None else event.id,
        attempts=row.attempts,
        due_at=from_micros(row.due_at),
        error=row.error,
    )


def _artifacts(scene: Scene, after: int, limit: int) -> list[Item]:
    rows = scene.reader.artifacts(scene.space, ArtifactFilter(wing=scene.wing), after=after, limit=limit)
    return [Item(number, _news("artifact", artifact.recorded_at, artifact)) for number, artifact in rows]


def _intents(scene: Scene, after: int, limit: int) -> list[Item]:
    """Read the events that speak of a goal, tell that one is met, or answer an intent."""
    seqs = scene.reader.marked_after(scene.space, _OF_INTENTS, after=after, limit=limit)
    spoken = scene.reader.fetch(scene.space, seqs)
    return _touched(scene, [(seq, spoken[seq].id, spoken[seq].recorded_at) for seq in seqs if seq in spoken])


def _to_do(scene: Scene, after: int, limit: int) -> list[Item]:
    """Read what is to be done by a statement alone: an LLM may find one in an event that was told of long ago."""
    rows = scene.reader.artifacts(scene.space, ArtifactFilter(wing=scene.wing), after=after, limit=limit)
    found = [(number, one.event_id, one.recorded_at) for number, one in rows if one.kind in TO_DO]
    others = [Item(number, None) for number, one in rows if one.kind not in TO_DO]
    return sorted([*_touched(scene, found), *others], key=lambda item: item.number)


def _touched(scene: Scene, moments: Iterable[tuple[int, str, datetime]]) -> list[Item]:
    """Find the intents that events speak of, as they stand now."""
    items: list[Item] = []
    by_event: dict[str, list[Intent]] | None = None
    for number, event_id, at in moments:
        by_event = _by_event(scene.intents()) if by_event is None else by_event
        fresh = [one for one in by_event.get(event_id, ()) if one.id not in scene.told]
        scene.told.update(one.id for one in fresh)
        items += [Item(number, _news("intent", at, one)) for one in fresh] or [Item(number, None)]
    return items


def _by_event(intents: Iterable[Intent]) -> dict[str, list[Intent]]:
    found: dict[str, list[Intent]] = {}
    for intent in intents:
        ends = () if intent.settled_by is None else (intent.settled_by.event_id,)
        for event_id in dict.fromkeys((*intent.events, *ends)):
            found.setdefault(event_id, []).append(intent)
    return found


def _forgotten(scene: Scene, after: int, limit: int) -> list[Item]:
    rows = scene.reader.receipts_after(scene.space, after, limit=limit)
    # A receipt does not tell of which wings its events were.
    return [Item(number, None if scene.wing else _news("forgotten", receipt.at, receipt)) for number, receipt in rows]


def _sees(scene: Scene, event: Event) -> bool:
    return event.record is None and (scene.wing is None or event.wing == scene.wing)


def _news(kind: str, at: datetime, item: object) -> News:
    return News(kind=kind, at=at, item=item)  # pyright: ignore[reportArgumentType]  each source gives its own kind


SOURCES = (
    Source("event", "event", "events", events),
    Source("artifact", "artifact", "artifacts", _artifacts),
    Source("concept", "concept", "fold_journal", concepts),
    Source("intent", "intent", "events", _intents),
    Source("todo", "intent", "artifacts", _to_do),
    Source("job", "job", "jobs", jobs),
    Source("forgotten", "forgotten", "receipts", _forgotten),
)
KINDS = tuple(dict.fromkeys(source.kind for source in SOURCES))
