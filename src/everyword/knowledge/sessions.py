"""Summaries of sessions: the statements that matter most, what was decided, done and left open.

They are computed when sessions are read. So they follow what statements became later: a plan that was fulfilled in
another session is not open any more.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from everyword.knowledge.llm.summaries import written_of
from everyword.knowledge.names import read_entities
from everyword.knowledge.reading import is_assistant
from everyword.storage.protocol import Reader
from everyword.text.spans import prose, sentences
from everyword.text.terms import question_terms, stop_terms
from everyword.types.events import Event, Filter, Hit, Session, SessionOrder, Span, SummaryPart, Theme
from everyword.types.statements import TO_DO, Stance, Statement, StatementKind, Status
from everyword.types.trust import states_nothing

MOST_READ = 400  # events of a session, the latest: what it achieved stands at its end
MOST_SESSIONS = 12  # of a time that a question asks about, the latest
MOST_ABOUT = 3  # statements that say what a session was about
MOST_OF_A_PART = 3  # further ones that were decided, done or left open
MOST_KEYS = 5
MOST_ENTITIES = 12
LONGEST = 320  # characters of a sentence; a longer one is a list

_KINDS: Mapping[StatementKind, float] = {
    StatementKind.DECISION: 1.2,
    StatementKind.PLAN: 1.1,
    StatementKind.TASK: 1.1,
    StatementKind.EVENT: 1.1,
    StatementKind.RELATIONSHIP: 0.7,
}
_OTHER_KIND = 0.8
_PARTS = (SummaryPart.DECIDED, SummaryPart.DONE, SummaryPart.OPEN)
_OPENING = 4  # first turns of people, whose sentences may say what a session is about though they state nothing
_OPENING_SURE = 0.4  # how far these are trusted
_FIRST = 1.0  # how much it counts that something was said first; the last sentence gains nothing
_ASSISTANT = 0.35  # an assistant says most of the words, and less of what a session is about
_CENTRAL = 3.0  # how much it counts that the rest of the session speaks of the same
_LEAST_SURE = 0.3  # confidence in what was decided, done or left open
_SAME = 0.5  # cosine of words from which two sentences say the same
_LEAST_TERMS, _FULL_TERMS = 3, 5  # words from which a sentence says something, and enough, by itself


def list_sessions(reader: Reader, which: Filter, order: SessionOrder, *, limit: int | None = None) -> list[Session]:
    """List sessions without summaries: all, or so many of them."""
    if order is SessionOrder.LATEST:
        return reader.sessions(which, limit=limit)
    listed = sorted(reader.sessions(which), key=lambda one: one.name)
    if order is SessionOrder.OLDEST:
        return sorted(listed, key=lambda one: one.first_at)[:limit]
    return sorted(listed, key=lambda one: -one.events)[:limit]


def with_summaries(reader: Reader, listed: Sequence[Session], which: Filter) -> list[Session]:
    """Add summaries to sessions, except to those of which the filter shows only a part."""
    whole = [one.name for one in listed if which.empty or reader.session_reach(one.name).events == one.events]
    written = reader.written(whole)
    named = reader.named_in_sessions(whole, most=MOST_ENTITIES)
    names = {one.id: one.name for one in read_entities(reader, sorted({id for ids in named.values() for id in ids}))}
    found = {name: summary_of(reader, name) for name in whole}
    return [
        replace(
            session,
            summary=found[session.name],
            entities=(entities := tuple(names[id] for id in named.get(session.name, ()) if id in names)),
            keys=tuple(name for name in entities if name not in session.speakers)[:MOST_KEYS],
            written=written_of(written.get(session.name), session.events),
        )
        if session.name in found
        else session
        for session in listed
    ]


def summary_of(reader: Reader, session: str) -> tuple[Theme, ...]:
    """Summarise a session: first what it was about, then what else was decided, done and left open."""
    seqs = reader.session_seqs(session)[-MOST_READ:]
    events, stated = reader.fetch(seqs), reader.statements_of(seqs)
    said = [(events[seq], stated.get(seq, [])) for seq in seqs if not states_nothing(events[seq])]
    return (*summarise(said), *_reported(events[seq] for seq in reversed(seqs)))


def told_in(reader: Reader, times: Sequence[Filter], names: Sequence[str]) -> list[Hit]:
    """List what sessions in some times were about, the most telling lines first; only what named people said or did.

    times: filters, each with the first and last moment of a time.
    """
    words = {name.casefold() for name in names}
    found: dict[str, Theme] = {}
    for which in times:
        for session in reader.sessions(which, limit=MOST_SESSIONS):
            for one in summary_of(reader, session.name):
                said = f"{one.speaker or ''}: {one.text}".casefold()
                inside = which.since is not None and which.until is not None and which.since <= one.at < which.until
                if inside and (not words or any(word in said for word in words)):
                    found.setdefault(one.event_id, one)
    best = sorted(found.values(), key=lambda one: -one.score)
    places = reader.known(one.event_id for one in best)
    return [
        Hit(event=places[one.event_id].event, score=0.0, span=one.span, scores=(), seq=places[one.event_id].seq)
        for one in best
        if one.event_id in places
    ]


def summarise(said: Sequence[tuple[Event, Sequence[Statement]]]) -> tuple[Theme, ...]:
    """Summarise a session by its events in order of time, with what each of them states."""
    found = _scored(list(_candidates(said)), [event for event, _ in said])
    best = sorted(range(len(found)), key=lambda place: (-found[place].score, place))
    chosen: list[int] = []

    def choose(places: Iterable[int], most: int) -> list[int]:
        """Choose the first of some places, without those that repeat what was chosen before."""
        own: list[int] = []
        for place in places:
            if len(own) < most and not _repeats(found[place], (found[other] for other in chosen)):
                own.append(place)
                chosen.append(place)
        return own

    about = choose(best, MOST_ABOUT)
    more: list[int] = []
    for part in _PARTS:
        sure = (place for place in best if found[place].part is part and found[place].sure >= _LEAST_SURE)
        more += choose(sure, MOST_OF_A_PART)
    shown = (found[place] for place in (*sorted(about), *sorted(more)))
    return tuple(_quoted(one.event, one.span, one.part, one.score) for one in shown)


class _Candidate(NamedTuple):
    """A sentence that may be in a summary."""

    event: Event
    span: Span
    part: SummaryPart
    sure: float
    weight: float
    terms: frozenset[int]
    score: float = 0.0


def _candidates(said: Iterable[tuple[Event, Sequence[Statement]]]) -> Iterator[_Candidate]:
    """Give the sentences that state something, and those with which people open the session, in order of time."""
    turns = 0
    said = list(said)
    replaced = {one.replaces for _, stated in said for one in stated}
    for event, stated in said:
        assistant = is_assistant(event)
        turns += not assistant
        opens = not assistant and turns <= _OPENING
        for span, terms in _sentences(event.text) if stated or opens else ():
            inside = [one for one in stated if one.span.start < span.end and span.start < one.span.end]
            words = event.text[span.start : span.end].split()
            tells = len(terms) >= _LEAST_TERMS or (inside and terms and len(words) > _LEAST_TERMS)
            if not tells or not (inside or opens) or span.end - span.start > LONGEST:
                continue
            if inside and all(one.id in replaced for one in inside):
                continue  # the session itself says later how it is
            surest = max(inside, key=lambda one: one.confidence * _weight(one), default=None)
            sure = max(surest.confidence if surest is not None else 0.0, _OPENING_SURE if opens else 0.0)
            weight = _weight(surest) if surest is not None else _OTHER_KIND
            weight *= _ASSISTANT if assistant else 1.0
            yield _Candidate(event, span, _part(inside), sure, weight, terms)


@lru_cache(maxsize=4096)  # sessions are listed again and again
def _sentences(text: str) -> tuple[tuple[Span, frozenset[int]], ...]:
    """Cut the prose of a text into sentences, each with its words of content."""
    plain = prose(text)
    return tuple(
        (one, frozenset(question_terms(plain[one.start : one.end])) - stop_terms()) for one in sentences(plain)
    )


def _weight(statement: Statement) -> float:
    return _KINDS.get(statement.kind, _OTHER_KIND)


def _part(inside: Sequence[Statement]) -> SummaryPart:
    parts = {part_of(one) for one in inside if one.confidence >= _LEAST_SURE}
    return next((part for part in _PARTS if part in parts), SummaryPart.ABOUT)


def part_of(statement: Statement) -> SummaryPart:
    """Tell what a statement says of a session: that something was decided, done or left open, or neither."""
    if statement.kind is StatementKind.DECISION and statement.status is Status.CURRENT:
        return SummaryPart.DECIDED
    if statement.stance is Stance.DONE or (statement.kind is StatementKind.EVENT and statement.replaces is not None):
        return SummaryPart.DONE
    is_open = statement.stance is Stance.HOLDS and statement.status is Status.CURRENT and not statement.negated
    return SummaryPart.OPEN if statement.kind in TO_DO and is_open else SummaryPart.ABOUT


def _scored(found: Sequence[_Candidate], events: Sequence[Event]) -> list[_Candidate]:
    """Score sentences by how sure they are, how early they come, and how much of the session speaks of the same."""
    centre = defaultdict[int, float](float)  # the sum of the events' word vectors, each of length 1
    for event in events:
        terms = frozenset[int]().union(*(terms for _, terms in _sentences(event.text)))
        for term in terms:
            centre[term] += 1 / math.sqrt(len(terms))
    length = math.sqrt(sum(weight * weight for weight in centre.values()))
    return [
        one._replace(score=round(_score(one, centre, length, place / len(found)), 4)) for place, one in enumerate(found)
    ]


def _score(one: _Candidate, centre: Mapping[int, float], length: float, place: float) -> float:
    central = sum(centre[term] for term in one.terms) / (math.sqrt(len(one.terms)) * length)
    score = one.sure * one.weight * (1 + _CENTRAL * central) * (1 + _FIRST * (1 - place))
    return score * min(1.0, len(one.terms) / _FULL_TERMS)


def _repeats(one: _Candidate, others: Iterable[_Candidate]) -> bool:
    return any(
        len(one.terms & other.terms) >= _SAME * math.sqrt(len(one.terms) * len(other.terms))
        or (one.event.id, one.span) == (other.event.id, other.span)
        for other in others
    )


def _quoted(event: Event, span: Span, part: SummaryPart, score: float) -> Theme:
    text = event.text[span.start : span.end]
    who = event.speaker or event.role
    return Theme(text=text, event_id=event.id, span=span, at=event.at, speaker=who, score=score, part=part)


# What programs report

# What `git commit` prints: "[main 1a2b3c4] Subject".
_COMMIT = re.compile(r"^\[[^\]\n]{1,200} [0-9a-f]{7,40}\] (\S[^\n]{0,200})$", re.MULTILINE)
# What test runners print at their end: "12 passed, 1 failed in 3.2s".
_TESTS = re.compile(r"^[^\n]{0,80}?\b(\d+ (?:passed|failed)\b[^\n=]{0,80}\b)", re.MULTILINE)


def _reported(newest_first: Iterable[Event]) -> Iterator[Theme]:
    """Tell what the tools of a session report: its latest commits, and the last result of its tests."""
    latest = [event for event in newest_first if states_nothing(event)]
    for pattern, most in ((_COMMIT, MOST_OF_A_PART), (_TESTS, 1)):
        found = ((event, match) for event in latest for match in reversed(list(pattern.finditer(event.text))))
        for event, match in reversed(list(islice(found, most))):
            yield _quoted(event, Span(*match.span(1)), SummaryPart.DONE, 1.0)
