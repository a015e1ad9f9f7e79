"""The interface of mem0's `Memory` on an Everyword memory, for programs that were written against it.

    from everyword import Memory
    from everyword.interfaces.adapters.mem0 import Mem0

    memory = Mem0(Memory.open("memory.db"))
    memory.add("I moved to Lisbon.", user_id="ana")
    memory.search("Where does she live?", filters={"user_id": "ana"})

Each message is kept verbatim as one memory, whatever `infer` says: what it states is derived beside it, by rules, and
asked for with `statements()`. An update is a new version, and a deletion leaves the history; `forget` removes for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, cast
from uuid import UUID, uuid5

from everyword.errors import InvalidFilter, InvalidInput, NotFound
from everyword.interfaces.adapters.documents import Document, Documents, Redactor, labels_of
from everyword.memory import Memory
from everyword.types.events import Json

__all__ = ["Mem0"]

_NAME = "mem0"
_IDS = UUID("6f1c1f8e-5f0a-5c57-9a55-2a1f4f7f8a10")  # the namespace of ids; the same text gets the same id
_SCOPES = ("user_id", "agent_id", "run_id")
_JOINS = ("AND", "OR", "NOT")
_TIMES = ("created_at", "updated_at")
_NOT_OF_METADATA = (*_SCOPES, *_JOINS, *_TIMES)  # what filters can name besides
_OF_METADATA = "metadata"
_ANYTHING = "*"  # matches any value

Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
Answer = dict[str, Any]


class Mem0:
    """A memory with mem0's methods and answers."""

    def __init__(self, memory: Memory, *, redact: str | None = None) -> None:
        self.memory = memory
        self._documents = Documents(memory, _NAME, said_by_others=True)
        self._redactor = Redactor(memory, redact=redact)

    def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        infer: bool = True,
        **_ignored: Any,
    ) -> Answer:
        """Add each message; report those that exist already with the event NONE."""
        scope = _scope(user_id, agent_id, run_id)
        results: list[Answer] = []
        for role, text in _messages(messages):
            clean = self._redactor.text(text)
            id = str(uuid5(_IDS, json.dumps([scope, role, clean], sort_keys=True)))
            known = self._documents.get(id) is not None
            if not known:
                labelled = self._redactor.json(metadata or {})
                body: dict[str, Json] = {"scope": dict(scope), "role": role, "metadata": labelled}
                speaker = user_id if role == "user" else agent_id or role
                self._documents.put(id, clean, body, wing=user_id, role=role, speaker=speaker, labels=_labels(body))
            results.append({"id": id, "memory": clean, "event": "NONE" if known else "ADD", "role": role})
        return {"results": results}

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
        **_ignored: Any,
    ) -> Answer:
        """Find memories, in the order of `recall`; `rerank` is ignored."""
        wanted = _all_filters(filters, _scope(user_id, agent_id, run_id, needed=False))
        most = limit or top_k
        found = (
            _result(one)
            for one in self._documents.search(
                query,
                wing=_wing(wanted),
                scope=_wanted_scope(wanted),
                labels=_wanted_labels(wanted),
                meets=lambda one: _meets(_fields(one), wanted),
            )
            if threshold is None or (one.score or 0.0) >= threshold
        )
        return {"results": list(islice(found, most))}

    def get(self, memory_id: str) -> Answer | None:
        """Read one memory; return None if it does not exist."""
        known = self._documents.get(memory_id)
        return None if known is None else _result(known)

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        **_ignored: Any,
    ) -> Answer:
        """List memories, last changed first."""
        wanted = _all_filters(filters, _scope(user_id, agent_id, run_id, needed=False))
        found = (one for one in self._documents.each(wing=_wing(wanted)) if _meets(_fields(one), wanted))
        return {"results": [_result(one) for one in islice(found, limit)]}

    def update(self, memory_id: str, data: str, metadata: Mapping[str, Json] | None = None) -> Answer:
        """Replace the text of a memory; the old text stays in its history."""
        known = self._known(memory_id)
        body = {**known.body, "metadata": {**_dict(known.body.get("metadata")), **self._redactor.json(metadata or {})}}
        text = self._redactor.text(data)
        said = known.event
        self._documents.put(
            memory_id,
            text,
            body,
            wing=said.wing,
            role=said.role or "user",
            speaker=said.speaker,
            labels=_labels(body),
        )
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Answer:
        """Delete a memory."""
        self._known(memory_id)
        self._documents.delete(memory_id)
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> Answer:
        """Delete all memories of a user, agent or run."""
        wanted: list[Mapping[str, Any]] = [_scope(user_id, agent_id, run_id)]
        for one in [one for one in self._documents.each(wing=user_id) if _meets(_fields(one), wanted)]:
            self._documents.delete(one.key)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Answer]:
        """List the changes of a memory, oldest first."""
        results: list[Answer] = []
        before: str | None = None
        for event in self._documents.versions(memory_id):
            gone = bool(_dict(event.meta.get(_NAME)).get("deleted"))
            now = None if gone else event.text
            results.append(
                {
                    "id": event.id,
                    "memory_id": memory_id,
                    "old_memory": before,
                    "new_memory": now,
                    "event": "DELETE" if gone else "ADD" if before is None else "UPDATE",
                    "created_at": event.at.isoformat(),
                    "is_deleted": gone,
                }
            )
            before = now
        return results

    def reset(self) -> None:
        """Forget all memories that were added through this interface, with their history."""
        if ids := self._documents.ids():
            self.memory.forget(ids=ids)

    def _known(self, memory_id: str) -> Document:
        known = self._documents.get(memory_id)
        if known is None:
            raise NotFound(f"Unknown memory {memory_id!r}.")
        return known


def _scope(user_id: str | None, agent_id: str | None, run_id: str | None, *, needed: bool = True) -> dict[str, str]:
    given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    scope = {name: value for name, value in given.items() if value is not None}
    if needed and not scope:
        raise InvalidInput("A memory needs a user_id, agent_id or run_id.")
    return scope


def _messages(given: Messages) -> list[tuple[str, str]]:
    if isinstance(given, str):
        return [("user", given)]
    several = [given] if isinstance(given, Mapping) else list(given)
    found = [(str(one.get("role", "user")), _content(one.get("content"))) for one in several]
    return [(role, text) for role, text in found if text.strip() and role != "system"]


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = cast("list[Any]", content) if isinstance(content, list) else ()
    return "\n".join(str(_dict(part).get("text", "")) for part in parts if _dict(part).get("text"))


def _result(document: Document) -> Answer:
    return {
        "id": document.key,
        "memory": document.text,
        "metadata": _dict(document.body.get("metadata")) or None,
        "score": document.score,
        "created_at": document.created_at.isoformat(),
        "updated_at": document.updated_at.isoformat(),
        **_dict(document.body.get("scope")),
    }


def _fields(document: Document) -> dict[str, Any]:
    """Return the fields that filters can name."""
    times = {"created_at": document.created_at.isoformat(), "updated_at": document.updated_at.isoformat()}
    return {**_dict(document.body.get("metadata")), **_dict(document.body.get("scope")), **times}


def _all_filters(filters: Mapping[str, Any] | None, scope: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in (filters, scope) if one]


def _labels(body: Mapping[str, Json]) -> dict[str, Json]:
    return {**_dict(body.get("scope")), **labels_of(_OF_METADATA, _dict(body.get("metadata")))}


def _wanted_scope(filters: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    """Return the scope that every match must have, so that only that is searched."""
    return {
        name: value
        for one in filters
        for name, value in one.items()
        if name in _SCOPES and isinstance(value, str) and value != _ANYTHING
    }


def _wanted_labels(filters: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    """Return the metadata that every match must have."""
    asked = [(name, value) for one in filters for name, value in one.items() if name not in _NOT_OF_METADATA]
    plain = {name: _dict(value).get("eq") if isinstance(value, dict) else value for name, value in asked}
    return labels_of(_OF_METADATA, {name: value for name, value in plain.items() if value != _ANYTHING})


def _wing(filters: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the user whose memories alone can match, if the filters name one."""
    return cast("str | None", _wanted_scope(filters).get("user_id"))


def _meets(fields: Mapping[str, Any], filters: Sequence[Mapping[str, Any]]) -> bool:
    return all(_holds(fields, name, wanted) for one in filters for name, wanted in one.items())


def _holds(fields: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name in _JOINS:
        if not isinstance(wanted, list | tuple):
            raise InvalidFilter(f"{name} takes a list of filters.")
        each = [_meets(fields, [one]) for one in cast("Sequence[Mapping[str, Any]]", wanted)]
        return all(each) if name == "AND" else any(each) if name == "OR" else not any(each)
    value = fields.get(name)
    if wanted == _ANYTHING:
        return name in fields
    if not isinstance(wanted, Mapping):
        return value == wanted
    for operator, operand in cast("Mapping[str, Any]", wanted).items():
        if operator not in _OPERATORS:
            raise InvalidFilter(f"Unknown operator {operator!r}.", fix=f"Use one of {', '.join(_OPERATORS)}.")
        if not _compared(_OPERATORS[operator], value, operand):
            return False
    return True


def _compared(holds: Callable[[Any, Any], bool], value: Any, operand: Any) -> bool:
    try:
        return holds(value, operand)
    except TypeError:  # values of different types have no order
        return False


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, operand: value == operand,
    "ne": lambda value, operand: value != operand,
    "in": lambda value, operand: value in operand,
    "nin": lambda value, operand: value not in operand,
    "gt": lambda value, operand: value > operand,
    "gte": lambda value, operand: value >= operand,
    "lt": lambda value, operand: value < operand,
    "lte": lambda value, operand: value <= operand,
    "contains": lambda value, operand: operand in value,
    "icontains": lambda value, operand: str(operand).casefold() in str(value).casefold(),
}


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
