"""Clients of the MCP server are told of changes: the protocol's own client, of both eras, over every transport."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from tests.serve.service import free_port, serving, wait_for_port

from everyword import Memory

COMMAND = ["-m", "everyword", "mcp", "--embedder", "hashing"]
NAMES = ("identity", "sessions", "entities", "intents", "session/kitchen")
URIS = [f"everyword://{name}" for name in NAMES]
MUST = "I must send the budget report to Ana Silva by tomorrow."


class Heard:
    """What a client of the older kind was told."""

    def __init__(self) -> None:
        self.uris: set[str] = set()
        self.listed = 0

    async def __call__(self, message: Any) -> None:
        if message.__class__.__name__ == "ResourceUpdatedNotification":
            self.uris.add(str(message.params.uri))
        if message.__class__.__name__ == "ResourceListChangedNotification":
            self.listed += 1

    async def until(self, *uris: str) -> None:
        with anyio.fail_after(20):
            while not set(uris) <= self.uris:
                await anyio.sleep(0.05)

    async def until_listed(self, times: int) -> None:
        with anyio.fail_after(20):
            while self.listed < times:
                await anyio.sleep(0.05)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def address(path: Path) -> Iterator[str]:
    """Serve MCP alone, over HTTP."""
    port = free_port()
    command = [sys.executable, *COMMAND, "--memory", str(path), "--transport", "http", "--port", str(port)]
    process = subprocess.Popen(command, env={**os.environ})
    try:
        wait_for_port(port)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


@asynccontextmanager
async def connected(
    where: str | StdioServerParameters, mode: str, heard: Heard | None = None
) -> AsyncGenerator[Client]:
    options: dict[str, Any] = {"mode": mode} if heard is None else {"mode": mode, "message_handler": heard}
    if isinstance(where, StdioServerParameters):
        async with Client(where, **options) as client:
            yield client
        return
    async with (
        httpx2.AsyncClient(timeout=30) as http,
        Client(streamable_http_client(where, http_client=http), **options) as client,
    ):
        yield client


async def subscribed(client: Client) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gone from the newest revision; older clients have nothing else
        for uri in URIS:
            await client.subscribe_resource(uri)
        with pytest.raises(MCPError, match="Unknown resource"):
            await client.subscribe_resource("everyword://gossip")


async def older(where: str | StdioServerParameters, path: Path) -> None:
    heard = Heard()
    async with connected(where, "legacy", heard) as client:
        capabilities = client.session.initialize_result.capabilities.resources  # pyright: ignore
        assert (capabilities.subscribe, capabilities.list_changed) == (True, True)  # pyright: ignore
        await client.list_resources()
        await subscribed(client)
        # By another process, by a tool of this client, and of another session than the one that is followed.
        with Memory.open(path, embedder="hashing") as other:
            other.add("It rains.", session="garden")
            await heard.until("everyword://sessions")
            assert heard.uris.isdisjoint(f"everyword://{name}" for name in ("identity", "intents", "session/kitchen"))
            other.identity("I am Atlas.")
        await client.call_tool("remember", {"text": MUST, "speaker": "Leo", "session": "kitchen"})
        await heard.until(*URIS)
        await heard.until_listed(2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await client.unsubscribe_resource("everyword://sessions")
        heard.uris.clear()
        await client.call_tool("remember", {"text": "The tap drips.", "session": "kitchen"})
        await heard.until("everyword://session/kitchen")
        assert "everyword://sessions" not in heard.uris


async def newer(where: str | StdioServerParameters, path: Path) -> None:
    async with (
        connected(where, "auto") as client,
        client.listen(resources_list_changed=True, resource_subscriptions=URIS) as told,
    ):
        with Memory.open(path, embedder="hashing") as other:
            other.identity("I am Atlas.")
        await client.call_tool("remember", {"text": MUST, "speaker": "Leo", "session": "kitchen"})
        wanted: set[Any] = {ResourcesListChanged(), *(ResourceUpdated(uri=uri) for uri in URIS)}
        with anyio.fail_after(20):
            async for event in told:
                wanted.discard(event)
                if not wanted:
                    break


def over_stdio(path: Path) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[*COMMAND, "--memory", str(path)], env={**os.environ})


def test_over_stdio_a_client_of_either_kind_is_told(path: Path) -> None:
    with Memory.open(path, embedder="hashing"):
        pass
    anyio.run(older, over_stdio(path), path)


def test_over_stdio_a_newer_client_listens(path: Path) -> None:
    anyio.run(newer, over_stdio(path), path)


def test_over_http_a_client_of_either_kind_is_told(address: str, path: Path) -> None:
    anyio.run(older, address, path)


def test_the_service_tells_a_listener_within_what_its_key_opens(path: Path) -> None:
    with Memory.open(path, embedder="hashing") as memory, serving(memory, mcp=True, most_streams=1) as address:
        key = memory.admin.create_key("reader", permission="read", spaces=["acme"]).secret

        async def listen() -> None:
            headers = {"authorization": f"Bearer {key}"}
            async with (
                httpx2.AsyncClient(timeout=30, headers=headers) as http,
                Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
                client.listen(resource_subscriptions=["everyword://sessions"]) as told,
            ):
                memory.add("not theirs", session="other")
                memory.space("acme").add("theirs", session="kitchen")
                with anyio.fail_after(20):
                    assert await anext(aiter(told)) == ResourceUpdated(uri="everyword://sessions")
                with pytest.raises(MCPError):
                    async with client.listen(resource_subscriptions=["everyword://sessions"]):
                        pass

        anyio.run(listen)
        # Whoever listens does not keep the service from stopping: leaving this block would time out.
