"""Telling what is new: callbacks for the writes of this process, and a watch on a file that others write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from recollect.core.attention import LIVE

if TYPE_CHECKING:
    from recollect.engine.engine import Engine
    from recollect.store.protocol import Reader

TOLD_AN_HOUR = 5  # of a kind, to one listener: who is told everything is told nothing
_HOUR = timedelta(hours=1)


class News(StrEnum):
    """What a listener can be told of."""

    INTENT = "intent"
    CONCEPT = "concept"


@dataclass(slots=True, kw_only=True)
class Listener:
    """A function that wants to know, and what it has been told."""

    space: str
    wing: str | None
    news: News
    told: Callable[[Any], None]
    known: set[str] = field(default_factory=set[str])
    told_at: list[datetime] = field(default_factory=list[datetime])

    def fresh(self, reader: Reader, now: datetime) -> list[Any]:
        """Give what it has not been told of yet, as many as it may be told now."""
        found = [one for one in _present(reader, self.space, self.wing, self.news, now) if one.id not in self.known]
        self.told_at = [at for at in self.told_at if now - at < _HOUR]
        fresh = found[: max(0, TOLD_AN_HOUR - len(self.told_at))]
        self.known |= {one.id for one in fresh}
        self.told_at += [now] * len(fresh)
        return fresh


@dataclass(slots=True)
class Listeners:
    """All functions that listen to one memory."""

    _all: list[Listener] = field(default_factory=list[Listener])
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, engine: Engine, listener: Listener) -> Callable[[], None]:
        """Listen from now on: what is there already is not new. Give what ends it."""
        with engine.store.reader() as reader:
            there = _present(reader, listener.space, listener.wing, listener.news, engine.clock())
        listener.known |= {one.id for one in there}
        with self._guard:
            self._all.append(listener)

        def end() -> None:
            with self._guard:
                if listener in self._all:
                    self._all.remove(listener)

        return end

    def tell(self, engine: Engine, space: str) -> None:
        """Tell of what a write brought, after it is on disk."""
        if not self._all:
            return
        news: list[tuple[Listener, Any]] = []
        with self._guard, engine.store.reader() as reader:
            now = engine.clock()
            for listener in self._all:
                if listener.space == space:
                    news += [(listener, one) for one in listener.fresh(reader, now)]
        for listener, one in news:  # outside of any lock: a listener may write
            try:
                listener.told(one)
            except Exception as error:  # what was written is written, whatever a listener does
                engine.models.say(f"A listener failed ({type(error).__name__}: {error}).")


def watched(
    engine: Engine, space: str, wing: str | None, *, every: float, stop: Callable[[], bool]
) -> Iterator[tuple[str, Any]]:
    """Give what is new, whoever writes, until `stop` says so; looks closer only where the log has grown."""
    known: dict[News, set[str]] = {}
    before: tuple[int, ...] | None = None
    while not stop():
        with engine.store.reader() as reader:
            position = _position(reader, space)
            found: list[tuple[News, Any]] = []
            if position != before:
                now = engine.clock()
                for news in News:
                    found += [(news, one) for one in _present(reader, space, wing, news, now)]
        first = before is None
        before = position
        for news, one in found:
            if one.id not in known.setdefault(news, set()):
                known[news].add(one.id)
                if not first:
                    yield news.value, one
        time.sleep(every)


def _position(reader: Reader, space: str) -> tuple[int, ...]:
    return (reader.total_events(), *reader.newest_events(space, None, limit=1))


def _present(reader: Reader, space: str, wing: str | None, news: News, now: datetime) -> list[Any]:
    if news is News.INTENT:
        # Imported here: listening costs nothing until somebody listens.
        from recollect.engine.attention import intents_in

        return [one for one in intents_in(reader, space, now=now, wing=wing) if one.status in LIVE]
    return []
