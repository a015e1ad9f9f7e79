"""Drop hits that repeat a better one; put near-duplicates from a tool or a page, and echoes of the question, last."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from recollect.core.dates import find_dates
from recollect.core.scripts import finder
from recollect.core.spans import asks
from recollect.core.trust import is_vouched
from recollect.core.values import Event
from recollect.recall.candidates import Candidate
from recollect.recall.recipes import Recipe
from recollect.recall.repeats import Repeats

# With what tells one thing from another though it is no letter: C++ and C#, 40 € and 40 $, -5 and 5.
_pattern = finder(r"ALNUM(?:['’]ALNUM)?(?:\+\+|#)?|[$€£¥₹₽₺₩₪%<>=±×÷]|(?<!\S)[-−](?=[\d.,$€£¥])")
_MOST_READ = 20_000  # characters compared; two texts that agree so far and differ later are not worth a second look
_TELLING = 4  # words from which two equal messages are a repetition and not just two times "thanks"
# Words that change nothing of what is said.
_FILLERS = frozenset(
    """a an the well so oh hey hi hello yes yeah yep yup ok okay right sure please just really very also and but then
    actually basically anyway um uh hmm wow great thanks thank you again btw by way""".split()
)


class Told(NamedTuple):
    """Candidates less repetitions."""

    kept: list[Candidate]
    repeats: list[Candidate]  # near-duplicates of one tool or page: one of them is enough, unless there is nothing else
    echoes: list[Candidate]  # ask what the question asks

    @property
    def in_order(self) -> list[Candidate]:
        """List all of them, the best first."""
        return [*self.kept, *self.repeats, *self.echoes]


def told_once(ranked: Sequence[Candidate], events: Mapping[int, Event], question: str, recipe: Recipe) -> Told:
    """Leave out repetitions and put echoes last, as the recipe says.

    A repetition is by the same one, in the same words but for fillers. "I start tomorrow" is another thing on another
    day.
    """
    asked = _words(question) if recipe.echo and asks(question) else []
    told: dict[tuple[str | None, str, tuple[str, ...]], set[date]] = {}
    found = Told([], [], [])
    seen = Repeats()
    for candidate in ranked:
        event = events[candidate.seq]
        words = _words(event.text)
        if asked and _is_echo(event.text, words, asked, recipe.echo):
            found.echoes.append(candidate)
            continue
        said = tuple(word for word in words if word not in _FILLERS)
        if recipe.once and len(said) >= _TELLING:
            days = told.setdefault((event.speaker, event.source, said), set())
            if days and (event.at.date() in days or not find_dates(event.text, event.at)):
                continue
            days.add(event.at.date())
        repeats = recipe.once and not is_vouched(event.source) and seen.is_repeat(event.source, event.text)
        (found.repeats if repeats else found.kept).append(candidate)
    return found


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
