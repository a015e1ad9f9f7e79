"""Telling what is new: callbacks for the writes of this process, and a watch on a file that others write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from recollect.core.attention import LIVE, Intent
from recollect.core.folding import Concept
from recollect.engine.again import again
from recollect.engine.feed import Read, Scene, concepts, events, jobs

if TYPE_CHECKING:
    from recollect.engine.engine import Engine
    from recollect.store.protocol import Reader

TOLD_AN_HOUR = 5  # intents, or concepts, to one listener: who is told everything is told nothing
_READ_AT_ONCE = 1_000  # rows of the log, of the journal of concepts, of what waits
_HOUR = timedelta(hours=1)


class News(StrEnum):
    """What a listener can be told of."""

    EVENT = "event"
    CONCEPT = "concept"
    INTENT = "intent"
    JOB = "job"


_READ: Mapping[News, Read] = {News.EVENT: events, News.CONCEPT: concepts, News.JOB: jobs}
_TABLES: Mapping[News, str] = {News.EVENT: "events", News.CONCEPT: "fold_journal", News.JOB: "jobs"}
_FEW = (News.INTENT, News.CONCEPT)  # of which a few an hour are enough


@dataclass(slots=True, kw_only=True)
class Listener:
    """A function that wants to know, and what it has been told."""

    space: str
    wing: str | None
    news: News
    told: Callable[[Any], None]
    all_of_it: bool = False  # or a few an hour
    _known: set[str] = field(default_factory=set[str])
    _told_at: list[datetime] = field(default_factory=list[datetime])
    _read: int = 0  # number of the last row that was looked at

    def begin(self, reader: Reader, now: datetime) -> None:
        """Take note of what is there already: it is not new."""
        if self.news is News.INTENT:
            self._known |= {one.id for one in self._intents(reader, now)}
        else:
            self._read = reader.last_number(self.space, _TABLES[self.news])

    def fresh(self, reader: Reader, now: datetime) -> list[Any]:
        """Give what it has not been told of yet, as many as it may be told now."""
        if self.news not in _FEW:
            return self._behind(reader)
        found: Sequence[Intent | Concept]
        found = self._intents(reader, now) if self.news is News.INTENT else self._behind(reader)
        found = [one for one in found if one.id not in self._known]
        if not self.all_of_it:
            self._told_at = [at for at in self._told_at if now - at < _HOUR]
            found = found[: max(0, TOLD_AN_HOUR - len(self._told_at))]
        self._known |= {one.id for one in found}
        self._told_at += [now] * len(found)
        return list(found)

    def _intents(self, reader: Reader, now: datetime) -> list[Intent]:
        # Imported here: listening costs nothing until somebody listens.
        from recollect.engine.attention import intents_in

        return [one for one in intents_in(reader, self.space, now=now, wing=self.wing) if one.status in LIVE]

    def _behind(self, reader: Reader) -> list[Any]:
        """Read on from where it was."""
        found: list[Any] = []
        scene = Scene(reader=reader, space=self.space, wing=self.wing)
        read = self._read
        while items := _READ[self.news](scene, read, _READ_AT_ONCE):
            found += [one.news.item for one in items if one.news is not None]
            read = items[-1].number
        self._read = read  # now that all was read: what is broken off is read again
        return found


@dataclass(slots=True)
class Listeners:
    """All functions that listen to one memory."""

    _all: list[Listener] = field(default_factory=list[Listener])
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, engine: Engine, listener: Listener) -> Callable[[], None]:
        """Listen from now on; give what ends it."""
        with engine.store.reader() as reader:
            listener.begin(reader, engine.clock())
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
        with self._guard:
            for listener in self._all:
                if listener.space == space:
                    try:
                        news += [(listener, one) for one in again(engine, partial(_look, engine, listener))]
                    except Exception as error:  # what was written is written, whatever can't be told of it
                        _say_failed(engine, error)
        for listener, one in news:  # outside of any lock: a listener may write
            try:
                listener.told(one)
            except Exception as error:
                _say_failed(engine, error)


def _look(engine: Engine, listener: Listener) -> list[Any]:
    with engine.store.reader() as reader:
        return listener.fresh(reader, engine.clock())


def _say_failed(engine: Engine, error: Exception) -> None:
    engine.models.say(f"A listener failed ({type(error).__name__}: {error}).")


def watched(
    engine: Engine,
    space: str,
    wing: str | None,
    *,
    kinds: Sequence[News],
    every: float,
    stop: Callable[[], bool],
) -> Iterator[tuple[str, Any]]:
    """Give what is new, whoever writes, until `stop` says so; looks closer only where something was written."""
    listeners = [Listener(space=space, wing=wing, news=news, told=_nobody, all_of_it=True) for news in kinds]
    before = again(engine, lambda: _begun(engine, space, listeners))
    while not stop():
        position = again(engine, lambda: _begun(engine, space, ()))
        for listener in listeners if position != before else ():
            yield from ((listener.news.value, one) for one in again(engine, partial(_look, engine, listener)))
        before = position
        time.sleep(every)


def _begun(engine: Engine, space: str, listeners: Sequence[Listener]) -> tuple[str, int | None]:
    """Let listeners begin; give what changes when there is something to tell them."""
    with engine.store.reader() as reader:
        for listener in listeners:
            listener.begin(reader, engine.clock())
        return reader.pulse(), reader.marked_upto(space)


def _nobody(_: Any) -> None:
    """Tell nobody: a watch is asked."""
