"""What the table does not say of parameters and the library checks: shapes and limits, for the description."""

from __future__ import annotations

from typing import Any

from recollect.core.artifacts import ArtifactKind, Status
from recollect.operations import Operation, Parameter
from recollect.operations.log import ADD
from recollect.recall.instruct import STYLES
from recollect.serve.http.arguments import SCHEMAS
from recollect.serve.http.exposed import MOST_LISTED

Schema = dict[str, Any]

_WORDS: Schema = {"pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"}
_NAME: Schema = {**_WORDS, "minLength": 1, "maxLength": 1_024}
_TEXT: Schema = {"pattern": r"\S", "minLength": 1}
_EVENT_ID: Schema = {"pattern": "^ev_[0-9a-f]{32}$"}
_MOMENT: Schema = {"minimum": -62_135_596_800, "maximum": 253_402_300_799}  # the years 1 to 9999, in seconds since 1970
_POSITION: Schema = {"pattern": r"^(now|[a-z_]{1,30}\.[0-9]{1,18}(,[a-z_]{1,30}\.[0-9]{1,18})*)$", "maxLength": 900}

_BY_NAME: dict[str, Schema] = {
    **dict.fromkeys(("space", "wing", "session", "speaker", "tag", "key", "role"), _NAME),
    **dict.fromkeys(("query", "text"), _TEXT),
    "k": {"maximum": 1_000},
    "budget": {"maximum": 1_000_000},
    "limit": {"maximum": MOST_LISTED},
    "cursor": {"pattern": r"^[0-9]{1,12}(\.[A-Za-z0-9_-]{0,2000})?$"},
    "after": _POSITION,
    "ids": {"items": {"type": "string", **_EVENT_ID}},
    "keys": {"items": {"type": "string", **_NAME}},
    "style": {"enum": list(STYLES)},
}
_OF_OPERATION: dict[tuple[str, str], Schema] = {
    ("events", "cursor"): {"pattern": r"^-?[0-9]{1,18}\.[0-9]{1,18}$"},
    ("artifacts", "cursor"): {"pattern": r"^[0-9]{1,18}$"},
    ("artifacts", "kind"): {"enum": [one.value for one in ArtifactKind]},
    ("artifacts", "status"): {"enum": [*(one.value for one in Status), "any"]},
    ("artifacts", "tag"): {},
    ("show", "id"): _EVENT_ID,
}


def _has(name: str) -> Schema:
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


# Which members a body must have besides those that are required.
_OF_BODY: dict[str, Schema] = {
    "show": {"oneOf": [_has(one) for one in ("id", "key")]},
    "forget": {"anyOf": [_has(one) for one in ("ids", "keys", "session", "speaker", "wing", "before")]},
}


def schema_of_parameter(operation: Operation | None, parameter: Parameter) -> Schema:
    """Describe one parameter, with all that is known of it."""
    place = ("" if operation is None else operation.name, parameter.name)
    described = {**SCHEMAS[parameter.kind], **_OF_OPERATION.get(place, _BY_NAME.get(parameter.name, {}))}
    if parameter.kind == "objects":
        described["items"] = _event()
    described["description"] = parameter.help.split('; "-"')[0]  # without what the command line adds
    return described if parameter.default is None else {**described, "default": parameter.default}


def schema_of_body(operation: Operation, parameters: list[Parameter]) -> Schema:
    """Describe the body that a POST takes; null stands for what is not given."""
    members = {one.name: schema_of_parameter(operation, one) for one in parameters}
    required = [one.name for one in parameters if one.required]
    for name, member in members.items():
        if member.get("format") == "date-time":
            member |= {**_MOMENT, "type": ["string", "number", "null"]}
        elif name not in required:
            kinds = member["type"]
            member["type"] = [*kinds, "null"] if isinstance(kinds, list) else [kinds, "null"]
            if "enum" in member:
                member["enum"] = [*member["enum"], None]
    schema: Schema = {"type": "object", "properties": members, "additionalProperties": False}
    if required:
        schema["required"] = required
    return {**schema, **_OF_BODY.get(operation.name, {})}


def _event() -> Schema:
    """Describe an event of a batch: what `add` takes, and what an export has besides."""
    body = schema_of_body(ADD, list(ADD.parameters))
    given_by_us: Schema = {name: {"description": "not taken over"} for name in ("id", "space", "recorded_at")}
    return {**body, "properties": {**body["properties"], **given_by_us}}
