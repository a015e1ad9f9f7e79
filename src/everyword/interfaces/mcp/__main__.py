"""Serve a memory over MCP: `everyword mcp`, or `python -m everyword.interfaces.mcp`.

Heavy modules are imported late, so that a client gets its first reply while the MCP package and the model load.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

from everyword.errors import EverywordError
from everyword.extras import need
from everyword.interfaces.cli.defaults import default_path
from everyword.interfaces.mcp import OpenMemory
from everyword.interfaces.mcp.fast_handshake import early_results, shake_hands
from everyword.interfaces.mcp.tools import TOOL_SETS, ToolSet, agent_tools

_PROGRAM = "python -m everyword.interfaces.mcp"


def main(argv: Sequence[str] | None = None, *, program: str = _PROGRAM) -> int:
    """Parse the command line and serve; return the exit code."""
    options = vars(_parser(program).parse_args(argv))
    try:
        run(options.pop("memory") or default_path(make_folder=True), **options)
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, as shells report it
    except EverywordError as error:
        sys.stderr.write(f"everyword: {error}\n")
        return error.exit_code
    return 0


def _parser(program: str = _PROGRAM) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program, description="Serve a memory over MCP to the client that starts it. Over HTTP: everyword serve."
    )
    parser.add_argument(
        "--memory",
        metavar="PATH",
        help="a file, created if missing (default: EVERYWORD_MEMORY, or memory.db in the user's data folder)",
    )
    parser.add_argument("--space", metavar="NAME", help="the tenant that clients see")
    parser.add_argument("--wing", metavar="NAME", help="the person or project that clients see")
    parser.add_argument(
        "--project",
        metavar="FOLDER",
        nargs="?",
        const=os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd(),
        help="let remember and wake_up use the wing of this folder, as hooks do (default: the working folder)",
    )
    parser.add_argument("--embedder", metavar="NAME", default=os.environ.get("EVERYWORD_EMBEDDER") or None)
    parser.add_argument(
        "--tools",
        choices=TOOL_SETS,
        default="all",
        help="core: only remember, recall, context, ask, wake_up and forget",
    )
    parser.add_argument("--reference-tools", action="store_true", help="also offer the reference server's nine tools")
    return parser


def run(
    memory_path: str,
    *,
    space: str | None = None,
    wing: str | None = None,
    project: str | None = None,
    embedder: str | None = None,
    tools: ToolSet = "all",
    reference_tools: bool = False,
) -> None:
    """Serve the client at the other end of the standard streams until it leaves.

    space, wing: what clients see. project: the folder of the project at hand, whose wing `remember` and `wake_up` use,
    as hooks do; other tools see the whole space. tools: "core" offers six tools. reference_tools: also offer the nine
    tools of MCP's reference memory server.
    """
    if find_spec("mcp") is None:
        need("mcp", extra="mcp")  # raises, before the handshake
    project_wing = None if project is None else wing_of_folder(project)
    # Before heavy imports. The reference tools need those for their descriptions.
    offered = agent_tools(wing=wing, project_wing=project_wing, tool_set=tools)
    handshake = shake_hands(_prepare, {} if reference_tools else early_results(offered))
    from everyword.interfaces.mcp.server import serve_stdio

    opened = OpenMemory(memory_path, space=space, wing=wing, project_wing=project_wing, embedder=embedder)
    try:
        serve_stdio(opened, handshake, tool_set=tools, reference_tools=reference_tools)
    finally:
        opened.close()


def _prepare() -> None:
    """Import the server, so that it is ready for the first request."""
    with suppress(ImportError):  # serving reports it
        import_module("everyword.interfaces.mcp.server")
        import_module("mcp.server.stdio")


def wing_of_folder(folder: str) -> str | None:
    """Return the wing that hooks use for the sessions of a folder; None for the user's home and for the root."""
    from everyword.interfaces.hooks.state import home_of, load

    path = os.path.abspath(os.path.expanduser(folder))
    if path == os.path.expanduser("~") or os.path.dirname(path) == path:
        return None
    name = os.path.basename(path)
    try:
        return load(str(home_of(None))).wings.get(name, name)
    except EverywordError:  # no hooks are installed
        return name


if __name__ == "__main__":
    sys.exit(main())
