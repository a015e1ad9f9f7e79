"""Plans that an LLM proposed, as they are kept: read back offline, without whatever asks an LLM."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from everyword.types.concepts import (
    AddEdge,
    AddNode,
    EdgeKind,
    MergeNodes,
    Operation,
    RemoveNode,
    UpdateNode,
    UpdatePlan,
)
from everyword.types.events import Json

# The reason of every operation: words of its own would have to be forgotten with those of others.
AS_READ = "as an LLM reads the window"


def plan_to_json(plan: UpdatePlan) -> str:
    """Write a plan for the store."""
    operations = [{"op": type(one).__name__, **_fields(one)} for one in plan.operations]
    return json.dumps({"by": plan.proposed_by, "operations": operations}, ensure_ascii=True, separators=(",", ":"))


def plan_of(body: str) -> UpdatePlan:
    """Read a plan back."""
    held: dict[str, Any] = json.loads(body)
    operations = (_READ[one["op"]](one) for one in held["operations"])
    return UpdatePlan(operations=tuple(operations), proposed_by=held["by"])


def _fields(operation: Operation) -> dict[str, Json]:
    match operation:
        case AddNode() | UpdateNode():
            return {
                "id": operation.id,
                "label": operation.label,
                "description": operation.description,
                "body": dict(operation.body),
                "events": list(operation.grounded_in),
            }
        case AddEdge():
            return {
                "from": operation.source,
                "to": operation.target,
                "kind": operation.kind.value,
                "weight": operation.weight,
                "events": list(operation.grounded_in),
            }
        case MergeNodes():
            return {"id": operation.id, "absorbed": operation.absorbed, "events": list(operation.grounded_in)}
        case RemoveNode():
            return {
                "id": operation.id,
                "kind": None if operation.edge is None else operation.edge.value,
                "to": operation.target,
                "events": list(operation.grounded_in),
            }


def _words(held: Mapping[str, Any]) -> dict[str, Any]:
    """Read what making a concept and wording one have in common."""
    fields = {name: held[name] for name in ("id", "label", "description", "body")}
    return {**fields, "reason": AS_READ, "grounded_in": tuple(held["events"])}


_READ: Mapping[str, Callable[[dict[str, Any]], Operation]] = {
    "AddNode": lambda held: AddNode(**_words(held)),
    "UpdateNode": lambda held: UpdateNode(**_words(held)),
    "AddEdge": lambda held: AddEdge(
        source=held["from"],
        target=held["to"],
        kind=EdgeKind(held["kind"]),
        weight=held["weight"],
        reason=AS_READ,
        grounded_in=tuple(held["events"]),
    ),
    "MergeNodes": lambda held: MergeNodes(
        id=held["id"], absorbed=held["absorbed"], reason=AS_READ, grounded_in=tuple(held["events"])
    ),
    "RemoveNode": lambda held: RemoveNode(
        id=held["id"],
        edge=None if held["kind"] is None else EdgeKind(held["kind"]),
        target=held["to"],
        reason=AS_READ,
        grounded_in=tuple(held["events"]),
    ),
}
