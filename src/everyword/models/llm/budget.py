"""A daily token limit for LLMs, checked before each request is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, date
from threading import Lock
from typing import Protocol

from everyword.errors import AllowanceSpent, InvalidSetting
from everyword.types.times import Clock, utc_now

# English has about four bytes per token; in other scripts a letter has two or three bytes and may be a token. So this
# overestimates in all of them.
BYTES_PER_TOKEN = 3


def estimate_tokens(*texts: str) -> int:
    """Estimate the tokens of texts when the server does not count them."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // BYTES_PER_TOKEN + 1


class Ledger(Protocol):
    """Stores the tokens spent per day. Processes that share a ledger share the limit."""

    def spent(self, day: date) -> int:
        """Return the tokens spent or reserved on a day."""
        ...

    def take(self, day: date, tokens: int, *, limit: int) -> bool:
        """Reserve tokens of a day atomically; return False if that would exceed the limit."""
        ...

    def spend(self, day: date, tokens: int) -> None:
        """Add tokens to a day, whatever the limit; a negative number returns reserved ones."""
        ...


class MemoryLedger:
    """A ledger of this process."""

    def __init__(self) -> None:
        self._days: Counter[date] = Counter()

    def spent(self, day: date) -> int:
        return self._days[day]

    def take(self, day: date, tokens: int, *, limit: int) -> bool:
        if self._days[day] + tokens > limit:
            return False
        self._days[day] += tokens
        return True

    def spend(self, day: date, tokens: int) -> None:
        self._days[day] += tokens


class Hold:
    """The tokens reserved for one request; the request records what it used."""

    def __init__(self) -> None:
        self.used = 0

    def spend(self, tokens: int) -> None:
        """Record used tokens."""
        self.used += tokens


class Allowance:
    """A limit of tokens per UTC day, input and output together.

    A request reserves the most that it can use before it is sent, and fails if that is not free; the answer corrects
    the reservation. Tokens of requests that the server never answered are unknown and not counted.
    """

    def __init__(self, *, tokens_per_day: int, clock: Clock = utc_now, ledger: Ledger | None = None) -> None:
        if tokens_per_day < 0:
            raise InvalidSetting("tokens_per_day must not be negative.")
        self._limit = tokens_per_day
        self._clock = clock
        self._ledger: Ledger = ledger or MemoryLedger()
        self._lock = Lock()

    @property
    def left(self) -> int:
        """Tokens that are free today."""
        with self._lock:
            return self._free(self._today())

    @contextmanager
    def hold(self, most: int) -> Generator[Hold]:
        """Reserve tokens for one request or raise AllowanceSpent; afterwards charge what it used, even if it failed."""
        hold = Hold()
        with self._lock:
            day = self._today()
            if not self._ledger.take(day, most, limit=self._limit):
                free = self._free(day)
                raise AllowanceSpent(
                    f"This request may use {most:,} tokens, and {free:,} of {self._limit:,} are left on {day} (UTC).",
                    fix="Wait for tomorrow, ask for less, or raise tokens_per_day.",
                )
        try:
            yield hold
        finally:
            with self._lock:
                self._ledger.spend(day, hold.used - most)

    def _today(self) -> date:
        return self._clock().astimezone(UTC).date()

    def _free(self, day: date) -> int:
        return max(0, self._limit - self._ledger.spent(day))


def hold_in(allowance: Allowance | None, most: int) -> AbstractContextManager[Hold]:
    """Reserve tokens for one request; without an allowance, only count them."""
    return nullcontext(Hold()) if allowance is None else allowance.hold(most)
