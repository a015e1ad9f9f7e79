"""Give every error that leaves a public call a type of ours.

A call that fails with an error of Python's has one of two causes that a caller can do something about: an argument of
a wrong type, or a damaged store. Both are looked for only after the error, so that a call that works pays nothing. An
error with neither cause is a bug of ours, or comes from the caller's own code (a clock, an embedder, a callback). It is
passed on as it is.
"""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, Union, cast

from everyword.api import arguments
from everyword.errors import EverywordError, InvalidInput, StoreCorrupt, StoreError
from everyword.storage.protocol import Store

_MOST_LOOKED_AT = 1_000  # elements of a list whose types are looked at
_INT64 = 1 << 63
# Errors of the system, which are told as they are: a file that is missing, a disk that fails, a key that was pressed.
_NOT_OURS = (OSError, ImportError, MemoryError, StopIteration)


def translate(
    error: Exception, method: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any], store: Store | None
) -> Exception:
    """Find the error that a caller should see in the place of one that a method raised."""
    if isinstance(error, _NOT_OURS) or (isinstance(error, EverywordError) and type(error) is not StoreError):
        return error
    if not isinstance(error, EverywordError):
        wrong = _wrong_argument(method, given, named)
        if wrong is not None:
            return InvalidInput(wrong)
    if store is not None and (damage := _damage(store)) is not None:
        return StoreCorrupt(f"{(StoreCorrupt.__doc__ or '').strip()} ({damage}; {type(error).__name__}: {error})")
    return error


def _damage(store: Store) -> str | None:
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
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, str | typing.TypeVar) or origin is typing.Unpack:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return value in inner if isinstance(value, collections.abc.Hashable) else False
    if hint is bool:
        return isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _INT64
    if hint is str:
        return isinstance(value, str)
    if origin is getattr(collections.abc, "Callable"):  # noqa: B009
        return callable(value) and not isinstance(value, type)
    if isinstance(origin, type):
        return _holds(value, origin, inner)
    if isinstance(hint, type):
        return getattr(hint, "_is_protocol", False) or typing.is_typeddict(hint) or isinstance(value, hint)
    return True


def _holds(value: object, origin: type, inner: tuple[Any, ...]) -> bool:
    """Tell whether a list or mapping is one, and holds what it should."""
    if not isinstance(value, origin) or (isinstance(value, str | bytes) and origin is not type(value)):
        return False
    if not inner:
        return True
    if isinstance(value, Mapping):
        return all(_fits(key, inner[0]) for key in cast("Mapping[object, object]", value))
    if isinstance(value, list | tuple):
        return all(_fits(one, inner[0]) for one in cast("Sequence[object]", value)[:_MOST_LOOKED_AT])
    return True


def _type_name(hint: Any) -> str:
    if typing.get_origin(hint) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_type_name(one) for one in typing.get_args(hint)))
    if hint is type(None):
        return "None"
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "").replace("collections.abc.", "")


def _shown(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.3g}" if isinstance(value, float) else f"a number of {value.bit_length()} bits"
    return type(value).__name__
