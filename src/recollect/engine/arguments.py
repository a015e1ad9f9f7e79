"""What callers pass to a memory, checked: one typed error for each thing that can be wrong with it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

from recollect.capture.drafts import checked_meta, checked_name
from recollect.core.clock import Clock, as_datetime
from recollect.core.errors import BadLocation, InvalidEvent, InvalidFilter, InvalidInput, InvalidSetting
from recollect.core.ids import raw_event_id
from recollect.core.settings import Settings
from recollect.core.trust import Source
from recollect.core.values import Filter, Json
from recollect.recall.recipes import RECIPES, Recipe

Time = datetime | date | str | int | float
Method = TypeVar("Method", bound=Callable[..., Any])
Choice = TypeVar("Choice", bound=StrEnum)


class Conditions(TypedDict, total=False):
    """What the events that a read looks at must meet."""

    as_of: Time | None
    wing: str | None
    session: str | None
    speaker: str | None
    since: Time | None
    until: Time | None
    tag: str | None
    role: str | Sequence[str] | None
    source: str | Sequence[str] | None
    meta: Mapping[str, Json] | None


def spelled_out(method: Method) -> Method:
    """Show each condition by its name to `help()` and whoever else looks at the signature."""
    signature = inspect.signature(method)
    given = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in Conditions.__annotations__.items()
    ]
    method.__signature__ = signature.replace(parameters=[*given, *named])  # type: ignore[attr-defined]
    return method


def filter_of(settings: Settings, handle_wing: str | None, given: Conditions) -> Filter:
    """Check the conditions of a read; a handle on a wing never sees beyond it."""
    unknown = given.keys() - Conditions.__annotations__.keys()
    if unknown:
        known = ", ".join(Conditions.__annotations__)
        raise InvalidFilter(f"{min(unknown)!r} is no condition.", fix=f"Conditions are {known}.")
    for field in ("wing", "session", "speaker", "tag"):
        if (name := given.get(field)) is not None:
            name_to_find(field, name, settings)
    wing = given.get("wing")
    if wing is not None and handle_wing is not None and wing != handle_wing:
        raise InvalidFilter(f"This handle sees the wing {handle_wing!r} alone; ask the memory itself for {wing!r}.")
    times = {
        field: None if (time := given.get(field)) is None else as_datetime(cast(Time, time), field)
        for field in ("since", "until", "as_of")
    }
    return Filter(
        wing=handle_wing if wing is None else wing,
        session=given.get("session"),
        speaker=given.get("speaker"),
        tag=given.get("tag"),
        role=_names_to_find("role", given.get("role"), settings),
        source=_names_to_find("source", given.get("source"), settings, known=tuple(Source)),
        meta=_meta_to_find(given.get("meta"), settings),
        **times,
    )


def name_to_find(field: str, value: object, settings: Settings) -> str:
    """Check a name or key that is looked for."""
    try:
        return checked_name(field, value, settings)
    except InvalidEvent as error:
        raise InvalidFilter(error.detail) from error


def _names_to_find(
    field: str, given: object, settings: Settings, *, known: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """Check one name or several; one that begins with "!" excludes."""
    if given is None:
        return None
    if not isinstance(given, str | list | tuple | set | frozenset):
        raise InvalidFilter(f"{field} takes a name or a list of names, not {type(given).__name__}.")
    several = [given] if isinstance(given, str) else list(cast("Iterable[object]", given))
    found: list[str] = []
    for one in several:
        name = name_to_find(field, one.removeprefix("!") if isinstance(one, str) else one, settings).lower()
        if known and name not in known:
            raise InvalidFilter(f"{field}={name!r} is not known.", fix=f"Choose among {', '.join(known)}.")
        found.append(f"!{name}" if str(one).startswith("!") else name)
    if not found:
        raise InvalidFilter(f"{field} is an empty list: nothing would be found.", fix="Leave it out to take all.")
    return tuple(sorted(set(found)))


def checked_question(query: object) -> str:
    """Check a question."""
    if not isinstance(query, str):
        raise InvalidInput(f"A question is a string, not {type(query).__name__}.")
    if not query.strip():
        raise InvalidInput("The question is empty.")
    return query


def checked_count(name: str, value: object, most: int) -> int:
    """Check a number of things."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise InvalidInput(f"{name} must be a whole number from 1 to {most:,}, not {value!r}.")
    return value


def chosen(choices: type[Choice], name: str, given: str | None, *, also: str | None = None) -> Choice | None:
    """Read one of several words; None where none is given. also: another word that the caller knows."""
    if given is None:
        return None
    try:
        return choices(given)
    except ValueError as error:
        known = ", ".join([choice.value for choice in choices] + ([also] if also else []))
        raise InvalidFilter(f"{name}={given!r} is not known.", fix=f"Choose one of {known}.") from error


def checked_id(id: object) -> bytes:
    """Check the id of an event; give its raw form."""
    raw = raw_event_id(id) if isinstance(id, str) else None
    if raw is None:
        raise InvalidInput(f"{id!r} is not the id of an event; those are ev_ and 32 hexadecimal digits.")
    return raw


def checked_path(path: object) -> Path:
    """Check the path of a file to read or write."""
    text: object = os.fspath(cast("str | os.PathLike[str]", path)) if isinstance(path, str | os.PathLike) else ""
    if not isinstance(text, str) or not text:
        raise BadLocation(f"{path!r} is not a path.")
    if "\x00" in text:
        raise BadLocation(f"{text!r} is not a path: it has a NUL in it.")
    try:
        found = Path(text).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            os.lstat(found)  # the system knows how long a name may be
        return found
    except (RuntimeError, UnicodeError, OSError) as error:  # a ~ of nobody, half a character, a name too long
        raise BadLocation(f"{text!r} is not a path ({error}).") from error


def settings_of(settings: object, options: Mapping[str, Any]) -> Settings:
    """Make settings of keyword options, on top of those that are given."""
    known = sorted(field.name for field in fields(Settings))
    unknown = sorted(options.keys() - set(known))
    if unknown:
        raise InvalidSetting(f"There is no option {unknown[0]!r}.", fix=f"Known: {', '.join(known)}.")
    if settings is None:
        return Settings(**options)
    if not isinstance(settings, Settings):
        raise InvalidSetting(f"settings must be Settings, not {type(settings).__name__}.", fix="Or give each by name.")
    return replace(settings, **options)


def recipe_of(recipe: object) -> Recipe:
    """Find a recipe by name."""
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise InvalidSetting(f"There is no recipe {recipe!r}.", fix=f"Known: {', '.join(RECIPES)}.")
    return RECIPES[recipe]


def checked_clock(clock: Clock) -> Clock:
    """Check what tells the time."""
    if not callable(clock):
        raise InvalidSetting(f"clock must be a function that tells the time, not {clock!r}.")
    return clock


def _meta_to_find(meta: object, settings: Settings) -> Mapping[str, Json] | None:
    try:
        return checked_meta(meta, settings) or None
    except InvalidEvent as error:
        raise InvalidFilter(error.detail) from error
