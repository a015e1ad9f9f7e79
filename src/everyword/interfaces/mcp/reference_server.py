"""The nine tools of MCP's reference memory server, under their original names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from everyword.errors import InvalidInput
from everyword.interfaces.adapters.reference_memory import KnowledgeGraph
from everyword.text.rendering import json_text

GRAPH_URI = "memory://knowledge-graph"

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}


def _list_of(**properties: Any) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": list(properties)},
    }


_ENTITIES = _list_of(name=_TEXT, entityType=_TEXT, observations=_TEXTS)
_RELATIONS = _list_of(**{"from": _TEXT, "to": _TEXT, "relationType": _TEXT})
_GRAPH = {"entities": _ENTITIES, "relations": _RELATIONS}
_DELETED = {"success": {"type": "boolean"}, "message": _TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceTool:
    """A tool of the reference server."""

    name: str
    description: str
    inputs: Mapping[str, Any]  # JSON schemas by name
    outputs: Mapping[str, Any]
    run: Callable[[KnowledgeGraph, Mapping[str, Any]], Any]
    result: str = ""  # the name of a list in the structured result
    read_only: bool = False
    destructive: bool = False

    @property
    def title(self) -> str:
        """The name for people."""
        return self.name.replace("_", " ").title()

    def call(self, graph: KnowledgeGraph, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Run the tool; return the text and the structured result."""
        missing = [name for name in self.inputs if name not in arguments]
        if missing:
            raise InvalidInput(f"{self.name} needs {' and '.join(missing)}.")
        answer = self.run(graph, arguments)
        if isinstance(answer, str):
            return answer, {"success": True, "message": answer}
        return json_text(answer, indent=2), {self.result: answer} if self.result else answer


TOOLS = {
    tool.name: tool
    for tool in (
        ReferenceTool(
            name="create_entities",
            description="Create multiple new entities in the knowledge graph",
            inputs={"entities": _ENTITIES},
            outputs={"entities": _ENTITIES},
            run=lambda graph, arguments: graph.create_entities(arguments["entities"]),
            result="entities",
        ),
        ReferenceTool(
            name="create_relations",
            description="Create multiple new relations between entities in the knowledge graph. "
            "Relations should be in active voice",
            inputs={"relations": _RELATIONS},
            outputs={"relations": _RELATIONS},
            run=lambda graph, arguments: graph.create_relations(arguments["relations"]),
            result="relations",
        ),
        ReferenceTool(
            name="add_observations",
            description="Add new observations to existing entities in the knowledge graph",
            inputs={"observations": _list_of(entityName=_TEXT, contents=_TEXTS)},
            outputs={"results": _list_of(entityName=_TEXT, addedObservations=_TEXTS)},
            run=lambda graph, arguments: graph.add_observations(arguments["observations"]),
            result="results",
        ),
        ReferenceTool(
            name="delete_entities",
            description="Delete multiple entities and their associated relations from the knowledge graph",
            inputs={"entityNames": _TEXTS},
            outputs=_DELETED,
            run=lambda graph, arguments: graph.delete_entities(arguments["entityNames"]),
            destructive=True,
        ),
        ReferenceTool(
            name="delete_observations",
            description="Delete specific observations from entities in the knowledge graph",
            inputs={"deletions": _list_of(entityName=_TEXT, observations=_TEXTS)},
            outputs=_DELETED,
            run=lambda graph, arguments: graph.delete_observations(arguments["deletions"]),
            destructive=True,
        ),
        ReferenceTool(
            name="delete_relations",
            description="Delete multiple relations from the knowledge graph",
            inputs={"relations": _RELATIONS},
            outputs=_DELETED,
            run=lambda graph, arguments: graph.delete_relations(arguments["relations"]),
            destructive=True,
        ),
        ReferenceTool(
            name="read_graph",
            description="Read the entire knowledge graph",
            inputs={},
            outputs=_GRAPH,
            run=lambda graph, _: graph.read_graph(),
            read_only=True,
        ),
        ReferenceTool(
            name="search_nodes",
            description="Search for nodes in the knowledge graph based on a query",
            inputs={"query": _TEXT},
            outputs=_GRAPH,
            run=lambda graph, arguments: graph.search_nodes(arguments["query"]),
            read_only=True,
        ),
        ReferenceTool(
            name="open_nodes",
            description="Open specific nodes in the knowledge graph by their names",
            inputs={"names": _TEXTS},
            outputs=_GRAPH,
            run=lambda graph, arguments: graph.open_nodes(arguments["names"]),
            read_only=True,
        ),
    )
}
