"""`everyword serve`: run the service, in one process or several."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from functools import partial
from types import FrameType
from typing import Any

from msgspec.structs import fields

from everyword.errors import InvalidSetting
from everyword.extras import need
from everyword.interfaces.cli.parser import Request
from everyword.interfaces.cli.terminal import Terminal
from everyword.interfaces.http.settings import ServiceSettings, address_of
from everyword.private_files import make_folder_of
from everyword.settings import default_path

_FIRST_PROCESS_ONLY = ("--no-worker", "--no-fold")  # options of the others: the first one does this work


def run(request: Request, terminal: Terminal) -> int:
    """Serve until told to stop; return the exit code."""
    logging.basicConfig(format="everyword: %(message)s", level=logging.WARNING)
    given = request.arguments
    known = {one.name for one in fields(ServiceSettings)} & given.keys()
    settings = ServiceSettings(**{name: given[name] for name in known}).with_limits(given.get("limit", ()))
    processes, announce = given.get("processes", 1), partial(_announce, show=given.get("open", False))
    if processes < 1:
        raise InvalidSetting(f"processes must be at least 1, not {processes}.")
    if processes > 1 and settings.audit:
        raise InvalidSetting("The audit log is kept by one process.", fix="Use --processes 1 or leave --audit out.")
    if processes > 1:
        options = [*request.words, "--processes", "1"]
        return _serve_processes(settings, options, processes=processes, on_ready=announce)
    if settings.socket is not None:  # a child of _serve_processes
        _exit_with_parent()
        announce = partial(_announce, show=False)
    _serve(request, settings, on_ready=announce, on_wait=terminal.note)
    return 0


def _serve(
    request: Request, settings: ServiceSettings, *, on_ready: Callable[[str], None], on_wait: Callable[[str], None]
) -> None:
    for package in ("starlette", "uvicorn"):
        need(package, extra="serve")
    from everyword.interfaces.http.server import open_and_serve  # now that its packages are there
    from everyword.memory import Memory

    location = request.memory or default_path()
    make_folder_of(location)
    models: dict[str, Any] = {"embedder": request.embedder, "llm": request.llm, "reranker": request.reranker}
    fold = request.arguments.get("fold", True)
    open_and_serve(lambda: Memory.open(location, **models, fold=fold), settings, on_ready=on_ready, on_wait=on_wait)


def _announce(address: str, *, show: bool) -> None:
    sys.stdout.write(f"Everyword answers at {address} (web page, /v1, /mcp). Press Ctrl-C to stop.\n")
    sys.stdout.flush()
    # Only with a graphical display: a text browser would take over the terminal.
    if show and (sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        webbrowser.open(address)


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
    command = [sys.executable, "-m", "everyword", "serve", *options, "--socket", str(listening.fileno())]
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
