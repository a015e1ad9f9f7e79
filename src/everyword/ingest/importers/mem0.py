"""A mem0 store: its history (`history.db`), and its memories if they are in a local Qdrant (`storage.sqlite`).

Qdrant pickles its points. Loading a pickle can run code, so every class and function in it is replaced by an inert one:
the result is plain values or nothing.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from everyword.ingest.importers.records import Item, Position, as_dict, as_text, item, skipped
from everyword.ingest.importers.sources import Source
from everyword.ingest.importers.sqlite_files import reading, rows, tables
from everyword.types.events import Json

NAME = "mem0"
GROWS = True
SUFFIXES = (".db", ".sqlite", ".sqlite3")
_OWNERS = ("user_id", "agent_id", "run_id", "actor_id")
_TEXT_MEMBERS = ("data", "memory")


def recognise(source: Source, part: str) -> float:
    """Return the confidence, from 0 to 1, that the file has this format."""
    found = {} if source.kind == "zip" else tables(source.local(part))
    if {"memory_id", "old_memory", "new_memory"} <= found.get("history", set()):
        return 0.95
    return 0.6 if found.get("points") == {"id", "point"} else 0.0


def read(source: Source, part: str, *, after: Position | None = None) -> Iterator[Item]:
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
                    key=f"{NAME}:{row['id']}",
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
                key=f"{NAME}:message:{row['id']}",
                where=f"{part}, message {row['id']}",
                source={"format": NAME, "message": row["id"]},
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
                one = _memory(text, key=f"{NAME}:point:{memory}", memory=memory, where=where, at=at, about=payload)
            yield replace(one, position={"points": row["place"]})


def _memory(text: str, *, key: str, memory: str, where: str, at: Json, about: dict[str, Json]) -> Item:
    owners = {name: as_text(about.get(name)) for name in _OWNERS if about.get(name)}
    return item(
        text,
        key=key,
        where=where,
        source={"format": NAME, "memory": memory},
        at=at,
        session=owners.get("run_id"),
        speaker=owners.get("actor_id") or owners.get("user_id") or owners.get("agent_id"),
        role="memory",
        wing=owners.get("agent_id"),
        meta=owners,
    )


def _memories_in_history(source: Source) -> set[str]:
    known: set[str] = set()
    for name in source.ending(*SUFFIXES):
        if "history" in tables(source.local(name)):
            with reading(source.local(name)) as connection:
                known |= {as_text(row["memory_id"]) for row in rows(connection, "mem0_known")}
    return known


def _payloads(source: Source) -> Iterator[tuple[str, dict[str, Json]]]:
    """Map each memory to its user, which the history does not name."""
    for name in source.ending(*SUFFIXES):
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
