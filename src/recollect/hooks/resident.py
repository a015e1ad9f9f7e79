"""The resident process: one for each home, with the memory open and the model loaded, for as long as an agent runs.

Loading the model takes longer than a hook may; so one process does it once. It ends when the last agent that asked it
has ended, when nobody asks for long, when the settings change, and when another version asks. Nothing depends on it:
without it, hooks save in processes of their own, and inject what they can in time.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from recollect import __version__
from recollect.core.errors import StoreBusy
from recollect.hooks import journal
from recollect.hooks.asking import SOCKET, ask, possible
from recollect.hooks.settings import FILE, load

if TYPE_CHECKING:
    from recollect.hooks.work import Work

LOCK = "resident.lock"  # held by the one that serves
_LOOK_AROUND_S = 0.5  # between two looks at whether there is still a reason to be here
_LINGER_S = 2.0  # after the last agent has ended: the next may be starting
_FIRST_S = 1.0  # for the one who started us to ask: loading the model at the same time would make it wait longer
_IDLE_S = 1800.0  # without a question: an agent that was left open overnight
_REFRESH_EVERY_S = 5.0  # what starts need, at most: a large import should not keep us busy
_MOST_REQUEST_BYTES = 16 << 20
_REQUEST_S = 5.0  # for a client to say what it wants
_DRAIN_S = 60.0  # for saves that wait when it is time to go


def serve(home: str, owner: int) -> None:
    """Serve until there is no reason to; return at once where another serves already."""
    if not possible(home) or ask(home, {"do": "ping"}, _REQUEST_S) is not None:
        return
    # Imported late: most of those who come second were told so above.
    from recollect.store.sqlite.turn import Turn

    try:
        with Turn(Path(home) / LOCK, timeout_s=0.01).taken():
            _Resident(home, owner).serve()
    except StoreBusy:
        return


class _Resident:
    def __init__(self, home: str, owner: int) -> None:
        self._home = home
        self._owners = {owner} if owner else set[int]()
        self._settings_then = _content(home)
        self._asked_at = time.monotonic()
        self._saves: queue.Queue[dict[str, Any]] = queue.Queue()
        self._asked = threading.Event()  # for the first time
        self._ready = threading.Event()  # the model is loaded
        self._stop = threading.Event()
        self._opening = threading.Lock()
        self._work: Work | None = None

    def serve(self) -> None:
        os.chdir(self._home)  # not to hold on to the folder that the agent works in
        path = os.path.join(self._home, SOCKET)
        with suppress(FileNotFoundError):
            os.remove(path)  # of one that was killed: we have its lock
        before = os.umask(0o177)
        try:
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(path)
        finally:
            os.umask(before)
        with listener:
            listener.listen(16)
            listener.settimeout(_LOOK_AROUND_S)
            threading.Thread(target=self._get_ready, name="recollect-warm", daemon=True).start()
            saver = threading.Thread(target=self._save, name="recollect-save", daemon=True)
            saver.start()
            journal.note(self._home, f"resident started for {sorted(self._owners)}")
            while self._has_reason():
                with suppress(TimeoutError):
                    connection, _ = listener.accept()
                    threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
        with suppress(FileNotFoundError):
            os.remove(path)  # hooks that come now do without us
        self._stop.set()
        saver.join(_DRAIN_S)
        journal.note(self._home, "resident ended")

    def _has_reason(self) -> bool:
        if self._stop.is_set() or _content(self._home) != self._settings_then:
            return False
        idle = time.monotonic() - self._asked_at
        return idle < _LINGER_S or (idle < _IDLE_S and any(map(_is_alive, self._owners)))

    def _get_ready(self) -> None:
        try:
            self._asked.wait(_FIRST_S)
            work = self._opened()
            work.memory.recall("warm", k=1)
            work.refresh()
            self._ready.set()
            left = work.save_what_was_left()
            journal.note(self._home, f"resident ready; {left} events were left from before")
        except Exception as error:
            journal.note(self._home, f"resident error: {type(error).__name__}: {error}")

    def _opened(self) -> Work:
        from recollect.hooks.work import Work

        with self._opening:
            if self._work is None:
                self._work = Work(self._home, load(self._home))
            return self._work

    def _save(self) -> None:
        refreshed = time.monotonic()
        while not (self._stop.is_set() and self._saves.empty()):
            with suppress(queue.Empty):
                what = self._saves.get(timeout=_LOOK_AROUND_S)
                try:
                    self._opened().save(what)
                except Exception as error:
                    journal.note(self._home, f"save error: {type(error).__name__}: {error}")
            if self._ready.is_set() and self._saves.empty() and time.monotonic() - refreshed > _REFRESH_EVERY_S:
                refreshed = time.monotonic()
                with suppress(Exception):  # whoever starts then is told what is wrong
                    self._opened().refresh()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(_REQUEST_S)
            try:
                answer = self._answer_to(_request(connection))
            except Exception as error:
                journal.note(self._home, f"resident error: {type(error).__name__}: {error}")
                answer = {}
            connection.sendall(json.dumps(answer).encode())
            self._asked.set()

    def _answer_to(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("version") != __version__:
            self._stop.set()  # an upgrade: the next hook starts one of its own kind
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
                return self._done(str(what), request)

    def _done(self, what: str, request: dict[str, Any]) -> dict[str, Any]:
        if what == "save":
            self._saves.put(request)
            return {}
        if what == "start":
            return {"text": self._opened().start(str(request.get("cwd", "")))}
        if what == "prompt" and self._ready.is_set():
            return {"text": self._opened().for_prompt(str(request.get("prompt", "")), str(request.get("session", "")))}
        return {"text": ""}


def _request(connection: socket.socket) -> dict[str, Any]:
    read = b""
    while not read.endswith(b"\n") and len(read) < _MOST_REQUEST_BYTES and (chunk := connection.recv(1 << 16)):
        read += chunk
    given: Any = json.loads(read)
    if not isinstance(given, dict):
        raise ValueError("a request is a JSON object")
    return cast("dict[str, Any]", given)


def _content(home: str) -> bytes:
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
        return True
    return True
