"""From a setting to a reranker."""

from __future__ import annotations

import os
from pathlib import Path

from recollect.core.errors import InvalidSetting
from recollect.inference.protocol import LLM, Reranker

FOLDER = "onnx:"
CHOICES = (
    '"none" (the default), "cross-encoder", "onnx:FOLDER" (model.onnx and tokenizer.json), "URL#MODEL" (a /rerank '
    'endpoint), "llm" (with an LLM), or a Reranker object'
)

RerankerSpec = str | Reranker | None


def load_reranker(
    spec: RerankerSpec = None, *, folder: str | os.PathLike[str] | None = None, llm: LLM | None = None
) -> Reranker | None:
    """Give the reranker that a setting names, or None for none; `folder` is where the model's files lie."""
    if spec is None or spec == "none":
        return None
    if isinstance(spec, str):
        return _named(spec, folder, llm)
    if callable(getattr(spec, "scores", None)):
        return spec
    raise InvalidSetting(f"reranker={type(spec).__name__} is not known.", fix=f"Choose {CHOICES}.")


def _named(spec: str, folder: str | os.PathLike[str] | None, llm: LLM | None) -> Reranker:
    # Each is imported only when chosen, so that none pays for another.
    if spec == "cross-encoder":
        from recollect.inference.reranking.crossencoder import bundled

        return bundled(folder)
    if spec.startswith(FOLDER):
        from recollect.inference.reranking.crossencoder import in_folder

        return in_folder(Path(spec.removeprefix(FOLDER)), name=spec)
    if spec.startswith(("http://", "https://")):
        from recollect.inference.reranking.endpoint import EndpointReranker, RerankSettings

        return EndpointReranker(RerankSettings.parse(spec))
    if spec == "llm":
        from recollect.inference.reranking.listwise import ListwiseReranker

        if llm is None:
            raise InvalidSetting('reranker="llm" needs an LLM.', fix='Set llm, too, for example llm="ollama:llama3.2".')
        return ListwiseReranker(llm)
    raise InvalidSetting(f"reranker={spec!r} is not known.", fix=f"Choose {CHOICES}.")
