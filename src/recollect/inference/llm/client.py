"""An LLM behind HTTP: asked patiently, held to its schema, and stopped where the allowance ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar, cast

from recollect.core.errors import InvalidInput, LLMError, LLMGarbage, LLMRefused, LLMUnavailable
from recollect.inference.llm.allowance import Allowance, Hold, estimate_tokens, hold_in_all
from recollect.inference.llm.schema import check_schema, read_json
from recollect.inference.llm.settings import KEY_VARIABLE, LLMSettings
from recollect.inference.llm.speech import Api, Dialect, Form, Piece, Request, Said
from recollect.inference.llm.wire import Answer, Oversized, Patience, Unanswered, Wire
from recollect.inference.protocol import DEFAULT_MAX_TOKENS, Reply, Schema
from recollect.inference.text import well_formed

REFUSED_FORM = frozenset({400, 404, 415, 422, 501})  # statuses of servers that do not take a field
REPAIR_CHARACTERS = 4_000  # of a bad answer, shown to the model that gave it
SCHEMA_WORDS = "Answer with one JSON object and nothing else. It must meet this JSON Schema:"
REPAIR_WORDS = (
    "That can't be used. {trouble} Answer again, with one JSON object that meets the schema and nothing else."
)

Got = TypeVar("Got")
Failure = TypeVar("Failure", bound=LLMError)


class HttpLLM:
    """Speak to one model of one server. Safe to share among threads."""

    def __init__(
        self, settings: LLMSettings, api: Api, *, allowance: Allowance | None = None, patience: Patience | None = None
    ) -> None:
        self._settings = settings
        self._api = api
        self._allowances = () if allowance is None else (allowance,)
        key = settings.key
        self._wire = Wire(settings.url, headers=api.headers(key), key=key, patience=patience or Patience())
        self._dialect = Dialect()

    @property
    def name(self) -> str:
        """Name the model and where it is; load_llm() reads it."""
        return self._settings.name

    def within(self, allowance: Allowance) -> HttpLLM:
        """Give the same client under one more allowance; it holds each request to it, repairs included."""
        other = copy(self)
        other._allowances = (*self._allowances, allowance)
        return other

    def complete(
        self,
        *,
        system: str,
        prompt: str,
        schema: Schema | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float = 0.0,
    ) -> Reply:
        """Answer at once; with a schema, in JSON that meets it, after one repair if need be."""
        request = _request(system, prompt, schema, max_tokens, temperature)
        bill = Hold()
        try:
            return self._completed(request, bill)
        except LLMError as error:
            error.tokens = bill.used
            raise

    def stream(
        self, *, system: str, prompt: str, max_tokens: int = DEFAULT_MAX_TOKENS, temperature: float = 0.0
    ) -> Iterator[str]:
        """Answer piece by piece. A stream that breaks off raises LLMUnavailable after what came."""
        request = replace(_request(system, prompt, None, max_tokens, temperature), stream=True)
        with hold_in_all(self._allowances, _most(request)) as hold:
            answer = self._accepted(request, self._wire.stream)
            yield from self._pieces(request, answer.lines or iter(()), hold)

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._wire.close()

    def _completed(self, request: Request, bill: Hold) -> Reply:
        said = self._ask(request, bill)
        if request.schema is None:
            return self._reply(well_formed(said.text), said)
        try:
            return self._reply(_json_of(said, request), said)
        except LLMGarbage as error:
            if said.cut_off:  # it would be cut off again
                raise
            words = REPAIR_WORDS.format(trouble=error.detail)
        shown = said.text[:REPAIR_CHARACTERS].strip() or "(nothing)"
        again = self._ask(replace(request, turns=(*request.turns, well_formed(shown), words)), bill)
        return self._reply(_json_of(again, request), said, again)

    def _ask(self, request: Request, bill: Hold) -> Said:
        """Send one request, in the words that this server takes, and count what it used."""
        with hold_in_all(self._allowances, _most(request)) as hold:
            try:
                said = self._said(request, hold)
            except LLMGarbage:
                hold.spend(_most(request))  # it was answered, and nobody says for how much
                raise
            finally:
                bill.spend(hold.used)
        if said.refusal:
            raise self._failed(LLMRefused, self._wire.shown(said.refusal))
        return said

    def _said(self, request: Request, hold: Hold) -> Said:
        answer = self._accepted(request, self._wire.post)
        said = self._read(lambda: self._api.said(_object(answer.text)), answer.text)
        counted = replace(
            said,
            tokens_in=_sent(request) if said.tokens_in is None else said.tokens_in,
            tokens_out=estimate_tokens(said.text) if said.tokens_out is None else said.tokens_out,
        )
        hold.spend(_tokens(counted))
        return counted

    def _accepted(self, request: Request, send: Callable[[str, dict[str, Any]], Answer]) -> Answer:
        """Send a request until the server takes its form; remember the form that it took."""
        dialect = self._dialect
        while True:
            body = self._api.body(self._settings.model, _told(request, dialect.form), dialect)
            try:
                answer = send(self._api.path, body)
            except Unanswered as error:
                raise self._failed(LLMUnavailable, str(error)) from error
            except Oversized as error:
                raise self._failed(LLMGarbage, str(error)) from error
            if answer.status == 200:
                self._dialect = dialect
                return answer
            weaker = dialect.relaxed(request, answer.text) if answer.status in REFUSED_FORM else None
            if weaker is None:
                raise self._refused(answer)
            dialect = weaker

    def _pieces(self, request: Request, lines: Iterator[str], hold: Hold) -> Iterator[str]:
        tokens_in, tokens_out = _sent(request), 0
        written, half, ended = 0, "", False
        try:
            for event in self._events(lines):
                ended = ended or event.ended
                tokens_in = tokens_in if event.tokens_in is None else event.tokens_in
                tokens_out = tokens_out if event.tokens_out is None else event.tokens_out
                if event.trouble:
                    raise self._failed(LLMUnavailable, self._wire.shown(event.trouble))
                written += len(event.text.encode("utf-8", "surrogatepass"))
                text = half + event.text
                # A character of two halves may come in two events.
                half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
                if len(text) > len(half):
                    yield well_formed(text[: len(text) - len(half)])
            if not ended:
                raise self._failed(LLMUnavailable, "the stream ended before the answer did")
        finally:
            # Also where the reader stopped early: what came was made, and is charged.
            hold.spend(tokens_in + (tokens_out or estimate_tokens("x" * written)))

    def _events(self, lines: Iterator[str]) -> Iterator[Piece]:
        """Read the events of a stream: lines that start with "data:", the last of them perhaps [DONE]."""
        try:
            for line in lines:
                words = line.removeprefix("data:").strip()
                if not line.startswith("data:") or not words:
                    continue
                if words == "[DONE]":
                    yield Piece(ended=True)
                    return
                yield self._read(lambda words=words: self._api.piece(_object(words)), words)
        except Unanswered as error:
            raise self._failed(LLMUnavailable, str(error)) from error
        except Oversized as error:
            raise self._failed(LLMGarbage, str(error)) from error
        finally:
            cast(Any, lines).close()

    def _read(self, read: Callable[[], Got], text: str) -> Got:
        try:
            return read()
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            shown = self._wire.shown(text)
            raise self._failed(LLMGarbage, f"its answer is not of this API: {shown!r}") from error

    def _refused(self, answer: Answer) -> LLMRefused:
        words = f"HTTP {answer.status} {self._wire.shown(answer.text)}".strip()
        if answer.status in {401, 403}:
            return self._failed(LLMRefused, words, fix=f"Set the key in {KEY_VARIABLE}.")
        if answer.status == 404:
            return self._failed(LLMRefused, words, fix="Check the model's name, and whether the URL ends as it should.")
        return self._failed(LLMRefused, words)

    def _failed(self, kind: type[Failure], trouble: str, *, fix: str | None = None) -> Failure:
        return kind(f"The LLM {self.name} failed: {trouble.rstrip('.')}.", fix=fix)

    def _reply(self, text: str, *parts: Said) -> Reply:
        model = parts[-1].model
        return Reply(
            text=text,
            tokens_in=sum(part.tokens_in or 0 for part in parts),
            tokens_out=sum(part.tokens_out or 0 for part in parts),
            model=well_formed(model) if isinstance(model, str) else self._settings.model,
        )


def _request(system: str, prompt: str, schema: Schema | None, max_tokens: int, temperature: float) -> Request:
    if schema is not None:
        check_schema(schema)
    if max_tokens <= 0 or not 0 <= temperature <= 2:
        raise InvalidInput("max_tokens must be positive, and temperature between 0 and 2.")
    turns = (well_formed(prompt),)
    return Request(
        system=well_formed(system), turns=turns, schema=schema, max_tokens=max_tokens, temperature=temperature
    )


def _told(request: Request, form: Form) -> Request:
    """Tell the schema in words where the server does not hold the model to it."""
    if request.schema is None or form is Form.SCHEMA:
        return request
    words = f"{SCHEMA_WORDS}\n{json.dumps(request.schema, ensure_ascii=False)}"
    return replace(request, system=f"{request.system}\n\n{words}".strip())


def _json_of(said: Said, request: Request) -> str:
    if said.cut_off:
        raise LLMGarbage(
            f"The answer was cut off at {request.max_tokens} tokens, inside the JSON.", fix="Raise max_tokens."
        )
    return json.dumps(read_json(said.text, cast(Schema, request.schema)), ensure_ascii=False)


def _most(request: Request) -> int:
    return _sent(request) + request.max_tokens


def _sent(request: Request) -> int:
    """Guess the tokens of what is sent; a schema is read by the model, too."""
    schema = "" if request.schema is None else json.dumps(request.schema)
    return estimate_tokens(request.system, schema, *request.turns)


def _tokens(said: Said) -> int:
    return (said.tokens_in or 0) + (said.tokens_out or 0)


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return cast("dict[str, Any]", value)
