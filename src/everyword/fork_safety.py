"""Make a fork wait for threads that hold locks or are in the middle of a change.

fork() copies the memory of a process but only the calling thread: a lock that another thread holds is never released in
the child. Code that a child depends on runs `with in_use(PART)`. A fork waits until all other threads have left such
blocks, for a limited time, because they may be waiting for the forking thread; new threads wait until the fork is over.
Each part registers with `on_fork` what to do before a fork and in the child.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from everyword.errors import StoreBusy

_FORK_WAITS_S = 10.0  # for threads to finish; most take milliseconds
_USE_WAITS_S = 3 * _FORK_WAITS_S  # for a fork to end, which may itself wait for another fork and for threads


class Use(Struct, frozen=True, eq=False):
    """A block of `in_use` that a thread is in."""

    thread: int
    part: str
    what: object

    @property
    def here(self) -> bool:
        """Whether it is the current thread."""
        return self.thread == threading.get_ident()


BeforeFork = Callable[[Sequence[Use]], None]  # gets the blocks that threads are still in
InChild = Callable[[Sequence[Use]], None]  # gets the blocks that threads were in at the fork


class _Process:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.changed = threading.Condition()
        self.uses: dict[Use, None] = {}
        self.forking: int | None = None  # the thread that is about to fork
        self.one_fork = threading.RLock()


_process = _Process()
_parts: list[tuple[BeforeFork | None, InChild]] = []


@contextmanager
def in_use(part: str, what: object = None) -> Generator[None]:
    """Delay forks during this block, up to the time that a fork waits; wait for a fork in progress."""
    process = check_process()
    use = Use(threading.get_ident(), part, what)
    with process.changed:
        inside = any(one.thread == use.thread for one in process.uses)  # then a fork already waits for this thread
        if not process.changed.wait_for(lambda: inside or process.forking in (None, use.thread), _USE_WAITS_S):
            raise StoreBusy("This process has been forking for too long; try again.")
        process.uses[use] = None
    try:
        yield
    finally:
        if process is _process:  # else this is a child that was forked inside the block
            with process.changed:
                process.uses.pop(use, None)
                process.changed.notify_all()


def on_fork(*, before: BeforeFork | None = None, in_child: InChild) -> None:
    """Register callbacks for before each fork (threads have finished or time is up) and for each child."""
    _parts.append((before, in_child))


def check_process() -> _Process:
    """Detect a fork that bypassed Python's hooks, as by a C library."""
    if _process.pid != os.getpid():
        _after_in_child()
    return _process


def never_free(thing: object) -> None:
    """Keep an object until the process ends, without ever running its destructor.

    For inherited objects of a child whose destructor would affect the parent.
    """
    import ctypes  # imported here: only such a child needs it

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _before() -> None:
    process = check_process()
    if not process.one_fork.acquire(timeout=_FORK_WAITS_S):
        return
    with process.changed:
        process.forking = threading.get_ident()
        process.changed.wait_for(lambda: all(use.here for use in process.uses), _FORK_WAITS_S)
        uses = list(process.uses)
    for before, _ in _parts:
        if before is not None:
            with contextlib.suppress(Exception):  # the part sees in the child what it did not do
                before(uses)


def _after_in_parent() -> None:
    process = _process
    with process.changed:
        if process.forking == threading.get_ident():
            process.forking = None
            process.changed.notify_all()
    with contextlib.suppress(RuntimeError):  # this thread never got the lock
        process.one_fork.release()


def _after_in_child() -> None:
    global _process
    parents, _process = _process, _Process()
    uses = list(parents.uses)
    if parents.forking not in (None, threading.get_ident()):  # another thread was also about to fork
        uses += [Use(parents.forking, part, None) for part in PARTS]
    for _, in_child in _parts:
        in_child(uses)


STORE, MODELS = PARTS = ("store", "models")

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
