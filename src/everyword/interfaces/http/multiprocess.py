"""Serve one address with several processes that share a listening socket."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType

from everyword.errors import InvalidSetting
from everyword.interfaces.http.settings import address_of, address_unavailable

_FIRST_PROCESS_ONLY = ("--no-worker", "--no-fold")  # options of the others: the first one does this work
_BACKLOG = 2_048  # connections that may wait to be accepted


def serve_processes(
    host: str, port: int, options: Sequence[str], *, processes: int, on_ready: Callable[[str], None]
) -> int:
    """Serve until told to stop or until one process ends; return the exit code.

    options: the command line of each process.
    """
    if os.name != "posix":
        raise InvalidSetting("Several processes need a POSIX system, to share a socket.", fix="Use --processes 1.")
    listening = _listen(host, port)
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
            running.append(_start(listening, [*options, *(_FIRST_PROCESS_ONLY if number else ())]))
            if not _wait_until_ready(running[-1]):
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


def exit_with_parent() -> None:
    """Send this process SIGTERM when its parent ends, seen by the end of standard input."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="everyword-parent", daemon=True).start()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise address_unavailable(host, port) from error


def _start(listening: socket.socket, options: Sequence[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "everyword.interfaces.http", *options, "--socket", str(listening.fileno())]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,  # never written to: it closes when this process ends, and the child ends with it
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[listening.fileno()],
        start_new_session=True,  # so that Ctrl-C reaches only this process, which then stops the others
    )


def _wait_until_ready(process: subprocess.Popen[str]) -> bool:
    """Wait for the line that announces the address; a process that fails prints none."""
    assert process.stdout is not None
    return bool(process.stdout.readline())
