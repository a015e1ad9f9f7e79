"""An embedder behind HTTP: any endpoint that answers POST /embeddings as OpenAI's does."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import EmbeddingFailed, InvalidSetting
from recollect.core.extras import need
from recollect.inference.codec import to_int8, unit
from recollect.inference.protocol import ModelCard, Passage, Question
from recollect.inference.text import well_formed
from recollect.inference.waiting import FIRST_WAIT, LONGEST_WAIT, RETRIED, SHOWN_CHARACTERS, retry_after

PREFIX = "openai:"
FORM = "openai:MODEL@URL?dimensions=N, as in openai:nomic-embed-text@http://localhost:11434/v1"
OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "RECOLLECT_EMBEDDING_KEY"
# Sent to OpenAI and to nobody else: a user who names another host did not mean to show it this key.
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"

MAX_CHARACTERS = 16_000  # about 4,000 tokens: what endpoints commonly take; passages are far shorter

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """Where to ask, for what, and how patiently. The key is never shown."""

    url: str  # up to and without /embeddings
    model: str
    api_key: str | None = field(default=None, repr=False)  # without one: from the environment
    dimensions: int | None = None  # asked of the endpoint where given, else found out by a first request
    batch: int = 64  # texts a request
    timeout: float = 30.0  # seconds
    attempts: int = 5

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or not self.model:
            raise InvalidSetting(f"An endpoint needs a model and a URL; got {self.name!r}.", fix=f"Use {FORM}.")
        if parts.username or parts.password:
            raise InvalidSetting(
                "The URL of an endpoint must not hold a password.", fix=f"Put the key into {KEY_VARIABLE}."
            )
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
        """Write the settings that decide the vectors; parse() reads it."""
        asked = f"?dimensions={self.dimensions}" if self.dimensions else ""
        return f"{PREFIX}{self.model}@{self.url}{asked}"

    @property
    def key(self) -> str | None:
        """Give the key to send, from the settings or the environment."""
        own = OPENAI_KEY_VARIABLE if self.url == OPENAI_URL else ""
        return self.api_key or os.environ.get(KEY_VARIABLE) or os.environ.get(own) or None


class EndpointEmbedder:
    """Ask the endpoint, again if it is worth it, and trust no answer that was not checked."""

    def __init__(self, settings: EndpointSettings, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._settings = settings
        self._sleep = sleep
        self._lock = Lock()
        self._open_client: Any = None
        self._dims = settings.dimensions

    @property
    def card(self) -> ModelCard:
        """Say what these vectors are comparable with; ask once how long they are if nobody said."""
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
        with self._lock:
            client, self._open_client = self._open_client, None
        if client is not None:
            client.close()

    def _vectors(self, texts: Sequence[str]) -> Floats:
        """Ask for all texts but blank ones, which endpoints refuse: they get the zero vector."""
        cut = [well_formed(text[:MAX_CHARACTERS]) for text in texts]
        asked = [place for place, text in enumerate(cut) if text.strip()]
        found: list[Floats] = []
        for start in range(0, len(asked), self._settings.batch):
            batch = [cut[place] for place in asked[start : start + self._settings.batch]]
            found.append(self._checked(self._ask(batch), len(batch)))
        vectors = np.zeros((len(texts), self._dims or self.card.dims), np.float32)
        if found:
            vectors[asked] = np.concatenate(found)
        return vectors

    def _ask(self, texts: list[str]) -> Any:
        """Send one request until it is answered; give the response."""
        httpx: Any = need("httpx", extra="http")
        body: dict[str, Any] = {"model": self._settings.model, "input": texts, "encoding_format": "float"}
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        trouble = ""
        for attempt in range(self._settings.attempts):
            wait = FIRST_WAIT * 2**attempt
            try:
                response = self._client(httpx).post(f"{self._settings.url}/embeddings", json=body)
            except httpx.RequestError as error:
                trouble = f"{type(error).__name__}: {error}"
            else:
                if response.status_code not in RETRIED:
                    return response
                trouble = f"HTTP {response.status_code}"
                wait = retry_after(response.headers.get("retry-after")) or wait
            if wait > LONGEST_WAIT:
                raise self._failed(f"{trouble}; it asks to wait {wait:.0f} s")
            if attempt + 1 < self._settings.attempts:
                # Jitter, so that many clients that failed together do not come back together.
                self._sleep(wait * random.uniform(1.0, 1.25))
        raise self._failed(f"{trouble}, {self._settings.attempts} times")

    def _client(self, httpx: Any) -> Any:
        with self._lock:
            if self._open_client is None:
                key = self._settings.key
                headers = {"Authorization": f"Bearer {key}"} if key else {}
                self._open_client = httpx.Client(headers=headers, timeout=self._settings.timeout)
            return self._open_client

    def _checked(self, response: Any, count: int) -> Floats:
        """Read the vectors out of a response, or say what is wrong with it."""
        if response.status_code in {401, 403}:
            raise self._failed(f"HTTP {response.status_code}: the key is missing or refused; set {KEY_VARIABLE}")
        if response.status_code != 200:
            raise self._failed(f"HTTP {response.status_code}: {response.text[:SHOWN_CHARACTERS]}")
        try:
            rows = _rows(response.json())
            vectors = np.array(rows, np.float32)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            shown = response.text[:SHOWN_CHARACTERS]
            raise self._failed(f"its answer is not a list of vectors ({error}): {shown!r}") from error
        if len(rows) != count:
            raise self._failed(f"it gave {len(rows)} vectors for {count} texts")
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise self._failed("its vectors are empty or of different lengths")
        if not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
            raise self._failed("a vector of it is zero or holds a number that is none")
        return self._of_known_length(unit(vectors))

    def _of_known_length(self, vectors: Floats) -> Floats:
        found = vectors.shape[1]
        if self._dims is None:
            self._dims = found
        if found != self._dims:
            raise self._failed(f"its vectors have {found} dimensions, not {self._dims}")
        return vectors

    def _failed(self, trouble: str) -> EmbeddingFailed:
        """Say what failed; an endpoint may have quoted the key in its own words."""
        key = self._settings.key
        shown = trouble.replace(key, "[key]") if key else trouble
        return EmbeddingFailed(f"The embedding endpoint {self._settings.url} failed: {shown}.")


def _rows(answer: Any) -> list[list[float]]:
    """Put the vectors in the order of the texts; endpoints may answer out of order."""
    if not isinstance(answer, dict):
        raise TypeError("not an object")
    entries = cast("list[dict[str, Any]]", answer["data"])
    places = [entry.get("index", place) for place, entry in enumerate(entries)]
    if sorted(places) != list(range(len(entries))):
        raise ValueError("places missing or doubled")
    ordered = sorted(zip(places, entries, strict=True), key=lambda pair: pair[0])
    return [entry["embedding"] for _, entry in ordered]
