"""Asking the resident process, and starting it: the light side of the socket."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from typing import Any, cast

from recollect import __version__

SOCKET = "resident.sock"
# -P: the folder that an agent works in must not lend us its modules.
COMMAND = (sys.executable, "-P", "-m", "recollect.hooks")
_MOST_PATH_BYTES = 100  # what every system takes as the path of a socket
_POLL_S = 0.02
_LEAST_S = 0.001  # for each step of asking, however late it is: no time at all would be another kind of socket
_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "ksh")


def ask(home: str, request: dict[str, Any], timeout_s: float) -> dict[str, Any] | None:
    """Ask the resident process; None when there is none, or it does not answer in time."""
    if not possible(home):
        return None
    deadline = time.monotonic() + timeout_s

    def in_time() -> socket.socket:
        connection.settimeout(max(_LEAST_S, deadline - time.monotonic()))
        return connection

    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            in_time().connect(os.path.join(home, SOCKET))
            asked = json.dumps({**request, "version": __version__, "owner": owner()}).encode() + b"\n"
            in_time().sendall(asked)
            answer = b""
            while chunk := in_time().recv(1 << 16):
                answer += chunk
        given: Any = json.loads(answer)
    except (OSError, ValueError):
        return None
    return cast("dict[str, Any]", given) if isinstance(given, dict) and not cast("Any", given).get("stale") else None


def ask_or_start(home: str, request: dict[str, Any], timeout_s: float) -> dict[str, Any] | None:
    """Ask the resident process; start it when there is none, and wait for it."""
    deadline = time.monotonic() + timeout_s
    answer = ask(home, request, timeout_s)
    if answer is None and possible(home):
        start(home)
        while answer is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
            answer = ask(home, request, max(_POLL_S, deadline - time.monotonic()))
    return answer


def start(home: str) -> None:
    """Start the resident process, for as long as the agent runs; one that is not needed ends itself."""
    detached("resident", "--home", home, "--owner", str(owner()))


def detached(*arguments: str) -> None:
    """Start a process of ours that nobody waits for, with nothing of ours but its arguments."""
    command = [*COMMAND, *arguments]
    if hasattr(os, "posix_spawn"):  # ten milliseconds less to import than subprocess
        nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
        try:
            os.posix_spawn(sys.executable, command, os.environ, file_actions=nothing, setsid=True)
        except NotImplementedError:  # a system that can't start a session this way
            os.posix_spawn(sys.executable, command, os.environ, file_actions=nothing, setpgroup=0)
        return
    import subprocess

    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def possible(home: str) -> bool:
    """Tell whether this system has such sockets, and the path fits into one."""
    return hasattr(socket, "AF_UNIX") and len(os.fsencode(os.path.join(home, SOCKET))) <= _MOST_PATH_BYTES


def owner() -> int:
    """Find the agent: who started this process, past the shell that it may have used for that."""
    pid = os.getppid()
    for _ in range(3):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                name, rest = file.read().decode("utf-8", "replace").split("(", 1)[1].rsplit(")", 1)
        except (OSError, IndexError, ValueError):
            return pid  # no such folder on this system: the parent it is
        if name not in _SHELLS:
            return pid
        pid = int(rest.split()[1])
    return pid
