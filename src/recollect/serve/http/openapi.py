"""The OpenAPI description, made from the same table as the routes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from recollect import __version__
from recollect.from_json import element_of
from recollect.operations import Operation, Parameter
from recollect.serve.http.answers import JSON, PROBLEM
from recollect.serve.http.constraints import IN_LINKS, schema_of_body, schema_of_parameter
from recollect.serve.http.endpoints import scope_parameters
from recollect.serve.http.exposed import Exposed, exposed
from recollect.serve.http.schemas import Schema, schema_of
from recollect.serve.http.stream import PARAMETERS as STREAM_PARAMETERS
from recollect.serve.http.transfer import FILES, Transfer

_DEMANDING = ("required", "oneOf", "anyOf")  # what a body has that must not be left out
_REFUSED = {"$ref": "#/components/responses/Refused"}
_PROBLEM: Schema = {
    "type": "object",
    "description": "What went wrong, and what to do (RFC 9457).",
    "properties": {
        "type": {"type": "string", "description": "urn:recollect:error:NAME; the names are those of the library"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "fix": {"type": "string", "description": "what to do about it"},
    },
    "required": ["type", "title", "status", "detail", "fix"],
}


@cache
def document() -> dict[str, Any]:
    """Describe every route."""
    named: dict[str, Schema] = {"Problem": _PROBLEM}
    paths: dict[str, Any] = {one.path: _operations(one, named) for one in exposed()}
    paths |= {one.path: {one.method.lower(): _file(one, named)} for one in FILES}
    paths |= _own_paths()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Recollect",
            "version": __version__,
            "description": "Long-term memory for AI agents. `space` and `wing` are in the query. What only reads "
            "takes its parameters in the query (GET) or the body (POST); what writes, in the body.",
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
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "recollect keys create"}},
        },
        "security": [{"key": []}, {}],
    }


def _operations(one: Exposed, named: dict[str, Schema]) -> dict[str, Any]:
    # What is to be forgotten may be a wing, and each event of a batch has its own: there it is in the body.
    in_body = one.operation.destructive or any(parameter.kind == "objects" for parameter in one.parameters)
    names = {"space"} if in_body else {"space", "wing"}
    scope = [parameter for parameter in scope_parameters(one) if parameter.name in names]
    inside = [parameter for parameter in one.parameters if parameter.name not in names]
    described: dict[str, Any] = {}
    for method in one.methods:
        asked: dict[str, Any] = {
            "operationId": f"{one.operation.name}_{method.lower()}",
            "summary": _sentence(one.operation.summary),
            "description": f"{one.operation.details} Needs a key that may {one.needs.value}.".strip(),
            "parameters": [_in_query(parameter) for parameter in scope],
            "responses": {
                "200": {"description": "Done.", "content": {JSON: {"schema": _result(one, named)}}},
                "default": _REFUSED,
            },
        }
        if method == "GET":
            asked["parameters"] += [_in_query(parameter, one.operation) for parameter in _linked(one, inside)]
        elif inside:
            body = schema_of_body(one.operation, inside)
            asked["requestBody"] = {
                "required": not body.keys().isdisjoint(_DEMANDING),
                "content": {JSON: {"schema": body}},
            }
        described[method.lower()] = asked
    return described


def _linked(one: Exposed, inside: list[Parameter]) -> list[Parameter]:
    """Choose what is described for a link; where one thing of several must be given, it is that one."""
    chosen = IN_LINKS.get(one.operation.name)
    if chosen is None:
        return inside
    alone = len(chosen) == 1
    return [replace(one, required=one.required or alone) for one in inside if one.name in chosen]


def _result(one: Exposed, named: dict[str, Schema]) -> Schema:
    operation: Operation = one.operation
    if not operation.result:
        return schema_of(one.returns, named)
    if one.listed:
        several = {"type": "array", "items": schema_of(element_of(one.returns), named)}
        return _object({operation.result: several, "next": {"type": ["string", "null"]}})
    return _object({operation.result: {} if one.returns is type(None) else schema_of(one.returns, named)})


def _in_query(parameter: Parameter, operation: Operation | None = None) -> dict[str, Any]:
    schema = schema_of_parameter(operation, parameter)
    described: dict[str, Any] = {"name": parameter.name, "in": "query", "required": parameter.required}
    described["description"] = schema.pop("description")
    if parameter.kind in ("object", "objects"):
        return {**described, "content": {JSON: {"schema": schema}}}
    return {**described, "schema": schema}


def _file(one: Transfer, named: dict[str, Schema]) -> dict[str, Any]:
    content: dict[str, Any] = (
        {one.media_type: {}} if one.gives is None else {JSON: {"schema": schema_of(one.gives, named)}}
    )
    sent: dict[str, Any] = {"description": "Done.", "content": content}
    described: dict[str, Any] = {
        "operationId": one.operation.name,
        "summary": _sentence(one.operation.summary),
        "description": f"{one.operation.details} Needs a key that may {one.needs.value}.".strip(),
        "parameters": [_in_query(parameter) for parameter in one.parameters],
        "responses": {"200": sent, "default": _REFUSED},
    }
    if one.method == "POST":
        described["requestBody"] = {"required": True, "content": {one.media_type: {"schema": {"type": "string"}}}}
    return described


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
    return {
        "/v1/me": _get("me", "Tell what the caller may do.", _object(me)),
        "/v1/spaces": _get("spaces", "List the spaces.", _object({"spaces": {"type": "array", "items": text}})),
        "/v1/stream": _get(
            "stream",
            "Follow what happens, as server-sent events.",
            text,
            media_type="text/event-stream",
            parameters=[_in_query(parameter) for parameter in STREAM_PARAMETERS],
        ),
        "/healthz": _get("healthz", "Tell that the process runs.", _object({"ok": {"type": "boolean"}})),
        "/readyz": _get("readyz", "Tell that the memory can be read.", _object({"ok": {"type": "boolean"}})),
        "/metrics": _get("metrics", "Count requests and times, for Prometheus.", text, media_type="text/plain"),
    }


def _get(
    name: str, summary: str, schema: Schema, *, media_type: str = JSON, parameters: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    answered = {"description": "Done.", "content": {media_type: {"schema": schema}}}
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "parameters": parameters or [],
            "responses": {"200": answered, "default": _REFUSED},
        }
    }


def _object(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties}


def _sentence(summary: str) -> str:
    return f"{summary[:1].upper()}{summary[1:]}."
