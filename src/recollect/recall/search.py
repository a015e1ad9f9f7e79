"""The pipeline: arms, fusion, late interaction, and the events of what is left."""

from __future__ import annotations

from recollect.core.values import Event, Filter, Hit
from recollect.core.words import question_terms
from recollect.inference.protocol import Embedder, LateInteraction
from recollect.recall.candidates import Ask, Candidate, gather
from recollect.recall.explain import explained
from recollect.recall.fuse import fuse
from recollect.recall.locate import locate
from recollect.recall.recipes import Recipe
from recollect.recall.rerank import rerank
from recollect.store.protocol import Model, Reader

# A long question is matched by its words' counts; past this many distinct ones the rest add nothing but time.
MOST_TERMS = 256
_SPARE = 10  # events fetched beyond those asked for


def search(
    reader: Reader,
    space: str,
    text: str,
    recipe: Recipe,
    *,
    k: int,
    which: Filter,
    embedder: Embedder | None,
    model: Model | None,
    ask: Ask,
) -> list[Hit]:
    """Find the `k` best events for a question, in one snapshot."""
    terms = {term: float(count) for term, count in question_terms(text).most_common(MOST_TERMS)}
    allowed = reader.matching(space, which)
    if allowed is not None and not len(allowed):
        return []
    found, question = gather(reader, space, recipe, terms=terms, ask=ask, model=model, allowed=allowed)
    ranked = fuse(found.values(), recipe)
    if recipe.rerank_depth and question is not None and model is not None and isinstance(embedder, LateInteraction):
        ranked = rerank(reader, space, recipe, ranked, question=question, model=model, embedder=embedder)
    return _hits(reader, space, ranked, terms, k)


def _hits(reader: Reader, space: str, ranked: list[Candidate], terms: dict[int, float], k: int) -> list[Hit]:
    # Fetching in this snapshot is what guarantees that a forgotten event never comes back. A few more are fetched than
    # asked for: an index in memory can be ahead of the snapshot by what was just written.
    few = ranked[: k + _SPARE]
    events = reader.fetch(space, [candidate.seq for candidate in few])
    there = [candidate for candidate in few if candidate.seq in events][:k]
    return [_hit(events[candidate.seq], candidate, terms) for candidate in there]


def _hit(event: Event, candidate: Candidate, terms: dict[int, float]) -> Hit:
    span = locate(event.text, candidate.window, terms)
    return Hit(event=event, score=candidate.score, span=span, scores=explained(candidate))
