"""The one embedder that all peers share: Everyword's, behind a loopback server that answers as OpenAI's does."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everyword.models.protocol import Embedder

# The two names by which a peer chooses; any other name is a passage, since most peers know one name only.
PASSAGE = "passage"
QUESTION = "question"

MAX_BODY = 64 * 2**20  # bytes; thousands of texts, and still no way to fill the memory by mistake
POLL = 0.05  # seconds until a server that is told to stop has stopped


class EmbeddingServer:
    """Serve `POST /v1/embeddings` on a free loopback port, until closed."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # The model takes all cores for one request already; two at once would only slow each other down.
        self._lock = Lock()
        self._server = _Server(("127.0.0.1", 0), _Request)
        self._server.vectors = self.vectors
        self._server.dims = embedder.card.dims
        self._thread = Thread(target=self._server.serve_forever, args=(POLL,), name="embeddings", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Give the address up to and without /embeddings."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def vectors(self, model: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give one unit vector a text: of questions for the model "question", of passages for any other name."""
        if not texts:
            return np.zeros((0, self._embedder.card.dims), np.float32)
        with self._lock:
            if model == QUESTION:
                rows = [self._embedder.question(text).pooled for text in texts]
            else:
                rows = [passage.pooled for passage in self._embedder.passages(texts)]
        floats = np.stack(rows).astype(np.float32)
        return floats / np.maximum(np.linalg.norm(floats, axis=1, keepdims=True), np.float32(1e-9))

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A peer keeps its connection open for as long as it lives: closing must not wait for that.
    block_on_close = False
    vectors: Any
    dims: int


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open: one per worker, not one per text
    server: _Server
    # Without it, the small packets of head and body wait for each other's acknowledgement, 40 ms a request.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        """List the models, which some clients ask for before anything else."""
        if self.path.rstrip("/") != "/v1/models":
            self._reply(404, _problem(f"no such path: {self.path}"))
            return
        models = [{"id": name, "object": "model", "owned_by": "everyword"} for name in (PASSAGE, QUESTION)]
        self._reply(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        """Answer one batch of texts."""
        length = int(self.headers.get("content-length") or 0)
        if length > MAX_BODY:
            self.close_connection = True
            self._reply(413, _problem(f"a request of {length} bytes is too long"))
            return
        body = self.rfile.read(length)
        if self.path.rstrip("/") != "/v1/embeddings":
            self._reply(404, _problem(f"no such path: {self.path}"))
            return
        try:
            model, texts, as_base64 = _asked(body)
        except ValueError as error:
            self._reply(400, _problem(str(error)))
            return
        try:
            vectors = self.server.vectors(model, texts)
        except Exception as error:  # whatever the embedder raises, the peer gets it as an answer
            self._reply(500, _problem(f"{type(error).__name__}: {error}"))
            return
        rows = [
            {"object": "embedding", "index": place, "embedding": _written(vector, as_base64)}
            for place, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        self._reply(200, {"object": "list", "model": model, "data": rows, "usage": usage})

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the progress bar is on the same terminal."""

    def _reply(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        with contextlib.suppress(ConnectionError):  # a killed worker does not read its answer
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()


def _asked(body: bytes) -> tuple[str, list[str], bool]:
    try:
        asked = json.loads(body)
    except ValueError:
        raise ValueError("the body is not JSON") from None
    if not isinstance(asked, dict):
        raise ValueError("the body is not a JSON object")
    texts = asked.get("input")
    if isinstance(texts, str):
        texts = [texts]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("`input` must be a text or a list of texts")
    # OpenAI's own client asks for base64 unless told otherwise.
    return str(asked.get("model", PASSAGE)), texts, asked.get("encoding_format") == "base64"


def _written(vector: NDArray[np.float32], as_base64: bool) -> str | list[float]:
    if as_base64:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return vector.tolist()


def _problem(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}
