"""Parameters of operations: each kind's JSON Schema, its check, and how to read it from text, for every surface."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from msgspec import Struct

from everyword.errors import InvalidInput
from everyword.settings import AUTO

_MOST_DIGITS = 19  # more than 64 bits hold


class Kind(Struct, frozen=True, eq=False):
    """One kind of value that a parameter takes."""

    expected: str  # in words, for error messages
    types: tuple[type, ...]  # Python types of a value
    schema: Mapping[str, Any]  # JSON Schema of a value
    metavar: str = ""  # on the command line; the parameter's name where empty
    items: type | None = None  # type of the items, where a value is a list
    parse: Callable[[str], Any] = str  # from a command line or the query of an address; ValueError says what is wrong

    def accepts(self, value: object) -> bool:
        """Check a value's type; the memory checks its range. In Python a bool is an int, here it is not."""
        if not isinstance(value, self.types) or (isinstance(value, bool) and bool not in self.types):
            return False
        return self.items is None or all(isinstance(one, self.items) for one in cast("list[object]", value))


class Parameter(Struct, frozen=True):
    """One parameter of an operation."""

    name: str  # as the method spells it
    kind: Kind
    help: str
    required: bool = False
    default: Any = None
    positional: bool = False  # on the command line, given by place instead of by option
    options: tuple[str, ...] = ()  # on the command line, instead of --name; a flag's option negates its default
    or_one: bool = False  # a list of texts may also be given as a single text
    several: bool = False  # the command line takes more than one and runs the operation once for each
    fills: str = ""  # another parameter that it stands for, in another form
    from_stdin: bool = False  # the command line reads it from standard input where it is left out or "-"
    alone: str | None = None  # its value where the command line has the option alone

    @property
    def argument(self) -> str:
        """Return the name of the method's argument."""
        return self.fills or self.name

    @property
    def option_help(self) -> str:
        """Return the help text of the option, which switches off a flag that is on."""
        return f"do not {self.help}" if self.default is True else self.help

    @property
    def description(self) -> str:
        """Return the help text without what it says about standard input."""
        return self.help.split('; "-"')[0]


def check_arguments(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Check arguments that came as JSON; null means that an argument is not given."""
    known = {parameter.name: parameter for parameter in parameters}
    checked: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise _unknown(name, known)
        if value is not None:
            checked[name] = _check(known[name], value)
    filled = [known[name].argument for name in checked]
    missing = [name for name, parameter in known.items() if parameter.required and name not in filled]
    if missing:
        raise InvalidInput(f"Missing parameter: {', '.join(missing)}.")
    if twice := sorted(name for name in set(filled) if filled.count(name) > 1):
        raise InvalidInput(f"Give either {' or '.join(one for one in checked if known[one].argument == twice[0])}.")
    return checked


def parse_query(parameters: Iterable[Parameter], given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Read arguments from the query of an address, and check them."""
    known = {parameter.name: parameter for parameter in parameters}
    read: dict[str, Any] = {}
    for name, text in given:
        if name not in known:
            raise _unknown(name, known)
        if known[name].kind is TEXTS:
            read.setdefault(name, []).append(text)
        elif name in read:
            raise InvalidInput(f"{name} is given twice.")
        else:
            try:
                read[name] = known[name].kind.parse(text)
            except ValueError as error:
                raise InvalidInput(f"{name}: {error}.") from error
    return check_arguments(known.values(), read)


def _check(parameter: Parameter, value: Any) -> Any:
    if parameter.kind in (INTEGER, COUNT) and isinstance(value, float) and value.is_integer():
        value = int(value)  # in JSON, 7.0 is an integer
    if parameter.or_one and isinstance(value, str):
        value = [value]
    if not parameter.kind.accepts(value):
        raise InvalidInput(f"{parameter.name} must be {parameter.kind.expected}, not {_described(value)}.")
    return value


def _described(value: Any) -> str:
    return repr(value) if isinstance(value, str) and len(value) <= 40 else type(value).__name__


def _unknown(name: str, known: Iterable[str]) -> InvalidInput:
    return InvalidInput(f"Unknown parameter {name[:80]!r}.", fix=f"Valid parameters: {', '.join(known) or 'none'}.")


# How each kind is read from text


def _integer(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > _MOST_DIGITS:
        raise ValueError(f"{text[:40]!r} is not a whole number")
    return int(text)


def _count(text: str) -> int | str:
    if text == AUTO:
        return AUTO
    try:
        return _integer(text)
    except ValueError as error:
        raise ValueError(f"{error}, nor {AUTO!r}") from None


def _flag(text: str) -> bool:
    values = {"true": True, "1": True, "false": False, "0": False}
    if text.lower() not in values:
        raise ValueError(f"{text[:40]!r} is neither true nor false")
    return values[text.lower()]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not JSON ({str(error)[:200]})") from None


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = _json(text)
    except ValueError as error:
        raise ValueError(f'{error}; write it as \'{{"name": "value"}}\'') from None
    if not isinstance(value, dict):
        raise ValueError('a JSON object is needed, such as \'{"name": "value"}\'')
    return cast("dict[str, Any]", value)


def _json_objects(text: str) -> list[dict[str, Any]]:
    value = _json(text)
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in cast("list[Any]", value)):
        raise ValueError('a list of JSON objects is needed, such as \'[{"role": "user", "content": "Hello."}]\'')
    return cast("list[dict[str, Any]]", value)


_STRING = {"type": "string"}
TEXT = Kind("a string", (str,), _STRING)
TEXTS = Kind("a list of strings", (list,), {"type": "array", "items": _STRING}, items=str)
PATH = Kind("a path", (str,), _STRING, "PATH")
# Whatever `as_datetime` reads; in JSON also seconds since 1970.
TIME = Kind("a time, such as 2026-04-02T10:00Z", (str, int, float), {"type": "string", "format": "date-time"}, "TIME")
INTEGER = Kind("an integer", (int,), {"type": "integer", "minimum": 1}, "N", parse=_integer)
# AUTO lets the memory find the number.
COUNT = Kind(
    f"an integer or {AUTO!r}",
    (int, str),
    {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "enum": [AUTO]}]},
    "N",
    parse=_count,
)
FLAG = Kind("true or false", (bool,), {"type": "boolean"}, parse=_flag)
OBJECT = Kind("a JSON object", (dict,), {"type": "object"}, "JSON", parse=_json_object)
OBJECTS = Kind(
    "a list of JSON objects",
    (list,),
    {"type": "array", "items": {"type": "object"}},
    "JSON",
    items=dict,
    parse=_json_objects,
)
