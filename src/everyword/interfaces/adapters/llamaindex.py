# pyright: basic, reportMissingImports=false
"""A memory block and a retriever of LlamaIndex on a memory."""

from __future__ import annotations

from typing import Any, Literal

from everyword.extras import optional
from everyword.interfaces.adapters.documents import AnyMemory, as_memory, finished, hit_metadata

with optional("llamaindex"):
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

__all__ = ["EverywordMemoryBlock", "EverywordRetriever"]

_SESSION = "session_id"  # where LlamaIndex puts the session of a message
_ROLES = {"chatbot": "assistant", "model": "assistant"}  # names of other vendors


class EverywordRetriever(BaseRetriever):
    """Finds events as `Memory.recall` does; their times and speakers are in the metadata of the nodes."""

    def __init__(
        self, memory: AnyMemory, *, k: int | Literal["auto"] = 10, filters: dict[str, Any] | None = None, **options: Any
    ) -> None:
        """Search a memory. filters: conditions of recall, such as speaker, session or since."""
        super().__init__(**options)
        self._memory = as_memory(memory)
        self._k: int | Literal["auto"] = k
        self._filters = dict(filters or {})

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._memory.recall(query_bundle.query_str, k=self._k, **self._filters)
        nodes = [TextNode(id_=hit.event.id, text=hit.text, metadata=hit_metadata(hit)) for hit in hits]
        return [NodeWithScore(node=node, score=hit.score) for node, hit in zip(nodes, hits, strict=True)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await finished(self._retrieve, query_bundle)


class EverywordMemoryBlock(BaseMemoryBlock[str]):
    """Keeps the messages that leave the short-term memory, and tells what answers the newest question."""

    name: str = "long_term_memory"
    memory: Any  # a Memory, an AsyncMemory or a Client
    wing: str | None = None  # of what is kept and told; default: the memory as it is
    user: str | None = None  # the names of who speaks as "user" and as "assistant"
    agent: str | None = None
    budget: int = 800  # most tokens of what is told

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = [message.content for message in messages or [] if message.role.value == "user" and message.content]
        return (await finished(self._scope().context, asked[-1], self.budget)).text if asked else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        names: dict[str, str | None] = {"user": self.user, "assistant": self.agent}
        kept = [(_role(message), message) for message in messages]
        said = [{"role": role, "content": one.content, "name": names.get(role)} for role, one in kept if one.content]
        if said:
            session = messages[0].additional_kwargs.get(_SESSION)
            await finished(self._scope().add, said, session=session)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave the block out: half a quote could mean something else."""
        return None

    def _scope(self) -> Any:
        return as_memory(self.memory, self.wing)


def _role(message: ChatMessage) -> str:
    role: str = message.role.value
    return _ROLES.get(role, role)
