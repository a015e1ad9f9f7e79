"""The pulse of the file: one cheap question now and then, on behalf of all who wait for something to happen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress

from recollect.core.errors import RecollectError

_EVERY_S = 0.5  # how late what another process wrote is noticed; our own writes beat at once


class Pulse:
    """Wakes those who follow when anything has changed."""

    def __init__(self, ask: Callable[[], Awaitable[str]]) -> None:
        self._ask = ask
        self._changed = asyncio.Event()
        self._early = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last = ""
        self.beats = 0
        self.following_as: Counter[str] = Counter()  # how many follow, by whom they come from
        self.stopping = False

    def beat(self) -> None:
        """Look now; from any thread."""
        if self._loop is not None and self.followers:
            self._loop.call_soon_threadsafe(self._early.set)

    def stop(self) -> None:
        """Send those who follow home; from any thread."""
        self.stopping = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._changed.set)
            self._loop.call_soon_threadsafe(self._early.set)

    @property
    def followers(self) -> int:
        """Tell how many follow."""
        return self.following_as.total()

    @contextmanager
    def following(self, name: str) -> Generator[None]:
        """Count somebody in, by the name of whom they come from."""
        self.following_as[name] += 1
        self._early.set()
        try:
            yield
        finally:
            self.following_as[name] -= 1
            self.following_as += Counter()  # which forgets who follows no more

    async def changed(self, seen: int, within_s: float) -> None:
        """Wait for a beat behind those that were seen, or until the time is over."""
        if self.stopping or self.beats != seen:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), within_s)

    async def run(self) -> None:
        """Look again and again, as long as anybody follows."""
        self._loop = asyncio.get_running_loop()
        while not self.stopping:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._early.wait(), _EVERY_S if self.followers else None)
            self._early.clear()
            try:
                now = await self._ask()
            except RecollectError:
                continue  # whoever reads next is told
            if now != self._last:
                self._last = now
                self.beats += 1
                waited_for, self._changed = self._changed, asyncio.Event()
                waited_for.set()
