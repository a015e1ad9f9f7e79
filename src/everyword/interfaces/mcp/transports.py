"""Transports: stdio for one client, streamable HTTP for many."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Any, cast

from everyword.errors import BadLocation
from everyword.interfaces.mcp.fast_handshake import Handshake
from everyword.interfaces.mcp.open_memory import OpenMemory

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_STOP_WITHIN_S = 3  # for pending requests; change streams never end by themselves


def serve_stdio(opened: OpenMemory, handshake: Handshake, **options: Any) -> None:
    """Serve one client over the standard streams, until it closes them."""
    import anyio
    from mcp.server.stdio import stdio_server

    from everyword.interfaces.mcp.server import build

    server = build(opened, **options)

    async def serve() -> None:
        reader, writer = map(anyio.wrap_file, handshake.streams(error_reply))
        async with stdio_server(reader, writer) as (incoming, outgoing):
            opened.warm()
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def error_reply(line: str) -> dict[str, Any] | None:
    """Return the JSON-RPC error for an invalid line, or None for a valid message."""
    from everyword.interfaces.mcp.sdk import is_message, types

    if is_message(line):
        return None
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, types.PARSE_ERROR, "Invalid JSON.")
    request = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    if "method" not in request and request.keys() & {"result", "error"}:
        return None  # a response needs no reply
    id = request.get("id") if "method" in request else None
    known = id if isinstance(id, str | int) and not isinstance(id, bool) else None
    return _error(known, types.INVALID_REQUEST, "Not a JSON-RPC 2.0 request.")


def _error(id: str | int | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def serve_http(opened: OpenMemory, host: str, port: int, *, token: str | None, **options: Any) -> None:
    """Serve clients at http://HOST:PORT/mcp until the process is told to stop."""
    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.applications import Starlette
    from starlette.routing import Route

    from everyword.interfaces.mcp.server import build

    own = [f"{name}:*" for name in ("127.0.0.1", "localhost", "[::1]")]
    here = host in LOOPBACK  # then a web page elsewhere must not reach this server by a name that leads here
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=here, allowed_hosts=own, allowed_origins=[f"http://{name}" for name in own]
    )
    manager = StreamableHTTPSessionManager(build(opened, **options), json_response=True, security_settings=security)
    app: ASGIApp = Starlette(routes=[Route(PATH, _Endpoint(manager))], lifespan=lambda _: manager.run())
    opened.warm()
    config = uvicorn.Config(
        app if not token else _TokenRequired(app, token),
        host=host,
        port=port,
        log_level="warning",
        lifespan="on",
        timeout_graceful_shutdown=_STOP_WITHIN_S,
    )
    try:
        uvicorn.Server(config).run()
    except SystemExit as error:  # uvicorn exits if it can't bind the address
        raise BadLocation(f"Can't listen on {host}:{port}.", fix="Choose another port with --port.") from error


class _Endpoint:
    """The session manager as an application."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)


class _TokenRequired:
    """Wraps an application and requires the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._has_token(scope):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"Send the token: Authorization: Bearer TOKEN\n"})
            return
        await self._app(scope, receive, send)

    def _has_token(self, scope: Any) -> bool:
        authorization = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(authorization, self._expected)
