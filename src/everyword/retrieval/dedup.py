"""Dedup: drop hits that repeat a better-ranked hit, and find near-duplicates."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from everyword.lazy_patterns import lazy_pattern
from everyword.retrieval.candidates import Candidate
from everyword.retrieval.config import SearchConfig
from everyword.text.dates import find_dates
from everyword.text.spans import asks
from everyword.text.terms import finder
from everyword.types.events import Event
from everyword.types.trust import is_vouched

# Includes signs that change the meaning: C++ and C#, 40 € and 40 $, -5 and 5.
_pattern = finder(r"ALNUM(?:['’]ALNUM)?(?:\+\+|#)?|[$€£¥₹₽₺₩₪%<>=±×÷]|(?<!\S)[-−](?=[\d.,$€£¥])")
_MOST_READ = 20_000  # characters compared; texts that differ only later count as equal
_LEAST_WORDS = 4  # shorter messages, as "thanks", are said again and are no repetition
# Words that do not change what a message says.
_FILLERS = frozenset(
    """a an the well so oh hey hi hello yes yeah yep yup ok okay right sure please just really very also and but then
    actually basically anyway um uh hmm wow great thanks thank you again btw by way""".split()
)


class Deduplicated(NamedTuple):
    """Candidates without repetitions."""

    kept: list[Candidate]
    repeats: list[Candidate]  # near-duplicates by one tool or page; they follow all others
    echoes: list[Candidate]  # stored questions that ask the same; they come last

    @property
    def in_order(self) -> list[Candidate]:
        """List all candidates, the best first."""
        return [*self.kept, *self.repeats, *self.echoes]


def dedup(
    ranked: Sequence[Candidate], events: Mapping[int, Event], question: str, config: SearchConfig
) -> Deduplicated:
    """Drop candidates that repeat a better-ranked one, and put those last that only ask the question.

    A repetition has the same speaker and source and the same words except fillers. With a date in it, "I start
    tomorrow", it repeats only what was said on the same day.
    """
    asked = _words(question) if config.echo and asks(question) else []
    days_said: dict[tuple[str | None, str, tuple[str, ...]], set[date]] = {}
    found = Deduplicated([], [], [])
    seen = NearDuplicates()
    for candidate in ranked:
        event = events[candidate.seq]
        words = _words(event.text)
        if asked and _is_echo(event.text, words, asked, config.echo):
            found.echoes.append(candidate)
            continue
        said = tuple(word for word in words if word not in _FILLERS)
        if config.dedup and len(said) >= _LEAST_WORDS:
            days = days_said.setdefault((event.speaker, event.source, said), set())
            if days and (event.at.date() in days or not find_dates(event.text, event.at)):
                continue
            days.add(event.at.date())
        repeats = config.dedup and not is_vouched(event.source) and seen.seen_before(event.source, event.text)
        (found.repeats if repeats else found.kept).append(candidate)
    return found


def _is_echo(text: str, words: list[str], asked: list[str], least: float) -> bool:
    """Tell whether a message asks the same question: both share at least that share of all their words."""
    if words == asked:
        return True
    if not asks(text):
        return False
    both = set(asked), set(words)
    return len(both[0] & both[1]) >= least * len(both[0] | both[1])


def _words(text: str) -> list[str]:
    read = unicodedata.normalize("NFC", text[:_MOST_READ]).casefold()
    return _pattern(read).findall(read)


# Share of all words of two texts that both contain. "Ana lives in Evilville (record 17)" repeats "Ana lives in
# Evilville"; two sentences that share a subject and a verb do not.
SIMILAR = 0.6
_MOST_COMPARED = 4_000  # characters of a text
_WORD = lazy_pattern(r"[^\W_]+")


class NearDuplicates:
    """Groups texts of each source by similarity as they come; a text joins the first similar group."""

    def __init__(self) -> None:
        self._groups: dict[str, list[frozenset[str]]] = {}

    def seen_before(self, source: str, text: str) -> bool:
        """Tell whether an earlier text of the source says nearly the same; if not, remember this one."""
        words = frozenset(_WORD.findall(text[:_MOST_COMPARED].casefold()))
        groups = self._groups.setdefault(source, [])
        if any(_similar(words, group) for group in groups):
            return True
        groups.append(words)
        return False


def _similar(one: frozenset[str], other: frozenset[str]) -> bool:
    shorter, longer = sorted((len(one), len(other)))
    if shorter < SIMILAR * longer:
        return False
    both = len(one & other)
    return both >= SIMILAR * (shorter + longer - both)
