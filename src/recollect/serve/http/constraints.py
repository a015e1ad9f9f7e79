"""What the table does not say of parameters and the library checks: shapes and limits, for the description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.core.artifacts import ArtifactKind, Status
from recollect.core.attention import IntentAnswer, IntentCategory, IntentStatus
from recollect.core.graph import EntityType
from recollect.core.trust import Source
from recollect.operations import Operation, Parameter
from recollect.operations.log import ADD
from recollect.recall.instruct import STYLES
from recollect.recall.known import LEADS
from recollect.serve.http.arguments import SCHEMAS
from recollect.serve.http.exposed import MOST_LISTED

Schema = dict[str, Any]

# Blanks, just as Python has them.
_BLANKS = r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_WORDS: Schema = {"pattern": rf"^[^\u0000]*[^{_BLANKS}\u0000][^\u0000]*$", "minLength": 1}
_NAME: Schema = {**_WORDS, "maxLength": 1_024}
_TEXT: Schema = {"pattern": f"[^{_BLANKS}]", "minLength": 1}
_EVENT_ID: Schema = {"pattern": "^ev_[0-9a-f]{32}$"}
_MOMENT: Schema = {"minimum": -62_135_596_800, "maximum": 253_402_300_799}  # the years 1 to 9999, in seconds since 1970
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
    "cursor": {"pattern": r"^[0-9]{1,12}(\.[A-Za-z0-9_-]{0,2000})?$"},
    "after": _POSITION,
    "ids": {"items": {"type": "string", **_EVENT_ID}},
    "keys": {"items": {"type": "string", **_NAME}},
    "names": {"items": {"type": "string", **_WORDS}, "minItems": 1},
    "number": {"maximum": 1 << 62},
    "style": {"enum": list(STYLES)},
    "lead": {"enum": list(LEADS)},
    "parts": {"maximum": 1_000},
    "rooms": {"maximum": 1_000},
    "drawers": {"maximum": 1_000},
}
_OF_OPERATION: dict[tuple[str, str], Schema] = {
    ("events", "cursor"): {"pattern": r"^-?[0-9]{1,18}\.[0-9]{1,18}$"},
    ("artifacts", "cursor"): {"pattern": r"^[0-9]{1,18}$"},
    ("artifacts", "kind"): {"enum": [one.value for one in ArtifactKind]},
    ("artifacts", "status"): {"enum": [*(one.value for one in Status), "any"]},
    ("artifacts", "tag"): {},
    ("show", "id"): _EVENT_ID,
    ("add", "role"): _NAME,
    ("add", "source"): {"enum": list(Source)},
    ("identity", "text"): {**_TEXT, "maxLength": 2_000},
    ("entities", "type"): {"enum": [one.value for one in EntityType]},
    ("intents", "status"): {"enum": [*(one.value for one in IntentStatus), "any"]},
    ("intents", "category"): {"enum": [one.value for one in IntentCategory]},
    ("answer_intent", "answer"): {"enum": [one.value for one in IntentAnswer]},
}


def _has(name: str) -> Schema:
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def _answer(answers: Sequence[str], **kinds: str) -> Schema:
    """Say what may stand beside some answers."""
    return {"properties": {"answer": {"enum": list(answers)}, **{name: {"type": kind} for name, kind in kinds.items()}}}


# What a link can say: a query can't be told that of two things one alone may be given, or one not without the other.
IN_LINKS: dict[str, tuple[str, ...]] = {"show": ("id",), "beliefs": ("holder", "thing", "as_of", "limit", "cursor")}

# Which members a body must have besides those that are required.
_OF_BODY: dict[str, Schema] = {
    "show": {"oneOf": [_has(one) for one in ("id", "key")]},
    "beliefs": {"allOf": [{"anyOf": [{"properties": {"of": {"type": "null"}}}, _has("holder")]}]},
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
            member |= {**_MOMENT, "type": ["string", "number", *(() if name in required else ("null",))]}
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
