"""What Recollect asks of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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


@runtime_checkable
class LateInteraction(Protocol):
    """An embedder with token vectors: scores stored passages against a question, token by token."""

    def late_scores(self, question: Question, passages: Sequence[bytes]) -> NDArray[np.float32]:
        """Give each packed passage its MaxSim, divided by the number of question tokens: at most 1."""
        ...


class Tokenizer(Protocol):
    """Count tokens as the model that will read a context counts them."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...
