"""Read the queries and migrations of a dialect: the shared templates beside this module, and the dialect's own file.

Templates are written as PostgreSQL has them, with `:name` for values that have names. For SQLite

- `$1` becomes `?1`;
- casts (`::text`) go;
- `= ANY($1)` becomes `IN carray(?1)`, and `!= ALL($1)` becomes `NOT IN carray(?1)`;
- functions take the names in `_SQLITE_FUNCTIONS`.

What a query needs in one dialect alone stands in `{postgres: ...}` or `{sqlite: ...}`. One that differs in more than
that stands in the `queries.sql` of each dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from everyword.errors import NewerSchema, StoreError, usual_fix

Dialect = Literal["sqlite", "postgres"]

_TEMPLATES = "everyword.storage.sql"
_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n?", re.MULTILINE)
_VALUE_BY_NAME = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_VALUE_BY_PLACE = re.compile(r"\$(\d+)")
_CAST = re.compile(r"::\w+(\[\])?")
_SQLITE_FUNCTIONS = {"greatest": "max", "least": "min", "octet_length": "length", "bool_or": "max"}
_FUNCTION = re.compile(rf"\b({'|'.join(_SQLITE_FUNCTIONS)})\(")


@cache
def query_of(dialect: Dialect, name: str) -> str:
    """Give a query of a dialect. To render all would take a new process 6 ms."""
    own = named_queries(f"everyword.storage.{dialect}").get(name)
    if own is not None:
        return own
    template = named_queries(_TEMPLATES)[name]
    return _for_sqlite(template) if dialect == "sqlite" else _for_postgres(template)


def query_names(dialect: Dialect) -> set[str]:
    """List the queries of a dialect."""
    return named_queries(_TEMPLATES).keys() | named_queries(f"everyword.storage.{dialect}").keys()


@cache
def named_queries(package: str) -> dict[str, str]:
    """Read every query of a package's `.sql` files."""
    found: dict[str, str] = {}
    for entry in sorted(_folder(package).glob("*.sql")):
        parts = _NAMED.split(entry.read_text(encoding="utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            found[name] = _COMMENT.sub("", body).strip().removesuffix(";")
    return found


@cache
def migrations(dialect: Dialect) -> tuple[tuple[int, str], ...]:
    """Read the numbered steps that make the schema, in order. A released step never changes."""
    folder = _folder("everyword.storage") / "migrations"
    numbered = re.compile(rf"(\d{{4}})_\w+\.{dialect}\.sql")
    found = [(match, entry) for entry in folder.iterdir() if (match := numbered.fullmatch(entry.name))]
    return tuple(sorted((int(match[1]), entry.read_text(encoding="utf-8")) for match, entry in found))


def _folder(package: str) -> Path:
    # Not importlib.resources: that imports zipfile and tempfile.
    return Path(__file__).parents[3].joinpath(*package.split("."))


def newest_schema(dialect: Dialect) -> int:
    """Tell the schema that this version writes."""
    return migrations(dialect)[-1][0]


def check_schema(have: int, dialect: Dialect, *, read_only: bool = False, what: str = "This memory") -> None:
    """Refuse a schema that this version does not know, or that it would have to change first."""
    newest = newest_schema(dialect)
    if have > newest:
        raise NewerSchema(f"{what} has schema {have}; this Everyword knows {newest}.", fix=usual_fix(NewerSchema))
    if have < newest and read_only:
        raise StoreError(
            f"{what} has the older schema {have} and was opened read-only.",
            fix="Open it once for writing, so that it is brought up to date.",
        )


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Complete a template of a query: what has no place for values, such as the name of a table."""
    for name, part in parts.items():
        template = template.replace(f"{{{name}}}", part)
    return template


def _for_postgres(template: str) -> str:
    return _VALUE_BY_NAME.sub(r"%(\1)s", _chosen(template, "postgres", "sqlite"))


def _for_sqlite(template: str) -> str:
    sql = _CAST.sub("", _chosen(template, "sqlite", "postgres"))
    sql = re.sub(r"!= ALL\(([^()]+)\)", r"NOT IN carray(\1)", sql)
    sql = re.sub(r"= ANY\(([^()]+)\)", r"IN carray(\1)", sql)
    sql = _FUNCTION.sub(lambda found: f"{_SQLITE_FUNCTIONS[found[1]]}(", sql)
    return _VALUE_BY_PLACE.sub(r"?\1", sql)


def _chosen(template: str, mine: Dialect, other: Dialect) -> str:
    """Keep what stands for one dialect, and drop what stands for the other, with the space before it."""
    sql = re.sub(rf"(^| )\{{{other}: [^}}]*\}}(?=\s|$|[),])", "", template, flags=re.MULTILINE)
    sql = re.sub(rf"\{{{other}: [^}}]*\}}", "", sql)
    return re.sub(rf"\{{{mine}: ([^}}]*)\}}", r"\1", sql)
