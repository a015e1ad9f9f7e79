"""Profiles: how readily concepts are found in a domain, and what an LLM that names them is told about it."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from everyword.errors import InvalidSetting

_LONGEST = 1 << 16  # bytes of a profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Cosines, seen from the centre of the graph, from which on things belong together. See docs/folding.md."""

    join: float = 0.55  # of an event and the mean of a concept that it joins
    found: float = 0.45  # of an event and others that found a concept with it, on average
    pair: float = 0.3  # of any two founders
    merge: float = 0.85  # of two concepts that become one
    neighbour: float = 0.2  # of two concepts that are related


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The settings of a domain."""

    name: str
    thresholds: Thresholds = field(default_factory=Thresholds)
    prompt: str = ""  # what an LLM that names concepts is told besides


_BUILT_IN = {
    "general": "",
    "personal": "The memory is of a private life: home, family, health, hobbies, travel, money.",
    "software": "The memory is of making and running software: name components, incidents, releases and tools.",
    "support": "The memory is of helping customers: name products, problems and agreements.",
    "research": "The memory is of study and research: name subjects, methods, experiments and papers.",
    "teamwork": "The memory is of a team at work: name projects, clients, decisions and events.",
    "news": "The memory is of public affairs: name events, places, institutions and conflicts.",
}


@cache
def load_profile(name: str) -> Profile:
    """Load a profile by its name, or a TOML file by its path."""
    if name in _BUILT_IN:
        return Profile(name=name, prompt=_BUILT_IN[name])
    if not os.path.isfile(name):
        known = ", ".join(_BUILT_IN)
        raise InvalidSetting(f"There is no profile {name!r}.", fix=f"Choose one of {known}, or name a TOML file.")
    if os.path.getsize(name) > _LONGEST:
        raise InvalidSetting(f"The profile {name} is too large.", fix="A profile is a small file.")
    try:
        told = tomllib.loads(Path(name).read_text(encoding="utf-8", errors="replace"))
        unknown = sorted(told.keys() - {"prompt", "thresholds"})
        if unknown:
            raise ValueError(f"it has no setting {unknown[0]!r}")
        thresholds = Thresholds(**_checked(told.get("thresholds", {})))
        return Profile(name=Path(name).stem, thresholds=thresholds, prompt=str(told.get("prompt", "")))
    except (tomllib.TOMLDecodeError, TypeError, AttributeError, ValueError) as error:
        raise InvalidSetting(
            f"The profile {name!r} can't be read: {error}.", fix="See docs/folding.md for its form."
        ) from error


def _checked(told: Any) -> dict[str, float]:
    known = {one.name for one in fields(Thresholds)}
    given = {str(key): float(value) for key, value in told.items()}
    for key, value in given.items():
        if key not in known or not 0 <= value <= 1:
            raise ValueError(f"{key} = {value} is no threshold between 0 and 1")
    return given
