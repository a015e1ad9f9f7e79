"""JSON back into values: `serial.py` the other way, by the types themselves, so that new values need no code here."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from recollect.core.artifacts import Artifact
from recollect.core.attention import Intent
from recollect.core.feed import Feed, News, Waiting
from recollect.core.folding import Concept
from recollect.core.graph import Entity, Fact, FactDraft
from recollect.core.values import Event, Hit, Hits, Json, Receipt

_LISTS = (list, tuple, Sequence, Iterable)
_OF_NEWS: dict[str, type] = {
    "event": Event,
    "artifact": Artifact,
    "concept": Concept,
    "intent": Intent,
    "job": Waiting,
    "forgotten": Receipt,
}


def value_of(kind: Any, document: Json) -> Any:
    """Make a value of a type from what `serial.plain` wrote of it."""
    if document is None or kind is NoneType:
        return None
    if kind in _DOCUMENTS:
        return _DOCUMENTS[kind](document)
    if isinstance(kind, type):
        return _of_class(kind, document)
    return _of_generic(kind, document)


def element_of(kind: Any) -> Any | None:
    """Tell what a list or an iterator is of; None for anything else."""
    origin = get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, _LISTS):
        return get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, list):
        bases: Iterable[Any] = getattr(cast("Any", kind), "__orig_bases__", ())
        return next((get_args(one)[0] for one in bases if get_origin(one) is list), None)
    return None


def _of_class(kind: Any, document: Json) -> Any:
    if kind is datetime:
        return datetime.fromisoformat(document)
    if is_dataclass(kind):
        return cast("Any", kind)(**_members(kind, [one.name for one in fields(kind) if one.init], document))
    names: tuple[str, ...] | None = getattr(kind, "_fields", None)
    if names is not None:  # a NamedTuple
        return kind(*document) if isinstance(document, list) else kind(**_members(kind, names, document))
    if _is(kind, Enum):
        return kind(document)
    if _is(kind, list):
        return kind(value_of(element_of(kind), one) for one in document)
    return float(document) if kind is float else document


def _is(kind: Any, other: type) -> bool:
    return issubclass(kind, other)


def _of_generic(kind: Any, document: Json) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return value_of(next(one for one in parts if one is not NoneType), document)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {name: value_of(parts[1], value) for name, value in document.items()}
    element = element_of(kind)
    if element is None:
        return document  # Any, or a literal
    made = [value_of(element, one) for one in document]
    return tuple(made) if origin is tuple else made


def _members(kind: Any, names: Iterable[str], document: Mapping[str, Json]) -> dict[str, Any]:
    hints = _hints(kind)
    return {name: value_of(hints[name], document[name]) for name in names if name in document}


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _event(document: Mapping[str, Json]) -> Event:
    members = _members(Event, [one.name for one in fields(Event)], document)
    exact = document.get("text_bytes")  # where JSON would join two halves of a character that stood apart
    if exact is not None:
        members["text"] = b64decode(exact).decode("utf-8", "surrogatepass")
    return Event(**members)


def _entity(document: Mapping[str, Json]) -> Entity:
    members = _members(Entity, [one.name for one in fields(Entity) if one.name != "kin"], document)
    return Entity(**members, kin=tuple((one["of"], one["as"]) for one in document["kin"]))


def _fact(document: Mapping[str, Json]) -> Fact:
    # What each source says of itself beyond its words is not sent: it is taken to say what the fact says.
    said: dict[str, Any] = {
        "subject": document["subject_id"],
        "subject_name": document["subject"],
        "relation": document["relation"],
        "object": document["object_id"] or document["object"],
        "object_name": document["object"],
        "confidence": document["confidence"],
        **_members(Fact, ("valid_from", "valid_to", "said_at"), document),
    }
    quoted = ("event_id", "span", "quote")
    learned = datetime.fromisoformat(document["recorded_at"])
    sources = tuple(
        FactDraft(**said, recorded_at=learned, **_members(FactDraft, quoted, one)) for one in document["sources"]
    )
    return Fact(id=document["id"], conflicts=document["conflicts"], sources=sources, **said)


def _hits(document: Mapping[str, Json]) -> Hits:
    return Hits((value_of(Hit, one) for one in document["hits"]), confidence=document["confidence"])


def _feed(document: Mapping[str, Json]) -> Feed:
    return Feed((_news(one) for one in document["news"]), position=document["position"], more=document["more"])


def _news(document: Mapping[str, Json]) -> News:
    kind = document["kind"]
    item = value_of(_OF_NEWS[kind], document["item"]) if kind in _OF_NEWS else document["item"]
    return News(kind=kind, at=datetime.fromisoformat(document["at"]), item=item)


_DOCUMENTS: dict[Any, Any] = {Event: _event, Entity: _entity, Fact: _fact, Hits: _hits, Feed: _feed, News: _news}
