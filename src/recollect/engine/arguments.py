"""What callers pass to a memory, checked: one typed error for each thing that can be wrong with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

from recollect.capture.drafts import checked_meta, checked_name
from recollect.core.clock import as_datetime
from recollect.core.errors import BadLocation, InvalidEvent, InvalidFilter, InvalidInput, InvalidSetting
from recollect.core.ids import raw_event_id
from recollect.core.settings import Settings
from recollect.core.values import Filter, Json
from recollect.recall.recipes import RECIPES, Recipe

Time = datetime | date | str | int | float
Choice = TypeVar("Choice", bound=StrEnum)


def filter_of(
    settings: Settings,
    handle_wing: str | None,
    *,
    wing: str | None = None,
    session: str | None = None,
    speaker: str | None = None,
    since: Time | None = None,
    until: Time | None = None,
    as_of: Time | None = None,
    tag: str | None = None,
    meta: Mapping[str, Json] | None = None,
) -> Filter:
    """Check the conditions of a read; a handle on a wing never sees beyond it."""
    for field, value in (("wing", wing), ("session", session), ("speaker", speaker), ("tag", tag)):
        if value is not None:
            name_to_find(field, value, settings)
    if wing is not None and handle_wing is not None and wing != handle_wing:
        raise InvalidFilter(f"This handle sees the wing {handle_wing!r} alone; ask the memory itself for {wing!r}.")
    return Filter(
        wing=handle_wing if wing is None else wing,
        session=session,
        speaker=speaker,
        since=None if since is None else as_datetime(since, "since"),
        until=None if until is None else as_datetime(until, "until"),
        as_of=None if as_of is None else as_datetime(as_of, "as_of"),
        tag=tag,
        meta=_meta_to_find(meta, settings),
    )


def name_to_find(field: str, value: object, settings: Settings) -> str:
    """Check a name or key that is looked for."""
    try:
        return checked_name(field, value, settings)
    except InvalidEvent as error:
        raise InvalidFilter(error.detail) from error


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


def chosen(choices: type[Choice], name: str, given: str | None) -> Choice | None:
    """Read one of several words; None where none is given."""
    if given is None:
        return None
    try:
        return choices(given)
    except ValueError as error:
        known = ", ".join(choice.value for choice in choices)
        raise InvalidFilter(f"{name}={given!r} is not known.", fix=f"Choose one of {known}.") from error


def checked_id(id: object) -> bytes:
    """Check the id of an event; give its raw form."""
    raw = raw_event_id(id) if isinstance(id, str) else None
    if raw is None:
        raise InvalidInput(f"{id!r} is not the id of an event; those are ev_ and 32 hexadecimal digits.")
    return raw


def checked_path(path: object) -> Path:
    """Check the path of a file to read or write."""
    if not isinstance(path, str | os.PathLike) or not (text := os.fspath(cast("str | os.PathLike[str]", path))):
        raise BadLocation(f"{path!r} is not a path.")
    if "\x00" in text:
        raise BadLocation(f"{text!r} is not a path: it has a NUL in it.")
    return Path(text).expanduser()


def settings_of(options: Mapping[str, Any]) -> Settings:
    """Make settings of keyword options."""
    try:
        return Settings(**options)
    except TypeError as error:
        known = ", ".join(sorted(Settings.__slots__))
        raise InvalidSetting(f"There is no such option among {sorted(options)}.", fix=f"Known: {known}.") from error


def recipe_of(recipe: str | Recipe) -> Recipe:
    """Find a recipe by name."""
    if isinstance(recipe, Recipe):
        return recipe
    if recipe not in RECIPES:
        raise InvalidSetting(f"There is no recipe {recipe!r}.", fix=f"Known: {', '.join(RECIPES)}.")
    return RECIPES[recipe]


def _meta_to_find(meta: object, settings: Settings) -> Mapping[str, Json] | None:
    try:
        return checked_meta(meta, settings) or None
    except InvalidEvent as error:
        raise InvalidFilter(error.detail) from error
