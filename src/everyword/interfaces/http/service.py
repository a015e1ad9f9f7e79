"""The state that all requests share: the memory, thread pools, limits, the change poller and the worker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from starlette.requests import Request

from everyword.errors import EverywordError, TooManyRequests
from everyword.interfaces.http.access import Authenticator, Caller, ConcurrencyLimiter, RateLimiter
from everyword.interfaces.http.background import ChangePoller, Pool, PoolName, Worker
from everyword.interfaces.http.observability import AuditLog, Metrics, Tracing
from everyword.interfaces.http.settings import ServiceSettings
from everyword.memory import Memory
from everyword.types.service import Permission

R = TypeVar("R")

_WARM_UP_QUESTION = "What was said?"  # loads the model and the vector index
_SLOW_THREADS = 2  # one may run a rebuild for minutes
_MOST_SLOW_WAITING = 20
_LARGE_THREADS = 1  # per key: embedding one large text keeps every core busy
_MOST_LARGE_WAITING = 64  # each holds its body, up to 24 MB, in memory


class Service:
    """What the routes work with."""

    def __init__(self, memory: Memory, settings: ServiceSettings) -> None:
        self.memory = memory
        self.settings = settings
        self.metrics = Metrics()
        self.tracing = Tracing(settings.tracing)
        self.audit = AuditLog(settings.audit)
        most = settings.most_waiting
        self.pools: dict[PoolName, Pool] = {
            "asking": _shared_pool("asking", settings.asking_threads, most),
            "writing": _shared_pool("writing", settings.writing_threads, most),
            "large": _shared_pool("large", _LARGE_THREADS, _MOST_LARGE_WAITING),
            "slow": _shared_pool("slow", _SLOW_THREADS, _MOST_SLOW_WAITING),
        }
        # Short reads with a thread of their own, so that they never wait for questions and writes.
        self._auth_pool = Pool("auth", threads=1, most_waiting=most)
        self.stream_pool = Pool("streams", threads=1, most_waiting=settings.most_streams)
        self.probe_pool = Pool("probes", threads=1, most_waiting=most)
        self.authenticator = Authenticator(memory, self._auth_pool, on_loopback=settings.on_loopback)
        self.rate_limiter = RateLimiter(settings.requests_per_s, settings.burst)
        self.concurrency_limiter = ConcurrencyLimiter(settings.most_requests_of_a_key)
        self.poller = ChangePoller(lambda: self.probe_pool.run(memory.admin.pulse))
        self.worker = Worker(memory, self.metrics) if settings.worker else None
        self.ready = False

    async def authenticate(self, request: Request) -> Caller:
        """Identify the caller; refuse a key that exceeds its rate or has too many unanswered requests."""
        caller = await self.authenticator.caller(request.headers)
        if caller.key is not None:
            self.rate_limiter.take(caller.name)
            self.concurrency_limiter.enter(request.scope, caller.name)
        return caller

    def handle(self, caller: Caller, needs: Permission, space: str | None, wing: str | None) -> Memory:
        """Check the caller's permission and return a handle on a space or wing. Every handle comes from here."""
        name = caller.default_space if space is None else space
        caller.check(needs, name)
        editor = None if caller.key is None else caller.key.name  # not what the request claims
        handle = self.memory.space(name, walled=not caller.everywhere, editor=editor)
        return handle if wing is None else handle.wing(wing)

    def pool_for(self, pool: PoolName, size: int) -> PoolName:
        """Move large writes to a pool of their own: embedding them takes seconds, and small ones would wait."""
        return "large" if pool == "writing" and size > self.settings.large_request_bytes else pool

    async def run(
        self, pool: PoolName, call: Callable[[], R], *, caller: Caller | None = None, space: str | None = None
    ) -> R:
        """Run a call in a pool, in turn with other callers and spaces."""
        chosen = self.pools[pool]
        if caller is None:
            return await chosen.run(call)
        most = self.settings.most_large_of_a_key
        if pool == "large" and caller.key is not None and chosen.pending_of(caller.name) >= most:
            raise TooManyRequests(f"This key already has {most:,} large writes waiting.")
        return await chosen.run(call, key=caller.name, space=caller.default_space if space is None else space)

    async def warm_up(self) -> None:
        """Fill caches, so that the first request does not wait for them."""
        for call in (self.memory.intents.list, lambda: self.memory.context(_WARM_UP_QUESTION, budget=1)):
            with suppress(EverywordError):  # a request that fails reports it
                await self.run("slow", call)

    def notify_change(self) -> None:
        """Wake streams and the worker after a write."""
        self.poller.poll_now()
        if self.worker is not None:
            self.worker.wake()

    def gauges(self) -> dict[str, float]:
        """Return current values for /metrics."""
        pending = {f"pool_{name}": float(pool.pending) for name, pool in self.pools.items()}
        return {"streams": float(self.poller.followers), **pending}

    def close(self) -> None:
        """Finish what has begun, then end all threads."""
        if self.worker is not None:
            self.worker.stop()
        for pool in (*self.pools.values(), self._auth_pool, self.stream_pool, self.probe_pool):
            pool.close()


def _shared_pool(name: PoolName, threads_per_key: int, most_waiting: int) -> Pool:
    # One more thread than a single key can occupy, so that other keys always find one.
    return Pool(name, threads=threads_per_key + 1, most_waiting=most_waiting, threads_per_key=threads_per_key)
