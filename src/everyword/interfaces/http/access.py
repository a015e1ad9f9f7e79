"""Authentication and limits per caller: API keys, or the local user if the memory has none."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from everyword.errors import KeyNeeded, NotAllowed, TooManyRequests
from everyword.interfaces.http.background import Pool
from everyword.interfaces.http.settings import LOOPBACK
from everyword.memory import Memory
from everyword.types.events import DEFAULT_SPACE
from everyword.types.service import EVERY_SPACE, ApiKey, Permission, presented
from everyword.types.times import utc_now

_CACHE_S = 1.0  # how long a key is cached, and so how soon a revoked one is refused
_MOST_CACHED = 1_000  # keys
_OWN_SITES = ("none", "same-origin")  # values of Sec-Fetch-Site: typed or bookmarked; our own page
PAGE_PATH = "/"
_CREATE_KEY = "Create one with: everyword keys create NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request. Without a key it is the user of this machine, who may do everything."""

    key: ApiKey | None = None

    @property
    def name(self) -> str:
        """The name for limits and logs."""
        return "local" if self.key is None else self.key.id

    @property
    def label(self) -> str:
        """The name for people: the one that was given to the key."""
        return "local" if self.key is None else self.key.name

    @property
    def permission(self) -> Permission:
        """What the caller may do."""
        return Permission.ADMIN if self.key is None else self.key.permission

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces, or patterns of spaces, that are open to the caller."""
        return (EVERY_SPACE,) if self.key is None else self.key.spaces

    @property
    def everywhere(self) -> bool:
        """Whether every space is open to the caller."""
        return self.key is None or self.key.everywhere

    @property
    def default_space(self) -> str:
        """The space of requests that name none: the only one that the key opens, or `default`."""
        if len(self.spaces) == 1 and "*" not in self.spaces[0]:
            return self.spaces[0]
        return DEFAULT_SPACE

    def opens(self, space: str) -> bool:
        """Return whether a space is open to the caller."""
        return self.key is None or self.key.opens(space)

    def check(self, needs: Permission, space: str) -> None:
        """Raise NotAllowed for what the key does not allow, whether or not the space exists."""
        if not self.opens(space):
            raise NotAllowed(f"This key does not open the space {space[:200]!r}.")
        if not self.permission.includes(needs):
            raise NotAllowed(f"This needs a key with permission {needs.value}; yours has {self.permission.value}.")

    def check_all_spaces(self, needs: Permission) -> None:
        """Raise NotAllowed unless the key opens every space."""
        if not self.everywhere:
            raise NotAllowed("This concerns every space and needs a key for all of them.")
        self.check(needs, DEFAULT_SPACE)


class Authenticator:
    """Identifies the caller of a request."""

    def __init__(
        self, memory: Memory, pool: Pool, *, on_loopback: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._memory = memory
        self._pool = pool
        self._on_loopback = on_loopback
        self._clock = clock
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
            raise KeyNeeded("The Authorization header holds no Everyword key.", fix=_CREATE_KEY)
        key, as_of = self._cache.get(shown, (None, 0.0))
        if key is None or self._clock() - as_of >= _CACHE_S:
            key = await self._pool.run(lambda: self._memory.admin.key_for(shown))
            if key is None:
                raise KeyNeeded("Unknown key.", fix=_CREATE_KEY)
            self._remember(shown, key)
        if not key.usable(utc_now()):
            how = "has expired" if key.revoked_at is None else "was revoked"
            raise KeyNeeded(f"The key {how}.", fix=_CREATE_KEY)
        return Caller(key=key)

    def check_local(self, headers: Mapping[str, str], *, path: str) -> None:
        """Refuse requests that a foreign web page makes a browser send: another Host, Origin or site.

        Without keys, every process that can connect is served. Any page can make a browser connect, and a DNS name
        can be pointed at this machine (DNS rebinding).
        """
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
        self._cache[shown] = (key, self._clock())
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
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def _is_visit(headers: Mapping[str, str]) -> bool:
    """Return whether a browser navigates here, as by a link. The linking page can't read the response."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()
