"""Known now: the statements that hold and that a question is about, for the head of a context.

Lines of a context stand in the order of time, as they were said; what holds today may be the shortest of them. These
few come first, those that hold most of the question before others. One is taken only where its line would say nothing
else: so nothing is said twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from recollect.core.artifacts import Artifact, Status
from recollect.core.ids import raw_event_id
from recollect.core.records import RecordKind, events_of, shown_as_edit
from recollect.core.values import Filter, Hit, Span
from recollect.core.words import question_terms, term_counts
from recollect.recall.analyse import Analysis
from recollect.recall.pack import Said
from recollect.store.artifacts import ArtifactFilter
from recollect.store.protocol import Reader, Seqs

LEADS = ("events", "artifacts")  # what a context may begin with

_MOST = 6  # statements at the head
_ABOUTS = 4  # persons and things whose statements are looked through: those named, then those who spoke
_EACH = 100  # newest statements about each
_PAST = 2_000  # of a past state, which is read from its beginning
_WHOLE = 0.6  # share of an event's text that a statement must quote to stand for it
_LEAST = 2  # words of the question that a statement must hold, or all but one of them


def known_now(
    reader: Reader,
    space: str,
    question: str,
    asked: Analysis,
    hits: Sequence[Hit],
    *,
    allowed: Seqs | None,
    as_of: datetime | None = None,
) -> list[Said]:
    """Choose the statements that hold and hold the most of the question, with the events that state them."""
    terms = set(question_terms(question))
    least = max(1, min(_LEAST, len(terms) - 1))
    standing = _standing(reader, space, _abouts(asked, hits), as_of)
    worth = {one.id: len(terms & term_counts(one.content).keys()) for one in standing}
    fitting = [one for one in standing if worth[one.id] >= least and not one.negated]
    fitting.sort(key=lambda one: (-worth[one.id], -one.recorded_at.timestamp()))
    return _said(reader, space, fitting[: 2 * _MOST], allowed)[:_MOST]


def corrected(reader: Reader, space: str, hits: Sequence[Hit], which: Filter) -> list[Said]:
    """Read what stands in the place of statements in hits that somebody put right, the best hit's first."""
    found: list[Said] = []
    edits = reader.records(space, (RecordKind.CORRECTION.value,))
    for hit in hits if edits else ():
        about = {hit.event.id}
        for seq, event in edits:
            if not about & set(events_of(event)):
                continue
            about.add(event.id)  # which may have been corrected in turn
            known = which.as_of is None or event.recorded_at <= which.as_of
            if known and which.wing in (None, event.wing) and _stands(reader, space, seq):
                found.append(Said(shown_as_edit(event), seq, Span(0, len(event.text))))
    return found[:_MOST]


def _stands(reader: Reader, space: str, seq: int) -> bool:
    return any(one.status is Status.CURRENT for one in reader.artifacts_of(space, [seq]).get(seq, ()))


def _abouts(asked: Analysis, hits: Sequence[Hit]) -> list[str]:
    spoke = [hit.event.speaker for hit in hits[:_ABOUTS] if hit.event.speaker]
    return list(dict.fromkeys((*asked.names, *spoke)))[:_ABOUTS]


def _standing(reader: Reader, space: str, abouts: Iterable[str], as_of: datetime | None) -> list[Artifact]:
    if as_of is None:
        return [one for about in abouts for one in reader.standing(space, about, limit=_EACH)]
    then = (ArtifactFilter(about=about, status=Status.CURRENT, as_of=as_of) for about in abouts)
    return [one for which in then for _, one in reader.artifacts(space, which, limit=_PAST)[-_EACH:]]


def _said(reader: Reader, space: str, artifacts: Sequence[Artifact], allowed: Seqs | None) -> list[Said]:
    raw = [raw_id for one in artifacts if (raw_id := raw_event_id(one.event_id)) is not None]
    found = {known.event.id: known for known in reader.find(space, raw).values()}
    may = None if allowed is None else set(allowed.tolist())
    said: dict[str, Said] = {}
    for one in artifacts:
        known = found.get(one.event_id)
        if known is None or (may is not None and known.seq not in may):
            continue
        if len(one.quote) >= _WHOLE * len(known.event.text.strip()):
            said.setdefault(one.event_id, Said(shown_as_edit(known.event), known.seq, one.span))
    return list(said.values())
