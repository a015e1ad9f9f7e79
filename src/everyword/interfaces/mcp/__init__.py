"""A memory as an MCP server: operations as tools, sessions as resources, two prompts. Here, the memory behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from everyword.errors import Closed, EverywordError, NotAllowed
from everyword.private_files import make_folder_of

if TYPE_CHECKING:
    from everyword.ingest.projects import Projects
    from everyword.interfaces.mcp.tools import ToolSet
    from everyword.interfaces.operations import Operation
    from everyword.memory import Memory

R = TypeVar("R")

_POLL_EVERY_S = 0.5  # the delay of change notifications
# How the project at hand is given: as the wing alone, or as the one that is searched first. What is added is marked.
_QUESTIONS = ("recall", "context", "ask")
IN_PROJECT = {"add": "mark", "wake_up": "wing", "forget": "wing", **dict.fromkeys(_QUESTIONS, "project")}


class OpenMemory:
    """A memory that opens on first use. If opening fails, the next request tries again."""

    def __init__(
        self,
        location: str,
        *,
        space: str | None = None,
        wing: str | None = None,
        project: str | None = None,
        embedder: str | None = None,
    ) -> None:
        self.location = location
        self.wing = wing  # clients see nothing else
        self._folder = project if wing is None else None  # whose project is at hand, unless a call names a wing
        self._space = space
        self._embedder = embedder
        self._lock = threading.Lock()
        self._whole: Memory | None = None
        self._closed = False

    @property
    def memory(self) -> Memory:
        """The handle that clients use."""
        return self.whole_space if self.wing is None else self.whole_space.wing(self.wing)

    @property
    def whole_space(self) -> Memory:
        """The handle on the space, for operations that are not limited to a wing."""
        whole = self._opened()
        return whole if self._space is None else whole.space(self._space)

    def in_project(self, operation: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
        """Let an operation work on the project at hand, unless its arguments name a wing."""
        how = IN_PROJECT.get(operation.name)
        if self._folder is None or how is None or "wing" in given or "ids" in given:
            return dict(given)
        project = self.projects.of(self._folder)
        if how == "mark":
            return dict(given) if project is None else project.placed(given)
        if project is None:
            return {**given, "wing": ""} if operation.name == "wake_up" else dict(given)
        return {**given, how: project.wing}

    @cached_property
    def projects(self) -> Projects:
        """The projects of the memory, with the wings that hooks use."""
        from everyword.ingest.projects import Projects
        from everyword.interfaces.hooks.state import home_of, load

        try:
            wings = load(str(home_of(None))).wings
        except EverywordError:  # no hooks are installed
            wings = {}
        return Projects(self.whole_space.scope.reader, wings)

    def check(self, operation: Operation) -> None:
        """Raise NotAllowed for a forbidden operation. Here all are allowed: every client is the owner."""

    def allows(self, operation: Operation) -> bool:
        """Tell whether the client may use an operation."""
        try:
            self.check(operation)
        except NotAllowed:
            return False
        return True

    @property
    def tool_set(self) -> ToolSet | None:
        """The tools that this client asked for, if it did."""
        return None

    async def in_thread(
        self, call: Callable[[], R], *, operation: Operation | None = None, received: Mapping[str, Any] | None = None
    ) -> R:
        """Run a call in a thread. operation, received: the called tool and its arguments, if it is a tool."""
        from anyio import to_thread  # importing it takes time

        return await to_thread.run_sync(call)

    @contextmanager
    def following(self) -> Generator[None]:
        """Count a subscription while it is open."""
        yield

    @property
    def changes(self) -> int:
        """How many changes were seen, if they are counted."""
        return 0

    async def wait_for_change(self, after: int) -> bool:
        """Wait for a change, or until the next poll is due; return False once the server has ended."""
        import anyio  # importing it takes time

        await anyio.sleep(_POLL_EVERY_S)
        return not self._closed

    def warm(self) -> None:
        """Load the model in a thread, so that the first question does not wait for it."""

        def ask() -> None:
            with suppress(EverywordError):  # the first request reports it
                self.memory.recall("warm", k=1)

        threading.Thread(target=ask, name="everyword-warm", daemon=True).start()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._whole is not None:
                self._whole.close()

    def _opened(self) -> Memory:
        with self._lock:
            if self._closed:
                raise Closed
            if self._whole is None:
                from everyword.memory import Memory

                make_folder_of(self.location)
                self._whole = Memory.open(self.location, embedder=self._embedder)
            return self._whole
