"""Sessions -> summaries, offline: the most central sentences, verbatim, and the phrases that tell it from others.

A session's state is a bounded sample of its sentences, chosen by a hash of where each stands: the same events leave the
same state in whatever order and however often they come, and a session of ten thousand events costs no more to
summarise than one of a hundred. A short session is kept whole.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from everyword.knowledge.legacy.fold.phrases import Frequency, keyphrases
from everyword.text.spans import asks, sentences
from everyword.text.terms import STOPWORDS, question_terms
from everyword.types.events import SILENT, Event, Json, Span, Theme
from everyword.types.ids import fingerprint
from everyword.types.times import to_micros
from everyword.types.trust import states_nothing

MOST_THEMES = 5
SENTENCES_A_THEME = 4  # a session of eight sentences has two themes, not five
MOST_KEPT = 256  # sentences of a session in its state: some 30 kB, and a matrix that takes a few milliseconds
LONGEST_SENTENCE = 320  # characters; beyond it is a list or a paste, and no summary
MOST_READ = 8_000  # characters of one event: what is longer was pasted
FULL_WEIGHT_TERMS = 8  # content words from which on a sentence is as likely to be kept as any
ASSISTANT_WEIGHT = 0.35  # an assistant says most of the words, and less of what a session is about
QUESTION_WEIGHT = 0.5  # a question names the topic, an answer says it
ADDRESSED_WEIGHT = 0.5  # "you did so well": of the other, who said it better
LEAST_LETTERS = 0.6  # share of letters and spaces; below it is code or a table
DAMPING = 0.85  # as in PageRank
ROUNDS = 40  # of power iteration; 0.85^40 leaves a thousandth
SAME_THEME = 0.5  # cosine from which on two sentences say the same
MOST_ENTITIES = 12
ASSISTANTS = frozenset(("assistant", "ai", "model", "bot"))
_REMEMBERED = 1024  # texts: what sessions that are going on have said, read again whenever they have grown

Naming = Callable[[Event], Iterable[tuple[Span, str]]]  # where an event names which entity


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """What a session is about."""

    themes: tuple[Theme, ...] = ()  # in the order in which they were said
    keys: tuple[str, ...] = ()  # phrases, the most telling first
    participants: tuple[str, ...] = ()  # in the order in which they first spoke
    entities: tuple[str, ...] = ()  # the most named first
    first_at: datetime | None = None
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _Kept:
    """A sentence in the state. Sorts by time and place."""

    at: str  # ISO, with its zone
    event_id: str
    start: int
    end: int
    text: str
    speaker: str = ""
    weight: float = 1.0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """What a summary is made of; small, and JSON can hold it."""

    kept: tuple[_Kept, ...] = ()
    speakers: Mapping[str, str] = field(default_factory=dict[str, str])  # name -> when first, ISO
    first_at: str | None = None
    last_at: str | None = None

    def as_json(self) -> dict[str, Json]:
        """Write the state as what JSON can hold."""
        kept = [
            [one.at, one.event_id, one.start, one.end, one.text, one.speaker, one.weight, list(one.names)]
            for one in self.kept
        ]
        return {"kept": kept, "speakers": dict(self.speakers), "first_at": self.first_at, "last_at": self.last_at}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> SessionState:
        """Read what `as_json` wrote."""
        kept = tuple(
            _Kept(at=at, event_id=id, start=start, end=end, text=text, speaker=who, weight=weight, names=tuple(names))
            for at, id, start, end, text, who, weight, names in written["kept"]
        )
        return cls(
            kept=kept,
            speakers=dict(written["speakers"]),
            first_at=written["first_at"],
            last_at=written["last_at"],
        )


def summarise(
    events: Iterable[Event], *, names: Naming | None = None, frequency: Frequency | None = None
) -> SessionSummary:
    """Summarise a session from all its events."""
    return refresh(SessionState(), events, names=names, frequency=frequency)[1]


def refresh(
    state: SessionState, events: Iterable[Event], *, names: Naming | None = None, frequency: Frequency | None = None
) -> tuple[SessionState, SessionSummary]:
    """Take in further events of a session: the same as summarising all from scratch.

    `names` says which entities an event names; `frequency`, in which share of all events a word stands.
    """
    state = absorb(state, events, names=names)
    return state, summary_of(state, frequency=frequency)


def absorb(state: SessionState, events: Iterable[Event], *, names: Naming | None = None) -> SessionState:
    """Take in events without summarising."""
    kept = {(one.event_id, one.start, one.end): one for one in state.kept}
    speakers = dict(state.speakers)
    moments = [moment for moment in (state.first_at, state.last_at) if moment is not None]
    for event in events:
        role = (event.role or "").lower()
        if role in SILENT or states_nothing(event):
            continue
        at = event.at.isoformat()
        moments.append(at)
        who = event.speaker or event.role or ""
        if who and (who not in speakers or _moment(at) < _moment(speakers[who])):
            speakers[who] = at
        for one in _sentences(event, at, who, role in ASSISTANTS, names):
            kept[one.event_id, one.start, one.end] = one
        if len(kept) > 2 * MOST_KEPT:
            kept = {(one.event_id, one.start, one.end): one for one in _best(kept.values())}
    return SessionState(
        kept=tuple(sorted(_best(kept.values()))),
        speakers=dict(sorted(speakers.items(), key=lambda item: (_moment(item[1]), item[0]))),
        first_at=min(moments, key=_moment, default=None),
        last_at=max(moments, key=_moment, default=None),
    )


def summary_of(state: SessionState, *, frequency: Frequency | None = None) -> SessionSummary:
    """Make the summary of a state."""
    named = Counter(name for one in state.kept for name in one.names)
    return SessionSummary(
        themes=_themes(state.kept),
        keys=keyphrases(
            ((one.text, one.weight) for one in state.kept), frequency=frequency, without=tuple(state.speakers)
        ),
        participants=tuple(state.speakers),
        entities=tuple(sorted(named, key=lambda name: (-named[name], name))[:MOST_ENTITIES]),
        first_at=datetime.fromisoformat(state.first_at) if state.first_at else None,
        last_at=datetime.fromisoformat(state.last_at) if state.last_at else None,
    )


def _sentences(event: Event, at: str, who: str, assistant: bool, names: Naming | None) -> Iterable[_Kept]:
    text = event.text[:MOST_READ]
    named = sorted(names(event)) if names else []
    for span, weight in _weighed(text):
        words = text[span.start : span.end]
        weight *= ASSISTANT_WEIGHT if assistant else 1.0
        inside = tuple(dict.fromkeys(name for place, name in named if span.start <= place.start < span.end))
        yield _Kept(
            at=at,
            event_id=event.id,
            start=span.start,
            end=span.end,
            text=words,
            speaker=who,
            weight=round(weight, 4),
            names=inside,
        )


@lru_cache(maxsize=_REMEMBERED)
def _weighed(text: str) -> tuple[tuple[Span, float], ...]:
    """Give the sentences of a text that could tell what a session is about, and how much each counts."""
    found: list[tuple[Span, float]] = []
    for span in sentences(text):
        words = text[span.start : span.end]
        if len(words) > LONGEST_SENTENCE or not _is_prose(words):
            continue
        terms = sum(word not in STOPWORDS for word in _WORD.findall(words.lower()))
        if not terms:
            continue
        weight = min(1.0, terms / FULL_WEIGHT_TERMS)
        weight *= QUESTION_WEIGHT if asks(words) else 1.0
        weight *= ADDRESSED_WEIGHT if _YOURS.search(words) and not _OWN.search(words) else 1.0
        found.append((span, weight))
    return tuple(found)


_WORD = re.compile(r"[^\W\d_]{2,40}")
_YOURS = re.compile(r"\b(?:you|your|yours)\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:I|[Ww]e|[Mm]y|[Oo]ur|me|us)\b")


def _is_prose(words: str) -> bool:
    plain = sum(char.isalpha() or char.isspace() for char in words)
    return plain >= LEAST_LETTERS * len(words)


def _best(kept: Iterable[_Kept]) -> list[_Kept]:
    """Keep a fair sample: by chance, weighted, where the chance is a hash of the place."""
    return heapq.nlargest(MOST_KEPT, kept, key=lambda one: (_chance(one), one.event_id, one.start))


def _chance(one: _Kept) -> float:
    drawn = (int.from_bytes(fingerprint(one.event_id, one.start, one.end)[:6]) + 1) / (1 << 48)
    return math.log(drawn) / one.weight


def _moment(written: str) -> int:
    return to_micros(datetime.fromisoformat(written))[0]


def _themes(kept: tuple[_Kept, ...]) -> tuple[Theme, ...]:
    if not kept:
        return ()
    scores, likeness = _centrality(kept)
    chosen: list[int] = []
    most = max(1, min(MOST_THEMES, round(len(kept) / SENTENCES_A_THEME)))
    for index in sorted(range(len(kept)), key=lambda index: (-scores[index], index)):
        if len(chosen) == most:
            break
        if all(likeness[index][other] < SAME_THEME for other in chosen):
            chosen.append(index)
    return tuple(_theme(kept[index], scores[index]) for index in sorted(chosen))


def _theme(one: _Kept, score: float) -> Theme:
    return Theme(
        text=one.text,
        event_id=one.event_id,
        span=Span(one.start, one.end),
        at=datetime.fromisoformat(one.at),
        speaker=one.speaker or None,
        score=score,
    )


def _centrality(kept: tuple[_Kept, ...]) -> tuple[list[float], list[list[float]]]:
    """Rank sentences by how much the others share their words: PageRank over the cosine of their terms."""
    import numpy as np

    counts = [_terms(one.text) for one in kept]
    spread = Counter(term for terms in counts for term in terms)
    columns = {term: place for place, term in enumerate(sorted(spread))}
    matrix = np.zeros((len(kept), len(columns)))
    for row, terms in enumerate(counts):
        for term, count in terms.items():
            matrix[row, columns[term]] = (1 + math.log(count)) * math.log(1 + len(kept) / spread[term])
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(norms > 0, norms, 1.0)
    likeness = matrix @ matrix.T
    np.fill_diagonal(likeness, 0.0)
    weights = np.array([one.weight for one in kept])
    prior = weights / weights.sum()
    out = likeness.sum(axis=1, keepdims=True)
    # A sentence that shares nothing sends its rank wherever chance would.
    steps = np.where(out > 0, likeness / np.where(out > 0, out, 1.0), prior)
    ranks = prior.copy()
    for _ in range(ROUNDS):
        ranks = (1 - DAMPING) * prior + DAMPING * (ranks @ steps)
    scores = [round(float(score), 12) for score in ranks * weights]  # beyond, the order of sums shows
    return scores, likeness.tolist()


@lru_cache(maxsize=_REMEMBERED)
def _terms(sentence: str) -> Mapping[int, int]:
    return question_terms(sentence)
