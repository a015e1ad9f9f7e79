"""Poll the memory for changes, once for all open streams."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress

from everyword.errors import EverywordError

_POLL_EVERY_S = 0.5  # the delay for writes of other processes; writes of this one call poll_now()


class ChangePoller:
    """Wakes streams when anything in the memory has changed."""

    def __init__(self, read_version: Callable[[], Awaitable[str]]) -> None:
        self._read_version = read_version
        self._changed = asyncio.Event()
        self._poll_early = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._last_version = ""
        self.changes = 0  # how many were seen
        self.followers_by_caller: Counter[str] = Counter()
        self.stopping = False

    @property
    def followers(self) -> int:
        """Count the open streams."""
        return self.followers_by_caller.total()

    @contextmanager
    def following(self, caller: str) -> Generator[None]:
        """Count a stream of a caller while it is open."""
        self.followers_by_caller[caller] += 1
        self._poll_early.set()
        try:
            yield
        finally:
            self.followers_by_caller[caller] -= 1
            self.followers_by_caller += Counter()  # drops callers at zero

    async def wait_for_change(self, after: int, timeout_s: float) -> None:
        """Wait until more than `after` changes were seen, or until the timeout."""
        if self.stopping or self.changes != after:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), timeout_s)

    async def run(self) -> None:
        """Poll until stopped, but only while a stream is open."""
        self._loop = asyncio.get_running_loop()
        while not self.stopping:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._poll_early.wait(), _POLL_EVERY_S if self.followers else None)
            self._poll_early.clear()
            try:
                version = await self._read_version()
            except EverywordError:
                continue  # the next request reports it
            if version != self._last_version:
                self._last_version = version
                self.changes += 1
                waited_for, self._changed = self._changed, asyncio.Event()
                waited_for.set()

    def poll_now(self) -> None:
        """Poll without waiting for the interval. Callable from any thread."""
        if self._loop is not None and self.followers:
            self._loop.call_soon_threadsafe(self._poll_early.set)

    def stop(self) -> None:
        """End all streams. Callable from any thread."""
        self.stopping = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._changed.set)
            self._loop.call_soon_threadsafe(self._poll_early.set)
