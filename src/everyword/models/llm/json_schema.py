"""Read JSON from an LLM's answer, check it against a schema, and remove the model's reasoning."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from everyword.errors import InvalidSetting, LLMGarbage
from everyword.models.protocol import Schema, well_formed

REASONING_START = "<think>"
REASONING_END = "</think>"  # may come without a start, which some servers put into the prompt
ANNOTATIONS = frozenset({"title", "description", "default", "examples", "$schema"})  # keywords without effect
RULES = frozenset(
    "type enum properties required additionalProperties items minItems maxItems"
    " minLength maxLength minimum maximum".split()
)
# Braces to try as the start of the JSON in an answer with prose around it.
MAX_STARTS = 20
KINDS: dict[str, type] = {"object": dict, "array": list, "string": str, "null": type(None)}  # others: _is_kind
SHOWN_CHARACTERS = 80  # of a value, in an error


def read_json(text: str, schema: Schema) -> Any:
    """Read the JSON object in an answer, with well-formed strings; raise LLMGarbage if it does not match the schema."""
    check_schema(schema)
    value = _find_object(text)
    for problem in _problems(value, schema, "$"):
        raise LLMGarbage(f"The answer does not meet the schema: {problem}.")
    return value


def check_schema(schema: Schema) -> None:
    """Reject a schema that APIs reject or that this module can't check."""
    if schema.get("type") != "object":
        raise InvalidSetting('A schema for an LLM must have "type": "object"; APIs accept nothing else.')
    unknown = sorted(_unknown_keywords(schema))
    if unknown:
        raise InvalidSetting(f"The schema uses {', '.join(unknown)}, which is not supported here.")


def object_schema(**properties: Schema) -> Schema:
    """Write the schema of an object that has exactly these members."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def list_schema(item: Schema, most: int) -> Schema:
    """Write the schema of a list."""
    return {"type": "array", "maxItems": most, "items": item}


def is_closed(schema: Schema) -> bool:
    """Check whether every object requires exactly its properties, as the strict modes of APIs demand."""
    if "properties" in schema or schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
            return False
    return all(is_closed(part) for part in _parts(schema))


def _unknown_keywords(schema: Schema) -> set[str]:
    return (set(schema) - RULES - ANNOTATIONS).union(*(_unknown_keywords(part) for part in _parts(schema)))


def _parts(schema: Schema) -> list[Schema]:
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return [cast(Schema, part) for part in inner if isinstance(part, Mapping)]


def _find_object(text: str) -> dict[str, Any]:
    """Parse the first JSON object in an answer."""
    answer = text.rpartition(REASONING_END)[2]
    start = answer.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            break
        try:
            return _parsed(answer, start)
        # RecursionError: a model that repeats itself may nest a thousand brackets.
        except (ValueError, RecursionError):
            start = answer.find("{", start + 1)
    shown = text.strip()[:SHOWN_CHARACTERS]
    raise LLMGarbage(f"The answer is not JSON: {shown!r}." if shown else "The answer is empty.")


def _parsed(text: str, start: int) -> dict[str, Any]:
    value, _ = _DECODER.raw_decode(text, start)
    # "\ud800" is valid JSON but invalid text: a store could not write it.
    return json.loads(well_formed(json.dumps(value, ensure_ascii=False)))


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)


def _problems(value: Any, schema: Schema, path: str) -> Iterator[str]:
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds and not any(_is_kind(value, kind) for kind in kinds):
        yield f"{path} must be {' or '.join(kinds)}, not {_shown(value)}"
        return
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        yield f"{path} must be one of {_shown(list(schema['enum']))}, not {_shown(value)}"
    if isinstance(value, dict):
        yield from _object_problems(cast("dict[str, Any]", value), schema, path)
    elif isinstance(value, list):
        yield from _array_problems(cast("list[Any]", value), schema, path)
    elif isinstance(value, str):
        yield from _bounds(len(value), schema, "minLength", "maxLength", f"the length of {path}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _bounds(value, schema, "minimum", "maximum", path)


def _object_problems(value: dict[str, Any], schema: Schema, path: str) -> Iterator[str]:
    properties: Mapping[str, Schema | bool] = schema.get("properties", {})
    others: Schema | bool = schema.get("additionalProperties", True)
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        yield f"{path} lacks {missing[0]!r}"
    for name, part in value.items():
        inner = properties.get(name, others)
        if inner is False:
            yield f"{path} must not have {name[:SHOWN_CHARACTERS]!r}"
        elif not isinstance(inner, bool):
            yield from _problems(part, inner, f"{path}.{name[:SHOWN_CHARACTERS]}")


def _array_problems(value: list[Any], schema: Schema, path: str) -> Iterator[str]:
    yield from _bounds(len(value), schema, "minItems", "maxItems", f"the length of {path}")
    if "items" in schema:
        for index, part in enumerate(value):
            yield from _problems(part, schema["items"], f"{path}[{index}]")


def _bounds(number: float, schema: Schema, least: str, most: str, what: str) -> Iterator[str]:
    if least in schema and number < schema[least]:
        yield f"{what} must be at least {schema[least]}, not {_shown(number)}"
    if most in schema and number > schema[most]:
        yield f"{what} must be at most {schema[most]}, not {_shown(number)}"


def _is_kind(value: Any, kind: str) -> bool:
    if isinstance(value, bool):  # a subclass of int
        return kind == "boolean"
    if isinstance(value, float):
        return kind == "number" and math.isfinite(value)
    if isinstance(value, int):
        return kind in {"integer", "number"}
    return isinstance(value, KINDS.get(kind, ()))


def _same(value: Any, choice: Any) -> bool:
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def strip_reasoning(text: str) -> str:
    """Return the text after the last reasoning block; nothing if a block never ends."""
    answer = text.rpartition(REASONING_END)[2]
    return "" if answer.lstrip().startswith(REASONING_START) else answer


def stream_without_reasoning(pieces: Iterable[str]) -> Iterator[str]:
    """Drop reasoning blocks at the start of a stream."""
    held, answering = "", False
    for piece in pieces:
        if answering:
            yield piece
            continue
        held = _after_reasoning(held + piece)
        answering = not REASONING_START.startswith(held[: len(REASONING_START)])
        if answering:
            yield held
    if not answering and not held.startswith(REASONING_START) and held:
        yield held


def _after_reasoning(text: str) -> str:
    text = text.lstrip()
    while text.startswith(REASONING_START) and REASONING_END in text:
        text = text.partition(REASONING_END)[2].lstrip()
    return text
