"""Tokens that an LLM may use in a day for reading events, counted in the memory itself: one limit for all processes."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import date
from typing import Protocol

from recollect.core.errors import LLMGarbage, LLMUnavailable, RecollectError
from recollect.inference.llm.allowance import Allowance, Hold, estimate_tokens
from recollect.inference.protocol import DEFAULT_MAX_TOKENS, Reply, Schema
from recollect.store.protocol import Store

LLM_TOKENS = "llm_tokens"  # the fact of the file: the day, and what was spent on it


class FileLedger:
    """Write down in the file what was spent. Only the last day is kept."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def spent(self, day: date) -> int:
        """Tell what was spent on a day."""
        with self._store.reader() as reader:
            return _on(day, reader.fact(LLM_TOKENS))

    def spend(self, day: date, tokens: int) -> None:
        """Add to what was spent on a day."""
        with self._store.writer() as writer:
            writer.set_fact(LLM_TOKENS, f"{day.isoformat()} {_on(day, writer.fact(LLM_TOKENS)) + tokens}")


def _on(day: date, fact: str | None) -> int:
    noted, _, tokens = (fact or "").partition(" ")
    return int(tokens) if noted == day.isoformat() else 0


class Completing(Protocol):
    """The half of an LLM that reading needs."""

    @property
    def name(self) -> str: ...

    def complete(
        self,
        *,
        system: str,
        prompt: str,
        schema: Schema | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float = 0.0,
    ) -> Reply:
        """Answer at once; with a schema, in JSON that meets it."""
        ...


class Metered:
    """An LLM within an allowance. Whatever its object raises is told as an LLMError."""

    def __init__(self, llm: Completing, allowance: Allowance | None) -> None:
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
        with nullcontext(Hold()) if self._allowance is None else self._allowance.hold(most) as hold:
            try:
                reply = self._llm.complete(
                    system=system, prompt=prompt, schema=schema, max_tokens=max_tokens, temperature=temperature
                )
            except LLMGarbage:
                hold.spend(most)  # it was answered, and nobody says for how much: the most that it can have been
                raise
            except RecollectError:
                raise
            except Exception as error:  # an LLM of the caller's own
                raise LLMUnavailable(f"The LLM {self.name} failed: {type(error).__name__}: {error}.") from error
            hold.spend(reply.tokens_in + reply.tokens_out)
            return reply
