"""Chroma: one collection a store, in a PersistentClient, cosine distance, its own HNSW index otherwise as it comes."""

import chromadb
from chromadb.api.types import Documents, EmbeddingFunction
from worker_protocol import Vectors, serve


class Shared(EmbeddingFunction[Documents]):
    """Our vectors as Chroma asks for them: questions and passages apart."""

    def __init__(self, vectors):
        self._vectors = vectors

    def __call__(self, input):
        return self._vectors.passages(input)

    def embed_query(self, input):
        return self._vectors.questions(input)

    @staticmethod
    def name():
        return "everyword"

    @staticmethod
    def build_from_config(config):
        raise NotImplementedError

    def get_config(self):
        return {}


class Peer:
    def __init__(self, folder, url, dims):
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(f"{folder}/data", settings=settings)
        self._embed = Shared(Vectors(url))
        self._collections = {}

    def ingest(self, store, lines):
        if store not in self._collections:
            # Numbered, since not every name of a store is one that Chroma takes.
            self._collections[store] = self._client.create_collection(
                f"store-{len(self._collections)}",
                embedding_function=self._embed,
                configuration={"hnsw": {"space": "cosine"}},
            )
        kept = ("session", "role", "at")
        self._collections[store].add(
            ids=[line["key"] for line in lines],
            documents=[line["text"] for line in lines],
            metadatas=[{"key": line["key"], **{name: line[name] for name in kept if line[name]}} for line in lines],
        )

    def search(self, store, question, k, now):
        collection = self._collections[store]
        found = collection.query(query_texts=[question], n_results=k, include=["metadatas", "distances"])
        rows = zip(found["ids"][0], found["metadatas"][0], found["distances"][0], strict=True)
        return [{"key": key, "score": 1 - distance, "session": kept.get("session")} for key, kept, distance in rows]

    def close(self):
        self._client = None


serve(Peer, ["chromadb"])
