"""Tokens that an LLM may use in a day, for whatever a memory asks of it: one limit for all processes that share it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import date

from recollect.core.clock import Clock
from recollect.core.errors import LLMGarbage, LLMRefused, LLMUnavailable, RecollectError, StoreError
from recollect.inference.llm.allowance import Allowance, Hold, MemoryLedger, estimate_tokens
from recollect.inference.llm.client import HttpLLM
from recollect.inference.protocol import DEFAULT_MAX_TOKENS, LLM, Reply, Schema
from recollect.inference.text import well_formed
from recollect.store.protocol import IN_MEMORY, Store, Writer

LLM_TOKENS = "llm_tokens"  # the fact of the file: the day, and what was spent on it


def metered(llm: LLM, store: Store, *, tokens_per_day: int | None, clock: Clock) -> Metered:
    """Put an LLM under the daily limit of a memory; None: without one."""
    if tokens_per_day is None:
        return Metered(llm, None)
    if isinstance(llm, Metered):
        return llm  # handed on by who works for others: the same tokens must not count twice
    # A memory that nobody else can write to counts for itself: so nothing is written while a snapshot is read.
    alone = store.read_only or store.location == IN_MEMORY
    ledger = MemoryLedger() if alone else FileLedger(store)
    allowance = Allowance(tokens_per_day=tokens_per_day, clock=clock, ledger=ledger)
    # Our own client sends a request again to have it repaired: it holds and counts each one by itself.
    return Metered(llm.within(allowance), None) if isinstance(llm, HttpLLM) else Metered(llm, allowance)


class FileLedger:
    """Write down in the file what was spent. Only the last day is kept."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unwritten: Counter[date] = Counter()

    def spent(self, day: date) -> int:
        """Tell what was spent on a day."""
        with self._store.reader() as reader:
            return _on(day, reader.fact(LLM_TOKENS)) + self._unwritten[day]

    def take(self, day: date, tokens: int, *, limit: int) -> bool:
        """Add to what was spent, in one transaction with the look at it: no two processes take the same tokens."""
        try:
            with self._store.writer() as writer:
                spent = _on(day, writer.fact(LLM_TOKENS)) + self._unwritten[day]
                if spent + tokens > limit:
                    return False
                self._write(writer, day, spent + tokens)
        except StoreError as error:
            raise LLMUnavailable(f"The LLM is not asked, since its tokens can't be counted now: {error}") from error
        self._unwritten.clear()
        return True

    def spend(self, day: date, tokens: int) -> None:
        """Add to what was spent on a day. What can't be written now is with the next: an answer is paid for by then."""
        self._unwritten[day] += tokens
        with suppress(StoreError):
            with self._store.writer() as writer:
                self._write(writer, day, _on(day, writer.fact(LLM_TOKENS)) + self._unwritten[day])
            self._unwritten.clear()

    def _write(self, writer: Writer, day: date, spent: int) -> None:
        noted, _, _ = (writer.fact(LLM_TOKENS) or "").partition(" ")
        if noted <= day.isoformat():  # a request that was begun before midnight ends after others of the next day
            writer.set_fact(LLM_TOKENS, f"{day.isoformat()} {max(0, spent)}")


def _on(day: date, fact: str | None) -> int:
    noted, _, tokens = (fact or "").partition(" ")
    return int(tokens) if noted == day.isoformat() else 0


class Metered:
    """An LLM within an allowance. Whatever its object raises is told as an LLMError."""

    def __init__(self, llm: LLM, allowance: Allowance | None) -> None:
        self._llm = llm
        self._allowance = allowance

    @property
    def name(self) -> str:
        """Name the LLM itself."""
        return self._llm.name

    def complete(
        self,
        *,
        system: str,
        prompt: str,
        schema: Schema | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float = 0.0,
    ) -> Reply:
        """Answer, if the most that one request can use is left; count what was used."""
        most = estimate_tokens(system, prompt, json.dumps(schema or {})) + max_tokens
        with self._hold(most) as hold:
            try:
                reply = self._llm.complete(
                    system=system, prompt=prompt, schema=schema, max_tokens=max_tokens, temperature=temperature
                )
            except RecollectError as error:
                hold.spend(_used(error, most))
                raise
            except Exception as error:  # an LLM of the caller's own
                raise self._failed(error) from error
            hold.spend(reply.tokens_in + reply.tokens_out)
            # What is no character can't be stored.
            return replace(reply, text=well_formed(reply.text), model=well_formed(reply.model))

    def stream(
        self, *, system: str, prompt: str, max_tokens: int = DEFAULT_MAX_TOKENS, temperature: float = 0.0
    ) -> Iterator[str]:
        """Answer piece by piece, if the most that it can use is left. Nobody counts for us here: it is estimated."""
        asked = estimate_tokens(system, prompt)
        with self._hold(asked + max_tokens) as hold:
            hold.spend(asked)
            try:
                for piece in self._llm.stream(
                    system=system, prompt=prompt, max_tokens=max_tokens, temperature=temperature
                ):
                    hold.spend(estimate_tokens(piece))
                    yield well_formed(piece)
            except RecollectError:
                raise
            except Exception as error:
                raise self._failed(error) from error

    def close(self) -> None:
        """Close what the LLM holds open."""
        end = getattr(self._llm, "close", None)
        if callable(end):
            end()

    def _hold(self, most: int) -> AbstractContextManager[Hold]:
        return nullcontext(Hold()) if self._allowance is None else self._allowance.hold(most)

    def _failed(self, error: Exception) -> LLMUnavailable:
        return LLMUnavailable(well_formed(f"The LLM {self.name} failed: {type(error).__name__}: {error}."))


def _used(error: RecollectError, most: int) -> int:
    """Tell what a failed request used: the most that it can have been where it was answered and nobody says."""
    tokens = getattr(error, "tokens", None)
    if tokens is None:
        return most if isinstance(error, LLMGarbage | LLMRefused) else 0
    return tokens
