"""`everyword mcp`: serve a memory over MCP.

Heavy modules are imported late, so that a stdio client gets its first reply while the MCP package and the model load.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from everyword.errors import InvalidInput, InvalidSetting
from everyword.extras import need
from everyword.interfaces.cli.parser import Request
from everyword.interfaces.cli.terminal import Terminal
from everyword.interfaces.mcp.tools import agent_tools, tool_set_of
from everyword.settings import default_path

_PORT = 7331  # for http


def run(request: Request, _terminal: Terminal) -> int:
    """Serve until the client leaves (stdio) or the process is told to stop (http); return the exit code."""
    given = request.arguments
    transport, host = given.get("transport", "stdio"), given.get("host", "127.0.0.1")
    tools = tool_set_of(given.get("tools")) or "all"
    if transport not in ("stdio", "http"):
        raise InvalidInput(f"Unknown transport {transport!r}.", fix="Choose stdio or http.")
    if find_spec("mcp") is None:
        need("mcp", extra="mcp")  # raises, before the handshake
    location, token = request.memory or default_path(), os.environ.get("EVERYWORD_MCP_TOKEN") or None
    handshake, reference_tools = None, given.get("reference_tools", False)
    if transport == "stdio":
        from everyword.interfaces.mcp.fast_handshake import early_results, shake_hands

        # Before heavy imports. The reference tools need those for their descriptions.
        offered = agent_tools(wing=request.wing, tool_set=tools)
        handshake = shake_hands(_prepare, {} if reference_tools else early_results(offered))
    else:
        from everyword.interfaces.http.settings import LOOPBACK

        if host not in LOOPBACK and not token:
            raise InvalidSetting(
                f"Serving on {host} needs a token.", fix="Set EVERYWORD_MCP_TOKEN, or serve on 127.0.0.1."
            )
    from everyword.interfaces.mcp import OpenMemory
    from everyword.interfaces.mcp.server import serve_http, serve_stdio

    project = given.get("project")
    if project is not None:  # "" where no folder is named
        here = project or os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
        project = os.path.abspath(os.path.expanduser(here))
    opened = OpenMemory(location, space=request.space, wing=request.wing, project=project, embedder=request.embedder)
    offer: dict[str, Any] = {"tool_set": tools, "reference_tools": reference_tools}
    try:
        if handshake is not None:
            serve_stdio(opened, handshake, **offer)
        else:
            serve_http(opened, host, given.get("port", _PORT), token=token, **offer)
    finally:
        opened.close()
    return 0


def _prepare() -> None:
    """Import the server, so that it is ready for the first request."""
    with suppress(ImportError):  # serving reports it
        import_module("everyword.interfaces.mcp.server")
        import_module("mcp.shared.message")
