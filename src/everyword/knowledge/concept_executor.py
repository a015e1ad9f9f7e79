"""The one way to change the concept graph: a plan is checked whole, then carried out whole, and the journal says why.

Clustering, LLMs and people hand in an `UpdatePlan`. It is checked against what is there: kinds of ends, bounds, known
events, quotes that were really said. What fails is refused with its reason, and nothing of the plan is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from everyword.errors import InvalidInput
from everyword.knowledge.concept_graph import (
    MOST_CONCEPTS,
    MOST_DIMENSIONS,
    MOST_LOOSE,
    WINDOW,
    Graph,
    Moment,
    Node,
    moment_of,
    plus,
    summed,
    the_same,
)
from everyword.knowledge.concept_labels import LONGEST_DESCRIPTION, LONGEST_LABEL, label_of
from everyword.knowledge.reading import Said, said_in
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import Act, EdgeRow, Model
from everyword.types.concepts import (
    CONCEPT_PREFIX,
    LEAST_GROUNDS,
    MEMBERSHIP,
    AddEdge,
    AddNode,
    Debt,
    EdgeKind,
    JournalEntry,
    MergeNodes,
    Operation,
    RemoveNode,
    UpdateNode,
    UpdatePlan,
    entry_id,
)
from everyword.types.events import EVENT_PREFIX, Event, Json, raw_event_id
from everyword.types.times import from_micros

NO_LLM = "rules"  # who words a concept where no LLM did
_MOST_NAMES = 8  # of a concept
_MOST_OPERATIONS = 64 + 2 * MOST_LOOSE  # of a plan


class EventLog:
    """What folding reads of the log in one transaction, cached."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._vectors: dict[int, NDArray[np.int8]] = {}
        self._events: dict[int, Event] = {}
        self._moments: dict[int, Moment] = {}
        self._said: dict[int, Said] = {}
        self.model: Model | None = next((one for one in reader.file.models() if one.state == "active"), None)

    def prepare(self, rows: Sequence[tuple[int, Event]], worth: Collection[int]) -> None:
        """Read what is needed of the next events, and those worth folding, in a few queries."""
        self._events.update(rows)
        self.moments(sorted(worth))

    def moments(self, seqs: Sequence[int]) -> dict[int, Moment]:
        missing = [seq for seq in seqs if seq not in self._moments]
        vectors, said = self.vectors(missing), self.said(missing)
        for seq, event in self._fetch(missing).items():
            self._moments[seq] = moment_of(event, seq, vectors.get(seq), said[seq].quotes)
        return {seq: self._moments[seq] for seq in seqs if seq in self._moments}

    def said(self, seqs: Sequence[int]) -> dict[int, Said]:
        missing = [seq for seq in seqs if seq not in self._said]
        stored = self._reader.model_readings(missing) if missing else {}
        for seq, event in self._fetch(missing).items():
            self._said[seq] = said_in(event, stored[seq][1] if seq in stored else None)
        return {seq: self._said[seq] for seq in seqs if seq in self._said}

    def vectors(self, seqs: Sequence[int]) -> dict[int, NDArray[np.int8]]:
        missing = [seq for seq in seqs if seq not in self._vectors]
        if missing and self.model is not None:
            self._vectors |= self._reader.pooled(self.model, missing)
        return {seq: self._vectors[seq][:MOST_DIMENSIONS] for seq in seqs if seq in self._vectors}

    def texts(self, seqs: Sequence[int]) -> dict[int, str]:
        return {seq: event.text for seq, event in self._fetch(seqs).items()}

    def ids(self, seqs: Sequence[int]) -> dict[int, str]:
        return {seq: event.id for seq, event in self._fetch(seqs).items()}

    def _fetch(self, seqs: Sequence[int]) -> dict[int, Event]:
        missing = [seq for seq in seqs if seq not in self._events]
        if missing:
            self._events |= self._reader.fetch(missing)
        return {seq: self._events[seq] for seq in seqs if seq in self._events}

    def known(self, ids: Sequence[str]) -> dict[str, int]:
        raw = {raw_id: id for id in ids if (raw_id := raw_event_id(id)) is not None}
        return {raw[raw_id]: one.seq for raw_id, one in self._reader.find(list(raw)).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
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
        self._writer, self._log = writer, log
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
        if before.get("written_by", NO_LLM) != NO_LLM or before.get("size", 0) >= node.size or not seqs:
            return
        body = {**self._words(seqs, node), "size": node.size}
        if before == {**body, "size": before.get("size", 0)}:
            return
        grounds = tuple(self._ids(seqs[-LEAST_GROUNDS:]))
        update = UpdateNode(
            id=id, label=str(body["label"]), body=body, reason=f"{node.size} events by now", grounded_in=grounds
        )
        self.run(UpdatePlan(operations=(update,)), Debt.WORDING)

    def linked(self, id: str) -> bool:
        """Tell whether a concept has any edge to another."""
        return self._writer.concept_linked(id)

    def undo(self, number: int, entry: JournalEntry) -> None:
        """Take a change back, and keep it from being made again."""
        act = self._act(
            "undo", Debt.UNDO, entry.node_id, entry.target_id, entry.edge, "taken back by hand", entry.events
        )
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
        vectors = self._log.vectors(seqs)
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
        said = self._log.said(seqs)
        if not said:
            return {"label": "", "description": "", "keys": [], "names": [], "written_by": NO_LLM}
        id = None if node is None else node.id
        found = label_of(
            [said[seq].quotes for seq in sorted(said)],
            [said[seq].things for seq in sorted(said)],
            said[self._central(sorted(said))].quotes[0],
            self._background(id, seqs),
            is_taken=lambda label: self._writer.concept_of_label(label) not in (None, id),
        )
        names = Counter(name for one in said.values() for name in one.names)
        return {
            "label": found.label,
            "description": found.description,
            "keys": list(found.keys),
            "names": sorted(names, key=lambda name: (-names[name], name))[:_MOST_NAMES],
            "written_by": NO_LLM,
        }

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
        vectors = self._log.vectors(seqs)
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
        """Refuse a plan of which any operation is wrong, and say what is."""
        if len(plan.operations) > _MOST_OPERATIONS:
            raise InvalidInput(f"The plan has {len(plan.operations)} operations.", fix="Plan less at a time.")
        new = {one.id for one in plan.operations if isinstance(one, AddNode)}
        known = self.known({id for one in plan.operations for id in one.grounded_in})
        for operation in plan.operations:
            fault = self._fault(operation, plan, new, known)
            if fault:
                raise InvalidInput(
                    f"The plan is refused: {type(operation).__name__}: {fault}.", fix="Nothing of it was done."
                )

    def _fault(self, one: Operation, plan: UpdatePlan, new: set[str], known: Mapping[str, int]) -> str:
        unknown = [id for id in one.grounded_in if id not in known]
        if unknown:
            return f"no event {unknown[0]}"
        if not one.reason:
            return "it gives no reason"
        match one:
            case AddNode():
                return self._node_fault(one, plan)
            case AddEdge():
                return self._edge_fault(one, new)
            case UpdateNode():
                return self._quote_fault(one) if self._stands(one.id) else f"there is no {one.id}"
            case MergeNodes():
                missing = [id for id in (one.id, one.absorbed) if not self._stands(id)]
                if missing:
                    return f"there is no {missing[0]}"
                if one.id == one.absorbed:
                    return "a concept can't absorb itself"
                return "a person separated them" if self.graph.kept_apart(one.id, one.absorbed) else ""
            case RemoveNode():
                return "" if one.edge is not None or self._stands(one.id) else f"there is no {one.id}"

    def _node_fault(self, made: AddNode, plan: UpdatePlan) -> str:
        if not made.id.startswith(CONCEPT_PREFIX):
            return f"{made.id} is no id of a concept"
        if self._stands(made.id):
            return f"{made.id} is there already"
        if len(made.label) > LONGEST_LABEL or len(made.description) > LONGEST_DESCRIPTION:
            return "its label or description is too long"
        edges = [one for one in plan.operations if isinstance(one, AddEdge) and one.target == made.id]
        grounds = {one.source for one in edges if one.kind is EdgeKind.GROUNDS}
        if len(grounds) < LEAST_GROUNDS:
            return f"{len(grounds)} events ground it, and {LEAST_GROUNDS} are needed"
        return self._quote_fault(made)

    def _edge_fault(self, edge: AddEdge, new: set[str]) -> str:
        if not 0 < edge.weight <= 1:
            return f"weight {edge.weight} is not between 0 and 1"
        if not edge.grounded_in:
            return "it rests on no event"
        if not edge.target.startswith(CONCEPT_PREFIX) or edge.source == edge.target:
            return f"{edge.kind} can't lead to {edge.target}"
        if edge.source.startswith(EVENT_PREFIX) is not (edge.kind in MEMBERSHIP):
            return f"{edge.kind} can't begin at {edge.source}"
        for id in (edge.source, edge.target):
            if not (self.known([id]) if id.startswith(EVENT_PREFIX) else id in new or self._stands(id)):
                return f"there is no {id}"
        return ""

    def _quote_fault(self, operation: AddNode | UpdateNode) -> str:
        """Check quotes: each must be said in its event."""
        quotes = cast("Sequence[Sequence[str]]", operation.body.get("quotes", ()))
        if not quotes:
            return ""
        seqs = self.known([id for id, _ in quotes])
        texts = self._log.texts(sorted(seqs.values()))
        wrong = [quote for id, quote in quotes if quote not in texts.get(seqs.get(id, 0), "")]
        return f"nobody said {wrong[0]!r}" if wrong else ""

    def _stands(self, id: str) -> bool:
        return id in self.graph.nodes or self._writer.fold_work_of(id) is not None

    # Carrying out

    def _apply(self, operation: Operation, debt: Debt, acts: dict[str, Act]) -> None:
        match operation:
            case AddNode():
                act = self._act("add_node", debt, operation.id, None, None, operation.reason, operation.grounded_in)
                acts[operation.id] = act
                body = {**operation.body, "label": operation.label, "description": operation.description}
                self._word(act, operation.id, body)
                self.graph.put(Node(id=operation.id, label=operation.label, touched=self._cause.seq))
                self._changed[operation.id] = None
            case AddEdge():
                self._add_edge(operation, debt, acts)
            case UpdateNode():
                act = self._act("update_node", debt, operation.id, None, None, operation.reason, operation.grounded_in)
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
            "add_edge", debt, edge.source, edge.target, edge.kind, edge.reason, edge.grounded_in
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
        act = self._act(
            "merge_nodes", debt, one.id, one.absorbed, None, one.reason, one.grounded_in or (self._cause.event_id,)
        )
        stays, goes = self._in_graph(one.id), self._in_graph(one.absorbed)
        self._writer.close_node(act, goes.id, into=stays.id)
        self._drop(goes.id)
        moved = [member.seq for member in self._writer.members_by(act.entry)]
        vectors = self._log.vectors(moved)
        stays.size += len(moved)
        stays.total = plus(stays.total, summed(vectors[seq] for seq in sorted(vectors)))
        stays.window = self._window([seq for seq, _ in stays.window] + moved)
        stays.touched, stays.last_at = self._cause.seq, max(stays.last_at, goes.last_at)
        self.graph.put(stays)
        self._changed[stays.id] = None

    def _remove(self, one: RemoveNode, debt: Debt) -> None:
        act = self._act("remove_node", debt, one.id, one.target, one.edge, one.reason, one.grounded_in)
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
        moments = self._log.moments(seqs[-WINDOW:])
        return tuple((seq, moments[seq].terms) for seq in seqs[-WINDOW:] if seq in moments)

    def _act(
        self,
        action: str,
        debt: Debt,
        node: str,
        target: str | None,
        edge: EdgeKind | None,
        reason: str,
        events: Sequence[str],
    ) -> Act:
        """Write the journal entry of a change."""
        cause = self._cause
        entry = JournalEntry(
            id=entry_id(cause.event_id, self._place),
            at=from_micros(cause.recorded_at),
            action=action,
            debt=debt,
            reason=reason,
            node_id=node,
            target_id=target,
            edge=edge,
            events=tuple(events),
        )
        self._place += 1
        self.entries.append(entry)
        return Act(cause.seq, cause.recorded_at, self._writer.put_entry(cause.seq, cause.recorded_at, entry))

    def _moment(self, id: str) -> Moment:
        found = self._moments.get(id) or self.graph.loose_event(id)
        if found is None:
            seq = self._log.known([id])[id]
            found = self._log.moments([seq])[seq]
        self._moments[id] = found
        return found

    def known(self, ids: Collection[str]) -> dict[str, int]:
        """Find the seqs of the events that exist."""
        near = {id: one for id in ids if (one := self._moments.get(id) or self.graph.loose_event(id)) is not None}
        far = sorted(id for id in ids if id not in near)
        return {**{id: one.seq for id, one in near.items()}, **(self._log.known(far) if far else {})}

    def _ids(self, seqs: Sequence[int]) -> Iterable[str]:
        ids = self._log.ids(seqs)
        return [ids[seq] for seq in seqs if seq in ids]

    def _stored_body(self, id: str) -> dict[str, Any]:
        if id not in self._bodies:
            self._bodies[id] = dict(self._writer.concept_body(id))
        return self._bodies[id]

    def _word(self, act: Act, id: str, body: Mapping[str, Json]) -> None:
        empty: dict[str, Json] = {"keys": [], "names": [], "written_by": NO_LLM, "size": 0}
        self._bodies[id] = {key: body.get(key, empty.get(key)) for key in ("label", "description", *empty)}
        self._writer.put_node(act, id, self._bodies[id])
