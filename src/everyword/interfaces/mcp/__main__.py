"""`python -m everyword.interfaces.mcp`: the MCP server by itself."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from everyword.errors import EverywordError
from everyword.interfaces.mcp import DEFAULT_PORT, run
from everyword.interfaces.mcp.tools import TOOL_SETS

_PROGRAM = "python -m everyword.interfaces.mcp"


def main(argv: Sequence[str] | None = None, *, program: str = _PROGRAM) -> int:
    """Parse the command line and serve; return the exit code."""
    parsed = _parser(program).parse_args(argv)
    try:
        run(
            parsed.memory,
            transport=parsed.transport,
            space=parsed.space,
            wing=parsed.wing,
            project=parsed.project,
            embedder=parsed.embedder,
            tools=parsed.tools,
            reference_tools=parsed.reference_tools,
            host=parsed.host,
            port=parsed.port,
            token=os.environ.get("EVERYWORD_MCP_TOKEN") or None,
        )
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, as shells report it
    except EverywordError as error:
        sys.stderr.write(f"everyword: {error}\n")
        return error.exit_code
    return 0


def _parser(program: str = _PROGRAM) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description="Serve a memory over MCP.")
    parser.add_argument("--memory", required=True, metavar="PATH", help="the file, created if missing")
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio")
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
    parser.add_argument("--host", default="127.0.0.1", help="for http")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="for http")
    return parser


if __name__ == "__main__":
    sys.exit(main())
