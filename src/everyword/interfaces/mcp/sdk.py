"""The MCP package in its versions 1.x and 2.x: make a server from handlers that take and return plain JSON.

Some frameworks need 1.x (crewai, langchain-mcp-adapters), which has another interface for servers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

from msgspec import Struct

from everyword.interfaces.mcp.fast_handshake import VERSIONS

IS_2 = find_spec("mcp.server.context") is not None  # a module that 1.x does not have
types: Any = import_module("mcp_types" if IS_2 else "mcp.types")


INVALID_PARAMS: int = types.INVALID_PARAMS
INTERNAL_ERROR: int = types.INTERNAL_ERROR
# The names of requests without "Request", by method.
_REQUESTS = {
    "tools/list": "ListTools",
    "tools/call": "CallTool",
    "resources/list": "ListResources",
    "resources/templates/list": "ListResourceTemplates",
    "resources/read": "ReadResource",
    "resources/subscribe": "Subscribe",
    "resources/unsubscribe": "Unsubscribe",
    "prompts/list": "ListPrompts",
    "prompts/get": "GetPrompt",
    "completion/complete": "Complete",
    "logging/setLevel": "SetLevel",
}


class ProtocolError(Exception):
    """An error that a client gets as a JSON-RPC error."""

    def __init__(self, message: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(message)
        self.code = code


class Call(Struct, frozen=True, kw_only=True):
    """A request of a client."""

    params: dict[str, Any]
    session: Any  # the package's own, which sends notifications
    lifespan: Any  # what the lifespan of the server yielded
    keeps_connection: bool  # of a protocol revision whose clients are notified on their connection

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification on the client's connection."""
        name = {
            "notifications/message": "LoggingMessageNotification",
            "notifications/resources/updated": "ResourceUpdatedNotification",
            "notifications/resources/list_changed": "ResourceListChangedNotification",
        }[method]
        message = getattr(types, name).model_validate({"method": method, **({"params": params} if params else {})})
        await self.session.send_notification(message if IS_2 else types.ServerNotification(message))


Handler = Callable[[Call], Awaitable[dict[str, Any]]]


def make_server(
    handlers: Mapping[str, Handler],
    *,
    name: str,
    version: str,
    title: str,
    instructions: str,
    lifespan: Any,
    listen: Callable[[Any, Any], Awaitable[Any]],
) -> Any:
    """Make a server of the installed version.

    handlers: by method. listen: the handler of subscriptions/listen, in terms of 2.x.
    """
    lowlevel: Any = import_module("mcp.server.lowlevel")
    base: Any = lowlevel.Server

    class NotifyingServer(base):
        """Declares resource notifications for every transport."""

        def create_initialization_options(self, notification_options: Any = None, *rest: Any, **more: Any) -> Any:
            notifies = "resources/subscribe" in handlers
            options = notification_options or lowlevel.NotificationOptions(resources_changed=notifies)
            made = cast("Any", super().create_initialization_options(options, *rest, **more))  # pyright: ignore
            if not IS_2:
                made.capabilities.resources.subscribe = notifies
            return made

    about: dict[str, Any] = {"version": version, "instructions": instructions, "lifespan": lifespan}
    server: Any = NotifyingServer(name, **about, **({"title": title} if IS_2 else {}))
    for method, handler in handlers.items():
        (_add_2 if IS_2 else _add_1)(server, method, handler)
    if IS_2:
        server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, listen)
    return server


def _add_2(server: Any, method: str, handler: Handler) -> None:
    from mcp.shared.exceptions import MCPError

    is_list = method.endswith("/list")
    params_type = types.PaginatedRequestParams if is_list else getattr(types, f"{_REQUESTS[method]}RequestParams")

    async def handle(context: Any, params: Any) -> Any:
        keeps_connection = context.protocol_version in VERSIONS
        try:
            return await _handled(method, handler, context, params, keeps_connection)
        except ProtocolError as error:
            raise MCPError(error.code, str(error)) from error

    server.add_request_handler(method, params_type, handle)


def _add_1(server: Any, method: str, handler: Handler) -> None:
    errors: Any = import_module("mcp.shared.exceptions")

    async def handle(request: Any) -> Any:
        try:
            return types.ServerResult(await _handled(method, handler, server.request_context, request.params, True))
        except ProtocolError as error:
            raise errors.McpError(types.ErrorData(code=error.code, message=str(error))) from error

    server.request_handlers[getattr(types, f"{_REQUESTS[method]}Request")] = handle


async def _handled(method: str, handler: Handler, context: Any, params: Any, keeps_connection: bool) -> Any:
    call = Call(
        params={} if params is None else params.model_dump(by_alias=True, mode="json", exclude_none=True),
        session=context.session,
        lifespan=context.lifespan_context,
        keeps_connection=keeps_connection,
    )
    return getattr(types, f"{_REQUESTS[method]}Result", types.EmptyResult).model_validate(await handler(call))


def connection_state(session: Any) -> dict[str, Any]:
    """Return a dict that lives as long as the client's connection."""
    # Neither version has public access to the connection; in 1.x the session is the connection.
    return session._connection.state if IS_2 else session.__dict__.setdefault("everyword", {})


def at_end_of_connection(session: Any, callback: Callable[[], None]) -> None:
    """Call back when the client's connection ends."""
    stack = session._connection.exit_stack if IS_2 else session._exit_stack
    stack.callback(callback)


def message_of(line: str) -> Any:
    """Read a message; raise ValueError for anything else."""
    session_message: Any = import_module("mcp.shared.message").SessionMessage
    if IS_2:
        return session_message(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    return session_message(types.JSONRPCMessage.model_validate_json(line))


def text_of(message: Any) -> str:
    """Write a message of the server."""
    return message.message.model_dump_json(by_alias=True, **{"exclude_unset" if IS_2 else "exclude_none": True})
