"""Several processes that answer at one address: each has its own model and its own lock, the file is one.

They accept on the same socket. The first one also does what waits, and folds concepts for all: whoever folds holds the
graph in memory, and would have to read it anew after each write of another. Limits and metrics are of each process.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType

from recollect.core.errors import BadLocation, InvalidSetting
from recollect.serve.http import OTHER_ADDRESS

_BESIDE = ("--no-worker", "--no-fold")  # what the second and later ones leave to the first
_BACKLOG = 2_048  # connections that may wait to be accepted, as uvicorn has it


def serve_several(host: str, port: int, options: Sequence[str], *, processes: int, told: Callable[[str], None]) -> int:
    """Serve until told to stop, or until one of them ends; give the exit code.

    options: what each process is told on its command line.
    """
    if os.name != "posix":
        raise InvalidSetting("Several processes need a system that lets them share a socket.", fix="Serve with one.")
    listening = _bound(host, port)
    running: list[subprocess.Popen[str]] = []
    asked: set[int] = set()

    def stop(_number: int = 0, _frame: FrameType | None = None) -> None:
        if len(running) == processes:
            # Ours too: as long as anybody holds it the system lets clients connect, and nobody would ever answer.
            listening.close()
        for one in running:
            if one.pid not in asked:  # once: a second time, one that is closing the file would be cut off
                asked.add(one.pid)
                one.send_signal(signal.SIGTERM)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in range(processes):
            # One after the other: the first makes the file, where there is none, and says what is wrong with it.
            running.append(_started(listening, [*options, *(_BESIDE if number else ())]))
            if not _answers(running[-1]):
                stop()
                return max(one.wait() for one in running)
        told(_address(listening))
        return _watched(running, stop)
    finally:
        stop()
        for one in running:
            one.wait()
        for number, theirs in before.items():
            signal.signal(number, theirs)
        listening.close()


def end_with_parent() -> None:
    """Stop this process, as if told to, when the one that started it is gone."""

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="recollect-parent", daemon=True).start()


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise BadLocation(f"{host}:{port} can't be served on.", fix=OTHER_ADDRESS) from error


def _started(listening: socket.socket, options: Sequence[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "recollect.serve.http", *options, "--socket", str(listening.fileno())]
    # A group of its own: Ctrl-C in a terminal comes to us alone, and we tell them.
    # A pipe that we only hold: it ends when we do, whatever ends us, and then they end too.
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[listening.fileno()],
        start_new_session=True,
    )


def _answers(process: subprocess.Popen[str]) -> bool:
    """Wait for the line that says so; nothing comes from one that could not begin."""
    assert process.stdout is not None
    return bool(process.stdout.readline())


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _watched(running: Sequence[subprocess.Popen[str]], stop: Callable[[], None]) -> int:
    """Wait for the first one to end, stop the others, and give the worst exit code."""
    os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)  # without taking its exit code, which is read below
    stop()
    return max(abs(one.wait()) for one in running)
