"""Chat completions, as OpenAI, Ollama, vLLM, LM Studio and llama.cpp speak them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.inference.llm.schema import is_closed
from recollect.inference.llm.speech import Dialect, Form, Piece, Request, Said, count, part

SCHEMA_NAME = "answer"  # the API wants one


class ChatCompletions:
    """Write requests and read answers of POST /chat/completions."""

    path = "/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        """Show the key, if there is one; local servers want none."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, request: Request, dialect: Dialect) -> dict[str, Any]:
        """Write one request."""
        system = [{"role": "system", "content": request.system}] if request.system else []
        body: dict[str, Any] = {
            "model": model,
            "messages": system + request.messages,
            dialect.limit: request.max_tokens,
        }
        if dialect.temperature:
            body["temperature"] = request.temperature
        if request.stream:
            body["stream"] = True
            if dialect.usage:
                body["stream_options"] = {"include_usage": True}
        if request.schema is not None and dialect.form is Form.SCHEMA:
            schema = {"name": SCHEMA_NAME, "schema": request.schema, "strict": is_closed(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema is not None and dialect.form is Form.OBJECT:
            body["response_format"] = {"type": "json_object"}
        return body

    def said(self, answer: Mapping[str, Any]) -> Said:
        """Read one answer."""
        choice = answer["choices"][0]
        message, ending = choice["message"], choice.get("finish_reason")
        refusal = message.get("refusal") or ("its content filter stopped it" if ending == "content_filter" else None)
        text = message.get("content") or ""
        if not isinstance(text, str):
            raise TypeError("the content is not text")
        usage = part(answer, "usage")
        return Said(
            text=text,
            tokens_in=count(usage.get("prompt_tokens")),
            tokens_out=count(usage.get("completion_tokens")),
            model=answer.get("model"),
            cut_off=ending == "length",
            refusal=str(refusal) if refusal else None,
        )

    def piece(self, event: Mapping[str, Any]) -> Piece:
        """Read one event of a stream; the last has the counts and no choices."""
        if "error" in event:
            return Piece(trouble=str(event["error"]))
        usage = part(event, "usage")
        choices: list[dict[str, Any]] = event.get("choices") or [{}]
        text = part(choices[0], "delta").get("content") or ""
        if not isinstance(text, str):
            raise TypeError("the content is not text")
        return Piece(
            text=text,
            tokens_in=count(usage.get("prompt_tokens")),
            tokens_out=count(usage.get("completion_tokens")),
            ended=choices[0].get("finish_reason") is not None,
        )
