"""How many tokens an LLM may use in a day. It is checked before a request is sent: a limit, not a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from datetime import UTC, date
from threading import Lock
from typing import Protocol

from recollect.core.clock import Clock, utc_now
from recollect.core.errors import AllowanceSpent, InvalidSetting

# English has about four letters a token, each of them a byte; in other scripts a letter has two or three bytes, and may
# be a token of its own. So this errs on the safe side for all of them.
BYTES_A_TOKEN = 3


def estimate_tokens(*texts: str) -> int:
    """Guess the tokens of texts where nobody counted them."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // BYTES_A_TOKEN + 1


class Ledger(Protocol):
    """Where the tokens of a day are written down; a store that several processes share makes one limit for all."""

    def spent(self, day: date) -> int:
        """Tell what was spent on a day, or is set aside."""
        ...

    def take(self, day: date, tokens: int, *, limit: int) -> bool:
        """Add to what was spent on a day, in one step with the look at it; refuse what would go beyond the limit."""
        ...

    def spend(self, day: date, tokens: int) -> None:
        """Add to what was spent on a day, whatever the limit; give back what is negative."""
        ...


class MemoryLedger:
    """Count in this process only, until it ends."""

    def __init__(self) -> None:
        self._days: Counter[date] = Counter()

    def spent(self, day: date) -> int:
        """Tell what was spent on a day."""
        return self._days[day]

    def take(self, day: date, tokens: int, *, limit: int) -> bool:
        """Add to what was spent, unless that goes beyond the limit."""
        if self._days[day] + tokens > limit:
            return False
        self._days[day] += tokens
        return True

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

    A request is sent only if the most that it can use is still free. That is written down before it is sent, so that
    nobody who shares the ledger takes it too, and corrected when it was answered. What servers count for requests that
    they never answered is not known here and not counted.
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
        """Tell how many tokens are free today."""
        with self._lock:
            return self._free(self._today())

    @contextmanager
    def hold(self, most: int) -> Generator[Hold]:
        """Set tokens aside for one request, or raise AllowanceSpent; then write down what it used, failed or not."""
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


@contextmanager
def hold_in_all(allowances: Iterable[Allowance], most: int) -> Generator[Hold]:
    """Set tokens aside in each of several allowances."""
    hold = Hold()
    with ExitStack() as stack:
        holds = [stack.enter_context(one.hold(most)) for one in allowances]
        try:
            yield hold
        finally:
            for one in holds:
                one.spend(hold.used)
