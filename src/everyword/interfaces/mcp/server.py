"""The MCP server: handlers of the protocol's requests, and its transports, stdio and streamable HTTP."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from everyword import __version__
from everyword.errors import EverywordError, NotFound
from everyword.interfaces.http.settings import ServiceSettings
from everyword.interfaces.mcp import OpenMemory, resources, results, sdk
from everyword.interfaces.mcp.fast_handshake import (
    INSTRUCTIONS,
    LISTED_PROMPTS,
    LISTED_TEMPLATES,
    NAME,
    TITLE,
    Handshake,
    without_lone_surrogates,
    write_line,
)
from everyword.interfaces.mcp.reference_server import GRAPH_URI, TOOLS, KnowledgeGraph, ReferenceTool
from everyword.interfaces.mcp.resources import Subscriptions
from everyword.interfaces.mcp.sdk import Call, ProtocolError
from everyword.interfaces.mcp.tools import TOOL_SETS, AgentTool, ToolSet, agent_tools, hints
from everyword.text.rendering import json_text

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

R = TypeVar("R")
Json = dict[str, Any]

_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_DEFAULT_LEVEL = "warning"  # of messages to a client that has not chosen one
_PATH = "/mcp"
_STOP_WITHIN_S = 3  # for pending requests; change streams never end by themselves


def build(
    opened: OpenMemory, *, tool_set: ToolSet = "all", reference_tools: bool = False, connections: bool = True
) -> Any:
    """Make a server for a memory.

    connections: whether clients keep a connection, on which they can be notified.
    """
    asked = _Requests(opened, tool_set, reference_tools, connections)
    handlers: dict[str, sdk.Handler] = {
        "tools/list": asked.list_tools,
        "tools/call": asked.call_tool,
        "resources/list": asked.list_resources,
        "resources/templates/list": _always({"resourceTemplates": LISTED_TEMPLATES}),
        "resources/read": asked.read_resource,
        "prompts/list": _always({"prompts": LISTED_PROMPTS}),
        "prompts/get": asked.get_prompt,
        "completion/complete": asked.complete,
    }
    if connections:
        handlers |= {
            "resources/subscribe": asked.subscriptions.subscribe,
            "resources/unsubscribe": asked.subscriptions.unsubscribe,
            "logging/setLevel": _set_level,
        }
    return sdk.make_server(
        handlers,
        name=NAME,
        version=__version__,
        title=TITLE,
        instructions=INSTRUCTIONS,
        lifespan=asked.subscriptions.lifespan,
        listen=asked.subscriptions.listen,
    )


def _always(result: Json) -> sdk.Handler:
    """Make a handler that always gives the same result."""

    async def handle(_: Call) -> Json:
        return result

    return handle


class _Requests:
    """The handlers of requests."""

    def __init__(self, opened: OpenMemory, tool_set: ToolSet, reference_tools: bool, connections: bool) -> None:
        self.subscriptions = Subscriptions(opened)
        self._opened = opened
        self._connections = connections
        self._tool_set = tool_set
        self._tools = {name: agent_tools(wing=opened.wing, tool_set=name) for name in TOOL_SETS}
        self._graph_tools = TOOLS if reference_tools else {}

    @property
    def _offered(self) -> dict[str, AgentTool]:
        return self._tools[self._opened.tool_set or self._tool_set]

    async def list_tools(self, call: Call) -> Json:
        listed = [tool.listed() for tool in self._offered.values() if self._opened.allows(tool.operation)]
        listed += (
            {**tool.listed(), "annotations": hints(read_only=tool.read_only, destructive=tool.destructive)}
            for tool in self._graph_tools.values()
        )
        return {"tools": listed}

    async def call_tool(self, call: Call) -> Json:
        name: str = call.params["name"]
        received: Json = call.params.get("arguments") or {}
        if name in self._offered:
            tool = self._offered[name]
            run = partial(_run, tool, self._opened, received)
            return await _answer(call, self._opened, run, operation=tool.operation, received=received)
        if name in self._graph_tools:
            run = partial(_run_reference, self._graph_tools[name], self._opened, received)
            return await _answer(call, self._opened, run)
        raise ProtocolError(f"Unknown tool {name[:200]!r}.")

    async def list_resources(self, call: Call) -> Json:
        cursor = call.params.get("cursor")
        found = await self._in_thread(lambda: resources.page(self._opened, cursor))
        if self._connections and call.keeps_connection:
            await self.subscriptions.follow_list(call)
        more = [_GRAPH_RESOURCE] if self._graph_tools and cursor is None else []
        return {**found, "resources": [*found["resources"], *more]}

    async def read_resource(self, call: Call) -> Json:
        uri = str(call.params["uri"])
        read = _graph_as_text if uri == GRAPH_URI and self._graph_tools else partial(resources.read, uri=uri)
        return {"contents": [await self._in_thread(lambda: read(self._opened))]}

    async def get_prompt(self, call: Call) -> Json:
        name, arguments = call.params["name"], call.params.get("arguments")
        return await self._in_thread(lambda: resources.prompt(self._opened, name, arguments))

    async def complete(self, call: Call) -> Json:
        return await self._in_thread(lambda: resources.completion(self._opened, call.params))

    async def _in_thread(self, call: Callable[[], R]) -> R:
        """Run a request that is not a tool call; raise errors as protocol errors."""
        try:
            return await self._opened.in_thread(call)
        except EverywordError as error:
            code = sdk.INVALID_PARAMS if error.status < 500 else sdk.INTERNAL_ERROR
            raise ProtocolError(results.error_text(error), code) from error


def _run(tool: AgentTool, opened: OpenMemory, received: Mapping[str, Any]) -> Json:
    arguments = tool.arguments(received)
    opened.check(tool.operation)
    handle = opened.memory if tool.operation.scope == "wing" else opened.whole_space
    return results.run(tool, handle, opened.in_project(tool.operation, arguments)).wire()


def _run_reference(tool: ReferenceTool, opened: OpenMemory, received: Mapping[str, Any]) -> Json:
    try:
        text, structured = tool.call(KnowledgeGraph(opened.whole_space, wing=opened.wing), received)
    except NotFound as error:  # in the reference's words alone
        return {"content": [{"type": "text", "text": error.detail}], "isError": True}
    return results.Result(text=text, document=structured).wire()


async def _answer(call: Call, opened: OpenMemory, run: Callable[[], Json], **called: Any) -> Json:
    """Return errors as tool results: the model reads them and may try again."""
    try:
        return await opened.in_thread(run, **called)
    except Exception as error:
        told = results.error_text(error)
        expected = isinstance(error, EverywordError) and error.status < 500
        await _log(call, "info" if expected else "error", f"{call.params['name']}: {told}")
        return {"content": [{"type": "text", "text": told}], "isError": True}


async def _set_level(call: Call) -> Json:
    sdk.connection_state(call.session)["level"] = call.params["level"]
    return {}


async def _log(call: Call, level: str, text: str) -> None:
    """Send a message to a client that keeps a connection and wants messages of this level."""
    if not call.keeps_connection:
        return
    wanted = sdk.connection_state(call.session).get("level", _DEFAULT_LEVEL)
    if _LEVELS.index(level) >= _LEVELS.index(wanted):
        await call.notify("notifications/message", {"level": level, "logger": NAME, "data": text})


_GRAPH_RESOURCE = {
    "uri": GRAPH_URI,
    "name": "knowledge-graph",
    "title": "Knowledge Graph",
    "description": "The full knowledge graph with all entities and relations",
    "mimeType": "application/json",
}


def _graph_as_text(opened: OpenMemory) -> Json:
    graph = KnowledgeGraph(opened.whole_space, wing=opened.wing).read_graph()
    return {"uri": GRAPH_URI, "mimeType": "application/json", "text": json_text(graph, indent=2)}


# Transports


def serve_stdio(opened: OpenMemory, handshake: Handshake, **options: Any) -> None:
    """Serve one client over the standard streams, until it closes them."""
    import anyio

    server = build(opened, **options)

    async def serve() -> None:
        received, incoming = anyio.create_memory_object_stream[Any](0)
        outgoing, replies = anyio.create_memory_object_stream[Any](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_receive, handshake, received, outgoing.clone())
            tasks.start_soon(_send, handshake, replies)
            opened.warm()
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


async def _receive(handshake: Handshake, received: Any, outgoing: Any) -> None:
    """Pass messages to the server, and answer what is none."""
    from anyio import to_thread

    async with received, outgoing:
        while line := await to_thread.run_sync(handshake.next_line, abandon_on_cancel=True):
            text = without_lone_surrogates(line.decode("utf-8", "replace"))
            try:
                await received.send(sdk.message_of(text))
            except ValueError:
                if (reply := _error_reply(text)) is not None:
                    await outgoing.send(json.dumps(reply))


async def _send(handshake: Handshake, replies: Any) -> None:
    """Write what the server sends, without its reply to an `initialize` that was answered."""
    from anyio import to_thread

    answered = handshake.answered_id
    async for reply in replies:
        text = reply if isinstance(reply, str) else sdk.text_of(reply)
        if answered is not None and json.loads(text).get("id") == answered:
            answered = None
        else:
            await to_thread.run_sync(write_line, handshake.output, text)


def _error_reply(line: str) -> dict[str, Any] | None:
    """Return the JSON-RPC error for a line that is no message; None for one that needs no reply."""
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        return _json_rpc_error(None, sdk.types.PARSE_ERROR, "Invalid JSON.") if line.strip() else None
    request = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    if "method" not in request and request.keys() & {"result", "error"}:
        return None  # a response needs no reply
    id = request.get("id") if "method" in request else None
    known = id if isinstance(id, str | int) and not isinstance(id, bool) else None
    return _json_rpc_error(known, sdk.types.INVALID_REQUEST, "Not a JSON-RPC 2.0 request.")


def _json_rpc_error(id: str | int | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def serve_http(opened: OpenMemory, host: str, port: int, *, token: str | None, **options: Any) -> None:
    """Serve clients at http://HOST:PORT/mcp until the process is told to stop."""
    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    settings = ServiceSettings(host=host, port=port)
    own = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]")]
    security = TransportSecuritySettings(
        # Here, a web page elsewhere must not reach this server by a name that leads to this machine.
        enable_dns_rebinding_protection=settings.on_loopback,
        allowed_hosts=own,
        allowed_origins=[f"http://{name}" for name in own],
    )
    manager = StreamableHTTPSessionManager(build(opened, **options), json_response=True, security_settings=security)

    async def answer(request: Request) -> ASGIApp:
        given = request.headers.get("authorization", "").encode("latin-1")
        if token and not hmac.compare_digest(given, f"Bearer {token}".encode()):
            told = "Send the token: Authorization: Bearer TOKEN\n"
            return PlainTextResponse(told, 401, {"www-authenticate": "Bearer"})
        return manager.handle_request

    route = Route(_PATH, answer, methods=["GET", "POST", "DELETE"])
    app = Starlette(routes=[route], lifespan=lambda _: manager.run())
    listening = settings.listen()
    opened.warm()
    config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=_STOP_WITHIN_S)
    uvicorn.Server(config).run(sockets=[listening])
