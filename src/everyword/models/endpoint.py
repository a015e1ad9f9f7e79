"""An embedder behind HTTP: any server with OpenAI's POST /embeddings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs

import numpy as np
from numpy.typing import NDArray

from everyword.errors import EmbeddingFailed, InvalidSetting
from everyword.models.http_client import (
    LONGEST_PAUSE,
    PAUSE_FACTOR,
    HttpClient,
    HttpResponse,
    NoResponse,
    ResponseTooLarge,
    RetryPolicy,
    check_url,
    find_key,
)
from everyword.models.protocol import ModelCard, Passage, Question, well_formed
from everyword.models.token_codec import to_int8, unit

PREFIX = "openai:"
FORM = "openai:MODEL@URL?dimensions=N, as in openai:nomic-embed-text@http://localhost:11434/v1"
OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "EVERYWORD_EMBEDDING_KEY"
# Sent to OpenAI only: a user who names another host did not mean to show it this key.
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"

MAX_CHARACTERS = 16_000  # about 4,000 tokens, a common limit of endpoints; passages are far shorter
MAX_BYTES_PER_VECTOR = 512 * 1024  # 16,000 numbers as JSON, several times the longest vector in use

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """URL, model and limits of an endpoint. The key is never shown."""

    url: str  # up to and without /embeddings
    model: str
    api_key: str | None = field(default=None, repr=False)  # default: from the environment
    dimensions: int | None = None  # sent to the endpoint if given, else learned from the first response
    batch: int = 64  # texts per request
    timeout: float = 30.0  # seconds
    attempts: int = 5

    def __post_init__(self) -> None:
        check_url(self.url, form=FORM)
        if not self.model:
            raise InvalidSetting(f"An endpoint needs a model and a URL; got {self.name!r}.", fix=f"Use {FORM}.")
        if min(self.batch, self.attempts, self.timeout, self.dimensions or 1) <= 0:
            raise InvalidSetting("batch, attempts, timeout and dimensions of an endpoint must be positive.")

    @classmethod
    def parse(cls, spec: str) -> EndpointSettings:
        """Read openai:MODEL@URL?dimensions=N or URL#MODEL."""
        if spec.startswith(PREFIX):
            model, _, url = spec.removeprefix(PREFIX).partition("@http")
            url = f"http{url}" if url else OPENAI_URL
        else:
            url, _, model = spec.partition("#")
        url, _, query = url.partition("?")
        asked = parse_qs(query).get("dimensions", [])
        if not all(number.isdecimal() for number in asked):
            raise InvalidSetting(f"dimensions={asked[0]!r} is not a number.", fix=f"Use {FORM}.")
        return cls(url=url.rstrip("/"), model=model, dimensions=int(asked[0]) if asked else None)

    @property
    def name(self) -> str:
        """The settings that decide the vectors, in the form that parse() reads."""
        asked = f"?dimensions={self.dimensions}" if self.dimensions else ""
        return f"{PREFIX}{self.model}@{self.url}{asked}"

    @property
    def key(self) -> str | None:
        """The key to send, from the settings or the environment."""
        return find_key(self.api_key, KEY_VARIABLE, OPENAI_KEY_VARIABLE if self.url == OPENAI_URL else "")


class EndpointEmbedder:
    """Request vectors, retry temporary failures, and check every response."""

    def __init__(self, settings: EndpointSettings, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._settings = settings
        key = settings.key
        self._http = HttpClient(
            settings.url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            key=key,
            retry=RetryPolicy(timeout=settings.timeout, attempts=settings.attempts, sleep=sleep),
            max_bytes=settings.batch * MAX_BYTES_PER_VECTOR,
            extra="http",
        )
        self._dims = settings.dimensions
        self._failure = ""  # of the last request; empty if it succeeded
        self._paused_until = 0.0

    @property
    def card_name(self) -> str:
        """The card's name, without asking the endpoint."""
        return self._settings.name

    @property
    def card(self) -> ModelCard:
        """The model card; the first call asks the endpoint for the vectors' length if it is unknown."""
        dims = self._dims or self._vectors(["dimensions?"]).shape[1]
        return ModelCard(name=self._settings.name, version=f"{dims}d", dims=dims)

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
        for start in range(0, len(asked), self._settings.batch):
            batch = [cut[index] for index in asked[start : start + self._settings.batch]]
            found.append(self._parse(self._request(batch), len(batch)))
        vectors = np.zeros((len(texts), self._dims or self.card.dims), np.float32)
        if found:
            vectors[asked] = np.concatenate(found)
        return vectors

    def _request(self, texts: list[str]) -> HttpResponse:
        """Send one request until the server responds; return the response, whatever its status."""
        body: dict[str, Any] = {"model": self._settings.model, "input": texts, "encoding_format": "float"}
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        started = time.monotonic()
        if started < self._paused_until:
            raise self._failed(self._failure)
        known_to_fail = bool(self._failure)
        try:
            answer = self._http.post("/embeddings", body, attempts=1 if known_to_fail else None)
        except NoResponse as error:
            # Keep the first message, so that one outage gives one notice.
            self._failure = self._failure or str(error)
            if known_to_fail:
                ended = time.monotonic()
                self._paused_until = ended + min(LONGEST_PAUSE, PAUSE_FACTOR * (ended - started))
            raise self._failed(self._failure) from error
        except ResponseTooLarge as error:
            raise self._failed(str(error)) from error
        self._failure = ""
        return answer

    def _parse(self, answer: HttpResponse, count: int) -> Floats:
        """Read and check the vectors of a response."""
        shown = self._http.shown(answer.text)
        if answer.status in {401, 403}:
            raise self._failed(f"HTTP {answer.status}: the key is missing or wrong; set {KEY_VARIABLE}")
        if answer.status != 200:
            raise self._failed(f"HTTP {answer.status}: {shown}")
        try:
            rows = _rows(json.loads(answer.text))
            vectors = np.array(rows, np.float32)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise self._failed(f"its answer is not a list of vectors ({error}): {shown!r}") from error
        if len(rows) != count:
            raise self._failed(f"it gave {len(rows)} vectors for {count} texts")
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise self._failed("its vectors are empty or of different lengths")
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise self._failed("one of its vectors is zero or not finite")
        return self._check_dims(unit(vectors))

    def _check_dims(self, vectors: Floats) -> Floats:
        found = vectors.shape[1]
        if self._dims is None:
            self._dims = found
        if found != self._dims:
            raise self._failed(f"its vectors have {found} dimensions, not {self._dims}")
        return vectors

    def _failed(self, reason: str) -> EmbeddingFailed:
        return EmbeddingFailed(f"The embedding endpoint {self._settings.url} failed: {reason.rstrip('.')}.")


def _rows(answer: Any) -> list[list[float]]:
    """Return the vectors in the order of the texts; endpoints may reorder them."""
    if not isinstance(answer, dict):
        raise TypeError("not an object")
    entries = cast("list[dict[str, Any]]", answer["data"])
    indices = [entry.get("index", index) for index, entry in enumerate(entries)]
    if sorted(indices) != list(range(len(entries))):
        raise ValueError("indices are missing or repeated")
    ordered = sorted(zip(indices, entries, strict=True), key=lambda pair: pair[0])
    return [entry["embedding"] for _, entry in ordered]
