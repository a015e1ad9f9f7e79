"""A memory as an MCP server: operations as tools, sessions as resources, two prompts.

Heavy modules are imported late, so that a stdio client gets its first reply while the MCP package and the model load.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from everyword.errors import InvalidSetting
from everyword.extras import need

Transport = Literal["stdio", "http"]
DEFAULT_PORT = 7331
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def run(
    memory_path: str,
    *,
    transport: Transport = "stdio",
    space: str | None = None,
    wing: str | None = None,
    embedder: str | None = None,
    reference_tools: bool = False,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    token: str | None = None,
) -> None:
    """Serve until the client leaves (stdio) or the process is told to stop (http).

    space, wing: what clients see. reference_tools: also offer the nine tools of MCP's reference memory server. token:
    what HTTP clients must send as `Authorization: Bearer`; required unless the host is this machine.
    """
    if find_spec("mcp") is None:
        need("mcp", extra="mcp")  # raises, before the handshake
    if transport == "stdio":
        from everyword.interfaces.mcp.fast_handshake import early_results, shake_hands

        # Before heavy imports. The reference tools need those for their descriptions.
        handshake = shake_hands(_prepare, {} if reference_tools else early_results(wing=wing))
    elif transport == "http":
        if host not in _LOOPBACK and not token:
            raise InvalidSetting(
                f"Serving on {host} needs a token.",
                fix="Set EVERYWORD_MCP_TOKEN, or serve on 127.0.0.1.",
            )
        handshake = None
    else:
        raise InvalidSetting(f"Unknown transport {transport!r}.", fix="Valid transports: stdio, http.")
    from everyword.interfaces.mcp.open_memory import OpenMemory
    from everyword.interfaces.mcp.transports import serve_http, serve_stdio

    opened = OpenMemory(memory_path, space=space, wing=wing, embedder=embedder)
    try:
        if handshake is not None:
            serve_stdio(opened, handshake, reference_tools=reference_tools)
        else:
            serve_http(opened, host, port, token=token, reference_tools=reference_tools)
    finally:
        opened.close()


def _prepare() -> None:
    """Import the server, so that it is ready for the first request."""
    with suppress(ImportError):  # serving reports it
        import_module("everyword.interfaces.mcp.server")
        import_module("mcp.server.stdio")
