"""A peer behind the System protocol: a worker process in the peer's environment, spoken to in lines of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import queue
import shutil
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock, Thread
from typing import Any, cast

from evals.cache import open_embedder
from evals.systems.peers.embeddings import EmbeddingServer
from evals.systems.peers.environment import ROOT, CouldNotRun, Environment, weight
from evals.values import Answer, Found, Line
from evals.wording import document
from everyword.models.protocol import Embedder

INGEST_LINES = 200  # lines a request, so that a limit holds for a part and not for a whole store
TAIL_S = 0.2  # until what the worker wrote to stderr before its answer has been read
TAIL_LINES = 12  # of a worker's stderr in an error
CLOSE_LIMIT = 30.0  # seconds for a peer to close its store
END_LIMIT = 5.0  # seconds for its process to end after that

# Nothing of a peer calls home: each switch that is known, and a proxy that refuses whatever is left.
QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "CHROMA_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "False",
    "OTEL_SDK_DISABLED": "true",
    "POSTHOG_DISABLED": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}


class PeerFailed(Exception):
    """A peer's worker answered with an error, not in time, or not at all; the tail of its stderr comes with it."""

    def __init__(self, what: str, tail: Sequence[str] = ()) -> None:
        super().__init__("\n".join((what, *tail)))
        self.what = what
        self.tail = tuple(tail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a worker may take, in seconds."""

    open: float = 180.0
    ingest: float = 300.0  # for INGEST_LINES lines
    search: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How one peer runs: its environment, its worker, and what a result must say of it."""

    environment: Environment
    worker: Path
    notes: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])  # passed to the worker as it opens
    kept_in: str | None = "data"  # where its stores lie under its folder; None: in memory
    pid_file: str | None = None  # of a server that it starts and that outlives a worker which had to be ended
    has_scores: bool = True
    as_user: str | None = None  # whom to run as where we are root, since the peer refuses root
    limits: Limits = field(default_factory=Limits)


class Peer:
    """A peer under test. Making it installs its environment where needed, and raises CouldNotRun where that fails."""

    def __init__(self, name: str, setup: Setup, embedder: Embedder | str | None = None, *, root: Path = ROOT) -> None:
        self.name = name
        self._setup = setup
        python = setup.environment.python(root)
        # One that is given is the caller's to close.
        self._owned = open_embedder(embedder) if embedder is None or isinstance(embedder, str) else None
        self._embedder = cast(Embedder, self._owned or embedder)
        self.folder = Path(tempfile.mkdtemp(prefix=f"peer-{name}-"))
        self._server = EmbeddingServer(self._embedder)
        self._worker: Worker | None = None
        try:
            self._worker = Worker(name, python, setup, self.folder)
            opening = {"folder": str(self.folder), "url": self._server.url, "dims": self._embedder.card.dims}
            self._opened = self._worker.call("open", setup.limits.open, **opening, **setup.options)
        except PeerFailed as error:
            self.close()
            # One line for a table: what happened, and the last that the worker said.
            raise CouldNotRun(" / ".join(dict.fromkeys((error.what, *error.tail[-1:])))) from error
        except BaseException:
            self.close()
            raise

    def ingest(self, store: str, lines: Sequence[Line]) -> float:
        """Take in all lines of a store; tell the ms that this took inside the worker, as if nothing were cached."""
        took = 0.0
        for start in range(0, len(lines), INGEST_LINES):
            part = [_told(line) for line in lines[start : start + INGEST_LINES]]
            _, ms = self._call("ingest", self._setup.limits.ingest, store=store, lines=part)
            took += ms
        return took

    def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
        """Find the lines that answer a question; `now` reaches the peers that have a place for it."""
        asked = {"store": store, "question": question, "k": k, "now": now.isoformat() if now else None}
        hits, took_ms = self._call("search", self._setup.limits.search, **asked)
        best: dict[str, Found] = {}
        for hit in hits:
            best.setdefault(hit["key"], Found(key=hit["key"], score=hit["score"], session=hit.get("session")))
        # None of them tells how sure it is: the score of the first hit has to stand for that.
        return Answer(found=tuple(best.values())[:k], took_ms=took_ms)

    def describe(self) -> Mapping[str, Any]:
        """Tell versions, the shared embedder, and how the peer was driven; the same for each run."""
        return {
            **self._opened,
            "pins": list(self._setup.environment.pins),
            "model": self._embedder.card.label,
            "vectors": "pooled, over loopback /v1/embeddings; no token vectors",
            "line": "[date] speaker: text, one entry a line",
            "notes": self._setup.notes,
            "tells_scores": self._setup.has_scores,
        }

    def size_bytes(self) -> int | None:
        """Tell what the stores take on disk; None for a peer that keeps them in memory."""
        return weight(self.folder / self._setup.kept_in) if self._setup.kept_in else None

    def close(self) -> None:
        """End the worker and the server, and remove what they wrote."""
        if self._worker is not None:
            self._worker.close()
        self._server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._owned is not None:
            self._owned.release()

    def _call(self, do: str, limit: float, **request: Any) -> tuple[Any, float]:
        if self._worker is None:
            raise PeerFailed(f"{self.name} is not running")
        saved_ms = getattr(self._embedder, "saved_ms", None)
        if saved_ms is not None:
            saved_ms()
        result, seconds = self._worker.timed_call(do, limit, **request)
        return result, seconds * 1e3 + (saved_ms() if saved_ms is not None else 0.0)


class Worker:
    """One worker process. A call that fails to come back in time ends it, and each later call says so at once."""

    def __init__(self, name: str, python: Path, setup: Setup, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._pid_file = setup.pid_file
        self._numbers = 0
        self._broken: tuple[str, list[str]] | None = None
        self._lock = Lock()
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        for part in ("home", "data"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        user = setup.as_user if setup.as_user and os.geteuid() == 0 else None
        group = pwd.getpwnam(user).pw_gid if user else None
        if user:
            _hand_over(folder, user)
        # `-s`: the user's own site-packages are no part of the environment; with `-P` sibling modules would be lost.
        self._process = subprocess.Popen(
            [str(python), "-s", str(setup.worker)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=folder / "home",
            env=_environment(folder),
            start_new_session=True,
            user=user,
            group=group,
            extra_groups=[] if user else None,
        )
        self._readers = [Thread(target=self._read_answers, daemon=True), Thread(target=self._read_tail, daemon=True)]
        for reader in self._readers:
            reader.start()

    def call(self, do: str, limit: float, **request: Any) -> Any:
        """Send one request and give its result."""
        return self.timed_call(do, limit, **request)[0]

    def timed_call(self, do: str, limit: float, **request: Any) -> tuple[Any, float]:
        """Send one request; give its result and the seconds that it took, without the pipe between us."""
        with self._lock:
            if self._broken is not None:
                raise PeerFailed(*self._broken)
            self._numbers += 1
            self._send({"id": self._numbers, "do": do, **request})
            try:
                line = self._answers.get(timeout=limit)
            except queue.Empty:
                raise self._break(f"{do} took more than {limit:g} s") from None
            if line is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=END_LIMIT)  # for the status that it ended with
                raise self._break(f"the worker ended during {do}")
            answer = self._parsed(line, do)
            if "error" in answer:
                time.sleep(TAIL_S)
                raise PeerFailed(*self._told(f"{do}: {answer['error']}"))
            return answer["result"], float(answer.get("seconds", 0.0))

    def close(self) -> None:
        """Ask the worker to end; end it, and whatever it started, where it does not."""
        if self._broken is None:
            with contextlib.suppress(PeerFailed):
                self.call("close", CLOSE_LIMIT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=END_LIMIT)
        self._end()
        # A pipe that somebody unknown still holds open is not waited for.
        read = zip((self._process.stdout, self._process.stderr), self._readers, strict=True)
        for pipe in (self._process.stdin, *(pipe for pipe, reader in read if not reader.is_alive())):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _send(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._break(f"the worker ended before {request['do']}") from None

    def _parsed(self, line: str, do: str) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or answer.get("id") != self._numbers:
            raise self._break(f"{do}: not an answer: {line[:200]!r}")
        if "error" not in answer and "result" not in answer:
            raise self._break(f"{do}: an answer without result: {line[:200]!r}")
        return answer

    def _break(self, why: str) -> PeerFailed:
        self._end()
        self._broken = self._told(why)
        return PeerFailed(*self._broken)

    def _told(self, why: str) -> tuple[str, list[str]]:
        status = self._process.poll()
        ended = f" (exit status {status})" if status is not None else ""
        return f"{self.name}: {why}{ended}", list(self._tail)

    def _end(self) -> None:
        # The whole group: a worker may have started a server of its own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._pid_file:
            _end_server(self._folder / self._pid_file, self._folder)
        for reader in self._readers:
            reader.join(timeout=END_LIMIT)

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _read_tail(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._tail.append(line.rstrip()[:500])


def _told(line: Line) -> dict[str, Any]:
    return {
        "key": line.key,
        "text": document(line),
        "session": line.session,
        "role": line.role,
        "at": line.at.isoformat() if line.at else None,
    }


def _environment(folder: Path) -> dict[str, str]:
    """Give a worker a home of its own, so that it neither reads nor changes the user's settings for that peer."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ}
    home = str(folder / "home")
    return {**kept, **QUIET, "HOME": home, "XDG_CACHE_HOME": home, "TMPDIR": home, "PYTHONDONTWRITEBYTECODE": "1"}


def _hand_over(folder: Path, user: str) -> None:
    for place in (folder, *folder.rglob("*")):
        shutil.chown(place, user)


def _end_server(pid_file: Path, folder: Path) -> None:
    """End the server that wrote a file with its number, if it still runs and really is the one that we started."""
    try:
        process = int(pid_file.read_text().split()[0])
        place = Path(f"/proc/{process}/cwd").readlink()
    except (OSError, ValueError, IndexError):
        return
    if place.is_relative_to(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGQUIT)  # PostgreSQL's own signal for ending at once, children included
