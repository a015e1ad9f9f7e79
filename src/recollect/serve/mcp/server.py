"""The server itself: the protocol's requests, each answered by a memory in a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from recollect import __version__
from recollect.adapters.reference_memory import KnowledgeGraph
from recollect.core.errors import RecollectError
from recollect.core.rendering import json_text, visible, visible_json
from recollect.core.values import Context
from recollect.serve.mcp import prompts, resources
from recollect.serve.mcp.identity import INSTRUCTIONS, NAME, TITLE
from recollect.serve.mcp.opened import Opened
from recollect.serve.mcp.reference import GRAPH_URI, TOOLS, ReferenceTool
from recollect.serve.mcp.subscriptions import Subscriptions
from recollect.serve.mcp.tools import AgentTool, agent_tools, hints
from recollect.serve.mcp.wording import worded, worded_error, worded_nothing

R = TypeVar("R")
Asked = ServerRequestContext[Any]


def build(opened: Opened, *, reference_tools: bool = False, connections: bool = True) -> Server[Any]:
    """Make a server over a memory; it opens the memory at the first request that needs it.

    connections: whether clients keep one, on which they can be told of changes.
    """
    subscriptions = Subscriptions(opened)
    tools = agent_tools(wing=opened.wing)
    graph_tools = TOOLS if reference_tools else {}
    listed = [types.Tool.model_validate(tool.listed()) for tool in tools.values()]
    listed += [_reference_tool(tool) for tool in graph_tools.values()]

    async def list_tools(_: Asked, _page: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(_: Asked, call: types.CallToolRequestParams) -> types.CallToolResult:
        given = call.arguments or {}
        if call.name in tools:
            tool = tools[call.name]
            return await _answer(opened, lambda: _run(tool, opened, given), operation=tool.operation, given=given)
        if call.name in graph_tools:
            return await _answer(opened, lambda: _run_reference(graph_tools[call.name], opened, given))
        raise MCPError(types.INVALID_PARAMS, f"There is no tool {call.name[:200]!r}.")

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
        return types.ListPromptsResult(prompts=prompts.PROMPTS)

    async def get_prompt(_: Asked, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await _in_thread(opened, lambda: prompts.prompt(opened, asked.name, asked.arguments))

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
    """Says by itself that the list of resources changes, over every transport alike."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *rest: Any, **more: Any
    ) -> InitializationOptions:
        told = "resources/subscribe" in self._request_handlers
        options = notification_options or NotificationOptions(resources_changed=told)
        return super().create_initialization_options(options, *rest, **more)


# What tools are


def _reference_tool(tool: ReferenceTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema={"type": "object", "properties": dict(tool.takes), "required": list(tool.takes)},
        output_schema={"type": "object", "properties": dict(tool.gives), "required": list(tool.gives)},
        annotations=types.ToolAnnotations.model_validate(hints(read_only=tool.read_only, destructive=tool.destructive)),
    )


# What they do


def _run(tool: AgentTool, opened: Opened, given: Mapping[str, Any]) -> types.CallToolResult:
    arguments = tool.arguments(given)
    opened.check(tool.operation)
    handle = opened.memory if tool.operation.scope == "wing" else opened.whole_space
    if tool.operation.read_only:
        result = tool.operation.run(handle, arguments)
        if isinstance(result, Context) and not result.text and "budget" in arguments:
            # Is there nothing, or too little room for it?
            usual = {name: value for name, value in arguments.items() if name != "budget"}
            return _text(worded_nothing(result, tool.operation.run(handle, usual)))
        return _text(worded(tool.operation, result, handle.fenced))
    return _text(worded(tool.operation, tool.operation.run(handle, arguments), handle.fenced))


def _run_reference(tool: ReferenceTool, opened: Opened, given: Mapping[str, Any]) -> types.CallToolResult:
    text, structured = tool.call(KnowledgeGraph(opened.whole_space, wing=opened.wing), given)
    return types.CallToolResult(content=_text(text).content, structured_content=visible_json(structured))


async def _answer(opened: Opened, run: Callable[[], types.CallToolResult], **called: Any) -> types.CallToolResult:
    """Give errors as answers: the model reads them, and may do better."""
    try:
        return await opened.in_thread(run, **called)
    except Exception as error:
        return types.CallToolResult(content=_text(worded_error(error)).content, is_error=True)


async def _in_thread(opened: Opened, call: Callable[[], R]) -> R:
    """Do what is no tool; here an error is the protocol's own."""
    try:
        return await opened.in_thread(call)
    except RecollectError as error:
        code = types.INVALID_PARAMS if error.status < 500 else types.INTERNAL_ERROR
        raise MCPError(code, worded_error(error)) from error


def _text(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=visible(text))])


_GRAPH_RESOURCE = types.Resource(
    uri=GRAPH_URI, name="knowledge-graph", title="Knowledge graph", mime_type="application/json"
)


def _graph_as_text(opened: Opened) -> types.TextResourceContents:
    graph = KnowledgeGraph(opened.whole_space, wing=opened.wing).read_graph()
    return types.TextResourceContents(uri=GRAPH_URI, mime_type="application/json", text=json_text(graph, indent=2))
