"""A LangChain retriever on a memory, for chains and agents:

from everyword import Memory
from everyword.interfaces.adapters.langchain import EverywordRetriever

retriever = EverywordRetriever(memory=Memory.open("memory.db"), k=5, filters={"speaker": "Ana"})
documents = retriever.invoke("Where does Ana live?")

LangChain's chat message history is deprecated since langchain-core 1.6; agents keep what they know in a store
(`langgraph_store`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from everyword.extras import need
from everyword.interfaces.adapters.documents import as_memory

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
else:
    CallbackManagerForRetrieverRun = Any
    Document = need("langchain_core.documents", extra="langchain").Document
    BaseRetriever = need("langchain_core.retrievers", extra="langchain").BaseRetriever

__all__ = ["EverywordRetriever"]


class EverywordRetriever(BaseRetriever):
    """Finds events as `Memory.recall` does; their ids, times and speakers are in the metadata."""

    memory: Any  # a Memory, an AsyncMemory or a Client
    k: int | Literal["auto"] = 10
    filters: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it; conditions of recall: speaker, session, since ...

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **conditions: Any
    ) -> list[Document]:
        hits = as_memory(self.memory).recall(query, k=self.k, **{**self.filters, **conditions})
        return [
            Document(
                page_content=hit.text,
                id=hit.event.id,
                metadata={
                    **hit.event.meta,
                    "at": hit.event.at.isoformat(),
                    "session": hit.event.session,
                    "speaker": hit.event.speaker,
                    "role": hit.event.role,
                    "source": hit.event.source,
                    "score": hit.score,
                    "quote": hit.quote,
                },
            )
            for hit in hits
        ]
