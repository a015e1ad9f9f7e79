"""A memory as an MCP server: operations as tools, sessions as resources, two prompts.

Heavy modules are imported late, so that a stdio client gets its first reply while the MCP package and the model load.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from everyword.errors import EverywordError, InvalidSetting
from everyword.extras import need
from everyword.interfaces.mcp.tools import ToolSet, agent_tools
from everyword.interfaces.mcp.transports import LOOPBACK

Transport = Literal["stdio", "http"]
DEFAULT_PORT = 7331


def run(
    memory_path: str,
    *,
    transport: Transport = "stdio",
    space: str | None = None,
    wing: str | None = None,
    project: str | None = None,
    embedder: str | None = None,
    tools: ToolSet = "all",
    reference_tools: bool = False,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    token: str | None = None,
) -> None:
    """Serve until the client leaves (stdio) or the process is told to stop (http).

    space, wing: what clients see. project: the folder of the project at hand, whose wing `remember` and `wake_up` use,
    as hooks do; other tools see the whole space. tools: "core" offers six tools. reference_tools: also offer the nine
    tools of MCP's reference memory server. token: what HTTP clients must send as `Authorization: Bearer`; required
    unless the host is this machine.
    """
    if find_spec("mcp") is None:
        need("mcp", extra="mcp")  # raises, before the handshake
    project_wing = None if project is None else wing_of_folder(project)
    if transport == "stdio":
        from everyword.interfaces.mcp.fast_handshake import early_results, shake_hands

        # Before heavy imports. The reference tools need those for their descriptions.
        offered = agent_tools(wing=wing, project_wing=project_wing, tool_set=tools)
        handshake = shake_hands(_prepare, {} if reference_tools else early_results(offered))
    elif transport == "http":
        if host not in LOOPBACK and not token:
            raise InvalidSetting(
                f"Serving on {host} needs a token.",
                fix="Set EVERYWORD_MCP_TOKEN, or serve on 127.0.0.1.",
            )
        handshake = None
    else:
        raise InvalidSetting(f"Unknown transport {transport!r}.", fix="Valid transports: stdio, http.")
    from everyword.interfaces.mcp.open_memory import OpenMemory
    from everyword.interfaces.mcp.transports import serve_http, serve_stdio

    opened = OpenMemory(memory_path, space=space, wing=wing, project_wing=project_wing, embedder=embedder)
    offer = {"tool_set": tools, "reference_tools": reference_tools}
    try:
        if handshake is not None:
            serve_stdio(opened, handshake, **offer)
        else:
            serve_http(opened, host, port, token=token, **offer)
    finally:
        opened.close()


def _prepare() -> None:
    """Import the server, so that it is ready for the first request."""
    with suppress(ImportError):  # serving reports it
        import_module("everyword.interfaces.mcp.server")
        import_module("mcp.server.stdio")


def wing_of_folder(folder: str) -> str | None:
    """Return the wing that hooks use for the sessions of a folder; None for the user's home and for the root."""
    from everyword.interfaces.hooks.settings import load
    from everyword.interfaces.hooks.settings_files import default_home

    path = os.path.abspath(os.path.expanduser(folder))
    if path == os.path.expanduser("~") or os.path.dirname(path) == path:
        return None
    name = os.path.basename(path)
    try:
        return load(str(default_home())).wings.get(name, name)
    except EverywordError:  # no hooks are installed
        return name
