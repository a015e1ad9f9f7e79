"""Who asks, and what they may: keys, and for a service without any, that it is this machine's user who asks."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from recollect.core.clock import utc_now
from recollect.core.errors import KeyNeeded, NotAllowed, TooManyRequests
from recollect.core.keys import EVERY_SPACE, ApiKey, Permission, presented
from recollect.core.values import DEFAULT_SPACE
from recollect.memory import Memory
from recollect.serve.http.lanes import Lane

_KNOWN_FOR_S = 1.0  # how long a key is taken for what it was: so soon, a revoked one is refused
_MOST_KNOWN = 1_000  # keys that are remembered meanwhile
_OWN_SITES = ("none", "same-origin")  # typed or bookmarked; our own page
PAGE_PATH = "/"
_LOCAL_HOSTS = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Somebody who asks; without a key it is the user of this machine, who may do everything."""

    key: ApiKey | None = None

    @property
    def name(self) -> str:
        """Name the caller, for limits and logs."""
        return "local" if self.key is None else self.key.id

    @property
    def permission(self) -> Permission:
        """Tell what the caller may do."""
        return Permission.ADMIN if self.key is None else self.key.permission

    @property
    def spaces(self) -> tuple[str, ...]:
        """Tell which spaces are open to the caller."""
        return (EVERY_SPACE,) if self.key is None else self.key.spaces

    @property
    def everywhere(self) -> bool:
        """Tell whether every space is."""
        return self.key is None or self.key.everywhere

    @property
    def own_space(self) -> str:
        """Tell which space is meant where none is named: the only one that the key opens, if there is just one."""
        if len(self.spaces) == 1 and "*" not in self.spaces[0]:
            return self.spaces[0]
        return DEFAULT_SPACE

    def opens(self, space: str) -> bool:
        """Tell whether a space is open to the caller."""
        return self.key is None or self.key.opens(space)

    def check(self, needs: Permission, space: str) -> None:
        """Refuse what goes beyond the key. A space that exists and one that does not are refused alike."""
        if not self.opens(space):
            raise NotAllowed(f"This key does not open the space {space[:200]!r}.")
        if not self.permission.includes(needs):
            raise NotAllowed(f"This needs a key that may {needs.value}; yours may {self.permission.value}.")

    def check_file(self, needs: Permission) -> None:
        """Refuse what is about the whole file to whom not all of it is open."""
        if not self.everywhere:
            raise NotAllowed("This is about every space; it needs a key for all of them.")
        self.check(needs, DEFAULT_SPACE)


class Doors:
    """Tells who a request comes from."""

    def __init__(
        self, memory: Memory, lane: Lane, *, on_loopback: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._memory = memory
        self._lane = lane
        self._on_loopback = on_loopback
        self._clock = clock
        self._known: OrderedDict[tuple[str, bytes], tuple[ApiKey, float]] = OrderedDict()
        self._keyless = (False, float("-inf"))  # as of when

    async def keyless(self) -> bool:
        """Tell whether nobody needs a key: on loopback, as long as none was ever made."""
        if not self._on_loopback:
            return False
        free, as_of = self._keyless
        if as_of == float("inf") or self._clock() - as_of < _KNOWN_FOR_S:
            return free
        needed = await self._lane.run(self._memory.needs_keys)
        self._keyless = (not needed, float("inf") if needed else self._clock())
        return not needed

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Find out who asks."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not given.strip():
            if await self.keyless():
                return Caller()
            raise KeyNeeded
        shown = presented(given.strip())
        if shown is None:
            raise KeyNeeded("What was sent is no key of Recollect.", fix="Make one with: recollect keys create")
        key, as_of = self._known.get(shown, (None, 0.0))
        if key is None or self._clock() - as_of >= _KNOWN_FOR_S:
            key = await self._lane.run(lambda: self._memory.key_for(shown))
            if key is None:
                raise KeyNeeded("The key is not known here.", fix="Make one with: recollect keys create")
            self._remember(shown, key)
        if not key.usable(utc_now()):
            how = "has ended" if key.revoked_at is None else "was revoked"
            raise KeyNeeded(f"The key {how}.", fix="Make another with: recollect keys create")
        return Caller(key=key)

    def check_local(self, headers: Mapping[str, str], *, path: str) -> None:
        """Refuse what a page from elsewhere makes a browser send: it names another host, or comes from another site.

        Without keys, being able to connect is all that is asked for; a browser can be led to connect by any page, and a
        name can be pointed at this machine (DNS rebinding).
        """
        if _host(headers.get("host", "")) not in _LOCAL_HOSTS:
            raise NotAllowed("Without keys, only this machine is served.", fix="Use http://127.0.0.1, or make a key.")
        origin = headers.get("origin")
        if origin is not None and not _same_origin(origin, headers.get("host", "")):
            raise NotAllowed("Without keys, pages from elsewhere are refused.", fix="Make a key and send it.")
        # Browsers send no Origin with most GETs, but say which site made them ask. Other programs say nothing. Another
        # port of this machine is "same-site".
        site = headers.get("sec-fetch-site", "none")
        if site not in _OWN_SITES and not (path == PAGE_PATH and _is_visit(headers)):
            raise NotAllowed("Without keys, pages from elsewhere are refused.", fix="Make a key and send it.")

    def _remember(self, shown: tuple[str, bytes], key: ApiKey) -> None:
        self._known[shown] = (key, self._clock())
        self._known.move_to_end(shown)
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)


class Rates:
    """A token bucket for each caller."""

    def __init__(self, per_s: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        """Take a token, or refuse."""
        if self._per_s == 0:
            return
        now = self._clock()
        left, as_of = self._left.pop(name, (float(self._burst), now))
        left = min(self._burst, left + (now - as_of) * self._per_s)
        if left < 1:
            self._left[name] = (left, now)
            raise TooManyRequests(f"More than {self._per_s:g} requests a second with one key.")
        self._left[name] = (left - 1, now)
        while len(self._left) > _MOST_KNOWN:
            self._left.popitem(last=False)


class Concurrency:
    """Count the unanswered requests of each key; the request's scope remembers by whom it is counted."""

    _COUNTED_AS = "recollect.counted_as"

    def __init__(self, most_of_a_key: int) -> None:
        self._most = most_of_a_key
        self._unanswered: Counter[str] = Counter()

    def enter(self, scope: MutableMapping[str, Any], name: str) -> None:
        """Count a request, or refuse it."""
        if self._unanswered[name] >= self._most:
            raise TooManyRequests(f"{self._most:,} requests with this key are not answered yet.")
        self._unanswered[name] += 1
        scope[self._COUNTED_AS] = name

    def leave(self, scope: MutableMapping[str, Any]) -> None:
        """Stop counting a request: it is answered, or is a stream, which has limits of its own."""
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
    """Tell whether a browser's window goes there, as by a link: the page that links can't read what is shown."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()
