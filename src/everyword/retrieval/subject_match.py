"""Subject match: whom a question is about, and whether an event is about them, whoever speaks.

"I leave on Friday" is about its speaker; "Chiara leaves on Friday" is about Chiara; "Chiara! I leave on Friday" only
addresses her. An event gains by being about a person whom the question names, and the confidence that there is an
answer uses the same judgement. "When do I leave?" names the user of an assistant, if the memory has one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from everyword.lazy_patterns import lazy_pattern
from everyword.retrieval.candidates import SearchScope
from everyword.retrieval.reranking import ABOUT, Matched
from everyword.storage.rows import SPEAKS, MentionRow
from everyword.text.dates.rules import MONTHS, SHORT_MONTHS, SHORT_WEEKDAYS, WEEKDAYS
from everyword.text.terms import STOPWORDS, UNSPACED, bare, finder
from everyword.types.graph import EntityType
from everyword.types.trust import is_vouched


class SubjectMatch(NamedTuple):
    """How much a candidate is about the people whom the question names, from 0 to 1."""

    boost: float  # for ranking
    answer: float  # for judging whether it can answer


_OWN = SubjectMatch(boost=1.0, answer=1.0)  # what they say about themselves
_TOLD = SubjectMatch(boost=0.75, answer=0.75)  # what others say about them; the name may be incidental
_SPOKEN = SubjectMatch(boost=0.75, answer=0.75)  # what they say about nobody: "Last May!"
_REPLIED = SubjectMatch(boost=0.75, answer=0.0)  # what they say to "you"; their own words often stand next to it
_HEARD = SubjectMatch(boost=0.0, answer=0.5)  # what an assistant answers its user
_OTHERS = SubjectMatch(boost=0.0, answer=0.0)  # everything else, including their words about a third person

_ALSO_VERBS = frozenset("may mark grant bill sue pat rob drew chase faith grace hope".split())
_NO_NAMES = (MONTHS.keys() - SHORT_MONTHS) | (WEEKDAYS.keys() - SHORT_WEEKDAYS) | {"today", "yesterday", "tomorrow"}
_words = finder("ALNUM")
_ASKER = lazy_pattern(r"\b(?:I|[Mm]y|me|mine|myself)\b")
FIRST_PERSON = lazy_pattern(r"\b(?:I|i|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Ww]e|[Oo]ur|[Oo]urs|us)\b")
_SECOND_PERSON = lazy_pattern(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
# The subject follows the auxiliary or owns something: "when does Chiara leave", "Chiara's train". Any other capitalised
# word of a question is a place, a month or a tool.
_SUBJECT = lazy_pattern(
    r"\b(?:do|does|did|is|was|are|were|has|have|had|will|would|can|could|should|must|may|might|shall)(?:n['’]t)?\s{1,4}"
    r"(?:(?:it|that)\s{1,4})?([^\W\d_]\w{1,60})\b|['’]s\s{1,4}([^\W\d_]\w{1,60})\b"
)
_OWNER = lazy_pattern(r"\b([^\W\d_]\w{1,60})(?=['’]s\b|s['’]\s)")
_BEFORE_ADDRESS = lazy_pattern(
    r"(?:^|[,.!?:;…—\n]|\b(?:hey|hi|hello|thanks|thank you|oh|wow|yeah|yes|no|dear|congrats|bye|morning))\s*[\"'“(]*$",
    re.IGNORECASE,
)
_MOST_READ = 4_000  # characters, where no model chose a window
_NEAR = 20  # characters before a name that show whether it is an address
_AFTER_ADDRESS = lazy_pattern(r"\s*(?:[,.!?…]|$)")


class NamedPeople:
    """The people whom a question names: speakers by name, and the asker by "I" and "my"."""

    def __init__(self, question: str) -> None:
        self.asker = _ASKER.search(question) is not None
        words = _words(question).findall(question)
        self._plain = {bare(word) for word in words} - STOPWORDS - _ALSO_VERBS
        # "Will" and "May" are names only where they are capitalised, and not because they come first.
        self._capital = {bare(word) for word in words[1:] if word[:1].isupper()}
        self._runs = "" if question.isascii() else " ".join(self._plain)
        asked = [found[1] or found[2] for found in _SUBJECT.finditer(question)]
        asked += [found[1] for found in _OWNER.finditer(question)]
        self._subjects = {bare(word) for word in asked if word[:1].isupper()} - STOPWORDS - _NO_NAMES
        self._included: dict[str | None, bool] = {}  # few speakers stand beside hundreds of candidates

    def include(self, speaker: str | None) -> bool:
        """Tell whether the question names a speaker."""
        if speaker not in self._included:
            self._included[speaker] = any(map(self._names, _name_words(speaker)))
        return self._included[speaker]

    def among(self, speakers: Iterable[str | None]) -> frozenset[str]:
        """List the words of the names that the question is about; `speakers` are names that are known."""
        known = {word for speaker in set(speakers) for word in _name_words(speaker)}
        return frozenset(self._subjects | {word for word in known if self._names(word)})

    def _names(self, word: str) -> bool:
        return word in self._plain or word in self._capital or (word in self._runs and _is_run(word))


def judge_subjects(scope: SearchScope, matched: Matched, people: NamedPeople, *, addressed: bool) -> None:
    """Boost the best candidates that are about the people named; for the others only the speaker counts.

    addressed: the question asks what the assistant said, so "I" is not its subject.
    """
    tellers = matched.tellers
    names = people.among(one.speaker for one in tellers)
    if not names and (addressed or not people.asker or not any(one.is_user for one in tellers)):
        return
    is_own = [is_vouched(one.source) and people.include(one.speaker) if names else one.is_user for one in tellers]
    own = np.array(is_own)[matched.told_by]
    unread = _OTHERS if names else _HEARD
    matched.answers = np.where(own, _OWN.answer, unread.answer)
    first = matched.order()[: scope.config.about_depth].tolist()
    events = scope.reader.fetch(matched.seqs[first].tolist())
    passages: dict[int, _Passage] = {}
    for row in first:
        event = events.get(seq := int(matched.seqs[row]))
        if event is not None:
            passages[row] = _Passage(seq, event.text, *(matched.window(seq) or (0, min(len(event.text), _MOST_READ))))
    mentions = _people_named(scope, [one for row, one in passages.items() if own[row]])
    for row, passage in passages.items():
        match = _OWN if own[row] else unread
        if own[row] or names:
            match = passage.match(names, mentions.get(passage.seq, ()), own=bool(own[row]))
        # Nearly everything that users say is about them, so it is no sign of an answer.
        matched.answers[row] = match.answer if names or match is _OTHERS else _HEARD.answer
        matched.boost(ABOUT)[row] = scope.config.about * match.boost


def _people_named(scope: SearchScope, own: Sequence[_Passage]) -> dict[int, list[MentionRow]]:
    """Read whom their own words name, where no first person tells already whom they are about."""
    unclear = [one.seq for one in own if not FIRST_PERSON.search(one.text)]
    found: dict[int, list[MentionRow]] = {}
    for row in scope.reader.mentions(seqs=unclear) if unclear else ():
        if row.type == EntityType.PERSON and row.start != SPEAKS:
            found.setdefault(row.seq, []).append(row)
    return found


class _Passage:
    """The matching text of a candidate."""

    def __init__(self, seq: int, text: str, start: int, end: int) -> None:
        self.seq, self.text, self._start, self._end = seq, text[start:end], start, end

    def match(self, names: Collection[str], mentions: Sequence[MentionRow], *, own: bool) -> SubjectMatch:
        """Judge how much the text is about some names; `own`: one of them says it. mentions: of people in the event."""
        if own and FIRST_PERSON.search(self.text):
            return _OWN
        words = (found for found in _words(self.text).finditer(self.text) if bare(found[0]) in names)
        if any(not self._is_address(*found.span()) for found in words):
            return _TOLD
        if not self.text.isascii() and any(name in self.text for name in filter(_is_run, names)):
            return _TOLD
        inside = [one for one in mentions if self._start <= one.start and one.stop <= self._end]
        if not own or any(not self._is_address(one.start - self._start, one.stop - self._start) for one in inside):
            return _OTHERS
        return _REPLIED if _SECOND_PERSON.search(self.text) else _SPOKEN

    def _is_address(self, start: int, end: int) -> bool:
        """Tell whether a name only addresses somebody: it stands alone between punctuation marks."""
        before = self.text[max(0, start - _NEAR) : start]
        return _BEFORE_ADDRESS.search(before) is not None and _AFTER_ADDRESS.match(self.text, end) is not None


@lru_cache(maxsize=4096)
def _name_words(speaker: str | None) -> tuple[str, ...]:
    """Split a name into its words, without case and accents."""
    return () if speaker is None else tuple(map(bare, _words(speaker).findall(speaker)))


def _is_run(word: str) -> bool:
    """Tell whether a name may stand inside a run without spaces, or before a Korean particle."""
    return len(word) > 1 and not word.isascii() and _compiled(f"[{UNSPACED}]+").fullmatch(word) is not None


_compiled = cache(re.compile)
