"""What every handle on a memory has: the parts of the memory, the scope that it sees, and patience with its server."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, Unpack

from recollect.core.clock import as_datetime
from recollect.core.values import Filter
from recollect.engine.again import again
from recollect.engine.arguments import Conditions, Time, filter_of
from recollect.engine.engine import Engine

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
            if inspect.isfunction(method) and not name.startswith("_") and not inspect.isgeneratorfunction(method):
                setattr(cls, name, _waiting_out(method))

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


def _waiting_out(method: Callable[..., Any]) -> Callable[..., Any]:
    resuming = getattr(method, _RESUMES, False)

    @wraps(method)
    def call(self: Handle, *given: Any, **named: Any) -> Any:
        return again(self._engine, lambda: method(self, *given, **named), resumes=resuming)  # pyright: ignore[reportPrivateUsage]

    return call
