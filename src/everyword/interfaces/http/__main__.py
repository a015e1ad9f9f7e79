"""Run the service, in one process or several: `everyword serve`, or `python -m everyword.interfaces.http`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType

from everyword.errors import EverywordError, InvalidSetting
from everyword.extras import need
from everyword.interfaces.cli.defaults import default_path
from everyword.interfaces.http.settings import DEFAULT_PORT, ServiceSettings, address_of
from everyword.private_files import make_private_folder

_FIRST_PROCESS_ONLY = ("--no-worker", "--no-fold")  # options of the others: the first one does this work


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and serve; return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parsed = _parser().parse_args(arguments)
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
            options = [*arguments, "--processes", "1"]
            on_ready = partial(_announce, show=parsed.open)
            return _serve_processes(settings, options, processes=parsed.processes, on_ready=on_ready)
        if parsed.socket is not None:  # a child of _serve_processes
            _exit_with_parent()
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

    location = default_path(make_folder=True) if parsed.memory is None else parsed.memory
    if "://" not in location:
        with suppress(OSError):  # opening the memory reports it better
            make_private_folder(Path(location).expanduser().parent)
    models = {"embedder": parsed.embedder, "llm": parsed.llm, "reranker": parsed.reranker}
    open_and_serve(
        lambda: Memory.open(location, **models, fold=parsed.fold),
        settings,
        on_ready=partial(_announce, show=parsed.open and parsed.socket is None),
        on_wait=_warn,
    )


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
        metavar="PATH",
        help="a file, created if missing, or postgresql://... (default: EVERYWORD_MEMORY, or memory.db in the user's "
        "data folder)",
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
        help="change a limit that docs/service.md lists, such as most_connections=500; may be repeated",
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


# Several processes that share a listening socket


def _serve_processes(
    settings: ServiceSettings, options: Sequence[str], *, processes: int, on_ready: Callable[[str], None]
) -> int:
    """Serve until told to stop or until one process ends; return the exit code.

    options: the command line of each process.
    """
    if os.name != "posix":
        raise InvalidSetting("Several processes need a POSIX system, to share a socket.", fix="Use --processes 1.")
    listening = settings.listen()
    command = [sys.executable, "-m", "everyword.interfaces.http", *options, "--socket", str(listening.fileno())]
    running: list[subprocess.Popen[str]] = []
    signalled: set[int] = set()

    def stop(_number: int = 0, _frame: FrameType | None = None) -> None:
        if len(running) == processes:
            # Close our copy too: while any copy is open, clients can connect and would never be answered.
            listening.close()
        for one in running:
            if one.pid not in signalled:  # only once: a second signal would interrupt closing the file
                signalled.add(one.pid)
                one.send_signal(signal.SIGTERM)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in range(processes):
            # One after the other: the first creates the file if needed, and reports what is wrong with it.
            process = subprocess.Popen(
                [*command, *(_FIRST_PROCESS_ONLY if number else ())],
                stdin=subprocess.PIPE,  # never written to: it closes when this process ends, and the child ends with it
                stdout=subprocess.PIPE,
                text=True,
                pass_fds=[listening.fileno()],
                start_new_session=True,  # so that Ctrl-C reaches only this process, which then stops the others
            )
            running.append(process)
            # A process that is ready announces its address; one that fails prints nothing.
            if process.stdout is None or not process.stdout.readline():
                stop()
                return max(one.wait() for one in running)
        on_ready(address_of(listening))
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)  # leaves the exit code for wait() below
        stop()
        return max(abs(one.wait()) for one in running)
    finally:
        stop()
        for one in running:
            one.wait()
        for number, handler in before.items():
            signal.signal(number, handler)
        listening.close()


def _exit_with_parent() -> None:
    """Send this process SIGTERM when its parent ends, seen by the end of standard input."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="everyword-parent", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
