# pyright: basic, reportMissingImports=false
"""A toolset and a message history of pydantic-ai on a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from everyword.extras import optional
from everyword.interfaces.adapters.conversations import Conversation, Item, ItemText
from everyword.interfaces.adapters.documents import AgentTools, AnyMemory, to_json_text

with optional("pydantic-ai"):
    from pydantic_ai import FunctionToolset
    from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

__all__ = ["EverywordHistory", "EverywordToolset"]

_SPOKEN = {"user-prompt": "user", "text": "assistant"}  # parts that somebody says, and the role of who does


class EverywordToolset(FunctionToolset[Any]):
    """Two tools, `recall` and `remember`; the first alone if `read_only`."""

    def __init__(
        self,
        memory: AnyMemory,
        *,
        wing: str | None = None,
        session: str | None = None,
        budget: int = 800,
        filters: Mapping[str, Any] | None = None,
        read_only: bool = False,
        **options: Any,
    ) -> None:
        """Offer a memory to an agent.

        session: that of what is remembered. budget: most tokens of what a search tells. filters: conditions of each
        search, such as speaker or since. options: of `FunctionToolset`.
        """
        tools = AgentTools(memory, wing=wing, session=session, budget=budget, filters=filters)
        super().__init__(tools.functions(read_only=read_only), **{"id": "everyword", **options})


class EverywordHistory:
    """The messages of one conversation; each is an event that recall finds."""

    def __init__(
        self,
        session: str,
        memory: AnyMemory,
        *,
        wing: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        redact: str | None = None,
    ) -> None:
        """Keep a conversation in a memory. user, agent: the names of who speaks as "user" and as "assistant"."""
        self._conversation = Conversation(
            memory, "pydantic-ai", session, said=_said, wing=wing, user=user, agent=agent, redact=redact
        )

    def messages(self, limit: int | None = None) -> list[ModelMessage]:
        """Read the last `limit` messages, oldest first; None: all."""
        return ModelMessagesTypeAdapter.validate_python(self._conversation.items(limit))

    def add(self, messages: Sequence[ModelMessage]) -> None:
        """Append messages, such as `result.new_messages()`, all of them or none."""
        self._conversation.add(ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"))

    def clear(self) -> None:
        """Remove all messages; they stay in the log until they are forgotten."""
        self._conversation.clear()


def _said(item: Item) -> ItemText:
    """Read what a person or the model says in a message; calls and results of tools have the role of a tool."""
    for kind, role in _SPOKEN.items():
        said = [_text(part.get("content")) for part in item["parts"] if part["part_kind"] == kind]
        if any(said):
            return ItemText(role=role, text="\n".join(filter(None, said)))
    results = [part for part in item["parts"] if part["part_kind"] == "tool-return"]
    if results:
        text = "\n".join(_text(part.get("content")) or to_json_text(part.get("content")) for part in results)
        return ItemText(role="tool", text=text or "[nothing]", speaker=results[0].get("tool_name"))
    return ItemText(role="tool", text=to_json_text(item["parts"]))


def _text(content: Any) -> str:
    """Join the texts of a prompt; images and files have none."""
    return content if isinstance(content, str) else "\n".join(one for one in content or () if isinstance(one, str))
