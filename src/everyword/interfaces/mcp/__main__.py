"""Serve a memory over MCP: `everyword mcp`, or `python -m everyword.interfaces.mcp`.

Heavy modules are imported late, so that a stdio client gets its first reply while the MCP package and the model load.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

from everyword.errors import EverywordError, InvalidSetting
from everyword.extras import need
from everyword.interfaces.cli.defaults import default_path
from everyword.interfaces.mcp.tools import TOOL_SETS, agent_tools

DEFAULT_PORT = 7331


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client leaves (stdio) or the process is told to stop (http); return the exit code."""
    given = _parser().parse_args(argv)
    try:
        _serve(given, default_path(make_folder=True) if given.memory is None else given.memory)
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, as shells report it
    except EverywordError as error:
        sys.stderr.write(f"everyword: {error}\n")
        return error.exit_code
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="everyword mcp", description="Serve a memory over MCP.")
    parser.add_argument(
        "--memory",
        metavar="PATH",
        help="a file, created if missing (default: EVERYWORD_MEMORY, or memory.db in the user's data folder)",
    )
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    parser.add_argument("--space", metavar="NAME", help="the tenant that clients see")
    parser.add_argument("--wing", metavar="NAME", help="the person or project that clients see")
    parser.add_argument(
        "--project",
        metavar="FOLDER",
        nargs="?",
        const=os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd(),
        help="the project at hand: remember and wake_up use its wing, questions search it first (default: this folder)",
    )
    parser.add_argument("--embedder", metavar="NAME", default=os.environ.get("EVERYWORD_EMBEDDER") or None)
    parser.add_argument(
        "--tools",
        choices=TOOL_SETS,
        default="all",
        help="core: only remember, recall, context, ask, wake_up and forget",
    )
    parser.add_argument("--reference-tools", action="store_true", help="also offer the reference server's nine tools")
    parser.add_argument("--host", default="127.0.0.1", help="for http")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="for http")
    return parser


def _serve(given: argparse.Namespace, memory: str) -> None:
    if find_spec("mcp") is None:
        need("mcp", extra="mcp")  # raises, before the handshake
    token = os.environ.get("EVERYWORD_MCP_TOKEN") or None
    handshake = None
    if given.transport == "stdio":
        from everyword.interfaces.mcp.fast_handshake import early_results, shake_hands

        # Before heavy imports. The reference tools need those for their descriptions.
        offered = agent_tools(wing=given.wing, tool_set=given.tools)
        handshake = shake_hands(_prepare, {} if given.reference_tools else early_results(offered))
    else:
        from everyword.interfaces.http.settings import LOOPBACK

        if given.host not in LOOPBACK and not token:
            raise InvalidSetting(
                f"Serving on {given.host} needs a token.", fix="Set EVERYWORD_MCP_TOKEN, or serve on 127.0.0.1."
            )
    from everyword.interfaces.mcp import OpenMemory
    from everyword.interfaces.mcp.server import serve_http, serve_stdio

    project = None if given.project is None else os.path.abspath(os.path.expanduser(given.project))
    opened = OpenMemory(memory, space=given.space, wing=given.wing, project=project, embedder=given.embedder)
    offer = {"tool_set": given.tools, "reference_tools": given.reference_tools}
    try:
        if handshake is not None:
            serve_stdio(opened, handshake, **offer)
        else:
            serve_http(opened, given.host, given.port, token=token, **offer)
    finally:
        opened.close()


def _prepare() -> None:
    """Import the server, so that it is ready for the first request."""
    with suppress(ImportError):  # serving reports it
        import_module("everyword.interfaces.mcp.server")
        import_module("mcp.shared.message")


if __name__ == "__main__":
    sys.exit(main())
