"""Queries of `.sql` files, by name."""

from __future__ import annotations

import re
from importlib.resources import files

_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n?", re.MULTILINE)


def named_queries(package: str) -> dict[str, str]:
    """Read every query of a package's `.sql` files."""
    entries = [entry for entry in files(package).iterdir() if entry.name.endswith(".sql")]
    found: dict[str, str] = {}
    for entry in sorted(entries, key=lambda one: one.name):
        parts = _NAMED.split(entry.read_text(encoding="utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            found[name] = _COMMENT.sub("", body).strip().removesuffix(";")
    return found
