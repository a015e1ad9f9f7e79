"""The server on a wire: standard streams for one client, streamable HTTP for any number."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from recollect.core.errors import BadLocation
from recollect.serve.mcp.greeting import Greeting
from recollect.serve.mcp.opened import Opened

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
_STOP_WITHIN_S = 3  # for requests that have begun; streams of changes would never end by themselves


def serve_stdio(opened: Opened, greeting: Greeting, *, reference_tools: bool) -> None:
    """Serve the client at the other end of this process's streams, until it closes them."""
    import anyio
    from mcp.server.stdio import stdio_server

    from recollect.serve.mcp.server import build

    server = build(opened, reference_tools=reference_tools)

    async def serve() -> None:
        reader, writer = anyio.wrap_file(greeting.reader()), anyio.wrap_file(greeting.writer())
        async with stdio_server(reader, writer) as (incoming, outgoing):
            opened.warm()
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def serve_http(opened: Opened, host: str, port: int, *, token: str | None, reference_tools: bool) -> None:
    """Serve any number of clients at http://HOST:PORT/mcp, until the process is told to stop."""
    import uvicorn

    from recollect.serve.mcp.server import build

    app: ASGIApp = build(opened, reference_tools=reference_tools).streamable_http_app(
        streamable_http_path=PATH, host=host, json_response=True
    )
    opened.warm()
    config = uvicorn.Config(
        app if not token else _WithToken(app, token),
        host=host,
        port=port,
        log_level="warning",
        lifespan="on",
        timeout_graceful_shutdown=_STOP_WITHIN_S,
    )
    try:
        uvicorn.Server(config).run()
    except SystemExit as error:  # how uvicorn says that the address is taken
        raise BadLocation(f"{host}:{port} can't be served on.", fix="Choose another port with --port.") from error


class _WithToken:
    """An application that only those with the token may use."""

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
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(given, self._expected)
