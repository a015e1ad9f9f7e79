"""A memory whose LLM is a server on loopback, what that answers, and a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from everyword import Memory
from everyword.models.http_client import RetryPolicy
from everyword.models.llm.client import load_llm
from llm_server import LLMServer, Step, chat, closing_midway, late, raw

MONDAY = datetime(2026, 4, 6, 9, 0, tzinfo=UTC)
# What a server does that is down, overloaded, cut off or not up to it.
MISBEHAVING: dict[str, Step] = {
    "down": raw("busy", 503),
    "wrong key": raw('{"error": {"message": "no"}}', 401),
    "too late": late(4.0, chat("{}")),
    "closes midway": closing_midway(),
    "garbage": chat("Sure! Here is what I found:"),
    "half a JSON": chat('{"sentences": [{"text": "Ana'),
    "another form": chat('{"nothing": true}'),
    "no JSON at all": raw("<html>gateway</html>"),
}


class MovedClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = MONDAY

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)


@contextmanager
def remembering(
    server: LLMServer, clock: Callable[[], datetime], location: Any = ":memory:", **settings: Any
) -> Iterator[Memory]:
    """Open a memory that asks a server, once and not for long."""
    patience = RetryPolicy(attempts=1, timeout=2.0, sleep=lambda _: None)
    llm = load_llm(f"openai:m@{server.url}", retry=patience)
    given = {"embedder": "none", "durability": "normal", **settings}
    try:
        with Memory.open(location, llm=llm, clock=clock, **given) as memory:
            yield memory
    finally:
        llm.close()  # type: ignore[union-attr]


def statement(quote: str, content: str, **more: Any) -> dict[str, Any]:
    """Write a statement as an LLM answers it."""
    given = {
        "quote": quote,
        "content": content,
        "kind": "event",
        "category": "misc",
        "about": None,
        "attribute": "other",
        "value": None,
        "negated": False,
        "stance": "holds",
        "when": None,
        "follows": None,
        "confidence": 0.9,
    }
    return given | more
