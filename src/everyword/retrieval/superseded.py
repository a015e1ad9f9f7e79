"""What holds now comes first: what replaced or ended a hit is shown above it.

Statements know their versions. A hit is over if the statement in it that fits the question best has a later version.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from everyword.knowledge.comparing import correction_of
from everyword.retrieval.query_analysis import Analysis
from everyword.storage.postings import Seqs
from everyword.storage.protocol import Reader
from everyword.text.terms import question_terms, term_counts
from everyword.types.events import Event, Hit, Score, Span, raw_event_id
from everyword.types.records import RecordKind
from everyword.types.statements import Statement, Status
from everyword.types.times import day_in_words

STAGE = "holds now"
DEPTH = 10  # first hits that are looked at
_STEP = 1e-6  # by which what holds now is scored above what it replaced


def current_first(
    reader: Reader,
    hits: Sequence[Hit],
    question: str,
    asked: Analysis,
    *,
    closed: Collection[int],
    allowed: Seqs | None,
) -> list[Hit]:
    """Mark the hits that are over; unless the past is asked for, put above them what replaced or ended them.

    closed: places in the log of events that state something which no longer holds. allowed: those that may be shown.
    """
    looked_at = [hit for hit in hits[:DEPTH] if hit.seq in closed]
    stated = reader.statements_of([hit.seq for hit in looked_at]) if looked_at else {}
    any_retracted = any(one.status is Status.RETRACTED for some in stated.values() for one in some)
    retracted = _retracted(reader) if any_retracted else set[str]()
    terms = set(question_terms(question))
    order = list(hits)
    for hit in looked_at:
        old = _over(stated.get(hit.seq, ()), terms)
        if old is None:
            continue
        place = next(n for n, one in enumerate(order) if one.seq == hit.seq)
        if old.id in retracted:
            order[place] = replace(order[place], replaced_at=old.valid_to)
            continue
        last = _last_version(reader, old, allowed)
        if last is None or last[1][0] == hit.seq:
            continue
        new, known = last
        order[place] = replace(order[place], replaced_by=new.event_id, replaced_at=old.valid_to)
        if not asked.past:
            order = _with_above(order, place, known, new, day_in_words(old.valid_to) if old.valid_to else "")
    return order


def _over(stated: Sequence[Statement], terms: AbstractSet[int]) -> Statement | None:
    """Choose the statement that fits the question best, if it is over and none that holds fits as well."""
    fits = {one.id: len(terms & statement_terms(one).keys()) for one in stated}
    best = max(stated, key=lambda one: (fits[one.id], one.status is Status.CURRENT), default=None)
    return best if best is not None and best.status is not Status.CURRENT else None


def statement_terms(statement: Statement) -> Mapping[int, int]:
    """Count the terms of a statement and of its slot: a move states "lives in", though nobody says "live"."""
    slot = statement.slot.attribute.replace("_", " ") if statement.slot else ""
    return term_counts(statement.content, slot)


def is_retracted(hit: Hit) -> bool:
    """Tell whether somebody retracted what a hit says, so that nothing holds in its place."""
    return hit.replaced_at is not None and hit.replaced_by is None


def _retracted(reader: Reader) -> set[str]:
    """List the statements that people retracted."""
    edits = (correction_of(event) for _, event in reader.records((RecordKind.RETRACTION.value,)))
    return {one.statement_id for one in edits if one is not None}


def _last_version(reader: Reader, old: Statement, allowed: Seqs | None) -> tuple[Statement, tuple[int, Event]] | None:
    """Follow the versions of a statement to the last that may be shown: what holds now, or the words that ended it."""
    for version in reversed(reader.versions(old.id)):
        if version.id == old.id:
            return None
        known = _found(reader, version, allowed)
        if known is not None:
            return version, known
    return None


def _found(reader: Reader, statement: Statement, allowed: Seqs | None) -> tuple[int, Event] | None:
    raw_id = raw_event_id(statement.event_id)
    known = reader.find([raw_id]).get(raw_id) if raw_id is not None else None
    if known is None or (allowed is not None and not (allowed == known.seq).any()):
        return None
    return known.seq, known.event


def _with_above(
    order: Sequence[Hit], place: int, known: tuple[int, Event], statement: Statement, since: str
) -> list[Hit]:
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
        moved = Hit(event=event, score=score, span=_span(event, statement), scores=(gain,), seq=seq)
    rest = [one for one in order if one.seq != seq]
    return [*rest[:place], moved, *rest[place:]]


def _span(event: Event, statement: Statement) -> Span:
    return statement.span if statement.span.end <= len(event.text) else Span(0, len(event.text))
