"""What holds now comes first: newer statements, and what replaced or ended a hit.

`current_first` goes by the versions of statements: a hit is over if the statement in it that fits the question best has
a later version. `newest_first` compares the words of hits: of two about one matter, the newer one ranks higher where
the question asks about the present.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from everyword.lazy_patterns import lazy_pattern
from everyword.retrieval.config import NewestFirst
from everyword.retrieval.query_analysis import Analysis, Kind, Shape
from everyword.storage.postings import Seqs
from everyword.storage.protocol import Reader
from everyword.storage.rows import Known
from everyword.text.dates.rules import NUMBER_WORD
from everyword.text.spans import sentences, whole_sentences
from everyword.text.terms import term_counts
from everyword.types.events import ASSISTANTS, Event, Hit, Score, Span
from everyword.types.records import RecordKind
from everyword.types.statements import DONE, TO_DO, Statement, StatementKind, Status
from everyword.types.times import day_in_words
from everyword.types.trust import effective_at, level_of

STAGE = "holds now"
DEPTH = 10  # first hits that are looked at
_STEP = 1e-6  # by which a hit that moves up is scored above the one that it passes


def current_first(
    reader: Reader, hits: Sequence[Hit], terms: AbstractSet[int], asked: Analysis, *, allowed: Seqs | None, as_of: bool
) -> list[Hit]:
    """Mark the hits that are over; unless the past is asked for, put above them what replaced or ended them.

    terms: of the question. allowed: places in the log of events that may be shown. as_of: what was known at some time
    is asked for.
    """
    first = () if as_of else hits[:DEPTH]
    stated = reader.statements_of([hit.seq for hit in first], closed=True)
    over = [(hit, old) for hit in first if (old := _over(hit.event, stated.get(hit.seq, ()), terms)) is not None]
    closings = closings_of(reader, [old for _, old in over], allowed)
    order = list(hits)
    for hit, old in over:
        closing = closings.get(old.id)
        if closing is None or (closing.by is not None and closing.by[1].seq == hit.seq):
            continue
        place = next(n for n, one in enumerate(order) if one.seq == hit.seq)
        order[place] = replace(order[place], replaced_by=closing.event_id, replaced_at=closing.at)
        if closing.by is not None and not asked.past:
            since = day_in_words(old.valid_to) if old.valid_to else ""
            order = _with_above(order, place, closing.by[1], closing.by[0], since)
    return order


class Closing(NamedTuple):
    """What closed a statement."""

    at: datetime | None  # since when it is no longer so; None for a plan or task, which was done
    by: tuple[Statement, Known] | None  # what holds now, or the words that ended it; None if somebody retracted it

    @property
    def event_id(self) -> str | None:
        return None if self.by is None else self.by[0].event_id


def closings_of(reader: Reader, over: Sequence[Statement], allowed: Seqs | None) -> dict[str, Closing]:
    """Find what closed statements, by their ids; leave out what may not be shown."""
    if not over:
        return {}
    chains = reader.versions([old.id for old in over])
    closed = any(one.status is Status.RETRACTED for chain in chains.values() for one in (*over, *chain))
    retracted = retracted_by_people(reader) if closed else set[str]()
    todos = [old.id for old in over if old.kind in TO_DO and old.status is Status.RETRACTED]
    done = {one.target_id for one in reader.changes(todos) if one.reason == DONE} if todos else set[str | None]()
    events = reader.known(version.event_id for chain in chains.values() for version in chain)
    found: dict[str, Closing] = {}
    for old in over:
        last = _last_version(chains.get(old.id, ()), old, events, allowed)
        # Nothing holds in the place of what a person retracted, or of what replaced it and was retracted then.
        gone = old.id in retracted or (last is not None and last[0].id in retracted)
        if gone or last is not None:
            found[old.id] = Closing(None if old.id in done else old.valid_to, None if gone else last)
    return found


def _over(event: Event, stated: Sequence[Statement], terms: AbstractSet[int]) -> Statement | None:
    """Choose the statement that fits the question best, if it is over and none that holds fits as well."""
    fits = {one.id: len(terms & statement_terms(one).keys()) for one in stated}
    best = max(stated, key=lambda one: (fits[one.id], one.status is Status.CURRENT), default=None)
    if best is None or holds_no_more(best):
        return best
    return next(iter(lost_reasons(event, best, stated)), None)


def lost_reasons(event: Event, rule: Statement, stated: Sequence[Statement]) -> list[Statement]:
    """List what holds no more in the sentence of an instruction: "I'm allergic to nuts, so never suggest them"."""
    if rule.kind is not StatementKind.INSTRUCTION:
        return []
    start, end = whole_sentences(event.text, rule.span)
    return [one for one in stated if holds_no_more(one) and start <= one.span.start and one.span.end <= end]


def holds_no_more(statement: Statement) -> bool:
    """Tell whether a statement is closed and over; a plan that came true is closed, and holds."""
    return statement.status is not Status.CURRENT and statement.valid_to is not None


def statement_terms(statement: Statement) -> Mapping[int, int]:
    """Count the terms of a statement and of its slot: a move states "lives in", though nobody says "live"."""
    return term_counts(statement.content, slot_of(statement))


def slot_of(statement: Statement) -> str:
    return statement.slot.attribute.replace("_", " ") if statement.slot else ""


def is_retracted(hit: Hit) -> bool:
    """Tell whether somebody retracted what a hit says, so that nothing holds in its place."""
    return hit.replaced_at is not None and hit.replaced_by is None


def retracted_by_people(reader: Reader) -> set[str]:
    """List the statements that people retracted."""
    from everyword.knowledge.comparing import correction_of  # seldom needed, and compiles patterns

    edits = (correction_of(event) for _, event in reader.records((RecordKind.RETRACTION.value,)))
    return {one.statement_id for one in edits if one is not None}


def _last_version(
    chain: Sequence[Statement], old: Statement, events: Mapping[str, Known], allowed: Seqs | None
) -> tuple[Statement, Known] | None:
    """Follow the versions of a statement to the last that may be shown: what holds now, or the words that ended it."""
    for version in reversed(chain):
        if version.id == old.id:
            return None
        known = events.get(version.event_id)
        if known is not None and (allowed is None or (allowed == known.seq).any()):
            return version, known
    return None


def _with_above(order: Sequence[Hit], place: int, known: Known, statement: Statement, since: str) -> list[Hit]:
    """Put a hit of what holds now above the one that it replaced."""
    seq, event = known
    old = order[place]
    there = next((n for n, one in enumerate(order) if one.seq == seq), None)
    if there is not None and there < place:
        return list(order)
    score = old.score + _STEP
    why = f"replaces {old.event.id}" + (f" since {since}" if since else "")
    gain = Score(stage=STAGE, score=score - (order[there].score if there is not None else 0.0), why=why)
    if there is not None:
        moved = replace(order[there], score=score, scores=(*order[there].scores, gain))
    else:
        span = statement.span if statement.span.end <= len(event.text) else Span(0, len(event.text))
        moved = Hit(event=event, score=score, span=span, scores=(gain,), seq=seq)
    rest = [one for one in order if one.seq != seq]
    return [*rest[:place], moved, *rest[place:]]


# Newest first

NEWEST = "newest"

_AMOUNT = lazy_pattern(r"\bhow (?:many|much|often|long|far|old|big|tall|frequently)\b", re.IGNORECASE)
_LATELY = lazy_pattern(r"\brecent(?:ly)?\b", re.IGNORECASE)
_IN_ALL = lazy_pattern(r"\b(?:total|altogether|combined|between)\b", re.IGNORECASE)
_VALUE = lazy_pattern(rf"\b(?:\d[\d,.]*|{NUMBER_WORD}|once|twice|every|daily|weekly)\b", re.IGNORECASE)
_CHANGED = lazy_pattern(
    r"\b(?:now|changed?|switched|moved|replaced|instead|no longer|any ?more|these days|nowadays|currently|postponed|"
    r"delayed|shifted|rescheduled|pushed (?:back|out|to)|brought forward|upgraded|downgraded|raised|lowered|increased|"
    r"reduced|halved|doubled|renamed|relocated|updated|cancell?ed|called off)\b",
    re.IGNORECASE,
)
# Words that correct what was said, even a minute ago: "Correction: the limit is 250, not 100".
_CORRECTED = lazy_pattern(
    r"\b(?:correct(?:ion|ed|ing)|typo|i misspoke|scratch that|my mistake)\b|, not (?:the |an? )?[\w$€£]", re.IGNORECASE
)
_NEW = lazy_pattern(r"\bnew ((?:[\w'-]+ ){0,1}[\w'-]+)", re.IGNORECASE)  # "the new door code is 4771"
# "When is the exam?" asks for a date that may have changed; "when did ..." for one that can't.
ASKS_FUTURE_DATE = lazy_pattern(
    r"\b(?:when|(?:what|which) (?:day|date|time|month))(?:'s|'re| (?:is|are|does|do|will|can|should))\b", re.IGNORECASE
)
HYPOTHETICAL = lazy_pattern(r"\?[\"'”’)]*$|\b(?:maybe|perhaps|would|could|might|if)\b", re.IGNORECASE)


class Wanted(Enum):
    """What a newer hit must state to move above an older one."""

    ANYTHING = "anything"
    AMOUNT = "amount"
    CHANGE = "change"  # that something changed; most questions in the present tense ask for what never does


def newest_first(
    hits: Sequence[Hit], question: str, terms: AbstractSet[int], asked: Analysis, rule: NewestFirst
) -> list[Hit]:
    """Move newer statements of a matter above older ones among the first hits, for questions about the present."""
    order = list(hits)
    wanted = _wanted(question, asked)
    if wanted is None:
        return order
    first = (hit for hit in hits[: rule.depth] if (hit.event.role or "").casefold() not in ASSISTANTS)
    said = [_Stated(hit, terms, wanted) for hit in first]
    moved: set[str] = set()
    for place, older in enumerate(said):
        if not older.touched or older.hit.event.id in moved:
            continue
        newer = [one.hit for one in said[place + 1 :] if one.hit.event.id not in moved and one.follows(older, rule)]
        if newer:
            order = _moved(order, newer, older.hit)
            moved.update(hit.event.id for hit in newer)
    return order


def _wanted(question: str, asked: Analysis) -> Wanted | None:
    """Decide what answers a question about the present; None for any other question."""
    if asked.past or asked.addressed or asked.hypothetical or _IN_ALL.search(question):
        return None
    if _AMOUNT.search(question):
        return Wanted.AMOUNT
    if asked.says_now or asked.first_last == "last" or _LATELY.search(question):
        return Wanted.ANYTHING
    if asked.kind is Kind.TEMPORAL:
        return Wanted.CHANGE if asked.shape is Shape.DATE and ASKS_FUTURE_DATE.search(question) else None
    return Wanted.CHANGE if asked.current and asked.kind in (Kind.LOOKUP, Kind.PREFERENCE) else None


class _Stated:
    """A hit, and the question words in its quote: in the best sentence that states something, and in the best of all.

    A hit that asks about the matter, or has no amount, takes no other's place; what states it takes its place.
    """

    def __init__(self, hit: Hit, terms: AbstractSet[int], wanted: Wanted) -> None:
        quote = hit.event.text[hit.span.start : hit.span.end]
        said = [quote[span.start : span.end] for span in sentences(quote)]
        self.hit = hit
        self._shared = {one: terms & term_counts(one).keys() for one in said}
        self.touched = max(self._shared.values(), key=len, default=set[int]())
        self._terms, self._wanted = terms, wanted

    @cached_property
    def _best(self) -> tuple[str, AbstractSet[int]]:
        """Find the best sentence that states something."""
        stated = ((one, shared) for one, shared in self._shared.items() if self._states(one))
        return max(stated, key=lambda one: len(one[1]), default=("", set[int]()))

    def _states(self, sentence: str) -> bool:
        has_value = self._wanted is not Wanted.AMOUNT or _VALUE.search(sentence) is not None
        return has_value and not HYPOTHETICAL.search(sentence)

    @cached_property
    def _corrects(self) -> bool:
        return _CORRECTED.search(self._best[0]) is not None

    @cached_property
    def _says_changed(self) -> bool:
        best, _ = self._best
        # It may also call the thing asked for "new".
        new = any(self._terms & term_counts(found[1]).keys() for found in _NEW.finditer(best))
        return self._corrects or _CHANGED.search(best) is not None or new

    def follows(self, older: _Stated, rule: NewestFirst) -> bool:
        """Tell whether this updates what the older one says."""
        mine, its = self.hit.event, older.hit.event
        if level_of(mine) < level_of(its):
            return False
        if effective_at(mine) <= effective_at(its) or older.hit.score - self.hit.score > rule.within:
            return False
        if mine.session is not None and mine.session == its.session and not self._corrects:
            return False
        _, shared = self._best
        if self._wanted is Wanted.CHANGE or mine.speaker != its.speaker:
            return shared >= older.touched and self._says_changed
        return bool(shared) and len(shared & older.touched) >= rule.share * len(older.touched)


def _moved(order: Sequence[Hit], newer: Sequence[Hit], older: Hit) -> list[Hit]:
    """Move the newer hits above an older one, the newest first."""
    ids = {hit.event.id for hit in newer}
    left = [hit for hit in order if hit.event.id not in ids]
    place = left.index(older)
    above = older.score
    lifted: list[Hit] = []
    for hit in sorted(newer, key=lambda hit: effective_at(hit.event)):
        above += _STEP
        gain = Score(stage=NEWEST, score=above - hit.score, why=f"newer than {older.event.id}, on the same matter")
        lifted.insert(0, replace(hit, score=above, scores=(*hit.scores, gain)))
    return [*left[:place], *lifted, *left[place:]]
