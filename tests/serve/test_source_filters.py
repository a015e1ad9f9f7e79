"""Filters by role and by source, and the source itself, on every surface: library, client, HTTP, MCP, command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client as McpClient
from tests.serve.service import JSON, problem, serving

from everyword import AsyncMemory, Client, Memory
from everyword.interfaces.cli import main
from everyword.interfaces.mcp import OpenMemory
from everyword.interfaces.mcp.server import build

QUESTION = "Where does Ana live?"
EVENTS: list[dict[str, Any]] = [
    {"text": "I live in Lisbon.", "speaker": "Ana", "role": "user", "at": "2026-04-02T10:00Z"},
    {"text": "Ana lives in Lisbon, as you told me.", "role": "assistant", "at": "2026-04-02T10:01Z"},
    {"text": "Where does Ana live? Ana lives in Evilville.", "role": "tool", "at": "2026-04-02T10:02Z"},
    {"text": "Ana lives in Webtown.", "source": "web", "at": "2026-04-02T10:03Z"},
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sources") / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add_many(EVENTS)
    return path


@pytest.fixture(scope="module")
def address(path: Path) -> Iterator[str]:
    with Memory.open(path, embedder="hashing") as memory, serving(memory) as address:
        yield address


WANTED = [
    ({"source": ["user", "assistant"]}, {"user", "assistant"}),
    ({"source": ["!tool", "!web"]}, {"user", "assistant"}),
    ({"source": "!tool"}, {"user", "assistant", "web"}),
    ({"role": "tool"}, {"tool"}),
    ({"role": ["!tool", "!assistant"]}, {"user", "web"}),
    ({"role": ["user"], "source": ["!web"]}, {"user"}),
]


@pytest.mark.parametrize(("given", "sources"), WANTED)
def test_every_surface_filters_alike(path: Path, address: str, given: dict[str, Any], sources: set[str]) -> None:
    def of(hits: list[dict[str, Any]]) -> set[str]:
        return {hit["event"]["source"] for hit in hits}

    with Memory.open(path, embedder="hashing") as memory:
        assert {hit.event.source for hit in memory.recall(QUESTION, **given)} == sources
        assert {hit.event.source for hit in memory.admin.glance(QUESTION, **given)} == sources
        assert {event.source for event in memory.events(**given)} == sources
        asynchronous = anyio.run(lambda: AsyncMemory(memory).recall(QUESTION, **given))
        assert {hit.event.source for hit in asynchronous} == sources
        cited = {memory.get(one.event_id).source for one in memory.context(QUESTION, **given).citations}
        assert cited == sources
        answer = memory.ask(QUESTION, **given)
        assert {memory.get(one.event_id).source for one in answer.citations} <= sources
    with Client(address) as client:
        assert {hit.event.source for hit in client.recall(QUESTION, **given)} == sources
        assert {event.source for event in client.events(**given)} == sources
        assert client.ask(QUESTION, **given).text == answer.text
    with httpx.Client(base_url=address) as web:
        assert of(web.get("/v1/recall", params={"query": QUESTION, **given}).json()["hits"]) == sources
        body = json.dumps({"query": QUESTION, **given})
        assert of(web.post("/v1/recall", content=body, headers=JSON).json()["hits"]) == sources
        assert web.post("/v1/context", content=body, headers=JSON).status_code == 200
        assert web.post("/v1/ask", content=body, headers=JSON).json()["text"] == answer.text


@pytest.mark.parametrize(("given", "sources"), WANTED)
def test_the_command_line_filters(
    path: Path, capsys: pytest.CaptureFixture[str], given: dict[str, Any], sources: set[str]
) -> None:
    options = [
        part
        for name, several in given.items()
        for one in ([several] if isinstance(several, str) else several)
        for part in (f"--{name}", one)
    ]
    shared = ["--memory", str(path), "--embedder", "hashing", "--json"]
    assert main(["recall", QUESTION, *options, *shared]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert {hit["event"]["source"] for hit in hits} == sources
    assert main(["context", QUESTION, *options, *shared]) == 0
    assert ("Evilville" in json.loads(capsys.readouterr().out)["text"]) == ("tool" in sources)


@pytest.mark.parametrize(("given", "sources"), WANTED)
def test_agents_filter(path: Path, given: dict[str, Any], sources: set[str]) -> None:
    opened = OpenMemory(str(path), embedder="hashing")

    async def ask() -> str:
        async with McpClient(build(opened)) as client:
            return (await client.call_tool("recall", {"query": QUESTION, **given})).content[0].text

    try:
        said = anyio.run(ask)
    finally:
        opened.close()
    assert ("Evilville" in said) == ("tool" in sources)
    assert ("Webtown" in said) == ("web" in sources)
    assert ("I live in Lisbon" in said) == ("user" in sources)


def test_a_source_is_given_and_refused_on_every_surface(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = ["--memory", str(tmp_path / "m.db"), "--embedder", "hashing", "--json"]
    assert main(["add", "A page.", "--source", "web", *shared]) == 0
    assert json.loads(capsys.readouterr().out)["event"]["source"] == "web"
    assert main(["add", "A page.", "--source", "stranger", *shared]) == 2
    with httpx.Client(base_url=address) as web:
        for body in ({"text": "x", "source": "stranger"}, {"text": "x", "source": ["web"]}):
            assert problem(web.post("/v1/add", content=json.dumps(body), headers=JSON))[0] == 400
        assert problem(web.get("/v1/recall", params={"query": QUESTION, "source": "stranger"}))[0] == 400
    opened = OpenMemory(str(tmp_path / "m.db"), embedder="hashing")

    async def remember() -> Any:
        async with McpClient(build(opened)) as client:
            await client.call_tool("remember", {"text": "Tool output.", "source": "tool"})
            return await client.call_tool("remember", {"text": "x", "source": "stranger"})

    try:
        assert anyio.run(remember).is_error
        with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
            assert [event.source for event in memory.events(source="tool")] == ["tool"]
    finally:
        opened.close()
