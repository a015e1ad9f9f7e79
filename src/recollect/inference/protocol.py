"""What Recollect asks of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What makes one model's vectors comparable with each other, and with nothing else.

    `version` changes whenever the same text would give another vector: other weights, another codec.
    """

    name: str
    version: str
    dims: int
    token_dims: int = 0  # 0: pooled vectors only, no late interaction

    @property
    def label(self) -> str:
        """Write name and version as one word."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One vector's worth of text as it is stored: the pooled vector and the packed token vectors."""

    pooled: NDArray[np.int8]  # (dims,), unit length times 127
    tokens: bytes  # packed by the embedder's codec; empty without late interaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as it is compared: full precision on this side, since it is never stored."""

    pooled: NDArray[np.float32]  # (dims,), unit length
    tokens: NDArray[np.float32]  # (tokens, token_dims), each of unit length; empty without late interaction
    unread: float = 0.0  # share of its words that the model does not know: their vectors say nothing


class Embedder(Protocol):
    """Turn texts into vectors. The same text must give the same vector, whatever is encoded beside it."""

    @property
    def card(self) -> ModelCard: ...

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts that will be stored."""
        ...

    def question(self, text: str) -> Question:
        """Encode a question."""
        ...


class Matches(NamedTuple):
    """How well passages match a question, token by token."""

    best: NDArray[np.float32]  # (passages, question tokens): the nearest token of each passage, at most 1
    lengths: NDArray[np.float32]  # (passages,): how many tokens each passage has


@runtime_checkable
class LateInteraction(Protocol):
    """An embedder with token vectors: compares stored passages with a question, token by token."""

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        """Find for each token of the question the nearest one of each packed passage."""
        ...


class Tokenizer(Protocol):
    """Count tokens as the model that will read a context counts them."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


class Reranker(Protocol):
    """Read each passage together with the question. Raise RerankFailed, never give half an answer."""

    @property
    def name(self) -> str: ...

    def scores(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Give one number a passage, in their order: higher is better, on any scale, finite."""
        ...


Schema = Mapping[str, Any]  # a JSON schema

DEFAULT_MAX_TOKENS = 1024  # of an LLM's answer; a page of text, and a bound on what one request can cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer and what it cost, all attempts together. Where a schema was asked for, `text` is JSON that meets it."""

    text: str
    tokens_in: int
    tokens_out: int
    model: str  # as the server names it


class LLM(Protocol):
    """Answer a prompt. Only an LLMError may leave these methods."""

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
        """Answer at once; with a schema (of an object), in JSON that meets it."""
        ...

    def stream(
        self, *, system: str, prompt: str, max_tokens: int = DEFAULT_MAX_TOKENS, temperature: float = 0.0
    ) -> Iterator[str]:
        """Answer piece by piece; without a schema, since half a JSON can't be checked."""
        ...
