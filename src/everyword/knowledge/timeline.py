"""Derive facts with validity windows from claims.

The facts about a subject and a relation follow from the set of claims alone, so that no order of arrival, and no
repetition, changes the result: late news of an older time lands in the past, a newer word closes an older one, and two
words of one moment are a conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct, field

from everyword.types.graph import RELATIONS, Fact, FactDraft, Relation, fact_id
from everyword.types.trust import trust_of

_NEVER = datetime.min.replace(tzinfo=UTC)


def timeline(drafts: Iterable[FactDraft]) -> list[Fact]:
    """Fold claims into facts, in the order of subject, relation and time. Pure, and blind to order and repetition."""
    every = list(drafts)
    voided: set[str] = set()
    for draft in sorted((one for one in every if one.voids), key=lambda one: one.recorded_at, reverse=True):
        if draft.place not in voided:  # nobody took this edit back later
            voided.add(draft.voids)
    groups: dict[tuple[str, str, str], set[FactDraft]] = {}
    for draft in every:
        if draft.voids or draft.place in voided:
            continue
        groups.setdefault(_key(draft.subject, draft.relation, draft.object), set()).add(draft)
    facts: list[Fact] = []
    for key in sorted(groups):
        ordered = sorted(groups[key], key=_order)
        facts += _lasting(ordered) if _relation(key[1]).lasts else _happened(ordered)
    return sorted(facts, key=lambda fact: (fact.subject, fact.relation, fact.valid_from or _NEVER, fact.object))


def _key(subject: str, relation: str, object: str) -> tuple[str, str, str]:
    """Say which claims bear on one another: with a single-valued relation, those about any object."""
    known = _relation(relation)
    return subject, relation, "" if known.single and known.lasts else object


class _Point(NamedTuple):
    """A moment at which a claim says something for certain."""

    moment: datetime
    begins: bool  # it is true here; else it has ended by here. False sorts first: "left A and joined B" in one breath
    object: str
    said: datetime  # the date as it was said: "in March" is the first of March
    draft: FactDraft


class _Run(Struct):
    """A stretch in which one object holds."""

    object: str
    start: datetime | None
    last: datetime  # the last moment at which it was certainly true
    earliest: datetime  # it can't have begun before: something else was true, or ended, then
    end: datetime | None = None
    conflicts: bool = False
    sources: set[FactDraft] = field(default_factory=set[FactDraft])
    closed: list[_Run] = field(default_factory=list["_Run"])  # the runs that ended because this one began


def _lasting(drafts: list[FactDraft]) -> list[Fact]:
    sweep = _Sweep()
    points = sorted(
        (point for draft in drafts for point in _points(draft)),
        key=lambda point: (point.moment, point.begins, point.object, _order(point.draft)),
    )
    for (_, begins), group in groupby(points, key=lambda point: (point.moment, point.begins)):
        if begins:
            sweep.begin(list(group))
        else:
            for point in group:
                sweep.end(point)
    return [_fact(run) for run in sweep.runs]


def _points(draft: FactDraft) -> list[_Point]:
    points: list[_Point] = []
    if draft.valid_from is not None:
        moment = max(draft.begun_by or draft.valid_from, draft.valid_from)
        points.append(_Point(moment, True, draft.object, draft.valid_from, draft))
    if draft.holds_at is not None:
        points.append(_Point(draft.holds_at, True, draft.object, draft.holds_at, draft))
    if draft.valid_to is not None:
        moment = max(draft.ended_by or draft.valid_to, draft.valid_to)
        points.append(_Point(moment, False, draft.object, draft.valid_to, draft))
    return points


class _Sweep:
    """A walk through time over what is said of one subject and relation."""

    def __init__(self) -> None:
        self.runs: list[_Run] = []
        self.live: dict[str, _Run] = {}
        self.latest: dict[str, _Run] = {}  # the last run of each object
        self.known = _NEVER  # until here something is known that no new run can overlap

    def begin(self, points: list[_Point]) -> None:
        """Take in what is said to be true at one moment, as far as no more trusted source says otherwise."""
        points = self._believed(points)
        if not points:
            return
        by_object: dict[str, list[_Point]] = {}
        for point in points:
            by_object.setdefault(point.object, []).append(point)
        moment = points[0].moment
        made: list[_Run] = []
        starts: list[datetime] = []
        for object, own in by_object.items():
            said = min(point.said for point in own)
            run = self.live.get(object)
            if run is None:
                run = _Run(object=object, start=max(said, self.known), last=moment, earliest=self.known)
                made.append(run)
            elif run.start is not None and said < run.start:
                _begin_earlier(run, said)
            starts.append(max(said, run.start or said))
            run.last = moment
            run.sources.update(point.draft for point in own)
            run.conflicts = run.conflicts or len(by_object) > 1
            self.live[object] = self.latest[object] = run
        self._close_others(by_object, min(starts), made)
        self.runs += made
        self.known = max(self.known, moment)

    def _believed(self, points: list[_Point]) -> list[_Point]:
        """Leave out what contradicts something that a more trusted source says of the same time."""
        levels = {object: _highest(run.sources) for object, run in self.live.items()}
        for point in points:
            levels[point.object] = max(levels.get(point.object, 0), _level(point.draft))
        highest = max(levels.values())
        return [point for point in points if levels[point.object] == highest]

    def _close_others(self, objects: Mapping[str, object], began: datetime, made: list[_Run]) -> None:
        for object in [object for object in self.live if object not in objects]:
            other = self.live.pop(object)
            other.end = max(began, other.last)
            if len(made) == 1:
                made[0].closed.append(other)

    def end(self, point: _Point) -> None:
        """Take in that something had ended."""
        held = self.live.get(point.object)
        if held is not None and _level(point.draft) < _highest(held.sources):
            return
        run = self.live.pop(point.object, None)
        earlier = self.latest.get(point.object)
        if run is not None:
            run.end = max(point.said, run.last)
            run.sources.add(point.draft)
            self.known = max(self.known, run.end)
        elif earlier is not None:
            earlier.sources.add(point.draft)  # it had ended already, since something else began
        else:
            # When it began was never said. It was over before what holds now began.
            end = min([point.said, *(other.start for other in self.live.values() if other.start is not None)])
            run = _Run(object=point.object, start=None, last=_NEVER, earliest=_NEVER, end=end, sources={point.draft})
            self.runs.append(run)
            self.latest[point.object] = run
            self.known = max(self.known, end)


def _level(draft: FactDraft) -> int:
    return trust_of(draft.source).level


def _highest(sources: Iterable[FactDraft]) -> int:
    """Tell the highest level of trust among the sources of a run."""
    return max(map(_level, sources), default=0)


def _begin_earlier(run: _Run, said: datetime) -> None:
    """Let a run begin when a later word says that it began, and what it closed end then."""
    run.start = max(said, run.earliest)
    for other in run.closed:
        other.end = max(run.start, other.last)


def _happened(drafts: list[FactDraft]) -> list[Fact]:
    """What happened is one fact for each time at which it began."""
    runs: dict[datetime, _Run] = {}
    for draft in drafts:
        start = draft.valid_from or draft.holds_at or draft.said_at
        run = runs.setdefault(start, _Run(object=draft.object, start=start, last=start, earliest=start, end=start))
        run.end = max(run.end or start, draft.valid_to or start)
        run.sources.add(draft)
    return [_fact(run) for run in runs.values()]


def _fact(run: _Run) -> Fact:
    sources = tuple(sorted(run.sources, key=_order))
    named = [draft for draft in sources if draft.object == run.object]
    first = min(named, key=lambda draft: (draft.said_at, _order(draft)))
    return Fact(
        id=fact_id(first.subject, first.relation, run.object, run.start),
        subject=first.subject,
        subject_name=first.subject_name,
        relation=first.relation,
        object=run.object,
        object_name=first.object_name,
        valid_from=run.start,
        valid_to=run.end,
        said_at=first.said_at,
        confidence=max(draft.confidence for draft in sources),
        sources=sources,
        conflicts=run.conflicts,
    )


def _order(draft: FactDraft) -> tuple[object, ...]:
    moments = (draft.valid_from, draft.begun_by, draft.holds_at, draft.valid_to, draft.ended_by)
    return (
        draft.said_at,
        draft.event_id,
        draft.span,
        draft.object,
        draft.confidence,
        *(moment or _NEVER for moment in moments),
        draft.subject_name,
        draft.object_name,
        draft.subject_form,
        draft.object_form,
        draft.extractor,
    )


def _relation(name: str) -> Relation:
    """Give a relation; one that the vocabulary lacks, as a language model may write it, can have many objects."""
    return RELATIONS.get(name) or Relation(name=name)
