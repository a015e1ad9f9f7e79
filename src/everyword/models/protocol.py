"""The protocols of embedders, rerankers, tokenizers and LLMs, and the values that they exchange."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class ModelCard(Struct, frozen=True, kw_only=True):
    """The identity of a model: vectors are comparable only within one name and version.

    `version` changes whenever the same text would give another vector: other weights, another codec.
    """

    name: str
    version: str
    dims: int
    token_dims: int = 0  # 0: pooled vectors only, no late interaction

    @property
    def label(self) -> str:
        """Name and version as one word."""
        return f"{self.name}@{self.version}"


class Passage(Struct, frozen=True, kw_only=True):
    """The stored vectors of a text: the pooled vector and the packed token vectors."""

    pooled: NDArray[np.int8]  # (dims,), unit length times 127
    tokens: bytes  # packed by the embedder's codec; empty without late interaction


class Question(Struct, frozen=True, kw_only=True):
    """The vectors of a question, in full precision since they are never stored."""

    pooled: NDArray[np.float32]  # (dims,), unit length
    tokens: NDArray[np.float32]  # (tokens, token_dims), each of unit length; empty without late interaction
    unread: float = 0.0  # share of its words that the model does not know; their vectors mean nothing


class Embedder(Protocol):
    """Turn texts into vectors. A text's vector must not depend on the other texts of a call."""

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

    best: NDArray[np.float32]  # (passages, question tokens): similarity of the best token of each passage, at most 1
    lengths: NDArray[np.float32]  # (passages,): number of tokens


@runtime_checkable
class LateInteraction(Protocol):
    """An embedder with token vectors, which compares questions with stored passages token by token."""

    def late_matches(self, question: Question, passages: Sequence[bytes]) -> Matches:
        """Find the best match of each question token in each packed passage."""
        ...


class Tokenizer(Protocol):
    """Count tokens as the model that will read a context does."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


class Reranker(Protocol):
    """Score passages by reading each with the question. Raise RerankFailed rather than return a part."""

    @property
    def name(self) -> str: ...

    def scores(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return one finite number per passage, in order; higher is better, on any scale."""
        ...


Schema = Mapping[str, Any]  # a JSON schema

DEFAULT_MAX_TOKENS = 1024  # of an LLM's answer: a page of text, which bounds the cost of a request


class Reply(Struct, frozen=True, kw_only=True):
    """An answer and the tokens that it took."""

    text: str
    tokens_in: int
    tokens_out: int
    model: str  # as the server names it


class LLM(Protocol):
    """Answer prompts. These methods raise LLMError and nothing else."""

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
        """Return the whole answer; with a schema (of an object), in JSON, which the caller checks."""
        ...

    def stream(
        self, *, system: str, prompt: str, max_tokens: int = DEFAULT_MAX_TOKENS, temperature: float = 0.0
    ) -> Iterator[str]:
        """Yield the answer piece by piece; without a schema, since partial JSON can't be checked."""
        ...


RerankerSpec = str | Reranker | None
LLMSpec = str | LLM | None


def close_model(model: object) -> None:
    """Close a model that can be closed."""
    close = getattr(model, "close", None)
    if callable(close):
        close()
