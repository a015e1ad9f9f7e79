"""Dedup: drop hits that repeat a better-ranked hit, and find near-duplicates."""

from __future__ import annotations

import unicodedata
from datetime import date

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


class Dedup:
    """Takes candidates, the best first, and drops those that repeat a better one.

    A repetition has the same speaker and source and the same words except fillers. With a date in it, "I start
    tomorrow", it repeats only what was said on the same day.
    """

    def __init__(self, question: str, config: SearchConfig) -> None:
        self._config = config
        self._asked = _words(question) if config.echo and asks(question) else []
        self._days_said: dict[tuple[str | None, str, tuple[str, ...]], set[date]] = {}
        self._seen = NearDuplicates()
        self.kept: list[Candidate] = []
        self.repeats: list[Candidate] = []  # near-duplicates by one tool or page; they follow all others
        self.echoes: list[Candidate] = []  # stored questions that ask the same; they come last

    @property
    def in_order(self) -> list[Candidate]:
        """List all candidates that were not dropped, the best first."""
        return [*self.kept, *self.repeats, *self.echoes]

    def add(self, candidate: Candidate, event: Event) -> None:
        """Take the next candidate."""
        words = _words(event.text)
        if self._asked and _is_echo(event.text, words, self._asked, self._config.echo):
            self.echoes.append(candidate)
            return
        said = tuple(word for word in words if word not in _FILLERS)
        if self._config.dedup and len(said) >= _LEAST_WORDS:
            days = self._days_said.setdefault((event.speaker, event.source, said), set())
            if days and (event.at.date() in days or not find_dates(event.text, event.at)):
                return
            days.add(event.at.date())
        repeats = (
            self._config.dedup and not is_vouched(event.source) and self._seen.seen_before(event.source, event.text)
        )
        (self.repeats if repeats else self.kept).append(candidate)


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
