"""What processes of test_fork.py run: importable, so that spawn and forkserver find it."""

from __future__ import annotations

import time
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event, Semaphore
from pathlib import Path

from everyword import Memory

NOTES = 5  # that each writer adds at a time


def write_twice(path: Path, name: str, ready: Semaphore, go: Event, acknowledged: Queue) -> None:
    """Open a handle, add notes, and add more when the others have gone."""
    begun = time.monotonic()
    with Memory.open(path, embedder="hashing") as memory:
        sent = [memory.add(f"{name} early {number}").id for number in range(NOTES)]
        took = time.monotonic() - begun
        ready.release()
        go.wait()
        sent += [memory.add(f"{name} late {number}").id for number in range(NOTES)]
    acknowledged.put((sent, took))


def write_once(path: Path, name: str, acknowledged: Queue) -> None:
    """Add notes with a handle of one's own."""
    with Memory.open(path, embedder="hashing") as memory:
        acknowledged.put(([memory.add(f"{name} {number}").id for number in range(NOTES)], 0.0))
