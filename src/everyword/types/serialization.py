"""Convert the library's values to JSON documents and back, and describe them as JSON Schema.

All three directions follow the types: a Struct becomes an object with its fields, a tuple becomes a list. The tables
below hold the exceptions, so a new type usually needs no code here.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from everyword.types.concepts import Concept, Folded
from everyword.types.events import Answer, Event, Hit, Hits, Json, Receipt, Report, Span, Written
from everyword.types.graph import Entity, Fact, FactDraft
from everyword.types.intents import Intent
from everyword.types.service import Feed, News, Waiting
from everyword.types.statements import Statement

Schema = dict[str, Any]

# Properties that a document has besides the fields of its type.
_COMPUTED: dict[Any, tuple[str, ...]] = {
    Answer: ("answered",),
    Folded: ("counts",),
    Hit: ("quote",),
    Intent: ("priority", "due"),
    Receipt: ("events",),
    Report: ("ok",),
    Written: ("id",),
}
# Fields that a document leaves out.
_OMITTED: dict[Any, tuple[str, ...]] = {Concept: ("space",), Entity: ("space",), Hit: ("seq",)}
# Documents whose members have other names than the attributes: name in the document -> attribute.
_RENAMED: dict[Any, dict[str, str]] = {
    Fact: {
        "id": "id",
        "subject": "subject_name",
        "subject_id": "subject",
        "relation": "relation",
        "object": "object_name",
        "object_id": "object_id",
        **{
            name: name
            for name in ("valid_from", "valid_to", "said_at", "recorded_at", "confidence", "conflicts", "sources")
        },
    },
    FactDraft: {name: name for name in ("event_id", "span", "quote")},
}


# Lists with attributes, which become objects; their first member is the list.
_LIST_DOCUMENTS: dict[Any, dict[str, Any]] = {
    Hits: {"hits": list[Hit], "confidence": float | None, "pending": int},
    Feed: {"news": list[News], "position": str, "more": bool},
}
_EVENT_MEMBERS = "id key space wing session speaker role source at recorded_at text meta record".split()
_NEWS_ITEMS: dict[str, type] = {
    "event": Event,
    "statement": Statement,
    "concept": Concept,
    "intent": Intent,
    "job": Waiting,
    "forgotten": Receipt,
}


# Values to JSON


def to_json(value: object) -> Json:
    """Convert any value that a memory returns to what JSON can hold."""
    return _encoder(type(value))(value)


def event_to_json(event: Event) -> dict[str, Json]:
    """Convert an event; members without a value are left out."""
    document = {name: to_json(value) for name in _EVENT_MEMBERS if (value := getattr(event, name))}
    if not event.text.isascii() and any("\ud800" <= char <= "\udfff" for char in event.text):
        # JSON joins two surrogates that stand side by side; these bytes keep them apart.
        document["text_bytes"] = b64encode(event.text.encode("utf-8", "surrogatepass")).decode("ascii")
    return document


@cache
def _encoder(kind: Any) -> Callable[[Any], Json]:
    if kind in _ENCODERS:
        return _ENCODERS[kind]
    if kind in _LIST_DOCUMENTS:
        layout = _LIST_DOCUMENTS[kind]
        return lambda value: {name: to_json(getattr(value, name, list(value))) for name in layout}
    if issubclass(kind, Enum):
        return attrgetter("value")
    if issubclass(kind, NoneType | str | int | float):
        return lambda value: value
    if issubclass(kind, date):
        return lambda value: value.isoformat()
    if issubclass(kind, Mapping):
        return dict  # counts, or JSON that a caller gave
    if _has_members(kind):
        attributes = _attributes(kind).items()
        return lambda value: {name: to_json(getattr(value, attribute)) for name, attribute in attributes}
    if issubclass(kind, Iterable):
        return lambda value: [to_json(one) for one in value]
    raise TypeError(f"{kind.__name__} can't be converted to JSON.")


_ENCODERS: dict[Any, Callable[[Any], Json]] = {Event: event_to_json, Span: list}


# JSON to values


def from_json(kind: Any, document: Json) -> Any:
    """Make a value of a type from the document that `to_json` wrote."""
    if document is None or kind is NoneType:
        return None
    if kind in _DECODERS:
        return _DECODERS[kind](document)
    if kind in _LIST_DOCUMENTS:
        (_, items), *rest = [(name, from_json(of, document[name])) for name, of in _LIST_DOCUMENTS[kind].items()]
        return kind(items, **dict(rest))
    return _class_from_json(kind, document) if isinstance(kind, type) else _generic_from_json(kind, document)


def element_type(kind: Any) -> Any | None:
    """Return the type of a list's or iterator's items; None for any other type."""
    origin = get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, list | tuple | Sequence | Iterable):
        return get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, list):
        bases: Iterable[Any] = getattr(cast("Any", kind), "__orig_bases__", ())
        return next((get_args(one)[0] for one in bases if get_origin(one) is list), None)
    return None


def _class_from_json(kind: Any, document: Json) -> Any:
    if kind is datetime:
        return datetime.fromisoformat(document)
    if kind is Span:
        return Span(*document)
    if _has_members(kind):
        return kind(**_fields_from_json(kind, _field_names(kind), document))
    if issubclass(kind, Enum):
        return kind(document)
    if issubclass(kind, list):
        element = element_type(kind)
        return cast("Any", kind)(from_json(element, one) for one in document)
    return float(document) if kind is float else document


def _generic_from_json(kind: Any, document: Json) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return from_json(next(one for one in parts if one is not NoneType), document)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: from_json(parts[1], value) for name, value in document.items()}
    element = element_type(kind)
    if element is None:
        return document  # Any, or a literal
    items = [from_json(element, one) for one in document]
    return tuple(items) if origin is tuple else items


def _fields_from_json(kind: Any, names: Iterable[str], document: Mapping[str, Json]) -> dict[str, Any]:
    hints = _hints(kind)
    return {name: from_json(hints[name], document[name]) for name in names if name in document}


def _event_from_json(document: Mapping[str, Json]) -> Event:
    members = _fields_from_json(Event, _field_names(Event), document)
    exact = document.get("text_bytes")
    if exact is not None:
        members["text"] = b64decode(exact).decode("utf-8", "surrogatepass")
    return Event(**members)


def _fact_from_json(document: Mapping[str, Json]) -> Fact:
    # The document has only the quote of each source. The rest of a source is taken from the fact.
    said: dict[str, Any] = {
        "subject": document["subject_id"],
        "subject_name": document["subject"],
        "relation": document["relation"],
        "object": document["object_id"] or document["object"],
        "object_name": document["object"],
        "confidence": document["confidence"],
        **_fields_from_json(Fact, ("valid_from", "valid_to", "said_at"), document),
    }
    learned = datetime.fromisoformat(document["recorded_at"])
    sources = tuple(
        FactDraft(**said, recorded_at=learned, **_fields_from_json(FactDraft, _RENAMED[FactDraft], one))
        for one in document["sources"]
    )
    return Fact(id=document["id"], conflicts=document["conflicts"], sources=sources, **said)


def _news_from_json(document: Mapping[str, Json]) -> News:
    kind = document["kind"]
    item = from_json(_NEWS_ITEMS[kind], document["item"]) if kind in _NEWS_ITEMS else document["item"]
    return News(kind=kind, at=datetime.fromisoformat(document["at"]), item=item)


_DECODERS: dict[Any, Callable[[Any], Any]] = {Event: _event_from_json, Fact: _fact_from_json, News: _news_from_json}


# JSON Schema


def json_schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """Describe the documents of a type; types with members go to `definitions` and are referred to."""
    if kind in _SCHEMAS:
        return dict(_SCHEMAS[kind])
    if kind in _LIST_DOCUMENTS:
        members = {name: json_schema(of, definitions) for name, of in _LIST_DOCUMENTS[kind].items()}
        return {"type": "object", "properties": members}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "enum": [one.value for one in kind]}
    if isinstance(kind, type) and _has_members(kind):
        return _definition(kind, definitions)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return {"anyOf": [json_schema(one, definitions) for one in get_args(kind)]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": json_schema(get_args(kind)[1], definitions)}
    element = element_type(kind)
    return {} if element is None else {"type": "array", "items": json_schema(element, definitions)}


def _definition(kind: Any, definitions: dict[str, Schema]) -> Schema:
    name = cast("str", kind.__name__)
    if name not in definitions:
        definitions[name] = {}  # a type may refer to itself
        members = {
            member: json_schema(_attribute_type(kind, attribute), definitions)
            for member, attribute in _attributes(kind).items()
        }
        summary = (kind.__doc__ or "").strip().splitlines()[0]
        properties = {**members, **_MEMBER_SCHEMAS.get(kind, {})}
        definitions[name] = {"type": "object", "description": summary, "properties": properties}
    return {"$ref": f"#/components/schemas/{name}"}


_TEXT: Schema = {"type": "string"}
_SCHEMAS: dict[Any, Schema] = {
    str: _TEXT,
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Span: {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
}
# Members whose documents differ from what their types say.
_MEMBER_SCHEMAS: dict[Any, dict[str, Schema]] = {Event: {"text_bytes": {"type": "string", "contentEncoding": "base64"}}}


# Members of a type


def _has_members(kind: Any) -> bool:
    return hasattr(kind, "__struct_fields__") or hasattr(kind, "_fields")  # a Struct or a NamedTuple


def _field_names(kind: Any) -> tuple[str, ...]:
    return kind.__struct_fields__ if hasattr(kind, "__struct_fields__") else kind._fields


@cache
def _attributes(kind: Any) -> dict[str, str]:
    """Map the members of a type's document to the attributes that they come from."""
    if kind in _RENAMED:
        return _RENAMED[kind]
    omitted = _OMITTED.get(kind, ())
    names = [name for name in _field_names(kind) if name not in omitted]
    return {name: name for name in (*names, *_COMPUTED.get(kind, ()))}


def _attribute_type(kind: Any, name: str) -> Any:
    hints = _hints(kind)
    return hints[name] if name in hints else get_type_hints(getattr(kind, name).fget)["return"]


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
