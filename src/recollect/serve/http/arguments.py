"""What a request says, checked: each parameter by its kind, nothing unknown, nothing twice."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import Any, cast

from starlette.requests import ClientDisconnect, Request

from recollect.core.counts import AUTO
from recollect.core.errors import InvalidInput, TooLarge
from recollect.operations import Kind, Parameter
from recollect.serve.http.answers import JSON

SCHEMAS: dict[Kind, dict[str, Any]] = {
    "text": {"type": "string"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "integer": {"type": "integer", "minimum": 1},
    "count": {"type": ["integer", "string"], "minimum": 1, "pattern": f"^{AUTO}$"},
    "time": {"type": "string", "format": "date-time"},
    "object": {"type": "object"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "flag": {"type": "boolean"},
}
_TYPES: dict[Kind, tuple[type, ...]] = {
    "text": (str,),
    "texts": (list,),
    "integer": (int,),
    "count": (int, str),
    "time": (str, int, float),  # as the library has it: in a body, also seconds since 1970
    "object": (dict,),
    "objects": (list,),
    "flag": (bool,),
}
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_LONGEST_NUMBER = 19  # digits: more is no count of anything


def from_query(parameters: Iterable[Parameter], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Read arguments from the query of an address."""
    known = {parameter.name: parameter for parameter in parameters}
    read: dict[str, Any] = {}
    for name, text in given:
        parameter = known.get(name)
        if parameter is None:
            raise _unknown(name, known)
        if parameter.kind == "texts":
            read.setdefault(name, []).append(text)
        elif name in read:
            raise InvalidInput(f"{name} is given twice.")
        else:
            read[name] = _read(parameter, text)
    return checked(known, read)


def checked(known: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check arguments against the parameters; null stands for what is not given."""
    for name in given:
        if name not in known:
            raise _unknown(name, known)
    read = {name: value for name, value in given.items() if value is not None}
    for name, value in read.items():
        if known[name].kind in ("integer", "count") and isinstance(value, float) and value.is_integer():
            read[name] = value = int(value)  # to JSON, 7.0 is a whole number
        if known[name].or_one and isinstance(value, str):
            read[name] = value = [value]
        _check(known[name], value)
    missing = [name for name, parameter in known.items() if parameter.required and name not in read]
    if missing:
        raise InvalidInput(f"{' and '.join(missing)} must be given.")
    return read


async def whole_body(request: Request, most: int) -> bytes:
    """Read a body of a limited size."""
    return b"".join([chunk async for chunk in limited(request, most)])


def json_object(request: Request, content: bytes) -> dict[str, Any]:
    """Parse a body as a JSON object; an empty body is an empty one."""
    if not content.strip():
        return {}
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != JSON:
        raise InvalidInput(f"The body is {kind or 'of no known type'}; send {JSON}.")
    try:
        body: Any = json.loads(content)
    except (ValueError, RecursionError) as error:  # also what is not UTF-8
        raise InvalidInput(f"The body is not JSON ({str(error)[:200]}).") from error
    if not isinstance(body, dict):
        raise InvalidInput("The body must be a JSON object, with the parameters as its members.")
    return cast("dict[str, Any]", body)


async def limited(request: Request, most: int) -> AsyncGenerator[bytes]:
    """Go through a body in chunks; refuse one that is too large before all of it was sent."""
    said = request.headers.get("content-length", "")
    if said.isdecimal() and len(said) <= _LONGEST_NUMBER and int(said) > most:
        raise _too_large(most)
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise _too_large(most)
            yield chunk
    except ClientDisconnect as error:
        raise InvalidInput("The request ended before its body did.") from error


def _read(parameter: Parameter, text: str) -> Any:
    kind, name = parameter.kind, parameter.name
    if kind == "count" and text == AUTO:
        return text
    if kind in ("integer", "count"):
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > _LONGEST_NUMBER:
            raise InvalidInput(f"{name} must be a whole number, not {text[:40]!r}.")
        return int(text)
    if kind == "flag":
        if text.lower() not in _FLAGS:
            raise InvalidInput(f"{name} must be true or false, not {text[:40]!r}.")
        return _FLAGS[text.lower()]
    if kind in ("object", "objects"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{name} must be JSON ({str(error)[:200]}).") from error
    return text


def _check(parameter: Parameter, value: object) -> None:
    wanted = SCHEMAS[parameter.kind]["type"] if parameter.kind != "count" else f"integer, or {AUTO!r}"
    wrong_flag = isinstance(value, bool) and parameter.kind != "flag"
    if wrong_flag or not isinstance(value, _TYPES[parameter.kind]):
        raise InvalidInput(f"{parameter.name} must be of type {wanted}, not {type(value).__name__}.")
    if parameter.kind in ("texts", "objects"):
        inner = str if parameter.kind == "texts" else dict
        if not all(isinstance(one, inner) for one in cast("list[object]", value)):
            raise InvalidInput(f"{parameter.name} must be a list of {'strings' if inner is str else 'objects'}.")


def _unknown(name: str, known: Mapping[str, Parameter]) -> InvalidInput:
    takes = ", ".join(known) or "none"
    return InvalidInput(f"There is no parameter {name[:80]!r} here.", fix=f"Known: {takes}.")


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"The body has more than {most:,} bytes.", fix="Send it in parts.")
