"""An embedder behind HTTP: any server with OpenAI's POST /embeddings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qs

import numpy as np
from numpy.typing import NDArray

from everyword.errors import EmbeddingFailed, InvalidSetting
from everyword.models.http_client import Errors, HttpClient, HttpResponse, RetryPolicy
from everyword.models.protocol import ModelCard, Passage, Question
from everyword.models.token_codec import to_int8, unit
from everyword.text.terms import well_formed

PREFIX = "openai:"
FORM = "openai:MODEL@URL?dimensions=N, as in openai:nomic-embed-text@http://localhost:11434/v1"
OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "EVERYWORD_EMBEDDING_KEY"
# Sent to OpenAI only: a user who names another host did not mean to show it this key.
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"

MAX_CHARACTERS = 16_000  # about 4,000 tokens, a common limit of endpoints; passages are far shorter
MAX_BYTES_PER_VECTOR = 512 * 1024  # 16,000 numbers as JSON, several times the longest vector in use
BATCH = 64  # texts per request
# After repeated failures, pause for this many times the time spent failing: callers lose at most a tenth of their time,
# and a server that refuses at once is tried again soon.
PAUSE_FACTOR = 10
LONGEST_PAUSE = 60.0  # seconds

Floats = NDArray[np.float32]


class EndpointEmbedder:
    """Request vectors, retry temporary failures, and check every response."""

    def __init__(self, spec: str, *, retry: RetryPolicy | None = None, batch: int = BATCH) -> None:
        """Read openai:MODEL@URL?dimensions=N or URL#MODEL; `dimensions` is sent to the endpoint."""
        if spec.startswith(PREFIX):
            self._model, _, rest = spec.removeprefix(PREFIX).partition("@http")
            url = f"http{rest}" if rest else OPENAI_URL
        else:
            url, _, self._model = spec.partition("#")
        url, _, query = url.partition("?")
        url = url.rstrip("/")
        asked = "".join(parse_qs(query).get("dimensions", []))
        if not self._model or (asked and not (asked.isdecimal() and int(asked))):
            raise InvalidSetting("An endpoint needs a model, a URL, and dimensions in digits.", fix=f"Use {FORM}.")
        self._dimensions = self._dims = int(asked) if asked else None
        # The settings that decide the vectors, as they are read above.
        self.card_name = f"{PREFIX}{self._model}@{url}{f'?dimensions={asked}' if asked else ''}"
        self._batch = batch
        self._http = HttpClient(
            url,
            name=f"The embedding endpoint {url}",
            errors=Errors(EmbeddingFailed, EmbeddingFailed, EmbeddingFailed),
            form=FORM,
            key_variables=(KEY_VARIABLE, *([OPENAI_KEY_VARIABLE] if url == OPENAI_URL else [])),
            retry=retry or RetryPolicy(timeout=30, attempts=5),
            max_bytes=batch * MAX_BYTES_PER_VECTOR,
            extra="http",
        )
        self._failure = ""  # of the last request; empty if it succeeded
        self._paused_until = 0.0

    @property
    def card(self) -> ModelCard:
        """The model card; the first call asks the endpoint for the vectors' length if it is unknown."""
        dims = self._dims or self._vectors(["dimensions?"]).shape[1]
        return ModelCard(name=self.card_name, version=f"{dims}d", dims=dims)

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode texts that will be stored."""
        return [Passage(pooled=to_int8(vector), tokens=b"") for vector in self._vectors(texts)]

    def question(self, text: str) -> Question:
        """Encode a question."""
        return Question(pooled=self._vectors([text])[0], tokens=np.empty((0, 0), np.float32))

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._http.close()

    def _vectors(self, texts: Sequence[str]) -> Floats:
        """Request vectors; blank texts, which endpoints reject, get the zero vector."""
        cut = [well_formed(text[:MAX_CHARACTERS]) for text in texts]
        asked = [index for index, text in enumerate(cut) if text.strip()]
        found: list[Floats] = []
        for start in range(0, len(asked), self._batch):
            batch = [cut[index] for index in asked[start : start + self._batch]]
            answer = self._http.accepted(self._request(batch))
            found.append(self._checked(self._http.parsed(answer.text, _vectors, "a list of vectors"), len(batch)))
        vectors = np.zeros((len(texts), self._dims or self.card.dims), np.float32)
        if found:
            vectors[asked] = np.concatenate(found)
        return vectors

    def _request(self, texts: list[str]) -> HttpResponse:
        """Send one request until the server responds; return the response, whatever its status."""
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._dimensions:
            body["dimensions"] = self._dimensions
        started = time.monotonic()
        if started < self._paused_until:
            raise EmbeddingFailed(self._failure)
        try:
            answer = self._http.post("/embeddings", body, attempts=1 if self._failure else None)
        except EmbeddingFailed as error:
            if self._failure:
                ended = time.monotonic()
                self._paused_until = ended + min(LONGEST_PAUSE, PAUSE_FACTOR * (ended - started))
            # Keep the first message, so that one outage gives one notice.
            self._failure = self._failure or error.detail
            raise EmbeddingFailed(self._failure) from error
        self._failure = ""
        return answer

    def _checked(self, vectors: Floats, count: int) -> Floats:
        failed = partial(self._http.failed, EmbeddingFailed)
        if len(vectors) != count:
            raise failed(f"it gave {len(vectors)} vectors for {count} texts")
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise failed("its vectors are empty or of different lengths")
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise failed("one of its vectors is zero or not finite")
        self._dims = self._dims or vectors.shape[1]
        if vectors.shape[1] != self._dims:
            raise failed(f"its vectors have {vectors.shape[1]} dimensions, not {self._dims}")
        return unit(vectors)


def _vectors(answer: Any) -> Floats:
    """Return the vectors in the order of the texts; endpoints may reorder them."""
    entries = cast("list[dict[str, Any]]", answer["data"])
    found = {entry.get("index", place): entry["embedding"] for place, entry in enumerate(entries)}
    if found.keys() != set(range(len(entries))):
        raise ValueError("indices are missing or repeated")
    return np.array([found[place] for place in range(len(entries))], np.float32)
