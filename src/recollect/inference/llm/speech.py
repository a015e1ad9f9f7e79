"""What is asked of an API and what it said, before and after it is put into that API's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from recollect.inference.protocol import Schema


class Form(StrEnum):
    """How JSON is asked for, the surest first; servers refuse those that they don't know."""

    SCHEMA = "schema"  # the server holds the model to the schema
    OBJECT = "object"  # the server holds it to JSON, and the prompt tells the schema
    PLAIN = "plain"  # only the prompt tells


WEAKER = {Form.SCHEMA: Form.OBJECT, Form.OBJECT: Form.PLAIN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model; `turns` alternate between user and assistant, and end with the user."""

    system: str
    turns: tuple[str, ...]
    schema: Schema | None
    max_tokens: int
    temperature: float
    stream: bool = False

    @property
    def messages(self) -> list[dict[str, str]]:
        """Write the turns as both APIs want them."""
        roles = ("user", "assistant")
        return [{"role": roles[place % 2], "content": turn} for place, turn in enumerate(self.turns)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer, read but not checked."""

    text: str
    tokens_in: int | None  # None: the server does not count
    tokens_out: int | None
    model: str | None
    cut_off: bool = False  # by max_tokens
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One event of a stream."""

    text: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    ended: bool = False
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What a server takes, found out by what it refuses."""

    form: Form = Form.SCHEMA
    limit: str = "max_tokens"  # or max_completion_tokens, as some models want it
    temperature: bool = True  # some models take none
    usage: bool = True  # whether it counts tokens in a stream when asked to

    def relaxed(self, request: Request, complaint: str) -> Dialect | None:
        """Give what to try after a refusal; None where nothing is left to leave out."""
        if self.limit == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, limit="max_completion_tokens")
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if request.stream and self.usage and "stream_options" in complaint:
            return replace(self, usage=False)
        # Servers say "unknown field", "unsupported", or nothing at all here: the words don't tell.
        if request.schema is not None and self.form in WEAKER:
            return replace(self, form=WEAKER[self.form])
        return None


class Api(Protocol):
    """The words of one kind of API. Reading raises KeyError, TypeError or ValueError where an answer is not of it."""

    @property
    def path(self) -> str: ...

    def headers(self, key: str | None) -> dict[str, str]: ...

    def body(self, model: str, request: Request, dialect: Dialect) -> dict[str, Any]: ...

    def said(self, answer: Mapping[str, Any]) -> Said: ...

    def piece(self, event: Mapping[str, Any]) -> Piece: ...


def part(answer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Give an object inside an answer; an empty one where there is none."""
    return answer.get(name) or {}


def count(value: object) -> int | None:
    """Take a server's count of tokens if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
