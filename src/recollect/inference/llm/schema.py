"""JSON out of an LLM's words, checked against the part of JSON Schema that is used here.

A schema may say: type (one or several of object, array, string, number, integer, boolean, null), enum, properties,
required, additionalProperties, items, minItems, maxItems, minLength, maxLength, minimum, maximum. Any other word that
would decide something is refused: a rule that nobody checks is worse than none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, cast

from recollect.core.errors import InvalidSetting, LLMGarbage
from recollect.inference.protocol import Schema
from recollect.inference.text import well_formed
from recollect.inference.thoughts import END_OF_THOUGHT

NOTES = frozenset({"title", "description", "default", "examples", "$schema"})  # words that decide nothing
RULES = frozenset(
    "type enum properties required additionalProperties items minItems maxItems"
    " minLength maxLength minimum maximum".split()
)
# Where the JSON may start in an answer that has words around it: no model opens so many braces in prose before it.
MOST_STARTS = 20
KINDS: dict[str, type] = {"object": dict, "array": list, "string": str, "null": type(None)}  # besides numbers
SHOWN_CHARACTERS = 80  # of a value, in what is said about it


def read_json(text: str, schema: Schema) -> Any:
    """Read the JSON object in an answer, or raise LLMGarbage with what is wrong; every string in it is well formed."""
    check_schema(schema)
    value = _found(text)
    for trouble in _problems(value, schema, "$"):
        raise LLMGarbage(f"The answer does not meet the schema: {trouble}.")
    return value


def check_schema(schema: Schema) -> None:
    """Refuse a schema that an API would refuse, or that could not be checked here."""
    if schema.get("type") != "object":
        raise InvalidSetting('A schema for an LLM must have "type": "object"; APIs accept nothing else.')
    unknown = sorted(_unknown_words(schema))
    if unknown:
        raise InvalidSetting(f"The schema uses {', '.join(unknown)}, which is not checked here.")


def is_closed(schema: Schema) -> bool:
    """Tell whether every object in a schema requires exactly what it names, as strict modes of APIs demand."""
    if "properties" in schema or schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
            return False
    return all(is_closed(part) for part in _parts(schema))


def _unknown_words(schema: Schema) -> set[str]:
    return (set(schema) - RULES - NOTES).union(*(_unknown_words(part) for part in _parts(schema)))


def _parts(schema: Schema) -> list[Schema]:
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return [cast(Schema, part) for part in inner if isinstance(part, Mapping)]


def _found(text: str) -> dict[str, Any]:
    """Find the JSON object: the whole answer, or the first thing in it that is one."""
    answer = text.rpartition(END_OF_THOUGHT)[2]
    place = answer.find("{")
    for _ in range(MOST_STARTS):
        if place < 0:
            break
        try:
            return _parsed(answer, place)
        # RecursionError: a model that repeats itself nests a thousand brackets.
        except (ValueError, RecursionError):
            place = answer.find("{", place + 1)
    shown = text.strip()[:SHOWN_CHARACTERS]
    raise LLMGarbage(f"The answer is not JSON: {shown!r}." if shown else "The answer is empty.")


def _parsed(text: str, start: int) -> dict[str, Any]:
    value, _ = _DECODER.raw_decode(text, start)
    # "\ud800" is valid JSON and no valid text: a store could not write it.
    return json.loads(well_formed(json.dumps(value, ensure_ascii=False)))


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


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
        for place, part in enumerate(value):
            yield from _problems(part, schema["items"], f"{path}[{place}]")


def _bounds(number: float, schema: Schema, least: str, most: str, what: str) -> Iterator[str]:
    if least in schema and number < schema[least]:
        yield f"{what} must be at least {schema[least]}, not {_shown(number)}"
    if most in schema and number > schema[most]:
        yield f"{what} must be at most {schema[most]}, not {_shown(number)}"


def _is_kind(value: Any, kind: str) -> bool:
    if isinstance(value, bool):  # which Python takes for a number
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
