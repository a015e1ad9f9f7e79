"""The one way to change the concept graph: a plan is checked whole, then carried out whole, and the journal says why.

Rules and LLMs alike hand in an `UpdatePlan`. Whatever it says is checked against what is there: kinds of ends, bounds,
known events, quotes that are really said; no concept comes without its grounds; one that is there already is confirmed
instead. What fails is refused with its reason, and nothing of the plan is done.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from everyword.knowledge.legacy.fold.checks import check
from everyword.knowledge.legacy.fold.graph import MOST_CONCEPTS, MOST_LOOSE, TAIL, WINDOW, Graph, Node, Seen, summed
from everyword.knowledge.legacy.fold.log import Log
from everyword.knowledge.legacy.fold.moments import WORD, Moment
from everyword.knowledge.legacy.fold.rows import RULES, kept_body, node_of
from everyword.knowledge.legacy.fold.wording import description_of, label_of, turned_around
from everyword.storage.protocol import COUNTED, Act, EdgeRow, LooseRow, Member, WorkRow, Writer
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
from everyword.types.events import Json
from everyword.types.times import from_micros

MOST_NAMES = 8  # of a concept
NO_WORDS = "(no words)"  # how a concept is called whose events have none left


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The event on whose account the graph is changed."""

    seq: int
    event_id: str
    at: int
    recorded_at: int


class Executor:
    """Carries plans out, on the graph at work and in the store together."""

    def __init__(self, writer: Writer, graph: Graph, log: Log) -> None:
        self.graph = graph
        self.entries: list[JournalEntry] = []
        self._writer, self._log = writer, log
        self._changed: dict[str, None] = {}
        self._bodies: dict[str, dict[str, Any]] = {}  # how concepts are worded, as far as that was read
        self._moments: dict[str, Moment] = {}
        self._cause = Cause(seq=0, event_id="", at=0, recorded_at=0)
        self._place = 0
        self._folded: int | None = None  # the event that is being folded: no concept held it before

    def begin(self, cause: Cause, moment: Moment | None = None) -> None:
        """Turn to the next event."""
        self._cause = cause
        # An event that is being folded caused nothing yet; a plan on account of an older one goes on counting.
        self._place = 0 if moment is not None else self._writer.fold_steps(cause.seq)
        self._moments = {} if moment is None else {moment.event_id: moment}
        self._folded = None if moment is None else moment.seq

    def run(self, plan: UpdatePlan, debt: Debt) -> tuple[str, ...]:
        """Check a plan and carry it out, all of it or, with an error, nothing; tell which concepts it made."""
        if not plan.operations:
            return ()
        if any(isinstance(one, AddNode) for one in plan.operations):
            plan, debt = self._without_duplicates(self._labelled(plan), debt)
            plan = self._described(plan)
        check(plan, self)
        acts: dict[str, Act] = {}
        for operation in plan.operations:
            self._apply(operation, debt, acts)
        return tuple(acts)

    def loosen(self, moment: Moment) -> None:
        """Let an event look for company; the one that has looked for longest gives up where there are too many."""
        self.graph.loosen(moment)
        row = LooseRow(moment.seq, moment.at, moment.vector.tobytes(), json.dumps(moment.as_json()))
        self._writer.put_loose(row)
        if len(self.graph.loose) > MOST_LOOSE:
            self._settle([min(self.graph.loose)])

    def settle(self, moments: Iterable[Moment]) -> None:
        """Let events look no more."""
        self._settle([one.seq for one in moments if one.seq in self.graph.loose])

    def reword(self, id: str) -> None:
        """Word a concept anew from its latest events, where that says something else; an LLM's words stay."""
        node, before = self.graph.nodes[id], self._stored_body(id)
        if before.get("written_by", RULES) != RULES or before.get("size", 0) >= node.size:
            return
        texts = [text for _, text in sorted(self._log.texts([seen.seq for seen in node.window]).items())]
        if not texts:
            return
        told = node.theme is not None and not node.theme.startswith(WORD)
        label = node.label if told else self._label(node.theme, texts, node.window)
        body = {**self._body(label, node.theme, texts, node.window), "size": node.size}
        if before == {**body, "size": before.get("size", 0)}:
            return
        taken = self._writer.concept_of_label(label)
        if taken not in (None, id):
            body["label"] = label = node.label
        grounds = tuple(self._known_ids([seen.seq for seen in node.window[-LEAST_GROUNDS:]]))
        reason = f"{node.size} events tell it better"
        self.run(
            UpdatePlan(operations=(UpdateNode(id=id, label=label, body=body, reason=reason, grounded_in=grounds),)),
            Debt.WORDING,
        )

    def linked(self, id: str) -> bool:
        """Tell whether a concept has any edge to another."""
        return self._writer.concept_linked(id)

    def undo(self, number: int, entry: JournalEntry) -> None:
        """Take a change back, and see to it that it is not made again."""
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
            if not any(one.weight >= COUNTED for one in self._writer.members([id])):
                # Nothing counts for it any more.
                self._writer.close_node(act, id)
            self.restate(id)
        self._hold_anew()

    def restate(self, id: str) -> None:
        """Make a concept's sums anew from its rows."""
        if not self._writer.concept_stands(id):
            self._drop(id)
            return
        members = [one for one in self._writer.members([id]) if one.weight >= COUNTED]
        recent = self._log.moments([one.seq for one in members[-WINDOW:]])
        body = self._stored_body(id)
        node = Node(id=id, label=str(body["label"]), theme=body.get("theme"), size=len(members))
        vectors = self._log.vectors([one.seq for one in members])
        node.total = summed(vectors[seq] for seq in sorted(vectors))
        kept = [recent[one.seq] for one in members[-WINDOW:] if one.seq in recent]
        node.tail = tuple(Seen.of(one.seq, one.terms, one.names) for one in kept)
        node.last_at, node.touched = self._writer.member_reach(id)
        self.graph.put(node)
        self._changed[id] = None

    def flush(self) -> None:
        """Keep the sums of what was changed for the next process."""
        for id in self._changed:
            node = self.graph.nodes.get(id)
            if node is not None:
                recent = f"[{', '.join(seen.written for seen in node.window)}]"
                self._writer.put_work(
                    WorkRow(id, {}, node.size, node.touched, node.last_at, node.total.tobytes(), recent)
                )
        self._changed.clear()

    def rest(self) -> None:
        """End an event: concepts that were long not confirmed are at work no more."""
        if len(self.graph.nodes) > MOST_CONCEPTS:
            self.flush()
        while len(self.graph.nodes) > MOST_CONCEPTS:
            self.graph.drop(min(self.graph.nodes.values(), key=lambda node: (node.touched, node.id)).id)

    # Words

    def _labelled(self, plan: UpdatePlan) -> UpdatePlan:
        """Name the concepts that a plan makes without saying how they are called."""
        operations: list[Operation] = []
        for operation in plan.operations:
            if isinstance(operation, AddNode) and not operation.label:
                texts, window = self._grounds(operation)
                operation = replace(operation, label=self._label(operation.body.get("theme"), texts, window))
            operations.append(operation)
        return replace(plan, operations=tuple(operations))

    def _described(self, plan: UpdatePlan) -> UpdatePlan:
        """Word the concepts that a plan makes from the events that ground them."""
        operations: list[Operation] = []
        for operation in plan.operations:
            if isinstance(operation, AddNode) and "keys" not in operation.body:
                theme = operation.body.get("theme")
                body = self._body(operation.label, theme, *self._grounds(operation), by=plan.proposed_by)
                operation = replace(operation, body={**operation.body, **body})
            operations.append(operation)
        return replace(plan, operations=tuple(operations))

    def _grounds(self, operation: AddNode) -> tuple[list[str], list[Seen]]:
        """Read what the events say that ground a concept to be."""
        seqs = self.known(operation.grounded_in)
        texts = [text for _, text in sorted(self._log.texts(sorted(seqs.values())).items())]
        known = [self._moment(id) for id in operation.grounded_in if id in seqs]
        return texts, [Seen.of(one.seq, one.terms, one.names) for one in known]

    def _label(self, theme: str | None, texts: Sequence[str], window: Sequence[Seen]) -> str:
        terms = [seen.terms for seen in window]
        word, weights = theme[len(WORD) :] if theme is not None else None, self.graph.telling_among_loose(terms)
        label = (label_of(texts, terms, weights, word, is_taken=self.graph.is_taken) if texts else "") or NO_WORDS
        # Groups that two words are common to need not be one: where the other has both, this has its own alone.
        first, turned = turned_around(label)
        return label if turned is None or self._writer.concept_of_label(turned) is None else first

    def _body(
        self, label: str, theme: str | None, texts: Sequence[str], window: Sequence[Seen], *, by: str = RULES
    ) -> dict[str, Json]:
        counted: dict[str, int] = {}
        for seen in window:
            for name in seen.names:
                counted[name] = counted.get(name, 0) + 1
        names = sorted(counted, key=lambda name: (-counted[name], name))[:MOST_NAMES]
        description, keys = description_of(texts, names, label, is_usual=self.graph.is_usual)
        return {
            "label": label,
            "description": description,
            "keys": list(keys),
            "names": names,
            "theme": theme,
            "written_by": by,
        }

    # Checking

    def _without_duplicates(self, plan: UpdatePlan, debt: Debt) -> tuple[UpdatePlan, Debt]:
        """Turn a concept that is there already into a confirmation of it."""
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
                    one = replace(one, target=there, kind=EdgeKind.REINFORCES, reason=f"{one.reason}; known already")
                kept.append(one)
            plan, debt = replace(plan, operations=tuple(kept)), Debt.REINFORCEMENT
        return plan, debt

    def _the_same(self, made: AddNode) -> str | None:
        theme = made.body.get("theme")
        node = self.graph.of_theme(theme) if theme is not None else None
        id = node.id if node is not None else self._writer.concept_of_label(made.label)
        if id is None:
            founders = self.known(made.grounded_in)
            total = summed(self._moment(one).vector for one in founders)
            nearest = self.graph.near(total, len(founders)).top(1)
            if not nearest or nearest[0][1] < self.graph.profile.thresholds.merge:
                return None
            id = nearest[0][0]
        if id not in self.graph.nodes:
            self._back_to_work(id)
        return id

    def stands(self, id: str) -> bool:
        """Tell whether a concept is there."""
        return id in self.graph.nodes or self._writer.fold_work_of(id) is not None

    def texts(self, seqs: Sequence[int]) -> Mapping[int, str]:
        """Read what was said."""
        return self._log.texts(seqs)

    # Carrying out

    def _apply(self, operation: Operation, debt: Debt, acts: dict[str, Act]) -> None:
        match operation:
            case AddNode():
                act = self._act("add_node", debt, operation.id, None, None, operation.reason, operation.grounded_in)
                acts[operation.id] = act
                body = {**operation.body, "label": operation.label}
                body["description"] = operation.description or body.get("description", "")
                self._word(act, operation.id, body)
                theme = operation.body.get("theme")
                self.graph.put(Node(id=operation.id, label=operation.label, theme=theme, touched=self._cause.seq))
                self._changed[operation.id] = None
            case AddEdge() if operation.kind in MEMBERSHIP:
                self._add_member(operation, debt, acts)
            case AddEdge():
                self._add_link(operation, debt, acts)
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

    def _add_member(self, operation: AddEdge, debt: Debt, acts: dict[str, Act]) -> None:
        moment = self._moment(operation.source)
        if operation.target in self._holding(moment):
            return  # it belongs there already
        act = acts.get(operation.target) or self._act(
            *("add_edge", debt, operation.source, operation.target, operation.kind),
            *(operation.reason, operation.grounded_in),
        )
        row = EdgeRow(
            *(operation.source, operation.target, operation.kind, operation.weight),
            *(moment.seq, moment.at, operation.reason),
        )
        self._writer.put_concept_edges(act, [row])
        self.graph.held.setdefault(moment.seq, {})[operation.target] = operation.weight
        if operation.weight >= COUNTED:
            node = self._at_work(operation.target)
            node.add(moment, self._cause.seq)
            self.graph.put(node)
            self._changed[node.id] = None

    def _add_link(self, operation: AddEdge, debt: Debt, acts: dict[str, Act]) -> None:
        act = acts.get(operation.source) or self._act(
            *("add_edge", debt, operation.source, operation.target, operation.kind),
            *(operation.reason, operation.grounded_in),
        )
        row = EdgeRow(
            *(operation.source, operation.target, operation.kind, operation.weight),
            *(self._cause.seq, self._cause.at, operation.reason),
        )
        self._writer.put_concept_edges(act, [row])

    def _merge(self, operation: MergeNodes, debt: Debt) -> None:
        act = self._act(
            *("merge_nodes", debt, operation.id, operation.absorbed, None),
            *(operation.reason, operation.grounded_in or (self._cause.event_id,)),
        )
        stays, goes = self._at_work(operation.id), self._at_work(operation.absorbed)
        self._writer.close_node(act, operation.absorbed, into=operation.id)
        self._drop(operation.absorbed)
        moved = [one for one in self._writer.members_by(act.entry) if one.weight >= COUNTED]
        self._absorb(stays, goes, moved)
        self.graph.moved(goes.id, stays.id)

    def _absorb(self, stays: Node, goes: Node, moved: Sequence[Member]) -> None:
        """Add up what one concept takes over of another; as `restate` would, without reading what was there before."""
        if len(moved) == goes.size:
            total = goes.total
        else:  # some were in both: their vectors are in the sum already
            vectors = self._log.vectors([one.seq for one in moved])
            total = summed(vectors[seq] for seq in sorted(vectors))
        have = {seen.seq: seen for seen in goes.tail}
        seen = self._remembered([one.seq for one in moved[-WINDOW:]], have)
        stays.absorb(total, len(moved), seen, self._cause.seq, max((one.at for one in moved), default=0))
        self.graph.put(stays)
        self._changed[stays.id] = None

    def _remove(self, one: RemoveNode, debt: Debt) -> None:
        act = self._act("remove_node", debt, one.id, one.target, one.edge, one.reason, one.grounded_in)
        if one.edge is None or one.target is None:
            self._writer.close_node(act, one.id)
            self._drop(one.id)
            self.graph.moved(one.id, None)
            return
        if one.edge not in MEMBERSHIP:
            self._writer.close_concept_edge(act, one.id, one.target, one.edge)
            return
        moment = self._moment(one.id)
        weight = self._holding(moment).get(one.target, 0.0)
        for kind in sorted(MEMBERSHIP):  # by which of the two it belonged, whoever takes it out need not know
            self._writer.close_concept_edge(act, one.id, one.target, kind)
        self.graph.held.get(moment.seq, {}).pop(one.target, None)
        if weight >= COUNTED:
            self._leave(moment, one.target)
            self._close_if_empty(act, one.target)

    def _close_if_empty(self, act: Act, id: str) -> None:
        """Close a concept that its last event has left: no event speaks for it any more."""
        node = self.graph.nodes.get(id)
        if node is not None and node.size <= 0:
            self._writer.close_node(act, id)
            self._drop(id)
            self.graph.moved(id, None)

    def _holding(self, moment: Moment) -> Mapping[str, float]:
        """Tell which concepts hold an event, and how strongly; known of those that look for company."""
        held = self.graph.held.get(moment.seq)
        if held is None and moment.seq != self._folded:
            held = self._writer.held_by([moment.seq]).get(moment.seq)
        return held or {}

    def _leave(self, moment: Moment, id: str) -> None:
        if id not in self.graph.nodes:
            self._back_to_work(id)
        node = self.graph.nodes.get(id)
        if node is None:
            return
        if not node.lose(moment, self._cause.seq):
            recent = self._writer.recent_members(id, limit=TAIL)
            node.remember(tuple(self._remembered(recent, {seen.seq: seen for seen in node.tail})))
        self.graph.put(node)
        self._changed[id] = None

    def _remembered(self, seqs: Sequence[int], have: Mapping[int, Seen]) -> list[Seen]:
        """Read the words of events, where they are not at hand."""
        read = self._log.moments([seq for seq in seqs if seq not in have])
        found = {**have, **{seq: Seen.of(seq, one.terms, one.names) for seq, one in read.items()}}
        return [found[seq] for seq in seqs if seq in found]

    def _drop(self, id: str) -> None:
        self.graph.drop(id)
        self._changed.pop(id, None)
        self._writer.drop_work(id)

    def _settle(self, seqs: Sequence[int]) -> None:
        for seq in seqs:
            self.graph.settle(seq)
        self._writer.settle_loose(seqs, by=self._cause.seq)

    def _hold_anew(self) -> None:
        held = self._writer.held_by(sorted(self.graph.loose))
        self.graph.held = {**{seq: {} for seq in self.graph.loose}, **held}

    def _back_to_work(self, id: str) -> None:
        row = self._writer.fold_work_of(id)
        if row is not None:
            self.graph.put(node_of(row))

    def _at_work(self, id: str) -> Node:
        if id not in self.graph.nodes:
            self._back_to_work(id)
        return self.graph.nodes[id]

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
        """Write the entry that a change is due to."""
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
        number = self._writer.put_entry(cause.seq, cause.recorded_at, entry)
        return Act(cause.seq, cause.recorded_at, number)

    def _moment(self, id: str) -> Moment:
        found = self._moments.get(id) or self.graph.loose_event(id)
        if found is None:
            seq = self._log.known([id])[id]
            found = self._log.moments([seq])[seq]
        self._moments[id] = found
        return found

    def known(self, ids: Collection[str]) -> dict[str, int]:
        """Tell the seqs of the events that are there; those at hand need not be looked up."""
        near = {id: one for id in ids if (one := self._moments.get(id) or self.graph.loose_event(id)) is not None}
        far = sorted(id for id in ids if id not in near)
        return {**{id: one.seq for id, one in near.items()}, **(self._log.known(far) if far else {})}

    def _known_ids(self, seqs: Sequence[int]) -> list[str]:
        ids = self._log.ids(seqs)
        return [ids[seq] for seq in seqs if seq in ids]

    def _stored_body(self, id: str) -> dict[str, Any]:
        if id not in self._bodies:
            self._bodies[id] = dict(self._writer.concept_body(id))
        return self._bodies[id]

    def _word(self, act: Act, id: str, body: Mapping[str, Json]) -> None:
        self._bodies[id] = kept_body(body)
        self._writer.put_node(act, id, self._bodies[id])
