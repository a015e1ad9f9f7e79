"""Ask an LLM for JSON, check its answer against a schema, and remove the model's reasoning."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from everyword.errors import LLMGarbage
from everyword.models.protocol import LLM, Schema
from everyword.text.terms import well_formed

REASONING_START = "<think>"
REASONING_END = "</think>"  # may come without a start, which some servers put into the prompt
# Braces to try as the start of the JSON in an answer with prose around it.
MAX_STARTS = 20
SHOWN_CHARACTERS = 80  # of a value, in an error
REPAIR_CHARACTERS = 4_000  # of a bad answer, quoted back to the model
REPAIR_PROMPT = (
    "That can't be used. {trouble} Answer again, with one JSON object that meets the schema and nothing else."
)
_KINDS: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


class JsonAnswer(NamedTuple):
    """An answer that meets the schema, and the model's name as its server gives it."""

    value: Any
    model: str


def ask_json(llm: LLM, *, system: str, prompt: str, schema: Schema, max_tokens: int) -> JsonAnswer:
    """Ask for JSON; if it does not meet the schema, ask once more with the reason. Raise an LLMError."""
    reply = llm.complete(system=system, prompt=prompt, schema=schema, max_tokens=max_tokens)
    try:
        return JsonAnswer(read_json(reply.text, schema), reply.model)
    except LLMGarbage as error:
        quoted = json.dumps(reply.text[:REPAIR_CHARACTERS], ensure_ascii=False)
        repair = f"{prompt}\n\nYou answered: {quoted}\n{REPAIR_PROMPT.format(trouble=error.detail)}"
    reply = llm.complete(system=system, prompt=repair, schema=schema, max_tokens=max_tokens)
    return JsonAnswer(read_json(reply.text, schema), reply.model)


def object_schema(**properties: Schema) -> Schema:
    """Write the schema of an object that has exactly these members."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def list_schema(item: Schema, most: int) -> Schema:
    return {"type": "array", "maxItems": most, "items": item}


def read_json(text: str, schema: Schema) -> Any:
    """Read the first JSON object in an answer, with well-formed strings; raise LLMGarbage if it breaks the schema.

    Knows the keywords that schemas here use: those of `object_schema` and `list_schema`, type, enum, minimum, maximum.
    """
    answer = text.rpartition(REASONING_END)[2]
    start = answer.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            break
        try:
            found, _ = _DECODER.raw_decode(answer, start)
            # "\ud800" is valid JSON but invalid text: a store could not write it.
            value = json.loads(well_formed(json.dumps(found, ensure_ascii=False)))
        # RecursionError: a model that repeats itself may nest a thousand brackets.
        except (ValueError, RecursionError):
            start = answer.find("{", start + 1)
            continue
        problem = _problem(value, schema, "$")
        if problem is not None:
            raise LLMGarbage(f"The answer does not meet the schema: {problem}.")
        return value
    shown = text.strip()[:SHOWN_CHARACTERS]
    raise LLMGarbage(f"The answer is not JSON: {shown!r}." if shown else "The answer is empty.")


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)


def _problem(value: Any, schema: Schema, path: str) -> str | None:
    """Say what in a value breaks a schema; None if nothing does."""
    kinds: list[str] = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    # bool is a subclass of int.
    if not any(isinstance(value, _KINDS[kind]) and isinstance(value, bool) == (kind == "boolean") for kind in kinds):
        return f"{path} must be {' or '.join(kinds)}, not {_shown(value)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} must be one of {_shown(schema['enum'])}, not {_shown(value)}"
    parts: Iterable[tuple[Any, Schema, str]] = ()
    if isinstance(value, dict):
        properties: dict[str, Schema] = schema["properties"]
        members = cast("dict[str, Any]", value)
        wrong = sorted(properties.keys() ^ members.keys())
        if wrong:
            return f"{path} {'lacks' if wrong[0] in properties else 'must not have'} {wrong[0][:SHOWN_CHARACTERS]!r}"
        parts = ((members[name], inner, f"{path}.{name}") for name, inner in properties.items())
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        if len(items) > schema.get("maxItems", len(items)):
            return f"{path} must have at most {schema['maxItems']} items"
        parts = ((one, schema["items"], f"{path}[{place}]") for place, one in enumerate(items))
    elif isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return f"{path} must be from {schema.get('minimum')} to {schema.get('maximum')}, not {_shown(value)}"
    return next((problem for one in parts if (problem := _problem(*one)) is not None), None)


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
        held = (held + piece).lstrip()
        while held.startswith(REASONING_START) and REASONING_END in held:
            held = held.partition(REASONING_END)[2].lstrip()
        answering = not REASONING_START.startswith(held[: len(REASONING_START)])
        if answering:
            yield held
    if not answering and not held.startswith(REASONING_START) and held:
        yield held
