"""The embedder over HTTP, against a real server on loopback that misbehaves in every way it can."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from everyword.errors import EmbeddingFailed, InvalidSetting
from everyword.models.embedders import load_embedder, load_named
from everyword.models.endpoint import EndpointEmbedder
from everyword.models.http_client import RetryPolicy
from llm_server import Asked, LLMServer, Sent, Step, closing_midway, flooding, raw, serving

KEY = "sk-very-secret"


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 2.0]


def good(asked: Asked) -> Sent:
    entries = [{"index": i, "embedding": vector(text)} for i, text in enumerate(asked.body["input"])]
    return raw(json.dumps({"data": entries[::-1]}))(asked)


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYWORD_EMBEDDING_KEY", KEY)


@contextmanager
def asking(server: LLMServer, *, dimensions: int | None = None, batch: int = 64) -> Iterator[EndpointEmbedder]:
    spec = f"openai:m@{server.url}" + (f"?dimensions={dimensions}" if dimensions else "")
    retry = RetryPolicy(timeout=30, attempts=3, sleep=lambda _: None)
    embedder = EndpointEmbedder(spec, retry=retry, batch=batch)
    try:
        yield embedder
    finally:
        embedder.close()


def test_vectors_come_in_the_order_of_the_texts_over_several_requests() -> None:
    with serving(good) as server, asking(server, batch=2) as embedder:
        passages = embedder.passages(["a", "bbbb", "", "cc", "  ", "ddddddd"])
        assert [asked.body["input"] for asked in server.asked] == [["a", "bbbb"], ["cc", "ddddddd"]]
        for text, passage in zip(["a", "bbbb", "cc", "ddddddd"], [passages[i] for i in (0, 1, 3, 5)], strict=True):
            expected = np.array(vector(text)) / np.linalg.norm(vector(text))
            assert np.abs(passage.pooled / 127 - expected).max() < 0.005
            assert passage.tokens == b""
        assert not passages[2].pooled.any()
        assert not passages[4].pooled.any()
        question = embedder.question("bbbb")
        assert np.linalg.norm(question.pooled) == pytest.approx(1)
        assert question.pooled.dtype == np.float32
        assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}


def test_the_card_asks_once_for_the_length_and_names_what_reopens_it() -> None:
    with serving(good) as server, asking(server) as embedder:
        assert embedder.card == embedder.card
        assert embedder.card.dims == 3
        assert len(server.asked) == 1
        again = load_named(embedder.card.name)
        assert again.card == embedder.card
        again.close()  # type: ignore[attr-defined]


def test_blank_texts_alone_still_get_vectors_of_the_right_length() -> None:
    with serving(good) as server, asking(server) as embedder:
        assert embedder.question(" ").pooled.tolist() == [0, 0, 0]


def test_long_vectors_and_asked_dimensions_are_fine() -> None:
    row = json.dumps({"data": [{"embedding": [0.1] * 3072}]})
    with serving(raw(row)) as server, asking(server, dimensions=3072) as embedder:
        assert embedder.card.dims == 3072
        assert embedder.passages(["x"])[0].pooled.shape == (3072,)
        assert server.asked[0].body["dimensions"] == 3072


def test_a_server_that_floods_is_given_up() -> None:
    with (
        serving(flooding(2)) as server,
        asking(server, batch=2) as embedder,
        pytest.raises(EmbeddingFailed, match="more than 1 MiB"),
    ):
        embedder.question("x")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (raw("<html>Welcome</html>"), "not a list of vectors"),
        (raw("[]"), "not a list of vectors"),
        (raw('{"data": 3}'), "not a list of vectors"),
        (raw('{"data": [3, 4]}'), "not a list of vectors"),
        (raw('{"data": [{"index": 0}, {"index": 1}]}'), "not a list of vectors"),
        (raw('{"data": [{"embedding": [1, "x"]}, {"embedding": [1, 2]}]}'), "not a list of vectors"),
        (raw('{"data": [{"embedding": [1, 2]}, {"embedding": [1]}]}'), "not a list of vectors"),
        (raw('{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}'), "repeated"),
        (raw('{"data": [{"embedding": [1, 2]}]}'), "1 vectors for 2 texts"),
        (raw('{"data": [{"embedding": []}, {"embedding": []}]}'), "empty"),
        (raw('{"data": [{"embedding": [NaN, 2]}, {"embedding": [1, 2]}]}'), "not finite"),
        (raw('{"data": [{"embedding": [1e999, 2]}, {"embedding": [1, 2]}]}'), "not finite"),
        (raw('{"data": [{"embedding": [0, 0]}, {"embedding": [1, 2]}]}'), "zero"),
        (raw('{"data": [{"embedding": [1, 2, 3, 4]}, {"embedding": [1, 2, 3, 4]}]}'), "4 dimensions, not 3"),
        (closing_midway('{"data": ['), "RemoteProtocolError"),
        (raw(b"\xff\xfe\x00"), "not a list of vectors"),
        (raw('{"error": "no such model"}', 404), "no such model"),
        (raw('{"data":' + "[" * 200_000), "not a list of vectors"),
        (raw("", 401), "key is missing or wrong"),
        (raw("", 302, location="http://127.0.0.1:9/"), "HTTP 302"),
        (raw("rubbish", content_encoding="gzip"), "DecodingError"),
    ],
)
def test_no_bad_answer_becomes_a_vector(answer: Step, message: str) -> None:
    with (
        serving(answer) as server,
        asking(server, dimensions=3) as embedder,
        pytest.raises(EmbeddingFailed, match=message),
    ):
        embedder.passages(["one", "two"])


def test_the_key_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(raw(f"bad key {KEY}", 400)) as server, asking(server) as embedder:
        with pytest.raises(EmbeddingFailed, match=r"bad key \[key\]") as caught:
            embedder.question("x")
        assert KEY not in repr(vars(embedder)) + str(caught.value) + caplog.text


def test_keys_come_from_the_environment_and_openai_s_goes_to_openai_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(spec: str) -> str | None:
        return EndpointEmbedder(spec)._http.key

    monkeypatch.delenv("EVERYWORD_EMBEDDING_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "openai's")
    assert key("openai:text-embedding-3-small") == "openai's"
    assert key("openai:m@http://localhost:1/v1") is None
    monkeypatch.setenv("EVERYWORD_EMBEDDING_KEY", "ours")
    assert key("openai:m@http://localhost:1/v1") == "ours"


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("openai:m:latest@http://localhost:11434/v1/", "openai:m:latest@http://localhost:11434/v1"),
        ("openai:a/b@c@https://h/v1?dimensions=256", "openai:a/b@c@https://h/v1?dimensions=256"),
        ("https://h/v1#some-model", "openai:some-model@https://h/v1"),
        ("openai:text-embedding-3-small", "openai:text-embedding-3-small@https://api.openai.com/v1"),
    ],
)
def test_specs_are_read_and_written(spec: str, name: str) -> None:
    assert EndpointEmbedder(spec).card_name == EndpointEmbedder(name).card_name == name


@pytest.mark.parametrize(
    "spec",
    ["openai:@http://h", "http://h/v1", "https://#m", "http://me:secret@h/v1#m", "openai:m@http://h?dimensions=x"],
)
def test_bad_specs_are_refused(spec: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        load_embedder(spec)
    assert "secret" not in str(caught.value)
