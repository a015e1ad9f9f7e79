"""The interface of mem0's `Memory` on an Everyword memory, for programs that were written against it.

    from everyword import Memory
    from everyword.interfaces.adapters.mem0 import Mem0

    memory = Mem0(Memory.open("memory.db"))
    memory.add("I moved to Lisbon.", user_id="ana")
    memory.search("Where does she live?", filters={"user_id": "ana"})

Each message is kept verbatim as one memory, whatever `infer` says: what it states is derived beside it, and
asked for with `statements()`. An update is a new version, and a deletion leaves the history; `forget` removes for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from hashlib import md5
from itertools import islice
from typing import Any, cast
from uuid import UUID, uuid5

from everyword.errors import InvalidFilter, InvalidInput, NotFound
from everyword.interfaces.adapters.documents import (
    AnyMemory,
    Document,
    Documents,
    NewVersion,
    Redactor,
    Where,
    in_thread,
    labels_of,
    time_after,
    wanted_labels,
)
from everyword.memory import Memory
from everyword.types.events import Json
from everyword.types.times import as_datetime

__all__ = ["AsyncMem0", "Mem0"]

_NAME = "mem0"
_IDS = UUID("6f1c1f8e-5f0a-5c57-9a55-2a1f4f7f8a10")  # the namespace of ids; the same text gets the same id
_SCOPES = ("user_id", "agent_id", "run_id")
_IDENTITY = (*_SCOPES, "actor_id")  # what metadata can't set
_JOINS = ("AND", "OR", "NOT")
_TIMES = ("created_at", "updated_at")
_NOT_OF_METADATA = (*_SCOPES, *_JOINS, *_TIMES, "actor_id", "role", "expiration_date")  # what filters can name besides
_OF_METADATA = "metadata"
_ANYTHING = "*"  # matches any value
_THRESHOLD = 0.1  # as in mem0
_TOP_K = 20  # as in mem0
_PROCEDURAL = "procedural_memory"  # the only memory_type of mem0
_UNCHANGED: Any = object()
# Sections of mem0's configuration. The path of the vector store is used; no LLM or reranker of mem0's is.
_SECTIONS = (
    "vector_store", "llm", "embedder", "graph_store", "reranker", "history_db_path", "version", "custom_instructions",
    "custom_fact_extraction_prompt", "custom_update_memory_prompt",
)  # fmt: skip
_FILE = "everyword.db"

Messages = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
Answer = dict[str, Any]


class _Invalid(InvalidInput, ValueError):
    """The request can't be understood; mem0 raises a ValueError."""


class _InvalidFilter(InvalidFilter, ValueError):
    """The filter can't be applied; mem0 raises a ValueError."""


class _Missing(NotFound, ValueError):
    """There is no such memory; mem0 raises a ValueError."""


class Mem0:
    """A memory with mem0's methods and answers."""

    def __init__(self, memory: AnyMemory, *, redact: str | None = None) -> None:
        self._documents = Documents(memory, _NAME, said_by_others=True)
        self._redactor = Redactor(memory, redact=redact)
        self.memory = self._documents.memory
        self._owner = False  # whether close() closes the memory

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Mem0:
        """Open a memory: {"location": "memory.db", ...}, with options of `Memory.open` by name.

        A configuration of mem0 works too: the memory is kept in the folder of its vector store.
        """
        given = dict(config_dict)
        sections = {name: given.pop(name) for name in _SECTIONS if name in given}
        folder = _dict(_dict(sections.get("vector_store")).get("config")).get("path")
        location = given.pop("location", None if folder is None else f"{folder}/{_FILE}")
        if location is None:
            raise _Invalid("The configuration names no place for the memory.", fix='Add {"location": "memory.db"}.')
        opened = cls(Memory.open(location, **given))
        opened._owner = True
        return opened

    def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        timestamp: datetime | date | str | float | None = None,
        expiration_date: date | str | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> Answer:
        """Add each message; report those that exist already with the event NONE.

        timestamp: when it was said. expiration_date: the last day on which it is found. infer and prompt change
        nothing: messages are kept verbatim, and no LLM is asked.
        """
        if memory_type not in (None, _PROCEDURAL):
            raise _Invalid(f"Invalid memory_type {memory_type!r}.", fix=f"Use {_PROCEDURAL} or leave it out.")
        scope = _scope(user_id=user_id, agent_id=agent_id, run_id=run_id)
        labelled = self._redactor.json({name: one for name, one in (metadata or {}).items() if name not in _IDENTITY})
        body: dict[str, Json] = {"scope": dict(scope), "metadata": labelled}
        if (day := _day(expiration_date)) is not None:
            body["expiration_date"] = day
        drafts: dict[str, NewVersion] = {}
        results: list[Answer] = []
        for role, name, text in _messages(messages):
            clean = self._redactor.text(text)
            id = str(uuid5(_IDS, json.dumps([scope, role, clean], sort_keys=True)))
            known = id in drafts or self._documents.get(id) is not None
            if not known:
                said = {**body, "role": role, **({"actor_id": name} if name else {})}
                drafts[id] = NewVersion(
                    key=id,
                    text=clean,
                    body=said,
                    wing=scope.get("user_id"),
                    role=role,
                    speaker=name or (scope.get("user_id") if role == "user" else scope.get("agent_id", role)),
                    at=None if timestamp is None else as_datetime(timestamp, "timestamp"),
                    labels=_labels(said),
                )
            event = "NONE" if known else "ADD"
            results.append({"id": id, "memory": clean, "event": event, "actor_id": name, "role": role})
        self._documents.write(list(drafts.values()))
        return {"results": results}

    def search(
        self,
        query: str,
        *,
        top_k: int = _TOP_K,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = _THRESHOLD,
        rerank: bool = False,
        explain: bool = False,
        show_expired: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> Answer:
        """Find memories, in the order of `recall`, whose score of 0 to 1 is at least the threshold.

        explain: show the score of each stage. rerank is ignored: the memory has its own rerankers. user_id, agent_id,
        run_id and limit are of older versions of mem0; they stand in `filters`, and for top_k.
        """
        if not isinstance(query, str) or not query.strip():
            raise _Invalid("Invalid query: must be a non-empty string.")
        least = _THRESHOLD if threshold is None else threshold
        if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
            raise _Invalid(f"Invalid threshold: {threshold}. Must be between 0 and 1.")
        wanted = _all_filters(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        found = self._documents.find(self._where(wanted, show_expired), query.strip())
        near = (one for one in found if _score(one) >= least)
        most = _count(top_k if limit is None else limit)
        return {"results": [_result(one, score=_score(one), explain=explain) for one in islice(near, most)]}

    def get(self, memory_id: str) -> Answer | None:
        """Read one memory; return None if it does not exist."""
        known = self._documents.get(memory_id)
        return None if known is None else _result(known)

    def get_all(
        self,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int = _TOP_K,
        show_expired: bool = False,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int | None = None,
    ) -> Answer:
        """List memories, last changed first; user_id, agent_id, run_id and limit are as for `search`."""
        wanted = _all_filters(filters, user_id=user_id, agent_id=agent_id, run_id=run_id)
        most = _count(top_k if limit is None else limit)
        return {
            "results": [_result(one) for one in islice(self._documents.find(self._where(wanted, show_expired)), most)]
        }

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        expiration_date: date | str | None = _UNCHANGED,
        data: str | None = None,
    ) -> Answer:
        """Change a memory; the old text stays in its history. data: the older name of `text`."""
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNCHANGED:
            raise _Invalid("At least one of text, metadata, or expiration_date must be provided.")
        known = self._known(memory_id)
        given = {name: one for name, one in (metadata or {}).items() if name not in _IDENTITY}
        body = {**known.body, "metadata": {**_dict(known.body.get("metadata")), **self._redactor.json(given)}}
        if expiration_date is not _UNCHANGED:
            body["expiration_date"] = _day(expiration_date)
        draft = NewVersion(
            key=memory_id,
            text=known.text if text is None else self._redactor.text(text),
            body=body,
            wing=known.event.wing,
            role=known.event.role or "user",
            speaker=known.event.speaker,
            labels=_labels(body),
        )
        self._documents.write([draft])
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Answer:
        """Delete a memory."""
        self._known(memory_id)
        self._documents.delete([memory_id])
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> Answer:
        """Delete all memories of a user, agent or run."""
        wanted: list[Mapping[str, Any]] = [_scope(user_id=user_id, agent_id=agent_id, run_id=run_id)]
        self._documents.delete([one.key for one in self._documents.find(self._where(wanted, show_expired=True))])
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Answer]:
        """List the changes of a memory, oldest first."""
        results: list[Answer] = []
        before: str | None = None
        versions = self._documents.versions(memory_id)
        for event in versions:
            entry = _dict(event.meta.get(_NAME))
            gone = bool(entry.get("deleted"))
            now = None if gone else event.text
            results.append(
                {
                    "id": event.id,
                    "memory_id": memory_id,
                    "old_memory": before,
                    "new_memory": now,
                    "event": "DELETE" if gone else "ADD" if before is None else "UPDATE",
                    "created_at": versions[0].at.isoformat(),
                    "updated_at": event.at.isoformat(),
                    "is_deleted": gone,
                    "actor_id": _dict(entry.get("body")).get("actor_id"),
                    "role": None if gone else event.role,
                }
            )
            before = now
        return results

    def reset(self) -> None:
        """Forget all memories that were added through this interface, with their history."""
        if ids := self._documents.ids():
            self.memory.forget(ids=ids)

    def close(self) -> None:
        """Close the memory, if `from_config` opened it."""
        if self._owner:
            self.memory.close()

    def __enter__(self) -> Mem0:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _known(self, memory_id: str) -> Document:
        known = self._documents.get(memory_id)
        if known is None:
            raise _Missing(f"Memory with id {memory_id} not found.")
        return known

    def _where(self, wanted: Sequence[Mapping[str, Any]], show_expired: bool) -> Where:
        # The scope that every match must have, so that only that is searched.
        scope: dict[str, str] = {
            name: value
            for one in wanted
            for name, value in one.items()
            if name in _SCOPES and isinstance(value, str) and value != _ANYTHING
        }
        today = time_after(self.memory, None).date().isoformat()

        def meets(one: Document) -> bool:
            last_day = cast("str | None", one.body.get("expiration_date"))
            times = {name: getattr(one, name).isoformat() for name in _TIMES}
            fields = {**_dict(one.body.get("metadata")), **_promoted(one), **times}  # what filters can name
            return (show_expired or last_day is None or last_day >= today) and _meets(fields, wanted)

        # The wing is that of the user whose memories alone can match, if the filters name one.
        return Where(wing=scope.get("user_id"), labels=dict(scope), wanted=_wanted_labels(wanted), meets=meets)


class AsyncMem0:
    """The same for asyncio, as mem0's `AsyncMemory`: each call runs in a thread."""

    def __init__(self, memory: AnyMemory, *, redact: str | None = None) -> None:
        self.sync = Mem0(memory, redact=redact)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> AsyncMem0:
        """Open a memory; see `Mem0.from_config`."""
        made = cls.__new__(cls)
        made.sync = Mem0.from_config(config_dict)
        return made

    add = in_thread(Mem0.add)
    search = in_thread(Mem0.search)
    get = in_thread(Mem0.get)
    get_all = in_thread(Mem0.get_all)
    update = in_thread(Mem0.update)
    delete = in_thread(Mem0.delete)
    delete_all = in_thread(Mem0.delete_all)
    history = in_thread(Mem0.history)
    reset = in_thread(Mem0.reset)

    def close(self) -> None:
        """Close the memory, if `from_config` opened it."""
        self.sync.close()

    async def __aenter__(self) -> AsyncMem0:
        return self

    async def __aexit__(self, *failure: object) -> None:
        self.close()


# Arguments


def _scope(**given: object) -> dict[str, str]:
    """Check whose memories are meant. Without an owner a call would reach everybody's."""
    scope: dict[str, str] = {}
    for name, value in given.items():
        if value is None:
            continue
        scope[name] = str(value).strip()
        if not scope[name] or any(char.isspace() for char in scope[name]):
            raise _Invalid(f"Invalid {name}: it can't be empty or contain whitespace.")
    if not scope:
        raise _Invalid("At least one of 'user_id', 'agent_id', or 'run_id' must be provided.")
    return scope


def _all_filters(filters: Mapping[str, Any] | None, **given: object) -> list[Mapping[str, Any]]:
    """Gather filters; those on the same level of AND are one list."""
    wanted = [dict(filters or {}), {name: value for name, value in given.items() if value is not None}]
    for one in wanted:
        wanted += [dict(_dict(inner)) for inner in _list(one.pop("AND", ()), "AND")]
    for one in wanted:
        for name in _SCOPES:
            if isinstance(one.get(name), str | int):
                one |= _scope(**{name: one[name]})
    owners = [one.get(name) for one in wanted for name in _SCOPES]
    if not any(isinstance(one, str) or (_dict(one) and _dict(one).keys() <= {"eq", "in"}) for one in owners):
        raise _Invalid(
            "filters must contain at least one of: user_id, agent_id, run_id.", fix="Use filters={'user_id': 'u1'}."
        )
    return [one for one in wanted if one]


def _count(top_k: int) -> int:
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise _Invalid(f"Invalid top_k: {top_k}. Must be a non-negative integer.")
    return top_k


def _day(value: object) -> str | None:
    if isinstance(value, datetime):
        value = value.date()
    if value is None or isinstance(value, date):
        return None if value is None else value.isoformat()
    try:
        return date.fromisoformat(cast("str", value)).isoformat()
    except (TypeError, ValueError):
        raise _Invalid("expiration_date must be a valid date in YYYY-MM-DD format.") from None


def _messages(given: Messages) -> list[tuple[str, str | None, str]]:
    """Read messages into role, name and text."""
    if isinstance(given, str):
        return [("user", None, given)]
    if not isinstance(given, Mapping | list | tuple):
        raise _Invalid("messages must be str, dict, or list[dict]")
    several = [given] if isinstance(given, Mapping) else list(given)
    found = [(str(one.get("role", "user")), one.get("name"), _content(one.get("content"))) for one in several]
    return [(role, name, text) for role, name, text in found if text.strip() and role != "system"]


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = cast("list[Any]", content) if isinstance(content, list) else ()
    return "\n".join(str(_dict(part).get("text", "")) for part in parts if _dict(part).get("text"))


def _score(document: Document) -> float:
    """Return how similar a memory is to the question, 0 to 1. Without late interaction, recall scores only ranks."""
    stages = {one.stage: one.score for one in document.scores}
    similarity = document.score if "late" in stages else stages.get("vectors", document.score)
    return min(1.0, max(0.0, similarity or 0.0))


def _result(document: Document, *, score: float | None = None, explain: bool = False) -> Answer:
    result: Answer = {
        "id": document.key,
        "memory": document.text,
        "hash": md5(document.text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest(),
        "metadata": _dict(document.body.get("metadata")) or None,
        "created_at": document.created_at.isoformat(),
        "updated_at": document.updated_at.isoformat(),
        **_promoted(document),
    }
    if score is not None:
        result["score"] = score
    if explain:
        result["score_details"] = {one.stage: one.score for one in document.scores}
    return result


def _promoted(document: Document) -> dict[str, Any]:
    """Return what mem0 has beside the metadata."""
    named = ("actor_id", "role", "expiration_date")
    own = {name: document.body[name] for name in named if document.body.get(name) is not None}
    return {**_dict(document.body.get("scope")), **own}


def _labels(body: Mapping[str, Json]) -> dict[str, Json]:
    return {**_dict(body.get("scope")), **labels_of(_OF_METADATA, _dict(body.get("metadata")))}


def _wanted_labels(filters: Sequence[Mapping[str, Any]]) -> list[dict[str, Json]]:
    """Return the metadata that every match must have, one or the other of these."""
    asked = [(name, value) for one in filters for name, value in one.items() if name not in _NOT_OF_METADATA]
    plain = {name: _dict(value).get("eq") if isinstance(value, dict) else value for name, value in asked}
    limits = {name: {f"${how}": _dict(value).get(how) for how in ("gt", "gte", "lt", "lte")} for name, value in asked}
    numbers = {
        name: {how: one for how, one in given.items() if isinstance(one, int | float)} for name, given in limits.items()
    }
    return wanted_labels(_OF_METADATA, {name: value for name, value in plain.items() if value != _ANYTHING}, numbers)


def _meets(fields: Mapping[str, Any], filters: Sequence[Mapping[str, Any]]) -> bool:
    return all(_holds(fields, name, wanted) for one in filters for name, wanted in one.items())


def _holds(fields: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name in _JOINS:
        each = [_meets(fields, [_dict(one)]) for one in _list(wanted, name)]
        return all(each) if name == "AND" else any(each) if name == "OR" else not any(each)
    value = fields.get(name)
    if wanted == _ANYTHING:
        return name in fields
    if not isinstance(wanted, Mapping):
        return value == wanted
    for operator, operand in cast("Mapping[str, Any]", wanted).items():
        if operator not in _OPERATORS:
            raise _InvalidFilter(f"Unknown operator {operator!r}.", fix=f"Use one of {', '.join(_OPERATORS)}.")
        try:
            if not _OPERATORS[operator](value, operand):
                return False
        except TypeError:  # values of different types have no order
            return False
    return True


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


def _list(value: Any, join: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise _InvalidFilter(f"{join} takes a list of filters.")
    return cast("Sequence[Any]", value)
