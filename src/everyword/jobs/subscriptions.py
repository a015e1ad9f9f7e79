"""Subscriptions: callbacks for the writes of this process, and polling for the writes of any process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any

from everyword.engine.engine import Engine
from everyword.engine.retry import again
from everyword.jobs.deriver import catch_up, views_of
from everyword.jobs.feed import FeedScope, ReadSource, read_concepts, read_events, read_jobs
from everyword.storage.protocol import Reader
from everyword.types.concepts import Concept
from everyword.types.intents import LIVE, Intent

MOST_AN_HOUR = 5  # intents, or concepts, for one callback: more would not be read
_BATCH = 1_000  # rows read at once
_HOUR = timedelta(hours=1)


class ChangeKind(StrEnum):
    """What a program can subscribe to."""

    EVENT = "event"
    CONCEPT = "concept"
    INTENT = "intent"
    JOB = "job"


_READ: Mapping[ChangeKind, ReadSource] = {
    ChangeKind.EVENT: read_events,
    ChangeKind.CONCEPT: read_concepts,
    ChangeKind.JOB: read_jobs,
}
_TABLES = {ChangeKind.EVENT: "events", ChangeKind.CONCEPT: "fold_journal", ChangeKind.JOB: "jobs"}
_REPORTED_ONCE = (ChangeKind.INTENT, ChangeKind.CONCEPT)


def subscribe(
    engine: Engine, space: str, wing: str | None, kind: ChangeKind, callback: Callable[[Any], None]
) -> Callable[[], None]:
    """Call a function with each new item that a write of this process brings; return a function that ends this."""
    subscription = _Subscription(space=space, wing=wing, kind=kind, most_an_hour=MOST_AN_HOUR)
    _catch_up(engine, subscription)
    _start(engine, space, [subscription])

    def notify(written: str) -> None:
        if written != space:
            return
        try:
            with subscription.lock:
                new = again(engine, partial(_new_items, engine, subscription))
            for item in new:  # not under the lock: a callback may write
                _call(engine, callback, item)
        except Exception as error:  # the write is committed and must not fail now
            _warn(engine, error)

    engine.listeners.append(notify)

    def unsubscribe() -> None:
        if notify in engine.listeners:
            engine.listeners.remove(notify)

    return unsubscribe


def watch_changes(
    engine: Engine,
    space: str,
    wing: str | None,
    *,
    kinds: Sequence[ChangeKind],
    every: float,
    stop: Callable[[], bool],
) -> Iterator[tuple[str, Any]]:
    """Poll for new items of any process until `stop` returns true; read rows only after the store has changed."""
    subscriptions = [_Subscription(space=space, wing=wing, kind=kind) for kind in kinds]
    for one in subscriptions:
        _catch_up(engine, one)
    before = again(engine, lambda: _start(engine, space, subscriptions))
    while not stop():
        version = again(engine, lambda: _start(engine, space, ()))
        for one in subscriptions if version != before else ():
            _catch_up(engine, one)
            yield from ((one.kind.value, item) for item in again(engine, partial(_new_items, engine, one)))
        before = version
        time.sleep(every)


@dataclass(slots=True, kw_only=True)
class _Subscription:
    """What one subscriber wants to know, and what it has been told."""

    space: str
    wing: str | None
    kind: ChangeKind
    most_an_hour: int | None = None  # of intents or concepts; None: all
    lock: threading.Lock = field(default_factory=threading.Lock)
    _known: set[str] = field(default_factory=set[str])
    _told_at: list[datetime] = field(default_factory=list[datetime])
    _position: int = 0  # number of the last row that was read

    def start(self, reader: Reader, now: datetime) -> None:
        """Skip what is there already."""
        if self.kind is ChangeKind.INTENT:
            self._known |= {one.id for one in self._intents(reader, now)}
        else:
            self._position = reader.last_number(_TABLES[self.kind])

    def new_items(self, reader: Reader, now: datetime) -> list[Any]:
        """Return the items that the subscriber does not know, up to its hourly limit."""
        if self.kind not in _REPORTED_ONCE:
            return self._next_rows(reader)
        found: Sequence[Intent | Concept]
        found = self._intents(reader, now) if self.kind is ChangeKind.INTENT else self._next_rows(reader)
        found = [one for one in found if one.id not in self._known]
        if self.most_an_hour is not None:
            self._told_at = [at for at in self._told_at if now - at < _HOUR]
            found = found[: max(0, self.most_an_hour - len(self._told_at))]
        self._known |= {one.id for one in found}
        self._told_at += [now] * len(found)
        return list(found)

    def _intents(self, reader: Reader, now: datetime) -> list[Intent]:
        from everyword.knowledge.intents import intents_in  # slow to import; most processes never subscribe

        return [one for one in intents_in(reader, now=now, wing=self.wing) if one.status in LIVE]

    def _next_rows(self, reader: Reader) -> list[Any]:
        found: list[Any] = []
        scope = FeedScope(reader=reader, wing=self.wing)
        position = self._position
        while rows := _READ[self.kind](scope, position, _BATCH):
            found += [row.news.item for row in rows if row.news is not None]
            position = rows[-1].number
        self._position = position  # only now: an interrupted read starts over
        return found


def _catch_up(engine: Engine, subscription: _Subscription) -> None:
    """Derive what a subscriber is told of."""
    if subscription.kind in _REPORTED_ONCE:
        views = views_of(engine.settings)
        again(engine, lambda: catch_up(engine, subscription.space, views), resumes=True)


def _start(engine: Engine, space: str, subscriptions: Sequence[_Subscription]) -> tuple[str, Mapping[str, int]]:
    """Start subscriptions; return a version that changes whenever there may be something new."""
    with engine.store.reader(space) as reader:
        for one in subscriptions:
            one.start(reader, engine.clock())
        return reader.file.pulse(), reader.cursors()


def _new_items(engine: Engine, subscription: _Subscription) -> list[Any]:
    with engine.store.reader(subscription.space) as reader:
        return subscription.new_items(reader, engine.clock())


def _call(engine: Engine, callback: Callable[[Any], None], item: Any) -> None:
    try:
        callback(item)
    except Exception as error:
        _warn(engine, error)


def _warn(engine: Engine, error: Exception) -> None:
    engine.models.say(f"A listener failed ({type(error).__name__}: {error}).")
