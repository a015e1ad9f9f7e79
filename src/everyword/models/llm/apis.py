"""The request and response formats of LLM APIs: OpenAI's chat completions and Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from everyword.models.llm.json_schema import is_closed
from everyword.models.protocol import Schema

SCHEMA_NAME = "answer"  # chat completions require a name for the schema
TOOL = "answer"
ANTHROPIC_VERSION = "2023-06-01"  # of the message format; the header is required


class JsonMode(StrEnum):
    """How to request JSON, the most reliable way first; servers reject the ways that they don't support."""

    SCHEMA = "schema"  # the server enforces the schema
    OBJECT = "object"  # the server enforces JSON; the prompt describes the schema
    PLAIN = "plain"  # only the prompt describes the schema


FALLBACK = {JsonMode.SCHEMA: JsonMode.OBJECT, JsonMode.OBJECT: JsonMode.PLAIN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to a model; `turns` alternate between user and assistant and end with the user."""

    system: str
    turns: tuple[str, ...]
    schema: Schema | None
    max_tokens: int
    temperature: float
    stream: bool = False

    @property
    def messages(self) -> list[dict[str, str]]:
        """The turns as messages; both APIs use the same form."""
        roles = ("user", "assistant")
        return [{"role": roles[index % 2], "content": turn} for index, turn in enumerate(self.turns)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A parsed response, not yet checked."""

    text: str
    tokens_in: int | None  # None: the server did not say
    tokens_out: int | None
    model: str | None
    truncated: bool = False  # by max_tokens
    refusal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    """One event of a streamed response."""

    text: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    ended: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
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


class Api(Protocol):
    """One API format. Parsing raises KeyError, TypeError or ValueError on an unexpected response."""

    @property
    def path(self) -> str: ...

    def headers(self, key: str | None) -> dict[str, str]: ...

    def body(self, model: str, request: Request, capabilities: Capabilities) -> dict[str, Any]: ...

    def completion(self, answer: Mapping[str, Any]) -> Completion: ...

    def stream_event(self, event: Mapping[str, Any]) -> StreamEvent: ...


class ChatCompletions:
    """POST /chat/completions, as OpenAI, Ollama, vLLM, LM Studio and llama.cpp serve it."""

    path = "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, request: Request, capabilities: Capabilities) -> dict[str, Any]:
        system = [{"role": "system", "content": request.system}] if request.system else []
        body: dict[str, Any] = {
            "model": model,
            "messages": system + request.messages,
            capabilities.limit: request.max_tokens,
        }
        if capabilities.temperature:
            body["temperature"] = request.temperature
        if request.stream:
            body["stream"] = True
            if capabilities.usage:
                body["stream_options"] = {"include_usage": True}
        if request.schema is not None and capabilities.json_mode is JsonMode.SCHEMA:
            schema = {"name": SCHEMA_NAME, "schema": request.schema, "strict": is_closed(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema is not None and capabilities.json_mode is JsonMode.OBJECT:
            body["response_format"] = {"type": "json_object"}
        return body

    def completion(self, answer: Mapping[str, Any]) -> Completion:
        choice = answer["choices"][0]
        message, ending = choice["message"], choice.get("finish_reason")
        refusal = message.get("refusal") or ("its content filter stopped it" if ending == "content_filter" else None)
        text = message.get("content") or ""
        if not isinstance(text, str):
            raise TypeError("the content is not text")
        usage = nested(answer, "usage")
        return Completion(
            text=text,
            tokens_in=token_count(usage.get("prompt_tokens")),
            tokens_out=token_count(usage.get("completion_tokens")),
            model=answer.get("model"),
            truncated=ending == "length",
            refusal=str(refusal) if refusal else None,
        )

    def stream_event(self, event: Mapping[str, Any]) -> StreamEvent:
        """Parse one event of a stream; the last one has the token counts and no choices."""
        if "error" in event:
            return StreamEvent(error=str(event["error"]))
        usage = nested(event, "usage")
        choices: list[dict[str, Any]] = event.get("choices") or [{}]
        text = nested(choices[0], "delta").get("content") or ""
        if not isinstance(text, str):
            raise TypeError("the content is not text")
        return StreamEvent(
            text=text,
            tokens_in=token_count(usage.get("prompt_tokens")),
            tokens_out=token_count(usage.get("completion_tokens")),
            ended=choices[0].get("finish_reason") is not None,
        )


class Messages:
    """POST /messages of Anthropic. For JSON the model must call a tool; its arguments are the answer."""

    path = "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}

    def body(self, model: str, request: Request, capabilities: Capabilities) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "messages": request.messages}
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
        usage = nested(answer, "usage")
        return Completion(
            text=json.dumps(calls[0], ensure_ascii=False) if calls else "".join(texts),
            tokens_in=_tokens_in(usage),
            tokens_out=token_count(usage.get("output_tokens")),
            model=answer.get("model"),
            truncated=ending == "max_tokens",
            refusal="its safety filter stopped it" if ending == "refusal" else None,
        )

    def stream_event(self, event: Mapping[str, Any]) -> StreamEvent:
        """Parse one event of a stream; the first and the last have the token counts."""
        kind = event.get("type")
        if kind == "error":
            return StreamEvent(error=str(event.get("error")))
        if kind == "message_start":
            return StreamEvent(tokens_in=_tokens_in(nested(event["message"], "usage")))
        if kind == "content_block_delta":
            return StreamEvent(text=event["delta"].get("text") or "")
        if kind == "message_delta":
            return StreamEvent(tokens_out=token_count(nested(event, "usage").get("output_tokens")))
        return StreamEvent(ended=kind == "message_stop")


def _tokens_in(usage: Mapping[str, Any]) -> int | None:
    """Count the input tokens, including those read from and written to the prompt cache."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = [token_count(usage.get(name)) for name in names]
    return None if counts[0] is None else sum(count or 0 for count in counts)


def nested(answer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a nested object, or an empty one."""
    return answer.get(name) or {}


def token_count(value: object) -> int | None:
    """Return a server's token count if it is a valid number."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
