"""Search: the stages from a question to its hits, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from everyword.models.protocol import Embedder, LateInteraction
from everyword.retrieval.arms import EncodeQuestion, gather, search_deeper
from everyword.retrieval.boosts import SOURCE, Boosts, searchable_windows, time_filter
from everyword.retrieval.candidates import Candidate, SearchScope
from everyword.retrieval.confidence import confidence, signs_of
from everyword.retrieval.config import SearchConfig
from everyword.retrieval.dedup import Deduplicated, dedup
from everyword.retrieval.explanations import explain
from everyword.retrieval.fusion import reciprocal_rank_fusion
from everyword.retrieval.newest_first import newest_first
from everyword.retrieval.postprocess import auto_k, follow_causal_chain
from everyword.retrieval.query_analysis import Analysis, analyse
from everyword.retrieval.quotes import choose_quote
from everyword.retrieval.reranking import late_interaction_stage
from everyword.retrieval.subject_match import NamedPeople, subject_boost
from everyword.retrieval.superseded import DEPTH, current_first
from everyword.storage.protocol import Reader
from everyword.storage.rows import Model
from everyword.text.terms import question_terms
from everyword.types.events import Event, Filter, Hit, Hits
from everyword.types.trust import trust_of

# A long question is matched by its most frequent terms; more distinct ones add nothing but time.
MOST_TERMS = 256
Rerank = Callable[[list[Candidate], Mapping[int, Event]], list[Candidate]]

_SPARE = 10  # events fetched beyond those asked for
_REPETITIONS = 100  # candidates that may repeat others, where too few hits were left


def search(
    reader: Reader,
    text: str,
    config: SearchConfig,
    *,
    k: int | None,
    now: datetime,
    which: Filter,
    embedder: Embedder | None,
    model: Model | None,
    encode: EncodeQuestion,
    rerank: Rerank | None = None,
) -> Hits:
    """Find the `k` best events for a question, in one snapshot; with k=None the question decides how many.

    Where repetitions fill the candidates, or `k` is more than there are, events beyond them follow.
    rerank: the cross-encoder stage, if the memory has one.
    """
    asked = analyse(text, now)
    terms = {term: float(count) for term, count in question_terms(text).most_common(MOST_TERMS)}
    allowed = reader.matching(which)
    if allowed is not None and not len(allowed):
        return Hits(confidence=0.0)
    late = embedder if config.rerank_depth and model is not None and isinstance(embedder, LateInteraction) else None
    if late is not None:
        config = replace(config, statements=None)  # late interaction reads all that this arm would find
    scope = SearchScope(reader, config, terms, model, allowed)
    found, question = gather(scope, encode, [time_filter(window) for window in searchable_windows(asked)])
    ranked = reciprocal_rank_fusion(found.values(), config, question.unread if question is not None else 0.0)
    sure = None if ranked else 0.0
    maxsim = None
    if late is not None and question is not None and model is not None:
        people = NamedPeople(text)
        boosts = Boosts(config, asked, people)
        ranked, maxsim = late_interaction_stage(
            scope, ranked, question=question, model=model, embedder=late, boosts=boosts
        )
        if maxsim is not None:
            ranked = subject_boost(scope, ranked, people, addressed=asked.addressed)
            if not maxsim.blind:
                sure = confidence(signs_of(ranked, maxsim), late.card.name)
            ranked = follow_causal_chain(scope, ranked, asked)
    if maxsim is None:
        ranked = _weigh_by_trust(scope, ranked)
    count = auto_k(ranked, asked, config) if k is None else k
    if len(ranked) < count:
        ranked = [*ranked, *search_deeper(scope, ranked, question, count)]
    hits = _hits(scope, ranked, text, asked, count, rerank, as_of=which.as_of is not None)
    # A reranker has reordered the candidates, so that they can't be gone through again.
    if len(hits) < count and rerank is None:
        more = search_deeper(scope, ranked, question, len(ranked) + _REPETITIONS)
        if more:
            hits = _hits(scope, [*ranked, *more], text, asked, count, None, as_of=which.as_of is not None)
    return Hits(hits, confidence=sure, pending=reader.count_pending_vectors())


def _weigh_by_trust(scope: SearchScope, ranked: list[Candidate]) -> list[Candidate]:
    """Weigh fused scores by the trust in each source, where no boosts did so."""
    outlines = scope.reader.outlines([candidate.seq for candidate in ranked])
    for candidate in ranked:
        outline = outlines.get(candidate.seq)
        if outline is not None and (weight := trust_of(outline.source).weight) < 1.0:
            candidate.boosts[SOURCE] = candidate.score * (weight - 1.0)
            candidate.score *= weight
    return sorted(ranked, key=lambda candidate: -candidate.score)


def _hits(
    scope: SearchScope,
    ranked: list[Candidate],
    question: str,
    asked: Analysis,
    k: int,
    rerank: Rerank | None,
    *,
    as_of: bool,
) -> list[Hit]:
    """Fetch the best candidates in batches, rerank the first batch, and drop repetitions, until there are `k` hits.

    Events are fetched in the snapshot of the search, so a forgotten event never comes back. An index in memory can be
    ahead of that snapshot, and repetitions are dropped: so each batch has some spare events.
    """
    config = scope.config
    step = max(k, config.reranker_depth if rerank else 0) + _SPARE
    events: dict[int, Event] = {}
    present: list[Candidate] = []
    unique = Deduplicated([], [], [])
    for start in range(0, len(ranked), step):
        batch = ranked[start : start + step]
        events |= scope.reader.fetch([candidate.seq for candidate in batch])
        batch = [candidate for candidate in batch if candidate.seq in events]
        if start == 0 and rerank is not None and config.reranker_depth and batch:
            batch = rerank(batch, events)
        present += batch
        unique = dedup(present, events, question, config)
        if len(unique.kept) + len(unique.echoes) >= k:
            break
    newest = config.newest
    kept = unique.in_order[: max(k, newest.depth if newest else 0)]
    hits = [_hit(events[candidate.seq], candidate, scope.terms) for candidate in kept]
    if newest:
        hits = newest_first(hits, question, asked, newest)
    closed = _closed_among(scope, kept[:DEPTH]) if config.current_first and not as_of else set[int]()
    return current_first(scope.reader, hits, question, asked, closed=closed, allowed=scope.allowed)[:k]


def _closed_among(scope: SearchScope, candidates: Sequence[Candidate]) -> set[int]:
    """Find the events that state something which no longer holds."""
    outlines = scope.reader.outlines([one.seq for one in candidates])
    return {seq for seq, one in outlines.items() if one.closed}


def _hit(event: Event, candidate: Candidate, terms: Mapping[int, float]) -> Hit:
    span = choose_quote(event.text, candidate.window, terms)
    return Hit(event=event, score=candidate.score, span=span, scores=explain(candidate), seq=candidate.seq)
