"""Anthropic's messages. JSON comes from a tool that the model is made to call: its arguments are the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from recollect.inference.llm.speech import Dialect, Form, Piece, Request, Said, count, part

API_VERSION = "2023-06-01"  # of the message format; the header is required
TOOL = "answer"


class Messages:
    """Write requests and read answers of POST /messages."""

    path = "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """Show the key, if there is one."""
        return {"anthropic-version": API_VERSION, **({"x-api-key": key} if key else {})}

    def body(self, model: str, request: Request, dialect: Dialect) -> dict[str, Any]:
        """Write one request."""
        body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "messages": request.messages}
        if request.system:  # an empty one is refused
            body["system"] = request.system
        if dialect.temperature:
            body["temperature"] = request.temperature
        if request.stream:
            body["stream"] = True
        if request.schema is not None and dialect.form is Form.SCHEMA:
            body["tools"] = [{"name": TOOL, "description": "Give the answer.", "input_schema": request.schema}]
            body["tool_choice"] = {"type": "tool", "name": TOOL}
        return body

    def said(self, answer: Mapping[str, Any]) -> Said:
        """Read one answer: the arguments of the tool where it was called, else the text."""
        blocks = answer["content"]
        calls = [block["input"] for block in blocks if block["type"] == "tool_use"]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        ending = answer.get("stop_reason")
        usage = part(answer, "usage")
        return Said(
            text=json.dumps(calls[0], ensure_ascii=False) if calls else "".join(texts),
            tokens_in=_tokens_in(usage),
            tokens_out=count(usage.get("output_tokens")),
            model=answer.get("model"),
            cut_off=ending == "max_tokens",
            refusal="its safety filter stopped it" if ending == "refusal" else None,
        )

    def piece(self, event: Mapping[str, Any]) -> Piece:
        """Read one event of a stream: the counts come with the first and the last."""
        kind = event.get("type")
        if kind == "error":
            return Piece(trouble=str(event.get("error")))
        if kind == "message_start":
            return Piece(tokens_in=_tokens_in(part(event["message"], "usage")))
        if kind == "content_block_delta":
            return Piece(text=event["delta"].get("text") or "")
        if kind == "message_delta":
            return Piece(tokens_out=count(part(event, "usage").get("output_tokens")))
        return Piece(ended=kind == "message_stop")


def _tokens_in(usage: Mapping[str, Any]) -> int | None:
    """Add what was read from and written to the prompt cache: it was sent, too."""
    parts = [
        count(usage.get(name)) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    ]
    return None if parts[0] is None else sum(part or 0 for part in parts)
