"""mcp-memory-service: its SQLite storage, one file a store; by vectors, as it searches by default, or hybrid."""

import asyncio
import os

from worker_protocol import Copies, Vectors, serve


class Shared:
    """Our vectors as the storage asks for them; it does not say whether a text is a question, but we know."""

    def __init__(self, vectors, dims):
        self._vectors = vectors
        self.embedding_dimension = dims
        self.asking = False
        self.trouble = None

    def encode(self, texts, **_):
        try:
            return (self._vectors.questions if self.asking else self._vectors.passages)(texts)
        except Exception as error:
            self.trouble = error  # a search would only log it, and answer that nothing was found
            raise


class Peer:
    def __init__(self, folder, url, dims, mode):
        os.environ["MCP_EXTERNAL_EMBEDDING_URL"] = f"{url}/embeddings"
        os.environ["MCP_EXTERNAL_EMBEDDING_MODEL"] = "passage"
        os.environ["MCP_MEMORY_BASE_DIR"] = f"{folder}/home/mcp"
        os.environ["MCP_MEMORY_STORAGE_BACKEND"] = "sqlite_vec"
        # It would drop each line that resembles one of the last 24 hours: as events told at once all do.
        os.environ["MCP_SEMANTIC_DEDUP_ENABLED"] = "false"
        # Its other fusion turns BM25 upside down (1 + bm25 / 10, where FTS5's best is the lowest).
        os.environ["MCP_HYBRID_FUSION_METHOD"] = "rrf"
        from mcp_memory_service.models.memory import Memory
        from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
        from mcp_memory_service.utils.hashing import generate_content_hash

        self._memory, self._storage, self._hash = Memory, SqliteVecMemoryStorage, generate_content_hash
        self._folder = folder
        self._mode = mode
        self._embed = Shared(Vectors(url), dims)
        self._loop = asyncio.new_event_loop()
        self._stores = {}

    def ingest(self, store, lines):
        storage, copies = self._opened(store)
        new = []
        for line in lines:
            mark = self._hash(line["text"])
            if copies.note(mark, line["key"]):
                kept = {"key": line["key"], "session": line["session"]}
                when = {"created_at_iso": line["at"]} if line["at"] else {}
                new.append(self._memory(content=line["text"], content_hash=mark, tags=["eval"], metadata=kept, **when))
        for done, why in self._loop.run_until_complete(storage.store_batch(new)):
            if not done:
                raise RuntimeError(why)

    def search(self, store, question, k, now):
        storage, copies = self._opened(store)
        self._embed.asking = True
        try:
            retrieve = storage.retrieve_hybrid if self._mode == "hybrid" else storage.retrieve
            found = self._loop.run_until_complete(retrieve(question, n_results=k))
        finally:
            self._embed.asking = False
        if self._embed.trouble:
            raise self._embed.trouble
        # Equal texts are kept once: the hit stands for each of them.
        return [
            {"key": key, "score": hit.relevance_score} for hit in found for key in copies.keys(hit.memory.content_hash)
        ]

    def close(self):
        for storage, _ in self._stores.values():
            self._loop.run_until_complete(storage.close())

    def _opened(self, store):
        if store not in self._stores:
            storage = self._storage(f"{self._folder}/data/store-{len(self._stores)}.db")
            self._loop.run_until_complete(storage.initialize())
            storage.embedding_model = self._embed
            storage.enable_cache = False  # it knows texts, not whether they are questions
            self._stores[store] = (storage, Copies())
        return self._stores[store]


serve(Peer, ["mcp-memory-service", "sqlite-vec"])
