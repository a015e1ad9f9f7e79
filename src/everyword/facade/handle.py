"""What every handle on a memory has: the parts of the memory, the scope that it sees, and patience with its server."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, Unpack, cast

from everyword.engine.engine import Engine
from everyword.engine.retry import again
from everyword.errors import EverywordError, StoreError
from everyword.facade.arguments import Conditions, Time, filter_of
from everyword.types.events import Filter
from everyword.types.times import as_datetime

F = TypeVar("F", bound=Callable[..., Any])

_RESUMES = "_resumes"


def resumes(method: F) -> F:
    """Mark a method that may be begun anew after it wrote something: it finds what is done, and does the rest."""
    setattr(method, _RESUMES, True)
    return method


class Handle:
    """A view of one space, or of one wing in it.

    Every public method waits out a server that breaks it off: it is done again, as `again` has it. What gives things
    one by one (a generator) does so for each page.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _explaining_each(method) if inspect.isgeneratorfunction(method) else _public(method))

    def __init__(
        self,
        engine: Engine,
        *,
        space: str,
        wing: str | None,
        owner: bool,
        walled: bool = False,
        editor: str | None = None,
    ) -> None:
        self._engine = engine
        self._space = space
        self._wing = wing
        self._owner = owner
        self._walled = walled  # it tells nothing of the file around its space
        self._editor = editor  # who edits through it, whatever a caller says; None: as the caller says

    def _by(self, given: str | None) -> str | None:
        return given if self._editor is None else self._editor

    def _moment(self, now: Time | None) -> datetime:
        return self._engine.clock() if now is None else as_datetime(now, "now")

    def _filter(self, **conditions: Unpack[Conditions]) -> Filter:
        return filter_of(self._engine.settings, self._wing, conditions)


def _public(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wait out a server that breaks a method off, and see to it that only errors of ours leave it."""
    resuming = getattr(method, _RESUMES, False)

    @wraps(method)
    def call(self: Handle, *given: Any, **named: Any) -> Any:
        try:
            result = again(self._engine, lambda: method(self, *given, **named), resumes=resuming)  # pyright: ignore[reportPrivateUsage]
        except Exception as error:
            raise _explained(error, self, method, given, named) from error
        if inspect.isgenerator(result):
            return _each(cast("Generator[Any, None, None]", result), self, method, given, named)
        return result

    return call


def _explaining_each(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Handle, *given: Any, **named: Any) -> Generator[Any]:
        yield from _each(method(self, *given, **named), self, method, given, named)

    return call


def _each(
    several: Generator[Any], handle: Handle, method: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
) -> Generator[Any]:
    try:
        yield from several
    except Exception as error:
        raise _explained(error, handle, method, given, named) from error


def _explained(
    error: Exception, handle: Handle, method: Callable[..., Any], given: tuple[Any, ...], named: dict[str, Any]
) -> Exception:
    if isinstance(error, EverywordError) and type(error) is not StoreError:
        return error
    from everyword.facade.errors import explained  # needed where something fails alone

    return explained(error, method, (handle, *given), named, handle._engine.store)  # pyright: ignore[reportPrivateUsage]
