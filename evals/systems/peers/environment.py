"""An environment of its own for each peer: made on first use, with pinned versions, under .evals/peers/NAME."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3] / ".evals" / "peers"
DEBIAN_PYTHON = "/usr/bin/python3"
INSTALL_LIMIT = 900  # seconds; the largest takes one minute with a near index
SHOWN_LINES = 5  # of pip's own words in a reason

LOADS_EXTENSIONS = "import sqlite3, sys; sys.exit(not hasattr(sqlite3.connect(':memory:'), 'enable_load_extension'))"


class CouldNotRun(Exception):
    """A peer can't be measured here; the text is why, for the row that a table shows instead of numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What to install for a peer, and into what kind of Python."""

    name: str
    pins: tuple[str, ...]
    needs_extensions: bool = False  # of SQLite: pyenv's builds can't load them, Debian's can
    for_anybody: bool = False  # its worker runs as another user, who can't read an interpreter under /root

    def python(self, root: Path = ROOT) -> Path:
        """Give the environment's interpreter; install it first where that was not done."""
        folder = root / self.name
        root.mkdir(parents=True, exist_ok=True)
        (root / ".gitignore").write_text("*\n")
        with _alone(root / f"{self.name}.lock"):
            if not self._is_installed(folder):
                self._install(folder)
        return _interpreter(folder)

    def installed(self, root: Path = ROOT) -> Mapping[str, object]:
        """Tell what was installed, how long that took and what it weighs; nothing where it was not."""
        stamp = root / self.name / "installed.json"
        return json.loads(stamp.read_text()) if stamp.exists() else {}

    def why_not(self) -> str:
        """Say why this can't be installed here, as far as that is known without trying; empty if nothing is known."""
        try:
            self.base()
        except CouldNotRun as problem:
            return str(problem)
        return ""

    def base(self) -> str:
        """Find the Python that the environment is made with."""
        own: str = getattr(sys, "_base_executable", sys.executable)
        if not self.needs_extensions and not self.for_anybody:
            return own
        for python in (own, DEBIAN_PYTHON):
            if self._suits(python):
                return python
        wanted = "whose sqlite3 loads extensions" if self.needs_extensions else "that other users can read"
        raise CouldNotRun(f"no Python {wanted} (tried {own} and {DEBIAN_PYTHON})")

    def _is_installed(self, folder: Path) -> bool:
        return self.installed(folder.parent).get("pins") == list(self.pins) and _interpreter(folder).exists()

    def _install(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        started = time.monotonic()
        _call([self.base(), "-m", "venv", str(folder)])
        pip = [str(_interpreter(folder)), "-m", "pip"]
        _call([*pip, "install", "--quiet", "--disable-pip-version-check", *self.pins])
        frozen = _call([*pip, "freeze"]).splitlines()
        stamp = {
            "pins": list(self.pins),
            "seconds": round(time.monotonic() - started, 1),
            "bytes": weight(folder),
            "packages": frozen,
        }
        # Last of all: an environment without it was interrupted and is made anew.
        (folder / "installed.json").write_text(json.dumps(stamp, indent=1))

    def _suits(self, python: str) -> bool:
        # An interpreter in somebody's home can't be read by the unprivileged user that such a peer runs as.
        if self.for_anybody and Path(os.path.realpath(python)).is_relative_to(Path.home()):
            return False
        check = LOADS_EXTENSIONS if self.needs_extensions else ""
        try:
            return subprocess.run([python, "-c", check], capture_output=True, timeout=30).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False


def weight(folder: Path) -> int:
    """Sum the sizes of the files under a folder, links not followed."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size
            except OSError:  # a temporary file that went away meanwhile
                continue
    return total


def _interpreter(folder: Path) -> Path:
    return folder / "bin" / "python"


def _call(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_LIMIT)
    except subprocess.TimeoutExpired:
        raise CouldNotRun(f"`{' '.join(command[1:4])}` took more than {INSTALL_LIMIT} s") from None
    except OSError as error:
        raise CouldNotRun(f"{command[0]}: {error}") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        raise CouldNotRun(f"`{' '.join(command[1:4])}` failed: {' / '.join(lines[-SHOWN_LINES:])}")
    return done.stdout


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time install, so that two runs do not write the same files."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
