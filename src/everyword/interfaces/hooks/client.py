"""Ask the resident process over its socket, and start it. Every hook imports this, so it imports little."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from typing import Any, cast

from everyword import __version__

SOCKET = "resident.sock"
# -P keeps modules in the working folder of the agent from being imported.
COMMAND = (sys.executable, "-P", "-m", "everyword.interfaces.hooks")
_MOST_PATH_BYTES = 100  # of the path of a socket, on every system
_LEAST_TIMEOUT_S = 0.001  # a timeout of 0 would make the socket non-blocking
_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "ksh")


def ask(home: str, request: dict[str, Any], timeout_s: float) -> dict[str, Any] | None:
    """Ask the resident process. Return None if there is none or it does not answer in time."""
    if not has_sockets(home):
        return None
    deadline = time.monotonic() + timeout_s

    def in_time() -> socket.socket:
        connection.settimeout(max(_LEAST_TIMEOUT_S, deadline - time.monotonic()))
        return connection

    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            in_time().connect(os.path.join(home, SOCKET))
            line = json.dumps({**request, "version": __version__, "owner": agent_pid()}).encode() + b"\n"
            in_time().sendall(line)
            answer = b""
            while chunk := in_time().recv(1 << 16):
                answer += chunk
        reply = json_object(answer)
    except (OSError, ValueError):
        return None
    return None if reply.get("stale") else reply


def json_object(text: str | bytes) -> dict[str, Any]:
    """Read a JSON object; ValueError for anything else."""
    document: Any = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    return cast("dict[str, Any]", document)


def start(home: str) -> None:
    """Start the resident process, which ends after the agent does. A second one ends itself."""
    start_detached("resident", "--home", home, "--owner", str(agent_pid()))


def start_detached(*arguments: str) -> None:
    """Start a process of this package without waiting for it or sharing files with it."""
    command = [*COMMAND, *arguments]
    if hasattr(os, "posix_spawn"):  # importing subprocess would take 10 ms
        nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
        try:
            os.posix_spawn(sys.executable, command, os.environ, file_actions=nothing, setsid=True)
        except NotImplementedError:  # this system has no setsid here
            os.posix_spawn(sys.executable, command, os.environ, file_actions=nothing, setpgroup=0)
        return
    import subprocess

    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def has_sockets(home: str) -> bool:
    """Tell whether this system has Unix sockets and the path is short enough for one."""
    return hasattr(socket, "AF_UNIX") and len(os.fsencode(os.path.join(home, SOCKET))) <= _MOST_PATH_BYTES


def agent_pid() -> int:
    """Return the process id of the agent: the first ancestor that is not a shell."""
    pid = os.getppid()
    for _ in range(3):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                name, rest = file.read().decode("utf-8", "replace").split("(", 1)[1].rsplit(")", 1)
        except (OSError, IndexError, ValueError):
            return pid  # no /proc on this system
        if name not in _SHELLS:
            return pid
        pid = int(rest.split()[1])
    return pid
