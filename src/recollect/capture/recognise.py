"""Which format a file, folder or zip is of."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from recollect.capture.formats import FORMATS, Format, Source, open_source, own_jsonl
from recollect.core.errors import BadLocation, InvalidInput

_SURE_ENOUGH = 0.5  # below this, more speaks against a format than for it
_APART = 0.15  # two formats closer than this can't be told apart by us; the user can


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """A source, and the format to read it with."""

    format: Format
    source: Source
    confidence: float


def recognise(path: str | os.PathLike[str], format: str | None = None) -> Recognised:
    """Look at a path and find its format; a format that is named is taken at its word."""
    try:
        source = open_source(Path(path))
    except TypeError as error:
        raise BadLocation(f"{path!r} is not a path.") from error
    if format is not None:
        chosen = named(format)
        if not chosen.parts(source):
            source.close()
            raise InvalidInput(f"There is nothing at {path} that {format} could read.")
        return Recognised(format=chosen, source=source, confidence=1.0)
    looked = sorted(((one.recognise(source), place, one) for place, one in enumerate(FORMATS)), key=_by_confidence)
    (best, _, first), (next_best, _, second) = looked[0], looked[1]
    if best < _SURE_ENOUGH:
        source.close()
        raise InvalidInput(_unknown(path, source, [one for one in looked if one[0] > 0]), fix=_choices())
    if best - next_best < _APART:
        source.close()
        raise InvalidInput(
            f"{path} looks like {first.NAME} and like {second.NAME}.",
            fix=f"Say which it is with --format {first.NAME} or --format {second.NAME}.",
        )
    return Recognised(format=first, source=source, confidence=best)


def is_own(path: Path, format: str | None) -> bool:
    """Tell whether a path is to be read as our own JSONL, which `export` writes and which keeps every field."""
    if format is not None:
        return format == own_jsonl.NAME and path.is_file()
    if not path.is_file():
        return False
    try:
        found = recognise(path)
    except InvalidInput:
        return path.suffix == ".jsonl"  # then our own reader says best what is wrong with it, by its line
    found.source.close()
    return found.format.NAME == own_jsonl.NAME


def named(name: str) -> Format:
    """Find a format by its name."""
    for one in FORMATS:
        if name == one.NAME:
            return one
    raise InvalidInput(f"There is no format {name!r}.", fix=_choices())


def _by_confidence(one: tuple[float, int, Format]) -> tuple[float, int]:
    return -one[0], one[1]


def _unknown(path: object, source: Source, looked: list[tuple[float, int, Format]]) -> str:
    what = {
        "file": "file",
        "folder": f"folder of {len(source.names):,} files",
        "zip": f"zip of {len(source.names):,} files",
    }
    if not looked:
        return f"{path} is a {what[source.kind]} of no known format."
    guesses = ", ".join(f"{one.NAME} ({confidence:.0%})" for confidence, _, one in looked[:3])
    return f"{path} is a {what[source.kind]} that looks only a little like {guesses}."


def _choices() -> str:
    return f"Say what it is with --format: {', '.join(one.NAME for one in FORMATS)}."
