"""Hold an LLM to the daily token budget of a memory, and count what each request uses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date

from everyword.errors import EverywordError, LLMGarbage, LLMRefused, LLMUnavailable, StoreError
from everyword.models.llm.budget import Allowance, MemoryLedger, estimate_tokens, hold_in
from everyword.models.llm.client import HttpLLM
from everyword.models.protocol import DEFAULT_MAX_TOKENS, LLM, Reply, Schema, well_formed
from everyword.storage.protocol import FileWriter, Store
from everyword.storage.rows import IN_MEMORY
from everyword.types.times import Clock

LLM_TOKENS = "llm_tokens"  # a fact in the store: the day, and the tokens spent on it


def metered(llm: LLM, store: Store, *, tokens_per_day: int | None, clock: Clock) -> Metered:
    """Limit an LLM to a number of tokens a day; None: count nothing."""
    if tokens_per_day is None:
        return Metered(llm, None)
    if isinstance(llm, Metered):
        return llm  # passed on by a worker; do not count its tokens twice
    # No other process writes to such a store, so the count stays in memory and needs no write during a read.
    alone = store.read_only or store.location == IN_MEMORY
    ledger = MemoryLedger() if alone else FileLedger(store)
    allowance = Allowance(tokens_per_day=tokens_per_day, clock=clock, ledger=ledger)
    # Our own client may repeat a request to get valid JSON, so it counts each request itself.
    return Metered(llm.within(allowance), None) if isinstance(llm, HttpLLM) else Metered(llm, allowance)


class FileLedger:
    """Keeps the tokens spent on the current day in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unwritten: Counter[date] = Counter()

    def spent(self, day: date) -> int:
        with self._store.file_reader() as reader:
            return _on(day, reader.fact(LLM_TOKENS)) + self._unwritten[day]

    def take(self, day: date, tokens: int, *, limit: int) -> bool:
        """Reserve tokens if the limit allows, checked and written in one transaction."""
        try:
            with self._store.file_writer() as writer:
                spent = _on(day, writer.fact(LLM_TOKENS)) + self._unwritten[day]
                if spent + tokens > limit:
                    return False
                self._write(writer, day, spent + tokens)
        except StoreError as error:
            raise LLMUnavailable(f"The LLM is not asked because its tokens can't be counted now: {error}") from error
        self._unwritten.clear()
        return True

    def spend(self, day: date, tokens: int) -> None:
        """Add tokens that were used. If they can't be written now, the next write includes them."""
        self._unwritten[day] += tokens
        with suppress(StoreError):
            with self._store.file_writer() as writer:
                self._write(writer, day, _on(day, writer.fact(LLM_TOKENS)) + self._unwritten[day])
            self._unwritten.clear()

    def _write(self, writer: FileWriter, day: date, spent: int) -> None:
        noted, _, _ = (writer.fact(LLM_TOKENS) or "").partition(" ")
        if noted <= day.isoformat():  # a request from before midnight may end after one of the next day
            writer.set_fact(LLM_TOKENS, f"{day.isoformat()} {max(0, spent)}")


def _on(day: date, fact: str | None) -> int:
    noted, _, tokens = (fact or "").partition(" ")
    return int(tokens) if noted == day.isoformat() else 0


class Metered:
    """An LLM with a token budget. Any exception of the wrapped LLM becomes an LLMError."""

    def __init__(self, llm: LLM, allowance: Allowance | None) -> None:
        self._llm = llm
        self._allowance = allowance

    @property
    def name(self) -> str:
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
        """Answer if the budget covers the largest possible use; count the actual use."""
        most = estimate_tokens(system, prompt, json.dumps(schema or {})) + max_tokens
        with hold_in(self._allowance, most) as hold:
            try:
                reply = self._llm.complete(
                    system=system, prompt=prompt, schema=schema, max_tokens=max_tokens, temperature=temperature
                )
            except EverywordError as error:
                hold.spend(_used(error, most))
                raise
            except Exception as error:  # the LLM may be the caller's code
                raise self._failed(error) from error
            hold.spend(reply.tokens_in + reply.tokens_out)
            # Lone surrogates can't be stored.
            return replace(reply, text=well_formed(reply.text), model=well_formed(reply.model))

    def stream(
        self, *, system: str, prompt: str, max_tokens: int = DEFAULT_MAX_TOKENS, temperature: float = 0.0
    ) -> Iterator[str]:
        """Stream an answer if the budget covers the largest possible use; the use is estimated."""
        asked = estimate_tokens(system, prompt)
        with hold_in(self._allowance, asked + max_tokens) as hold:
            hold.spend(asked)
            try:
                for piece in self._llm.stream(
                    system=system, prompt=prompt, max_tokens=max_tokens, temperature=temperature
                ):
                    hold.spend(estimate_tokens(piece))
                    yield well_formed(piece)
            except EverywordError:
                raise
            except Exception as error:
                raise self._failed(error) from error

    def close(self) -> None:
        end = getattr(self._llm, "close", None)
        if callable(end):
            end()

    def _failed(self, error: Exception) -> LLMUnavailable:
        return LLMUnavailable(well_formed(f"The LLM {self.name} failed: {type(error).__name__}: {error}."))


def _used(error: EverywordError, most: int) -> int:
    """Return the tokens of a failed request; if it was answered and the number is unknown, the largest possible."""
    tokens = getattr(error, "tokens", None)
    if tokens is None:
        return most if isinstance(error, LLMGarbage | LLMRefused) else 0
    return tokens
