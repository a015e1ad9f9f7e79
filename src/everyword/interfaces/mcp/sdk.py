"""The MCP package in its versions 1.x and 2.x: make a server from handlers that take and return plain JSON.

Some frameworks need 1.x (crewai, langchain-mcp-adapters), which has another interface for servers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

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
    "prompts/list": "ListPrompts",
    "prompts/get": "GetPrompt",
    "completion/complete": "Complete",
}


class ProtocolError(Exception):
    """An error that a client gets as a JSON-RPC error."""

    def __init__(self, message: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(message)
        self.code = code


Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]  # from the parameters of a request


def make_server(
    handlers: Mapping[str, Handler],
    *,
    name: str,
    version: str,
    title: str,
    instructions: str,
) -> Any:
    """Make a server of the installed version. handlers: by method."""
    lowlevel: Any = import_module("mcp.server.lowlevel")
    about = {"version": version, "instructions": instructions, **({"title": title} if IS_2 else {})}
    server: Any = lowlevel.Server(name, **about)
    for method, handler in handlers.items():
        (_add_2 if IS_2 else _add_1)(server, method, handler)
    return server


def _add_2(server: Any, method: str, handler: Handler) -> None:
    from mcp.shared.exceptions import MCPError

    is_list = method.endswith("/list")
    params_type = types.PaginatedRequestParams if is_list else getattr(types, f"{_REQUESTS[method]}RequestParams")

    async def handle(_: Any, params: Any) -> Any:
        try:
            return _result_type(method).model_validate(await handler(_params(params)))
        except ProtocolError as error:
            raise MCPError(error.code, str(error)) from error

    server.add_request_handler(method, params_type, handle)


def _add_1(server: Any, method: str, handler: Handler) -> None:
    errors: Any = import_module("mcp.shared.exceptions")

    async def handle(request: Any) -> Any:
        try:
            return types.ServerResult(_result_type(method).model_validate(await handler(_params(request.params))))
        except ProtocolError as error:
            raise errors.McpError(types.ErrorData(code=error.code, message=str(error))) from error

    server.request_handlers[getattr(types, f"{_REQUESTS[method]}Request")] = handle


def _params(params: Any) -> dict[str, Any]:
    return {} if params is None else params.model_dump(by_alias=True, mode="json", exclude_none=True)


def _result_type(method: str) -> Any:
    return getattr(types, f"{_REQUESTS[method]}Result")


def is_message(line: str) -> bool:
    """Tell whether a line is a JSON-RPC message."""
    try:
        if IS_2:
            types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        else:
            types.JSONRPCMessage.model_validate_json(line)
    except ValueError:
        return False
    return True
