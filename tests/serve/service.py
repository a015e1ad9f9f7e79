"""A real service on loopback, in a thread of the test's own process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from recollect import Memory
from recollect.serve.http import ServiceSettings
from recollect.serve.http.server import server

JSON = {"content-type": "application/json"}


@contextmanager
def serving(memory: Memory, **options: Any) -> Iterator[str]:
    """Serve a memory; give the address."""
    options.setdefault("worker", False)
    options.setdefault("mcp", False)
    addresses: queue.Queue[str] = queue.Queue()
    running = server(memory, ServiceSettings(port=0, **options), told=addresses.put)
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
    return answer.status_code, document["type"].removeprefix("urn:recollect:error:")
