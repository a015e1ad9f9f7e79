"""Fold events into the concept graph, in the order of arrival.

Only events in which the reader found a statement are folded; without a reader, all that say something. The graph is a
function of the log up to a mark. The result does not depend on where a pass stops.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace
from numpy.typing import NDArray

from everyword.engine.engine import Engine
from everyword.errors import InvalidInput, InvalidSetting
from everyword.knowledge.concept_graph import (
    MOST_CONCEPTS,
    MOST_DIMENSIONS,
    MOST_LOOSE,
    WINDOW,
    Graph,
    Moment,
    Node,
    Profile,
    founding,
    gathering,
    is_silent,
    joining,
    load_profile,
    merging,
    moment_of,
    plus,
    relating,
    summed,
    the_same,
)
from everyword.knowledge.concept_labels import Label, label_of, reworded
from everyword.knowledge.llm.summaries import owe_plan
from everyword.knowledge.reading import Said, said_in, states_something
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import CONCEPTS, Act, EdgeRow, FoldMark, Model
from everyword.types.concepts import (
    CONCEPT_PREFIX,
    LEAST_GROUNDS,
    MEMBERSHIP,
    AddEdge,
    AddNode,
    Concept,
    Debt,
    EdgeKind,
    Folded,
    JournalEntry,
    MergeNodes,
    Operation,
    RemoveNode,
    UpdateNode,
    UpdatePlan,
    entry_id,
)
from everyword.types.events import EVENT_PREFIX, Event, Json
from everyword.types.records import RecordKind
from everyword.types.serialization import from_json, to_json
from everyword.types.times import from_micros, to_micros

_ENTRY = "entry"  # key in the payload of a record that undoes a change
_PAGE = 256  # events
DRY_RUN_EVENTS = 5_000  # folded by a dry run at most
_MOST_CACHED = 64  # graphs in one process
# Sizes at which a concept is worded anew, compared with its neighbours, and linked if it has no link.
_REVIEWED_AT = (6, 12, 24, 48, 96, 192, 384, 768)


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
    log = EventLog(writer)
    graph = engine.cache(GraphCache).take(writer.space, mark) or _load(writer, log, _profile(engine, mark))
    return Executor(writer, graph, log)


def cause_of(seq: int, event: Event) -> Cause:
    """Describe an event as the cause of a change."""
    at, recorded = to_micros(event.at)[0], to_micros(event.recorded_at)[0]
    return Cause(seq=seq, event_id=event.id, at=at, recorded_at=recorded)


def carry_out(executor: Executor, cause: Cause, plan: UpdatePlan) -> None:
    """Carry out the plan of an LLM completely, or raise an error and change nothing."""
    executor.begin(cause)
    executor.run(plan, Debt.PROPOSAL)
    executor.flush()


class _DryRunDone(Exception):
    """Rolls back the transaction of a dry run."""


def fold_rows(engine: Engine, writer: Writer, rows: Sequence[tuple[int, Event]]) -> tuple[int, list[JournalEntry]]:
    """Fold the events after the mark, in order; stop at the first whose vectors are missing. Count them."""
    mark = _mark(engine, writer)
    owed = writer.vectors_owed_from()
    rows = [(seq, event) for seq, event in rows if owed is None or seq < owed]
    if not rows:
        return 0, []
    executor = executor_for(engine, writer, mark)
    worth = _worth_folding(engine, writer, rows)
    executor.log.prepare(rows, worth)
    plans = _plans(writer, [seq for seq, _ in rows])
    for seq, event in rows:
        _fold_one(engine, executor, seq, event, writer, worth=seq in worth)
        for plan in plans.get(seq, ()):
            # Skip a plan that no longer fits: forgetting may have changed its concepts.
            with suppress(InvalidInput):
                carry_out(executor, cause_of(seq, event), plan)
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


def _fold_one(engine: Engine, executor: Executor, seq: int, event: Event, writer: Writer, *, worth: bool) -> None:
    if event.record == RecordKind.UNDO_CHANGE:
        found = writer.fold_entry(event.meta[_ENTRY])
        if found is not None and not found[1].undone:
            executor.begin(cause_of(seq, event))
            executor.undo(*found)
            executor.flush()
        return
    if not worth:
        return
    moment = executor.log.moments([seq])[seq]
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
    sizes = {id: graph.nodes[id].size for id in changed}
    executor.run(plan, Debt.REINFORCEMENT)
    if not changed:
        executor.loosen(moment)
        made = executor.run(founding(graph, moment), Debt.EMERGENCE)
        for id in made:
            executor.run(gathering(graph, graph.nodes[id]), Debt.REINFORCEMENT)
            executor.run(relating(graph, graph.nodes[id], moment), Debt.COMPLETION)
        changed = list(made)
    for id in changed:
        if bisect(_REVIEWED_AT, sizes.get(id, 0)) < bisect(_REVIEWED_AT, graph.nodes[id].size):
            executor.reword(id)
            if not executor.linked(id):
                executor.run(relating(graph, graph.nodes[id], moment), Debt.COMPLETION)
        executor.run(merging(graph, graph.nodes[id]), Debt.MERGING)
    executor.rest()


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


class Topics(Struct, frozen=True, kw_only=True):
    """The concepts of some events."""

    concepts: Mapping[str, Concept]
    neighbours: Mapping[str, set[str]]  # concepts that an edge joins each with
    of_event: Mapping[int, tuple[str, ...]]  # by seq


def topics_of(reader: Reader, seqs: Sequence[int], *, wing: str | None = None, as_of: datetime | None = None) -> Topics:
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


# The one way to change the graph: a plan is checked whole, then carried out whole, and the journal says why

Value = TypeVar("Value")

_NO_VECTOR = np.zeros(0, np.int8)
_RULES = "rules"  # who words a concept where no LLM did
_MOST_NAMES = 8  # of a concept


class _Cached(dict[int, Value]):
    """What was read by seq; what is missing is read when asked for."""

    def __init__(self, read: Callable[[list[int]], Mapping[int, Value]]) -> None:
        super().__init__()
        self._read = read

    def __call__(self, seqs: Iterable[int]) -> dict[int, Value]:
        missing = [seq for seq in seqs if seq not in self]
        if missing:
            self.update(self._read(missing))
        return {seq: self[seq] for seq in seqs if seq in self}


class EventLog:
    """What folding reads of the log in one transaction, cached."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.model: Model | None = next((one for one in reader.file.models() if one.state == "active"), None)
        self.events = _Cached(reader.fetch)
        self.vectors = _Cached(self._vectors)
        self.said = _Cached(self._said)
        self.moments = _Cached(self._moments)

    def prepare(self, rows: Sequence[tuple[int, Event]], worth: Collection[int]) -> None:
        """Read what is needed of the next events, and those worth folding, in a few queries."""
        self.events.update(rows)
        self.moments(sorted(worth))

    def _vectors(self, seqs: list[int]) -> dict[int, NDArray[np.int8]]:
        found = {} if self.model is None else self._reader.pooled(self.model, seqs)
        return {seq: vector[:MOST_DIMENSIONS] for seq, vector in found.items()}

    def _said(self, seqs: list[int]) -> dict[int, Said]:
        stored = self._reader.model_readings(seqs)
        return {seq: said_in(one, stored[seq][1] if seq in stored else None) for seq, one in self.events(seqs).items()}

    def _moments(self, seqs: list[int]) -> dict[int, Moment]:
        vectors, said = self.vectors(seqs), self.said(seqs)
        return {seq: moment_of(one, seq, vectors.get(seq), said[seq].quotes) for seq, one in self.events(seqs).items()}

    def known(self, ids: Iterable[str]) -> dict[str, int]:
        return {id: one.seq for id, one in self._reader.known(ids).items()}


class Cause(Struct, frozen=True, kw_only=True):
    """The event on whose account the graph is changed."""

    seq: int
    event_id: str
    at: int
    recorded_at: int


class Executor:
    """Carries plans out, in the graph and in the store."""

    def __init__(self, writer: Writer, graph: Graph, log: EventLog) -> None:
        self.graph = graph
        self.entries: list[JournalEntry] = []
        self._writer, self.log = writer, log
        self._changed: dict[str, None] = {}
        self._bodies: dict[str, dict[str, Any]] = {}  # wordings that were read or written
        self._moments: dict[str, Moment] = {}
        self._cause = Cause(seq=0, event_id="", at=0, recorded_at=0)
        self._place = 0

    def begin(self, cause: Cause, moment: Moment | None = None) -> None:
        """Turn to the next event; without a moment, to a plan on account of an older one."""
        self._cause = cause
        self._place = 0 if moment is not None else self._writer.fold_steps(cause.seq)
        self._moments = {} if moment is None else {moment.event_id: moment}

    def run(self, plan: UpdatePlan, debt: Debt) -> tuple[str, ...]:
        """Check a plan and carry it out, all of it or, with an error, nothing; give the ids of new concepts."""
        if not plan.operations:
            return ()
        if any(isinstance(one, AddNode) for one in plan.operations):
            plan, debt = self._without_duplicates(plan, debt)
            plan = self._worded(plan)
        self._check(plan)
        acts: dict[str, Act] = {}
        for operation in plan.operations:
            self._apply(operation, debt, acts)
        return tuple(acts)

    def loosen(self, moment: Moment) -> None:
        """Let an event wait for company; of too many, the oldest gives up."""
        self.graph.loosen(moment)
        self._writer.put_loose(moment.seq)
        if len(self.graph.loose) > MOST_LOOSE:
            self._settle([min(self.graph.loose)])

    def reword(self, id: str) -> None:
        """Word a concept anew from its latest events; an LLM's words stay."""
        node, before = self.graph.nodes[id], self._stored_body(id)
        seqs = [seq for seq, _ in node.window]
        if before.get("written_by", _RULES) != _RULES or before.get("size", 0) >= node.size or not seqs:
            return
        body = {**self._words(seqs, node), "size": node.size}
        if before == {**body, "size": before.get("size", 0)}:
            return
        grounds = tuple(event.id for event in self.log.events(seqs[-LEAST_GROUNDS:]).values())
        update = UpdateNode(
            id=id, label=str(body["label"]), body=body, reason=f"{node.size} events by now", grounded_in=grounds
        )
        self.run(UpdatePlan(operations=(update,)), Debt.WORDING)

    def linked(self, id: str) -> bool:
        """Tell whether a concept has any edge to another."""
        return self._writer.concept_linked(id)

    def undo(self, number: int, entry: JournalEntry) -> None:
        """Take a change back, and keep it from being made again."""
        at = {"target_id": entry.target_id, "edge": entry.edge}
        act = self._act("undo", Debt.UNDO, "taken back by hand", entry.events, entry.node_id, **at)
        undone = self._writer.undo_entry(act, number)
        self._bodies.clear()
        if entry.target_id is not None and entry.action != "undo":
            pair = (entry.node_id, entry.target_id)
            self._writer.keep_apart(self._cause.seq, [pair])
            self.graph.apart.add(pair)
        if entry.action == "add_node":
            self._settle([seq for seq in undone.events if seq in self.graph.loose])
        for id in sorted(one for one in undone.concepts if one.startswith(CONCEPT_PREFIX)):
            if not self._writer.members([id]):
                self._writer.close_node(act, id)
            self.restate(id)

    def restate(self, id: str) -> None:
        """Compute a concept's sums anew from its stored members."""
        if not self._writer.concept_stands(id):
            self._drop(id)
            return
        seqs = [one.seq for one in self._writer.members([id])]
        vectors = self.log.vectors(seqs)
        last_at, touched = self._writer.member_reach(id)
        node = Node(id=id, label=str(self._stored_body(id)["label"]), size=len(seqs), touched=touched, last_at=last_at)
        node.total = summed(vectors[seq] for seq in sorted(vectors))
        node.window = self._window(seqs)
        self.graph.put(node)
        self._changed[id] = None

    def flush(self) -> None:
        """Store the sums of what was changed, for the next process."""
        for id in self._changed:
            if (node := self.graph.nodes.get(id)) is not None:
                self._writer.put_work(node.row())
        self._changed.clear()

    def rest(self) -> None:
        """End an event: concepts that were not confirmed for long leave the graph."""
        if len(self.graph.nodes) > MOST_CONCEPTS:
            self.flush()
        while len(self.graph.nodes) > MOST_CONCEPTS:
            self.graph.drop(min(self.graph.nodes.values(), key=lambda node: (node.touched, node.id)).id)

    # Words

    def _worded(self, plan: UpdatePlan) -> UpdatePlan:
        """Label and describe the new concepts of a plan, as far as it does not."""
        operations: list[Operation] = []
        for one in plan.operations:
            if isinstance(one, AddNode) and "keys" not in one.body:
                words = self._words(sorted(self.known(one.grounded_in).values()))
                label, description = one.label or str(words["label"]), one.description or str(words["description"])
                body = {**words, "written_by": plan.proposed_by, **one.body}
                one = replace(one, label=label, description=description, body=body)
            operations.append(one)
        return replace(plan, operations=tuple(operations))

    def _words(self, seqs: Sequence[int], node: Node | None = None) -> dict[str, Json]:
        said = self.log.said(seqs)
        if not said:
            return {**asdict(Label()), "keys": [], "names": [], "written_by": _RULES}
        id = None if node is None else node.id
        vectors = self.log.vectors(seqs)
        found = label_of(
            [said[seq].quotes for seq in sorted(said)],
            [said[seq].things for seq in sorted(said)],
            said[self._central(sorted(said))].quotes[0],
            self._background(id, seqs),
            near=self.graph.are_near([vectors.get(seq, _NO_VECTOR) for seq in sorted(said)]),
            is_taken=lambda label: self._writer.concept_of_label(label) not in (None, id),
        )
        names = Counter(name for one in said.values() for name in one.names)
        most_frequent = sorted(names, key=lambda name: (-names[name], name))[:_MOST_NAMES]
        return {**asdict(found), "keys": list(found.keys), "names": most_frequent, "written_by": _RULES}

    def _background(self, id: str | None, seqs: Collection[int]) -> tuple[Mapping[str, int], int]:
        """Count the terms of the other events in the graph: founders are loose until their concept is there."""
        counts, many = self.graph.background(id)
        own = [self.graph.loose[seq].terms for seq in seqs if seq in self.graph.loose]
        left = Counter(counts)
        for terms in own:
            left.subtract(terms)
        return left, many - len(own)

    def _central(self, seqs: Sequence[int]) -> int:
        """Find the event that is most like all of them."""
        vectors = self.log.vectors(seqs)
        total = summed(vectors[seq] for seq in sorted(vectors))
        products = {seq: int(np.dot(vector, total)) for seq, vector in vectors.items() if len(vector) == len(total)}
        return min(products, key=lambda seq: (-products[seq], seq), default=seqs[0])

    # Checks

    def _without_duplicates(self, plan: UpdatePlan, debt: Debt) -> tuple[UpdatePlan, Debt]:
        """Turn a concept that is there already into members of it."""
        for made in [one for one in plan.operations if isinstance(one, AddNode)]:
            there = self._the_same(made)
            if there is None:
                continue
            kept: list[Operation] = []
            for one in plan.operations:
                if one is made or (isinstance(one, RemoveNode) and one.target == there):
                    continue
                if isinstance(one, AddEdge) and made.id in (one.source, one.target):
                    if one.kind not in MEMBERSHIP:
                        continue
                    one = replace(one, target=there, kind=EdgeKind.REINFORCES, reason="about the same concept")
                kept.append(one)
            plan, debt = replace(plan, operations=tuple(kept)), Debt.REINFORCEMENT
        return plan, debt

    def _the_same(self, made: AddNode) -> str | None:
        id = self._writer.concept_of_label(made.label) if made.label else None
        id = id or the_same(self.graph, [self._moment(one) for one in self.known(made.grounded_in)])
        if id is not None:
            self._in_graph(id)
        return id

    def _check(self, plan: UpdatePlan) -> None:
        """Refuse a plan of which any operation does not fit the graph: what it was made on may be gone."""
        new = {one.id for one in plan.operations if isinstance(one, AddNode)}
        known = self.known({id for one in plan.operations for id in one.grounded_in})
        for operation in plan.operations:
            fault = self._fault(operation, new, known)
            if fault:
                raise InvalidInput(
                    f"The plan is refused: {type(operation).__name__}: {fault}.", fix="Nothing of it was done."
                )

    def _fault(self, one: Operation, new: set[str], known: Mapping[str, int]) -> str:
        match one:
            case AddNode():
                needed = one.grounded_in[:0]
            case AddEdge():
                needed = (one.source, one.target)
            case MergeNodes():
                if self.graph.kept_apart(one.id, one.absorbed):
                    return "a person separated them"
                needed = (one.id, one.absorbed)
            case UpdateNode():
                if one.label and self._writer.concept_of_label(one.label) not in (None, one.id):
                    return f"the label {one.label!r} belongs to another concept"
                needed = (one.id,)
            case RemoveNode():
                members = [row.event_id for row in self._writer.members([one.target])] if one.target else []
                if one.id in members and len(members) <= LEAST_GROUNDS:
                    return f"fewer than {LEAST_GROUNDS} events would be left to {one.target}"
                needed = (one.id,)
        ids = (*one.grounded_in, *needed)
        missing = next((id for id in ids if id not in known and id not in new and not self._stands(id)), None)
        return "" if missing is None else f"there is no {missing}"

    def _stands(self, id: str) -> bool:
        if id.startswith(EVENT_PREFIX):
            return id in self.known([id])
        return id in self.graph.nodes or self._writer.fold_work_of(id) is not None

    # Carrying out

    def _apply(self, operation: Operation, debt: Debt, acts: dict[str, Act]) -> None:
        match operation:
            case AddNode():
                act = self._act("add_node", debt, operation.reason, operation.grounded_in, operation.id)
                acts[operation.id] = act
                body = {**operation.body, "label": operation.label, "description": operation.description}
                self._word(act, operation.id, body)
                self.graph.put(Node(id=operation.id, label=operation.label, touched=self._cause.seq))
                self._changed[operation.id] = None
            case AddEdge():
                self._add_edge(operation, debt, acts)
            case UpdateNode():
                act = self._act("update_node", debt, operation.reason, operation.grounded_in, operation.id)
                body = {**self._stored_body(operation.id), **operation.body}
                body |= {"label": operation.label} if operation.label else {}
                body |= {"description": operation.description} if operation.description else {}
                self._word(act, operation.id, body)
                if (node := self.graph.nodes.get(operation.id)) is not None:
                    node.label = str(body["label"])
            case MergeNodes():
                self._merge(operation, debt)
            case RemoveNode():
                self._remove(operation, debt)

    def _add_edge(self, edge: AddEdge, debt: Debt, acts: dict[str, Act]) -> None:
        moment = self._moment(edge.source) if edge.kind in MEMBERSHIP else None
        if moment is not None and edge.target in self._writer.held_by([moment.seq]).get(moment.seq, {}):
            return
        act = acts.get(edge.target if moment is not None else edge.source) or self._act(
            "add_edge", debt, edge.reason, edge.grounded_in, edge.source, target_id=edge.target, edge=edge.kind
        )
        seq, at = (self._cause.seq, self._cause.at) if moment is None else (moment.seq, moment.at)
        self._writer.put_concept_edges(act, [EdgeRow(edge.source, edge.target, edge.kind, edge.weight, seq, at)])
        if moment is not None:
            node = self._in_graph(edge.target)
            node.add(moment, self._cause.seq)
            self.graph.put(node)
            self._changed[node.id] = None
            if moment.seq in self.graph.loose:
                self._settle([moment.seq])

    def _merge(self, one: MergeNodes, debt: Debt) -> None:
        events = one.grounded_in or (self._cause.event_id,)
        act = self._act("merge_nodes", debt, one.reason, events, one.id, target_id=one.absorbed)
        stays, goes = self._in_graph(one.id), self._in_graph(one.absorbed)
        self._writer.close_node(act, goes.id, into=stays.id)
        self._drop(goes.id)
        moved = [member.seq for member in self._writer.members_by(act.entry)]
        vectors = self.log.vectors(moved)
        stays.size += len(moved)
        stays.total = plus(stays.total, summed(vectors[seq] for seq in sorted(vectors)))
        stays.window = self._window([seq for seq, _ in stays.window] + moved)
        stays.touched, stays.last_at = self._cause.seq, max(stays.last_at, goes.last_at)
        self.graph.put(stays)
        self._changed[stays.id] = None

    def _remove(self, one: RemoveNode, debt: Debt) -> None:
        act = self._act("remove_node", debt, one.reason, one.grounded_in, one.id, target_id=one.target, edge=one.edge)
        if one.edge is None or one.target is None:
            self._writer.close_node(act, one.id)
            self._drop(one.id)
            return
        kinds = sorted(MEMBERSHIP) if one.edge in MEMBERSHIP else [one.edge]
        for kind in kinds:  # whoever takes an event out need not know by which kind it belonged
            self._writer.close_concept_edge(act, one.id, one.target, kind)
        if one.edge in MEMBERSHIP:
            if not self._writer.members([one.target]):
                self._writer.close_node(act, one.target)
            self.restate(one.target)

    def _settle(self, seqs: Sequence[int]) -> None:
        for seq in seqs:
            self.graph.settle(seq)
        self._writer.settle_loose(seqs, by=self._cause.seq)

    def _drop(self, id: str) -> None:
        self.graph.drop(id)
        self._changed.pop(id, None)
        self._writer.drop_work(id)

    def _in_graph(self, id: str) -> Node:
        if id not in self.graph.nodes and (row := self._writer.fold_work_of(id)) is not None:
            self.graph.put(Node.of_row(row))
        return self.graph.nodes[id]

    def _window(self, seqs: Sequence[int]) -> tuple[tuple[int, tuple[str, ...]], ...]:
        moments = self.log.moments(seqs[-WINDOW:])
        return tuple((seq, moments[seq].terms) for seq in seqs[-WINDOW:] if seq in moments)

    def _act(self, action: str, debt: Debt, reason: str, events: Sequence[str], node: str, **at: Any) -> Act:
        """Write the journal entry of a change; at: the other end and the kind of an edge."""
        cause = self._cause
        entry = JournalEntry(
            id=entry_id(cause.event_id, self._place),
            at=from_micros(cause.recorded_at),
            action=action,
            debt=debt,
            reason=reason,
            node_id=node,
            events=tuple(events),
            **at,
        )
        self._place += 1
        self.entries.append(entry)
        return Act(cause.seq, cause.recorded_at, self._writer.put_entry(cause.seq, cause.recorded_at, entry))

    def _moment(self, id: str) -> Moment:
        found = self._moments.get(id) or self.graph.loose_by_id.get(id)
        if found is None:
            seq = self.log.known([id])[id]
            found = self.log.moments([seq])[seq]
        self._moments[id] = found
        return found

    def known(self, ids: Collection[str]) -> dict[str, int]:
        """Find the seqs of the events that exist."""
        near = {id: one for id in ids if (one := self._moments.get(id) or self.graph.loose_by_id.get(id)) is not None}
        far = sorted(id for id in ids if id not in near)
        return {**{id: one.seq for id, one in near.items()}, **(self.log.known(far) if far else {})}

    def _stored_body(self, id: str) -> dict[str, Any]:
        if id not in self._bodies:
            self._bodies[id] = dict(self._writer.concept_body(id))
        return self._bodies[id]

    def _word(self, act: Act, id: str, body: Mapping[str, Json]) -> None:
        empty: dict[str, Json] = {"keys": [], "names": [], "written_by": _RULES, "size": 0}
        self._bodies[id] = {key: body.get(key, empty.get(key)) for key in ("label", "description", *empty)}
        self._writer.put_node(act, id, self._bodies[id])


# Plans of an LLM, as they are stored

# The reason of every operation: words of its own would have to be forgotten with those of others.
AS_READ = "as an LLM reads the window"


_OPERATIONS: dict[str, type[Operation]] = {
    kind.__name__: kind for kind in (AddNode, UpdateNode, AddEdge, MergeNodes, RemoveNode)
}


def plan_to_json(plan: UpdatePlan) -> str:
    """Write a plan for the store."""
    operations = [[type(one).__name__, to_json(one)] for one in plan.operations]
    return json.dumps([plan.proposed_by, operations], ensure_ascii=True, separators=(",", ":"))


def plan_of(body: str) -> UpdatePlan:
    """Read a plan back."""
    proposed_by, operations = json.loads(body)
    return UpdatePlan(
        operations=tuple(from_json(_OPERATIONS[kind], one) for kind, one in operations), proposed_by=proposed_by
    )
