"""A memory as an MCP server: tools from the table of operations, sessions as resources, two prompts.

Everything heavy is imported late: a client that starts the server over stdio gets its first reply while the protocol's
own package and the model are still being read from disk.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from recollect.core.errors import InvalidSetting
from recollect.core.extras import need

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

    space, wing: what clients see. reference_tools: also the nine tools of MCP's reference memory server. token: what
    HTTP clients must send as `Authorization: Bearer`; needed where others than this machine can connect.
    """
    if find_spec("mcp") is None:
        need("mcp", extra="mcp")  # which is not there, and says so before a client is greeted
    if transport == "stdio":
        from recollect.serve.mcp.early import early_results
        from recollect.serve.mcp.greeting import greet

        # Before anything heavy: these are the first replies. The reference tools are described by what is heavy.
        greeting = greet(_prepare, {} if reference_tools else early_results(wing=wing))
    elif transport == "http":
        if host not in _LOOPBACK and not token:
            raise InvalidSetting(
                f"A memory that is served on {host} needs a token.",
                fix="Set RECOLLECT_MCP_TOKEN, or serve on 127.0.0.1.",
            )
        greeting = None
    else:
        raise InvalidSetting(f"There is no transport {transport!r}.", fix="Known: stdio, http.")
    from recollect.serve.mcp.opened import Opened
    from recollect.serve.mcp.transports import serve_http, serve_stdio

    opened = Opened(memory_path, space=space, wing=wing, embedder=embedder)
    try:
        if greeting is not None:
            serve_stdio(opened, greeting, reference_tools=reference_tools)
        else:
            serve_http(opened, host, port, token=token, reference_tools=reference_tools)
    finally:
        opened.close()


def _prepare() -> None:
    """Load what serves, so that it is there when the first question comes."""
    with suppress(ImportError):  # whoever serves then says what is missing
        import_module("recollect.serve.mcp.server")
        import_module("mcp.server.stdio")
