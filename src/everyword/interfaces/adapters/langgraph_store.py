"""LangGraph's long-term store on a memory. Pass it to `graph.compile(store=...)`:

from everyword import Memory
from everyword.interfaces.adapters.langgraph_store import EverywordStore

store = EverywordStore(Memory.open("memory.db"))
store.put(("users", "ana"), "home", {"city": "Lisbon"})
store.search(("users",), query="Where does Ana live?")
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from everyword.errors import InvalidFilter
from everyword.extras import need
from everyword.interfaces.adapters.documents import Document, Documents, Redactor, fits_in_meta, labels_of, to_json_text
from everyword.memory import Memory
from everyword.types.events import Json

if TYPE_CHECKING:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )
else:
    _base = need("langgraph.store.base", extra="langgraph")
    BaseStore, Item, SearchItem = _base.BaseStore, _base.Item, _base.SearchItem
    GetOp, PutOp, SearchOp, ListNamespacesOp = _base.GetOp, _base.PutOp, _base.SearchOp, _base.ListNamespacesOp

__all__ = ["EverywordStore"]

_NAME = "langgraph"
_OF_VALUE = "value"
_ANY = "*"  # matches any name in a path

Namespace = tuple[str, ...]


class EverywordStore(BaseStore):
    """A store whose items are events: all versions are kept, and `recall` finds them."""

    supports_ttl = False

    def __init__(self, memory: Memory, *, redact: str | None = None) -> None:
        self.memory = memory
        self._redactor = Redactor(memory, redact=redact)
        self._documents = Documents(memory, _NAME)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run several operations. Reads see the state before the batch; the last write of an item wins."""
        results: list[Result] = []
        puts: dict[str, PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                puts[_key(op.namespace, op.key)] = op
                results.append(None)
            elif isinstance(op, GetOp):
                known = self._documents.get(_key(op.namespace, op.key))
                results.append(None if known is None else _item(known))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            else:
                results.append(self._namespaces(op))
        for key, op in puts.items():
            self._put(key, op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _put(self, key: str, op: PutOp) -> None:
        if op.value is None:
            self._documents.delete(key)
            return
        body: dict[str, Json] = {"namespace": list(op.namespace), "key": op.key, "indexed": op.index is not False}
        value = self._redactor.json(op.value)
        text = to_json_text(value)
        if fits_in_meta(value):
            body, text = {**body, "value": value}, self._redactor.text(_words(value))
        labels = {**_labels(op.namespace), **labels_of(_OF_VALUE, value)}
        self._documents.put(key, text, body, labels=labels)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        def meets(one: Document) -> bool:
            below = _namespace(one)[: len(op.namespace_prefix)] == tuple(op.namespace_prefix)
            return below and _meets(one, op.filter) and (not op.query or bool(one.body.get("indexed")))

        found: Iterable[Document]
        if op.query:
            found = self._documents.search(
                op.query, scope=_labels(op.namespace_prefix), labels=_wanted_labels(op.filter), meets=meets
            )
        else:
            found = filter(meets, self._documents.each())
        return [_search_item(one) for one in islice(found, op.offset, op.offset + op.limit)]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions: Iterable[MatchCondition] = op.match_conditions or ()
        found = {_namespace(one) for one in self._documents.each()}
        kept = {one for one in found if all(_matches(one, condition) for condition in conditions)}
        cut = sorted({one[: op.max_depth] for one in kept} if op.max_depth is not None else kept)
        return cut[op.offset : op.offset + op.limit]


def _key(namespace: Namespace, key: str) -> str:
    return to_json_text([*namespace, key])


def _labels(namespace: Namespace) -> dict[str, Json]:
    """Label each level of a namespace, so that recall can search below one."""
    return {str(level): name for level, name in enumerate(namespace)}


def _wanted_labels(wanted: Mapping[str, Any] | None) -> dict[str, Json]:
    """Return the values that every match must have."""
    asked = (wanted or {}).items()
    plain = {
        name: cast("dict[str, Any]", value).get("$eq") if isinstance(value, dict) else value for name, value in asked
    }
    return labels_of(_OF_VALUE, plain)


def _namespace(document: Document) -> Namespace:
    return tuple(cast("list[str]", document.body["namespace"]))


def _words(value: Mapping[str, Any]) -> str:
    """Write a value as lines that recall can read."""
    lines = (f"{name}: {said if isinstance(said, str) else to_json_text(said)}" for name, said in value.items())
    return "\n".join(lines) or "{}"


def _value(document: Document) -> dict[str, Any]:
    return cast("dict[str, Any]", document.body["value"] if "value" in document.body else json.loads(document.text))


def _item(document: Document) -> Item:
    return Item(
        value=_value(document),
        key=str(document.body["key"]),
        namespace=_namespace(document),
        created_at=document.created_at,
        updated_at=document.updated_at,
    )


def _search_item(document: Document) -> SearchItem:
    return SearchItem(
        value=_value(document),
        key=str(document.body["key"]),
        namespace=_namespace(document),
        created_at=document.created_at,
        updated_at=document.updated_at,
        score=document.score,
    )


def _meets(document: Document, wanted: Mapping[str, Any] | None) -> bool:
    value = _value(document)
    return all(_holds(value.get(name), operand) for name, operand in (wanted or {}).items())


def _holds(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping) or not any(
        str(name).startswith("$") for name in cast("Mapping[str, Any]", wanted)
    ):
        return value == wanted
    return all(_compared(value, operator, operand) for operator, operand in cast("Mapping[str, Any]", wanted).items())


def _compared(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return (value == operand) == (operator == "$eq")
    try:
        match operator:
            case "$gt":
                return float(value) > float(operand)
            case "$gte":
                return float(value) >= float(operand)
            case "$lt":
                return float(value) < float(operand)
            case "$lte":
                return float(value) <= float(operand)
            case _:
                raise InvalidFilter(f"Unknown operator {operator!r}.", fix="Use $eq, $ne, $gt, $gte, $lt or $lte.")
    except (TypeError, ValueError):
        return False


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in (_ANY, there) for wanted, there in zip(path, part, strict=True))
