"""What a plan must be to be carried out, whoever proposes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, cast

from everyword.errors import InvalidInput
from everyword.knowledge.legacy.fold.graph import MOST_LOOSE, Graph
from everyword.knowledge.legacy.fold.wording import LONGEST_DESCRIPTION, LONGEST_LABEL
from everyword.types.concepts import (
    CONCEPT_PREFIX,
    EDGE_ENDS,
    INTENT_PREFIX,
    LEAST_GROUNDS,
    AddEdge,
    AddNode,
    EdgeKind,
    MergeNodes,
    NodeKind,
    Operation,
    RemoveNode,
    UpdateNode,
    UpdatePlan,
)
from everyword.types.ids import EVENT_PREFIX

MOST_OPERATIONS = 64 + 2 * MOST_LOOSE  # in a plan: every loose event may leave one concept and join another


class Ground(Protocol):
    """What a plan is checked against."""

    @property
    def graph(self) -> Graph: ...

    def stands(self, id: str) -> bool:
        """Tell whether a concept is there."""
        ...

    def known(self, ids: Collection[str]) -> Mapping[str, int]:
        """Tell the seqs of the events that are there."""
        ...

    def texts(self, seqs: Sequence[int]) -> Mapping[int, str]:
        """Read what was said."""
        ...


def check(plan: UpdatePlan, ground: Ground) -> None:
    """Refuse a plan of which any operation is wrong, and say what is."""
    if len(plan.operations) > MOST_OPERATIONS:
        raise InvalidInput(f"The plan has {len(plan.operations)} operations.", fix="Plan less at a time.")
    new = {one.id for one in plan.operations if isinstance(one, AddNode)}
    known = ground.known({id for one in plan.operations for id in one.grounded_in})
    for operation in plan.operations:
        fault = _fault(operation, plan, new, known, ground)
        if fault:
            raise InvalidInput(
                f"The plan is refused: {type(operation).__name__}: {fault}.", fix="Nothing of it was done."
            )


def _fault(operation: Operation, plan: UpdatePlan, new: set[str], known: Mapping[str, int], ground: Ground) -> str:
    unknown = [id for id in operation.grounded_in if id not in known]
    if unknown:
        return f"no event {unknown[0]}"
    if not operation.reason:
        return "it gives no reason"
    match operation:
        case AddNode():
            return _node_fault(operation, plan, ground)
        case AddEdge():
            return _edge_fault(operation, new, ground)
        case UpdateNode():
            return _quote_fault(operation, ground) if ground.stands(operation.id) else f"there is no {operation.id}"
        case MergeNodes():
            return _merge_fault(operation, ground)
        case RemoveNode():
            there = operation.edge is not None or ground.stands(operation.id)
            return "" if there else f"there is no {operation.id}"


def _node_fault(operation: AddNode, plan: UpdatePlan, ground: Ground) -> str:
    if operation.kind is not NodeKind.CONCEPT or not operation.id.startswith(CONCEPT_PREFIX):
        return f"{operation.kind} is not made by a plan"
    if ground.stands(operation.id):
        return f"{operation.id} is there already"
    if not 0 < len(operation.label) <= LONGEST_LABEL or len(operation.description) > LONGEST_DESCRIPTION:
        return "its label or description is too long or missing"
    grounds = {
        one.source
        for one in plan.operations
        if isinstance(one, AddEdge) and one.target == operation.id and one.kind is EdgeKind.GROUNDS
    }
    if len(grounds) < LEAST_GROUNDS:
        return f"{len(grounds)} events ground it, and {LEAST_GROUNDS} are needed"
    return _quote_fault(operation, ground)


def _edge_fault(operation: AddEdge, new: set[str], ground: Ground) -> str:
    if not 0 < operation.weight <= 1:
        return f"weight {operation.weight} is not between 0 and 1"
    if not operation.grounded_in:
        return "it rests on no event"
    ends = (_kind_of(operation.source), _kind_of(operation.target))
    if ends not in EDGE_ENDS[operation.kind] or operation.source == operation.target:
        return f"{operation.kind} can't join {ends[0]} and {ends[1]}"
    for kind, id in zip(ends, (operation.source, operation.target), strict=True):
        there = ground.known([id]) if kind is NodeKind.EVENT else id in new or ground.stands(id)
        if kind in (NodeKind.EVENT, NodeKind.CONCEPT) and not there:
            return f"there is no {id}"
    return ""


def _merge_fault(operation: MergeNodes, ground: Ground) -> str:
    for id in (operation.id, operation.absorbed):
        if not ground.stands(id):
            return f"there is no {id}"
    if operation.id == operation.absorbed:
        return "a concept can't absorb itself"
    apart = ground.graph.kept_apart(operation.id, operation.absorbed)
    return "they were told to stay apart" if apart else ""


def _quote_fault(operation: AddNode | UpdateNode, ground: Ground) -> str:
    """Check the quotes that whoever words a concept gives: each must be said in its event."""
    quotes = cast("Sequence[Sequence[str]]", operation.body.get("quotes", ()))
    if not quotes:
        return ""
    seqs = ground.known([id for id, _ in quotes])
    texts = ground.texts(sorted(seqs.values()))
    wrong = [quote for id, quote in quotes if quote not in texts.get(seqs.get(id, 0), "")]
    return f"nobody said {wrong[0]!r}" if wrong else ""


def _kind_of(id: str) -> NodeKind:
    for prefix, kind in ((EVENT_PREFIX, NodeKind.EVENT), (CONCEPT_PREFIX, NodeKind.CONCEPT)):
        if id.startswith(prefix):
            return kind
    return NodeKind.INTENT if id.startswith(INTENT_PREFIX) else NodeKind.TIME
