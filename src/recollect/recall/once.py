"""Saying things once: what repeats a better hit goes, and the question's own echo comes last: it answers nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date

from recollect.core.dates import find_dates
from recollect.core.scripts import finder
from recollect.core.spans import asks
from recollect.core.values import Event
from recollect.recall.candidates import Candidate
from recollect.recall.recipes import Recipe

# With what tells one thing from another though it is no letter: C++ and C#, 40 € and 40 $, -5 and 5.
_pattern = finder(r"ALNUM(?:['’]ALNUM)?(?:\+\+|#)?|[$€£¥₹₽₺₩₪%<>=±×÷]|(?<!\S)[-−](?=[\d.,$€£¥])")
_MOST_READ = 20_000  # characters compared; two texts that agree so far and differ later are not worth a second look
_TELLING = 4  # words from which two equal messages are a repetition and not just two times "thanks"
# Words that change nothing of what is said.
_FILLERS = frozenset(
    """a an the well so oh hey hi hello yes yeah yep yup ok okay right sure please just really very also and but then
    actually basically anyway um uh hmm wow great thanks thank you again btw by way""".split()
)


def told_once(
    ranked: Sequence[Candidate], events: Mapping[int, Event], question: str, recipe: Recipe
) -> list[Candidate]:
    """Leave out repetitions and put echoes last, as the recipe says.

    A repetition is by the same one, in the same words but for fillers. "I start tomorrow" is another thing on another
    day.
    """
    asked = _words(question) if recipe.echo and asks(question) else []
    told: dict[tuple[str | None, tuple[str, ...]], set[date]] = {}
    kept: list[Candidate] = []
    echoes: list[Candidate] = []
    for candidate in ranked:
        event = events[candidate.seq]
        words = _words(event.text)
        if asked and _is_echo(event.text, words, asked, recipe.echo):
            echoes.append(candidate)
            continue
        said = tuple(word for word in words if word not in _FILLERS)
        if recipe.once and len(said) >= _TELLING:
            days = told.setdefault((event.speaker, said), set())
            if days and (event.at.date() in days or not find_dates(event.text, event.at)):
                continue
            days.add(event.at.date())
        kept.append(candidate)
    return kept + echoes


def _is_echo(text: str, words: list[str], asked: list[str], least: float) -> bool:
    """Tell whether a message asks what the question asks, in so large a share of all their words."""
    if words == asked:
        return True
    if not asks(text):
        return False
    both = set(asked), set(words)
    return len(both[0] & both[1]) >= least * len(both[0] | both[1])


def _words(text: str) -> list[str]:
    read = unicodedata.normalize("NFC", text[:_MOST_READ]).casefold()
    return _pattern(read).findall(read)
