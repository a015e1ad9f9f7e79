"""The client of an LLM behind HTTP: OpenAI's chat completions and Anthropic's messages.

A setting names the LLM:

openai:MODEL              OpenAI
openai:MODEL@URL          any server of chat completions: vLLM, LM Studio, llama.cpp, OpenRouter ...
ollama:MODEL              Ollama on this machine (ollama:MODEL@URL: on another)
anthropic:MODEL           Anthropic (anthropic:MODEL@URL: another server of its messages)
URL#MODEL                 the same as openai:MODEL@URL
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from enum import StrEnum
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from everyword.errors import InvalidInput, InvalidSetting, LLMGarbage, LLMRefused, LLMUnavailable
from everyword.models.http_client import Errors, HttpClient, HttpResponse, RetryPolicy, bearer
from everyword.models.protocol import DEFAULT_MAX_TOKENS, LLM, LLMSpec, Reply, Schema
from everyword.text.terms import well_formed

FORM = "PROVIDER:MODEL@URL, as in openai:qwen3@http://localhost:8000/v1, ollama:llama3.2 or anthropic:claude-sonnet-4-5"
KEY_VARIABLE = "EVERYWORD_LLM_KEY"
URLS = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "ollama": "http://localhost:11434/v1",
}
# Each key goes to its own provider only: a user who names another host did not mean to show it this key.
OWN_KEYS = {URLS["openai"]: "OPENAI_API_KEY", URLS["anthropic"]: "ANTHROPIC_API_KEY"}

UNSUPPORTED_FIELD = frozenset({400, 404, 415, 422, 501})  # statuses of servers that reject a field
SCHEMA_PROMPT = "Answer with one JSON object and nothing else. It must meet this JSON Schema:"
SCHEMA_NAME = "answer"  # chat completions require a name for the schema
TOOL = "answer"
ANTHROPIC_VERSION = "2023-06-01"  # of the message format; the header is required
# English has about four bytes per token; in other scripts a letter has two or three bytes and may be a token. So this
# overestimates in all of them.
BYTES_PER_TOKEN = 3


def load_llm(spec: LLMSpec = None, *, retry: RetryPolicy | None = None) -> LLM | None:
    """Create the LLM that a setting names, or None; an LLM object is returned as it is."""
    if spec is None or spec == "none":
        return None
    if isinstance(spec, str):
        return HttpLLM(spec, retry=retry)
    if not callable(getattr(spec, "complete", None)):
        raise InvalidSetting(f"llm={type(spec).__name__} is not an LLM.", fix=f"Use {FORM}, or an LLM object.")
    return spec


def estimate_tokens(*texts: str) -> int:
    """Estimate the tokens of texts when the server does not count them."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) // BYTES_PER_TOKEN + 1


class HttpLLM:
    """A client of one model on one server. Threads may share it."""

    def __init__(self, spec: str, *, retry: RetryPolicy | None = None) -> None:
        """Read PROVIDER:MODEL, PROVIDER:MODEL@URL or URL#MODEL."""
        if spec.startswith(("http://", "https://")):
            provider, (url, _, model) = "openai", spec.partition("#")
        else:
            provider, _, rest = spec.partition(":")
            model, _, url = rest.partition("@http")
            url = f"http{url}" if url else URLS.get(provider, "")
        if provider not in URLS or not model.strip():
            raise InvalidSetting("An LLM needs a provider and a model.", fix=f"Use {FORM}.")
        url = url.rstrip("/")
        self.name = f"{provider}:{model}{'' if url == URLS[provider] else f'@{url}'}"  # as it is read above
        self._model = model
        self._api = Messages() if provider == "anthropic" else ChatCompletions()
        self._http = HttpClient(
            url,
            name=f"The LLM {self.name}",
            errors=Errors(LLMUnavailable, LLMRefused, LLMGarbage),
            form=FORM,
            key_variables=(KEY_VARIABLE, *([OWN_KEYS[url]] if url in OWN_KEYS else [])),
            headers=self._api.headers,
            retry=retry or RetryPolicy(),
        )
        self._capabilities = Capabilities()

    def complete(
        self,
        *,
        system: str,
        prompt: str,
        schema: Schema | None = None,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        temperature: float = 0.0,
    ) -> Reply:
        """Answer a prompt; with a schema, in JSON as far as the server enforces it. Errors tell the tokens used."""
        request = _request(system, prompt, schema, max_tokens, temperature)
        answer = self._accepted(request, self._http.post)
        found = self._http.parsed(answer.text, self._api.completion, "of this API")
        reply = Reply(
            text=well_formed(found.text),
            tokens_in=_prompt_tokens(request) if found.tokens_in is None else found.tokens_in,
            tokens_out=estimate_tokens(found.text) if found.tokens_out is None else found.tokens_out,
            model=well_formed(found.model) if isinstance(found.model, str) else self._model,
        )
        error = None
        if found.refusal:
            error = self._http.failed(LLMRefused, self._http.shown(found.refusal))
        elif found.truncated and schema is not None:  # it would be truncated again
            error = LLMGarbage(
                f"The answer was cut off at {max_tokens} tokens, inside the JSON.", fix="Raise max_tokens."
            )
        if error is not None:
            error.tokens = reply.tokens_in + reply.tokens_out
            raise error
        return reply

    def stream(
        self, *, system: str, prompt: str, max_tokens: int = DEFAULT_MAX_TOKENS, temperature: float = 0.0
    ) -> Generator[str, None, int | None]:
        """Answer piece by piece, and return the tokens used if the server counts them.

        A stream that breaks off raises LLMUnavailable after the pieces received.
        """
        request = replace(_request(system, prompt, None, max_tokens, temperature), stream=True)
        answer = self._accepted(request, self._http.stream)
        tokens_in = tokens_out = None
        half, ended = "", False
        for event in self._stream_events(answer.lines or iter(())):
            ended = ended or event.ended
            tokens_in = tokens_in if event.tokens_in is None else event.tokens_in
            tokens_out = tokens_out if event.tokens_out is None else event.tokens_out
            if event.error:
                raise self._http.failed(LLMUnavailable, self._http.shown(event.error))
            text = half + event.text
            # The two halves of a surrogate pair may come in two events.
            half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
            if len(text) > len(half):
                yield well_formed(text[: len(text) - len(half)])
        if not ended:
            raise self._http.failed(LLMUnavailable, "the stream ended before the answer did")
        return None if tokens_out is None else (tokens_in or _prompt_tokens(request)) + tokens_out

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._http.close()

    def _accepted(self, request: Request, send: Callable[[str, dict[str, Any]], HttpResponse]) -> HttpResponse:
        """Send a request with fewer features each time until the server accepts it; remember what it accepts."""
        capabilities = self._capabilities
        while True:
            worded = _with_schema_prompt(request, capabilities.json_mode)
            answer = send(self._api.path, self._api.body(self._model, worded, capabilities))
            weaker = capabilities.relaxed(request, answer.text) if answer.status in UNSUPPORTED_FIELD else None
            if weaker is None:
                break
            capabilities = weaker
        try:
            self._http.accepted(answer)
        except LLMRefused as error:
            error.tokens = 0
            raise
        self._capabilities = capabilities
        return answer

    def _stream_events(self, lines: Iterator[str]) -> Iterator[Completion]:
        """Parse server-sent events: lines that start with "data:", the last one perhaps [DONE]."""
        with closing(cast(Any, lines)):
            for line in lines:
                data = line.removeprefix("data:").strip()
                if not line.startswith("data:") or not data:
                    continue
                if data == "[DONE]":
                    yield Completion(ended=True)
                    return
                yield self._http.parsed(data, self._api.stream_event, "of this API")


def _request(system: str, prompt: str, schema: Schema | None, max_tokens: int, temperature: float) -> Request:
    if max_tokens <= 0 or not 0 <= temperature <= 2:
        raise InvalidInput("max_tokens must be positive, and temperature between 0 and 2.")
    return Request(
        system=well_formed(system),
        prompt=well_formed(prompt),
        schema=schema,
        max_tokens=max_tokens,
        temperature=temperature,
    )


def _with_schema_prompt(request: Request, json_mode: JsonMode) -> Request:
    """Describe the schema in the prompt if the server does not enforce it."""
    if request.schema is None or json_mode is JsonMode.SCHEMA:
        return request
    schema_prompt = f"{SCHEMA_PROMPT}\n{json.dumps(request.schema, ensure_ascii=False)}"
    return replace(request, system=f"{request.system}\n\n{schema_prompt}".strip())


def _prompt_tokens(request: Request) -> int:
    """Estimate the tokens of the prompt, the schema included."""
    schema = "" if request.schema is None else json.dumps(request.schema)
    return estimate_tokens(request.system, schema, request.prompt)


class JsonMode(StrEnum):
    """How to request JSON, the most reliable way first; servers reject the ways that they don't support."""

    SCHEMA = "schema"  # the server enforces the schema
    OBJECT = "object"  # the server enforces JSON; the prompt describes the schema
    PLAIN = "plain"  # only the prompt describes the schema


FALLBACK = {JsonMode.SCHEMA: JsonMode.OBJECT, JsonMode.OBJECT: JsonMode.PLAIN}


class Request(Struct, frozen=True, kw_only=True):
    """One request to a model."""

    system: str
    prompt: str
    schema: Schema | None
    max_tokens: int
    temperature: float
    stream: bool = False


class Completion(Struct, frozen=True, kw_only=True):
    """A parsed response, or one event of a streamed response."""

    text: str = ""
    tokens_in: int | None = None  # None: the server did not say
    tokens_out: int | None = None
    model: str | None = None
    truncated: bool = False  # by max_tokens
    refusal: str | None = None
    ended: bool = False
    error: str | None = None


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a server supports, learned from what it rejects."""

    json_mode: JsonMode = JsonMode.SCHEMA
    limit: str = "max_tokens"  # or max_completion_tokens, for some models
    temperature: bool = True  # some models reject it
    usage: bool = True  # whether a stream can include token counts

    def relaxed(self, request: Request, complaint: str) -> Capabilities | None:
        """Return what to try after a rejection; None if nothing is left to leave out."""
        if self.limit == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, limit="max_completion_tokens")
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if request.stream and self.usage and "stream_options" in complaint:
            return replace(self, usage=False)
        # Servers say "unknown field", "unsupported" or nothing at all, so the complaint does not help here.
        if request.schema is not None and self.json_mode in FALLBACK:
            return replace(self, json_mode=FALLBACK[self.json_mode])
        return None


class ChatCompletions:
    """POST /chat/completions, as OpenAI, Ollama, vLLM, LM Studio and llama.cpp serve it."""

    path = "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return bearer(key)

    def body(self, model: str, request: Request, capabilities: Capabilities) -> dict[str, Any]:
        system = [{"role": "system", "content": request.system}] if request.system else []
        body: dict[str, Any] = {
            "model": model,
            "messages": [*system, {"role": "user", "content": request.prompt}],
            capabilities.limit: request.max_tokens,
        }
        if capabilities.temperature:
            body["temperature"] = request.temperature
        if request.stream:
            body["stream"] = True
            if capabilities.usage:
                body["stream_options"] = {"include_usage": True}
        if request.schema is not None and capabilities.json_mode is JsonMode.SCHEMA:
            schema = {"name": SCHEMA_NAME, "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema is not None and capabilities.json_mode is JsonMode.OBJECT:
            body["response_format"] = {"type": "json_object"}
        return body

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        return self._read(answer, answer["choices"][0], "message")

    def stream_event(self, event: Mapping[str, Any]) -> Completion:
        """Parse one event of a stream; the last one has the token counts and no choices."""
        if "error" in event:
            return Completion(error=str(event["error"]))
        choices: list[dict[str, Any]] = event.get("choices") or [{}]
        return self._read(event, {"delta": {}, **choices[0]}, "delta")

    def _read(self, answer: Mapping[str, Any], choice: Mapping[str, Any], name: str) -> Completion:
        message: Mapping[str, Any] = choice[name] or {}
        ending = choice.get("finish_reason")
        refusal = message.get("refusal") or ("its content filter stopped it" if ending == "content_filter" else None)
        text = message.get("content") or ""
        if not isinstance(text, str):
            raise TypeError("the content is not text")
        usage: Mapping[str, Any] = answer.get("usage") or {}
        return Completion(
            text=text,
            tokens_in=_token_count(usage.get("prompt_tokens")),
            tokens_out=_token_count(usage.get("completion_tokens")),
            model=answer.get("model"),
            truncated=ending == "length",
            refusal=str(refusal) if refusal else None,
            ended=ending is not None,
        )


class Messages:
    """POST /messages of Anthropic. For JSON the model must call a tool; its arguments are the answer."""

    path = "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}

    def body(self, model: str, request: Request, capabilities: Capabilities) -> dict[str, Any]:
        messages = [{"role": "user", "content": request.prompt}]
        body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "messages": messages}
        if request.system:  # an empty one is rejected
            body["system"] = request.system
        if capabilities.temperature:
            body["temperature"] = request.temperature
        if request.stream:
            body["stream"] = True
        if request.schema is not None and capabilities.json_mode is JsonMode.SCHEMA:
            body["tools"] = [{"name": TOOL, "description": "Give the answer.", "input_schema": request.schema}]
            body["tool_choice"] = {"type": "tool", "name": TOOL}
        return body

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        """Parse a response: the arguments of the tool call if there is one, else the text."""
        blocks = answer["content"]
        calls = [block["input"] for block in blocks if block["type"] == "tool_use"]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        ending = answer.get("stop_reason")
        usage: Mapping[str, Any] = answer.get("usage") or {}
        return Completion(
            text=json.dumps(calls[0], ensure_ascii=False) if calls else "".join(texts),
            tokens_in=_tokens_in(usage),
            tokens_out=_token_count(usage.get("output_tokens")),
            model=answer.get("model"),
            truncated=ending == "max_tokens",
            refusal="its safety filter stopped it" if ending == "refusal" else None,
        )

    def stream_event(self, event: Mapping[str, Any]) -> Completion:
        """Parse one event of a stream; the first and the last have the token counts."""
        kind = event.get("type")
        if kind == "error":
            return Completion(error=str(event.get("error")))
        if kind == "message_start":
            return Completion(tokens_in=_tokens_in(event["message"]["usage"]))
        if kind == "content_block_delta":
            return Completion(text=event["delta"].get("text") or "")
        if kind == "message_delta":
            return Completion(tokens_out=_token_count(event["usage"].get("output_tokens")))
        return Completion(ended=kind == "message_stop")


def _tokens_in(usage: Mapping[str, Any]) -> int | None:
    """Count the input tokens, including those read from and written to the prompt cache."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = [_token_count(usage.get(name)) for name in names]
    return None if counts[0] is None else sum(count or 0 for count in counts)


def _token_count(value: object) -> int | None:
    """Return a server's token count if it is a valid number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
