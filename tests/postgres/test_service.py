"""The service on a server: it answers as it does on a file, and page, stream and worker are there too."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.service import JSON, serving

from everyword import Memory
from everyword.interfaces.http.routes import operation_routes
from everyword.interfaces.operations.parameters import TEXT

TOLD = [
    {"text": "I live in Lisbon and I work at Acme.", "speaker": "Ana", "session": "s1", "at": "2026-01-05T09:00Z"},
    {"text": "We decided to use PostgreSQL for the archive.", "speaker": "Ana", "session": "s1", "wing": "work"},
    {"text": "I need to finish the tax report by Friday.", "speaker": "Bo", "session": "s2", "at": "2026-01-07T09:00Z"},
    {"text": "I moved to Porto last month.", "speaker": "Ana", "session": "s2", "at": "2026-03-07T09:00Z"},
]
NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)
# What a question needs that has to be asked something.
ASKED: dict[str, Any] = {"query": "Where does Ana live?", "entity": "Ana", "name": "Ana", "about": "Ana"}
# They tell where and how large the store is, or how long something took.
OF_THE_STORE = {"stats", "verify", "doctor", "backup", "jobs", "log", "edits", "settle"}


@pytest.fixture
def services(location: str, tmp_path: Path) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Serve the same from a file and from a server."""
    given: dict[str, Any] = {"embedder": "hashing", "tokenizer": "words", "clock": lambda: NOW, "fence_key": "one"}
    with (
        Memory.open(tmp_path / "memory.db", **given) as file,
        Memory.open(location, **given) as server,
        serving(file) as one,
        serving(server, worker=True) as other,
        httpx.Client(base_url=one, timeout=30) as of_file,
        httpx.Client(base_url=other, timeout=30) as of_server,
    ):
        for web in (of_file, of_server):
            said = [told | {"at": told.get("at", "2026-01-06T09:00Z"), "key": f"k{n}"} for n, told in enumerate(TOLD)]
            answer = web.post("/v1/add_many", content=json.dumps({"events": said}), headers=JSON)
            assert answer.status_code == 200, answer.text
            # Views first: recalls are counted in the file when something is derived, and a wake-up weighs the counts.
            assert web.post("/v1/settle", content="{}", headers=JSON).status_code == 200
        yield of_file, of_server


def test_every_reading_route_answers_alike(services: tuple[httpx.Client, httpx.Client]) -> None:
    compared: list[str] = []
    event = services[0].get("/v1/show", params={"key": "k0"}).json()["id"]
    for one in operation_routes():
        name = one.operation.name
        needed = [parameter.name for parameter in one.parameters if parameter.required]
        if not one.operation.read_only or name in OF_THE_STORE or any(part not in ASKED for part in needed):
            continue
        given = {"show": {"key": "k0"}, "history": {"events": event}}.get(name, {part: ASKED[part] for part in needed})
        answers = [web.get(one.path, params=given) for web in services]
        assert [answer.status_code for answer in answers] == [200, 200], (name, answers[1].text)
        seen = [_rounded(answer.json()) for answer in answers]
        assert seen[0] == seen[1], name
        compared.append(name)
    assert {"recall", "context", "ask", "statements", "facts", "timeline", "events", "sessions", "intents"} <= set(
        compared
    )


def _rounded(value: Any) -> Any:
    """Give scores as they are compared: sums in another order differ in the last digits."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 4) if isinstance(value, float) else value


def test_the_page_the_stream_and_the_health_are_there(services: tuple[httpx.Client, httpx.Client]) -> None:
    _, web = services
    assert "<title>Everyword" in web.get("/").text
    assert web.get("/healthz").status_code == 200
    assert web.get("/readyz").status_code == 200
    with web.stream("GET", "/v1/stream", params={"after": "now"}) as answer:
        pieces = answer.iter_text()
        next(pieces)
        web.post("/v1/add", content=json.dumps({"text": "The lighthouse was painted."}), headers=JSON)
        heard, until = "", time.monotonic() + 20
        for piece in pieces:
            heard += piece
            if "lighthouse" in heard or time.monotonic() > until:
                break
    assert "lighthouse" in heard


@pytest.mark.parametrize("odd", ["\x00", "a\x00b", "\ud800"], ids=["NUL", "a NUL inside", "half a character"])
def test_no_text_that_is_asked_for_is_a_fault_of_the_service(
    services: tuple[httpx.Client, httpx.Client], odd: str
) -> None:
    for one in (one for one in operation_routes() if one.operation.read_only):
        texts = [parameter.name for parameter in one.parameters if parameter.kind is TEXT]
        for name in texts:
            needed = {one.name: ASKED.get(one.name, "x") for one in one.parameters if one.required}
            body = json.dumps(needed | {name: odd})
            for web in services:
                answer = web.post(one.path, content=body, headers=JSON)
                assert answer.status_code < 500, (one.path, name, answer.text)
