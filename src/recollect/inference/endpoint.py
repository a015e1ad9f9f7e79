"""An embedder behind HTTP: any endpoint that answers POST /embeddings as OpenAI's does."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import EmbeddingFailed, InvalidSetting
from recollect.inference.codec import to_int8, unit
from recollect.inference.llm.wire import Answer, Oversized, Patience, Unanswered, Wire, check_key
from recollect.inference.protocol import ModelCard, Passage, Question
from recollect.inference.text import well_formed
from recollect.inference.waiting import LONGEST_REST, RESTS

PREFIX = "openai:"
FORM = "openai:MODEL@URL?dimensions=N, as in openai:nomic-embed-text@http://localhost:11434/v1"
OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "RECOLLECT_EMBEDDING_KEY"
# Sent to OpenAI and to nobody else: a user who names another host did not mean to show it this key.
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"

MAX_CHARACTERS = 16_000  # about 4,000 tokens: what endpoints commonly take; passages are far shorter
MOST_BYTES_A_VECTOR = 512 * 1024  # of an answer: 16,000 numbers written out, several times the longest vector in use

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
        given = self.api_key or os.environ.get(KEY_VARIABLE)
        return check_key(given, source=KEY_VARIABLE) or check_key(os.environ.get(own), source=own)


class EndpointEmbedder:
    """Ask the endpoint, again if it is worth it, and trust no answer that was not checked."""

    def __init__(self, settings: EndpointSettings, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._settings = settings
        key = settings.key
        self._wire = Wire(
            settings.url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            key=key,
            patience=Patience(timeout=settings.timeout, attempts=settings.attempts, sleep=sleep),
            most_bytes=settings.batch * MOST_BYTES_A_VECTOR,
            extra="http",
        )
        self._dims = settings.dimensions
        self._trouble = ""  # why it gave no answer the last time; empty: it did
        self._rests_until = 0.0

    @property
    def card_name(self) -> str:
        """Give the card's name; unlike the card it needs no answer of the endpoint."""
        return self._settings.name

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
        self._wire.close()

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

    def _ask(self, texts: list[str]) -> Answer:
        """Send one request until it is answered; give the answer, whatever its status."""
        body: dict[str, Any] = {"model": self._settings.model, "input": texts, "encoding_format": "float"}
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        started = time.monotonic()
        if started < self._rests_until:
            raise self._failed(self._trouble)
        known_to_fail = bool(self._trouble)
        try:
            answer = self._wire.post("/embeddings", body, attempts=1 if known_to_fail else None)
        except Unanswered as error:
            # The first words about a trouble stay, so that it is told once.
            self._trouble = self._trouble or str(error)
            if known_to_fail:
                ended = time.monotonic()
                self._rests_until = ended + min(LONGEST_REST, RESTS * (ended - started))
            raise self._failed(self._trouble) from error
        except Oversized as error:
            raise self._failed(str(error)) from error
        self._trouble = ""
        return answer

    def _checked(self, answer: Answer, count: int) -> Floats:
        """Read the vectors out of an answer, or say what is wrong with it."""
        shown = self._wire.shown(answer.text)
        if answer.status in {401, 403}:
            raise self._failed(f"HTTP {answer.status}: the key is missing or refused; set {KEY_VARIABLE}")
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
        return EmbeddingFailed(f"The embedding endpoint {self._settings.url} failed: {trouble.rstrip('.')}.")


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
