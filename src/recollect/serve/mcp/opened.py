"""The memory behind a server: opened when first needed, by whichever thread comes first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.core.errors import Closed, RecollectError
from recollect.core.paths import expanded
from recollect.core.private import make_private_folder

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.operations import Operation

R = TypeVar("R")

_LOOK_EVERY_S = 0.5  # how late a client is told of what was written


class Opened:
    """A memory that opens itself; one that could not be opened is tried again at the next request."""

    def __init__(
        self, location: str, *, space: str | None = None, wing: str | None = None, embedder: str | None = None
    ) -> None:
        self.location = location
        self.wing = wing
        self._space = space
        self._embedder = embedder
        self._lock = threading.Lock()
        self._whole: Memory | None = None
        self._closed = False

    @property
    def memory(self) -> Memory:
        """Give the handle that clients see."""
        whole = self._opened()
        handle = whole if self._space is None else whole.space(self._space)
        return handle if self.wing is None else handle.wing(self.wing)

    @property
    def whole_space(self) -> Memory:
        """Give the handle on the space, for what can't be about one wing."""
        whole = self._opened()
        return whole if self._space is None else whole.space(self._space)

    def check(self, operation: Operation) -> None:
        """Refuse an operation that clients may not use: none, where whoever can connect is the owner."""

    async def in_thread(
        self, call: Callable[[], R], *, operation: Operation | None = None, given: Mapping[str, Any] | None = None
    ) -> R:
        """Run a call in a thread. operation, given: the tool that is called, where it is one."""
        from anyio import to_thread  # only a server that runs waits

        return await to_thread.run_sync(call)

    @contextmanager
    def following(self) -> Generator[None]:
        """Count somebody in who waits for changes."""
        yield

    @property
    def beats(self) -> int:
        """Count the changes that were noticed, where somebody counts them."""
        return 0

    async def goes_on(self, seen: int) -> bool:
        """Wait until it is worth looking again after so many beats; False where nobody is told any more."""
        import anyio  # only a server that runs waits

        await anyio.sleep(_LOOK_EVERY_S)
        return not self._closed

    def warm(self) -> None:
        """Open and ask something in a thread of its own, so that the first question need not wait for the model."""

        def ask() -> None:
            with suppress(RecollectError):  # whoever asks first is told what is wrong
                self.memory.recall("warm", k=1)

        threading.Thread(target=ask, name="recollect-warm", daemon=True).start()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._closed = True
            if self._whole is not None:
                self._whole.close()

    def _opened(self) -> Memory:
        with self._lock:
            if self._closed:
                raise Closed
            if self._whole is None:
                from recollect.memory import Memory

                if "://" not in self.location and self.location != ":memory:":
                    with suppress(OSError):  # whatever is wrong with the folder, opening says it better
                        make_private_folder(expanded(self.location).parent)
                self._whole = Memory.open(self.location, embedder=self._embedder)
            return self._whole
