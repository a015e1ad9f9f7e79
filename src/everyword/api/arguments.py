"""Check the arguments of public calls; each mistake raises a typed error."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

from msgspec.structs import fields, replace

from everyword.errors import BadLocation, InvalidEvent, InvalidFilter, InvalidInput, InvalidSetting
from everyword.ingest.validation import checked_meta, checked_name
from everyword.retrieval.config import RECIPES, SearchConfig
from everyword.settings import Settings
from everyword.types.events import (
    RANGES,
    SHORTEST_ID,
    Filter,
    Json,
    SessionOrder,
    is_range,
    raw_event_id,
    raw_event_ids,
)
from everyword.types.graph import RELATIONS
from everyword.types.times import Clock, as_datetime
from everyword.types.trust import Source

Time = datetime | date | str | int | float
Method = TypeVar("Method", bound=Callable[..., Any])
Choice = TypeVar("Choice", bound=StrEnum)


class SessionConditions(TypedDict, total=False):
    """Filters on sessions, as keyword arguments of reads."""

    wing: str | None
    speaker: str | None
    since: Time | None
    until: Time | None
    as_of: Time | None


class EventConditions(SessionConditions, total=False):
    """Filters on a list of events."""

    session: str | None
    role: str | Sequence[str] | None
    source: str | Sequence[str] | None
    meta: Mapping[str, Json] | None


class Conditions(EventConditions, total=False):
    """Filters on events that are searched."""

    project: str | None
    tag: str | None


def spelled_out(conditions: type[SessionConditions]) -> Callable[[Method], Method]:
    """Show each filter by name in the signature of a method, for `help()` and editors."""
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in conditions.__annotations__.items()
    ]

    def with_names(method: Method) -> Method:
        signature = inspect.signature(method)
        given = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        method.__signature__ = signature.replace(parameters=[*given, *named])  # type: ignore[attr-defined]
        return method

    return with_names


def filter_of(settings: Settings, handle_wing: str | None, given: Conditions) -> Filter:
    """Check the filters of a read; a handle on a wing sees only that wing."""
    unknown = given.keys() - Conditions.__annotations__.keys()
    if unknown:
        known = ", ".join(Conditions.__annotations__)
        raise InvalidFilter(f"Unknown filter {min(unknown)!r}.", fix=f"Valid filters: {known}.")
    for field in ("wing", "session", "speaker", "tag"):
        if (name := given.get(field)) is not None:
            name_to_find(field, name, settings)
    if project := given.get("project"):
        name_to_find("project", project, settings)
    wing = given.get("wing")
    if wing is not None and handle_wing is not None and wing != handle_wing:
        raise InvalidFilter(f"This handle sees only the wing {handle_wing!r}; read {wing!r} from the memory itself.")
    times = {field: time_or_none(given.get(field), field) for field in ("since", "until", "as_of")}
    checked_span(times["since"], times["until"])
    return Filter(
        wing=handle_wing if wing is None else wing,
        project=given.get("project") if wing is None and handle_wing is None else None,
        session=given.get("session"),
        speaker=given.get("speaker"),
        tag=given.get("tag"),
        role=_names_to_find("role", given.get("role"), settings),
        source=_names_to_find("source", given.get("source"), settings, known=tuple(Source)),
        meta=_meta_to_find(given.get("meta"), settings),
        **times,
    )


def checked_span(since: datetime | None, until: datetime | None) -> None:
    """Refuse a span of time that ends before it begins."""
    if since is not None and until is not None and since > until:
        raise InvalidFilter(f"since ({since.isoformat()}) is later than until ({until.isoformat()}).")


def checked_relation(relation: object) -> str:
    """Check the relation of facts, as it is stored (born_on) or shown (born on)."""
    found = relation.strip().casefold().replace(" ", "_") if isinstance(relation, str) else relation
    if found not in RELATIONS:
        raise InvalidFilter(f"Unknown relation {relation!r}.", fix=f"Choose one of {', '.join(RELATIONS)}.")
    return cast("str", found)


def name_to_find(field: str, value: object, settings: Settings) -> str:
    """Check a name or key to search for."""
    try:
        return checked_name(field, value, settings)
    except InvalidEvent as error:
        raise InvalidFilter(error.detail) from error


def _names_to_find(
    field: str, given: object, settings: Settings, *, known: Sequence[str] = ()
) -> tuple[str, ...] | None:
    """Check one name or several; "!" before a name excludes it."""
    if given is None:
        return None
    if not isinstance(given, str | list | tuple | set | frozenset):
        raise InvalidFilter(f"{field} takes a name or a list of names, not {type(given).__name__}.")
    several = [given] if isinstance(given, str) else list(cast("Iterable[object]", given))
    found: list[str] = []
    for one in several:
        name = name_to_find(field, one.removeprefix("!") if isinstance(one, str) else one, settings).lower()
        if known and name not in known:
            raise InvalidFilter(f"Unknown {field} {name!r}.", fix=f"Choose one of {', '.join(known)}.")
        found.append(f"!{name}" if str(one).startswith("!") else name)
    if not found:
        raise InvalidFilter(f"{field} is an empty list, which matches nothing.", fix="Leave it out to match all.")
    return tuple(sorted(set(found)))


def checked_question(query: object) -> str:
    """Check a question."""
    return checked_text("The question", query)


def checked_text(name: str, value: object) -> str:
    """Check a text that must hold something."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {type(value).__name__}.")
    if not value.strip():
        raise InvalidInput(f"{name} is empty.")
    return value


def checked_count(name: str, value: object, most: int) -> int:
    """Check a count."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        upto = f"from 1 to {most:,}" if most < NO_LIMIT else "above 0"
        raise InvalidInput(f"{name} must be a whole number {upto}, not {value!r}.")
    return value


NO_LIMIT = 1 << 62  # more than any store holds


def checked_limit(limit: object) -> int:
    """Check how many are asked for; None: all."""
    return NO_LIMIT if limit is None else checked_count("limit", limit, NO_LIMIT)


def time_or_none(given: Time | None, name: str) -> datetime | None:
    """Read a time that may be left out."""
    return None if given is None else as_datetime(given, name)


def required_choice(choices: type[Choice], name: str, given: str) -> Choice:
    """Convert a word that must be given to its enum member."""
    found = chosen(choices, name, given)
    if found is None:
        raise InvalidInput(f"{name} is missing.", fix=f"Choose one of {', '.join(choices)}.")
    return found


def chosen(choices: type[Choice], name: str, given: str | None, *, also: str | None = None) -> Choice | None:
    """Convert a word to its enum member; None stays None, and so does `also`, a word for all of them."""
    if given in (None, also):
        return None
    try:
        return choices(given)
    except ValueError as error:
        known = ", ".join([*choices, *([also] if also else [])])
        raise InvalidFilter(f"Unknown {name} {given!r}.", fix=f"Choose one of {known}.") from error


def checked_order(order: str) -> SessionOrder:
    """Check the order in which sessions are listed."""
    return chosen(SessionOrder, "order", order) or SessionOrder.LATEST


def checked_id(id: object) -> bytes:
    """Check the id of an event; return its raw form."""
    raw = raw_event_id(id) if isinstance(id, str) else None
    if raw is None:
        raise InvalidInput(f"{id!r} is not the id of an event.", fix="Give ev_ and its 32 hexadecimal digits.")
    return raw


def checked_id_start(id: object) -> tuple[bytes, bytes]:
    """Check the id of an event, or its beginning; return the first and the last raw id that begin so."""
    raw_ids = raw_event_ids(id) if isinstance(id, str) else None
    if raw_ids is None:
        raise InvalidInput(
            f"{id!r} is not the id of an event.", fix=f"Give ev_ and at least {SHORTEST_ID} of its digits."
        )
    return raw_ids


def checked_path(path: object) -> Path:
    """Check the path of a file to read or write."""
    text: object = os.fspath(cast("str | os.PathLike[str]", path)) if isinstance(path, str | os.PathLike) else ""
    if not isinstance(text, str) or not text:
        raise BadLocation(f"{path!r} is not a path.")
    if "\x00" in text:
        raise BadLocation(f"{text!r} is not a path: it contains a NUL.")
    try:
        found = Path(text).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            os.lstat(found)  # raises if the name is too long for the system
        return found
    except (RuntimeError, UnicodeError, OSError) as error:  # unknown user in ~user, lone surrogate, name too long
        raise BadLocation(f"{text!r} is not a path ({error}).") from error


def settings_of(settings: object, options: Mapping[str, Any]) -> Settings:
    """Combine settings and keyword options, which take precedence."""
    known = sorted(field.name for field in fields(Settings))
    unknown = sorted(options.keys() - set(known))
    if unknown:
        raise InvalidSetting(f"Unknown option {unknown[0]!r}.", fix=f"Valid options: {', '.join(known)}.")
    if settings is None:
        return Settings(**options)
    if not isinstance(settings, Settings):
        raise InvalidSetting(f"settings must be Settings, not {type(settings).__name__}.", fix="Pass options by name.")
    return replace(settings, **options)


def recipe_of(recipe: object) -> SearchConfig:
    """Find a recipe by name."""
    if isinstance(recipe, SearchConfig):
        return recipe
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise InvalidSetting(f"Unknown recipe {recipe!r}.", fix=f"Valid recipes: {', '.join(RECIPES)}.")
    return RECIPES[recipe]


def checked_clock(clock: Clock) -> Clock:
    """Check a clock."""
    if not callable(clock):
        raise InvalidSetting(f"clock must be a function that returns the time, not {clock!r}.")
    return clock


def _meta_to_find(meta: object, settings: Settings) -> Mapping[str, Json] | None:
    try:
        checked = checked_meta(meta, settings)
    except InvalidEvent as error:
        raise InvalidFilter(error.detail) from error
    for name, wanted in checked.items():
        limits: Mapping[str, Json] = cast("Mapping[str, Json]", wanted) if isinstance(wanted, Mapping) else {}
        is_compared = any(one.startswith("$") for one in limits)
        if is_compared and not (is_range(wanted) and all(_is_number(limit) for limit in limits.values())):
            raise InvalidFilter(
                f"meta can't compare {name!r} with {json.dumps(wanted)}.",
                fix=f"Give a value, or limits of a number: {', '.join(RANGES)}.",
            )
    return checked or None


def _is_number(limit: object) -> bool:
    try:
        return isinstance(limit, int | float) and not isinstance(limit, bool) and isfinite(limit)
    except OverflowError:
        return False
