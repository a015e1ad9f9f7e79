"""The queries of `queries.sql`, by name."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_END = re.compile(r";[ \t]*$", re.MULTILINE)  # what follows is about the next query


@cache
def queries() -> dict[str, str]:
    """Read every query once."""
    text = files(__package__).joinpath("queries.sql").read_text(encoding="utf-8")
    parts = _NAMED.split(text)
    return {name: _END.split(body, maxsplit=1)[0].strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def query(name: str) -> str:
    """Give one query."""
    return queries()[name]
