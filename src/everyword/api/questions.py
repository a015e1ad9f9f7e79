"""Search a scope: what recall, context and ask share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache, partial

from msgspec.structs import replace

from everyword.api.scope import Scope
from everyword.engine.encoding import ask, warm
from everyword.errors import ModelError
from everyword.models.protocol import Embedder, Question, Reranker
from everyword.retrieval.answer import abstain
from everyword.retrieval.candidates import Candidate
from everyword.retrieval.instructions import without_instructions_of_others
from everyword.retrieval.reranking import cross_encoder_stage
from everyword.retrieval.search import search
from everyword.storage.rows import FACTS
from everyword.types.events import Event, Filter, Hits

MOST_HITS = 1_000


def search_hits(
    scope: Scope, query: str, k: int | None, which: Filter, now: datetime, *, by_words: bool = False
) -> Hits:
    """Search by words and, where there is a model, by vectors; by_words: without any model.

    With a project at hand, others are searched only where it holds no answer, and never for instructions.
    """
    engine = scope.engine
    with scope.reader(*(() if by_words else (FACTS,)), for_question=True) as reader:
        model, embedder, _ = (None, None, None) if by_words else engine.models.serving(reader.file)
        if embedder is not None:
            warm(embedder)
        reranker = None if by_words else engine.reranker
        found = partial(
            search,
            reader,
            query,
            engine.recipe,
            k=k,
            now=now,
            embedder=embedder,
            model=model if embedder is not None else None,
            encode=cache(lambda: encoded_question(scope, embedder, query)),
            reread=None if reranker is None else partial(_reranked, scope, query, reranker),
        )
        hits = found(which=which)
        if which.project and abstain(hits):
            everywhere = found(which=replace(which, project=None))
            others = without_instructions_of_others(reader, everywhere, which.project)
            hits = hits if abstain(others) else others
        return hits


def encoded_question(scope: Scope, embedder: Embedder | None, query: str) -> Question | None:
    """Encode a question; None where no model can, which the caller is told."""
    if embedder is None:
        return None
    try:
        return ask(embedder, query)
    except ModelError as error:
        scope.engine.models.say(f"Searched by words alone: {error}")
        return None


def _reranked(
    scope: Scope, query: str, reranker: Reranker, ranked: list[Candidate], events: Mapping[int, Event]
) -> list[Candidate]:
    try:
        return cross_encoder_stage(query, ranked, events, scope.engine.recipe, reranker)
    except ModelError as error:
        scope.engine.models.say(f"The hits stay as they were before the reranker: {error}")
        return ranked
