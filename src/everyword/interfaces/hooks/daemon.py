"""The resident process: it keeps the memory and its model loaded, and serves hooks over a Unix socket."""

from __future__ import annotations

import json
import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from everyword import __version__
from everyword.errors import StoreBusy
from everyword.interfaces.hooks import state
from everyword.interfaces.hooks.client import SOCKET, ask, has_sockets, json_object
from everyword.interfaces.hooks.state import FILE, load_or_default

if TYPE_CHECKING:
    from everyword.interfaces.hooks.actions import HookActions

T = TypeVar("T")

LOCK = "resident.lock"  # held by the process that serves
_POLL_S = 0.5  # between two checks whether the process is still needed
_LINGER_S = 2.0  # after the last agent has ended: another may be starting
_FIRST_REQUEST_S = 1.0  # to wait for the first request before loading the model, which would slow the answer
_IDLE_S = 1800.0  # without a request, such as an agent left open overnight
_REFRESH_EVERY_S = 5.0  # at most, so that a large import does not keep this process busy
_MOST_REQUEST_BYTES = 16 << 20
_REQUEST_S = 5.0  # for a client to send its request
_DRAIN_S = 60.0  # to finish queued saves before ending


def serve(home: str, owner: int) -> None:
    """Serve until no agent needs it; return at once if another process serves already."""
    if not has_sockets(home) or ask(home, {"do": "ping"}, _REQUEST_S) is not None:
        return
    from everyword.storage.sqlite.write_lock import Turn  # slow to import, and a second process has returned above

    try:
        with Turn(Path(home) / LOCK, timeout_s=0.01).taken():
            _Resident(home, owner).serve()
    except StoreBusy:
        return


class _Resident:
    def __init__(self, home: str, owner: int) -> None:
        self._home = home
        self._owners = {owner} if owner else set[int]()
        self._settings_at_start = _settings_bytes(home)
        self._asked_at = time.monotonic()
        self._saves: queue.Queue[dict[str, Any]] = queue.Queue()
        self._asked = threading.Event()  # the first request was answered
        self._ready = threading.Event()  # the model is loaded
        self._stop = threading.Event()
        self._opening = threading.Lock()
        self._actions: HookActions | None = None

    def serve(self) -> None:
        os.chdir(self._home)  # so that the working folder of the agent can be removed
        path = os.path.join(self._home, SOCKET)
        with suppress(FileNotFoundError):
            os.remove(path)  # left by a process that was killed
        before = os.umask(0o177)
        try:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(path)
        finally:
            os.umask(before)
        with listener:
            listener.listen(16)
            listener.settimeout(_POLL_S)
            warm_up = partial(self._logged, "resident", self._warm_up)
            threading.Thread(target=warm_up, name="everyword-warm", daemon=True).start()
            saver = threading.Thread(target=self._save_queued, name="everyword-save", daemon=True)
            saver.start()
            state.log(self._home, f"resident started for {sorted(self._owners)}")
            while self._is_needed():
                with suppress(TimeoutError):
                    connection, _ = listener.accept()
                    threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
        with suppress(FileNotFoundError):
            os.remove(path)  # later hooks start another process
        self._stop.set()
        saver.join(_DRAIN_S)
        if self._actions is not None:
            # What agents wrote after their last hook: some end a turn before they write it.
            self._logged("save", self._actions.save_unsaved)
        state.log(self._home, "resident ended")

    def _is_needed(self) -> bool:
        if self._stop.is_set() or _settings_bytes(self._home) != self._settings_at_start:
            return False
        idle = time.monotonic() - self._asked_at
        return idle < _LINGER_S or (idle < _IDLE_S and any(map(_is_alive, self._owners)))

    def _warm_up(self) -> None:
        self._asked.wait(_FIRST_REQUEST_S)
        actions = self._opened()
        actions.memory.recall("warm", k=1)
        actions.refresh_starts()
        self._ready.set()
        left = actions.save_unsaved()
        state.log(self._home, f"resident ready; {left} unsaved events found")

    def _logged(self, what: str, call: Callable[[], T]) -> T | None:
        """Call; log an error instead of raising it."""
        try:
            return call()
        except Exception as error:
            state.log(self._home, f"{what} error: {type(error).__name__}: {error}")
            return None

    def _opened(self) -> HookActions:
        from everyword.interfaces.hooks.actions import HookActions  # takes a second, after the socket is open

        with self._opening:
            if self._actions is None:
                self._actions = HookActions(self._home, load_or_default(self._home))
            return self._actions

    def _save_queued(self) -> None:
        refreshed = time.monotonic()
        while not (self._stop.is_set() and self._saves.empty()):
            with suppress(queue.Empty):
                what = self._saves.get(timeout=_POLL_S)
                self._logged("save", lambda what=what: self._opened().save(what))
            if self._ready.is_set() and self._saves.empty() and time.monotonic() - refreshed > _REFRESH_EVERY_S:
                refreshed = time.monotonic()
                with suppress(Exception):  # the next SessionStart hook runs into the same error and logs it
                    self._opened().refresh_starts()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(_REQUEST_S)
            answer = self._logged("resident", lambda: self._answer_to(_read_request(connection)))
            connection.sendall(json.dumps(answer or {}).encode())
            self._asked.set()

    def _answer_to(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("version") != __version__:
            self._stop.set()  # after an upgrade the next hook starts a process of the new version
            return {"stale": True}
        match request.get("do"):
            case "ping":
                return {"pid": os.getpid(), "ready": self._ready.is_set(), "waiting": self._saves.qsize()}
            case "stop":
                self._stop.set()
                return {}
            case what:
                self._asked_at = time.monotonic()
                if owner := int(request.get("owner") or 0):
                    self._owners = {one for one in self._owners if _is_alive(one)} | {owner}
                if what == "save":
                    self._saves.put(request)
                    return {}
                if what == "start" or (what == "prompt" and self._ready.is_set()):
                    return {"text": self._opened().answer(request)}
                return {"text": ""}


def _read_request(connection: socket.socket) -> dict[str, Any]:
    read = b""
    while not read.endswith(b"\n") and len(read) < _MOST_REQUEST_BYTES and (chunk := connection.recv(1 << 16)):
        read += chunk
    return json_object(read)


def _settings_bytes(home: str) -> bytes:
    try:
        with open(os.path.join(home, FILE), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
