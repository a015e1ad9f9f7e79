"""An LLM server on loopback that also misbehaves: closes in the middle, drips, floods, refuses, talks nonsense.

`with serving(step, step, ...) as server` answers each request by the next step, the last of them for ever. A step is
a function from the request (`Asked`) to what is sent (`Sent`); the functions below make the common ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as it came."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]  # names in lower case

    @property
    def prompt(self) -> str:
        """The last thing that the user said, in either API."""
        return self.body["messages"][-1]["content"]

    @property
    def system(self) -> str:
        """The system prompt, in either API."""
        if "system" in self.body:
            return self.body["system"]
        return "".join(turn["content"] for turn in self.body["messages"] if turn["role"] == "system")

    @property
    def form(self) -> str:
        """How JSON was asked for: json_schema, json_object, tool or plain."""
        if "tools" in self.body:
            return "tool"
        return self.body.get("response_format", {}).get("type", "plain")


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A response as it goes."""

    status: int = 200
    chunks: Iterable[bytes] = (b"",)  # a generator may wait between them
    headers: dict[str, str] = field(default_factory=dict)
    promised: int | None = None  # a content-length that is not true
    wait: float = 0.0  # seconds before anything is sent
    drip: float = 0.0  # seconds between chunks


Step = Callable[[Asked], Sent]


def raw(body: str | bytes, status: int = 200, **headers: str) -> Step:
    """Send these bytes."""
    content = body.encode() if isinstance(body, str) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Sent(status=status, chunks=(content,), headers=named)


def chat(text: str | None, *, finish: str = "stop", usage: Any = (10, 5), **message: Any) -> Step:
    """Answer as a chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1]} if usage else None
    return raw(json.dumps({"model": "served-model", "choices": [choice], "usage": counts}))


def message(*blocks: dict[str, Any], stop: str = "end_turn", usage: Any = (10, 5)) -> Step:
    """Answer as one of Anthropic's messages."""
    counts = {"input_tokens": usage[0], "output_tokens": usage[1]} if usage else None
    return raw(json.dumps({"model": "served-model", "content": list(blocks), "stop_reason": stop, "usage": counts}))


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def tool_block(arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": "answer", "input": arguments}


def late(seconds: float, step: Step) -> Step:
    """Keep silent for a while, then go on."""
    return lambda asked: replace(step(asked), wait=seconds)


def dripping(seconds: float, step: Step) -> Step:
    """Send byte by byte, each in time for a naive timeout."""

    def drip(asked: Asked) -> Sent:
        sent = step(asked)
        return replace(sent, chunks=[bytes([byte]) for byte in b"".join(sent.chunks)], drip=seconds)

    return drip


def closing_midway(body: str = '{"choices": [{"message": {"content": "half a') -> Step:
    """Promise more than is sent, then close the connection."""
    return lambda _: Sent(chunks=(body.encode(),), promised=len(body) + 500)


def flooding(mebibytes: int) -> Step:
    """Send far too much, without a length."""
    return lambda _: Sent(chunks=[b"x" * 2**20] * mebibytes)


def refusing(*forms: str, then: Step) -> Step:
    """Answer 400 to these ways of asking for JSON, as servers do that don't know them."""
    refusal = raw('{"error": {"message": "response_format is not supported"}}', 400)
    return lambda asked: (refusal if asked.form in forms else then)(asked)


def events(*rows: dict[str, Any] | str, after: str = "data: [DONE]\n\n") -> Step:
    """Stream server-sent events, a string as it is; `after=""` ends without the end."""
    lines = [(row if isinstance(row, str) else f"data: {json.dumps(row)}\n\n").encode() for row in rows]
    return lambda _: Sent(chunks=[*lines, after.encode()], headers={"content-type": "text/event-stream"})


def delta(text: str, finish: str | None = None) -> dict[str, Any]:
    """One event of a streamed chat completion."""
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]}


class LLMServer:
    """What was asked, and what is answered next."""

    def __init__(self, script: Sequence[Step]) -> None:
        self.script = list(script)
        self.asked: list[Asked] = []
        self.root = ""  # http://127.0.0.1:PORT
        self._lock = Lock()

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def answer(self, asked: Asked) -> Sent:
        with self._lock:
            self.asked.append(asked)
            step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return step(asked)


@contextmanager
def serving(*script: Step) -> Iterator[LLMServer]:
    """Run a server for as long as the block lasts."""
    state = LLMServer(script)

    class Talk(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            sent = state.answer(Asked(path=self.path, body=body, headers=headers))
            time.sleep(sent.wait)
            with suppress(OSError):  # the client may have lost patience
                self._send(sent)
            self.close_connection = True

        def _send(self, sent: Sent) -> None:
            self.send_response(sent.status)
            if sent.promised is not None:
                self.send_header("content-length", str(sent.promised))
            for name, value in sent.headers.items():
                self.send_header(name, value)
            self.send_header("connection", "close")
            self.end_headers()
            for chunk in sent.chunks:
                self.wfile.write(chunk)
                self.wfile.flush()
                time.sleep(sent.drip)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Talk)
    server.daemon_threads = True
    server.block_on_close = False  # a test does not wait for a client that was given up
    state.root = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
