"""The OpenAPI document of the service, made from the registry of operations and the types of results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast, get_args

from msgspec.structs import replace

from everyword import __version__
from everyword.interfaces.http.bodies import JSON, PROBLEM
from everyword.interfaces.http.routes import (
    FILES,
    IMPORT,
    MOST_LISTED,
    SPACE,
    STREAM_PARAMETERS,
    OperationRoute,
    operation_routes,
    scope_parameters,
)
from everyword.interfaces.operations import BY_NAME, Operation, Parameter
from everyword.interfaces.operations.parameters import OBJECT, OBJECTS, TIME
from everyword.retrieval.context import STYLES
from everyword.types.graph import EntityType
from everyword.types.intents import IntentAnswer, IntentCategory, IntentStatus
from everyword.types.serialization import Schema, element_type, json_schema
from everyword.types.statements import StatementKind, Status
from everyword.types.trust import Source

_DEMANDING = ("required", "oneOf", "anyOf")  # keywords of the schema of a body that must be sent
_REFUSED = {"$ref": "#/components/responses/Refused"}
_PROBLEM: Schema = {
    "type": "object",
    "description": "What went wrong and how to fix it (RFC 9457).",
    "properties": {
        "type": {"type": "string", "description": "urn:everyword:error:NAME, with the name of the library's error"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "fix": {"type": "string", "description": "how to fix it"},
    },
    "required": ["type", "title", "status", "detail", "fix"],
}


@cache
def document() -> dict[str, Any]:
    """Describe every route."""
    named: dict[str, Schema] = {"Problem": _PROBLEM}
    paths: dict[str, Any] = {one.path: _operations(one, named) for one in operation_routes()}
    paths |= {one.path: {one.methods[0].lower(): _file(one, named)} for one in FILES}
    paths |= _own_paths()
    for name, schema in named.items():
        _require_members(schema, optional=_SOMETIMES_LEFT_OUT.get(name, ()))
    for described in (method for path in paths.values() for method in path.values()):
        for content in described["responses"]["200"]["content"].values():
            _require_members(content.get("schema", {}))
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Everyword",
            "version": __version__,
            "description": "Long-term memory for AI agents. `space` and `wing` are in the query. Operations that "
            "only read take their parameters in the query (GET) or the body (POST); others in the body.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(named.items())),
            "responses": {
                "Refused": {
                    "description": "Refused or failed.",
                    "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
                }
            },
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "everyword keys create"}},
        },
        "security": [{"key": []}, {}],
    }


# Members of an event without a value are left out; all other results have all their members.
_SOMETIMES_LEFT_OUT: dict[str, tuple[str, ...]] = {
    "Event": ("key", "wing", "session", "speaker", "role", "source", "meta", "record", "text_bytes")
}


def _require_members(schema: Any, optional: Sequence[str] = ()) -> None:
    """Say of the objects in the schema of a result that their members are always there."""
    if not isinstance(schema, dict):
        return
    found = cast("Schema", schema)
    properties: Schema = found.get("properties", {})
    if properties and "required" not in found:
        found["required"] = [name for name in properties if name not in optional]
    for part in (*properties.values(), found.get("items"), found.get("additionalProperties"), *found.get("anyOf", ())):
        _require_members(part)


def _operations(one: OperationRoute, named: dict[str, Schema]) -> dict[str, Any]:
    # `forget` takes a wing as a condition, and each event of a batch has its own: there it is in the body.
    in_body = one.operation.destructive or any(takes_events(parameter) for parameter in one.parameters)
    names = {"space"} if in_body else {"space", "wing"}
    scope = [parameter for parameter in scope_parameters(one) if parameter.name in names]
    inside = [parameter for parameter in one.parameters if parameter.name not in names]
    linked = inside
    if one.operation.name == "show":  # OpenAPI can't say of a query that one parameter excludes another
        linked = [replace(parameter, required=True) for parameter in inside if parameter.name == "id"]
    described: dict[str, Any] = {}
    for method in one.methods:
        asked = _asked(
            f"{one.operation.name}_{method.lower()}",
            _sentence(one.operation.summary),
            {JSON: {"schema": _result(one, named)}},
            scope,
            description=f"{one.operation.details} Needs a key that may {one.needs.value}.".strip(),
        )
        if method == "GET":
            asked["parameters"] += [_in_query(parameter, one.operation) for parameter in linked]
        elif inside:
            body = schema_of_body(one.operation, inside)
            asked["requestBody"] = {
                "required": not body.keys().isdisjoint(_DEMANDING),
                "content": {JSON: {"schema": body}},
            }
        described[method.lower()] = asked
    return described


def _asked(
    id: str, summary: str, content: Schema, parameters: Sequence[Parameter] = (), *, description: str = ""
) -> dict[str, Any]:
    """Describe one method of a path; content: of the response, by media type."""
    return {
        "operationId": id,
        "summary": summary,
        **({"description": description} if description else {}),
        "parameters": [_in_query(parameter) for parameter in parameters],
        "responses": {"200": {"description": "Done.", "content": content}, "default": _REFUSED},
    }


def _result(one: OperationRoute, named: dict[str, Schema]) -> Schema:
    operation: Operation = one.operation
    if operation.several:
        single, several = get_args(one.returns)
        listed = {"type": "array", "items": json_schema(element_type(several), named)}
        return {"anyOf": [json_schema(single, named), _object({operation.several: listed})]}
    if not operation.result:
        return json_schema(one.returns, named)
    if one.listed:
        several = {"type": "array", "items": json_schema(element_type(one.returns), named)}
        return _object({operation.result: several, "next": {"type": ["string", "null"]}})
    return _object({operation.result: {} if one.returns is type(None) else json_schema(one.returns, named)})


def _in_query(parameter: Parameter, operation: Operation | None = None) -> dict[str, Any]:
    schema = schema_of_parameter(operation, parameter)
    described: dict[str, Any] = {"name": parameter.name, "in": "query", "required": parameter.required}
    described["description"] = schema.pop("description")
    if parameter.kind in (OBJECT, OBJECTS):
        return {**described, "content": {JSON: {"schema": schema}}}
    return {**described, "schema": schema}


def _file(one: OperationRoute, named: dict[str, Schema]) -> dict[str, Any]:
    asked = _asked(
        one.operation.name,
        _sentence(one.operation.summary),
        {one.media_type: {}} if one.returns is None else {JSON: {"schema": json_schema(one.returns, named)}},
        one.parameters,
        description=f"{one.operation.details} Needs a key that may {one.needs.value}.".strip(),
    )
    if one is IMPORT:
        asked["requestBody"] = {"required": True, "content": {one.media_type: {"schema": {"type": "string"}}}}
    return asked


def _own_paths() -> dict[str, Any]:
    text: Schema = {"type": "string"}
    me: dict[str, Schema] = {
        "key": {"type": ["object", "null"]},
        "permission": text,
        "spaces": {"type": "array", "items": text},
        "space": {"type": ["string", "null"]},
        "operations": {"type": "array", "items": text},
        "version": text,
    }
    number: Schema = {"type": ["integer", "null"]}
    asked = _object(
        {
            **dict.fromkeys(("at", "who", "via", "operation", "space", "question"), text),
            "quotes": number,
            "tokens": number,
        }
    )
    return {
        "/v1/me": _get("me", "Show what the caller may do.", _object(me)),
        "/v1/audit": _get(
            "audit",
            "List the last questions of programs, with who asked; empty unless the service keeps them (--audit).",
            _object({"on": {"type": "boolean"}, "most": number, "asked": {"type": "array", "items": asked}}),
            parameters=(SPACE,),
        ),
        "/v1/spaces": _get("spaces", "List the spaces.", _object({"spaces": {"type": "array", "items": text}})),
        "/v1/stream": _get(
            "stream",
            "Stream changes as server-sent events.",
            text,
            media_type="text/event-stream",
            parameters=STREAM_PARAMETERS,
        ),
        "/healthz": _get("healthz", "Check that the process runs.", _object({"ok": {"type": "boolean"}})),
        "/readyz": _get("readyz", "Check that the memory can be read.", _object({"ok": {"type": "boolean"}})),
        "/metrics": _get("metrics", "Return metrics for Prometheus.", text, media_type="text/plain"),
    }


def _get(
    name: str, summary: str, schema: Schema, *, media_type: str = JSON, parameters: Sequence[Parameter] = ()
) -> dict[str, Any]:
    return {"get": _asked(name, summary, {media_type: {"schema": schema}}, parameters)}


def _object(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties}


def _sentence(summary: str) -> str:
    return f"{summary[:1].upper()}{summary[1:]}."


# Parameters and what limits their values

# White space as Python defines it.
_BLANKS = r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_WORDS: Schema = {"pattern": rf"^[^\u0000]*[^{_BLANKS}\u0000][^\u0000]*$", "minLength": 1}
_NAME: Schema = {**_WORDS, "maxLength": 1_024}
_TEXT: Schema = {"pattern": f"[^{_BLANKS}]", "minLength": 1}
_EVENT_ID: Schema = {"pattern": "^ev_[0-9a-f]{32}$"}
# The years 1 to 9999, in seconds since 1970.
_MOMENT: Schema = {"minimum": -62_135_596_800, "maximum": 253_402_300_799}
_POSITION: Schema = {"pattern": r"^(now|[a-z_]{1,30}\.[0-9]{1,18}(,[a-z_]{1,30}\.[0-9]{1,18})*)$", "maxLength": 900}

_BY_NAME: dict[str, Schema] = {
    **dict.fromkeys(("space", "wing", "session", "speaker", "tag", "key"), _NAME),
    **dict.fromkeys(("query", "text", "topic"), _TEXT),
    **dict.fromkeys(("name", "entity", "subject", "gone", "into"), _WORDS),
    **dict.fromkeys(("prefix", "holder", "thing", "of"), _TEXT),
    "role": {"items": {"type": "string", **_NAME}, "minItems": 1},
    "source": {"items": {"type": "string", "enum": [f"{no}{one}" for one in Source for no in ("", "!")]}},
    "k": {"maximum": 1_000},
    "budget": {"maximum": 1_000_000},
    "limit": {"maximum": MOST_LISTED},
    "cursor": {"pattern": r"^[0-9]{1,12}\.[0-9a-f]{8}$"},
    "after": _POSITION,
    "ids": {"items": {"type": "string", **_EVENT_ID}},
    "keys": {"items": {"type": "string", **_NAME}},
    "names": {"items": {"type": "string", **_WORDS}, "minItems": 1},
    "number": {"maximum": 1 << 62},
    "style": {"enum": list(STYLES)},
    "parts": {"maximum": 1_000},
    "rooms": {"maximum": 1_000},
    "drawers": {"maximum": 1_000},
}
_MESSAGE: Schema = {
    "type": "object",
    "properties": {
        "role": {"type": "string", **_NAME},
        "content": {"anyOf": [{"type": "string", **_TEXT}, {"type": "array", "items": {"type": "object"}}]},
        "name": {"type": "string", **_NAME},
        "at": {"type": ["string", "number"]},
    },
    "required": ["role", "content"],
}
_OF_OPERATION: dict[tuple[str, str], Schema] = {
    ("events", "cursor"): {"pattern": r"^-?[0-9]{1,18}\.[0-9]{1,18}$"},
    ("sessions", "cursor"): {"pattern": r"^-?[0-9]{1,18}\.[0-9]{1,18}$"},
    ("statements", "cursor"): {"pattern": r"^[0-9]{1,18}$"},
    ("statements", "kind"): {"enum": [one.value for one in StatementKind]},
    ("statements", "status"): {"enum": [*(one.value for one in Status), "any"]},
    ("statements", "tag"): {},
    ("show", "id"): {"pattern": "^ev_[0-9a-f]{6,32}$"},
    ("add", "role"): _NAME,
    ("add", "source"): {"enum": list(Source)},
    ("add", "messages"): {"items": _MESSAGE},
    ("identity", "text"): {**_TEXT, "maxLength": 2_000},
    ("entities", "type"): {"enum": [one.value for one in EntityType]},
    ("intents", "status"): {"enum": [*(one.value for one in IntentStatus), "any"]},
    ("intents", "category"): {"enum": [one.value for one in IntentCategory]},
    ("answer_intent", "answer"): {"enum": [one.value for one in IntentAnswer]},
}


def _has(name: str) -> Schema:
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def _answer(answers: Sequence[str], **kinds: str) -> Schema:
    """Describe the other members of a body with one of these answers."""
    return {"properties": {"answer": {"enum": list(answers)}, **{name: {"type": kind} for name, kind in kinds.items()}}}


# Conditions on the members of a body, besides those that are always required.
_NONE: Schema = {"type": "null"}
_OF_BODY: dict[str, Schema] = {
    "add": {
        "oneOf": [
            {"required": ["text"], "properties": {"messages": _NONE}},
            {
                "required": ["messages"],
                "properties": {
                    "messages": {"type": "array"},
                    **dict.fromkeys(("text", "speaker", "key", "role"), _NONE),
                },
            },
        ]
    },
    "show": {"oneOf": [_has(one) for one in ("id", "key")]},
    "answer_intent": {
        "oneOf": [
            _answer(("modify",), text="string", until="null") | {"required": ["text"]},
            _answer(("defer",), text="null"),
            _answer(("accept", "reject", "done"), text="null", until="null"),
        ]
    },
    "forget": {"anyOf": [_has(one) for one in ("ids", "keys", "session", "speaker", "wing", "before")]},
}


def schema_of_parameter(operation: Operation | None, parameter: Parameter) -> Schema:
    """Describe one parameter with its limits."""
    place = ("" if operation is None else operation.name, parameter.name)
    described = {**parameter.kind.schema, **_OF_OPERATION.get(place, _BY_NAME.get(parameter.name, {}))}
    if takes_events(parameter):
        described["items"] = _event()
    described["description"] = parameter.description
    return described if parameter.default is None else {**described, "default": parameter.default}


def schema_of_body(operation: Operation, parameters: Sequence[Parameter]) -> Schema:
    """Describe the body of a POST; null means that an argument is not given."""
    filled = {one.fills for one in parameters}
    required = [one.name for one in parameters if one.required and one.name not in filled]
    schema = _schema_of_members(operation, parameters)
    if required:
        schema["required"] = required
    return {**schema, **_OF_BODY.get(operation.name, {})}


def _schema_of_members(operation: Operation, parameters: Sequence[Parameter]) -> Schema:
    return {
        "type": "object",
        "properties": {one.name: _schema_of_member(operation, one) for one in parameters},
        "additionalProperties": False,
    }


def takes_events(parameter: Parameter) -> bool:
    """Tell whether a parameter takes a batch of events, each with the parameters of `add`."""
    return parameter.kind is OBJECTS and not parameter.fills


def _schema_of_member(operation: Operation, parameter: Parameter) -> Schema:
    schema = schema_of_parameter(operation, parameter)
    if parameter.kind is TIME:
        schema |= {**_MOMENT, "type": ["string", "number"]}
    if parameter.required:
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    types = schema["type"]
    schema["type"] = [*types, "null"] if isinstance(types, list) else [types, "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return schema


def _event() -> Schema:
    """Describe an event of a batch: the parameters of `add`, and further members of an export."""
    add = BY_NAME["add"]
    alone = [one for one in add.parameters if not one.fills]
    members = _schema_of_members(add, alone)
    ignored: Schema = {name: {"description": "ignored"} for name in ("id", "space", "recorded_at")}
    return {**members, "properties": {**members["properties"], **ignored}, "required": ["text"]}
