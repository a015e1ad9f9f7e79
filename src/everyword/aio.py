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
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from everyword.api.admin import Admin
from everyword.api.concepts import Concepts
from everyword.api.graph import Graph
from everyword.api.intents import Intents
from everyword.errors import EverywordError
from everyword.memory import Memory
from everyword.types.events import Imported

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
_A_BATCH = 100  # events that are read in one visit to the thread


class _Awaited(Generic[T]):
    """Base class: runs the methods of a sync object in threads."""

    def __init__(self, sync: T) -> None:
        self.sync = sync


def _in_thread(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[_Awaited[T], P], Awaitable[R]]:
    @wraps(method)
    async def call(self: _Awaited[T], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.sync, *args, **kwargs)

    return call


def _in_batches(
    method: Callable[Concatenate[T, P], Iterator[R]],
) -> Callable[Concatenate[_Awaited[T], P], AsyncIterator[R]]:
    """Iterate over a method's results, one batch per visit to a thread."""

    @wraps(method)
    async def each(self: _Awaited[T], *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[R]:
        found = method(self.sync, *args, **kwargs)
        while batch := await asyncio.to_thread(lambda: list(islice(found, _A_BATCH))):
            for one in batch:
                yield one

    return each


class AsyncGraph(_Awaited[Graph]):
    """`memory.graph`, awaited."""

    entities = _in_thread(Graph.entities)
    entity = _in_thread(Graph.entity)
    timeline = _in_thread(Graph.timeline)
    held = _in_thread(Graph.held)
    conflicts = _in_thread(Graph.conflicts)
    map = _in_thread(Graph.map)
    merge = _in_thread(Graph.merge)
    split = _in_thread(Graph.split)
    undo = _in_thread(Graph.undo)
    edits = _in_thread(Graph.edits)


class AsyncConcepts(_Awaited[Concepts]):
    """`memory.concepts`, awaited."""

    list = _in_thread(Concepts.list)
    get = _in_thread(Concepts.get)
    fold = _in_thread(Concepts.fold)
    journal = _in_thread(Concepts.journal)
    undo = _in_thread(Concepts.undo)
    window = _in_thread(Concepts.window)
    palace = _in_thread(Concepts.palace)


class AsyncIntents(_Awaited[Intents]):
    """`memory.intents`, awaited."""

    list = _in_thread(Intents.list)
    get = _in_thread(Intents.get)
    answer = _in_thread(Intents.answer)


class AsyncAdmin(_Awaited[Admin]):
    """`memory.admin`, awaited."""

    verify = _in_thread(Admin.verify)
    rebuild = _in_thread(Admin.rebuild)
    settle = _in_thread(Admin.settle)
    backup = _in_thread(Admin.backup)
    export = _in_thread(Admin.export)
    spaces = _in_thread(Admin.spaces)
    records = _in_thread(Admin.records)
    receipts = _in_thread(Admin.receipts)
    jobs = _in_thread(Admin.jobs)
    meta_values = _in_thread(Admin.meta_values)
    job_counts = _in_thread(Admin.job_counts)
    next_job_due = _in_thread(Admin.next_job_due)
    pulse = _in_thread(Admin.pulse)
    api_keys = _in_thread(Admin.api_keys)
    create_key = _in_thread(Admin.create_key)
    revoke_key = _in_thread(Admin.revoke_key)
    key_for = _in_thread(Admin.key_for)
    needs_keys = _in_thread(Admin.needs_keys)
    webhooks = _in_thread(Admin.webhooks)
    add_webhook = _in_thread(Admin.add_webhook)
    remove_webhook = _in_thread(Admin.remove_webhook)
    deliver_webhooks = _in_thread(Admin.deliver_webhooks)
    activity = _in_thread(Admin.activity)
    glance = _in_thread(Admin.glance)
    page_of_events = _in_thread(Admin.page_of_events)
    page_of_sessions = _in_thread(Admin.page_of_sessions)
    page_of_statements = _in_thread(Admin.page_of_statements)
    fenced = _in_thread(Admin.fenced)
    redacted = _in_thread(Admin.redacted)
    forgotten = _in_thread(Admin.forgotten)

    @wraps(Admin.work)
    async def work(self, **options: Any) -> int:
        """Work in a thread of its own: this may last for good, and the loop has few for all other calls."""
        with _one_thread() as own:
            return await _loop().run_in_executor(own, partial(self.sync.work, **options))

    @wraps(Admin.follow)
    def follow(
        self, path: str | os.PathLike[str], *, stop: threading.Event | None = None, **options: Any
    ) -> AsyncIterator[Imported | EverywordError]:
        """Import a folder and whatever comes to it from then on; see `Admin.follow`."""
        left = stop or threading.Event()
        return _each(self.sync.follow(path, stop=left, **options), left)


class AsyncMemory(_Awaited[Memory]):
    """A `Memory` whose methods are awaited. `async with AsyncMemory.open(...) as memory:`"""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.graph = AsyncGraph(memory.graph)
        self.concepts = AsyncConcepts(memory.concepts)
        self.intents = AsyncIntents(memory.intents)
        self.admin = AsyncAdmin(memory.admin)

    @classmethod
    def open(cls, *args: Any, **kwargs: Any) -> AsyncOpening:
        """Open a memory, by `await` or `async with`; takes what `Memory.open` takes."""
        return AsyncOpening(partial(Memory.open, *args, **kwargs))

    add = _in_thread(Memory.add)
    add_many = _in_thread(Memory.add_many)
    import_events = _in_thread(Memory.import_events)
    recall = _in_thread(Memory.recall)
    context = _in_thread(Memory.context)
    ask = _in_thread(Memory.ask)
    wake_up = _in_thread(Memory.wake_up)
    identity = _in_thread(Memory.identity)
    get = _in_thread(Memory.get)
    events = _in_batches(Memory.events)
    sessions = _in_thread(Memory.sessions)
    statements = _in_thread(Memory.statements)
    statement = _in_thread(Memory.statement)
    history = _in_thread(Memory.history)
    correct = _in_thread(Memory.correct)
    retract = _in_thread(Memory.retract)
    facts = _in_thread(Memory.facts)
    stats = _in_thread(Memory.stats)
    forget = _in_thread(Memory.forget)
    changes = _in_thread(Memory.changes)
    close = _in_thread(Memory.close)

    def space(self, name: str, *, walled: bool = False, editor: str | None = None) -> AsyncMemory:
        """Give a handle on another space of the same file."""
        return AsyncMemory(self.sync.space(name, walled=walled, editor=editor))

    def wing(self, name: str) -> AsyncMemory:
        """Give a handle on one wing."""
        return AsyncMemory(self.sync.wing(name))

    @property
    def location(self) -> str:
        """Tell where this memory lives."""
        return self.sync.location

    @property
    def notices(self) -> list[str]:
        """List what works less well than requested, and why."""
        return self.sync.notices

    async def on(self, what: str, callback: Callable[[Any], Any]) -> Callable[[], None]:
        """Call a function with what is new; see `Memory.on`.

        What it gives to be awaited, as an `async def` does, runs on the loop that this was called from.
        """
        loop = _loop()

        @wraps(callback)
        def notify(news: Any) -> None:
            outcome = callback(news)
            if inspect.isawaitable(outcome):
                asyncio.run_coroutine_threadsafe(self._awaited(outcome), loop)

        return await asyncio.to_thread(self.sync.on, what, notify if callable(callback) else callback)

    def watch(
        self, *, kinds: Sequence[str] = (), every: float = 1.0, stop: threading.Event | None = None
    ) -> AsyncIterator[tuple[str, Any]]:
        """Go through what is new as it comes; see `Memory.watch`."""
        left = stop or threading.Event()
        return _each(self.sync.watch(kinds=kinds, every=every, stop=left), left)

    async def _awaited(self, outcome: Awaitable[Any]) -> None:
        try:
            await outcome
        except Exception as error:  # what was written is written, whatever a listener does
            self.sync.scope.engine.models.say(f"A listener failed ({type(error).__name__}: {error}).")

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.close()


class AsyncOpening:
    """A memory that opens when it is awaited, or entered by `async with`."""

    def __init__(self, opened: Callable[[], Memory]) -> None:
        self._opened = opened
        self._memory: AsyncMemory | None = None

    async def __aenter__(self) -> AsyncMemory:
        self._memory = AsyncMemory(await asyncio.to_thread(self._opened))
        return self._memory

    async def __aexit__(self, *failure: object) -> None:
        if self._memory is not None:
            await self._memory.close()

    def __await__(self) -> Generator[Any, Any, AsyncMemory]:
        return self.__aenter__().__await__()


async def _each(source: Iterator[R], left: threading.Event) -> AsyncIterator[R]:
    """Iterate over a blocking source in a thread of its own; set `left` to end it."""
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
