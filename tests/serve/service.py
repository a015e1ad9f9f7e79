"""A real service on loopback, in a thread of the test's own process."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx

from everyword import Memory
from everyword.interfaces.http.server import make_server
from everyword.interfaces.http.settings import ServiceSettings

JSON = {"content-type": "application/json"}


@contextmanager
def serving(memory: Memory, **options: Any) -> Iterator[str]:
    """Serve a memory; give the address."""
    options.setdefault("worker", False)
    options.setdefault("mcp", False)
    options.setdefault("port", 0)
    addresses: queue.Queue[str] = queue.Queue()
    running = make_server(memory, ServiceSettings(**options), on_ready=addresses.put)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        yield addresses.get(timeout=30)
    finally:
        running.stop()
        thread.join(30)
        assert not thread.is_alive()


def bearer(secret: str) -> dict[str, str]:
    """Make the header that a key goes in."""
    return {"authorization": f"Bearer {secret}"}


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Read an error: its status and its type."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    document = answer.json()
    assert set(document) == {"type", "title", "status", "detail", "fix"}
    assert document["status"] == answer.status_code
    assert all(document[name] for name in ("title", "detail", "fix"))  # each says what to do
    return answer.status_code, document["type"].removeprefix("urn:everyword:error:")


def free_port() -> int:
    """Find a port that nobody listens on."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def wait_for_port(port: int) -> None:
    """Wait until somebody listens on it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with closing(socket.socket()) as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server does not answer")
