"""Fold events into the concept graph, in the order of arrival.

Only events in which the reader found a statement are folded; without a reader, all that say something. The graph is a
function of the log up to a mark. The result does not depend on where a pass stops.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from everyword.engine.engine import Engine
from everyword.errors import InvalidInput, InvalidSetting
from everyword.knowledge.concept_executor import Cause, EventLog, Executor
from everyword.knowledge.concept_graph import (
    MOST_CONCEPTS,
    Graph,
    Moment,
    Node,
    founding,
    gathering,
    is_silent,
    joining,
    merging,
    relating,
)
from everyword.knowledge.concept_labels import reworded
from everyword.knowledge.concept_profiles import Profile, load_profile
from everyword.knowledge.llm.stored import plan_of
from everyword.knowledge.llm.summaries import owe_plan
from everyword.knowledge.reading import states_something
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import CONCEPTS, FoldMark
from everyword.types.concepts import (
    LEAST_GROUNDS,
    AddEdge,
    Concept,
    Debt,
    Folded,
    JournalEntry,
    RemoveNode,
    UpdateNode,
    UpdatePlan,
)
from everyword.types.events import Event, Json
from everyword.types.records import RecordKind
from everyword.types.times import to_micros

_ENTRY = "entry"  # key in the payload of a record that undoes a change
_PAGE = 256  # events
DRY_RUN_EVENTS = 5_000  # folded by a dry run at most
_MOST_CACHED = 64  # graphs in one process
# Sizes at which a concept is worded anew, compared with its neighbours, and linked if it has no link.
_REVIEWED_AT = frozenset((6, 12, 24, 48, 96, 192, 384, 768))


class GraphCache:
    """The working graphs of this process, by space; one is valid only at its mark."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[FoldMark, Graph]] = {}
        self._guard = threading.Lock()  # on a server, several spaces are written at the same time

    def take(self, space: str, mark: FoldMark) -> Graph | None:
        """Remove and return the graph of a space if it is at a mark. Put it back after a successful write."""
        with self._guard:
            kept = self._kept.pop(space, None)
        return kept[1] if kept is not None and kept[0] == mark else None

    def put(self, space: str, mark: FoldMark, graph: Graph) -> None:
        """Cache a graph for the next event."""
        with self._guard:
            self._kept[space] = (mark, graph)
            while len(self._kept) > _MOST_CACHED:
                self._kept.pop(next(iter(self._kept)))


def would_fold(engine: Engine, space: str) -> Folded:
    """Report what folding the waiting events of a space would do."""
    folded = (0, list[JournalEntry]())
    try:
        with engine.store.writer(space) as writer:
            rows = writer.log(after=_mark(engine, writer).upto, limit=DRY_RUN_EVENTS)
            folded = fold_rows(engine, writer, rows)
            raise _DryRunDone
    except _DryRunDone:
        pass
    done, entries = folded
    return Folded(events=done, waiting=count_waiting(engine, space) - done, dry_run=True, entries=tuple(entries))


def count_waiting(engine: Engine, space: str) -> int:
    """Count the events that are not folded yet."""
    with engine.store.reader(space) as reader:
        return reader.count_behind(reader.cursor(CONCEPTS))


def undo_payload(entry: JournalEntry) -> dict[str, Json]:
    """Return the payload of a record that undoes a change: an id, because words may be forgotten later."""
    return {_ENTRY: entry.id}


def refold(writer: Writer, engine: Engine, seq: int) -> None:
    """Roll back what an event and all later ones caused; later passes fold them again."""
    mark = writer.fold_mark()
    if mark is None or mark.upto < seq:
        return
    stale = writer.roll_back_folding(seq)
    log = EventLog(writer)
    executor = Executor(writer, Graph(writer.space, _profile(engine, mark), log.model), log)
    for id in stale:
        executor.restate(id)
    executor.flush()
    writer.set_fold_mark(mark._replace(upto=seq - 1, epoch=mark.epoch + 1))


def drop_folding(writer: Writer, engine: Engine) -> None:
    """Roll back the whole graph of a space, so that it is folded again with the current profile and model."""
    mark = writer.fold_mark()
    writer.roll_back_folding(0)
    epoch = mark.epoch + 1 if mark is not None else 0
    writer.set_fold_mark(FoldMark(0, epoch, engine.settings.chosen_profile))


def executor_for(engine: Engine, writer: Writer, mark: FoldMark) -> Executor:
    """Create the executor of plans on the graph at a mark."""
    return _executor(engine, writer, mark)[0]


def _executor(engine: Engine, writer: Writer, mark: FoldMark) -> tuple[Executor, EventLog]:
    log = EventLog(writer)
    graph = engine.cache(GraphCache).take(writer.space, mark) or _load(writer, log, _profile(engine, mark))
    return Executor(writer, graph, log), log


def cause_of(seq: int, event: Event) -> Cause:
    """Describe an event as the cause of a change."""
    at, recorded = to_micros(event.at)[0], to_micros(event.recorded_at)[0]
    return Cause(seq=seq, event_id=event.id, at=at, recorded_at=recorded)


def carry_out(writer: Writer, executor: Executor, cause: Cause, plan: UpdatePlan) -> None:
    """Carry out the plan of an LLM completely, or raise an error and change nothing."""
    for one in plan.operations:
        match one:
            case UpdateNode(label=str(label)):
                if writer.concept_of_label(label) not in (None, one.id):
                    raise _refusal(f"the label {label!r} belongs to another concept")
            case RemoveNode(target=str(target)):
                counted = {member.event_id for member in writer.members([target])}
                if one.id in counted and len(counted) <= LEAST_GROUNDS:
                    raise _refusal(f"fewer than {LEAST_GROUNDS} events would be left to {target}")
            case _:
                pass
    executor.begin(cause)
    executor.run(plan, Debt.PROPOSAL)
    executor.flush()


def _refusal(why: str) -> InvalidInput:
    return InvalidInput(f"The plan was refused: {why}.", fix="Nothing was changed.")


class _DryRunDone(Exception):
    """Rolls back the transaction of a dry run."""


def fold_rows(engine: Engine, writer: Writer, rows: Sequence[tuple[int, Event]]) -> tuple[int, list[JournalEntry]]:
    """Fold the events after the mark, in order; stop at the first whose vectors are missing. Count them."""
    mark = _mark(engine, writer)
    owed = writer.vectors_owed_from()
    rows = [(seq, event) for seq, event in rows if owed is None or seq < owed]
    if not rows:
        return 0, []
    executor, log = _executor(engine, writer, mark)
    worth = _worth_folding(engine, writer, rows)
    log.prepare(rows, worth)
    plans = _plans(writer, [seq for seq, _ in rows])
    for seq, event in rows:
        _fold_one(engine, executor, log, seq, event, writer, worth=seq in worth)
        for plan in plans.get(seq, ()):
            # Skip a plan that no longer fits: forgetting may have changed its concepts.
            with suppress(InvalidInput):
                carry_out(writer, executor, cause_of(seq, event), plan)
    executor.flush()
    reached = mark._replace(upto=rows[-1][0])
    writer.set_fold_mark(reached)
    engine.cache(GraphCache).put(writer.space, reached, executor.graph)
    owe_plan(engine, writer, reached.upto, executor.entries, loose=executor.graph.loose)
    return len(rows), executor.entries


def fold_rows_upto(engine: Engine, writer: Writer, upto: int) -> int:
    """Fold all events of a space up to one, as far as their vectors exist; count them."""
    total, done = 0, 1
    while done:
        rows = writer.log(after=_mark(engine, writer).upto, limit=_PAGE)
        done, _ = fold_rows(engine, writer, [row for row in rows if row[0] <= upto])
        total += done
    return total


def _plans(writer: Writer, seqs: Sequence[int]) -> dict[int, list[UpdatePlan]]:
    """Read the plans of an LLM, by the event after which each was made."""
    found: dict[int, list[UpdatePlan]] = {}
    for row in writer.plans_at(seqs):
        if not row.refused:
            found.setdefault(row.seq, []).append(plan_of(row.body))
    return found


def reads_statements(engine: Engine) -> bool:
    """Tell whether statements are read, so that concepts follow them."""
    return engine.settings.extract and engine.reader is not None


def _worth_folding(engine: Engine, writer: Writer, rows: Sequence[tuple[int, Event]]) -> set[int]:
    """Choose the events in which the reader found a statement: small talk makes no concepts."""
    said = [seq for seq, event in rows if not is_silent(event)]
    if not reads_statements(engine):
        return set(said)
    return {seq for seq, (_, body) in writer.model_readings(said).items() if states_something(body)}


def _fold_one(
    engine: Engine, executor: Executor, log: EventLog, seq: int, event: Event, writer: Writer, *, worth: bool
) -> None:
    undone = _undo_of(event)
    if undone is not None:
        found = writer.fold_entry(undone)
        if found is not None and not found[1].undone:
            executor.begin(cause_of(seq, event))
            executor.undo(*found)
            executor.flush()
        return
    if not worth:
        return
    moment = log.moments([seq])[seq]
    if not len(moment.vector):
        return
    try:
        _fold_event(executor, moment, cause_of(seq, event))
    except InvalidInput as error:
        # The event must stay stored even if it can't be folded.
        engine.models.say(f"{event.id} was not folded completely: {error}")


def _fold_event(executor: Executor, moment: Moment, cause: Cause) -> None:
    """Let an event join a concept, found one, or wait; then review the concept that it changed."""
    graph = executor.graph
    executor.begin(cause, moment)
    plan = joining(graph, moment)
    changed = [one.target for one in plan.operations if isinstance(one, AddEdge)]
    executor.run(plan, Debt.REINFORCEMENT)
    if not changed:
        executor.loosen(moment)
        made = executor.run(founding(graph, moment), Debt.EMERGENCE)
        for id in made:
            executor.run(gathering(graph, graph.nodes[id]), Debt.REINFORCEMENT)
            executor.run(relating(graph, graph.nodes[id], moment), Debt.COMPLETION)
        changed = list(made)
    for id in changed:
        if graph.nodes[id].size in _REVIEWED_AT:
            executor.reword(id)
            if not executor.linked(id):
                executor.run(relating(graph, graph.nodes[id], moment), Debt.COMPLETION)
        executor.run(merging(graph, graph.nodes[id]), Debt.MERGING)
    executor.rest()


def _undo_of(event: Event) -> str | None:
    id: str | None = event.meta[_ENTRY] if event.record == RecordKind.UNDO_CHANGE else None
    return id


def _load(writer: Writer, log: EventLog, profile: Profile) -> Graph:
    """Load the working graph from the store."""
    graph = Graph(writer.space, profile, log.model)
    rows = sorted(writer.fold_work(limit=MOST_CONCEPTS), key=lambda row: (row.touched, row.id))
    for row in rows[-MOST_CONCEPTS:]:
        graph.put(Node.of_row(row))
    for moment in log.moments(writer.fold_loose()).values():
        graph.loosen(moment)
    graph.apart = set(writer.kept_apart())
    return graph


def _mark(engine: Engine, writer: Writer) -> FoldMark:
    return writer.fold_mark() or FoldMark(0, 0, engine.settings.chosen_profile)


def _profile(engine: Engine, mark: FoldMark) -> Profile:
    """Load the profile with which the graph was started, if it exists here."""
    try:
        return load_profile(mark.profile)
    except InvalidSetting:
        return load_profile(engine.settings.chosen_profile)  # the profile is a file that this machine lacks


MOST_OF_AN_EVENT = 2  # nearest concepts of one event


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The concepts of some events."""

    concepts: Mapping[str, Concept]
    neighbours: Mapping[str, set[str]]  # concepts that an edge joins each with
    of_event: Mapping[int, tuple[str, ...]]  # by seq


def topics_of(
    reader: Reader,
    seqs: Sequence[int],
    *,
    wing: str | None = None,
    as_of: datetime | None = None,
) -> Topics:
    """Find the concepts of some events."""
    held = reader.held_by(seqs, as_of=as_of)
    nearest = {
        seq: [id for id, _ in sorted(several.items(), key=lambda one: (-one[1], one[0]))]
        for seq, several in held.items()
    }
    ids = sorted({id for several in nearest.values() for id in several[:MOST_OF_AN_EVENT]})
    found = _found(reader, ids, wing, as_of)
    standing = {id: concept for id, concept in found.items() if concept.closed_at is None and concept.label}
    neighbours: dict[str, set[str]] = {id: set() for id in standing}
    for pair in reader.concept_neighbours(sorted(standing), as_of=as_of):
        for one, other in (pair, pair[::-1]):
            if one in neighbours:
                neighbours[one].add(other)
    of_event = {
        seq: tuple(id for id in several[:MOST_OF_AN_EVENT] if id in standing) for seq, several in nearest.items()
    }
    kept = {seq: several for seq, several in of_event.items() if several}
    return Topics(concepts=standing, neighbours=neighbours, of_event=kept)


def _found(reader: Reader, ids: Sequence[str], wing: str | None, as_of: datetime | None) -> Mapping[str, Concept]:
    """Read concepts; current ones of all wings come from an index."""
    if wing is None and as_of is None:
        return reader.standing_concepts(ids)
    found = reader.concepts_by_id(ids, wing=wing, as_of=as_of)
    return found if wing is None else {id: reworded(reader, wing, one, as_of) for id, one in found.items()}
