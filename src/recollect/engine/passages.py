"""Events and questions through an embedder: each window of a text is a line of its own, and what fails is ours."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

import numpy as np

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
    if question.pooled.shape != (embedder.card.dims,) or not np.isfinite(question.pooled).all():
        raise EmbeddingFailed(
            f"{embedder.card.label} gave a question another size than {embedder.card.dims}, or no numbers."
        )
    return question


def _encoded(embedder: Embedder, texts: Sequence[str]) -> list[Passage]:
    with _failing_as_ours(embedder):
        encoded = list(embedder.passages(texts))
    dims = embedder.card.dims
    if len(encoded) != len(texts) or any(one.pooled.shape != (dims,) or one.pooled.dtype != np.int8 for one in encoded):
        raise EmbeddingFailed(
            f"{embedder.card.label} gave {len(encoded)} vectors for {len(texts)} texts, or of another size than {dims}."
        )
    return encoded


@contextmanager
def _failing_as_ours(embedder: Embedder) -> Generator[None]:
    # An embedder may be anybody's code: what it raises must not cost the event.
    try:
        yield
    except RecollectError:
        raise
    except Exception as error:
        raise EmbeddingFailed(f"The embedder failed: {type(error).__name__}: {error}") from error
