"""Standing instructions: what a user told an assistant to do from now on, found where it bears on a request.

A request and the instruction that bears on it seldom share more than their matter ("mail the tenants", "tenants get
simple English"), so that a search for the request does not find the instruction. There are few of them: all are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

from everyword.models.protocol import LateInteraction, Question
from everyword.retrieval.superseded import closings_of, lost_reasons
from everyword.storage.nearest import seq_of
from everyword.storage.protocol import Reader
from everyword.storage.rows import Model
from everyword.text.spans import whole_sentences
from everyword.types.events import ASSISTANTS, Event, Filter, Hit, Hits, Score, Span, elsewhere
from everyword.types.statements import Statement, StatementKind, Status
from everyword.types.trust import may_be_shown_unasked

STAGE = "instruction"
LEAST_WORTH = 0.4  # confidence times how likely it lasts, from which on an instruction is told (see wake_up.RULES)
_LATEST = 60  # standing instructions that are considered
_MOST = 3  # that are told
# How well the two words of a request that match an instruction best must match it. On labelled instructions, and with
# three lines, this shows 8 of 10 that bear on a request (docs/benchmarks.md).
_BEARS, _MATTER = 0.6, 2
_HITS_FOR_ONE = 5  # of a search, for each instruction that ends it
_STEP = 1e-6  # by which the score of such a hit is below the one before
_WHOLE = 240  # characters up to which an event is shown whole, not just the sentences of its statement


class Excerpt(NamedTuple):
    """A span of an event."""

    event: Event
    seq: int
    span: Span
    replaced_at: datetime | None = None  # since when it is no longer so
    replaced_by: str | None = None  # the event that says what holds instead


def standing_instructions(reader: Reader, which: Filter) -> list[Excerpt]:
    """Read what people told an assistant to do from now on, the newest first."""
    if which.as_of is not None:  # statements are stored in their present state
        return []
    wings = dict.fromkeys((which.wing or which.project or None, which.wing))
    latest = (reader.latest_statements(StatementKind.INSTRUCTION, wing=wing, limit=_LATEST) for wing in wings)
    stated = [one for some in latest for one in some if worth_telling(one) >= LEAST_WORTH]
    if not stated:
        return []
    known = reader.known(one.event_id for one in stated)
    allowed = reader.matching(which, among=[one.seq for one in known.values()])
    found: dict[int, Excerpt] = {}
    for one in stated:
        told = known.get(one.event_id)
        if told is None or not (allowed is None or told.seq in allowed):
            continue
        if (told.event.role or "").casefold() not in ASSISTANTS and may_be_shown_unasked(told.event):
            found.setdefault(told.seq, Excerpt(told.event, told.seq, sentences_around(told.event.text, one.span)))
    return list(found.values())


def bearing_on(
    reader: Reader, model: Model, embedder: LateInteraction, question: Question, rules: Sequence[Excerpt]
) -> list[Excerpt]:
    """Choose the instructions that bear on a request, the best first."""
    rows = reader.passages(model, sorted(one.seq for one in rules)) if len(question.tokens) else []
    matches = embedder.late_matches(question, [row.tokens for row in rows]).best
    fits: dict[int, float] = {}
    for row, words in zip(rows, np.sort(matches, axis=1)[:, -_MATTER:].mean(axis=1).tolist(), strict=True):
        seq = seq_of(row.unit)
        fits[seq] = max(words, fits.get(seq, 0.0))
    bearing = [one for one in rules if fits.get(one.seq, 0.0) >= _BEARS]
    return _with_reasons(reader, sorted(bearing, key=lambda one: -fits[one.seq])[:_MOST])


def _with_reasons(reader: Reader, rules: Sequence[Excerpt]) -> list[Excerpt]:
    """Mark instructions whose reason holds no more; leave out those whose reason was retracted."""
    stated = reader.statements_of([one.seq for one in rules], closed=True)
    found: list[Excerpt] = []
    for rule in rules:
        told = stated.get(rule.seq, ())
        over = [
            reason for one in told if one.status is Status.CURRENT for reason in lost_reasons(rule.event, one, told)
        ]
        closings = closings_of(reader, over, None).values()
        if all(one.by is not None for one in closings):
            last = max(closings, key=lambda one: one.at or rule.event.at, default=None)
            found.append(rule._replace(replaced_at=last.at, replaced_by=last.event_id) if last else rule)
    return found


def worth_telling(one: Statement) -> float:
    """Tell how likely a statement is right and worth telling; what an LLM or a person stated is taken to last."""
    return one.confidence * (1.0 if one.lasting is None else one.lasting)


def end_with_instructions(hits: Sequence[Hit], rules: Sequence[Excerpt], k: int) -> list[Hit]:
    """End a list of at most `k` hits with instructions that bear on the question and are not among them."""
    known = {hit.seq for hit in hits[:k]}
    new = [one for one in rules if one.seq not in known][: k // _HITS_FOR_ONE]
    kept = list(hits[: k - len(new)])
    for event, seq, span, at, by in new:
        score = Score(stage=STAGE, score=0.0, why="a standing instruction that may bear on it")
        below = kept[-1].score - _STEP if kept else 0.0
        kept.append(Hit(event=event, score=below, span=span, scores=(score,), seq=seq, replaced_at=at, replaced_by=by))
    return kept


def without_instructions_of_others(reader: Reader, hits: Hits, project: str) -> Hits:
    """Leave out instructions of other projects; nothing is found if the best hit is one, whose confidence it is."""
    stated = reader.statements_of([hit.seq for hit in hits if elsewhere(hit.event, project)])
    rules = {seq for seq, some in stated.items() if any(one.kind is StatementKind.INSTRUCTION for one in some)}
    kept = [] if hits and hits[0].seq in rules else [hit for hit in hits if hit.seq not in rules]
    return Hits(kept, confidence=hits.confidence, pending=hits.pending)


def sentences_around(text: str, span: Span) -> Span:
    """Choose what is shown of an event with a statement: a short one whole, of a long one the statement's sentences."""
    return Span(0, len(text)) if len(text) <= _WHOLE else whole_sentences(text, span)
