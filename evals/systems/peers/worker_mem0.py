"""mem0 without a language model: `infer=False` keeps each line as it is; one user a store, Qdrant in a folder."""

import os

# Read as mem0 is imported: it would keep its settings in the user's home otherwise.
os.environ["MEM0_DIR"] = os.path.join(os.environ["HOME"], "mem0")
os.environ["MEM0_TELEMETRY"] = "False"

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase
from worker_protocol import Vectors, serve

NO_THRESHOLD = 0.0  # its default of .1 leaves out most of what a weak match finds


class Shared(EmbeddingBase):
    """Our vectors as mem0 asks for them: it says for which action."""

    def __init__(self, vectors):
        super().__init__()
        self._vectors = vectors
        self._ready = {}

    def prepare(self, texts):
        """Fetch the vectors of a batch in one go; mem0 itself asks for them one by one."""
        self._ready = dict(zip(texts, self._vectors.passages(texts), strict=True))

    def embed(self, text, memory_action="add"):
        if memory_action == "search":
            return self._vectors.questions([text])[0]
        return self._ready.get(text) or self._vectors.passages([text])[0]

    def embed_batch(self, texts, memory_action="add"):
        return [self.embed(text, memory_action) for text in texts]


class Peer:
    def __init__(self, folder, url, dims):
        # The embedder and the model of the settings are never asked: ours takes the place of the one, and
        # `infer=False` needs no other.
        place = {"path": f"{folder}/data/qdrant", "on_disk": True, "embedding_model_dims": dims}
        settings = {
            "vector_store": {"provider": "qdrant", "config": {"collection_name": "lines", **place}},
            "embedder": {"provider": "openai", "config": {"api_key": "none", "openai_base_url": url}},
            "llm": {"provider": "openai", "config": {"api_key": "none", "openai_base_url": url}},
            "history_db_path": f"{folder}/data/history.db",
        }
        self._memory = Memory.from_config(settings)
        self._embed = Shared(Vectors(url))
        self._memory.embedding_model = self._embed

    def ingest(self, store, lines):
        self._embed.prepare([line["text"] for line in lines])
        for line in lines:
            kept = {name: line[name] for name in ("session", "role", "at") if line[name]}
            self._memory.add(line["text"], user_id=_user(store), metadata={"key": line["key"], **kept}, infer=False)

    def search(self, store, question, k, now):
        found = self._memory.search(question, filters={"user_id": _user(store)}, top_k=k, threshold=NO_THRESHOLD)
        return [
            {"key": hit["metadata"]["key"], "score": hit["score"], "session": hit["metadata"].get("session")}
            for hit in found["results"]
        ]

    def close(self):
        self._memory.vector_store.client.close()


def _user(store):
    # mem0 takes no blank in a user's name.
    return store.replace(" ", "_")


serve(Peer, ["mem0ai", "qdrant-client"])
