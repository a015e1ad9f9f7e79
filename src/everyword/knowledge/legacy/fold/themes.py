"""Themes: what many lives and much work have in common, by the words that give them away.

A profile is a small file that names themes and, where they should differ, thresholds. It changes settings, not code.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from everyword.errors import InvalidSetting
from everyword.text.terms import finder, stem
from everyword.types.ids import fingerprint

GENERAL = "general"  # no themes: concepts are founded and named by the words of their events
HINT_WEIGHT = 0.5  # of a word that only hints; one that is enough has 1
LONGEST_CUE = 3  # words
LONGEST_PROFILE = 1 << 20  # bytes; a profile is a small file
_words = finder("ALNUM(?:[-'’/]ALNUM)*")
_POSSESSIVE = re.compile(r"['’]s\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From where on things belong together; all between 0 and 1. Chosen on generated streams, see docs/folding.md."""

    join: float = 0.5  # likeness to a concept from which on an event confirms it
    firm: float = 1.0  # from which on it belongs there, and founds nothing else
    margin: float = 0.05  # how much less like a second concept may be, which the event then confirms too
    found: float = 0.25  # likeness of two events of one theme that may found a concept
    alone: float = 0.35  # the same, of events that share no theme
    mutual: float = 0.2  # between all founders
    third: float = 0.05  # likeness to two events that share a telling word, of a third that founds a concept with them
    least_theme: float = 0.3  # of a theme's words in an event that is to found a concept of it
    orphan: float = 0.15  # cosine from which on what has no company is linked to the nearest
    neighbour: float = 0.2  # cosine from which on two concepts are related
    merge: float = 0.85  # cosine of two concepts that are one


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What a domain calls things, and how readily it sees them."""

    name: str
    themes: Mapping[str, Mapping[str, float]]  # label -> its cues with their weights
    areas: Mapping[str, str]  # label -> the file it comes from: themes of one area come together
    thresholds: Thresholds = field(default_factory=Thresholds)
    prompt: str = ""  # what an LLM that words concepts is told besides

    @cached_property
    def cues(self) -> Mapping[str, Mapping[str, float]]:
        """Map a cue to the themes that it speaks for; one that speaks for several says less of each."""
        found: dict[str, dict[str, float]] = {}
        for label, words in self.themes.items():
            for cue, weight in words.items():
                found.setdefault(cue, {})[label] = weight
        return {cue: {label: weight / len(of) ** 0.5 for label, weight in of.items()} for cue, of in found.items()}

    @cached_property
    def version(self) -> str:
        """Name what is in it: a graph folded by another version is folded anew by `rebuild`."""
        themes = [f"{label}:{cue}:{weight}" for label, cues in self.themes.items() for cue, weight in cues.items()]
        return f"{self.name}@{fingerprint(*sorted(themes), repr(self.thresholds)).hex()[:8]}"

    def read(self, text: str) -> dict[str, float]:
        """Tell which themes a text speaks of, and how clearly."""
        if not self.themes:
            return {}
        words = stems(text)
        scores: dict[str, float] = {}
        for cue in _runs(words) & self.cues.keys():
            for label, weight in self.cues[cue].items():
                scores[label] = scores.get(label, 0.0) + weight
        return {label: round(score, 6) for label, score in sorted(scores.items())}


def stems(text: str) -> list[str]:
    """Give the stems of a text's words, in order."""
    return [stem(word) for word in _words(text).findall(_POSSESSIVE.sub("", text))]


@cache
def load_profile(name: str) -> Profile:
    """Load a profile by its name, or a file of your own by its path."""
    named = {entry.name.removesuffix(".toml"): entry for entry in _FOLDER.iterdir() if entry.name.endswith(".toml")}
    if name == GENERAL:
        return Profile(name=GENERAL, themes={}, areas={})
    if name in named:
        return _read(name, named[name].read_text(encoding="utf-8"))
    if os.path.isfile(name):
        if os.path.getsize(name) > LONGEST_PROFILE:
            raise InvalidSetting(f"The profile {name} is too large.", fix="A profile is a small file of themes.")
        return _read(Path(name).stem, Path(name).read_text(encoding="utf-8", errors="replace"))
    known = ", ".join([GENERAL, *sorted(named)])
    raise InvalidSetting(f"There is no profile {name!r}.", fix=f"Choose one of {known}, or name a TOML file.")


_FOLDER = files("everyword.knowledge.legacy.fold").joinpath("profiles")


def _read(name: str, text: str) -> Profile:
    try:
        told = tomllib.loads(text)
        themes = cast("dict[str, str]", told.get("themes", {}))
        read = {label: _cues(words) for label, words in themes.items()}
        thresholds = Thresholds(**_checked(told.get("thresholds", {})))
        prompt = str(told.get("prompt", ""))
    except (tomllib.TOMLDecodeError, TypeError, AttributeError, ValueError) as error:
        raise InvalidSetting(
            f"The profile {name!r} can't be read: {error}", fix="See docs/folding.md for its form."
        ) from error
    return Profile(name=name, themes=read, areas=dict.fromkeys(read, name), thresholds=thresholds, prompt=prompt)


def _cues(words: str) -> dict[str, float]:
    """Read "enough, enough; hint, hint"."""
    enough, _, hints = words.partition(";")
    found: dict[str, float] = {}
    for part, weight in ((hints, HINT_WEIGHT), (enough, 1.0)):
        for cue in part.split(","):
            if stemmed := " ".join(stems(cue)):
                found[stemmed] = weight
    return found


def _checked(told: Any) -> dict[str, float]:
    known = {one.name for one in fields(Thresholds)}
    given = {str(key): float(value) for key, value in told.items()}
    for key, value in given.items():
        if key not in known or not 0 <= value <= 1:
            raise ValueError(f"{key} = {value} is no threshold between 0 and 1")
    return given


def _runs(words: list[str]) -> set[str]:
    """Give every run of one to three words."""
    found = set(words)
    for length in range(2, LONGEST_CUE + 1):
        found.update(" ".join(words[start : start + length]) for start in range(len(words) - length + 1))
    return found
