# pyright: basic, reportMissingImports=false
"""A memory of AutoGen's agents on a memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from everyword.errors import InvalidInput
from everyword.extras import optional
from everyword.interfaces.adapters.documents import AnyMemory, as_memory, finished, hit_metadata, to_json_text

if TYPE_CHECKING:
    from autogen_core import CancellationToken
    from autogen_core.model_context import ChatCompletionContext
with optional("autogen"):
    from autogen_core.memory import Memory, MemoryContent, MemoryMimeType, MemoryQueryResult, UpdateContextResult
    from autogen_core.models import SystemMessage

__all__ = ["EverywordMemory"]


class EverywordMemory(Memory):
    """Tells what answers the newest message, and keeps what it is given."""

    def __init__(
        self,
        memory: AnyMemory,
        *,
        wing: str | None = None,
        session: str = "autogen",
        k: int = 10,
        budget: int = 800,
        filters: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a memory, or a wing of it.

        session: that of what `add` stores. k: how many entries a query returns. budget: most tokens of what an agent is
        told. filters: conditions of each search, such as speaker or since.
        """
        self._memory = as_memory(memory, wing)
        self._session = session
        self._k = k
        self._budget = budget
        self._filters = dict(filters or {})

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Add what answers the newest message as a system message."""
        messages = await model_context.get_messages()
        asked = [one.content for one in messages if one.type == "UserMessage" and isinstance(one.content, str)]
        if not asked or not asked[-1].strip():
            return UpdateContextResult(memories=MemoryQueryResult(results=[]))
        told = await finished(self._memory.context, asked[-1], self._budget, **self._filters)
        if told.text:
            await model_context.add_message(SystemMessage(content=told.text))
        results = [_entry(told.text, {"tokens": told.tokens})] if told.text else []
        return UpdateContextResult(memories=MemoryQueryResult(results=results))

    async def query(
        self, query: str | MemoryContent, cancellation_token: CancellationToken | None = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """Find what answers a question, best first. kwargs: further conditions of recall, or `k`."""
        question = query if isinstance(query, str) else _text(query)
        if not question.strip():
            return MemoryQueryResult(results=[])
        hits = await finished(self._memory.recall, question, **{"k": self._k, **self._filters, **kwargs})
        return MemoryQueryResult(results=[_entry(hit.text, {"id": hit.event.id, **hit_metadata(hit)}) for hit in hits])

    async def add(self, content: MemoryContent, cancellation_token: CancellationToken | None = None) -> None:
        """Store text or JSON; `speaker` and `at` in the metadata say who said it, and when."""
        meta = dict(content.metadata or {})
        speaker, at = meta.pop("speaker", None), meta.pop("at", None)
        role = None if speaker else "assistant"
        await finished(
            self._memory.add, _text(content), speaker=speaker, at=at, role=role, session=self._session, meta=meta
        )

    async def clear(self) -> None:
        """Forget what was stored in the session of this adapter, for good; the rest of the memory stays."""
        await finished(self._memory.forget, session=self._session)

    async def close(self) -> None:
        """Leave the memory open: whoever opened it closes it."""


def _entry(text: str, metadata: dict[str, Any]) -> MemoryContent:
    return MemoryContent(content=text, mime_type=MemoryMimeType.TEXT, metadata=metadata)


def _text(content: MemoryContent) -> str:
    if isinstance(content.content, str):
        return content.content
    if isinstance(content.content, dict):
        return to_json_text(content.content)
    raise InvalidInput(f"A memory keeps text, not {type(content.content).__name__}.", fix="Give a string or a dict.")
