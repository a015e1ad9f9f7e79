"""Newest first: of several hits that state what is asked now, the newer stands before the older.

"I've read 20 pages" and "I'm on page 45 now" match "how many pages have I read" alike; only the second is so today.
Where artifacts share a slot the older one is known to be superseded. Most changes are said in too many ways for that;
here two hits speak of one matter when one speaker said them, they match the question about as well, and one sentence of
the newer holds enough of the words that the older one's has of the question; another speaker's must hold them all and
say that something changed. A sentence that asks or supposes states nothing, and where an amount is asked for, one
without an amount doesn't either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from enum import Enum

from recollect.core.spans import sentences
from recollect.core.trust import effective_at, level_of
from recollect.core.values import Hit, Score
from recollect.core.words import question_terms, term_counts
from recollect.recall.analyse import Analysis, Kind, Shape
from recollect.recall.recipes import Newest

STAGE = "newest"
_ABOVE = 1e-6  # by so much a hit that moves up is scored above the one that it now stands before

_AMOUNT = re.compile(r"\bhow (?:many|much|often|long|far|old|big|tall|frequently)\b", re.IGNORECASE)
_LATELY = re.compile(r"\brecent(?:ly)?\b", re.IGNORECASE)
_PAST = re.compile(
    r"\b(?:before|initial|initially|original|originally|previous|previously|earlier|used to|first|back then|"
    r"at the time|total|altogether|combined|between)\b",
    re.IGNORECASE,
)
# "More often than before" asks how things stand, though it names the past.
_THAN_ONCE = re.compile(r"\bthan\b.{0,40}\b(?:before|previously|earlier|used to|did|was|were)\b", re.IGNORECASE)
_VALUE = re.compile(
    r"\b(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|"
    r"hundred|once|twice|half|every|daily|weekly)\b",
    re.IGNORECASE,
)
_CHANGED = re.compile(
    r"\b(?:now|changed?|switched|moved|replaced|instead|no longer|any ?more|these days|nowadays|currently|postponed|"
    r"delayed|shifted|rescheduled|pushed (?:back|out|to)|brought forward|upgraded|downgraded|raised|lowered|increased|"
    r"reduced|halved|doubled|renamed|relocated|updated|cancell?ed|called off)\b",
    re.IGNORECASE,
)
# Words that take back what was said, be it a minute ago: "Correction: the limit is 250, not 100".
_CORRECTED = re.compile(
    r"\b(?:correct(?:ion|ed|ing)|typo|i misspoke|scratch that|my mistake)\b|, not (?:the |an? )?[\w$€£]", re.IGNORECASE
)
_NEW = re.compile(r"\bnew ((?:[\w'-]+ ){0,1}[\w'-]+)", re.IGNORECASE)  # "the new door code is 4771"
# "When is the exam?" asks for what may have been moved; "when did ..." for what lies where it lay.
TO_COME = re.compile(
    r"\b(?:when|(?:what|which) (?:day|date|time|month))(?:'s|'re| (?:is|are|does|do|will|can|should))\b", re.IGNORECASE
)
SUPPOSED = re.compile(r"\?[\"'”’)]*$|\b(?:maybe|perhaps|would|could|might|if)\b", re.IGNORECASE)
_ASSISTANT = frozenset({"assistant", "ai", "model"})


class Wanted(Enum):
    """What a newer hit must state to stand before an older one."""

    ANYTHING = "anything"
    AMOUNT = "amount"
    CHANGE = "change"  # that something changed: a question in the present tense alone mostly asks for what never does


def newest_first(hits: Sequence[Hit], question: str, asked: Analysis, rule: Newest) -> list[Hit]:
    """Put newer statements of a matter before older ones among the first hits, where the question asks for today."""
    order = list(hits)
    wanted = wanted_today(question, asked)
    if wanted is None:
        return order
    terms = set(question_terms(question))
    said = [_Stating(hit, terms, wanted) for hit in hits[: rule.depth] if _role(hit) not in _ASSISTANT]
    stating = [one for one in said if one.shared]
    moved: set[str] = set()
    for place, older in enumerate(stating):
        if older.hit.event.id in moved:
            continue
        newer = [one.hit for one in stating[place + 1 :] if one.hit.event.id not in moved and one.follows(older, rule)]
        if newer:
            order = _moved(order, newer, older.hit)
            moved.update(hit.event.id for hit in newer)
    return order


def wanted_today(question: str, asked: Analysis) -> Wanted | None:
    """Tell what must be stated to answer how things stand; None where a question asks for anything else."""
    than_once = _THAN_ONCE.search(question) is not None
    if asked.windows or asked.addressed or asked.hypothetical:
        return None
    if not than_once and (_PAST.search(question) or asked.first_last == "first"):
        return None
    if _AMOUNT.search(question):
        return Wanted.AMOUNT
    if than_once or asked.says_now or asked.first_last == "last" or _LATELY.search(question):
        return Wanted.ANYTHING
    if asked.kind is Kind.TEMPORAL:
        return Wanted.CHANGE if asked.shape is Shape.DATE and TO_COME.search(question) else None
    return Wanted.CHANGE if asked.current and asked.kind in (Kind.LOOKUP, Kind.PREFERENCE) else None


class _Stating:
    """A hit, and what of the question the best sentence of its quote holds."""

    def __init__(self, hit: Hit, terms: AbstractSet[int], wanted: Wanted) -> None:
        quote = hit.event.text[hit.span.start : hit.span.end]
        told = [quote[span.start : span.end] for span in sentences(quote)]
        told = [one for one in told if not SUPPOSED.search(one) and (wanted is not Wanted.AMOUNT or _VALUE.search(one))]
        best = max(told, key=lambda one: len(terms & term_counts(one).keys()), default="")
        self.hit = hit
        self.shared = terms & term_counts(best).keys()
        self._wanted = wanted
        self._corrects = _CORRECTED.search(best) is not None
        self._says_so = self._corrects or _CHANGED.search(best) is not None or _has_new(best, terms)

    def follows(self, older: _Stating, rule: Newest) -> bool:
        """Tell whether this says of the same matter how it went on."""
        mine, its = self.hit.event, older.hit.event
        if level_of(mine) < level_of(its):
            return False
        if effective_at(mine) <= effective_at(its) or older.hit.score - self.hit.score > rule.within:
            return False
        if mine.session is not None and mine.session == its.session and not self._corrects:
            return False
        if self._wanted is Wanted.CHANGE or mine.speaker != its.speaker:
            return self._says_so and self.shared >= older.shared
        return len(self.shared & older.shared) >= rule.share * len(older.shared)


def _has_new(sentence: str, terms: AbstractSet[int]) -> bool:
    """Tell whether a sentence calls new what is asked for."""
    return any(terms & term_counts(found[1]).keys() for found in _NEW.finditer(sentence))


def _role(hit: Hit) -> str:
    return (hit.event.role or "").casefold()


def _moved(order: Sequence[Hit], newer: Sequence[Hit], older: Hit) -> list[Hit]:
    """Put the newer ones before an older one, the newest first."""
    ids = {hit.event.id for hit in newer}
    left = [hit for hit in order if hit.event.id not in ids]
    place = left.index(older)
    above = older.score
    lifted: list[Hit] = []
    for hit in sorted(newer, key=lambda hit: effective_at(hit.event)):
        above += _ABOVE
        gain = Score(
            stage=STAGE, score=above - hit.score, why=f"newer than {older.event.id}, which speaks of the same matter"
        )
        lifted.insert(0, replace(hit, score=above, scores=(*hit.scores, gain)))
    return [*left[:place], *lifted, *left[place:]]
