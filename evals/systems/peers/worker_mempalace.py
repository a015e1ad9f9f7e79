"""MemPalace: one palace a store, each line a drawer, searched with the widest of its two candidate strategies."""

import os

from worker_protocol import Copies, Vectors, serve

# Its order depends on how many are asked for: of a hundred, it is much worse than of twenty. So the first twenty, which
# are scored, come from a search for twenty; what follows them, to fill a context, comes from a second one.
HEAD = 20


class Peer:
    def __init__(self, folder, url, dims):
        # Its own way to an outside embedder; the settings are read when a palace is first opened.
        os.environ["MEMPALACE_EMBEDDING_MODEL"] = "openai-compat"
        os.environ["MEMPALACE_EMBEDDING_API_URL"] = url
        os.environ["MEMPALACE_EMBEDDING_API_MODEL"] = "passage"
        from mempalace import embedding

        self._vectors, self._last = Vectors(url), ([], [])
        # It knows one model for questions and passages; ours are not the same, and to its advantage it gets both.
        embedding.OpenAICompatEmbeddingFunction.embed_query = lambda _, input: self._asked(input)
        from mempalace import palace, searcher

        self._palace, self._searcher = palace, searcher
        self._folder = folder
        self._palaces = {}
        self._copies = {}
        self._first = (None, [])

    def ingest(self, store, lines):
        if store not in self._palaces:
            place = f"{self._folder}/data/palace-{len(self._palaces)}"
            self._palaces[store] = (place, self._palace.get_collection(place, create=True))
            self._copies[store] = Copies()
        _, drawers = self._palaces[store]
        for line in lines:
            self._copies[store].note(line["text"], line["key"])
        drawers.add(
            ids=[line["key"] for line in lines],
            documents=[line["text"] for line in lines],
            # A source of its own for each line: hits of one source are folded into one.
            metadatas=[
                {"wing": "eval", "room": line["session"] or "lines", "source_file": line["key"], "chunk_index": 0}
                | ({"filed_at": line["at"]} if line["at"] else {})
                for line in lines
            ],
        )

    def search(self, store, question, k, now):
        # A search for the first twenty mostly comes just before the one for more, and need not be made twice.
        if k <= HEAD or self._first[0] != (store, question):
            self._first = ((store, question), self._found(store, question, min(k, HEAD)))
        found = self._first[1]
        if k > HEAD:
            found = found + self._found(store, question, k)
        hits = []
        for hit in found:
            # Equal texts come back once: the hit stands for each of them, the one that came back first.
            copies = self._copies[store].keys(hit["text"])
            keys = dict.fromkeys([hit["source_path"], *copies])
            hits += [{"key": key, "score": hit["similarity"] or 0.0} for key in keys]
        return hits

    def close(self):
        self._palaces.clear()

    def _found(self, store, question, k):
        place, _ = self._palaces[store]
        found = self._searcher.search_memories(question, place, n_results=k, candidate_strategy="union")
        if "error" in found:
            raise RuntimeError(found["error"])
        return found["results"]

    def _asked(self, texts):
        if self._last[0] != list(texts):
            self._last = (list(texts), self._vectors.questions(texts))
        return self._last[1]


serve(Peer, ["mempalace", "chromadb"])
