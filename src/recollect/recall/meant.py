"""Whom a question means, and whether a line is about them, whoever speaks.

"I leave on Friday" is about the one who says it, "Chiara leaves on Friday" about Chiara, whoever says it; "Chiara! I
leave on Friday" only calls her. So a line gains by being about whom the question names, and the confidence that there
is an answer looks at the same. "When do I leave?" names the user of an assistant, where the memory knows who that is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from recollect.core.graph import EntityType
from recollect.core.roles import USERS
from recollect.core.scripts import UNSPACED, bare, finder
from recollect.core.trust import is_vouched
from recollect.core.values import Event, Span
from recollect.core.words import STOPWORDS
from recollect.recall.candidates import About, Asking, Candidate, in_order
from recollect.store.graph import SPEAKS, MentionRow

ABOUT = "about"

_OWN = About(favour=1.0, answer=1.0)  # what they say of themselves
_TOLD = About(favour=0.75, answer=0.75)  # what others tell of them; a name may be there by the way
_SPOKEN = About(favour=0.75, answer=0.75)  # what they say of nobody: "Last May!"
_REPLIED = About(favour=0.75, answer=0.0)  # what they say of whom they speak to; their own words often stand beside it
_HEARD = About(favour=0.0, answer=0.5)  # what an assistant answers its user
_OTHERS = About(favour=0.0, answer=0.0)  # all else, their own words about a third one included

_ALSO_VERBS = frozenset("may mark grant bill sue pat rob drew chase faith grace hope".split())
_NO_NAMES = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday today yesterday tomorrow".split()
)
_words = finder("ALNUM")
_ASKER = re.compile(r"\b(?:I|[Mm]y|me|mine|myself)\b")
_OF_ONESELF = re.compile(r"\b(?:I|i|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Ww]e|[Oo]ur|[Oo]urs|us)\b")
_OF_ANOTHER = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
# Who is asked about stands behind the auxiliary or owns something: "when does Chiara leave", "Chiara's train". Whatever
# else is written large in a question is a place, a month, a tool.
_SUBJECT = re.compile(
    r"\b(?:do|does|did|is|was|are|were|has|have|had|will|would|can|could|should|must|may|might|shall)(?:n['’]t)?\s{1,4}"
    r"(?:(?:it|that)\s{1,4})?([^\W\d_]\w{1,60})\b|['’]s\s{1,4}([^\W\d_]\w{1,60})\b"
)
_OWNER = re.compile(r"\b([^\W\d_]\w{1,60})(?=['’]s\b|s['’]\s)")
_CALLING = re.compile(
    r"(?:^|[,.!?:;…—\n]|\b(?:hey|hi|hello|thanks|thank you|oh|wow|yeah|yes|no|dear|congrats|bye|morning))\s*[\"'“(]*$",
    re.IGNORECASE,
)
_MOST_READ = 4_000  # characters, where no model said which window matched
_NEAR = 20  # characters before a name that tell whether it is called
_CALLED = re.compile(r"\s*(?:[,.!?…]|$)")


class Named:
    """Tells whom a question speaks of: speakers by name, and the asker by "I" and "my"."""

    def __init__(self, question: str) -> None:
        self.asker = _ASKER.search(question) is not None
        words = _words(question).findall(question)
        self._plain = {bare(word) for word in words} - STOPWORDS - _ALSO_VERBS
        # "Will" and "May" are names only where they are written like one, and not for standing first.
        self._capital = {bare(word) for word in words[1:] if word[:1].isupper()}
        self._runs = "" if question.isascii() else " ".join(self._plain)
        asked = [found[1] or found[2] for found in _SUBJECT.finditer(question)]
        asked += [found[1] for found in _OWNER.finditer(question)]
        self._subjects = {bare(word) for word in asked if word[:1].isupper()} - STOPWORDS - _NO_NAMES

    def __call__(self, speaker: str | None) -> bool:
        """Tell whether a speaker is among them."""
        return any(map(self._names, _name_words(speaker)))

    def among(self, speakers: Iterable[str | None]) -> frozenset[str]:
        """List whom the question is about, by each word of their names, where these are known to speak."""
        known = {word for speaker in set(speakers) for word in _name_words(speaker)}
        return frozenset(self._subjects | {word for word in known if self._names(word)})

    def _names(self, word: str) -> bool:
        return word in self._plain or word in self._capital or (word in self._runs and _is_run(word))


def look(asking: Asking, ranked: Sequence[Candidate], named: Named, *, addressed: bool) -> list[Candidate]:
    """Look whom the best candidates are about, and order all by it; of those behind only who spoke is known.

    addressed: the question is about what somebody told the asker.
    """
    seen = [one for one in ranked if one.outline is not None]
    names = named.among(one.outline.speaker for one in seen if one.outline is not None)
    if not names and (addressed or not named.asker or not any(map(_by_user, seen))):
        return list(ranked)

    def is_spoken(candidate: Candidate) -> bool:
        if not names:
            return _by_user(candidate)
        outline = candidate.outline
        return outline is not None and is_vouched(outline.source) and named(outline.speaker)

    first = seen[: asking.recipe.about_depth]
    events = asking.reader.fetch(asking.space, [one.seq for one in first])
    people: dict[int, list[MentionRow]] = {}
    for row in asking.reader.mentions(asking.space, seqs=list(events)):
        if row.type == EntityType.PERSON and row.start != SPEAKS:
            people.setdefault(row.seq, []).append(row)
    for candidate in seen:
        spoken, event = is_spoken(candidate), events.get(candidate.seq)
        candidate.about = _OWN if spoken else _OTHERS if names else _HEARD
        if event is not None:
            if spoken or names:
                said = _Said.of(event, candidate.window, people.get(candidate.seq, ()))
                candidate.about = said.about(names, spoken=spoken)
            if not names and candidate.about is not _OTHERS:
                # Nearly all that users say is theirs: it speaks for an answer no more than where nobody is named.
                candidate.about = candidate.about._replace(answer=_HEARD.answer)
            _regain(candidate, asking.recipe.about * candidate.about.favour)
    return in_order(seen) + [one for one in ranked if one.outline is None]


def _by_user(candidate: Candidate) -> bool:
    """Tell whether it is said by the user of an assistant, who is then the one that asks."""
    outline = candidate.outline
    return outline is not None and is_vouched(outline.source) and (outline.role or "").casefold() in USERS


def _regain(candidate: Candidate, gain: float) -> None:
    candidate.score += gain - candidate.boosts.pop(ABOUT, 0.0)
    if gain:
        candidate.boosts[ABOUT] = gain


class _Said(NamedTuple):
    """The words of a candidate that matched, and where they name people."""

    text: str
    people: Sequence[Span]

    @classmethod
    def of(cls, event: Event, window: Span | None, people: Sequence[MentionRow]) -> _Said:
        start, end = window or (0, min(len(event.text), _MOST_READ))
        inside = [Span(row.start - start, row.stop - start) for row in people if start <= row.start and row.stop <= end]
        return cls(event.text[start:end], inside)

    def about(self, names: Collection[str], *, spoken: bool) -> About:
        """Tell how much it is about some names; `spoken`: one of them says it."""
        if spoken and _OF_ONESELF.search(self.text):
            return _OWN
        words = (found for found in _words(self.text).finditer(self.text) if bare(found[0]) in names)
        if any(not self._calls(*found.span()) for found in words):
            return _TOLD
        if not self.text.isascii() and any(name in self.text for name in filter(_is_run, names)):
            return _TOLD
        if not spoken or any(not self._calls(*place) for place in self.people):
            return _OTHERS
        return _REPLIED if _OF_ANOTHER.search(self.text) else _SPOKEN

    def _calls(self, start: int, end: int) -> bool:
        """Tell whether a name only calls somebody: it stands by itself between marks."""
        before = self.text[max(0, start - _NEAR) : start]
        return _CALLING.search(before) is not None and _CALLED.match(self.text, end) is not None


@lru_cache(maxsize=4096)
def _name_words(speaker: str | None) -> tuple[str, ...]:
    """Split a name into its words, without case and accents."""
    return () if speaker is None else tuple(map(bare, _words(speaker).findall(speaker)))


def _is_run(word: str) -> bool:
    """Tell a name that may stand in a run of words without spaces, or before what Korean hangs on it."""
    return len(word) > 1 and not word.isascii() and _compiled(f"[{UNSPACED}]+").fullmatch(word) is not None


_compiled = cache(re.compile)
