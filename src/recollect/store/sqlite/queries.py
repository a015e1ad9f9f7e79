"""The queries of the `.sql` files here, by name."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def queries() -> dict[str, str]:
    """Read every query once."""
    folder = files(__package__)
    texts = [entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.name.endswith(".sql")]
    parts = [part for text in sorted(texts) for part in _NAMED.split("\n" + text)[1:]]
    return {name: body.strip().removesuffix(";") for name, body in zip(parts[0::2], parts[1::2], strict=True)}


def query(name: str) -> str:
    """Give one query."""
    return queries()[name]
