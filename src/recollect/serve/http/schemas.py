"""Types of the library as JSON Schema: what an answer may hold, read from the values themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from recollect.core.feed import Feed, News
from recollect.core.graph import Entity
from recollect.core.values import Hit, Hits, Span
from recollect.from_json import element_of

Schema = dict[str, Any]

_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    Span: {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
}


_TEXT: Schema = {"type": "string"}
# Members that are laid out otherwise than their types tell (`serial_derived.py`).
_OTHERWISE: dict[Any, dict[str, Schema]] = {
    Entity: {"kin": {"type": "array", "items": {"type": "object", "properties": {"of": _TEXT, "as": _TEXT}}}}
}


def schema_of(kind: Any, named: dict[str, Schema]) -> Schema:
    """Describe a type; dataclasses go into `named` and are referred to."""
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    if kind in (Hits, Feed):
        return _document(kind, named)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "enum": [one.value for one in kind]}
    if isinstance(kind, type) and is_dataclass(kind):
        return _reference(kind, named)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return {"anyOf": [schema_of(one, named) for one in get_args(kind)]}
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(get_args(kind)[1], named)}
    element = element_of(kind)
    return {} if element is None else {"type": "array", "items": schema_of(element, named)}


def _reference(kind: Any, named: dict[str, Schema]) -> Schema:
    name = cast("str", kind.__name__)
    if name not in named:
        named[name] = {}  # while it is being described: values may hold their own kind
        hints = get_type_hints(kind)
        described = {one.name: schema_of(hints[one.name], named) for one in fields(kind)}
        described |= _OTHERWISE.get(kind, {})
        named[name] = {"type": "object", "description": _first_line(kind), "properties": described}
    return {"$ref": f"#/components/schemas/{name}"}


def _document(kind: Any, named: dict[str, Schema]) -> Schema:
    """Describe what is laid out as more than its entries."""
    if kind is Hits:
        several = {"type": "array", "items": schema_of(Hit, named)}
        return {"type": "object", "properties": {"hits": several, "confidence": {"type": ["number", "null"]}}}
    several = {"type": "array", "items": schema_of(News, named)}
    members = {"news": several, "position": {"type": "string"}, "more": {"type": "boolean"}}
    return {"type": "object", "properties": members}


def _first_line(kind: Any) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]
