"""The scope that a memory and its parts share, and the decorators of every public method.

A decorator says how a method is retried where the server interrupts it. It also translates errors, so that only errors
of ours leave a public method.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, cast

from everyword import __version__
from everyword.api.arguments import NO_LIMIT, Conditions, Time, filter_of
from everyword.engine.engine import Engine
from everyword.engine.retry import again, repeatable
from everyword.errors import EverywordError, StoreError
from everyword.jobs.deriver import behind, catch_up, with_sources
from everyword.storage.protocol import Reader, Writer
from everyword.types.events import Filter
from everyword.types.times import as_datetime

_UNTRACED = ("pulse", "changes")  # what programs poll
_PAGE = 500  # rows read at a time
C = TypeVar("C")
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Scope:
    """What a handle sees: one space, or one wing of it."""

    engine: Engine
    space: str
    wing: str | None = None
    walled: bool = False  # tells nothing of the file around the space
    editor: str | None = None  # the author of all edits, whatever `by` says; None: as `by` says

    @contextmanager
    def reader(self, *views: str, for_question: bool = False) -> Generator[Reader]:
        """Take a snapshot in which some views, and those that they rest on, hold all that was written before.

        for_question: derive only a few events; with more, views are read as far as they are.
        """
        with self.engine.store.reader(self.space) as reader:
            needed = with_sources(self.engine.settings, views)
            if not needed or not behind(reader, needed):
                yield reader
                return
        repeatable(self.engine, lambda: catch_up(self.engine, self.space, needed, for_question=for_question))
        with self.engine.store.reader(self.space) as reader:
            yield reader

    def writer(self, *views: str) -> AbstractContextManager[Writer]:
        """Begin a transaction, after some views were brought up to date."""
        with self.reader(*views):
            pass
        return self.engine.store.writer(self.space)

    def by(self, given: str | None) -> str | None:
        """Name the author of an edit."""
        return given if self.editor is None else self.editor

    def moment(self, now: Time | None) -> datetime:
        """Read the asker's clock, or the engine's."""
        return self.engine.clock() if now is None else as_datetime(now, "now")

    def filter(self, **conditions: Unpack[Conditions]) -> Filter:
        """Check the filters of a read; a handle on a wing sees that wing alone."""
        return filter_of(self.engine.settings, self.wing, conditions)


def in_pages(
    scope: Scope,
    read: Callable[[C, int], Sequence[tuple[C, R]]],
    after: C,
    *,
    most: int = NO_LIMIT,
    first: int = _PAGE,
) -> Iterator[R]:
    """Go through numbered rows, some at a time, so that no lock is held while the caller thinks.

    read: gives the rows after a number, at most so many. first: how many are read at first.
    """
    size = first
    while most > 0:
        rows = again(scope.engine, partial(read, after, min(most, size)))
        yield from (row for _, row in rows)
        if len(rows) < size:
            return
        after, most, size = rows[-1][0], most - len(rows), _PAGE


class Scoped(Protocol):
    """A memory or one of its parts."""

    @property
    def scope(self) -> Scope:
        """Give the scope."""
        ...


S = TypeVar("S", bound=Scoped)


def public(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Retry a public method as a whole, unless it committed something."""
    return _retried(method, again)


def public_resumable(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Retry a public method as a whole: it finds what is done, and does the rest."""
    return _retried(method, partial(again, resumes=True))


def public_in_steps(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Do not retry a public method as a whole: it retries each of its steps."""
    return _retried(method, lambda _engine, work: work())


def _retried(
    method: Callable[Concatenate[S, P], R], retry: Callable[[Engine, Callable[[], R]], R]
) -> Callable[Concatenate[S, P], R]:
    @wraps(method)
    def call(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        def translated(error: Exception) -> Exception:
            if isinstance(error, EverywordError) and type(error) is not StoreError:
                return error
            from everyword.api.error_translation import translate  # needed only where something fails

            return translate(error, method, (self, *args), kwargs, self.scope.engine.store)

        def each(items: Generator[Any]) -> Generator[Any]:
            try:
                yield from items
            except Exception as error:
                raise translated(error) from error

        def work() -> R:
            return retry(self.scope.engine, lambda: method(self, *args, **kwargs))

        trace: Any = sys.modules.get("opentelemetry.trace")  # there only if the program uses OpenTelemetry itself
        try:
            is_traced = trace is not None and method.__name__ not in _UNTRACED
            result = _traced(trace, self, method, work) if is_traced else work()
        except Exception as error:
            raise translated(error) from error
        return cast("R", each(cast("Generator[Any]", result))) if inspect.isgenerator(result) else result

    return call


def _traced(trace: Any, self: Scoped, method: Callable[..., Any], work: Callable[[], R]) -> R:
    """Do the work in a span, with what was called and how much came back, but no words of the memory."""
    part = type(self).__name__.lower()
    name = method.__name__ if part == "memory" else f"{part}.{method.__name__}"
    tracer = trace.get_tracer("everyword", __version__)
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with tracer.start_as_current_span(f"everyword.{name}", **quiet) as span:
        try:
            result = work()
        except Exception as error:
            # The message may quote what was given, so only its type is told.
            span.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise
        if span.is_recording() and isinstance(result, Sized):
            span.set_attribute("everyword.results", len(result))
        return result
