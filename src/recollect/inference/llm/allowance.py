"""How many tokens an LLM may use in a day. It is checked before a request is sent: a limit, not a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, date
from threading import Lock
from typing import Protocol

from recollect.core.clock import Clock, utc_now
from recollect.core.errors import AllowanceSpent, InvalidSetting

# Of the languages that are common here English has the most characters a token, about four: this errs on the safe side.
CHARACTERS_A_TOKEN = 3


def estimate_tokens(*texts: str) -> int:
    """Guess the tokens of texts where nobody counted them."""
    return sum(len(text) for text in texts) // CHARACTERS_A_TOKEN + 1


class Ledger(Protocol):
    """Where the tokens of a day are written down; a store that several processes share makes one limit for all."""

    def spent(self, day: date) -> int: ...

    def spend(self, day: date, tokens: int) -> None:
        """Add to what was spent on a day."""
        ...


class MemoryLedger:
    """Count in this process only, until it ends."""

    def __init__(self) -> None:
        self._days: Counter[date] = Counter()

    def spent(self, day: date) -> int:
        """Tell what was spent on a day."""
        return self._days[day]

    def spend(self, day: date, tokens: int) -> None:
        """Add to what was spent on a day."""
        self._days[day] += tokens


class Hold:
    """Tokens that one request may use; it says afterwards how many it did."""

    def __init__(self) -> None:
        self.used = 0

    def spend(self, tokens: int) -> None:
        """Add what the server counted."""
        self.used += tokens


class Allowance:
    """A number of tokens a day, in and out together; days are of UTC.

    A request is sent only if the most that it can use is still free, requests under way in this process included.
    What servers count for requests that they never answered is not known here and not counted.
    """

    def __init__(self, *, tokens_per_day: int, clock: Clock = utc_now, ledger: Ledger | None = None) -> None:
        if tokens_per_day < 0:
            raise InvalidSetting("tokens_per_day must not be negative.")
        self._limit = tokens_per_day
        self._clock = clock
        self._ledger: Ledger = ledger or MemoryLedger()
        self._lock = Lock()
        self._held = 0

    @property
    def left(self) -> int:
        """Tell how many tokens are free today."""
        with self._lock:
            return self._free(self._today())

    @contextmanager
    def hold(self, most: int) -> Generator[Hold]:
        """Set tokens aside for one request, or raise AllowanceSpent; then write down what it used, failed or not."""
        hold = Hold()
        with self._lock:
            day = self._today()
            free = self._free(day)
            if most > free:
                raise AllowanceSpent(
                    f"This request may use {most:,} tokens, and {free:,} of {self._limit:,} are left on {day} (UTC).",
                    fix="Wait for tomorrow, ask for less, or raise tokens_per_day.",
                )
            self._held += most
        try:
            yield hold
        finally:
            with self._lock:
                self._held -= most
                if hold.used:
                    self._ledger.spend(day, hold.used)

    def _today(self) -> date:
        return self._clock().astimezone(UTC).date()

    def _free(self, day: date) -> int:
        return max(0, self._limit - self._ledger.spent(day) - self._held)
