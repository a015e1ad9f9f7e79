"""Explaining a hit: what each stage said of it, in words. Made only for the few hits that are returned."""

from __future__ import annotations

from recollect.core.values import Score
from recollect.recall.boost import LENGTH, LINKED, OWN, SUPERSEDED, TIME, TOLD, UNREAD, UNTRUSTED
from recollect.recall.candidates import (
    ARTIFACTS_ARM,
    LINKS_ARM,
    PAGERANK_ARM,
    TIMES_ARM,
    TOPDOWN_ARM,
    VECTORS_ARM,
    WORDS_ARM,
    Candidate,
)
from recollect.recall.diversity import DIVERSITY
from recollect.recall.meant import ABOUT
from recollect.recall.recency import RECENT

_ARMS = {
    WORDS_ARM: "BM25 over the words of the question",
    VECTORS_ARM: "cosine of the pooled vectors",
    TOPDOWN_ARM: "claimed of those whom the question names, in a session about it",
    PAGERANK_ARM: "reached from the best candidates along names, claims and sessions",
    TIMES_ARM: "found in or near the time that the question names",
    ARTIFACTS_ARM: "how much of the question a statement of it holds",
    LINKS_ARM: "linked to what a better candidate states",
}
_BOOSTS = {
    ABOUT: "it is about whom the question names",
    OWN: "it asks for what the user said, and the user spoke",
    TOLD: "it asks for what the assistant said, and the assistant spoke",
    TIME: "how near it lies to the time that the question names",
    UNTRUSTED: "its source is trusted less than a person's own words",
    SUPERSEDED: "a later statement says otherwise",
    LINKED: "what the graph links to the question, or to what answers it",
    LENGTH: "a long event matches anything",
    UNREAD: "the model does not know these words: how well they are found as words counts in its place",
    RECENT: "it was said lately, and the question asks what is so now",
    DIVERSITY: "better hits are of the same session",
}


def explained(candidate: Candidate) -> tuple[Score, ...]:
    """List the stages that touched a candidate, in their order."""
    scores = [
        Score(stage=arm, score=place.score, rank=place.rank, why=_ARMS[arm]) for arm, place in candidate.arms.items()
    ]
    if candidate.fused is not None:
        arms = " and ".join(f"{arm} at {place.rank}" for arm, place in candidate.arms.items())
        scores.append(
            Score(stage="fuse", score=candidate.fused.score, rank=candidate.fused.rank, why=f"found by {arms}")
        )
    if candidate.late is not None:
        why = "how well each token of the question is matched, the telling ones counted more"
        scores.append(Score(stage="late", score=candidate.late.score, why=why))
    if candidate.beside is not None and (candidate.beside.gain or candidate.fused is None):
        found = ", which found it" if candidate.fused is None else ""
        scores.append(Score(stage="nearby", score=candidate.beside.gain, why=f"added by the turns around it{found}"))
    scores += [Score(stage=name, score=gain, why=_BOOSTS[name]) for name, gain in candidate.boosts.items()]
    if candidate.late is not None:
        scores.append(
            Score(stage="rank", score=candidate.score, rank=candidate.late.rank, why="all of the above that is added")
        )
    if candidate.linked is not None:
        why = f"shares its rare words with a better hit, {candidate.linked.hop} step(s) from the question"
        scores.append(Score(stage="chain", score=candidate.linked.strength, why=why))
    if candidate.reread is not None:
        why = "what the reranker said of the question and this together; blended with the rank before"
        scores.append(Score(stage="reread", score=candidate.reread.score, rank=candidate.reread.rank, why=why))
    return tuple(scores)
