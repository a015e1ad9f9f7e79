"""What runs beside requests: fair thread pools, the poller that wakes streams, the worker that does queued work."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Literal, TypeVar

from everyword.errors import EverywordError, Overloaded
from everyword.extras import need
from everyword.interfaces.http.observability import Metrics
from everyword.memory import Memory
from everyword.types.serialization import to_json
from everyword.types.times import utc_now

log = logging.getLogger("everyword.interfaces")

R = TypeVar("R")
PoolName = Literal["asking", "writing", "large", "slow"]
Task = Callable[[], Callable[[], None]]  # runs a call; returns what delivers its outcome

_POLL_CHANGES_EVERY_S = 0.5  # the delay for writes of other processes; writes of this one call poll_now()
_DELIVERY_TIMEOUT_S = 10.0  # of a whole request, since other deliveries wait behind it
_POLL_WORK_EVERY_S = 2.0  # the delay for work that another process queued
_SETTLE_EVERY_S = 60.0  # even if no job is due: a file may need scrubbing, or statements may lag behind
_AFTER_ERROR_S = 30.0
_STOP_WITHIN_S = 10.0


# Thread pools


class FairPool:
    """A bounded thread pool with a round-robin queue.

    threads_per_key: how many threads one key may occupy at a time. With fewer than all, other keys always find a
    thread, however long the calls of the first one take.
    """

    def __init__(self, name: str, *, threads: int, most_waiting: int, threads_per_key: int | None = None) -> None:
        self.name = name
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"everyword-{name}")
        self._threads = threads
        self._threads_per_key = threads_per_key or threads
        self._most_pending = threads + most_waiting
        self._changed = threading.Condition()
        self._queue = _FairQueue()
        self._running: Counter[str] = Counter()  # by key
        self._pending: Counter[str] = Counter()  # running or waiting, by key

    @property
    def pending(self) -> int:
        """Count the calls that run or wait."""
        return self._pending.total()

    def pending_of(self, key: str) -> int:
        """Count the calls of one key that run or wait."""
        return self._pending[key]

    async def run(self, call: Callable[[], R], *, key: str = "", space: str = "") -> R:
        """Run a call in a thread when its turn comes; refuse it at once if too many wait."""
        future: Future[R] = Future()
        # The context carries the caller and the trace into the thread.
        task = partial(_run, future, partial(contextvars.copy_context().run, call))
        with self._changed:
            if self.pending >= self._most_pending:
                raise Overloaded
            self._pending[key] += 1
            self._queue.put(key, space, task)
            self._start_next()
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finish all calls, then end the threads."""
        with self._changed:
            self._changed.wait_for(lambda: self.pending == 0)
        self._executor.shutdown(wait=True)

    def _start_next(self) -> None:
        while self._running.total() < self._threads:
            taken = self._queue.take(lambda key: self._running[key] < self._threads_per_key)
            if taken is None:
                return
            key, task = taken
            self._running[key] += 1
            self._executor.submit(self._work, key, task)

    def _work(self, key: str, task: Task) -> None:
        deliver = task()
        with self._changed:
            self._running[key] -= 1
            self._pending[key] -= 1
            self._running += Counter()  # drops keys at zero
            self._pending += Counter()
            self._start_next()
            self._changed.notify_all()
        deliver()  # last, so that a caller with its result is no longer counted


class _FairQueue:
    """Tasks by key and space. Keys take turns, and so do the spaces of a key: many spaces give no advantage."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, OrderedDict[str, deque[Task]]] = OrderedDict()

    def put(self, key: str, space: str, task: Task) -> None:
        self._keys.setdefault(key, OrderedDict()).setdefault(space, deque()).append(task)

    def take(self, eligible: Callable[[str], bool]) -> tuple[str, Task] | None:
        """Take the next task of an eligible key, and move that key and space to the end."""
        key = next((one for one in self._keys if eligible(one)), None)
        if key is None:
            return None
        spaces = self._keys.pop(key)
        space, tasks = spaces.popitem(last=False)
        task = tasks.popleft()
        if tasks:
            spaces[space] = tasks
        if spaces:
            self._keys[key] = spaces
        return key, task


def _run(future: Future[Any], call: Callable[[], Any]) -> Callable[[], None]:
    if not future.set_running_or_notify_cancel():
        return lambda: None
    try:
        result = call()
    except BaseException as error:  # raised where the call is awaited
        return partial(future.set_exception, error)
    return partial(future.set_result, result)


# Changes


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
                await asyncio.wait_for(self._poll_early.wait(), _POLL_CHANGES_EVERY_S if self.followers else None)
            self._poll_early.clear()
            try:
                version = await self._read_version()
            except EverywordError:
                continue  # the next request reports it
            except Exception:  # or no stream would hear of changes again
                log.exception("The memory could not be polled for changes.")
                continue
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


# Queued work


class WebhookSender:
    """POSTs webhook deliveries, without following redirects."""

    def __init__(self, metrics: Metrics, *, timeout_s: float = _DELIVERY_TIMEOUT_S) -> None:
        self._metrics = metrics
        self._timeout_s = timeout_s
        self._ssl_context: Any = None  # kept, since loading certificates takes a while

    def send(self, url: str, headers: Mapping[str, str], body: bytes) -> str | None:
        """POST a delivery; return what went wrong, or None if it was accepted."""
        httpx: Any = need("httpx", extra="serve")
        outcome, wrong = "failed", None
        try:
            # httpx applies its timeout to each read, so a server that trickles bytes would never hit it.
            status = asyncio.run(self._post(httpx, url, headers, body))
            outcome = "taken" if 200 <= status < 300 else "refused"
            wrong = None if outcome == "taken" else f"Response status {status}."
        except TimeoutError:
            wrong = f"No response within {self._timeout_s:g} s."
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            wrong = f"{type(error).__name__}: {error}"
        self._metrics.count("everyword_webhook_deliveries_total", f'outcome="{outcome}"')
        return wrong

    async def _post(self, httpx: Any, url: str, headers: Mapping[str, str], body: bytes) -> int:
        if self._ssl_context is None:
            self._ssl_context = httpx.create_ssl_context()
        options: dict[str, Any] = {"timeout": None, "follow_redirects": False, "verify": self._ssl_context}
        async with (
            asyncio.timeout(self._timeout_s),
            httpx.AsyncClient(**options) as client,
            client.stream("POST", url, headers=dict(headers), content=body) as response,
        ):
            return int(response.status_code)  # the body is not read: it may never end


class Worker:
    """A thread that runs due jobs and delivers webhooks."""

    def __init__(self, memory: Memory, metrics: Metrics) -> None:
        self._memory = memory
        self._metrics = metrics
        self._sender = WebhookSender(metrics)
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="everyword-worker", daemon=True)
        self._since_settled = _SETTLE_EVERY_S

    def start(self) -> None:
        """Start the thread."""
        self._memory.scope.engine.stopping.clear()  # an earlier worker of this memory may have ended
        self._thread.start()

    def wake(self) -> None:
        """Look for work now."""
        self._woken.set()

    def stop(self) -> None:
        """Finish the text or the delivery that is under way, and end the thread."""
        self._stopping.set()
        self._memory.scope.engine.stopping.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_WITHIN_S)  # an LLM call may take longer; its job is retried later

    def _run(self) -> None:
        while not self._stopping.is_set():
            wait_s = _POLL_WORK_EVERY_S
            try:
                due = self._memory.admin.next_job_due()
                if (due is not None and due <= utc_now()) or self._since_settled >= _SETTLE_EVERY_S:
                    self._since_settled = 0.0
                    self._memory.admin.settle()
                self._memory.admin.deliver_webhooks(
                    self._sender.send, to_json, going_on=lambda: not self._stopping.is_set()
                )
            except EverywordError as error:
                if self._stopping.is_set():  # the memory was closed meanwhile; the job stays queued
                    return
                log.warning("Background work failed and will be retried: %s", error)
                wait_s = _AFTER_ERROR_S
            except Exception:
                log.exception("Unexpected error in the worker; it continues.")
                wait_s = _AFTER_ERROR_S
            self._since_settled += wait_s
            self._woken.wait(wait_s)
            self._woken.clear()
