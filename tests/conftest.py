"""Order and paths: fast tests first, and `benchmarks` importable however pytest is called."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# The tests under these run for seconds each; what fails should fail in the first seconds of a run. Folders with long
# files come before those with short ones, so that all workers end at about the same time.
SLOW_LAST = ("page", "conformance", "postgres", "llm", "crash", "property", "surfaces")

# A shell makes what it runs in the background deaf to these, and with it all that tests start and want to end.
for name, usual in (("SIGINT", signal.default_int_handler), ("SIGQUIT", signal.SIG_DFL)):
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

# Hundreds of processes that the tests start import the package: the first one compiles it for all of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The command line shows times in the machine's zone.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

# Tests write thousands of small files to the disk, and wait for it each time: memory is there at once. A machine with
# little of it uses the disk.
IN_MEMORY = Path("/dev/shm")
ROOM_BYTES = 4_000_000_000
if IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ROOM_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))  # where tmp_path is

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the fast tests first; within a folder the order stays."""

    def place(item: pytest.Item) -> int:
        parts = item.path.parts
        return next((number for number, folder in enumerate(SLOW_LAST, 1) if folder in parts), 0)

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Leave thousands of collected tests out of every later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator:
    """Start a PostgreSQL when a test first needs one."""
    from postgres_server import running

    with running() as server:
        yield server


@pytest.fixture
def no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test and the processes that it starts load no model that reads."""
    monkeypatch.setenv("EVERYWORD_READER", "none")


@pytest.fixture(scope="session", autouse=True)
def _each_text_is_encoded_and_read_once() -> Iterator[None]:
    """Open the models once per process, and compute a text's vectors and what the reader finds in it once."""
    from everyword.models import onnx
    from everyword.models.reader import reader
    from remembered_runs import remembering

    with pytest.MonkeyPatch.context() as patch:
        for module in (onnx, reader):
            patch.setattr(module, "open_session", remembering(module.open_session))
        yield
