"""Newest first: of two hits about one matter, rank the newer one higher where the question asks about the present."""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from enum import Enum

from everyword.lazy_patterns import lazy_pattern
from everyword.retrieval.config import NewestFirst
from everyword.retrieval.query_analysis import Analysis, Kind, Shape
from everyword.text.dates.rules import NUMBER_WORD
from everyword.text.spans import sentences
from everyword.text.terms import question_terms, term_counts
from everyword.types.events import ASSISTANTS, Hit, Score
from everyword.types.trust import effective_at, level_of

STAGE = "newest"
_STEP = 1e-6  # by which a hit that moves up is scored above the one that it passes

_AMOUNT = lazy_pattern(r"\bhow (?:many|much|often|long|far|old|big|tall|frequently)\b", re.IGNORECASE)
_LATELY = lazy_pattern(r"\brecent(?:ly)?\b", re.IGNORECASE)
_IN_ALL = lazy_pattern(r"\b(?:total|altogether|combined|between)\b", re.IGNORECASE)
_VALUE = lazy_pattern(rf"\b(?:\d[\d,.]*|{NUMBER_WORD}|once|twice|every|daily|weekly)\b", re.IGNORECASE)
_CHANGED = lazy_pattern(
    r"\b(?:now|changed?|switched|moved|replaced|instead|no longer|any ?more|these days|nowadays|currently|postponed|"
    r"delayed|shifted|rescheduled|pushed (?:back|out|to)|brought forward|upgraded|downgraded|raised|lowered|increased|"
    r"reduced|halved|doubled|renamed|relocated|updated|cancell?ed|called off)\b",
    re.IGNORECASE,
)
# Words that correct what was said, even a minute ago: "Correction: the limit is 250, not 100".
_CORRECTED = lazy_pattern(
    r"\b(?:correct(?:ion|ed|ing)|typo|i misspoke|scratch that|my mistake)\b|, not (?:the |an? )?[\w$€£]", re.IGNORECASE
)
_NEW = lazy_pattern(r"\bnew ((?:[\w'-]+ ){0,1}[\w'-]+)", re.IGNORECASE)  # "the new door code is 4771"
# "When is the exam?" asks for a date that may have changed; "when did ..." for one that can't.
ASKS_FUTURE_DATE = lazy_pattern(
    r"\b(?:when|(?:what|which) (?:day|date|time|month))(?:'s|'re| (?:is|are|does|do|will|can|should))\b", re.IGNORECASE
)
HYPOTHETICAL = lazy_pattern(r"\?[\"'”’)]*$|\b(?:maybe|perhaps|would|could|might|if)\b", re.IGNORECASE)


class Wanted(Enum):
    """What a newer hit must state to move above an older one."""

    ANYTHING = "anything"
    AMOUNT = "amount"
    CHANGE = "change"  # that something changed; most questions in the present tense ask for what never does


def newest_first(hits: Sequence[Hit], question: str, asked: Analysis, rule: NewestFirst) -> list[Hit]:
    """Move newer statements of a matter above older ones among the first hits, for questions about the present."""
    order = list(hits)
    wanted = _wanted(question, asked)
    if wanted is None:
        return order
    terms = set(question_terms(question))
    said = [_Stated(hit, terms, wanted) for hit in hits[: rule.depth] if _role(hit) not in ASSISTANTS]
    moved: set[str] = set()
    for place, older in enumerate(said):
        if not older.touched or older.hit.event.id in moved:
            continue
        newer = [one.hit for one in said[place + 1 :] if one.hit.event.id not in moved and one.follows(older, rule)]
        if newer:
            order = _moved(order, newer, older.hit)
            moved.update(hit.event.id for hit in newer)
    return order


def _wanted(question: str, asked: Analysis) -> Wanted | None:
    """Decide what answers a question about the present; None for any other question."""
    if asked.past or asked.addressed or asked.hypothetical or _IN_ALL.search(question):
        return None
    if _AMOUNT.search(question):
        return Wanted.AMOUNT
    if asked.says_now or asked.first_last == "last" or _LATELY.search(question):
        return Wanted.ANYTHING
    if asked.kind is Kind.TEMPORAL:
        return Wanted.CHANGE if asked.shape is Shape.DATE and ASKS_FUTURE_DATE.search(question) else None
    return Wanted.CHANGE if asked.current and asked.kind in (Kind.LOOKUP, Kind.PREFERENCE) else None


class _Stated:
    """A hit, and the question words in its quote: in the best sentence that states something, and in the best of all.

    A hit that asks about the matter, or has no amount, takes no other's place; what states it takes its place.
    """

    def __init__(self, hit: Hit, terms: AbstractSet[int], wanted: Wanted) -> None:
        quote = hit.event.text[hit.span.start : hit.span.end]
        said = [quote[span.start : span.end] for span in sentences(quote)]
        stated = [one for one in said if not HYPOTHETICAL.search(one)]
        if wanted is Wanted.AMOUNT:
            stated = [one for one in stated if _VALUE.search(one)]
        best = max(stated, key=lambda one: len(terms & term_counts(one).keys()), default="")
        self.hit = hit
        self.touched = max((terms & term_counts(one).keys() for one in said), key=len, default=set[int]())
        self.shared = terms & term_counts(best).keys()
        self._wanted = wanted
        self._corrects = _CORRECTED.search(best) is not None
        self._says_changed = self._corrects or _CHANGED.search(best) is not None or _has_new(best, terms)

    def follows(self, older: _Stated, rule: NewestFirst) -> bool:
        """Tell whether this updates what the older one says."""
        mine, its = self.hit.event, older.hit.event
        if level_of(mine) < level_of(its):
            return False
        if effective_at(mine) <= effective_at(its) or older.hit.score - self.hit.score > rule.within:
            return False
        if mine.session is not None and mine.session == its.session and not self._corrects:
            return False
        if self._wanted is Wanted.CHANGE or mine.speaker != its.speaker:
            return self._says_changed and self.shared >= older.touched
        return bool(self.shared) and len(self.shared & older.touched) >= rule.share * len(older.touched)


def _has_new(sentence: str, terms: AbstractSet[int]) -> bool:
    """Tell whether a sentence calls the thing asked for "new"."""
    return any(terms & term_counts(found[1]).keys() for found in _NEW.finditer(sentence))


def _role(hit: Hit) -> str:
    return (hit.event.role or "").casefold()


def _moved(order: Sequence[Hit], newer: Sequence[Hit], older: Hit) -> list[Hit]:
    """Move the newer hits above an older one, the newest first."""
    ids = {hit.event.id for hit in newer}
    left = [hit for hit in order if hit.event.id not in ids]
    place = left.index(older)
    above = older.score
    lifted: list[Hit] = []
    for hit in sorted(newer, key=lambda hit: effective_at(hit.event)):
        above += _STEP
        gain = Score(stage=STAGE, score=above - hit.score, why=f"newer than {older.event.id}, on the same matter")
        lifted.insert(0, replace(hit, score=above, scores=(*hit.scores, gain)))
    return [*left[:place], *lifted, *left[place:]]
