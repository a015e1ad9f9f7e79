"""A retriever and a chat message history of LangChain on a memory.

langchain-core 1.6 deprecates chat message histories and 2.0 removes them: new agents keep what they know in a store
(`langgraph_store`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from everyword.extras import optional
from everyword.interfaces.adapters.conversations import Conversation, Item, ItemText
from everyword.interfaces.adapters.documents import AnyMemory, as_memory, hit_metadata, to_json_text

with optional("langchain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.retrievers import BaseRetriever

__all__ = ["EverywordChatMessageHistory", "EverywordRetriever"]

_ROLES = {"human": "user", "ai": "assistant", "function": "tool"}  # other types have the name of the role


class EverywordRetriever(BaseRetriever):
    """Finds events as `Memory.recall` does; their ids, times and speakers are in the metadata."""

    memory: Any  # a Memory, an AsyncMemory or a Client
    k: int | Literal["auto"] = 10
    filters: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it; conditions of recall: speaker, session, since ...

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **conditions: Any
    ) -> list[Document]:
        hits = as_memory(self.memory).recall(query, k=self.k, **{**self.filters, **conditions})
        return [Document(page_content=hit.text, id=hit.event.id, metadata=hit_metadata(hit)) for hit in hits]


class EverywordChatMessageHistory(BaseChatMessageHistory):
    """The messages of one conversation, for `RunnableWithMessageHistory`; each is an event that recall finds."""

    def __init__(
        self,
        session_id: str,
        memory: AnyMemory,
        *,
        limit: int | None = None,
        wing: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        redact: str | None = None,
    ) -> None:
        """Keep a conversation in a memory.

        limit: how many of the last messages are read; None: all. user, agent: the names of who speaks as "human" and as
        "ai", if messages have none.
        """
        super().__init__()
        self._limit = limit
        self._conversation = Conversation(
            memory, "langchain", session_id, said=_said, wing=wing, user=user, agent=agent, redact=redact
        )

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The messages, oldest first."""
        return messages_from_dict(self._conversation.items(self._limit))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages, all of them or none."""
        self._conversation.add([message_to_dict(message) for message in messages])

    def clear(self) -> None:
        """Remove all messages; they stay in the log until they are forgotten."""
        self._conversation.clear()


def _said(item: Item) -> ItemText:
    (message,) = messages_from_dict([item])
    role = _ROLES.get(message.type, message.type)
    if message.type == "chat":
        role = str(getattr(message, "role", "user"))
    if message.text:
        return ItemText(role=role, text=message.text, speaker=message.name)
    called = getattr(message, "tool_calls", None)
    return ItemText(role="tool", text=to_json_text(called or message.content), speaker=message.name)
