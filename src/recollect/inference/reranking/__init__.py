"""The third stage of recall, off by default: a model that reads each of the best candidates with the question."""

from recollect.core.errors import RerankFailed
from recollect.inference.protocol import Reranker
from recollect.inference.reranking.registry import RerankerSpec, load_reranker

__all__ = ["RerankFailed", "Reranker", "RerankerSpec", "load_reranker"]
