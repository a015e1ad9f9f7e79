"""The embedder over HTTP, against a real server on loopback that misbehaves in every way it can."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import numpy as np
import pytest

from everyword.errors import EmbeddingFailed, InvalidSetting
from everyword.models.embedders import load_embedder, load_named
from everyword.models.endpoint import EndpointEmbedder
from everyword.models.http_client import RetryPolicy
from llm_server import dripping, flooding, raw
from llm_server import serving as talking

KEY = "sk-very-secret"
Answer = tuple[int, bytes, dict[str, str]]


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 2.0]


def good(request: dict[str, Any]) -> Answer:
    entries = [{"index": i, "embedding": vector(text)} for i, text in enumerate(request["input"])]
    return 200, json.dumps({"data": entries[::-1]}).encode(), {}


def fixed(body: str | bytes, status: int = 200, **headers: str) -> Callable[[dict[str, Any]], Answer]:
    content = body.encode() if isinstance(body, str) else body
    return lambda _: (status, content, {name.replace("_", "-"): value for name, value in headers.items()})


class Server:
    """Answer requests from a script, the last line of it for ever."""

    def __init__(self, *script: Callable[[dict[str, Any]], Answer]) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.url = ""

    def next(self, request: dict[str, Any], key: str | None) -> Answer:
        self.requests.append(request)
        self.keys.append(key)
        return (self.script.pop(0) if len(self.script) > 1 else self.script[0])(request)


@contextmanager
def serving(*script: Callable[[dict[str, Any]], Answer]) -> Iterator[Server]:
    state = Server(*script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, body, headers = state.next(request, self.headers["authorization"])
            length = headers.pop("content-length", str(len(body)))
            self.send_response(status)
            for name, value in {"content-length": length, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(BrokenPipeError):  # the client may have lost patience
                self.wfile.write(body)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYWORD_EMBEDDING_KEY", KEY)


@contextmanager
def asking(
    server: Server | str, *, dimensions: int | None = None, batch: int = 64, timeout: float = 30, attempts: int = 3
) -> Iterator[tuple[EndpointEmbedder, list[float]]]:
    waits: list[float] = []
    url = server if isinstance(server, str) else server.url
    spec = f"openai:m@{url}" + (f"?dimensions={dimensions}" if dimensions else "")
    retry = RetryPolicy(timeout=timeout, attempts=attempts, sleep=waits.append)
    embedder = EndpointEmbedder(spec, retry=retry, batch=batch)
    try:
        yield embedder, waits
    finally:
        embedder.close()


def test_vectors_come_in_the_order_of_the_texts_over_several_requests() -> None:
    with serving(good) as server, asking(server, batch=2) as (embedder, _):
        passages = embedder.passages(["a", "bbbb", "", "cc", "  ", "ddddddd"])
        assert [request["input"] for request in server.requests] == [["a", "bbbb"], ["cc", "ddddddd"]]
        for text, passage in zip(["a", "bbbb", "cc", "ddddddd"], [passages[i] for i in (0, 1, 3, 5)], strict=True):
            expected = np.array(vector(text)) / np.linalg.norm(vector(text))
            assert np.abs(passage.pooled / 127 - expected).max() < 0.005
            assert passage.tokens == b""
        assert not passages[2].pooled.any()
        assert not passages[4].pooled.any()
        question = embedder.question("bbbb")
        assert np.linalg.norm(question.pooled) == pytest.approx(1)
        assert question.pooled.dtype == np.float32
        assert set(server.keys) == {f"Bearer {KEY}"}


def test_the_card_asks_once_for_the_length_and_names_what_reopens_it() -> None:
    with serving(good) as server, asking(server) as (embedder, _):
        assert embedder.card == embedder.card
        assert embedder.card.dims == 3
        assert len(server.requests) == 1
        again = load_named(embedder.card.name)
        assert again.card == embedder.card
        again.close()  # type: ignore[attr-defined]


def test_blank_texts_alone_still_get_vectors_of_the_right_length() -> None:
    with serving(good) as server, asking(server) as (embedder, _):
        assert embedder.question(" ").pooled.tolist() == [0, 0, 0]


def test_long_vectors_and_asked_dimensions_are_fine() -> None:
    row = json.dumps({"data": [{"embedding": [0.1] * 3072}]})
    with serving(fixed(row)) as server, asking(server, dimensions=3072) as (embedder, _):
        assert embedder.card.dims == 3072
        assert embedder.passages(["x"])[0].pooled.shape == (3072,)
        assert server.requests[0]["dimensions"] == 3072


def test_what_passes_by_itself_is_asked_again_with_growing_waits() -> None:
    with serving(fixed("", 503), fixed("", 500), good) as server, asking(server) as (embedder, waits):
        embedder.question("x")
        assert len(server.requests) == 3
        assert 0.5 <= waits[0] <= 0.625
        assert 1.0 <= waits[1] <= 1.25


@pytest.mark.parametrize("kind", ["seconds", "date"])
def test_the_server_may_say_how_long_to_wait(kind: str) -> None:
    header = "7" if kind == "seconds" else formatdate(time.time() + 8, usegmt=True)
    busy = fixed("", 429, retry_after=header)
    with serving(busy, good) as server, asking(server) as (embedder, waits):
        embedder.question("x")
        assert 6 <= waits[0] <= 10


def test_a_wait_that_is_too_long_and_endless_trouble_are_given_up() -> None:
    with serving(fixed("", 429, retry_after="3600")) as server, asking(server) as (embedder, waits):
        with pytest.raises(EmbeddingFailed, match="3600 s"):
            embedder.question("x")
        assert not waits
    with serving(fixed("", 502)) as server, asking(server) as (embedder, waits):
        with pytest.raises(EmbeddingFailed, match=r"HTTP 502 \(3 attempts\)"):
            embedder.question("x")
        assert len(waits) == 2


def test_a_slow_server_and_none_at_all_fail_in_time() -> None:
    def slow(request: dict[str, Any]) -> Answer:
        time.sleep(0.3)
        return good(request)

    with serving(slow) as server, asking(server, timeout=0.05, attempts=2) as (embedder, waits):
        with pytest.raises(EmbeddingFailed, match="ReadTimeout"):
            embedder.question("x")
        assert len(waits) == 1
        gone = server.url
    with asking(gone, attempts=1) as (embedder, _), pytest.raises(EmbeddingFailed, match="ConnectError"):
        embedder.question("x")


def test_a_server_that_drips_or_floods_is_given_up() -> None:
    row = json.dumps({"data": [{"embedding": [1.0] * 100}]})
    for step, message in ((dripping(0.01, raw(row)), "took too long"), (flooding(2), "more than 1 MiB")):
        with talking(step) as server, asking(server.url, timeout=0.2, attempts=1, batch=2) as (embedder, _):
            started = time.monotonic()
            with pytest.raises(EmbeddingFailed, match=message):
                embedder.question("x")
            assert time.monotonic() - started < 8


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (fixed("<html>Welcome</html>"), "not a list of vectors"),
        (fixed("[]"), "not a list of vectors"),
        (fixed('{"data": 3}'), "not a list of vectors"),
        (fixed('{"data": [3, 4]}'), "not a list of vectors"),
        (fixed('{"data": [{"index": 0}, {"index": 1}]}'), "not a list of vectors"),
        (fixed('{"data": [{"embedding": [1, "x"]}, {"embedding": [1, 2]}]}'), "not a list of vectors"),
        (fixed('{"data": [{"embedding": [1, 2]}, {"embedding": [1]}]}'), "not a list of vectors"),
        (fixed('{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}'), "repeated"),
        (fixed('{"data": [{"embedding": [1, 2]}]}'), "1 vectors for 2 texts"),
        (fixed('{"data": [{"embedding": []}, {"embedding": []}]}'), "empty"),
        (fixed('{"data": [{"embedding": [NaN, 2]}, {"embedding": [1, 2]}]}'), "not finite"),
        (fixed('{"data": [{"embedding": [1e999, 2]}, {"embedding": [1, 2]}]}'), "not finite"),
        (fixed('{"data": [{"embedding": [0, 0]}, {"embedding": [1, 2]}]}'), "zero"),
        (fixed('{"data": [{"embedding": [1, 2, 3, 4]}, {"embedding": [1, 2, 3, 4]}]}'), "4 dimensions, not 3"),
        (fixed('{"data": [', content_length="500"), "RemoteProtocolError"),
        (fixed(b"\xff\xfe\x00"), "not a list of vectors"),
        (fixed('{"error": "no such model"}', 404), "no such model"),
        (fixed('{"data":' + "[" * 200_000), "not a list of vectors"),
        (fixed("", 401), "key is missing or wrong"),
        (fixed("", 302, location="http://127.0.0.1:9/"), "HTTP 302"),
        (fixed("rubbish", content_encoding="gzip"), "DecodingError"),
    ],
)
def test_no_bad_answer_becomes_a_vector(answer: Callable[[dict[str, Any]], Answer], message: str) -> None:
    with (
        serving(answer) as server,
        asking(server, dimensions=3) as (embedder, _),
        pytest.raises(EmbeddingFailed, match=message),
    ):
        embedder.passages(["one", "two"])


def test_the_key_is_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(fixed(f"bad key {KEY}", 400)) as server, asking(server) as (embedder, _):
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


def test_a_key_that_no_header_can_carry_is_refused_unshown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYWORD_EMBEDDING_KEY", f"{KEY}\nx")
    with pytest.raises(InvalidSetting) as caught:
        EndpointEmbedder("openai:m@http://localhost:1/v1")
    assert KEY not in str(caught.value)


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
