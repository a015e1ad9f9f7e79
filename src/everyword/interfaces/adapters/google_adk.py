# pyright: basic, reportMissingImports=false
"""A memory service of Google's Agent Development Kit on a memory.

Each user of an app has a wing, so nobody finds what another user said. Adding a session again adds what is new in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from everyword.errors import NotFound
from everyword.extras import optional
from everyword.interfaces.adapters.documents import AnyMemory, Redactor, as_memory, finished
from everyword.memory import Memory
from everyword.types.events import Hit

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session
with optional("google-adk"):
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part

__all__ = ["EverywordMemoryService"]

_NAME = "google-adk"
_DELETED = f"{_NAME}.deleted"  # label of what is left of a deleted event, so that its session does not add it again


class EverywordMemoryService(BaseMemoryService):
    """Keeps the words of sessions as events and finds them as `Memory.recall` does."""

    def __init__(self, memory: AnyMemory, *, k: int = 10, redact: str | None = None) -> None:
        """Take a memory. k: how many entries a search returns at most."""
        self._memory = as_memory(memory)
        self._redactor = Redactor(memory, redact=redact)
        self._k = k

    async def add_session_to_memory(self, session: Session) -> None:
        """Add the events of a session that are not yet known."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add events that are not yet known; those without text are left out."""
        drafts = [
            self._draft(user_id, event.content, event.author, event.timestamp, custom_metadata)
            | {"key": f"{_NAME}:{_wing(app_name, user_id)}/{session_id or ''}/{event.id}", "session": session_id}
            for event in events
            if _text(event.content).strip()
        ]
        await finished(self._add, self._of(app_name, user_id), session_id, drafts)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add entries as they are."""
        drafts = [
            self._draft(
                user_id, one.content, one.author, one.timestamp, {**one.custom_metadata, **(custom_metadata or {})}
            )
            for one in memories
            if _text(one.content).strip()
        ]
        if drafts:
            await finished(self._of(app_name, user_id).add_many, drafts, redact="none")

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Find what answers a query, best first."""
        hits = await finished(self._of(app_name, user_id).recall, query, self._k) if query.strip() else []
        return SearchMemoryResponse(memories=[_entry(hit) for hit in hits if _DELETED not in hit.event.meta])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget an entry for good, by the id that a search returned; its session does not bring it back."""
        if memory_id:
            await finished(self._delete, self._of(app_name, user_id), memory_id)

    def _of(self, app_name: str, user_id: str) -> Memory:
        return self._memory.wing(_wing(app_name, user_id))

    def _add(self, memory: Memory, session: str | None, drafts: Sequence[dict[str, Any]]) -> None:
        known = {event.key for event in memory.events(session=session)} if session and drafts else set()
        new = [draft for draft in drafts if draft["key"] not in known]
        if new:
            # The texts were redacted before; names of sessions must stay intact.
            memory.add_many(new, redact="none")

    def _delete(self, memory: Memory, id: str) -> None:
        try:
            event = memory.get(id)
        except NotFound:
            return
        memory.forget(ids=[id])
        if event.key:
            memory.add(
                "Deleted a memory.", key=event.key, session=event.session, at=event.at, role="tool", meta={_DELETED: 1}
            )

    def _draft(
        self, user: str, content: Content | None, author: str | None, at: Any, meta: Mapping[str, object] | None
    ) -> dict[str, Any]:
        is_user = author == "user" or (author is None and (content is None or content.role in (None, "user")))
        return {
            "text": self._redactor.text(_text(content)),
            "speaker": user if is_user else author,
            "role": "user" if is_user else "assistant",
            "at": at,
            "meta": self._redactor.json(dict(meta or {})),
        }


def _wing(app_name: str, user_id: str) -> str:
    return f"{quote(app_name, safe=' ')}/{quote(user_id, safe=' @')}"


def _text(content: Content | None) -> str:
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _entry(hit: Hit) -> MemoryEntry:
    event = hit.event
    return MemoryEntry(
        id=event.id,
        content=Content(role="model" if event.role == "assistant" else "user", parts=[Part(text=event.text)]),
        author=event.speaker,
        timestamp=event.at.isoformat(),
        custom_metadata=dict(event.meta),
    )
