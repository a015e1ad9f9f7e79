"""Boosts: what is known of an event beside its words, added to how well it matches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from recollect.core.clock import to_micros
from recollect.core.dates import Granularity
from recollect.core.roles import ASSISTANTS, USERS
from recollect.core.trust import is_vouched, trust_of
from recollect.core.values import Filter
from recollect.recall.analyse import Analysis, Window
from recollect.recall.candidates import PAGERANK_ARM, TOPDOWN_ARM, Candidate
from recollect.recall.meant import ABOUT, Named
from recollect.recall.recipes import Recipe
from recollect.store.protocol import Outline

OWN = "own words"
TOLD = "assistant"
TIME = "time"
UNTRUSTED = "source"
SUPERSEDED = "superseded"
LENGTH = "length"
LINKED = "linked"
UNREAD = "unread"

_MICROS_A_DAY = 86_400_000_000

# Days by which a thing may be told later than it happened, or remembered wrongly: the coarser the unit, the more.
_SLACK: Mapping[Granularity, float] = {
    Granularity.MOMENT: 2.0,
    Granularity.DAY: 3.0,
    Granularity.WEEKEND: 4.0,
    Granularity.WEEK: 8.0,
    Granularity.MONTH: 20.0,
    Granularity.SEASON: 40.0,
    Granularity.QUARTER: 40.0,
    Granularity.YEAR: 80.0,
}


def times_asked(asked: Analysis) -> list[Window]:
    """List the windows of time that an event can lie in or near; a vague one or a lifetime tells too little."""
    return [window for window in asked.windows if window.certain and window.granularity in _SLACK]


def near(window: Window) -> Filter:
    """Let through what happened in a window, or was told of soon after."""
    slack = timedelta(days=_SLACK[window.granularity])
    return Filter(since=_shifted(window.start, -slack), until=_shifted(window.end, slack))


class Boosts:
    """What a question favours, ready to be looked for in many candidates."""

    def __init__(self, recipe: Recipe, asked: Analysis, named: Named) -> None:
        self._recipe = recipe
        self._asked = asked
        self._named = named
        # "Where did she live first?", "in 2019": what no longer holds may be just what is asked for.
        self._of_the_past = asked.first_last == "first" or bool(asked.windows)
        self._times = [_Time.of(window) for window in times_asked(asked)] if recipe.time else []

    def add(self, candidates: Iterable[Candidate], lengths: Iterable[float]) -> None:
        """Note what each candidate gains or loses, and count it; `lengths` are in tokens."""
        for candidate, length in zip(candidates, lengths, strict=True):
            if candidate.outline is not None:
                candidate.boosts = self._gains(candidate, candidate.outline, length)
                candidate.score += sum(candidate.boosts.values())

    def _gains(self, candidate: Candidate, outline: Outline, length: float) -> dict[str, float]:
        recipe = self._recipe
        gains: dict[str, float] = {}
        vouched = is_vouched(outline.source)
        if recipe.about and vouched and self._named(outline.speaker):
            gains[ABOUT] = recipe.about
        role = (outline.role or "").casefold()
        if recipe.own and self._named.asker and not self._asked.addressed and vouched and role in USERS:
            gains[OWN] = recipe.own
        if recipe.told and self._asked.addressed and role in ASSISTANTS:
            gains[TOLD] = recipe.told
        if lacking := recipe.untrusted * (1.0 - trust_of(outline.source).weight):
            gains[UNTRUSTED] = -lacking
        if self._times:
            gains[TIME] = recipe.time * max(time.closeness(outline.at) for time in self._times)
        if candidate.states is False and recipe.superseded and not self._of_the_past:
            gains[SUPERSEDED] = -recipe.superseded
        if linked := self._linked(candidate):
            gains[LINKED] = linked
        if recipe.length and length > recipe.long_event:
            gains[LENGTH] = -recipe.length * math.log2(length / recipe.long_event)
        return gains

    def _linked(self, candidate: Candidate) -> float:
        arms = ((TOPDOWN_ARM, self._recipe.topdown), (PAGERANK_ARM, self._recipe.pagerank))
        return sum(how.gain * candidate.arms[arm].score for arm, how in arms if how and arm in candidate.arms)


class _Time(NamedTuple):
    """A window in microseconds."""

    start: int
    end: int
    slack: float

    @classmethod
    def of(cls, window: Window) -> _Time:
        slack = _SLACK[window.granularity] * _MICROS_A_DAY
        return cls(to_micros(window.start)[0], to_micros(window.end)[0], slack)

    def closeness(self, at: int) -> float:
        """Tell how near a time is: 1 inside the window, falling with the distance outside."""
        return math.exp(-max(self.start - at, at - self.end, 0) / self.slack)


def _shifted(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:  # at the ends of the calendar
        return moment
