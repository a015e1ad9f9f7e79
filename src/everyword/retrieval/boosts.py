"""Boosts: what is known about an event besides its words, added to how well it matches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from everyword.retrieval.candidates import Candidate
from everyword.retrieval.config import SearchConfig
from everyword.retrieval.query_analysis import Analysis, Window
from everyword.retrieval.subject_match import ABOUT, NamedPeople
from everyword.storage.rows import Outline
from everyword.text.dates import Granularity
from everyword.types.events import ASSISTANTS, USERS, Filter
from everyword.types.times import to_micros
from everyword.types.trust import is_vouched, trust_of

OWN_WORDS = "own words"
ASSISTANT = "assistant"
TIME = "time"
SOURCE = "source"
LENGTH = "length"

_MICROS_A_DAY = 86_400_000_000

# Days by which people may tell of a thing too late, or misremember its date: the coarser the unit, the more.
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


def searchable_windows(asked: Analysis) -> list[Window]:
    """List the times that an event can lie in or near; a vague one or a lifetime says too little."""
    return [window for window in asked.windows if window.certain and window.granularity in _SLACK]


def time_filter(window: Window) -> Filter:
    """Filter for what happened in a window, or was told of soon after."""
    slack = timedelta(days=_SLACK[window.granularity])
    return Filter(since=_shifted(window.start, -slack), until=_shifted(window.end, slack))


class Boosts:
    """Scores candidates by speaker, role, source, time and length, as the question asks."""

    def __init__(self, config: SearchConfig, asked: Analysis, people: NamedPeople) -> None:
        self._config = config
        self._asked = asked
        self._people = people
        self._times = [_Time.of(window) for window in searchable_windows(asked)] if config.time else []
        self._by_teller: dict[tuple[str | None, str | None, str], dict[str, float]] = {}  # few tell hundreds of events

    def add(self, candidates: Iterable[Candidate], lengths: Iterable[float]) -> None:
        """Add each candidate's boosts to its score; `lengths` are in tokens."""
        for candidate, length in zip(candidates, lengths, strict=True):
            if candidate.outline is not None:
                candidate.boosts = self._boosts(candidate.outline, length)
                candidate.score += sum(candidate.boosts.values())

    def _boosts(self, outline: Outline, length: float) -> dict[str, float]:
        config = self._config
        teller = (outline.speaker, outline.role, outline.source)
        if teller not in self._by_teller:
            self._by_teller[teller] = self._boosts_of_teller(*teller)
        boosts = self._by_teller[teller].copy()
        if self._times:
            boosts[TIME] = config.time * max(time.closeness(outline.at) for time in self._times)
        if config.length and length > config.long_event:
            boosts[LENGTH] = -config.length * math.log2(length / config.long_event)
        return boosts

    def _boosts_of_teller(self, speaker: str | None, role: str | None, source: str) -> dict[str, float]:
        config, asked = self._config, self._asked
        boosts: dict[str, float] = {}
        role = (role or "").casefold()
        vouched = is_vouched(source)
        if config.about and vouched and self._people.include(speaker):
            boosts[ABOUT] = config.about
        if config.own and self._people.asker and not asked.addressed and vouched and role in USERS:
            boosts[OWN_WORDS] = config.own
        if config.assistant and asked.addressed and role in ASSISTANTS:
            boosts[ASSISTANT] = config.assistant
        if lacking := config.untrusted * (1.0 - trust_of(source).weight):
            boosts[SOURCE] = -lacking
        return boosts


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
        """Return 1 inside the window, and less with the distance outside."""
        return math.exp(-max(self.start - at, at - self.end, 0) / self.slack)


def _shifted(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:  # at the ends of the calendar
        return moment
