"""Events and questions through an embedder: each window of a text is a line of its own, and what fails is ours."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import EmbeddingFailed, RecollectError
from recollect.core.lines import line
from recollect.core.spans import windows
from recollect.core.values import Event
from recollect.inference.protocol import Embedder, Passage, Question
from recollect.store.protocol import UnitVector


def embed(embedder: Embedder, events: Sequence[Event]) -> list[tuple[UnitVector, ...]]:
    """Give the vectors of each event, window by window."""
    spans = [windows(event.text) for event in events]
    texts = [line(event, span) for event, event_spans in zip(events, spans, strict=True) for span in event_spans]
    encoded = iter(_encoded(embedder, texts))
    return [
        tuple(
            UnitVector(span=span, pooled=passage.pooled, tokens=passage.tokens)
            for span, passage in zip(event_spans, encoded, strict=False)  # each takes its share of what is left
        )
        for event_spans in spans
    ]


def ask(embedder: Embedder, text: str) -> Question:
    """Encode a question; whatever an embedder does wrong is an EmbeddingFailed."""
    with _failing_as_ours(embedder):
        question = embedder.question(text)
        card = embedder.card
        if not _is_vector(question.pooled, card.dims) or not np.isfinite(question.pooled).all():
            raise EmbeddingFailed(
                f"{card.label} gave a question another size than {card.dims}, or no array of finite numbers."
            )
        if card.token_dims and not isinstance(cast(object, question.tokens), np.ndarray):
            raise EmbeddingFailed(f"{card.label} gave a question no array of tokens.")
    return question


def _encoded(embedder: Embedder, texts: Sequence[str]) -> list[Passage]:
    with _failing_as_ours(embedder):
        encoded = list(embedder.passages(texts))
        card = embedder.card
        if len(encoded) != len(texts) or not all(_is_storable(one, card.dims) for one in encoded):
            raise EmbeddingFailed(
                f"{card.label} gave {len(encoded)} vectors for {len(texts)} texts, "
                f"or others than arrays of {card.dims} int8, each with its tokens as bytes."
            )
    return encoded


def _is_storable(passage: Passage, dims: int) -> bool:
    has_bytes = isinstance(cast(object, passage.tokens), bytes | bytearray | memoryview)
    return has_bytes and _is_vector(passage.pooled, dims) and passage.pooled.dtype == np.int8


def _is_vector(given: object, dims: int) -> bool:
    return isinstance(given, np.ndarray) and np.shape(cast(NDArray[np.generic], given)) == (dims,)


@contextmanager
def _failing_as_ours(embedder: Embedder) -> Generator[None]:
    # An embedder may be anybody's code: what it raises, and what it gives instead of vectors, must not cost the event.
    try:
        yield
    except RecollectError:
        raise
    except Exception as error:
        raise EmbeddingFailed(f"The embedder failed: {type(error).__name__}: {error}") from error
