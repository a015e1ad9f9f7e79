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
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from evals.systems.peers.embeddings import EmbeddingServer
from evals.systems.peers.environment import ROOT, CouldNotRun, Environment, weight
from evals.values import Answer, Found, Line
from recollect.inference.protocol import Embedder

INGEST_LINES = 200  # lines a request, so that a limit holds for a part and not for a whole store
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
    """A peer's worker answered with an error, not in time, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a worker may take, in seconds."""

    open: float = 180.0
    ingest: float = 600.0  # for INGEST_LINES lines
    search: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """How one peer runs: its environment, its worker, and what a result must say of it."""

    environment: Environment
    worker: Path
    notes: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])  # passed to the worker as it opens
    on_disk: bool = True
    as_user: str | None = None  # whom to run as where we are root, since the peer refuses root
    limits: Limits = field(default_factory=Limits)


class Peer:
    """A peer under test. Making it installs its environment where needed, and raises CouldNotRun where that fails."""

    def __init__(self, name: str, setup: Setup, embedder: Embedder, *, root: Path = ROOT) -> None:
        self.name = name
        self._setup = setup
        self._card = embedder.card
        self._root = root
        self._seconds: dict[str, float] = {"ingest": 0.0, "search": 0.0}
        python = setup.environment.python(root)
        self._folder = Path(tempfile.mkdtemp(prefix=f"peer-{name}-"))
        self._server = EmbeddingServer(embedder)
        self._worker: Worker | None = None
        try:
            self._worker = Worker(name, python, setup, self._folder)
            opening = {"folder": str(self._folder), "url": self._server.url, "dims": self._card.dims}
            self._opened = self._worker.call("open", setup.limits.open, **opening, **setup.options)
        except PeerFailed as error:
            self.close()
            raise CouldNotRun(str(error)) from error
        except BaseException:
            self.close()
            raise

    def ingest(self, store: str, lines: Sequence[Line]) -> None:
        """Take in all lines of a store."""
        for start in range(0, len(lines), INGEST_LINES):
            part = [_told(line) for line in lines[start : start + INGEST_LINES]]
            self._call("ingest", self._setup.limits.ingest, store=store, lines=part)

    def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
        """Find the lines that answer a question. Peers are not told what time it is: none of them asks."""
        hits = self._call("search", self._setup.limits.search, store=store, question=question, k=k)
        best: dict[str, Found] = {}
        for hit in hits:
            best.setdefault(hit["key"], Found(key=hit["key"], score=hit["score"], session=hit.get("session")))
        found = tuple(best.values())[:k]
        # The best score is all that a peer says of whether it knows; a rank statistic needs no scale.
        return Answer(found=found, confidence=found[0].score if found else 0.0)

    def describe(self) -> Mapping[str, Any]:
        """Tell versions, the shared embedder, and how the peer was driven."""
        installed = self._setup.environment.installed(self._root)
        return {
            "system": self.name,
            **self._opened,
            "pins": list(self._setup.environment.pins),
            "installed_bytes": installed.get("bytes"),
            "install_seconds": installed.get("seconds"),
            "embedder": self._card.label,
            "embedding": "pooled vectors over loopback /v1/embeddings, no token vectors",
            "text": "speaker: text, one entry a line",
            "notes": self._setup.notes,
            # Without the pipe and the start of the process, which are this harness's and not the peer's.
            "worker_seconds": {do: round(seconds, 3) for do, seconds in self._seconds.items()},
        }

    def size_bytes(self) -> int | None:
        """Tell what the stores take on disk; None for a peer that keeps them in memory."""
        return weight(self._folder / "data") if self._setup.on_disk else None

    def close(self) -> None:
        """End the worker and the server, and remove what they wrote."""
        if self._worker is not None:
            self._worker.close()
        self._server.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _call(self, do: str, limit: float, **request: Any) -> Any:
        if self._worker is None:
            raise PeerFailed(f"{self.name} is not running")
        result = self._worker.call(do, limit, **request)
        self._seconds[do] += self._worker.seconds
        return result


class Worker:
    """One worker process. A call that fails to come back in time ends it, and each later call says so at once."""

    def __init__(self, name: str, python: Path, setup: Setup, folder: Path) -> None:
        self.name = name
        self.seconds = 0.0  # that the last call took inside the worker
        self._numbers = 0
        self._broken = ""
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
        with self._lock:
            if self._broken:
                raise PeerFailed(self._broken)
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
                raise PeerFailed(self._told(f"{do}: {answer['error']}"))
            self.seconds = float(answer.get("seconds", 0.0))
            return answer["result"]

    def close(self) -> None:
        """Ask the worker to end; end it, and whatever it started, where it does not."""
        if not self._broken:
            with contextlib.suppress(PeerFailed):
                self.call("close", CLOSE_LIMIT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=END_LIMIT)
        self._end()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
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
        return PeerFailed(self._broken)

    def _told(self, why: str) -> str:
        tail = "\n".join(self._tail)
        status = self._process.poll()
        ended = f" (exit status {status})" if status is not None else ""
        return f"{self.name}: {why}{ended}" + (f"\n{tail}" if tail else "")

    def _end(self) -> None:
        # The whole group: a worker may have started a server of its own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for reader in self._readers:
            reader.join(timeout=5.0)

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _read_tail(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._tail.append(line.rstrip()[:500])


def said(line: Line) -> str:
    """Write a line as peers get it: they have no field for who spoke."""
    return f"{line.speaker}: {line.text}" if line.speaker else line.text


def _told(line: Line) -> dict[str, Any]:
    return {
        "key": line.key,
        "text": said(line),
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
