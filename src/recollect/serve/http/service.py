"""The running service: a memory and everything that requests share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from starlette.requests import Request

from recollect.core.errors import RecollectError, TooManyRequests
from recollect.core.keys import Permission
from recollect.memory import Memory
from recollect.serve.http.access import Caller, Concurrency, Doors, Rates
from recollect.serve.http.exposed import LaneName
from recollect.serve.http.lanes import Lane
from recollect.serve.http.metrics import Metrics
from recollect.serve.http.pulse import Pulse
from recollect.serve.http.settings import ServiceSettings
from recollect.serve.http.tracing import Tracing
from recollect.serve.http.worker import Worker

R = TypeVar("R")

_FIRST_QUESTION = "What was said?"  # of nobody: it loads the model and the index of vectors
_DOOR_THREADS = 1  # keys are read in microseconds
_FOLLOWING_THREADS = 1
_LOOKING_THREADS = 1  # whether anything has changed, and whether the memory answers: however many follow
_SLOW_THREADS = 2  # one may be a rebuild that takes minutes
_MOST_SLOW_WAITING = 20
_LARGE_THREADS = 1  # of a key: embedding one large text keeps every core busy
_MOST_LARGE_WAITING = 64  # each holds its body, of 24 MB at most, in memory
_FOR_OTHERS = 1  # a thread of each lane that one key alone can't occupy


class Service:
    """What the routes work with."""

    def __init__(self, memory: Memory, settings: ServiceSettings) -> None:
        self.memory = memory
        self.settings = settings
        self.metrics = Metrics()
        self.tracing = Tracing(settings.tracing)
        most = settings.most_waiting
        self.lanes: dict[LaneName, Lane] = {
            "asking": _lane("asking", settings.asking_threads, most),
            "writing": _lane("writing", settings.writing_threads, most),
            "large": _lane("large", _LARGE_THREADS, _MOST_LARGE_WAITING),
            "slow": _lane("slow", _SLOW_THREADS, _MOST_SLOW_WAITING),
        }
        self._door_lane = Lane("door", threads=_DOOR_THREADS, most_waiting=most)
        self.following = Lane("following", threads=_FOLLOWING_THREADS, most_waiting=settings.most_streams)
        self.looking = Lane("looking", threads=_LOOKING_THREADS, most_waiting=most)
        self.doors = Doors(memory, self._door_lane, on_loopback=settings.on_loopback)
        self.rates = Rates(settings.requests_per_s, settings.burst)
        self.concurrency = Concurrency(settings.most_requests_of_a_key)
        self.pulse = Pulse(lambda: self.looking.run(memory.pulse))
        self.worker = Worker(memory, self.metrics) if settings.worker else None
        self.ready = False

    async def admitted(self, request: Request) -> Caller:
        """Find out who asks; refuse a key that asks too often or has too many requests unanswered."""
        caller = await self.doors.caller(request.headers)
        if caller.key is not None:
            self.rates.take(caller.name)
            self.concurrency.enter(request.scope, caller.name)
        return caller

    def handle(self, caller: Caller, needs: Permission, space: str | None, wing: str | None) -> Memory:
        """Give the caller a handle on a space, or on a wing of it; the only way to one."""
        name = caller.own_space if space is None else space
        caller.check(needs, name)
        editor = None if caller.key is None else caller.key.name  # whatever the caller says
        handle = self.memory.space(name, walled=not caller.everywhere, editor=editor)
        return handle if wing is None else handle.wing(wing)

    def lane_for(self, lane: LaneName, size: int) -> LaneName:
        """Send large writes to a lane of their own: embedding them takes seconds, and small ones would wait."""
        return "large" if lane == "writing" and size > self.settings.large_request_bytes else lane

    async def run(
        self, lane: LaneName, call: Callable[[], R], *, caller: Caller | None = None, space: str | None = None
    ) -> R:
        """Do something in a lane, in turn with other callers and spaces."""
        chosen = self.lanes[lane]
        if caller is None:
            return await chosen.run(call)
        most = self.settings.most_large_of_a_key
        if lane == "large" and caller.key is not None and chosen.inside_of(caller.name) >= most:
            raise TooManyRequests(f"{most:,} large writes with this key wait already.")
        return await chosen.run(call, key=caller.name, space=caller.own_space if space is None else space)

    async def warm(self) -> None:
        """Do once, before anybody asks, what is kept from then on and would make the first who asks wait."""
        for first in (self.memory.intents, lambda: self.memory.context(_FIRST_QUESTION, budget=1)):
            with suppress(RecollectError):  # whoever asks is told
                await self.run("slow", first)

    def written(self) -> None:
        """Wake up those who wait for news, and the worker."""
        self.pulse.beat()
        if self.worker is not None:
            self.worker.wake()

    def gauges(self) -> dict[str, float]:
        """Tell what is so now."""
        waiting = {f"lane_{name}": float(lane.inside) for name, lane in self.lanes.items()}
        return {"streams": float(self.pulse.followers), **waiting}

    def close(self) -> None:
        """Let what has begun finish, then let go of everything."""
        if self.worker is not None:
            self.worker.stop()
        for lane in (*self.lanes.values(), self._door_lane, self.following, self.looking):
            lane.close()


def _lane(name: LaneName, threads_of_a_key: int, most_waiting: int) -> Lane:
    threads = threads_of_a_key + _FOR_OTHERS
    return Lane(name, threads=threads, most_waiting=most_waiting, threads_of_a_key=threads_of_a_key)
