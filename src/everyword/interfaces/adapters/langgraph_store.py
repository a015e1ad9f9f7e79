"""LangGraph's long-term store on a memory. Pass it to `graph.compile(store=...)`."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from operator import ge, gt, le, lt
from typing import Any, cast

from everyword.errors import EverywordError
from everyword.extras import optional
from everyword.interfaces.adapters.documents import (
    AnyMemory,
    Document,
    Documents,
    NewVersion,
    Redactor,
    Where,
    fits_in_meta,
    labels_of,
    levels,
    time_after,
    to_json_text,
    wanted_labels,
)
from everyword.types.events import Json
from everyword.types.times import as_datetime

with optional("langgraph"):
    from langgraph.store import base
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
        TTLConfig,
        get_text_at_path,
    )

__all__ = ["EverywordStore"]

_check_namespace: Callable[[Op], None] = getattr(base, "validate_op_namespace", lambda _: None)  # since 4.2
_NAME = "langgraph"
_OF_VALUE = "value"
_EXPIRES = "expires"  # label of items with a time to live
_NAMESPACE, _LONG_NAMESPACE = "namespace", "long namespace"  # label of an item whose namespace can be indexed, or not
_INDEXED_CHARS = 200  # of a value in meta, as JSON
_ANY = "*"  # matches any name in a path
_WHOLE = "$"  # the path of the whole value
_REFRESHED = 0.1  # share of its time to live after which reading an item extends it: each time is a write
_SWEEP_MINUTES = 5.0  # as in LangGraph's own stores

Namespace = tuple[str, ...]


class EverywordStore(BaseStore):
    """A store whose items are events: all versions are kept, and `recall` finds them."""

    supports_ttl = True

    def __init__(
        self,
        memory: AnyMemory,
        *,
        index: Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        redact: str | None = None,
    ) -> None:
        """Keep items in a memory.

        index: {"fields": [...]}, the paths whose text a query searches (default: the whole value). The memory's own
        model encodes it. ttl: as for LangGraph's own stores; call `start_ttl_sweeper` or `sweep_ttl` to delete what has
        expired. redact: what is taken out of values first (default: as the memory is set).
        """
        self.ttl_config = ttl
        self._fields: list[str] = list((index or {}).get("fields") or [_WHOLE])
        self._redactor = Redactor(memory, redact=redact)
        self._documents = Documents(memory, _NAME)
        self.memory = self._documents.memory
        self._stop: threading.Event | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run several operations. Reads see the state before the batch; the last write of an item wins."""
        results: list[Result] = []
        puts: dict[str, PutOp] = {}
        given = list(ops)
        for op in given:
            if not isinstance(op, GetOp | PutOp | SearchOp | ListNamespacesOp):
                raise ValueError(f"Unknown operation type: {type(op)}")
            _check_namespace(op)
        for op in given:
            if isinstance(op, PutOp):
                puts[_key(op.namespace, op.key)] = op
                results.append(None)
            elif isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            else:
                results.append(self._namespaces(op))
        self._documents.write([self._draft(key, op) for key, op in puts.items()])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` in a thread, so that the event loop goes on."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete items that have expired; count them. Their versions stay in the log until they are forgotten."""
        gone = [one.key for one in self._documents.find(Where(labels={_EXPIRES: 1}, meets=self._is_expired))]
        self._documents.delete(gone, why="Expired")
        return len(gone)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep in a thread from now on; the future ends when the sweeper is stopped."""
        config = self.ttl_config or {}
        minutes = sweep_interval_minutes or config.get("sweep_interval_minutes") or _SWEEP_MINUTES
        self.stop_ttl_sweeper()
        stop = self._stop = threading.Event()
        future: Future[None] = Future()

        def sweep() -> None:
            while not stop.wait(minutes * 60):
                with suppress(EverywordError):  # such as a busy file; the next sweep tries again
                    self.sweep_ttl()
            future.set_result(None)

        threading.Thread(target=sweep, daemon=True, name="everyword-ttl-sweeper").start()
        return future

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping."""
        if self._stop is not None:
            self._stop.set()
        return True

    # Reads

    def _get(self, op: GetOp) -> Item | None:
        known = self._documents.get(_key(op.namespace, op.key))
        if known is None or self._is_hidden(known):
            return None
        self._refresh([known], op.refresh_ttl)
        return Item(**_fields_of(known))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        depth = len(op.namespace_prefix)

        def meets(one: Document) -> bool:
            below = _namespace(one)[:depth] == tuple(op.namespace_prefix)
            indexed = not op.query or bool(one.body.get("indexed"))
            return below and indexed and not self._is_hidden(one) and _meets(_value(one), op.filter or {})

        where = Where(labels=levels(op.namespace_prefix), wanted=_wanted(op.filter or {}), meets=meets)
        found = self._documents.find(where, op.query or None)
        chosen = list(islice(found, op.offset, op.offset + op.limit))
        self._refresh(chosen, op.refresh_ttl)
        return [SearchItem(**_fields_of(one), score=one.score) for one in chosen]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions: Iterable[MatchCondition] = op.match_conditions or ()
        short = (tuple(json.loads(one)) for one in self.memory.admin.meta_values(f"{_NAME}.{_NAMESPACE}"))
        long = (_namespace(one) for one in self._documents.find(Where(labels={_LONG_NAMESPACE: 1})))
        found = [one for one in {*short, *long} if all(_matches(one, condition) for condition in conditions)]
        kept = {one for one in found if self._has_items(one)}  # now, and not only once
        cut = sorted({one[: op.max_depth] for one in kept} if op.max_depth is not None else kept)
        return cut[op.offset : op.offset + op.limit]

    def _has_items(self, namespace: Namespace) -> bool:
        where = Where(labels=_namespace_label(namespace), meets=lambda one: not self._is_hidden(one))
        return any(_namespace(one) == namespace for one in self._documents.find(where))

    # Writes

    def _draft(self, key: str, op: PutOp) -> NewVersion:
        if op.value is None:
            return NewVersion(key=key, text=f"Deleted {key}", body=None)
        value = self._redactor.json(op.value)
        words = self._words(value, op.index)
        body: dict[str, Json] = {"namespace": list(op.namespace), "key": op.key, "indexed": bool(words)}
        labels = {**levels(op.namespace), **_namespace_label(op.namespace), **labels_of(_OF_VALUE, value)}
        if op.ttl is not None:
            body |= {"ttl": op.ttl, "expires_at": self._expiry(op.ttl)}
            labels[_EXPIRES] = 1
        written = json.dumps(value, ensure_ascii=False)  # text, because meta does not keep the order of members
        if not fits_in_meta(value):
            return NewVersion(key=key, text=written, body=body, labels=labels)
        text = self._redactor.text(words) if words else f"Item {key}"
        return NewVersion(key=key, text=text, body={**body, "value": written}, labels=labels)

    def _words(self, value: Mapping[str, Any], index: object) -> str:
        """Write what a query searches as lines that recall can read; nothing if the item is not indexed."""
        if index is False:
            return ""
        lines: list[str] = []
        for path in self._fields if index is None else cast("list[str]", index):
            lines += _lines(value) if path == _WHOLE else get_text_at_path(value, path)
        return "\n".join(line for line in lines if line.strip())

    # Time to live

    def _expiry(self, minutes: float) -> str:
        return (time_after(self.memory, None) + timedelta(minutes=minutes)).isoformat()

    def _is_expired(self, document: Document) -> bool:
        expires_at = _time(document, "expires_at")
        return expires_at is not None and expires_at <= time_after(self.memory, None)

    def _is_hidden(self, document: Document) -> bool:
        return bool((self.ttl_config or {}).get("omit_expired")) and self._is_expired(document)

    def _refresh(self, documents: Iterable[Document], wanted: bool) -> None:
        for one in documents:
            expires_at, minutes = _time(one, "expires_at"), cast("float | None", one.body.get("ttl"))
            if wanted and expires_at is not None and minutes is not None:
                left = expires_at - time_after(self.memory, None)
                if left < timedelta(minutes=minutes) * (1 - _REFRESHED):
                    self._documents.amend(one, {"expires_at": self._expiry(minutes)})


def _key(namespace: Namespace, key: str) -> str:
    return to_json_text([*namespace, key])


def _namespace_label(namespace: Namespace) -> dict[str, Json]:
    written = to_json_text(list(namespace))
    return {_NAMESPACE: written} if len(json.dumps(written)) <= _INDEXED_CHARS else {_LONG_NAMESPACE: 1}


def _namespace(document: Document) -> Namespace:
    return tuple(cast("list[str]", document.body["namespace"]))


def _lines(value: Mapping[str, Any]) -> list[str]:
    lines = [f"{name}: {said if isinstance(said, str) else to_json_text(said)}" for name, said in value.items()]
    return lines or ["{}"]


def _value(document: Document) -> dict[str, Any]:
    return json.loads(cast("str", document.body.get("value", document.text)))


def _time(document: Document, name: str) -> datetime | None:
    value = document.body.get(name)
    return None if value is None else as_datetime(cast("str", value))


def _fields_of(document: Document) -> dict[str, Any]:
    return {
        "value": _value(document),
        "key": str(document.body["key"]),
        "namespace": _namespace(document),
        "created_at": document.created_at,
        "updated_at": document.updated_at,
    }


# Filters


def _is_operators(wanted: object) -> bool:
    return isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in cast("Mapping[str, Any]", wanted))


def _wanted(wanted: Mapping[str, Any]) -> list[dict[str, Json]]:
    """Return the labels that an item must have, one or the other of these, as far as an index knows them."""
    limits = {
        name: {how: limit for how, limit in value.items() if how in _ORDERS}
        for name, value in wanted.items()
        if _is_operators(value)
    }
    return wanted_labels(_OF_VALUE, _equalities(wanted), limits)


def _equalities(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that every match must have, without operators."""
    found: dict[str, Any] = {}
    for name, value in wanted.items():
        if _is_operators(value):
            found |= {name: value["$eq"]} if "$eq" in value else {}
        else:
            found[name] = _equalities(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else value
    return found


def _meets(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_holds(_at(value, name), operand) for name, operand in wanted.items())


def _at(value: Mapping[str, Any], name: str) -> Any:
    """Read a member, or the one at the end of a dotted path."""
    if name in value or "." not in name:
        return value.get(name)
    first, rest = name.split(".", 1)
    inner = value.get(first)
    return _at(cast("Mapping[str, Any]", inner), rest) if isinstance(inner, Mapping) else None


def _holds(value: Any, wanted: Any) -> bool:
    if _is_operators(wanted):
        return all(_compared(value, operator, operand) for operator, operand in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and _meets(
            cast("Mapping[str, Any]", value), cast("Mapping[str, Any]", wanted)
        )
    if isinstance(wanted, list | tuple):
        several = cast("list[Any]", wanted)
        return (
            isinstance(value, list)
            and len(cast("list[Any]", value)) == len(several)
            and all(_holds(one, other) for one, other in zip(cast("list[Any]", value), several, strict=True))
        )
    return value == wanted


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def _compared(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return (value == operand) == (operator == "$eq")
    if operator not in _ORDERS:
        raise ValueError(f"Unsupported operator: {operator}")
    try:
        return _ORDERS[operator](float(value), float(operand))
    except (TypeError, ValueError):  # no numbers
        return isinstance(value, str) and isinstance(operand, str) and _ORDERS[operator](value, operand)


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in (_ANY, there) for wanted, there in zip(path, part, strict=True))
