"""Let a process fork only when none of its threads is in the middle of something that a child could not finish.

fork() copies the memory of a process but only the thread that calls it: what another thread had locked or half done
stays so in the child. Code that a child depends on runs `with in_use(PART)`. A fork waits until all other threads have
left such blocks, and for a limited time, since a thread may in turn wait for the one that forks; new ones wait outside
until it is over. Each part says with `on_fork` what it does before a fork and in the child.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from everyword.errors import StoreBusy

_FORK_WAITS_S = 10.0  # for threads to finish; most take milliseconds
_USE_WAITS_S = 3 * _FORK_WAITS_S  # for a fork to be over; it waits itself, for another fork and for threads


@dataclass(frozen=True, eq=False, slots=True)
class Use:
    """Something that is being used."""

    thread: int
    part: str
    what: object

    @property
    def here(self) -> bool:
        """Tell whether it is this very thread that uses it."""
        return self.thread == threading.get_ident()


BeforeFork = Callable[[Sequence[Use]], None]  # given what is still in use
InChild = Callable[[Sequence[Use]], None]  # given what was in use when the process forked


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
    """Keep the process from forking in this block, for as long as a fork waits; wait for one that is under way."""
    process = check_process()
    use = Use(threading.get_ident(), part, what)
    with process.changed:
        inside = any(one.thread == use.thread for one in process.uses)  # then a fork waits for this thread already
        if not process.changed.wait_for(lambda: inside or process.forking in (None, use.thread), _USE_WAITS_S):
            raise StoreBusy("This process is forking, and that does not end; try again.")
        process.uses[use] = None
    try:
        yield
    finally:
        if process is _process:  # else this is a child, forked in the block
            with process.changed:
                process.uses.pop(use, None)
                process.changed.notify_all()


def on_fork(*, before: BeforeFork | None = None, in_child: InChild) -> None:
    """Have a part called before each fork, when threads have finished or time is up, and in each child."""
    _parts.append((before, in_child))


def check_process() -> _Process:
    """Notice a fork that Python was not told of, as by a C library."""
    if _process.pid != os.getpid():
        _after_in_child()
    return _process


def never_free(thing: object) -> None:
    """Keep an object for as long as the process lives, its destructor not run even when the interpreter ends.

    For what a child inherited and can't end without touching what still belongs to its parent.
    """
    import ctypes  # only a child that inherited something pays for it

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
            with contextlib.suppress(Exception):  # a part finds in the child what it has not done
                before(uses)


def _after_in_parent() -> None:
    process = _process
    with process.changed:
        if process.forking == threading.get_ident():
            process.forking = None
            process.changed.notify_all()
    with contextlib.suppress(RuntimeError):  # this thread waited for it in vain
        process.one_fork.release()


def _after_in_child() -> None:
    global _process
    parents, _process = _process, _Process()
    uses = list(parents.uses)
    if parents.forking not in (None, threading.get_ident()):  # another thread was about to fork, too
        uses += [Use(parents.forking, part, None) for part in PARTS]
    for _, in_child in _parts:
        in_child(uses)


STORE, MODELS = PARTS = ("store", "models")

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
