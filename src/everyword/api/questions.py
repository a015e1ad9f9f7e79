"""Search a scope, pack hits into a context, and answer questions from them: what recall, context and ask share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from everyword.api.arguments import checked_id
from everyword.api.scope import Scope
from everyword.engine.encoding import ask, warm
from everyword.engine.retry import again
from everyword.errors import ModelError
from everyword.models.protocol import Embedder, Question, Reranker
from everyword.retrieval.answer import (
    abstain,
    answer_time_comparison,
    answer_with_llm,
    answer_with_quotes,
    is_grounded,
    parse_time_comparison,
)
from everyword.retrieval.candidates import Candidate
from everyword.retrieval.context import (
    corrections,
    current_statements,
    instruction,
    pack,
    preceding_turns,
)
from everyword.retrieval.query_analysis import Analysis, analyse
from everyword.retrieval.reranking import cross_encoder_stage
from everyword.retrieval.search import search
from everyword.storage.protocol import FACTS, STATEMENTS
from everyword.types.events import Answer, Citation, Context, Event, Filter, Hit, Hits
from everyword.types.statements import Statement

MOST_HITS = 1_000
TOKENS_A_LINE = 20  # a context rarely holds more lines than its budget has of these
_HITS_FOR_AN_ANSWER = 10
DERIVE_S = 0.25  # that a question may wait for what was just written to be derived; its words are found at once


def search_hits(
    scope: Scope, query: str, k: int | None, which: Filter, now: datetime, *, further: bool = False
) -> Hits:
    """Search by words and, where there is a model, by vectors."""
    engine = scope.engine
    with scope.reader(FACTS, seconds=DERIVE_S) as reader:
        model, embedder, _ = engine.models.serving(reader.file)
        if embedder is not None:
            warm(embedder)
        return search(
            reader,
            query,
            engine.recipe,
            k=k,
            now=now,
            which=which,
            embedder=embedder,
            model=model if embedder is not None else None,
            encode=lambda: _encoded(scope, embedder, query),
            rerank=None if engine.reranker is None else partial(_reranked, scope, query, engine.reranker),
            deep=further,
        )


def search_by_words(scope: Scope, query: str, k: int | None, which: Filter, now: datetime) -> Hits:
    """Search by words alone, without any model."""
    with scope.reader() as reader:
        return search(
            reader,
            query,
            scope.engine.recipe,
            k=k,
            now=now,
            which=which,
            embedder=None,
            model=None,
            encode=lambda: None,
            deep=True,
        )


def answer_from_memory(
    scope: Scope, question: str, budget: int, which: Filter, now: datetime, on_text: Callable[[str], None] | None
) -> Answer:
    """Answer a question with an LLM, or with a quote; each step is retried by itself, since an LLM is asked once."""

    def found(query: str, k: int) -> Hits:
        return again(scope.engine, lambda: search_hits(scope, query, k, which, now))

    asked, llm = analyse(question, now), scope.engine.llm
    compared = None if llm is not None else _time_comparison(question, asked, found)
    if compared is not None:
        return compared
    most = max(_HITS_FOR_AN_ANSWER, min(MOST_HITS, budget // TOKENS_A_LINE))
    hits = found(question, most)
    if abstain(hits):
        return Answer(question=question, confidence=hits.confidence)
    if llm is not None:
        context = again(
            scope.engine, lambda: pack_hits(scope, question, hits, budget, which, now, style="reasoning")
        )
        try:
            answer = answer_with_llm(llm, question, context, hits.confidence, on_text)
            return replace(answer, quotes=again(scope.engine, lambda: _quotes(scope, answer.citations)))
        except ModelError as error:
            scope.engine.models.say(f"Answered by quoting: {error}")
    stated = again(scope.engine, lambda: _stated(scope, hits[:_HITS_FOR_AN_ANSWER]))
    # Among many events confidence tells better whether there is an answer; here there are few, or no model told it.
    few = len(hits) < most or hits.confidence is None
    if few and not is_grounded(question, asked, hits, stated):
        return Answer(question=question, confidence=hits.confidence)
    return answer_with_quotes(question, asked, hits, stated)


def _time_comparison(question: str, asked: Analysis, found: Callable[[str, int], Hits]) -> Answer | None:
    """Compare the times of two things, where that is asked; each is looked for by itself."""
    what = parse_time_comparison(question)
    if what is None:
        return None
    one, two = (found(part, _HITS_FOR_AN_ANSWER) for part in (what.one, what.two))
    return None if abstain(one) or abstain(two) else answer_time_comparison(question, what, asked, one, two)


def _stated(scope: Scope, hits: Sequence[Hit]) -> list[Statement]:
    with scope.reader(STATEMENTS, seconds=DERIVE_S) as reader:
        by_event = reader.statements_of([hit.seq for hit in hits])
    return [one for several in by_event.values() for one in several]


def _quotes(scope: Scope, citations: Sequence[Citation]) -> tuple[str, ...]:
    """Read the words that are cited, as they were said."""
    raw_ids = [checked_id(citation.event_id) for citation in citations]
    with scope.reader() as reader:
        found = reader.find(raw_ids)
    said = [found[raw_id].event.text if raw_id in found else "" for raw_id in raw_ids]
    return tuple(text[slice(*citation.span)] for text, citation in zip(said, citations, strict=True))


def pack_hits(
    scope: Scope,
    question: str,
    hits: Sequence[Hit],
    budget: int,
    which: Filter,
    now: datetime,
    *,
    style: str,
    lead: str = "events",
) -> Context:
    """Write hits as cited lines within a token budget."""
    asked = analyse(question, now)
    with scope.reader(STATEMENTS, seconds=DERIVE_S) as reader:
        # Hits may be older than a forget, or another space's.
        there = reader.fetch([hit.seq for hit in hits])
        hits = [hit for hit in hits if hit.seq in there and there[hit.seq].id == hit.event.id]
        key = scope.engine.fence_key.of(reader.file)
        allowed = reader.matching(which)
        preceding = preceding_turns(reader, hits, allowed)
        known = corrections(reader, hits, which)
        if lead == "statements":
            shown = {said.event.id for said in known}
            more = current_statements(
                reader, question, asked, hits, allowed=allowed, as_of=which.as_of
            )
            known += [said for said in more if said.event.id not in shown]
    return pack(
        hits,
        budget,
        scope.engine.tokenizer,
        preceding=preceding,
        instruction="" if style == "plain" else instruction(asked),
        statements=known,
        fence_key=key,
    )


def _encoded(scope: Scope, embedder: Embedder | None, query: str) -> Question | None:
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
