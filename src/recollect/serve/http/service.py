"""The running service: a memory and everything that requests share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from starlette.requests import Request

from recollect.core.errors import RecollectError
from recollect.core.keys import Permission
from recollect.memory import Memory
from recollect.serve.http.access import Caller, Doors, Rates
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


class Service:
    """What the routes work with."""

    def __init__(self, memory: Memory, settings: ServiceSettings) -> None:
        self.memory = memory
        self.settings = settings
        self.metrics = Metrics()
        self.tracing = Tracing(settings.tracing)
        most = settings.most_waiting
        self.lanes: dict[LaneName, Lane] = {
            "asking": Lane("asking", threads=settings.asking_threads, most_waiting=most),
            "writing": Lane("writing", threads=settings.writing_threads, most_waiting=most),
            "slow": Lane("slow", threads=_SLOW_THREADS, most_waiting=_MOST_SLOW_WAITING),
        }
        self._door_lane = Lane("door", threads=_DOOR_THREADS, most_waiting=most)
        self.following = Lane("following", threads=_FOLLOWING_THREADS, most_waiting=settings.most_streams)
        self.looking = Lane("looking", threads=_LOOKING_THREADS, most_waiting=most)
        self.doors = Doors(memory, self._door_lane, on_loopback=settings.on_loopback)
        self.rates = Rates(settings.requests_per_s, settings.burst)
        self.pulse = Pulse(lambda: self.looking.run(memory.pulse))
        self.worker = Worker(memory, self.metrics) if settings.worker else None
        self.ready = False

    async def admitted(self, request: Request) -> Caller:
        """Find out who asks, and whether not too often."""
        caller = await self.doors.caller(request.headers)
        if caller.key is not None:
            self.rates.take(caller.name)
        return caller

    def handle(self, caller: Caller, needs: Permission, space: str | None, wing: str | None) -> Memory:
        """Give the caller a handle on a space, or on a wing of it; the only way to one."""
        name = caller.own_space if space is None else space
        caller.check(needs, name)
        editor = None if caller.key is None else caller.key.name  # whatever the caller says
        handle = self.memory.space(name, walled=not caller.everywhere, editor=editor)
        return handle if wing is None else handle.wing(wing)

    async def run(self, lane: LaneName, call: Callable[[], R]) -> R:
        """Do something in a lane."""
        return await self.lanes[lane].run(call)

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
