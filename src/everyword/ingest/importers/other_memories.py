"""Other programs' memories: mem0, MemPalace and MCP's reference memory server."""

from __future__ import annotations

import io
import pickle
import pickletools
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from everyword.errors import InvalidInput
from everyword.ingest.importers.records import (
    Item,
    Position,
    Record,
    as_list,
    as_record,
    digest,
    item,
    last_folder,
    left_out,
    skipped,
)
from everyword.ingest.importers.sources import Format, Source
from everyword.ingest.importers.streaming import first_records, json_lines
from everyword.storage.open_files import opened, read_beside
from everyword.storage.sql.queries import named_queries
from everyword.types.events import Json

# Read SQLite files of other programs without changing them.

MAGIC = b"SQLite format 3\x00"
_WRITES_AHEAD = slice(18, 20)  # of the header: write and read version; 2 means WAL
_HEAD_BYTES = 20
_QUERIES = "everyword.ingest.importers"  # the package of `queries.sql`


@contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection]:
    """Open a file read-only; its program may write to it meanwhile."""
    try:
        with read_beside(path), closing(_connected(path)) as connection:
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise InvalidInput(f"{path.name} can't be read as a database ({error}).") from error


def rows(connection: sqlite3.Connection, name: str) -> Iterator[Record]:
    """Run a query of `queries.sql`; yield its rows."""
    cursor = connection.execute(named_queries(_QUERIES)[name])
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield Record(zip(names, row, strict=True))


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
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            connection.execute(named_queries(_QUERIES)["probe"]).fetchone()
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


# A mem0 store: its history (`history.db`), and its memories if they are in a local Qdrant (`storage.sqlite`).
#
# Qdrant pickles its points. Loading a pickle can run code, so every class and function in it is replaced by an inert
# one: the result is plain values or nothing.

_OWNERS = ("user_id", "agent_id", "run_id", "actor_id")


def _recognise_mem0(source: Source, part: str) -> float:
    found = {} if source.kind == "zip" else tables(source.local(part))
    if {"memory_id", "old_memory", "new_memory"} <= found.get("history", set()):
        return 0.95
    return 0.6 if found.get("points") == {"id", "point"} else 0.0


def _read_mem0(source: Source, part: str, _after: Position | None) -> Iterator[Item]:
    found = tables(source.local(part))
    with reading(source.local(part)) as connection:
        if "history" in found:
            yield from _history(source, connection)
        if "session_scope" in found.get("messages", ()):
            for row in rows(connection, "mem0_messages"):
                role = row.text("role") or None
                yield item(
                    row.text("content"),
                    key=f"message:{row['id']}",
                    source={"message": row["id"]},
                    at=row["created_at"],
                    session=row.text("session_scope") or None,
                    speaker=row.text("name") or role,
                    role=role,
                )
        if found.get("points") == {"id", "point"}:
            yield from _points(source, connection)


def _history(source: Source, connection: sqlite3.Connection) -> Iterator[Item]:
    # The history does not name the users; the points do.
    owners = {
        memory: payload
        for other in _databases(source, "points")
        for memory, payload in (_point(row["point"]) for row in rows(other, "qdrant_points"))
    }
    removed = {row["memory_id"] for row in rows(connection, "mem0_removed")}
    for row in rows(connection, "mem0_history"):
        memory = row.text("memory_id")
        if memory in removed:
            yield left_out("removed in mem0")
            continue
        about = {**owners.get(memory, Record()), **row, "data": row.get("new_memory"), "actor_id": row.get("actor_id")}
        yield _memory(Record(about), key=str(row["id"]), memory=memory)


def _points(source: Source, connection: sqlite3.Connection) -> Iterator[Item]:
    known = {row.text("memory_id") for other in _databases(source, "history") for row in rows(other, "mem0_known")}
    for row in rows(connection, "qdrant_points"):
        memory, payload = _point(row["point"])
        if memory in known:
            yield left_out("read from the history already")
        elif not payload:
            yield skipped("a point that can't be read", where=f"point {row['place']}")
        else:
            yield _memory(payload, key=f"point:{memory}", memory=memory)


def _memory(about: Record, *, key: str, memory: str) -> Item:
    owners = {name: about.text(name) for name in _OWNERS if about.get(name)}
    return item(
        about.text("data", "memory"),
        key=key,
        source={"memory": memory},
        at=about.get("updated_at") or about.get("created_at"),
        session=owners.get("run_id"),
        speaker=owners.get("actor_id") or owners.get("user_id") or owners.get("agent_id"),
        role="memory",
        wing=owners.get("agent_id"),
        meta=owners,
    )


def _databases(source: Source, table: str) -> Iterator[sqlite3.Connection]:
    """Open the databases of a mem0 folder that have a table, one after the other."""
    for path in map(source.local, source.ending(*MEM0.SUFFIXES)):
        if table in tables(path):
            with reading(path) as connection:
                yield connection


class _Inert:
    """A harmless stand-in for every class and function that a pickle names."""

    def __new__(cls, *_: object, **__: object) -> _Inert:
        return super().__new__(cls)

    def __init__(self, *_: object, **__: object) -> None:
        self.state = Record()

    def __setstate__(self, state: object) -> None:
        self.state = as_record(state)


class _InertUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        return _Inert

    def persistent_load(self, pid: Any) -> Any:
        return None


_PUTS = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))  # they make room up to a number


def _point(content: object) -> tuple[str, Record]:
    """Read a point's id and payload from its pickle."""
    if not isinstance(content, bytes):
        return "", Record()
    try:
        for step, place, _ in pickletools.genops(content):
            if step.name in _PUTS and isinstance(place, int) and place > len(content):
                return "", Record()  # it would fill the memory of the machine with room for what is not there
        point = _InertUnpickler(io.BytesIO(content)).load()
    except Exception:  # a broken pickle can raise anything
        return "", Record()
    state = point.state if isinstance(point, _Inert) else as_record(point)
    members = state.inner("__dict__") or state
    return str(members.get("id", "")), members.inner("payload")


MEM0 = Format("mem0", (".db", ".sqlite", ".sqlite3"), _recognise_mem0, _read_mem0)


# A MemPalace store: the drawers of its Chroma database (`chroma.sqlite3`), with wing, room and time.

_TEXT = "chroma:document"
_OURS = "mempalace"
_SUMMARIES = ("closet", "compressed")  # collections of summaries that MemPalace wrote


def _recognise_mempalace(source: Source, part: str) -> float:
    if source.kind == "zip" or "embedding_metadata" not in tables(source.local(part)):
        return 0.0
    try:
        with reading(source.local(part)) as connection:
            names = [row.text("name") for row in rows(connection, "chroma_collections")]
    except InvalidInput:
        return 0.0
    return 0.95 if any(_OURS in one for one in names) else 0.4


def _read_mempalace(source: Source, part: str, _after: Position | None) -> Iterator[Item]:
    with reading(source.local(part)) as connection:
        for _, members in groupby(rows(connection, "chroma_items"), key=lambda row: row["place"]):
            yield _drawer(list(members))


def _drawer(members: list[Record]) -> Item:
    drawer, collection = members[0].text("id"), members[0].text("collection")
    about = Record({row["key"]: row["value"] for row in members})
    if any(sign in collection for sign in _SUMMARIES):
        return left_out("a summary of drawers, not a drawer")
    file = last_folder(about.get("source_file"))
    dates = ("date", "event_date", "timestamp", "filed_at")
    stored = f"{members[0]['created_at']}Z"  # Chroma writes it in UTC
    return item(
        about.text(_TEXT),
        key=drawer,
        source={"drawer": drawer, "file": file, "chunk": about.get("chunk_index")},
        at=next((about[name] for name in dates if about.get(name)), stored),
        session=file,
        speaker=about.text("speaker", "added_by") or None,
        role="note",
        wing=about.text("wing") or None,
        meta={"room": about.get("room"), "hall": about.get("hall"), "topic": about.get("topic")},
    )


MEMPALACE = Format("mempalace", (".sqlite3",), _recognise_mempalace, _read_mempalace)


# The file of MCP's reference memory server, `memory.jsonl`: one event per observation and relation.

_SESSION = "knowledge-graph"  # as the reference server's tools here name theirs


def _recognise_mcp_memory(source: Source, part: str) -> float:
    signs = {"entityType", "relationType"}
    return 0.95 if any("type" in record and signs & record.keys() for record in first_records(source, part)) else 0.0


def _mcp_items(record: Record, _number: int) -> Iterator[Item]:
    texts, about = list[str](), dict[str, Json]()
    name, kind = record.text("name"), record.text("entityType")
    ends = [record.text(member) for member in ("from", "relationType", "to")]
    if record.get("type") == "entity" and name:
        observed = [f"{name}: {text}" for text in as_list(record.get("observations")) if isinstance(text, str) and text]
        texts, about = [f"{name} ({kind})" if kind else name, *observed], {"entity": name}
    elif record.get("type") == "relation" and all(ends):
        texts, about = [" ".join(ends)], {"relation": ends[1]}
    else:
        yield skipped("neither an entity nor a relation", record)
    for text in texts:
        yield item(text, key=digest(text), source=about, session=_SESSION, role="memory")


MCP_MEMORY = Format(
    "mcp-memory", (".jsonl", ".json"), _recognise_mcp_memory, json_lines(_mcp_items)
)  # the server writes the whole file again
