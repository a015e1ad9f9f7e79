"""The MCP server: handlers of the protocol's requests, each run in a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from everyword import __version__
from everyword.errors import EverywordError
from everyword.interfaces.adapters.reference_memory import KnowledgeGraph
from everyword.interfaces.mcp import resources
from everyword.interfaces.mcp.fast_handshake import INSTRUCTIONS, NAME, TITLE
from everyword.interfaces.mcp.open_memory import OpenMemory
from everyword.interfaces.mcp.reference_server import GRAPH_URI, TOOLS, ReferenceTool
from everyword.interfaces.mcp.results import empty_context_text, error_text, result_text
from everyword.interfaces.mcp.subscriptions import Subscriptions
from everyword.interfaces.mcp.tools import AgentTool, agent_tools, hints
from everyword.text.rendering import json_text, visible, visible_json
from everyword.types.events import Context

R = TypeVar("R")
Asked = ServerRequestContext[Any]


def build(opened: OpenMemory, *, reference_tools: bool = False, connections: bool = True) -> Server[Any]:
    """Make a server for a memory.

    connections: whether clients keep a connection, on which they can be notified.
    """
    subscriptions = Subscriptions(opened)
    tools = agent_tools(wing=opened.wing)
    graph_tools = TOOLS if reference_tools else {}
    listed = [types.Tool.model_validate(tool.listed()) for tool in tools.values()]
    listed += [_reference_tool(tool) for tool in graph_tools.values()]

    async def list_tools(_: Asked, _page: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(_: Asked, call: types.CallToolRequestParams) -> types.CallToolResult:
        received = call.arguments or {}
        if call.name in tools:
            tool = tools[call.name]
            run = partial(_run, tool, opened, received)
            return await _answer(opened, run, operation=tool.operation, received=received)
        if call.name in graph_tools:
            return await _answer(opened, lambda: _run_reference(graph_tools[call.name], opened, received))
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool {call.name[:200]!r}.")

    async def list_resources(asked: Asked, _page: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        found = await _in_thread(opened, lambda: resources.resources(opened))
        if connections and asked.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            await subscriptions.follow_list(asked)
        return types.ListResourcesResult(resources=[*found, _GRAPH_RESOURCE] if reference_tools else found)

    async def list_templates(_: Asked, _page: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read_resource(_: Asked, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(asked.uri)
        if uri == GRAPH_URI and reference_tools:
            content = await _in_thread(opened, lambda: _graph_as_text(opened))
        else:
            content = await _in_thread(opened, lambda: resources.read(opened, uri))
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(_: Asked, _page: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=resources.PROMPTS)

    async def get_prompt(_: Asked, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await _in_thread(opened, lambda: resources.prompt(opened, asked.name, asked.arguments))

    return _Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_subscribe_resource=subscriptions.subscribe if connections else None,
        on_unsubscribe_resource=subscriptions.unsubscribe if connections else None,
        on_subscriptions_listen=subscriptions.listen,
        lifespan=subscriptions.lifespan,
    )


class _Server(Server[Any]):
    """Declares resource notifications for every transport."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *rest: Any, **more: Any
    ) -> InitializationOptions:
        notifies = "resources/subscribe" in self._request_handlers
        options = notification_options or NotificationOptions(resources_changed=notifies)
        return super().create_initialization_options(options, *rest, **more)


def _reference_tool(tool: ReferenceTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema={"type": "object", "properties": dict(tool.inputs), "required": list(tool.inputs)},
        output_schema={"type": "object", "properties": dict(tool.outputs), "required": list(tool.outputs)},
        annotations=types.ToolAnnotations.model_validate(hints(read_only=tool.read_only, destructive=tool.destructive)),
    )


def _run(tool: AgentTool, opened: OpenMemory, received: Mapping[str, Any]) -> types.CallToolResult:
    arguments = tool.arguments(received)
    opened.check(tool.operation)
    handle = opened.memory if tool.operation.scope == "wing" else opened.whole_space
    if tool.operation.read_only:
        result = tool.operation.run(handle, arguments)
        if isinstance(result, Context) and not result.text and "budget" in arguments:
            # Ask again with the default budget, to tell "nothing found" from "budget too small".
            without_budget = {name: value for name, value in arguments.items() if name != "budget"}
            return _text(empty_context_text(result, tool.operation.run(handle, without_budget)))
        return _text(result_text(tool.operation, result, handle.admin.fenced))
    return _text(result_text(tool.operation, tool.operation.run(handle, arguments), handle.admin.fenced))


def _run_reference(tool: ReferenceTool, opened: OpenMemory, received: Mapping[str, Any]) -> types.CallToolResult:
    text, structured = tool.call(KnowledgeGraph(opened.whole_space, wing=opened.wing), received)
    return types.CallToolResult(content=_text(text).content, structured_content=visible_json(structured))


async def _answer(opened: OpenMemory, run: Callable[[], types.CallToolResult], **called: Any) -> types.CallToolResult:
    """Return errors as tool results: the model reads them and may try again."""
    try:
        return await opened.in_thread(run, **called)
    except Exception as error:
        return types.CallToolResult(content=_text(error_text(error)).content, is_error=True)


async def _in_thread(opened: OpenMemory, call: Callable[[], R]) -> R:
    """Run a request that is not a tool call; raise errors as protocol errors."""
    try:
        return await opened.in_thread(call)
    except EverywordError as error:
        code = types.INVALID_PARAMS if error.status < 500 else types.INTERNAL_ERROR
        raise MCPError(code, error_text(error)) from error


def _text(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=visible(text))])


_GRAPH_RESOURCE = types.Resource(
    uri=GRAPH_URI, name="knowledge-graph", title="Knowledge graph", mime_type="application/json"
)


def _graph_as_text(opened: OpenMemory) -> types.TextResourceContents:
    graph = KnowledgeGraph(opened.whole_space, wing=opened.wing).read_graph()
    return types.TextResourceContents(uri=GRAPH_URI, mime_type="application/json", text=json_text(graph, indent=2))
