"""The pipeline: analysis, arms, fusion, a close look, and the events of what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from recollect.core.trust import trust_of
from recollect.core.values import Event, Filter, Hit, Hits
from recollect.core.words import question_terms
from recollect.inference.protocol import Embedder, LateInteraction
from recollect.recall.analyse import Analysis, analyse
from recollect.recall.artifact_arm import add_stated
from recollect.recall.beyond import beyond
from recollect.recall.boost import UNTRUSTED, Boosts, near, times_asked
from recollect.recall.candidates import Ask, Asking, Candidate, gather
from recollect.recall.chain import follow
from recollect.recall.confidence import confidence, signs_of
from recollect.recall.diversity import diversify
from recollect.recall.enough import how_many
from recollect.recall.explain import explained
from recollect.recall.fuse import fuse
from recollect.recall.graph_arms import add_linked
from recollect.recall.locate import locate
from recollect.recall.meant import Named, look
from recollect.recall.newest import newest_first
from recollect.recall.once import Told, told_once
from recollect.recall.recency import freshen
from recollect.recall.recipes import Recipe
from recollect.recall.rerank import rerank
from recollect.store.protocol import Model, Reader

# A long question is matched by its words' counts; past this many distinct ones the rest add nothing but time.
MOST_TERMS = 256
Reread = Callable[[list[Candidate], Mapping[int, Event]], list[Candidate]]  # the third stage

_SPARE = 10  # events fetched beyond those asked for


def search(
    reader: Reader,
    space: str,
    text: str,
    recipe: Recipe,
    *,
    k: int | None,
    now: datetime,
    which: Filter,
    embedder: Embedder | None,
    model: Model | None,
    ask: Ask,
    reread: Reread | None = None,
    further: bool = False,
) -> Hits:
    """Find the `k` best events for a question, in one snapshot; as many as it asks for where `k` is None.

    further: also beyond the pool that is looked at closely, where `k` is more than it holds.
    """
    asked = analyse(text, now)
    terms = {term: float(count) for term, count in question_terms(text).most_common(MOST_TERMS)}
    allowed = reader.matching(space, which)
    if allowed is not None and not len(allowed):
        return Hits(confidence=0.0)
    asking = Asking(reader, space, recipe, terms, model, allowed)
    found, question, by_words = gather(asking, ask, [near(window) for window in times_asked(asked)])
    add_stated(found, asking, by_words)
    named = Named(text)
    add_linked(found, asking, asked, named, now)
    ranked = fuse(found.values(), recipe, question.unread if question is not None else 0.0)
    sure = None if ranked else 0.0
    reranked = False
    if recipe.rerank_depth and question is not None and model is not None and isinstance(embedder, LateInteraction):
        boosts = Boosts(recipe, asked, named)
        ranked, matching = rerank(asking, ranked, question=question, model=model, embedder=embedder, boosts=boosts)
        reranked = matching is not None
        if matching is not None:
            ranked = look(asking, ranked, named, addressed=asked.addressed)
            if not matching.blind:
                sure = confidence(signs_of(ranked, matching), embedder.card.name)
            ranked = follow(asking, ranked, asked)
            ranked = diversify(freshen(ranked, asked, recipe), asked, recipe)
    if not reranked:
        ranked = _by_trust(asking, ranked)
    if further and k is not None:
        ranked = [*ranked, *beyond(asking, ranked, question, k)]
    count = how_many(ranked, asked, recipe) if k is None else k
    return Hits(_hits(asking, ranked, text, asked, count, reread), confidence=sure)


def _by_trust(asking: Asking, ranked: list[Candidate]) -> list[Candidate]:
    """Weigh fused scores by the trust in each source, where the second stage did not."""
    outlines = asking.reader.outlines(asking.space, [candidate.seq for candidate in ranked])
    for candidate in ranked:
        outline = outlines.get(candidate.seq)
        if outline is not None and (weight := trust_of(outline.source).weight) < 1.0:
            candidate.boosts[UNTRUSTED] = candidate.score * (weight - 1.0)
            candidate.score *= weight
    return sorted(ranked, key=lambda candidate: -candidate.score)


def _hits(
    asking: Asking, ranked: list[Candidate], question: str, asked: Analysis, k: int, reread: Reread | None
) -> list[Hit]:
    # Fetching in this snapshot is what guarantees that a forgotten event never comes back. A few more are fetched than
    # asked for: an index in memory can be ahead of the snapshot by what was just written, and repetitions go; then
    # more of them, until there are as many as asked for.
    step = max(k, asking.recipe.reread_depth if reread else 0) + _SPARE
    events: dict[int, Event] = {}
    there: list[Candidate] = []
    told = Told([], [], [])
    for start in range(0, len(ranked), step):
        few = ranked[start : start + step]
        events |= asking.reader.fetch(asking.space, [candidate.seq for candidate in few])
        few = [candidate for candidate in few if candidate.seq in events]
        if start == 0 and reread is not None and asking.recipe.reread_depth and few:
            few = reread(few, events)
        there += few
        told = told_once(there, events, question, asking.recipe)
        if len(told.kept) + len(told.echoes) >= k:
            break
    newest = asking.recipe.newest
    kept = told.in_order[: max(k, newest.depth if newest else 0)]
    hits = [_hit(events[candidate.seq], candidate, asking.terms) for candidate in kept]
    return (newest_first(hits, question, asked, newest) if newest else hits)[:k]


def _hit(event: Event, candidate: Candidate, terms: Mapping[int, float]) -> Hit:
    span = locate(event.text, candidate.window, terms)
    return Hit(event=event, score=candidate.score, span=span, scores=explained(candidate), seq=candidate.seq)
