"""Other programs' memories: mem0, MemPalace and MCP's reference memory server."""

from __future__ import annotations

import io
import pickle
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from everyword.errors import InvalidInput
from everyword.ingest.importers.records import (
    Item,
    Position,
    as_dict,
    as_list,
    as_text,
    digest,
    item,
    last_folder,
    skipped,
)
from everyword.ingest.importers.sources import Format, Source
from everyword.ingest.importers.streaming import Line, each_json_line, first_records
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


def rows(connection: sqlite3.Connection, name: str, *values: object) -> Iterator[dict[str, Any]]:
    """Run a query of `queries.sql`; yield its rows as dicts."""
    cursor = connection.execute(named_queries(_QUERIES)[name], values)
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


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


# A mem0 store: its history (`history.db`), and its memories if they are in a local Qdrant (`storage.sqlite`).
#
# Qdrant pickles its points. Loading a pickle can run code, so every class and function in it is replaced by an inert
# one: the result is plain values or nothing.

_OWNERS = ("user_id", "agent_id", "run_id", "actor_id")
_TEXT_MEMBERS = ("data", "memory")


def _recognise_mem0(source: Source, part: str) -> float:
    found = {} if source.kind == "zip" else tables(source.local(part))
    if {"memory_id", "old_memory", "new_memory"} <= found.get("history", set()):
        return 0.95
    return 0.6 if found.get("points") == {"id", "point"} else 0.0


def _read_mem0(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read memories, one event per version, and the stored messages."""
    found = tables(source.local(part))
    if not found:
        with reading(source.local(part)):
            return  # a database without tables; an unreadable one raises
    if "history" in found:
        yield from _history(source, part, after)
    if "messages" in found and "session_scope" in found["messages"]:
        yield from _messages(source, part, after)
    if found.get("points") == {"id", "point"}:
        yield from _points(source, part, after)


def _place(after: Position | None, table: str) -> int:
    place = (after or {}).get(table, 0)
    return place if isinstance(place, int) else 0


def _history(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    owners = {memory: payload for memory, payload in _payloads(source) if memory}
    with reading(source.local(part)) as connection:
        removed = {row["memory_id"] for row in rows(connection, "mem0_removed")}
        for row in rows(connection, "mem0_history", _place(after, "history")):
            memory, where = as_text(row["memory_id"]), f"{part}, history {row['id']}"
            if memory in removed:
                one: Item = skipped("removed in mem0", where, expected=True)
            else:
                one = _memory(
                    as_text(row.get("new_memory")),
                    key=f"{MEM0.NAME}:{row['id']}",
                    memory=memory,
                    where=where,
                    at=row.get("updated_at") or row.get("created_at"),
                    about={**owners.get(memory, {}), "actor_id": row.get("actor_id")},
                )
            yield replace(one, position={**(after or {}), "history": row["place"]})


def _messages(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    with reading(source.local(part)) as connection:
        for row in rows(connection, "mem0_messages", _place(after, "messages")):
            role = as_text(row["role"]) or None
            one = item(
                as_text(row["content"]),
                key=f"{MEM0.NAME}:message:{row['id']}",
                where=f"{part}, message {row['id']}",
                source={"format": MEM0.NAME, "message": row["id"]},
                at=row["created_at"],
                session=as_text(row["session_scope"]) or None,
                speaker=as_text(row["name"]) or role,
                role=role,
            )
            # Messages come after the history, whose position stays.
            yield replace(one, position={"history": 1 << 62, "messages": row["place"]})


def _points(source: Source, part: str, after: Position | None) -> Iterator[Item]:
    known = _memories_in_history(source)
    with reading(source.local(part)) as connection:
        for row in rows(connection, "qdrant_points", _place(after, "points")):
            memory, payload = _point(row["point"])
            where = f"{part}, point {row['place']}"
            text = next((as_text(payload[name]) for name in _TEXT_MEMBERS if payload.get(name)), "")
            if memory in known:
                one: Item = skipped("read from the history already", where, expected=True)
            elif not payload:
                one = skipped("a point that can't be read", where)
            else:
                at = payload.get("updated_at") or payload.get("created_at")
                one = _memory(text, key=f"{MEM0.NAME}:point:{memory}", memory=memory, where=where, at=at, about=payload)
            yield replace(one, position={"points": row["place"]})


def _memory(text: str, *, key: str, memory: str, where: str, at: Json, about: dict[str, Json]) -> Item:
    owners = {name: as_text(about.get(name)) for name in _OWNERS if about.get(name)}
    return item(
        text,
        key=key,
        where=where,
        source={"format": MEM0.NAME, "memory": memory},
        at=at,
        session=owners.get("run_id"),
        speaker=owners.get("actor_id") or owners.get("user_id") or owners.get("agent_id"),
        role="memory",
        wing=owners.get("agent_id"),
        meta=owners,
    )


def _memories_in_history(source: Source) -> set[str]:
    known: set[str] = set()
    for name in source.ending(*MEM0.SUFFIXES):
        if "history" in tables(source.local(name)):
            with reading(source.local(name)) as connection:
                known |= {as_text(row["memory_id"]) for row in rows(connection, "mem0_known")}
    return known


def _payloads(source: Source) -> Iterator[tuple[str, dict[str, Json]]]:
    """Map each memory to its user, which the history does not name."""
    for name in source.ending(*MEM0.SUFFIXES):
        if tables(source.local(name)).get("points") == {"id", "point"}:
            with reading(source.local(name)) as connection:
                for row in rows(connection, "qdrant_points", 0):
                    memory, payload = _point(row["point"])
                    yield memory, {owner: payload.get(owner) for owner in _OWNERS}


class _Inert:
    """A harmless stand-in for every class and function that a pickle names."""

    def __new__(cls, *_: object, **__: object) -> _Inert:
        return super().__new__(cls)

    def __init__(self, *_: object, **__: object) -> None:
        self.state: dict[str, Any] = {}

    def __setstate__(self, state: object) -> None:
        self.state = as_dict(state)


class _InertUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Any:
        return _Inert

    def persistent_load(self, pid: Any) -> Any:
        return None


def _point(content: object) -> tuple[str, dict[str, Json]]:
    """Read a point's id and payload from its pickle."""
    if not isinstance(content, bytes):
        return "", {}
    try:
        point = _InertUnpickler(io.BytesIO(content)).load()
    except Exception:  # a broken pickle can raise anything
        return "", {}
    state = point.state if isinstance(point, _Inert) else as_dict(point)
    members = as_dict(state.get("__dict__")) or state
    return str(members.get("id", "")), as_dict(members.get("payload"))


MEM0 = Format(
    NAME="mem0", SUFFIXES=(".db", ".sqlite", ".sqlite3"), GROWS=True, recognise=_recognise_mem0, read=_read_mem0
)


# A MemPalace store: the drawers of its Chroma database (`chroma.sqlite3`), with wing, room and time.

_TEXT = "chroma:document"
_OURS = "mempalace"
_SUMMARIES = ("closet", "compressed")  # collections of summaries that MemPalace wrote


def _recognise_mempalace(source: Source, part: str) -> float:
    if source.kind == "zip" or "embedding_metadata" not in tables(source.local(part)):
        return 0.0
    try:
        with reading(source.local(part)) as connection:
            names = [as_text(row["name"]) for row in rows(connection, "chroma_collections")]
    except InvalidInput:
        return 0.0
    return 0.95 if any(_OURS in one for one in names) else 0.4


def _read_mempalace(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read drawers."""
    place = (after or {}).get("place", 0)
    with reading(source.local(part)) as connection:
        found = rows(connection, "chroma_items", place if isinstance(place, int) else 0)
        for number, members in groupby(found, key=lambda row: row["place"]):
            yield replace(_item(list(members), part), position={"place": number})


def _item(members: list[dict[str, Any]], part: str) -> Item:
    drawer, collection = as_text(members[0]["id"]), as_text(members[0]["collection"])
    about: dict[str, Any] = {row["key"]: row["value"] for row in members}
    where = f"{part}, {collection} {drawer}"
    if any(sign in collection for sign in _SUMMARIES):
        return skipped("a summary of drawers, not a drawer", where, expected=True)
    file = last_folder(about.get("source_file"))
    dates = ("date", "event_date", "timestamp", "filed_at")
    stored = f"{members[0]['created_at']}Z"  # Chroma writes it in UTC
    return item(
        as_text(about.get(_TEXT)),
        key=f"{MEMPALACE.NAME}:{drawer}",
        where=where,
        source={"format": MEMPALACE.NAME, "drawer": drawer, "file": file, "chunk": about.get("chunk_index")},
        at=next((about[name] for name in dates if about.get(name)), stored),
        session=file,
        speaker=as_text(about.get("speaker")) or as_text(about.get("added_by")) or None,
        role="note",
        wing=as_text(about.get("wing")) or None,
        meta={"room": about.get("room"), "hall": about.get("hall"), "topic": about.get("topic")},
    )


MEMPALACE = Format(
    NAME="mempalace", SUFFIXES=(".sqlite3",), GROWS=True, recognise=_recognise_mempalace, read=_read_mempalace
)


# The file of MCP's reference memory server, `memory.jsonl`: one event per observation and relation.

_SESSION = "knowledge-graph"  # as the reference server's tools here name theirs


def _recognise_mcp_memory(source: Source, part: str) -> float:
    signs = {"entityType", "relationType"}
    return 0.95 if any("type" in record and signs & record.keys() for record in first_records(source, part)) else 0.0


def _read_mcp_memory(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
    """Read entities with their observations, and relations."""
    modified = source.modified(part)

    def items_of(record: dict[str, Json], line: Line) -> Iterator[Item]:
        where = f"{part}, line {line.number}"
        texts, about = _texts(record)
        if not texts:
            yield skipped("neither an entity nor a relation", where, record)
        for text in texts:
            yield item(
                text,
                key=f"{MCP_MEMORY.NAME}:{digest(text)}",
                where=where,
                source={"format": MCP_MEMORY.NAME, **about},
                otherwise_at=modified,
                session=_SESSION,
                role="memory",
            )

    return each_json_line(source, part, after, items_of)


def _texts(record: dict[str, Json]) -> tuple[list[str], dict[str, Json]]:
    if record.get("type") == "entity" and as_text(record.get("name")):
        name, kind = as_text(record["name"]), as_text(record.get("entityType"))
        observed = [f"{name}: {text}" for text in map(as_text, as_list(record.get("observations"))) if text]
        return [f"{name} ({kind})" if kind else name, *observed], {"entity": name}
    ends = [as_text(record.get(member)) for member in ("from", "relationType", "to")]
    return ([" ".join(ends)], {"relation": ends[1]}) if record.get("type") == "relation" and all(ends) else ([], {})


MCP_MEMORY = Format(
    NAME="mcp-memory", SUFFIXES=(".jsonl", ".json"), recognise=_recognise_mcp_memory, read=_read_mcp_memory
)  # the server writes the whole file again
