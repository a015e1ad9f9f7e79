"""A session of the OpenAI Agents SDK on a memory: `Runner.run(agent, text, session=EverywordSession("s1", memory))`.

The SDK needs a few async methods and no base class, so it is not imported here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, cast

from everyword.errors import InvalidInput
from everyword.ingest.chat_messages import events_of_messages
from everyword.interfaces.adapters.conversations import Conversation, Item, ItemText
from everyword.interfaces.adapters.documents import AnyMemory, finished, to_json_text
from everyword.types.times import utc_now

__all__ = ["EverywordSession"]


class EverywordSession:
    """The items of one conversation, in order."""

    def __init__(
        self,
        session_id: str,
        memory: AnyMemory,
        *,
        wing: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session_settings: Any = None,
        redact: str | None = None,
    ) -> None:
        """Keep a conversation in a memory.

        user, agent: the names of who speaks as "user" and as "assistant", if messages have none. session_settings: the
        SDK's `SessionSettings`, or a dict; its `limit` is how many items are read if a call does not say.
        """
        self.session_id = session_id
        if isinstance(session_settings, Mapping):
            session_settings = import_module("agents.memory").SessionSettings(**session_settings)
        self.session_settings: Any = session_settings
        self._conversation = Conversation(
            memory, "openai-agents", session_id, said=_said, wing=wing, user=user, agent=agent, redact=redact
        )
        self.memory = self._conversation.memory

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Read the last `limit` items, oldest first; None: as many as `session_settings` say, or all."""
        default: int | None = getattr(self.session_settings, "limit", None)
        return await finished(self._conversation.items, default if limit is None else limit)

    async def add_items(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Append items, all of them or none."""
        await finished(self._conversation.add, items)

    async def pop_item(self) -> Item | None:
        """Remove and return the last item; it stays in the log."""
        return await finished(self._conversation.pop)

    async def clear_session(self) -> None:
        """Remove all items; they stay in the log until they are forgotten."""
        await finished(self._conversation.clear)


def _said(item: Mapping[str, Any]) -> ItemText:
    """Read an item as chat messages are read; what has no text becomes JSON, with the role of a tool."""
    with suppress(InvalidInput):
        read = events_of_messages([item], session=None, at=0, wing=None, source=None, meta=None, clock=utc_now)
        if len(read) == 1 and str(read[0]["text"]).strip():
            (one,) = read
            return ItemText(role=str(one["role"]), text=str(one["text"]), speaker=cast("str | None", one["speaker"]))
    content: Any = item.get("content")
    several = cast("list[Any]", content) if isinstance(content, list) else []
    parts = [cast("dict[str, Any]", part) for part in several if isinstance(part, dict)]
    texts = [str(part["text"]) for part in parts if isinstance(part.get("text"), str)]
    text = "\n".join(texts)
    if text.strip() and isinstance(item.get("role"), str):
        return ItemText(role=str(item["role"]), text=text)
    return ItemText(role="tool", text=to_json_text(dict(item)))
