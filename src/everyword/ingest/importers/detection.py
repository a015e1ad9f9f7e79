"""Detect the format of a file, folder or zip."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from everyword.errors import BadLocation, InvalidInput
from everyword.ingest.importers import FORMATS, Format, Source, open_source
from everyword.ingest.importers import everyword_jsonl as own_jsonl

_MIN_CONFIDENCE = 0.5
_MIN_LEAD = 0.15  # over the second-best format; with less, the user has to choose


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """A source and its format."""

    format: Format
    source: Source
    confidence: float


def recognise(path: str | os.PathLike[str], format: str | None = None) -> Recognised:
    """Open a path and detect its format, unless the caller names one."""
    try:
        source = open_source(Path(path))
    except TypeError as error:
        raise BadLocation(f"{path!r} is not a path.") from error
    if format is not None:
        chosen = named(format)
        if not chosen.parts(source):
            source.close()
            raise InvalidInput(f"{path} holds no files that the format {format} reads.")
        return Recognised(format=chosen, source=source, confidence=1.0)
    ranked = sorted(((one.recognise(source), one) for one in FORMATS), key=lambda pair: -pair[0])
    (best, first), (next_best, second) = ranked[:2]
    if best < _MIN_CONFIDENCE:
        source.close()
        raise InvalidInput(_unknown(path, source, [pair for pair in ranked if pair[0] > 0]), fix=_choices())
    if best - next_best < _MIN_LEAD:
        source.close()
        raise InvalidInput(
            f"{path} could be {first.NAME} or {second.NAME}.",
            fix=f"Choose one with --format {first.NAME} or --format {second.NAME}.",
        )
    return Recognised(format=first, source=source, confidence=best)


def is_own(path: Path, format: str | None) -> bool:
    """Check whether a path is our own JSONL, as `export` writes it."""
    if format is not None:
        return format == own_jsonl.NAME and path.is_file()
    if not path.is_file():
        return False
    try:
        found = recognise(path)
    except InvalidInput:
        return path.suffix == ".jsonl"  # our own reader names the line that is wrong
    found.source.close()
    return found.format.NAME == own_jsonl.NAME


def named(name: str) -> Format:
    """Find a format by its name."""
    for one in FORMATS:
        if name == one.NAME:
            return one
    raise InvalidInput(f"Unknown format {name!r}.", fix=_choices())


def _unknown(path: object, source: Source, guesses: list[tuple[float, Format]]) -> str:
    what = {
        "file": "file",
        "folder": f"folder of {len(source.names):,} files",
        "zip": f"zip of {len(source.names):,} files",
    }
    if not guesses:
        return f"{path} is a {what[source.kind]} of no known format."
    listed = ", ".join(f"{one.NAME} ({confidence:.0%})" for confidence, one in guesses[:3])
    return f"{path} is a {what[source.kind]} of an uncertain format: {listed}."


def _choices() -> str:
    return f"Name it with --format: {', '.join(one.NAME for one in FORMATS)}."
