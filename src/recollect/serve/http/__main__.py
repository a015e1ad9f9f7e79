"""`recollect serve`, or `python -m recollect.serve.http`: HTTP, MCP, the worker and the web page in one process."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from recollect.core.errors import InvalidSetting, RecollectError
from recollect.core.private import make_private_folder
from recollect.serve.http import ServiceSettings, run_when_there
from recollect.serve.http.settings import DEFAULT_PORT


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line and serve; give the exit code."""
    given = _parser().parse_args(argv)
    logging.basicConfig(format="recollect: %(message)s", level=logging.WARNING)
    try:
        settings = ServiceSettings(
            host=given.host,
            port=given.port,
            requests_per_s=given.rate,
            wait_for_store_s=given.wait,
            worker=given.worker,
            mcp=given.mcp,
            tracing=given.tracing,
            socket=given.socket,
        ).with_limits(given.limit)
        if given.processes < 1:
            raise InvalidSetting(f"processes must be at least 1, not {given.processes}.")
        if given.processes > 1:
            from recollect.serve.http.several import serve_several

            told = partial(_say, show=given.open)
            return serve_several(given.host, given.port, _again(given), processes=given.processes, told=told)
        if given.socket is not None:  # one of several
            from recollect.serve.http.several import end_with_parent

            end_with_parent()
        _serve(given, settings)
    except KeyboardInterrupt:
        return 130  # what a shell reports of SIGINT
    except RecollectError as error:
        _warn(str(error))
        return error.exit_code
    return 0


def _serve(given: argparse.Namespace, settings: ServiceSettings) -> None:
    from recollect.memory import Memory

    if "://" not in given.memory:
        with suppress(OSError):  # whatever is wrong with the folder, opening says it better
            make_private_folder(Path(given.memory).expanduser().parent)
    models = {"embedder": given.embedder, "llm": given.llm, "reranker": given.reranker}
    run_when_there(
        lambda: Memory.open(given.memory, **models, fold=given.fold),
        settings,
        told=partial(_say, show=given.open),
        waits=_warn,
    )


def _again(given: argparse.Namespace) -> list[str]:
    """Write the command line for each of several processes."""
    named = {"memory": given.memory, "host": given.host, "rate": given.rate, "embedder": given.embedder}
    named |= {"llm": given.llm, "reranker": given.reranker, "wait": given.wait}
    flags = {"--no-worker": not given.worker, "--no-fold": not given.fold, "--no-mcp": not given.mcp}
    flags["--tracing"] = given.tracing
    options = [part for name, value in named.items() if value is not None for part in (f"--{name}", str(value))]
    options += [part for limit in given.limit for part in ("--limit", limit)]
    return [*options, *(flag for flag, wanted in flags.items() if wanted)]


def _say(address: str, *, show: bool) -> None:
    sys.stdout.write(f"Recollect answers at {address} (the web page, /v1, /mcp). Ctrl-C stops it.\n")
    sys.stdout.flush()
    # A browser for text would take over the terminal: only where there is a screen.
    if show and (sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(address)


def _warn(words: str) -> None:
    sys.stderr.write(f"recollect: {words}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="recollect serve", description="Serve a memory over HTTP and MCP, with a web page, and do what waits."
    )
    parser.add_argument(
        "--memory",
        required=True,
        metavar="PATH",
        help="the file, made when there is none, or postgresql://...; recollect serve takes the usual one unasked",
    )
    parser.add_argument("--host", default="127.0.0.1", help="other addresses than this machine's own need a key")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"default: {DEFAULT_PORT}; 0 for any")
    parser.add_argument(
        "--rate",
        type=float,
        default=ServiceSettings().requests_per_s,
        help="requests a second and key; 0: any",
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a limit of docs/service.md, such as most_connections=500; may be given several times",
    )
    parser.add_argument("--embedder", metavar="NAME", default=os.environ.get("RECOLLECT_EMBEDDER") or None)
    parser.add_argument("--llm", metavar="NAME", default=os.environ.get("RECOLLECT_LLM") or None)
    parser.add_argument("--reranker", metavar="NAME", default=os.environ.get("RECOLLECT_RERANKER") or None)
    parser.add_argument("--open", action="store_true", help="show the web page in a browser")
    parser.add_argument("--no-worker", dest="worker", action="store_false", help="leave waiting work to others")
    parser.add_argument("--no-fold", dest="fold", action="store_false", help="leave concepts to others")
    parser.add_argument("--no-mcp", dest="mcp", action="store_false", help="without /mcp")
    parser.add_argument("--processes", type=int, default=1, help="that answer at one address (default: 1)")
    parser.add_argument(
        "--wait",
        type=float,
        metavar="SECONDS",
        default=ServiceSettings().wait_for_store_s,
        help="for a database server that is not there yet (default: %(default)g; 0: it must be there)",
    )
    parser.add_argument("--socket", type=int, help=argparse.SUPPRESS)  # one that listens already, by its number
    parser.add_argument("--tracing", action="store_true", help="spans for OpenTelemetry (OTEL_... says where to)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
