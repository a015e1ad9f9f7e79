# pyright: basic, reportMissingImports=false
"""A memory store of Strands Agents on a memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from everyword.extras import optional
from everyword.interfaces.adapters.documents import AnyMemory, as_memory, finished, hit_metadata

if TYPE_CHECKING:
    from strands.memory.types import AddMessagesContext, SearchOptions
    from strands.types.content import Message
with optional("strands"):
    from strands.memory import MemoryEntry, MemoryStore

__all__ = ["EverywordMemoryStore"]


class EverywordMemoryStore(MemoryStore):
    """Keeps what is said as events and finds it as `Memory.recall` does."""

    def __init__(
        self,
        memory: AnyMemory,
        *,
        name: str = "everyword",
        description: str | None = "What was said in earlier conversations, with dates and speakers.",
        wing: str | None = None,
        session: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        max_search_results: int = 10,
        writable: bool = True,
        extraction: Any = None,
        filters: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a memory, or a wing of it.

        session: that of what is written. user, agent: the names of who speaks as "user" and as "assistant". extraction:
        when the manager hands messages over, as for other stores (default: every few turns if writable). filters:
        conditions of each search, such as speaker or since.
        """
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = writable if extraction is None else extraction
        self._memory = as_memory(memory, wing)
        self._key = f"strands:{wing or ''}/{session or ''}/"
        self._session = session
        self._names = {"user": user, "assistant": agent}
        self._filters = dict(filters or {})

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Find what answers a query, best first. Each line says when and by whom it was said."""
        k = (options or {}).get("max_search_results") or self.max_search_results
        hits = await finished(self._memory.recall, query, k, **self._filters) if query.strip() else []
        return [MemoryEntry(content=hit.text, metadata={"id": hit.event.id, **hit_metadata(hit)}) for hit in hits]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> str:
        """Store a note of the agent; return the id of its event."""
        written = await finished(
            self._memory.add, content, role="assistant", session=self._session, meta=dict(metadata or {})
        )
        return written.event.id

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> int:
        """Store what was said, once however often it is handed over; return how many messages were new."""
        batch = await finished(self._memory.add_many, [draft for one in messages if (draft := self._draft(one))])
        return sum(written.new for written in batch)

    def _draft(self, message: Message) -> dict[str, Any]:
        text = "\n".join(block["text"] for block in message["content"] if "text" in block)
        if not text.strip():
            return {}
        role, id = message["role"], message.get("tracking_id")
        return {
            "text": text,
            "role": role,
            "speaker": self._names.get(role),
            "session": self._session,
            "key": f"{self._key}{id}" if id else None,
        }
