"""Explain a hit: what each stage found, in words."""

from __future__ import annotations

from everyword.retrieval.boosts import ASSISTANT, LENGTH, OWN_WORDS, SOURCE, TIME
from everyword.retrieval.candidates import STATEMENTS_ARM, TIMES_ARM, VECTORS_ARM, WORDS_ARM, Candidate
from everyword.retrieval.reranking import UNREAD
from everyword.retrieval.subject_match import ABOUT
from everyword.types.events import Score

_ARMS = {
    WORDS_ARM: "BM25 over the words of the question",
    VECTORS_ARM: "cosine of the pooled vectors",
    TIMES_ARM: "in or near the time that the question names",
    STATEMENTS_ARM: "share of the question's words in one of its statements",
}
_BOOSTS = {
    ABOUT: "it is about a person whom the question names",
    OWN_WORDS: "the question asks about the user, and the user spoke",
    ASSISTANT: "the question asks what the assistant said, and the assistant spoke",
    TIME: "how near it is to the time that the question names",
    SOURCE: "its source is trusted less than a person's own words",
    LENGTH: "a long event matches anything",
    UNREAD: "the model does not know these words, so matches of words count instead",
}


def explain(candidate: Candidate) -> tuple[Score, ...]:
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
        why = "how well it matches each token of the question; telling tokens count more"
        scores.append(Score(stage="late", score=candidate.late, why=why))
    if candidate.neighbours or (candidate.late is not None and candidate.fused is None):
        found = ", which found it" if candidate.fused is None else ""
        why = f"added by the turns around it{found}"
        scores.append(Score(stage="nearby", score=candidate.neighbours, why=why))
    scores += [Score(stage=name, score=gain, why=_BOOSTS[name]) for name, gain in candidate.boosts.items()]
    if candidate.late is not None:
        scores.append(
            Score(stage="rank", score=candidate.score, rank=candidate.rank, why="the sum of match and boosts")
        )
    if candidate.chain is not None:
        why = f"shares rare words with a better hit, {candidate.chain.hop} step(s) from the question"
        scores.append(Score(stage="chain", score=candidate.chain.strength, why=why))
    if candidate.reranked is not None:
        why = "the reranker's score for question and event together, blended with the rank before"
        scores.append(Score(stage="reread", score=candidate.reranked.score, rank=candidate.reranked.rank, why=why))
    return tuple(scores)
