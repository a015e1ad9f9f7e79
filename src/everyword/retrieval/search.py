"""Search: the stages from a question to its hits, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from itertools import chain, islice

import numpy as np
from msgspec.structs import replace

from everyword.models.protocol import Embedder, LateInteraction
from everyword.retrieval.candidates import (
    Candidate,
    Candidates,
    ChainLink,
    EncodeQuestion,
    SearchScope,
    gather,
    search_deeper,
    searchable_windows,
    weigh_by_trust,
)
from everyword.retrieval.confidence import confidence, signs_of
from everyword.retrieval.config import CausalChain, SearchConfig
from everyword.retrieval.hits import Dedup, choose_quote, explained
from everyword.retrieval.instructions import bearing_on, end_with_instructions, standing_instructions
from everyword.retrieval.query_analysis import Analysis, Kind, analyse
from everyword.retrieval.reranking import Matched, rerank
from everyword.retrieval.subject_match import NamedPeople, judge_subjects
from everyword.retrieval.superseded import current_first, newest_first
from everyword.storage.protocol import Reader
from everyword.storage.rows import Model
from everyword.text.terms import question_terms
from everyword.types.events import Event, Filter, Hit, Hits

# A long question is matched by its most frequent terms; more distinct ones add nothing but time.
MOST_TERMS = 256
Reread = Callable[[list[Candidate], Mapping[int, Event]], list[Candidate]]

_SPARE = 10  # events fetched beyond those asked for
_REPETITIONS = 100  # candidates that may repeat others, where too few hits were left
_DEFAULT_K = 10  # hits where scores are not comparable
_SEVERAL = frozenset({Kind.LISTING, Kind.COUNTING, Kind.COMPARING, Kind.CAUSAL})


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
    reread: Reread | None = None,
) -> Hits:
    """Find the `k` best events for a question, in one snapshot; with k=None the question decides how many.

    Where repetitions fill the candidates, or `k` is more than there are, events beyond them follow.
    reread: the cross-encoder stage, if the memory has one.
    """
    asked = analyse(text, now)
    counts = question_terms(text)
    terms = {term: float(count) for term, count in counts.most_common(MOST_TERMS)}
    allowed = reader.matching(which)
    if allowed is not None and not len(allowed):
        return Hits(confidence=0.0)
    late = embedder if config.rerank_depth and model is not None and isinstance(embedder, LateInteraction) else None
    if late is not None:
        config = replace(config, statements=None)  # late interaction reads all that this arm would find
    scope = SearchScope(reader, config, terms, model, allowed)
    found, question = gather(scope, encode, searchable_windows(asked))
    sure = None if len(found.seqs) else 0.0
    matched = None
    if late is not None and question is not None:
        people = NamedPeople(text)
        matched = rerank(scope, found, question=question, embedder=late, asked=asked, people=people)
        if matched is not None:
            floor = matched.scores.min()
            judge_subjects(scope, matched, people, addressed=asked.addressed)
            if not matched.blind:
                sure = confidence(signs_of(matched), late.card.name)
            _put_first(found, matched, floor)
            _follow_causal_chain(scope, found, asked)
    if matched is None:
        weigh_by_trust(scope, found)
    count = _auto_k(found, matched, asked, config) if k is None else k
    parts = [found]

    def go_deeper(depth: int) -> bool:
        more = search_deeper(scope, parts, question, depth, matched=matched is not None)
        parts.append(more)
        return len(more.seqs) > 0

    if len(found.seqs) < count:
        go_deeper(count)
    as_of = which.as_of is not None
    hits = _hits(scope, parts, matched, text, counts.keys(), asked, count, reread, as_of=as_of)
    # A reranker has reordered the candidates, so that they can't be gone through again.
    if len(hits) < count and reread is None and go_deeper(sum(len(some.seqs) for some in parts) + _REPETITIONS):
        hits = _hits(scope, parts, matched, text, counts.keys(), asked, count, None, as_of=as_of)
    if config.instructions and late is not None and question is not None and model is not None:
        rules = standing_instructions(reader, which)
        hits = end_with_instructions(hits, rules and bearing_on(reader, model, late, question, rules), count)
    return Hits(hits, confidence=sure, pending=reader.count_pending_vectors())


def _put_first(found: Candidates, matched: Matched, floor: float) -> None:
    """Put the matched events first, by score; those without token vectors follow with scores below the floor."""
    rest = np.array([seq not in matched.rows for seq in found.seqs.tolist()], np.bool_)
    order = matched.order()
    matched.ranks = np.argsort(order) + 1
    found.seqs = np.concatenate([matched.seqs[order], found.seqs[rest]])
    found.scores = np.concatenate([matched.scores[order], floor - 1.0 + np.minimum(found.scores[rest], 1.0)])


def _hits(
    scope: SearchScope,
    parts: Sequence[Candidates],
    matched: Matched | None,
    question: str,
    terms: AbstractSet[int],
    asked: Analysis,
    k: int,
    reread: Reread | None,
    *,
    as_of: bool,
) -> list[Hit]:
    """Fetch the best candidates in batches, reread the first batch, and drop repetitions, until there are `k` hits.

    Events are fetched in the snapshot of the search, so a forgotten event never comes back. An index in memory can be
    ahead of that snapshot, and repetitions are dropped: so each batch has some spare events.
    """
    config = scope.config
    newest = config.newest
    enough = max(k, newest.depth if newest else 0)
    step = max(k, config.reranker_depth if reread else 0) + _SPARE
    events: dict[int, Event] = {}
    unique = Dedup(question, config)
    candidates = chain.from_iterable(some.each() for some in parts)
    while len(unique.kept) + len(unique.echoes) < k and (batch := list(islice(candidates, step))):
        is_first = not events
        events |= scope.reader.fetch([candidate.seq for candidate in batch])
        batch = [candidate for candidate in batch if candidate.seq in events]
        if matched is not None:
            for candidate in batch:
                candidate.window = matched.window(candidate.seq)
        if is_first and reread is not None and config.reranker_depth and batch:
            batch = reread(batch, events)
        for candidate in batch:
            unique.add(candidate, events[candidate.seq])
            if len(unique.kept) >= enough:
                break
    hits = [
        Hit(
            event=events[one.seq],
            score=one.score,
            span=choose_quote(events[one.seq].text, one.window, scope.terms),
            scores=explained(one, matched),
            seq=one.seq,
        )
        for one in unique.in_order[:enough]
    ]
    if newest:
        hits = newest_first(hits, question, terms, asked, newest)
    if config.current_first:
        hits = current_first(scope.reader, hits, terms, asked, allowed=scope.allowed, as_of=as_of)
    return hits[:k]


# Causes and effects

_MOST_TERMS = 24  # of a hit; a long one would match everything, and each term costs a read
# Bytes of the index read for a hop. Common words say nothing about a cause, and are most of a large index; the index
# of a few thousand events is read whole.
_MOST_BYTES = 16_384
_DEPTH = 50  # events that share its words
_LEAST_COST = 0.005  # so that an event which only repeats its seed ranks below it


def _follow_causal_chain(scope: SearchScope, found: Candidates, asked: Analysis) -> None:
    """Add events that share rare words with the best hits, where a question asks for causes or effects.

    A cause is often told in other words than the question: "why do we stay at Ines's?" and "the floor came out".
    """
    rule = scope.config.chain
    if rule is None or not (asked.kind is Kind.CAUSAL or asked.effects):
        return
    scores = dict(zip(found.seqs.tolist(), found.scores.tolist(), strict=True))
    seeds = list(islice(scores, rule.seeds))
    for hop in range(1, rule.hops + 1):
        events = scope.reader.fetch(seeds)
        reached: dict[int, float] = {}
        for seed in filter(events.__contains__, seeds):
            for seq, strength in _linked(scope, rule, seed, events[seed], forward=asked.effects):
                score = scores[seed] - max(rule.cost - rule.strength * strength, _LEAST_COST)
                if score > scores.get(seq, -np.inf):
                    scores[seq] = reached[seq] = score
                    found.links[seq] = ChainLink(strength, hop)
        seeds = sorted(reached, key=lambda seq: -scores[seq])[: rule.seeds]
    found.reorder(np.array(list(scores)), np.array(list(scores.values())))


def _linked(scope: SearchScope, rule: CausalChain, seq: int, event: Event, *, forward: bool) -> list[tuple[int, float]]:
    """Find the events that share the most rare words with an event, and come before or after it."""
    counts = dict(question_terms(event.text).most_common(_MOST_TERMS))
    terms = {term: counts[term] for term in scope.reader.rarest(counts, _MOST_BYTES)}
    ranking = scope.reader.by_words(terms, _DEPTH, scope.allowed)
    found = dict(zip(ranking.seqs.tolist(), ranking.scores.tolist(), strict=True))
    whole = found.pop(seq, max(found.values(), default=0.0))
    if not whole:
        return []
    outlines = scope.reader.outlines([seq, *found])
    at = outlines[seq].at
    strengths = [
        (other, score / whole)
        for other, score in found.items()
        if other in outlines and (outlines[other].at > at if forward else outlines[other].at < at)
    ]
    return sorted(strengths, key=lambda link: -link[1])[: rule.links]


def _auto_k(found: Candidates, matched: Matched | None, asked: Analysis, config: SearchConfig) -> int:
    """Count the hits within a margin of the best score; allow more where several things are asked for."""
    rule = config.auto_k
    if rule is None or matched is None or int(found.seqs[0]) not in matched.rows:
        return _DEFAULT_K
    most = rule.several if asked.kind in _SEVERAL else rule.most
    return max(rule.least, int((found.scores[:most] >= found.scores[0] - rule.margin).sum()))
