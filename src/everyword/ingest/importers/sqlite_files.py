"""Read SQLite files of other programs without changing them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from everyword.errors import InvalidInput
from everyword.storage.open_files import opened, read_beside

MAGIC = b"SQLite format 3\x00"
_WRITES_AHEAD = slice(18, 20)  # of the header: write and read version; 2 means WAL
_HEAD_BYTES = 20
_NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection]:
    """Open a file read-only; its program may write to it meanwhile."""
    try:
        with read_beside(path), closing(_connected(path)) as connection:
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise InvalidInput(f"{path.name} can't be read as a database ({error}).") from error


def rows(connection: sqlite3.Connection, name: str, *values: object) -> Iterator[dict[str, Any]]:
    """Run a query of `queries.sql`; yield its rows as dicts."""
    cursor = connection.execute(_queries()[name], values)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def tables(path: Path) -> dict[str, set[str]]:
    """Return the tables and columns of a file; empty if it is not a database."""
    try:
        if not _head(path).startswith(MAGIC):
            return {}
        found: dict[str, set[str]] = {}
        with reading(path) as connection:
            for row in rows(connection, "tables"):
                found.setdefault(row["name"], set()).add(row["column"])
        return found
    except (OSError, InvalidInput):
        return {}


def _connected(path: Path) -> sqlite3.Connection:
    path = path.resolve()  # the log is beside the file, not beside a link to it
    address = path.as_uri()
    # immutable=1 if the folder is read-only, unless there is a log, which it would ignore; and if no program has the
    # file open, since SQLite would otherwise create a log beside it and leave it there.
    for how in ("immutable=1",) if _is_idle(path) else ("mode=ro",) if _has_log(path) else ("mode=ro", "immutable=1"):
        connection = sqlite3.connect(f"{address}?{how}", uri=True, check_same_thread=False)
        connection.text_factory = _decoded
        try:
            connection.execute(_queries()["probe"]).fetchone()
        except sqlite3.OperationalError:
            connection.close()
            continue
        except sqlite3.Error:
            connection.close()
            raise
        return connection
    beside = "; its log can't be read in that folder: copy both elsewhere" if _has_log(path) else ""
    raise sqlite3.OperationalError(f"it can't be opened{beside}")


def _is_idle(path: Path) -> bool:
    """Check for a WAL database that no program has open: it has no log."""
    head = _head(path)
    return head[_WRITES_AHEAD] == b"\x02\x02" and not path.with_name(f"{path.name}-wal").exists()


def _has_log(path: Path) -> bool:
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _head(path: Path) -> bytes:
    with opened(path) as file:
        return file.read(_HEAD_BYTES)


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


@cache
def _queries() -> dict[str, str]:
    text = files(__package__).joinpath("queries.sql").read_text(encoding="utf-8")
    pieces = _NAMED.split(text)
    return {name: body.strip().removesuffix(";") for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
