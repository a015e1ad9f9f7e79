"""From the top down: the entities of a question, what is claimed of them, the sessions where that was said, the events.

A claim is scored by what it shares with the question, and so is its session, by the phrases that tell it from others;
both must be good, so the two are joined by their harmonic mean, and what is further away in time counts less.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from recollect.core.graph import name_key
from recollect.core.words import question_terms
from recollect.recall.recipes import TopDown
from recollect.store.graph import ClaimRow
from recollect.store.postings import Ranking
from recollect.store.protocol import Reader, Seqs

# Looked at: of somebody of whom more is claimed, the latest. Reading one takes some 40 microseconds.
_MOST_CLAIMS = 600
_ASKER = "user"  # whom "I" means, where nobody's name is known
_MICROS_A_DAY = 86_400_000_000


def top_down(
    reader: Reader,
    space: str,
    how: TopDown,
    *,
    names: Sequence[str],
    asker: bool,
    terms: Mapping[int, float],
    now: int,
    allowed: Seqs | None,
) -> Ranking:
    """Rank events by what they claim of those whom a question names; `now` is in microseconds."""
    keys = [name_key(name) for name in names] + ([_ASKER] if asker else [])
    homes = sorted({row.home for row in reader.names_of(space, keys=[key for key in keys if key])})
    claims = _claims(reader, space, homes, allowed)
    outlines = reader.outlines(space, sorted({claim.seq for claim in claims}))
    named = set(_terms(" ".join(names)))
    wanted = {term: weight for term, weight in terms.items() if term not in named}
    if not wanted or not claims:
        return _ranking({}, how.depth)
    sessions = _sessions(reader, space, {one.session for one in outlines.values() if one.session}, wanted)
    scores: dict[int, float] = {}
    for claim in claims:
        outline = outlines.get(claim.seq)
        if outline is not None:
            of_claim = _shared(f"{claim.draft.relation.replace('_', ' ')} {claim.draft.quote}", wanted)
            # That it speaks of whom the question names is half of what a session can have in common with it.
            of_session = (1.0 + sessions.get(outline.session or "", 0.0)) / 2
            scores[claim.seq] = max(scores.get(claim.seq, 0.0), _joined(of_session, of_claim, how))
    scores = {seq: score for seq, score in scores.items() if score > 0}
    if how.decay and scores:
        ages = {seq: abs(now - outlines[seq].at) / _MICROS_A_DAY for seq in scores}
        scale = max(1.0, statistics.median(ages.values()))  # days
        scores = {seq: score * math.exp(-((ages[seq] / scale) ** how.decay)) for seq, score in scores.items()}
    return _ranking(scores, how.depth)


def _claims(reader: Reader, space: str, homes: Sequence[str], allowed: Seqs | None) -> list[ClaimRow]:
    if not homes:
        return []
    if allowed is None:
        return reader.claims_of(space, homes=homes, latest=_MOST_CLAIMS)
    permitted = set(allowed.tolist())
    return [claim for claim in reader.claims_of(space, homes=homes) if claim.seq in permitted][-_MOST_CLAIMS:]


def _sessions(reader: Reader, space: str, names: set[str], wanted: Mapping[int, float]) -> dict[str, float]:
    rows = reader.summaries(space, sorted(names)) if names else []
    return {row.session: _shared(_keys(row.body), wanted) for row in rows if row.body}


def _keys(body: str) -> str:
    return " ".join(json.loads(body)["keys"])


def _joined(of_session: float, of_claim: float, how: TopDown) -> float:
    if how.sum_weight is not None:
        return how.sum_weight * of_session + (1 - how.sum_weight) * of_claim
    return 2 * of_session * of_claim / (of_session + of_claim) if of_session and of_claim else 0.0


def _shared(text: str, wanted: Mapping[int, float]) -> float:
    """Tell which share of the question's words a text has."""
    found = _terms(text)
    return sum(weight for term, weight in wanted.items() if term in found) / sum(wanted.values())


@lru_cache(maxsize=1 << 13)
def _terms(text: str) -> frozenset[int]:
    return frozenset(question_terms(text))


def _ranking(scores: Mapping[int, float], depth: int) -> Ranking:
    best = sorted(scores, key=lambda seq: (-scores[seq], -seq))[:depth]
    top = scores[best[0]] if best else 1.0
    return Ranking(np.array(best, np.int64), np.array([scores[seq] / top for seq in best], np.float32))
