"""The client of an LLM behind HTTP: features by server, JSON by schema with one repair, token counts.

A setting names the LLM:

openai:MODEL              OpenAI
openai:MODEL@URL          any server of chat completions: vLLM, LM Studio, llama.cpp, OpenRouter ...
ollama:MODEL              Ollama on this machine (ollama:MODEL@URL: on another)
anthropic:MODEL           Anthropic (anthropic:MODEL@URL: another server of its messages)
URL#MODEL                 the same as openai:MODEL@URL
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from everyword.errors import InvalidInput, InvalidSetting, LLMError, LLMGarbage, LLMRefused, LLMUnavailable
from everyword.models.http_client import (
    HttpClient,
    HttpResponse,
    NoResponse,
    ResponseTooLarge,
    RetryPolicy,
    check_url,
    find_key,
)
from everyword.models.llm.apis import (
    Api,
    Capabilities,
    ChatCompletions,
    Completion,
    JsonMode,
    Messages,
    Request,
    StreamEvent,
)
from everyword.models.llm.budget import Allowance, Hold, estimate_tokens, hold_in
from everyword.models.llm.json_schema import check_schema, read_json
from everyword.models.protocol import DEFAULT_MAX_TOKENS, LLM, Reply, Schema, well_formed

FORM = "PROVIDER:MODEL@URL, as in openai:qwen3@http://localhost:8000/v1, ollama:llama3.2 or anthropic:claude-sonnet-4-5"
KEY_VARIABLE = "EVERYWORD_LLM_KEY"
URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "ollama": "http://localhost:11434/v1",
}
# Each key goes to its own provider only: a user who names another host did not mean to show it this key.
OWN_KEYS = {URLS["openai"]: "OPENAI_API_KEY", URLS["anthropic"]: "ANTHROPIC_API_KEY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMSettings:
    """Model and server of an LLM. The key is never shown."""

    provider: str
    model: str
    url: str
    api_key: str | None = field(default=None, repr=False)  # default: from the environment

    def __post_init__(self) -> None:
        if self.provider not in URLS or not self.model.strip():
            raise InvalidSetting("An LLM needs a provider and a model.", fix=f"Use {FORM}.")
        check_url(self.url, form=FORM)

    @classmethod
    def parse(cls, spec: str, *, api_key: str | None = None) -> LLMSettings:
        """Read PROVIDER:MODEL, PROVIDER:MODEL@URL or URL#MODEL."""
        if spec.startswith(("http://", "https://")):
            provider, (url, _, model) = "openai", spec.partition("#")
        else:
            provider, _, rest = spec.partition(":")
            model, _, url = rest.partition("@http")
            url = f"http{url}" if url else URLS.get(provider, "")
        return cls(provider=provider, model=model, url=url.rstrip("/"), api_key=api_key)

    @property
    def name(self) -> str:
        """The setting without the key, as parse() reads it."""
        where = "" if self.url == URLS[self.provider] else f"@{self.url}"
        return f"{self.provider}:{self.model}{where}"

    @property
    def key(self) -> str | None:
        """The key to send, from the settings or the environment."""
        return find_key(self.api_key, KEY_VARIABLE, OWN_KEYS.get(self.url, ""))


UNSUPPORTED_FIELD = frozenset({400, 404, 415, 422, 501})  # statuses of servers that reject a field
REPAIR_CHARACTERS = 4_000  # of a bad answer, quoted back to the model
SCHEMA_PROMPT = "Answer with one JSON object and nothing else. It must meet this JSON Schema:"
REPAIR_PROMPT = (
    "That can't be used. {trouble} Answer again, with one JSON object that meets the schema and nothing else."
)

Parsed = TypeVar("Parsed")
Failure = TypeVar("Failure", bound=LLMError)
LLMSpec = str | LLM | None


def load_llm(
    spec: LLMSpec = None,
    *,
    api_key: str | None = None,
    allowance: Allowance | None = None,
    retry: RetryPolicy | None = None,
) -> LLM | None:
    """Create the LLM that a setting names (see `LLMSettings`), or None; an LLM object is returned as it is."""
    if spec is None or spec == "none":
        return None
    if isinstance(spec, str):
        settings = LLMSettings.parse(spec, api_key=api_key)
        api = Messages() if settings.provider == "anthropic" else ChatCompletions()
        return HttpLLM(settings, api, allowance=allowance, retry=retry)
    if not callable(getattr(spec, "complete", None)):
        raise InvalidSetting(f"llm={type(spec).__name__} is not an LLM.", fix=f"Use {FORM}, or an LLM object.")
    if api_key or allowance or retry:
        raise InvalidSetting("api_key, allowance and retry apply to an LLM given by name, not to an object.")
    return spec


class HttpLLM:
    """A client of one model on one server. Threads may share it."""

    def __init__(
        self, settings: LLMSettings, api: Api, *, allowance: Allowance | None = None, retry: RetryPolicy | None = None
    ) -> None:
        self._settings = settings
        self._api = api
        self._allowance = allowance
        key = settings.key
        self._http = HttpClient(settings.url, headers=api.headers(key), key=key, retry=retry or RetryPolicy())
        self._capabilities = Capabilities()

    @property
    def name(self) -> str:
        """The setting that names this model; load_llm() reads it."""
        return self._settings.name

    def within(self, allowance: Allowance) -> HttpLLM:
        """Return a copy of this client that charges each request, repairs included, to an allowance."""
        other = copy(self)
        other._allowance = allowance
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
        """Answer a prompt; with a schema, in JSON that matches it, after one repair if needed."""
        request = _request(system, prompt, schema, max_tokens, temperature)
        bill = Hold()
        try:
            return self._complete(request, bill)
        except LLMError as error:
            error.tokens = bill.used
            raise

    def stream(
        self, *, system: str, prompt: str, max_tokens: int = DEFAULT_MAX_TOKENS, temperature: float = 0.0
    ) -> Iterator[str]:
        """Answer piece by piece. A stream that breaks off raises LLMUnavailable after the pieces received."""
        request = replace(_request(system, prompt, None, max_tokens, temperature), stream=True)
        with hold_in(self._allowance, _max_total_tokens(request)) as hold:
            answer = self._accepted(request, self._http.stream)
            yield from self._pieces(request, answer.lines or iter(()), hold)

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._http.close()

    def _complete(self, request: Request, bill: Hold) -> Reply:
        first = self._send(request, bill)
        if request.schema is None:
            return self._reply(well_formed(first.text), first)
        try:
            return self._reply(_json_of(first, request), first)
        except LLMGarbage as error:
            if first.truncated:  # it would be truncated again
                raise
            repair = REPAIR_PROMPT.format(trouble=error.detail)
        quoted = first.text[:REPAIR_CHARACTERS].strip() or "(nothing)"
        second = self._send(replace(request, turns=(*request.turns, well_formed(quoted), repair)), bill)
        return self._reply(_json_of(second, request), first, second)

    def _send(self, request: Request, bill: Hold) -> Completion:
        """Send one request and count the tokens that it used."""
        with hold_in(self._allowance, _max_total_tokens(request)) as hold:
            try:
                completion = self._receive(request, hold)
            except LLMGarbage:
                hold.spend(_max_total_tokens(request))  # it was answered, but the cost is unknown
                raise
            finally:
                bill.spend(hold.used)
        if completion.refusal:
            raise self._failed(LLMRefused, self._http.shown(completion.refusal))
        return completion

    def _receive(self, request: Request, hold: Hold) -> Completion:
        answer = self._accepted(request, self._http.post)
        completion = self._parse(lambda: self._api.completion(_object(answer.text)), answer.text)
        counted = replace(
            completion,
            tokens_in=_prompt_tokens(request) if completion.tokens_in is None else completion.tokens_in,
            tokens_out=estimate_tokens(completion.text) if completion.tokens_out is None else completion.tokens_out,
        )
        hold.spend((counted.tokens_in or 0) + (counted.tokens_out or 0))
        return counted

    def _accepted(self, request: Request, send: Callable[[str, dict[str, Any]], HttpResponse]) -> HttpResponse:
        """Send a request with fewer features each time until the server accepts it; remember what it accepts."""
        capabilities = self._capabilities
        while True:
            worded = _with_schema_prompt(request, capabilities.json_mode)
            body = self._api.body(self._settings.model, worded, capabilities)
            with self._in_our_words():
                answer = send(self._api.path, body)
            if answer.status == 200:
                self._capabilities = capabilities
                return answer
            weaker = capabilities.relaxed(request, answer.text) if answer.status in UNSUPPORTED_FIELD else None
            if weaker is None:
                raise self._rejection(answer)
            capabilities = weaker

    def _pieces(self, request: Request, lines: Iterator[str], hold: Hold) -> Iterator[str]:
        tokens_in, tokens_out = _prompt_tokens(request), 0
        received_bytes, half, ended = 0, "", False
        try:
            for event in self._stream_events(lines):
                ended = ended or event.ended
                tokens_in = tokens_in if event.tokens_in is None else event.tokens_in
                tokens_out = tokens_out if event.tokens_out is None else event.tokens_out
                if event.error:
                    raise self._failed(LLMUnavailable, self._http.shown(event.error))
                received_bytes += len(event.text.encode("utf-8", "surrogatepass"))
                text = half + event.text
                # The two halves of a surrogate pair may come in two events.
                half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
                if len(text) > len(half):
                    yield well_formed(text[: len(text) - len(half)])
            if not ended:
                raise self._failed(LLMUnavailable, "the stream ended before the answer did")
        finally:
            # Also if the caller stopped early: the server charges what it generated.
            hold.spend(tokens_in + (tokens_out or estimate_tokens("x" * received_bytes)))

    def _stream_events(self, lines: Iterator[str]) -> Iterator[StreamEvent]:
        """Parse server-sent events: lines that start with "data:", the last one perhaps [DONE]."""
        with self._in_our_words(), closing(cast(Any, lines)):
            for line in lines:
                data = line.removeprefix("data:").strip()
                if not line.startswith("data:") or not data:
                    continue
                if data == "[DONE]":
                    yield StreamEvent(ended=True)
                    return
                yield self._parse(lambda data=data: self._api.stream_event(_object(data)), data)

    @contextmanager
    def _in_our_words(self) -> Generator[None]:
        try:
            yield
        except NoResponse as error:
            raise self._failed(LLMUnavailable, str(error)) from error
        except ResponseTooLarge as error:
            raise self._failed(LLMGarbage, str(error)) from error

    def _parse(self, parse: Callable[[], Parsed], text: str) -> Parsed:
        try:
            return parse()
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            shown = self._http.shown(text)
            raise self._failed(LLMGarbage, f"its response is not of this API: {shown!r}") from error

    def _rejection(self, answer: HttpResponse) -> LLMRefused:
        detail = f"HTTP {answer.status} {self._http.shown(answer.text)}".strip()
        if answer.status in {401, 403}:
            return self._failed(LLMRefused, detail, fix=f"Set the key in {KEY_VARIABLE}.")
        if answer.status == 404:
            return self._failed(LLMRefused, detail, fix="Check the model's name and the path of the URL.")
        return self._failed(LLMRefused, detail)

    def _failed(self, kind: type[Failure], reason: str, *, fix: str | None = None) -> Failure:
        return kind(f"The LLM {self.name} failed: {reason.rstrip('.')}.", fix=fix)

    def _reply(self, text: str, *parts: Completion) -> Reply:
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


def _with_schema_prompt(request: Request, json_mode: JsonMode) -> Request:
    """Describe the schema in the prompt if the server does not enforce it."""
    if request.schema is None or json_mode is JsonMode.SCHEMA:
        return request
    schema_prompt = f"{SCHEMA_PROMPT}\n{json.dumps(request.schema, ensure_ascii=False)}"
    return replace(request, system=f"{request.system}\n\n{schema_prompt}".strip())


def _json_of(completion: Completion, request: Request) -> str:
    if completion.truncated:
        raise LLMGarbage(
            f"The answer was cut off at {request.max_tokens} tokens, inside the JSON.", fix="Raise max_tokens."
        )
    return json.dumps(read_json(completion.text, cast(Schema, request.schema)), ensure_ascii=False)


def _max_total_tokens(request: Request) -> int:
    return _prompt_tokens(request) + request.max_tokens


def _prompt_tokens(request: Request) -> int:
    """Estimate the tokens of the prompt, the schema included."""
    schema = "" if request.schema is None else json.dumps(request.schema)
    return estimate_tokens(request.system, schema, *request.turns)


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return cast("dict[str, Any]", value)
