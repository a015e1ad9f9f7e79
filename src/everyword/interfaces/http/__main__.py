"""Run the service: `everyword serve`, or `python -m everyword.interfaces.http`."""

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

from everyword.errors import EverywordError, InvalidSetting
from everyword.extras import need
from everyword.interfaces.http.settings import DEFAULT_PORT, ServiceSettings
from everyword.private_files import make_private_folder


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and serve; return the exit code."""
    parsed = _parser().parse_args(argv)
    logging.basicConfig(format="everyword: %(message)s", level=logging.WARNING)
    try:
        settings = ServiceSettings(
            host=parsed.host,
            port=parsed.port,
            requests_per_s=parsed.rate,
            wait_for_store_s=parsed.wait,
            worker=parsed.worker,
            mcp=parsed.mcp,
            tracing=parsed.tracing,
            audit=parsed.audit,
            socket=parsed.socket,
        ).with_limits(parsed.limit)
        if parsed.processes < 1:
            raise InvalidSetting(f"processes must be at least 1, not {parsed.processes}.")
        if parsed.processes > 1 and parsed.audit:
            raise InvalidSetting("The audit log is kept by one process.", fix="Use --processes 1 or leave --audit out.")
        if parsed.processes > 1:
            from everyword.interfaces.http.multiprocess import serve_processes

            on_ready = partial(_announce, show=parsed.open)
            options = _child_options(parsed)
            return serve_processes(parsed.host, parsed.port, options, processes=parsed.processes, on_ready=on_ready)
        if parsed.socket is not None:  # a child of serve_processes
            from everyword.interfaces.http.multiprocess import exit_with_parent

            exit_with_parent()
        _serve(parsed, settings)
    except KeyboardInterrupt:
        return 130  # 128 + SIGINT, as shells report it
    except EverywordError as error:
        _warn(str(error))
        return error.exit_code
    return 0


def _serve(parsed: argparse.Namespace, settings: ServiceSettings) -> None:
    for package in ("starlette", "uvicorn"):
        need(package, extra="serve")
    # Imported here, so that --help and usage errors stay fast.
    from everyword.interfaces.http.server import open_and_serve
    from everyword.memory import Memory

    if "://" not in parsed.memory:
        with suppress(OSError):  # opening the memory reports it better
            make_private_folder(Path(parsed.memory).expanduser().parent)
    models = {"embedder": parsed.embedder, "llm": parsed.llm, "reranker": parsed.reranker}
    open_and_serve(
        lambda: Memory.open(parsed.memory, **models, fold=parsed.fold),
        settings,
        on_ready=partial(_announce, show=parsed.open),
        on_wait=_warn,
    )


def _child_options(parsed: argparse.Namespace) -> list[str]:
    """Write the command line for each of several processes."""
    named = {"memory": parsed.memory, "host": parsed.host, "rate": parsed.rate, "embedder": parsed.embedder}
    named |= {"llm": parsed.llm, "reranker": parsed.reranker, "wait": parsed.wait}
    flags = {"--no-worker": not parsed.worker, "--no-fold": not parsed.fold, "--no-mcp": not parsed.mcp}
    flags["--tracing"] = parsed.tracing
    options = [part for name, value in named.items() if value is not None for part in (f"--{name}", str(value))]
    options += [part for limit in parsed.limit for part in ("--limit", limit)]
    return [*options, *(flag for flag, wanted in flags.items() if wanted)]


def _announce(address: str, *, show: bool) -> None:
    sys.stdout.write(f"Everyword answers at {address} (web page, /v1, /mcp). Press Ctrl-C to stop.\n")
    sys.stdout.flush()
    # Only with a graphical display: a text browser would take over the terminal.
    if show and (sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(address)


def _warn(message: str) -> None:
    sys.stderr.write(f"everyword: {message}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="everyword serve", description="Serve a memory over HTTP and MCP, with a web page, and run queued work."
    )
    parser.add_argument(
        "--memory",
        required=True,
        metavar="PATH",
        help="the file, created if missing, or postgresql://... (everyword serve has a default)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="an address that others can reach needs an API key")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"default: {DEFAULT_PORT}; 0 for any free port")
    parser.add_argument(
        "--rate",
        type=float,
        default=ServiceSettings().requests_per_s,
        help="requests per second and key (default: %(default)g; 0: no limit)",
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a limit of docs/service.md, such as most_connections=500; may be repeated",
    )
    parser.add_argument("--embedder", metavar="NAME", default=os.environ.get("EVERYWORD_EMBEDDER") or None)
    parser.add_argument("--llm", metavar="NAME", default=os.environ.get("EVERYWORD_LLM") or None)
    parser.add_argument("--reranker", metavar="NAME", default=os.environ.get("EVERYWORD_RERANKER") or None)
    parser.add_argument("--open", action="store_true", help="open the web page in a browser")
    parser.add_argument("--no-worker", dest="worker", action="store_false", help="leave queued work to other processes")
    parser.add_argument("--no-fold", dest="fold", action="store_false", help="leave concepts to other processes")
    parser.add_argument("--no-mcp", dest="mcp", action="store_false", help="do not serve /mcp")
    parser.add_argument("--processes", type=int, default=1, help="processes that share the address (default: 1)")
    parser.add_argument(
        "--wait",
        type=float,
        metavar="SECONDS",
        default=ServiceSettings().wait_for_store_s,
        help="how long to wait for the database server (default: %(default)g; 0: fail at once)",
    )
    parser.add_argument("--socket", type=int, help=argparse.SUPPRESS)  # file descriptor of a listening socket
    parser.add_argument(
        "--audit",
        type=int,
        default=0,
        metavar="N",
        help="keep the last N questions of programs, with who asked, for the Health view (default: %(default)s, off)",
    )
    parser.add_argument("--tracing", action="store_true", help="trace requests with OpenTelemetry (see OTEL_...)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
