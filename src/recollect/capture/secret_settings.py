"""Patterns of secrets as a user sets them: a JSON file beside what is known.

    {"employee number": "EMP-[0-9]{6}", "vault token": "vt:(?P<secret>\\\\w{20})", "card number": false}

A name with an expression is looked for too; a group named `secret` limits what is taken out. A name with false leaves a
known pattern out. The expressions run on every text that comes in, so that their cost is the user's own.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from recollect.capture.secrets import DEFAULT, Patterns, make_pattern
from recollect.core.errors import InvalidSetting

VARIABLE = "RECOLLECT_SECRET_PATTERNS"


def patterns_of(path: str | None) -> Patterns:
    """Give the patterns that are set: those of a file, of the environment's file, or the known ones."""
    chosen = path or os.environ.get(VARIABLE)
    if not chosen:
        return DEFAULT
    file = Path(chosen).expanduser()
    try:
        changed = file.stat().st_mtime_ns
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"The patterns of secrets in {file} can't be read ({error}).") from error
    return _loaded(str(file), changed)


@lru_cache(maxsize=8)
def _loaded(path: str, _changed: int) -> Patterns:
    try:
        given: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidSetting(f"The patterns of secrets in {path} can't be read ({error}).") from error
    if not isinstance(given, dict):
        raise InvalidSetting(f"{path} must hold a JSON object of names and expressions.")
    return _patterns(path, cast("dict[str, Any]", given))


def _patterns(path: str, given: dict[str, Any]) -> Patterns:
    known = {one.name for one in DEFAULT.every}
    left_out = [name for name, value in given.items() if value is False]
    for name in left_out:
        if name not in known:
            raise InvalidSetting(f"{path}: there is no pattern {name!r}.", fix=f"Known: {', '.join(sorted(known))}.")
    for name, value in given.items():
        if value is not False and not isinstance(value, str):
            raise InvalidSetting(f"{path}: {name!r} must be a regular expression or false.")
    added = [make_pattern(name, value) for name, value in given.items() if isinstance(value, str)]
    return DEFAULT.without(*left_out).plus(*added)
