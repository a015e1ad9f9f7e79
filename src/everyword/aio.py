"""The same memory for asyncio: each call runs in a thread; there is no second copy of the logic."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial, wraps
from itertools import islice
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from everyword.errors import EverywordError
from everyword.memory import Memory
from everyword.types.events import Event, Imported

P = ParamSpec("P")
R = TypeVar("R")
_EVENTS_A_TURN = 100  # taken from the log in one visit to the thread


def _in_thread(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate[AsyncMemory, P], Awaitable[R]]:
    @wraps(method)
    async def call(self: AsyncMemory, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    return call


def _in_own_thread(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate[AsyncMemory, P], Awaitable[R]]:
    """Do what may last for good in a thread of its own: the loop has few, and all other calls need them."""

    @wraps(method)
    async def call(self: AsyncMemory, *args: P.args, **kwargs: P.kwargs) -> R:
        with _one_thread() as own:
            return await _loop().run_in_executor(own, partial(method, self.memory, *args, **kwargs))

    return call


class AsyncMemory:
    """A `Memory` whose methods are awaited. `async with await AsyncMemory.open(...) as memory:`"""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @classmethod
    async def open(cls, *args: Any, **kwargs: Any) -> AsyncMemory:
        """Open a memory; takes what `Memory.open` takes."""
        return cls(await asyncio.to_thread(Memory.open, *args, **kwargs))

    add = _in_thread(Memory.add)
    add_many = _in_thread(Memory.add_many)
    import_events = _in_thread(Memory.import_events)
    recall = _in_thread(Memory.recall)
    context = _in_thread(Memory.context)
    ask = _in_thread(Memory.ask)
    identity = _in_thread(Memory.identity)
    wake_up = _in_thread(Memory.wake_up)
    artifacts = _in_thread(Memory.artifacts)
    artifact = _in_thread(Memory.artifact)
    history = _in_thread(Memory.history)
    correct = _in_thread(Memory.correct)
    retract = _in_thread(Memory.retract)
    records = _in_thread(Memory.records)
    entities = _in_thread(Memory.entities)
    entity = _in_thread(Memory.entity)
    facts = _in_thread(Memory.facts)
    timeline = _in_thread(Memory.timeline)
    conflicts = _in_thread(Memory.conflicts)
    merge = _in_thread(Memory.merge)
    split = _in_thread(Memory.split)
    undo = _in_thread(Memory.undo)
    edits = _in_thread(Memory.edits)
    map = _in_thread(Memory.map)
    held = _in_thread(Memory.held)
    activity = _in_thread(Memory.activity)
    glance = _in_thread(Memory.glance)
    work = _in_own_thread(Memory.work)
    intents = _in_thread(Memory.intents)
    intent = _in_thread(Memory.intent)
    answer_intent = _in_thread(Memory.answer_intent)
    beliefs = _in_thread(Memory.beliefs)
    window = _in_thread(Memory.window)
    palace = _in_thread(Memory.palace)
    concepts = _in_thread(Memory.concepts)
    concept = _in_thread(Memory.concept)
    fold = _in_thread(Memory.fold)
    journal = _in_thread(Memory.journal)
    unfold = _in_thread(Memory.unfold)
    get = _in_thread(Memory.get)
    sessions = _in_thread(Memory.sessions)
    stats = _in_thread(Memory.stats)
    forget = _in_thread(Memory.forget)
    forgotten = _in_thread(Memory.forgotten)
    redacted = _in_thread(Memory.redacted)
    fenced = _in_thread(Memory.fenced)
    verify = _in_thread(Memory.verify)
    rebuild = _in_thread(Memory.rebuild)
    settle = _in_thread(Memory.settle)
    backup = _in_thread(Memory.backup)
    export = _in_thread(Memory.export)
    changes = _in_thread(Memory.changes)
    jobs = _in_thread(Memory.jobs)
    spaces = _in_thread(Memory.spaces)
    job_counts = _in_thread(Memory.job_counts)
    next_job_due = _in_thread(Memory.next_job_due)
    pulse = _in_thread(Memory.pulse)
    api_keys = _in_thread(Memory.api_keys)
    create_key = _in_thread(Memory.create_key)
    revoke_key = _in_thread(Memory.revoke_key)
    key_for = _in_thread(Memory.key_for)
    needs_keys = _in_thread(Memory.needs_keys)
    webhooks = _in_thread(Memory.webhooks)
    add_webhook = _in_thread(Memory.add_webhook)
    remove_webhook = _in_thread(Memory.remove_webhook)
    deliver_webhooks = _in_thread(Memory.deliver_webhooks)
    page_of_events = _in_thread(Memory.page_of_events)
    page_of_artifacts = _in_thread(Memory.page_of_artifacts)
    close = _in_thread(Memory.close)

    def space(self, name: str, *, walled: bool = False, editor: str | None = None) -> AsyncMemory:
        """Give a handle on another space of the same file."""
        return AsyncMemory(self.memory.space(name, walled=walled, editor=editor))

    def wing(self, name: str) -> AsyncMemory:
        """Give a handle on one wing."""
        return AsyncMemory(self.memory.wing(name))

    @property
    def location(self) -> str:
        """Tell where this memory lives."""
        return self.memory.location

    @property
    def notices(self) -> list[str]:
        """List what works in a lesser way than asked for, and why."""
        return self.memory.notices

    async def events(self, **filters: Any) -> AsyncIterator[Event]:
        """Go through events; takes what `Memory.events` takes."""
        source = self.memory.events(**filters)

        def some() -> list[Event]:
            return list(islice(source, _EVENTS_A_TURN))

        while batch := await asyncio.to_thread(some):
            for event in batch:
                yield event

    async def on(self, what: str, told: Callable[[Any], Any]) -> Callable[[], None]:
        """Call a function with what is new; takes what `Memory.on` takes.

        What it gives to be awaited, as an `async def` does, runs on the loop that this was called from.
        """
        return await asyncio.to_thread(self.memory.on, what, self._on_loop(told, _loop()) if callable(told) else told)

    def follow(
        self, path: str | os.PathLike[str], *, stop: threading.Event | None = None, **options: Any
    ) -> AsyncIterator[Imported | EverywordError]:
        """Import a folder and whatever comes to it from then on; takes what `Memory.follow` takes."""
        told = stop or threading.Event()
        return _each(self.memory.follow(path, stop=told, **options), told)

    def watch(
        self, *, kinds: Sequence[str] = (), every: float = 1.0, stop: Callable[[], bool] | None = None
    ) -> AsyncIterator[tuple[str, Any]]:
        """Go through what is new as it comes; takes what `Memory.watch` takes."""
        left = threading.Event()

        def ended() -> bool:
            return left.is_set() or (stop is not None and stop())

        return _each(self.memory.watch(kinds=kinds, every=every, stop=ended), left)

    def _on_loop(self, told: Callable[[Any], Any], loop: asyncio.AbstractEventLoop) -> Callable[[Any], None]:
        @wraps(told)
        def tell(news: Any) -> None:
            outcome = told(news)
            if inspect.isawaitable(outcome):
                asyncio.run_coroutine_threadsafe(self._awaited(outcome), loop)

        return tell

    async def _awaited(self, outcome: Awaitable[Any]) -> None:
        try:
            await outcome
        except Exception as error:  # what was written is written, whatever a listener does
            engine = self.memory._engine  # pyright: ignore[reportPrivateUsage]  a listener of it
            engine.models.say(f"A listener failed ({type(error).__name__}: {error}).")

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _each(source: Iterator[R], left: threading.Event) -> AsyncIterator[R]:
    """Go through what waits between two things in a thread of its own, which ends with the loop that it looks for."""
    with _one_thread() as own:
        try:
            while (found := await _loop().run_in_executor(own, next, source, None)) is not None:
                yield found
        finally:
            left.set()


@contextmanager
def _one_thread() -> Generator[ThreadPoolExecutor]:
    own = ThreadPoolExecutor(1, thread_name_prefix="everyword-async")
    try:
        yield own
    finally:
        own.shutdown(wait=False)  # what it still does, it does without us


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()
