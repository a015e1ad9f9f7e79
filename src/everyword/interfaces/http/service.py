"""The state that all requests share: memory, thread pools, poller and worker; who may do what, and how much of it."""

from __future__ import annotations

import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct
from starlette.requests import Request

from everyword.errors import EverywordError, KeyNeeded, NotAllowed, TooManyRequests
from everyword.interfaces.http.background import ChangePoller, FairPool, PoolName, Worker
from everyword.interfaces.http.observability import AuditLog, Metrics, Tracing
from everyword.interfaces.http.settings import LOOPBACK, ServiceSettings
from everyword.memory import Memory
from everyword.types.events import DEFAULT_SPACE
from everyword.types.service import EVERY_SPACE, ApiKey, Permission, presented
from everyword.types.times import from_micros, utc_now

R = TypeVar("R")

_WARM_UP_QUESTION = "What was said?"  # loads the model and the vector index
_SLOW_THREADS = 2  # one may run a rebuild for minutes
_MOST_SLOW_WAITING = 20
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^@/?#:\[\]\s]+)(?::\d*)?")
_LARGE_THREADS = 1  # per key: embedding one large text keeps every core busy
_MOST_LARGE_WAITING = 64  # each holds its body, up to 24 MB, in memory
_CACHE_S = 1.0  # how long a key is cached, and so how soon a revoked one is refused
_MOST_CACHED = 1_000  # keys
_OWN_SITES = ("none", "same-origin")  # values of Sec-Fetch-Site: typed or bookmarked; our own page
PAGE_PATH = "/"
_PUBLIC_PATHS = ("/healthz", "/readyz")  # they reveal nothing
_CREATE_KEY = "Create one with: everyword keys create NAME --space SPACE"


class Service:
    """What the routes work with."""

    def __init__(self, memory: Memory, settings: ServiceSettings) -> None:
        self.memory = memory
        self.settings = settings
        self.metrics = Metrics()
        self.tracing = Tracing(settings.tracing)
        self.audit = AuditLog(settings.audit)
        most = settings.most_waiting
        self.pools: dict[PoolName, FairPool] = {
            "asking": _shared_pool("asking", settings.asking_threads, most),
            "writing": _shared_pool("writing", settings.writing_threads, most),
            "large": _shared_pool("large", _LARGE_THREADS, _MOST_LARGE_WAITING),
            "slow": _shared_pool("slow", _SLOW_THREADS, _MOST_SLOW_WAITING),
        }
        # Short reads with a thread of their own, so that they never wait for questions and writes.
        self._auth_pool = FairPool("auth", threads=1, most_waiting=most)
        self.stream_pool = FairPool("streams", threads=1, most_waiting=settings.most_streams)
        self.probe_pool = FairPool("probes", threads=1, most_waiting=most)
        self.authenticator = Authenticator(memory, self._auth_pool, on_loopback=settings.on_loopback)
        self.rate_limiter = RateLimiter(settings.requests_per_s, settings.burst)
        self.concurrency_limiter = ConcurrencyLimiter(settings.most_requests_of_a_key)
        self.poller = ChangePoller(lambda: self.probe_pool.run(memory.admin.pulse))
        self.worker = Worker(memory, self.metrics) if settings.worker else None
        self.ready = False

    async def authenticate(self, request: Request) -> Caller:
        """Identify the caller; refuse a key that exceeds its rate or has too many unanswered requests."""
        caller = await self.authenticator.caller(request.headers)
        if not caller.is_local:
            self.rate_limiter.take(caller.key.id)
            self.concurrency_limiter.enter(request.scope, caller.key.id)
        return caller

    def handle(self, caller: Caller, needs: Permission, space: str | None, wing: str | None) -> Memory:
        """Check the caller's permission and return a handle on a space or wing. Every handle comes from here."""
        name = caller.default_space if space is None else space
        caller.check(needs, name)
        editor = None if caller.is_local else caller.key.name  # not what the request claims
        handle = self.memory.space(name, walled=not caller.key.everywhere, editor=editor)
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
        if pool == "large" and not caller.is_local and chosen.pending_of(caller.key.id) >= most:
            raise TooManyRequests(f"This key already has {most:,} large writes waiting.")
        return await chosen.run(call, key=caller.key.id, space=caller.default_space if space is None else space)

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


def _shared_pool(name: PoolName, threads_per_key: int, most_waiting: int) -> FairPool:
    # One more thread than a single key can occupy, so that other keys always find one.
    return FairPool(name, threads=threads_per_key + 1, most_waiting=most_waiting, threads_per_key=threads_per_key)


# Callers: API keys, or the local user if the memory has none

_LOCAL_KEY = ApiKey(
    id="local", name="local", permission=Permission.ADMIN, spaces=(EVERY_SPACE,), created_at=from_micros(0)
)


class Caller(Struct, frozen=True):
    """The sender of a request. Without a key it is the user of this machine, who may do everything."""

    key: ApiKey = _LOCAL_KEY

    @property
    def is_local(self) -> bool:
        """Whether there is no key; limits of a key do not hold then."""
        return self.key is _LOCAL_KEY

    @property
    def default_space(self) -> str:
        """The space of requests that name none: the only one that the key opens, or `default`."""
        spaces = self.key.spaces
        return spaces[0] if len(spaces) == 1 and "*" not in spaces[0] else DEFAULT_SPACE

    def check(self, needs: Permission, space: str) -> None:
        """Raise NotAllowed for what the key does not allow, whether or not the space exists."""
        if not self.key.opens(space):
            raise NotAllowed(f"This key does not open the space {space[:200]!r}.")
        if not self.key.permission.includes(needs):
            raise NotAllowed(f"This needs a key with permission {needs}; yours has {self.key.permission}.")

    def check_all_spaces(self, needs: Permission) -> None:
        """Raise NotAllowed unless the key opens every space."""
        if not self.key.everywhere:
            raise NotAllowed("This concerns every space and needs a key for all of them.")
        self.check(needs, DEFAULT_SPACE)


class Authenticator:
    """Identifies the caller of a request."""

    def __init__(self, memory: Memory, pool: FairPool, *, on_loopback: bool) -> None:
        self._memory = memory
        self._pool = pool
        self._on_loopback = on_loopback
        self._cache: OrderedDict[tuple[str, bytes], tuple[ApiKey, float]] = OrderedDict()
        self._has_keys = False

    async def keyless(self) -> bool:
        """Return whether requests need no key: on loopback, until the first key is created, by whichever process."""
        if not self._on_loopback:
            return False
        self._has_keys = self._has_keys or await self._pool.run(self._memory.admin.needs_keys)
        return not self._has_keys

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Identify the caller by the Authorization header."""
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not credentials.strip():
            if await self.keyless():
                return Caller()
            raise KeyNeeded
        shown = presented(credentials.strip())
        if shown is None:
            raise KeyNeeded("This is not an Everyword key, or not all of one.", fix=_CREATE_KEY)
        key, as_of = self._cache.get(shown, (None, 0.0))
        if key is None or time.monotonic() - as_of >= _CACHE_S:
            key = await self._pool.run(lambda: self._memory.admin.key_for(shown))
            if key is None:
                raise KeyNeeded("Unknown key.", fix=_CREATE_KEY)
            self._remember(shown, key)
        if not key.usable(utc_now()):
            how = "has expired" if key.revoked_at is None else "was revoked"
            raise KeyNeeded(f"The key {how}.", fix=_CREATE_KEY)
        return Caller(key)

    async def check_local(self, headers: Mapping[str, str], *, path: str) -> None:
        """Refuse requests that a foreign web page makes a browser send: another Host, Origin or site.

        Without keys, every process that can connect is served. Any page can make a browser connect, and a DNS name
        can be pointed at this machine (DNS rebinding).
        """
        if path in _PUBLIC_PATHS or not await self.keyless():
            return
        if _host(headers.get("host", "")) not in LOOPBACK:
            raise NotAllowed("Without keys, only this machine is served.", fix="Use http://127.0.0.1, or create a key.")
        origin = headers.get("origin")
        if origin is not None and not _same_origin(origin, headers.get("host", "")):
            raise NotAllowed("Without keys, other web pages may not send requests.", fix="Create a key and send it.")
        # Browsers send no Origin with most GETs, but do send Sec-Fetch-Site; other programs send neither. Another port
        # of this machine is "same-site".
        site = headers.get("sec-fetch-site", "none")
        if site not in _OWN_SITES and not (path == PAGE_PATH and _is_visit(headers)):
            raise NotAllowed("Without keys, other web pages may not send requests.", fix="Create a key and send it.")

    def _remember(self, shown: tuple[str, bytes], key: ApiKey) -> None:
        self._cache[shown] = (key, time.monotonic())
        self._cache.move_to_end(shown)
        while len(self._cache) > _MOST_CACHED:
            self._cache.popitem(last=False)


class RateLimiter:
    """A token bucket per caller."""

    def __init__(self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        """Take a token, or raise TooManyRequests."""
        if self._per_s == 0:
            return
        now = self._clock()
        left, as_of = self._left.pop(name, (float(self._burst), now))
        left = min(self._burst, left + (now - as_of) * self._per_s)
        if left < 1:
            self._left[name] = (left, now)
            raise TooManyRequests(f"This key sends more than {self._per_s:g} requests a second.")
        self._left[name] = (left - 1, now)
        while len(self._left) > _MOST_CACHED:
            self._left.popitem(last=False)


class ConcurrencyLimiter:
    """Counts the unanswered requests of each key. The request's scope remembers for which key it counts."""

    _COUNTED_AS = "everyword.counted_as"

    def __init__(self, most_of_a_key: int) -> None:
        self._most = most_of_a_key
        self._unanswered: Counter[str] = Counter()

    def enter(self, scope: MutableMapping[str, Any], name: str) -> None:
        """Count a request, or raise TooManyRequests."""
        if self._unanswered[name] >= self._most:
            raise TooManyRequests(f"This key has {self._most:,} unanswered requests.")
        self._unanswered[name] += 1
        scope[self._COUNTED_AS] = name

    def leave(self, scope: MutableMapping[str, Any]) -> None:
        """Stop counting a request that is answered, or that is a stream, which has limits of its own."""
        name = scope.pop(self._COUNTED_AS, None)
        if name is not None:
            self._unanswered[name] -= 1
            self._unanswered += Counter()  # drops keys at zero


def _host(header: str) -> str | None:
    found = _HOST.fullmatch(header)
    return found and found[1].strip("[]").lower()


def _is_visit(headers: Mapping[str, str]) -> bool:
    """Return whether a browser navigates here, as by a link. The linking page can't read the response."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()
