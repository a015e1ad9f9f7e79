"""LangGraph's stores, as its documentation uses them: one namespace a store, the text field indexed."""

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from worker_protocol import Vectors, serve


class Shared(Embeddings):
    """Our vectors as LangChain asks for them: questions and passages apart."""

    def __init__(self, vectors):
        self._vectors = vectors
        self.asking = False

    def embed_documents(self, texts):
        # SqliteStore has its questions encoded as documents; to its advantage it gets what InMemoryStore asks for.
        return (self._vectors.questions if self.asking else self._vectors.passages)(texts)

    def embed_query(self, text):
        return self._vectors.questions([text])[0]


class Peer:
    def __init__(self, folder, url, dims, kind):
        self._embed = Shared(Vectors(url))
        # SqliteStore does not read `fields`, and would encode each value as JSON: `put` says once more what to encode.
        index = {"dims": dims, "embed": self._embed, "fields": ["text"]}
        self._context = None
        if kind == "memory":
            from langgraph.store.memory import InMemoryStore

            self._store = InMemoryStore(index=index)
        else:
            from langgraph.store.sqlite import SqliteStore

            self._context = SqliteStore.from_conn_string(f"{folder}/data/store.db", index=index)
            self._store = self._context.__enter__()
            self._store.setup()

    def ingest(self, store, lines):
        for batch in _without_copies(lines):
            self._store.batch([PutOp((store,), line["key"], _value(line), index=["text"]) for line in batch])

    def search(self, store, question, k, now):
        self._embed.asking = True
        try:
            found = self._store.search((store,), query=question, limit=k)
        finally:
            self._embed.asking = False
        return [{"key": item.key, "score": item.score or 0.0, "session": item.value["session"]} for item in found]

    def close(self):
        if self._context is not None:
            self._context.__exit__(None, None, None)


def _value(line):
    return {name: line[name] for name in ("text", "session", "role", "at")}


def _without_copies(lines):
    """Cut before each line whose text is in the batch already: InMemoryStore.batch fails on equal texts."""
    batch, texts = [], set()
    for line in lines:
        if line["text"] in texts:
            yield batch
            batch, texts = [], set()
        batch.append(line)
        texts.add(line["text"])
    yield batch


serve(Peer, ["langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite", "sqlite-vec", "numpy"])
