"""The scope that a memory and its parts share, and the decorators of every public method.

A decorator says how a method is retried where the server interrupts it. It also translates errors, so that only errors
of ours leave a public method.
"""

from __future__ import annotations

import inspect
import math
import sys
import threading
import time
import traceback
import types
import typing
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import lru_cache, partial, wraps
from itertools import islice
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, Union, Unpack, cast
from weakref import WeakKeyDictionary

from msgspec import Struct

from everyword import __version__
from everyword.api import arguments
from everyword.api.arguments import NO_LIMIT, Conditions, Time, filter_of
from everyword.engine.engine import Engine
from everyword.engine.retry import again, repeatable
from everyword.errors import EverywordError, InvalidInput, NotFound, StoreCorrupt, StoreError
from everyword.jobs.deriver import behind, catch_up, with_sources
from everyword.storage.protocol import Reader, Store, Writer
from everyword.types.events import Event, Filter, Json
from everyword.types.records import RecordKind
from everyword.types.times import as_datetime

_UNTRACED = ("pulse", "changes")  # what programs poll
_PAGE = 500  # rows read at a time
C = TypeVar("C")
P = ParamSpec("P")
R = TypeVar("R")


class Scope(Struct, frozen=True):
    """What a handle sees: one space, or one wing of it."""

    engine: Engine
    space: str
    wing: str | None = None
    walled: bool = False  # tells nothing of the file around the space
    editor: str | None = None  # the author of all edits, whatever `by` says; None: as `by` says

    @contextmanager
    def reader(self, *views: str, for_question: bool = False, within_s: float | None = None) -> Generator[Reader]:
        """Take a snapshot in which some views, and those that they rest on, hold all that was written before.

        for_question: derive only a few events; with more, views are read as far as they are. within_s: derive for so
        many seconds at most.
        """
        with self.engine.store.reader(self.space) as reader:
            needed = with_sources(self.engine.settings, views)
            if not needed or not behind(reader, needed):
                yield reader
                return
        repeatable(
            self.engine, lambda: catch_up(self.engine, self.space, needed, for_question=for_question, within_s=within_s)
        )
        with self.engine.store.reader(self.space) as reader:
            yield reader

    def writer(self, *views: str) -> AbstractContextManager[Writer]:
        """Begin a transaction, after some views were brought up to date."""
        with self.reader(*views):
            pass
        return self.engine.store.writer(self.space)

    def derive(self, *views: str) -> int:
        """Bring views up to date, however long it takes; count the events that were applied."""
        return again(self.engine, lambda: catch_up(self.engine, self.space, views), resumes=True)

    def record(self, kind: RecordKind, payload: Mapping[str, Json], *, by: str | None, **more: Any) -> None:
        """Write an edit into the log; more: as `write_record` takes it."""
        from everyword.ingest.write import write_record  # it imports what reads events: not for who only asks

        write_record(self.engine, self.space, kind, payload, by=by if self.editor is None else self.editor, **more)

    def source(self, event_id: str, of_what: str) -> Event:
        """Read the event that something rests on."""
        with self.reader() as reader:
            found = next(iter(reader.known([event_id]).values()), None)
        if found is None:
            raise NotFound(f"The event of the {of_what} was forgotten just now.")
        return found.event

    def moment(self, now: Time | None) -> datetime:
        """Read the asker's clock, or the engine's."""
        return self.engine.clock() if now is None else as_datetime(now, "now")

    def filter(self, **conditions: Unpack[Conditions]) -> Filter:
        """Check the filters of a read; a handle on a wing sees that wing alone."""
        return filter_of(self.engine.settings, self.wing, conditions)


def in_pages(
    scope: Scope, read: Callable[[C, int], Sequence[tuple[C, R]]], after: C, *, most: int = NO_LIMIT, first: int = _PAGE
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
_MOST_LOOKED_AT = 1_000  # elements of a list whose types are looked at
_INT64 = 1 << 63
# Errors of the system, which are told as they are: a file that is missing, a disk that fails, a key that was pressed.
_NOT_OURS = (OSError, ImportError, MemoryError, StopIteration)
_READ_ROWS = ("everyword.storage.", "everyword.knowledge.")
_AUDIT_EVERY_S = 60.0
_auditing = threading.Lock()
_audits: WeakKeyDictionary[Store, tuple[float, str | None]] = WeakKeyDictionary()  # when, and the damage found


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
            return _translated(error, method, (self, *args), kwargs, self.scope.engine.store)

        def each(items: Generator[Any]) -> Generator[Any]:
            try:
                yield from items
            except Exception as error:
                raise translated(error) from error

        def work() -> R:
            return retry(self.scope.engine, lambda: method(self, *args, **kwargs))

        trace: Any = sys.modules.get("opentelemetry.trace")  # there only if the program uses OpenTelemetry itself
        try:
            # Another thread may be importing it: its last name, __all__, is there when all of it is.
            is_traced = hasattr(trace, "__all__") and method.__name__ not in _UNTRACED
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


# Errors
#
# A call that fails with an error of Python's has one of two causes that a caller can do something about: an argument of
# a wrong type, or a damaged store. Both are looked for only after the error, so that a call that works pays nothing. An
# error with neither cause is a bug of ours, or comes from the caller's own code (a clock, an embedder, a callback), and
# is passed on as it is.


def _translated(
    error: Exception, method: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any], store: Store | None
) -> Exception:
    """Find the error that a caller should see in the place of one that a method raised."""
    if isinstance(error, _NOT_OURS) or (isinstance(error, EverywordError) and type(error) is not StoreError):
        return error
    if not isinstance(error, EverywordError):
        wrong = _wrong_argument(method, given, named)
        if wrong is not None:
            return InvalidInput(wrong)
    if store is not None and _may_be_damage(error) and (damage := _damage(store)) is not None:
        return StoreCorrupt(f"{(StoreCorrupt.__doc__ or '').strip()} ({damage}; {type(error).__name__}: {error})")
    return error


def _may_be_damage(error: Exception) -> bool:
    """Return whether damaged rows may have caused an error. A wrong type can only where rows are read."""
    if not isinstance(error, TypeError | AttributeError):
        return True
    innermost = deque(traceback.walk_tb(error.__traceback__), maxlen=1)
    return any(frame.f_globals.get("__name__", "").startswith(_READ_ROWS) for frame, _ in innermost)


def _damage(store: Store) -> str | None:
    """Look for damage, at most once in `_AUDIT_EVERY_S`: an audit reads the whole store."""
    with _auditing:
        at, found = _audits.get(store, (-math.inf, None))
        if time.monotonic() - at > _AUDIT_EVERY_S:
            found = _damage_now(store)
            _audits[store] = time.monotonic(), found
        return found


def _damage_now(store: Store) -> str | None:
    try:
        problems = store.audit(deep=False).problems
    except EverywordError as error:
        return str(error) if isinstance(error, StoreCorrupt) else None
    except Exception as error:
        return f"it can't be checked, {type(error).__name__}: {error}"
    return f"{problems[0].where}: {problems[0].what}" if problems else None


def _wrong_argument(method: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """Say which argument is not of the type that its annotation names; None where all are."""
    signature = inspect.signature(method)
    try:
        bound = signature.bind(*given, **named)
    except TypeError:
        return None  # too many arguments, or too few: Python's own words for that are good
    hints = _hints(method)
    for name, value in bound.arguments.items():
        several = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        for one, each in value.items() if several else ((name, value),):
            if one in hints and not _fits(each, hints[one]):
                return f"{one} must be {_type_name(hints[one])}, not {_shown(each)}."
    return None


@lru_cache(maxsize=256)
def _hints(method: Callable[..., Any]) -> dict[str, Any]:
    """Resolve the annotations of a method; one that can't be resolved here is left out."""
    function = inspect.unwrap(method)
    names = {**vars(arguments), **vars(typing), **getattr(function, "__globals__", {})}
    hints: dict[str, Any] = {}
    for parameter in inspect.signature(method).parameters.values():
        annotation = parameter.annotation
        try:
            hints[parameter.name] = eval(annotation, names) if isinstance(annotation, str) else annotation
        except (NameError, AttributeError, TypeError, SyntaxError):
            continue
    return {name: hint for name, hint in hints.items() if hint is not inspect.Parameter.empty}


def _fits(value: object, hint: Any) -> bool:
    """Tell whether a value is of a type, as far as types can be told when the program runs."""
    kind, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if kind is Literal:
        return isinstance(value, Hashable) and value in inner
    if kind is Callable:
        return callable(value) and not isinstance(value, type)
    if kind is Any or not isinstance(kind, type) or getattr(kind, "_is_protocol", False) or typing.is_typeddict(kind):
        return True
    if kind in (int, float):
        return isinstance(value, int | kind) and not isinstance(value, bool) and abs(value) < _INT64
    if not isinstance(value, kind) or (isinstance(value, str | bytes) and inner):
        return False
    if isinstance(value, Mapping | list | tuple) and inner:
        return all(_fits(one, inner[0]) for one in islice(cast("Iterable[object]", value), _MOST_LOOKED_AT))
    return True


def _type_name(hint: Any) -> str:
    if typing.get_origin(hint) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type_name(one) for one in typing.get_args(hint)))
    if hint is type(None):
        return "None"
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "").replace("collections.abc.", "")


def _shown(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, float):
            return f"{value:.3g}"
        return str(value) if abs(value) < _INT64 else f"a number of {value.bit_length()} bits"
    return type(value).__name__
