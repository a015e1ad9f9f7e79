"""What one answer is worth: recall of the evidence, rank measures, and how much of the gold answer a context holds.

Names: `event.frac@10` is the share of the evidence among the first ten lines, `event.any@10` and `event.all@10` whether
one or all of it is there; `session.*` the same over sessions, ranked by their best line; `gold@1200` the share of the
gold answer's words in a context of 1,200 tokens; `newest_first`, of something that changed, whether the newest evidence
ranks above all that is older; `state_first` whether the state does that the question asks for, which may be the older.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import Stemmer

from evals.values import Answer, Asked, Line

CUTOFFS = (1, 5, 10, 20)
NDCG_AT = 10
NEWEST_FIRST = "newest_first"  # also what a task sets in `expects` of the questions that are measured by it
STATE_FIRST = "state_first"
EARLIER = "earlier"  # set in `expects` where a question asks how things were before they changed

_ARTICLES = frozenset({"a", "an", "the"})
_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = re.compile(r"(?<=\w)['’](?=\w)")  # "don't" is one word, as where punctuation is just deleted


def score(asked: Asked, answer: Answer, lines: Mapping[str, Line], contexts: Mapping[int, str]) -> dict[str, float]:
    """Measure one answer by everything that its question has gold for."""
    found = _as_evidence([one.key for one in answer.found], asked, lines)
    sessions = list(dict.fromkeys(session for key in found if key in lines and (session := lines[key].session)))
    gold_sessions = set(asked.sessions) or {
        session for key in asked.evidence if key in lines and (session := lines[key].session) is not None
    }
    measured = {
        **_ranked("event", found, set(asked.evidence)),
        **_ranked("session", sessions, gold_sessions),
    }
    if asked.expects.get(NEWEST_FIRST):
        measured |= _newest_first(asked, found, sessions, lines)
    if asked.answerable and asked.answer:
        wanted = answer_words(asked.answer)
        if wanted:
            measured |= {f"gold@{budget}": share(wanted, text) for budget, text in contexts.items()}
    return measured


def _as_evidence(found: Sequence[str], asked: Asked, lines: Mapping[str, Line]) -> list[str]:
    """Take a line that says the same as an evidence line, by the same speaker, for it: a union of stores has twins."""
    said = {(line.speaker, line.text): key for key in asked.evidence if (line := lines.get(key))}
    meant = (
        said.get((line.speaker, line.text), key) if key not in asked.evidence and (line := lines.get(key)) else key
        for key in found
    )
    return list(dict.fromkeys(meant))


def answer_words(text: str) -> frozenset[str]:
    """Give the distinct words of a text, Porter-stemmed, without articles and punctuation."""
    words = set(_WORD.findall(_APOSTROPHES.sub("", text.lower())))
    return frozenset(map(_stem, words - _ARTICLES))


def share(wanted: Collection[str], text: str) -> float:
    """Tell which share of the wanted words a text holds."""
    return len(set(wanted) & answer_words(text)) / len(wanted)


def _ranked(level: str, ranking: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    if not gold:
        return {}
    right = [one in gold for one in ranking]
    measured: dict[str, float] = {}
    for cutoff in CUTOFFS:
        hits = sum(right[:cutoff])
        measured[f"{level}.any@{cutoff}"] = float(hits > 0)
        measured[f"{level}.all@{cutoff}"] = float(hits == len(gold))
        measured[f"{level}.frac@{cutoff}"] = hits / len(gold)
    measured[f"{level}.mrr"] = next((1 / rank for rank, one in enumerate(right, 1) if one), 0.0)
    best = _gain([True] * min(len(gold), NDCG_AT))
    measured[f"{level}.ndcg@{NDCG_AT}"] = _gain(right[:NDCG_AT]) / best
    return measured


def _newest_first(
    asked: Asked, found: Sequence[str], sessions: Sequence[str], lines: Mapping[str, Line]
) -> dict[str, float]:
    """Compare the best places of the newest and of the older evidence; what has one date alone is not measured."""
    dated = {key: line.at for key in asked.evidence if (line := lines.get(key)) and line.at}
    ranking = found
    if len(set(dated.values())) < 2:  # the lines say nothing of a change; the sessions may
        of_session = {line.session: line.at for line in lines.values() if line.session and line.at}
        dated = {session: of_session[session] for session in asked.sessions if session in of_session}
        ranking = sessions
    if len(set(dated.values())) < 2:
        return {}
    newest = max(dated.values())
    first = next((one for one in ranking if one in dated), None)
    is_newest = first is not None and dated[first] == newest
    is_asked_for = first is not None and is_newest != bool(asked.expects.get(EARLIER))
    return {NEWEST_FIRST: float(is_newest), STATE_FIRST: float(is_asked_for)}


def _gain(right: Iterable[bool]) -> float:
    return sum(1 / math.log2(rank + 1) for rank, one in enumerate(right, 1) if one)


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return _porter().stemWord(word)


@lru_cache(maxsize=1)
def _porter() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("porter")
