# pyright: basic, reportMissingImports=false
"""A context provider and a history provider of Microsoft's Agent Framework on a memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from everyword.extras import optional
from everyword.interfaces.adapters.conversations import Conversation, Item, ItemText
from everyword.interfaces.adapters.documents import AnyMemory, as_memory, finished, to_json_text

if TYPE_CHECKING:
    from agent_framework import AgentSession, SessionContext
with optional("agent-framework"):
    from agent_framework import ContextProvider, HistoryProvider, Message

__all__ = ["EverywordContextProvider", "EverywordHistoryProvider"]

_UNNAMED = "UnnamedAgent"  # the author of what an agent without a name says
_NO_SESSION = "agent-framework"  # the session of messages that have none


class EverywordContextProvider(ContextProvider):
    """Puts what the memory holds about the newest message before it."""

    def __init__(
        self,
        memory: AnyMemory,
        *,
        source_id: str = "everyword",
        wing: str | None = None,
        budget: int = 800,
        filters: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a memory, or a wing of it.

        budget: most tokens of what an agent is told. filters: conditions of each search, such as speaker or since.
        """
        super().__init__(source_id)
        self._memory = as_memory(memory, wing)
        self._budget = budget
        self._filters = dict(filters or {})

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add what answers the newest message."""
        asked = [message.text for message in context.input_messages if message.role == "user" and message.text.strip()]
        if asked:
            told = await finished(self._memory.context, asked[-1], self._budget, **self._filters)
            if told.text:
                context.extend_messages(self, [Message("user", [told.text])])


class EverywordHistoryProvider(HistoryProvider):
    """The messages of each session; each is an event that recall finds."""

    def __init__(
        self,
        memory: AnyMemory,
        *,
        source_id: str = "everyword_history",
        limit: int | None = None,
        wing: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        redact: str | None = None,
        **options: Any,
    ) -> None:
        """Keep sessions in a memory.

        limit: how many of the last messages are read; None: all. user, agent: the names of who speaks as "user" and as
        "assistant", if messages have none. options: of `HistoryProvider`.
        """
        super().__init__(source_id, **options)
        self._memory = memory
        self._limit = limit
        self._options: dict[str, Any] = {"wing": wing, "user": user, "agent": agent, "redact": redact}

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Read the messages of a session, oldest first."""
        items = await finished(self._conversation(session_id).items, self._limit)
        return [Message.from_dict(item) for item in items]

    async def save_messages(
        self, session_id: str | None, messages: Sequence[Message], *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """Append messages, all of them or none."""
        await finished(self._conversation(session_id).add, [message.to_dict() for message in messages])

    def _conversation(self, session_id: str | None) -> Conversation:
        return Conversation(self._memory, "agent-framework", session_id or _NO_SESSION, said=_said, **self._options)


def _said(item: Item) -> ItemText:
    message = Message.from_dict(item)
    if message.text.strip():
        author = None if message.author_name == _UNNAMED else message.author_name
        return ItemText(role=str(message.role), text=message.text, speaker=author)
    return ItemText(role="tool", text=to_json_text(item.get("contents") or []))
