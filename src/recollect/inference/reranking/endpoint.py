"""A reranker behind HTTP: the /rerank of Cohere, Jina, vLLM, LiteLLM and Text Embeddings Inference."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import numpy as np
from numpy.typing import NDArray

from recollect.core.errors import RerankFailed
from recollect.inference.llm.wire import Answer, Oversized, Patience, Unanswered, Wire, check_key, check_url
from recollect.inference.text import well_formed

FORM = "URL#MODEL, as in http://localhost:8000/v1/rerank#BAAI/bge-reranker-v2-m3"
KEY_VARIABLE = "RECOLLECT_RERANK_KEY"
MAX_CHARACTERS = 8_000  # of a passage, about 2,000 tokens: rerankers read 512 to a few thousand
BATCH = 32  # passages a request: what Text Embeddings Inference takes unless told otherwise
WRONG_FIELDS = frozenset({400, 422})  # how servers say that a field is missing
TIMEOUT = 30.0  # seconds; somebody waits for the answer
ATTEMPTS = 3
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    """Where to ask, and for which model; a server of one model needs no name. The key is never shown."""

    url: str  # whole, with /rerank
    model: str = ""
    api_key: str | None = field(default=None, repr=False)  # without one: from the environment

    def __post_init__(self) -> None:
        check_url(self.url, form=FORM)

    @classmethod
    def parse(cls, spec: str) -> RerankSettings:
        """Read URL#MODEL; URL?model=MODEL is understood, too."""
        url, _, model = spec.partition("#")
        url, _, query = url.partition("?")
        return cls(url=url.rstrip("/"), model=model or parse_qs(query).get("model", [""])[0])

    @property
    def name(self) -> str:
        """Write the settings without the key; parse() reads it."""
        return f"{self.url}#{self.model}" if self.model else self.url

    @property
    def key(self) -> str | None:
        """Give the key to send, from the settings or the environment."""
        given = check_key(self.api_key, source="api_key")
        return given or check_key(os.environ.get(KEY_VARIABLE), source=KEY_VARIABLE)


class EndpointReranker:
    """Ask the endpoint, in the one of two forms that it takes, and trust no answer that was not checked."""

    def __init__(self, settings: RerankSettings, *, patience: Patience | None = None) -> None:
        self._settings = settings
        key = settings.key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        patience = patience or Patience(timeout=TIMEOUT, attempts=ATTEMPTS)
        self._wire = Wire(settings.url, headers=headers, key=key, patience=patience)
        # Text Embeddings Inference serves one model and wants "texts"; all others want a model and "documents".
        self._wants_texts = not settings.model

    @property
    def name(self) -> str:
        """Name the endpoint as load_reranker() reads it."""
        return self._settings.name

    def scores(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Ask for all passages but blank ones, which endpoints refuse: they come last."""
        cut = [well_formed(passage[:MAX_CHARACTERS]) for passage in passages]
        asked = [place for place, passage in enumerate(cut) if passage.strip()]
        found: list[float] = []
        for start in range(0, len(asked), BATCH):
            batch = [cut[place] for place in asked[start : start + BATCH]]
            found += self._asked(well_formed(question[:MAX_CHARACTERS]), batch)
        scores = np.full(len(passages), min(found, default=0.0) - 1.0, np.float32)
        scores[asked] = found
        return scores

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._wire.close()

    def _asked(self, question: str, passages: list[str]) -> list[float]:
        answer = self._post(question, passages, texts=self._wants_texts)
        if answer.status in WRONG_FIELDS:
            other = self._post(question, passages, texts=not self._wants_texts)
            if other.status == 200:
                answer, self._wants_texts = other, not self._wants_texts
        if answer.status != 200:
            hint = f"; set the key in {KEY_VARIABLE}" if answer.status in {401, 403} else ""
            raise self._failed(f"HTTP {answer.status} {self._wire.shown(answer.text)}".strip() + hint)
        try:
            return _in_order(json.loads(answer.text), len(passages))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            shown = self._wire.shown(answer.text)
            raise self._failed(f"its answer is not a score for each passage ({error}): {shown!r}") from error

    def _post(self, question: str, passages: list[str], *, texts: bool) -> Answer:
        body: dict[str, Any] = {"query": question}
        if texts:
            body |= {"texts": passages, "truncate": True}
        else:
            body |= {"documents": passages, "top_n": len(passages), "return_documents": False}
        if self._settings.model:
            body["model"] = self._settings.model
        try:
            return self._wire.post("", body)
        except (Unanswered, Oversized) as error:
            raise self._failed(str(error)) from error

    def _failed(self, trouble: str) -> RerankFailed:
        host = urlsplit(self._settings.url).netloc
        return RerankFailed(f"The reranking endpoint at {host} failed: {trouble.rstrip('.')}.")


def _in_order(answer: Any, number: int) -> list[float]:
    """Put the scores in the order of the passages: servers answer best first."""
    rows: Any = cast(Any, answer if isinstance(answer, list) else answer.get("results", answer.get("data")))
    found: dict[int, float] = {}
    for row in cast("list[dict[str, Any]]", rows):
        place: Any = row["index"]
        score: Any = row.get("relevance_score", row.get("score"))
        # Written so that a NaN fails, too.
        if type(place) is not int or place in found or type(score) not in {int, float} or not abs(score) <= LARGEST:
            raise ValueError("a place is doubled, or a score is no number")
        found[place] = float(score)
    if set(found) != set(range(number)):
        raise ValueError(f"{len(found)} scores for {number} passages")
    return [found[place] for place in range(number)]
