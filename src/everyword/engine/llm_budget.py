"""Hold an LLM to the daily token budget of a memory, checked before each request is sent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, date
from threading import Lock

from msgspec.structs import replace

from everyword.errors import AllowanceSpent, EverywordError, LLMGarbage, LLMRefused, LLMUnavailable, StoreError
from everyword.models.llm.client import estimate_tokens
from everyword.models.protocol import DEFAULT_MAX_TOKENS, LLM, Reply, Schema, close_model
from everyword.storage.protocol import FileReader, FileWriter, Store
from everyword.storage.rows import IN_MEMORY
from everyword.text.terms import well_formed
from everyword.types.times import Clock

LLM_TOKENS = "llm_tokens"  # a fact in the store: the day, and the tokens spent on it


class Hold:
    """The tokens reserved for one request; the request records what it used."""

    used = 0


class Allowance:
    """A limit of tokens per UTC day, input and output together, shared by all processes of a store.

    A request reserves the most that it can use before it is sent, and fails if that is not free; the answer corrects
    the reservation. Tokens of requests that the server never answered are unknown and not counted.
    """

    def __init__(self, store: Store, *, tokens_per_day: int, clock: Clock) -> None:
        self._limit = tokens_per_day
        self._clock = clock
        # No other process writes to such a store, so the count stays in memory and needs no write during a read.
        self._store = None if store.read_only or store.location == IN_MEMORY else store
        self._unwritten: Counter[date] = Counter()
        self._lock = Lock()

    @contextmanager
    def hold(self, most: int) -> Generator[Hold]:
        """Reserve tokens for one request or raise AllowanceSpent; afterwards charge what it used, even if it failed."""
        hold, day = Hold(), self._clock().astimezone(UTC).date()
        with self._lock:
            self._take(day, most)
        try:
            yield hold
        finally:
            with self._lock:
                self._spend(day, hold.used - most)

    def _take(self, day: date, tokens: int) -> None:
        """Reserve tokens if the limit allows, checked and written in one transaction."""
        if self._store is None:
            self._unwritten[day] += self._checked(day, tokens, self._unwritten[day])
            return
        try:
            with self._store.file_writer() as writer:
                spent = _on(day, writer) + self._unwritten[day]
                _write(writer, day, spent + self._checked(day, tokens, spent))
        except StoreError as error:
            raise LLMUnavailable(f"The LLM is not asked because its tokens can't be counted now: {error}") from error
        del self._unwritten[day]

    def _checked(self, day: date, tokens: int, spent: int) -> int:
        if spent + tokens > self._limit:
            free = max(0, self._limit - spent)
            raise AllowanceSpent(
                f"This request may use {tokens:,} tokens, and {free:,} of {self._limit:,} are left on {day} (UTC).",
                fix="Wait for tomorrow, ask for less, or raise llm_tokens_per_day.",
            )
        return tokens

    def _spend(self, day: date, tokens: int) -> None:
        """Add used tokens or return reserved ones. If they can't be written now, the next write includes them."""
        self._unwritten[day] += tokens
        if self._store is not None:
            with suppress(StoreError):
                with self._store.file_writer() as writer:
                    _write(writer, day, _on(day, writer) + self._unwritten[day])
                del self._unwritten[day]


def _write(writer: FileWriter, day: date, spent: int) -> None:
    noted, _, _ = (writer.fact(LLM_TOKENS) or "").partition(" ")
    if noted <= day.isoformat():  # a request from before midnight may end after one of the next day
        writer.set_fact(LLM_TOKENS, f"{day.isoformat()} {max(0, spent)}")


def _on(day: date, reader: FileReader) -> int:
    noted, _, tokens = (reader.fact(LLM_TOKENS) or "").partition(" ")
    return int(tokens) if noted == day.isoformat() else 0


class Metered:
    """An LLM with a token budget. Any exception of the wrapped LLM becomes an LLMError."""

    def __init__(self, llm: LLM, allowance: Allowance | None) -> None:
        self._llm = llm
        self._allowance = allowance
        self.name = llm.name

    def complete(
        self,
        *,
        system: str,
        prompt: str,
        schema: Schema | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float = 0.0,
    ) -> Reply:
        """Answer if the budget covers the largest possible use; count the actual use."""
        most = estimate_tokens(system, prompt, json.dumps(schema or {})) + max_tokens
        with self._held(most) as hold:
            try:
                reply = self._llm.complete(
                    system=system, prompt=prompt, schema=schema, max_tokens=max_tokens, temperature=temperature
                )
            except (LLMGarbage, LLMRefused) as error:  # it was answered; if the cost is unknown, take the largest
                hold.used = most if error.tokens is None else error.tokens
                raise
            hold.used = reply.tokens_in + reply.tokens_out
            # Lone surrogates can't be stored.
            return replace(reply, text=well_formed(reply.text), model=well_formed(reply.model))

    def stream(
        self, *, system: str, prompt: str, max_tokens: int = DEFAULT_MAX_TOKENS, temperature: float = 0.0
    ) -> Iterator[str]:
        """Stream an answer if the budget covers the largest possible use; without a count, the use is estimated."""
        asked = estimate_tokens(system, prompt)
        with self._held(asked + max_tokens) as hold:
            received = 0
            pieces = iter(
                self._llm.stream(system=system, prompt=prompt, max_tokens=max_tokens, temperature=temperature)
            )
            while True:
                try:
                    piece = next(pieces)
                except StopIteration as end:
                    hold.used = (hold.used or asked) if end.value is None else end.value
                    return
                except (LLMGarbage, LLMRefused) as error:  # it was answered
                    hold.used = error.tokens or hold.used or asked
                    raise
                received += len(piece.encode("utf-8", "surrogatepass"))
                hold.used = asked + estimate_tokens("x" * received)
                yield well_formed(piece)

    def close(self) -> None:
        close_model(self._llm)

    @contextmanager
    def _held(self, most: int) -> Generator[Hold]:
        with nullcontext(Hold()) if self._allowance is None else self._allowance.hold(most) as hold:
            try:
                yield hold
            except EverywordError:
                raise
            except Exception as error:  # the LLM may be the caller's code
                reason = f"The LLM {self.name} failed: {type(error).__name__}: {error}."
                raise LLMUnavailable(well_formed(reason)) from error
