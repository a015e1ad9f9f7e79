"""Queries of a `.sql` file, by name."""

from __future__ import annotations

import re
from importlib.resources import files

_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n?", re.MULTILINE)


def named_queries(package: str, file: str = "queries.sql") -> dict[str, str]:
    """Read every query of a package's file."""
    text = files(package).joinpath(file).read_text(encoding="utf-8")
    parts = _NAMED.split(text)
    return {
        name: _COMMENT.sub("", body).strip().removesuffix(";")
        for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }
