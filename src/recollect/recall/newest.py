"""Newest first: of several hits that give a value for what is asked now, the newer stands before the older.

"I've read 20 pages" and "I'm on page 45 now" match "how many pages have I read" alike; only the second is so today.
Where artifacts share a slot the older one is known to be superseded. Most changes are said in too many ways for that;
here two hits count as one matter when they come from one speaker, share enough of the question's words, and match it
about as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from recollect.core.values import Hit, Score
from recollect.core.words import question_terms, term_counts
from recollect.recall.analyse import Analysis
from recollect.recall.recipes import Newest

STAGE = "newest"
_ABOVE = 1e-6  # by so much a hit that moves up is scored above the one that it now stands before

_AMOUNT = re.compile(r"\bhow (?:many|much|often|long|far|old|big|tall|frequently)\b", re.IGNORECASE)
_NOW = re.compile(
    r"\b(?:current|currently|now|nowadays|these days|latest|most recent|recent|recently|so far|still|present)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:before|initial|initially|original|originally|previous|previously|earlier|used to|first|back then|"
    r"at the time|total|altogether|combined|between)\b",
    re.IGNORECASE,
)
_DID = re.compile(r"\bdid\b", re.IGNORECASE)
_VALUE = re.compile(
    r"\b(?:\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|"
    r"hundred|once|twice|half|every|daily|weekly)\b",
    re.IGNORECASE,
)
# Words by which a statement says itself that something went on.
_WENT_ON = re.compile(
    r"\b(?:now|so far|already|currently|actually|total|switched|these days|again|up to|instead|not \d+|"
    r"just (?:added|wore|got|realized|moved|started|finished))\b",
    re.IGNORECASE,
)
_ASSISTANT = frozenset({"assistant", "ai", "model"})


def newest_first(hits: Sequence[Hit], question: str, asked: Analysis, rule: Newest) -> list[Hit]:
    """Put newer statements of a matter before older ones among the first hits, where the question asks for today."""
    order = list(hits)
    if not asks_for_today(question, asked):
        return order
    terms = set(question_terms(question))
    amount = _AMOUNT.search(question) is not None
    stating = [
        _Stating(hit, terms) for hit in hits[: rule.depth] if (hit.event.role or "").casefold() not in _ASSISTANT
    ]
    stating = [one for one in stating if one.shared and (not amount or one.has_value)]
    moved: set[str] = set()
    for place, older in enumerate(stating):
        if older.hit.event.id in moved:
            continue
        newer = [one.hit for one in stating[place + 1 :] if one.hit.event.id not in moved and one.follows(older, rule)]
        if newer:
            order = _moved(order, newer, older.hit)
            moved.update(hit.event.id for hit in newer)
    return order


def asks_for_today(question: str, asked: Analysis) -> bool:
    """Tell whether a question asks how things stand, and not how they once were or what was done one time."""
    now = _NOW.search(question) is not None
    if _PAST.search(question) or asked.windows or asked.addressed or asked.first_last == "first":
        return False
    if not now and (asked.anchored or _DID.search(question)):
        return False
    return now or _AMOUNT.search(question) is not None


class _Stating:
    """A hit, and what of the question its quoted words hold."""

    def __init__(self, hit: Hit, terms: AbstractSet[int]) -> None:
        words = hit.event.text[hit.span.start : hit.span.end]
        self.hit = hit
        self.shared = terms & term_counts(words).keys()
        self.has_value = _VALUE.search(words) is not None
        self._went_on = _WENT_ON.search(words) is not None

    def follows(self, older: _Stating, rule: Newest) -> bool:
        """Tell whether this says of the same matter how it went on."""
        mine, its = self.hit.event, older.hit.event
        if (
            mine.at <= its.at
            or mine.speaker != its.speaker
            or (mine.session is not None and mine.session == its.session)
        ):
            return False
        if older.hit.score - self.hit.score > rule.within:
            return False
        least = rule.share_going_on if self._went_on else rule.share
        return len(self.shared & older.shared) >= least * len(older.shared)


def _moved(order: Sequence[Hit], newer: Sequence[Hit], older: Hit) -> list[Hit]:
    """Put the newer ones before an older one, the newest first."""
    ids = {hit.event.id for hit in newer}
    left = [hit for hit in order if hit.event.id not in ids]
    place = left.index(older)
    above = older.score
    lifted: list[Hit] = []
    for hit in sorted(newer, key=lambda hit: hit.event.at):
        above += _ABOVE
        gain = Score(
            stage=STAGE, score=above - hit.score, why=f"newer than {older.event.id}, which speaks of the same matter"
        )
        lifted.insert(0, replace(hit, score=above, scores=(*hit.scores, gain)))
    return [*left[:place], *lifted, *left[place:]]
