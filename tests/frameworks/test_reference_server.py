"""The MCP server with version 1.x of the protocol's package, which some frameworks need: its own client, over stdio."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.serve.service import serving

from everyword import Memory
from everyword.interfaces.mcp import sdk


def test_all_that_a_client_may_ask(tmp_path: Path) -> None:
    assert not sdk.IS_2
    from mcp.shared.exceptions import McpError
    from mcp.types import ResourceTemplateReference
    from pydantic import AnyUrl

    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(type(getattr(message, "root", message)).__name__)

    options = ["--embedder", "hashing", "--memory", str(tmp_path / "m.db"), "--project", "/x/heron"]
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "everyword", "mcp", "--reference-tools", *options],
        env=dict(os.environ),
    )

    async def ask() -> None:
        async with stdio_client(server) as streams, ClientSession(*streams, message_handler=hear) as client:
            about = await client.initialize()
            assert about.capabilities.resources is not None
            assert about.capabilities.resources.subscribe
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert all(tool.outputSchema for tool in tools.values())
            told = await client.call_tool("remember", {"text": "The boat is called Aurora.", "session": "x"})
            assert told.structuredContent is not None
            found = await client.call_tool("recall", {"query": "boat"})
            assert found.structuredContent is not None
            assert found.structuredContent["hits"][0]["id"] == told.structuredContent["ids"][0]
            listed = await client.call_tool("events", {})
            assert listed.structuredContent is not None
            assert listed.structuredContent["events"][0]["wing"] == "heron"
            await client.subscribe_resource(AnyUrl("everyword://sessions"))
            await client.list_resources()
            await client.set_logging_level("info")
            assert (await client.call_tool("show", {"id": "ev_" + "0" * 32})).isError
            template = ResourceTemplateReference(type="ref/resource", uri="everyword://session/{name}")
            assert (await client.complete(template, {"name": "name", "value": "x"})).completion.values == ["x"]
            with pytest.raises(McpError, match="Unknown resource"):
                await client.read_resource(AnyUrl("everyword://secrets"))
            made = [{"name": "Ana", "entityType": "person", "observations": []}]
            created = await client.call_tool("create_entities", {"entities": made})
            assert created.structuredContent == {"entities": made}
            await client.call_tool("remember", {"text": "Another.", "session": "y"})
            with anyio.fail_after(20):
                while not {"ResourceUpdatedNotification", "ResourceListChangedNotification"} <= set(heard):
                    await anyio.sleep(0.05)

    anyio.run(ask)
    assert "LoggingMessageNotification" in heard


def test_the_service_answers_too() -> None:
    call = {"name": "remember", "arguments": {"text": "hello"}}
    headers = {"accept": "application/json, text/event-stream"}
    with Memory.open(":memory:", embedder="hashing") as memory, serving(memory, mcp=True) as address:
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = httpx.post(f"{address}/mcp", json=request, headers=headers).json()
        assert answer["result"]["structuredContent"]["new"] == 1
        assert [event.text for event in memory.events()] == ["hello"]
