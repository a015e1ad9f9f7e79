"""MCP's reference memory server: its nine tools under their original names, and the knowledge graph behind them.

Each entity, observation and relation is an event, so that recall finds and cites it; so is each deletion. The graph is
the fold of these events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct, field

from everyword.errors import InvalidInput, NotFound
from everyword.interfaces.adapters.documents import AnyMemory, Entry, Ledger, NewEntry, Redactor
from everyword.text.rendering import json_text
from everyword.types.events import Json

GRAPH_URI = "memory://knowledge-graph"

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_NAME = "knowledge-graph"

_R = TypeVar("_R")
Plain = dict[str, Json]
Relation = tuple[str, str, str]  # from, to, relationType


def _list_of(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": properties, "required": list(properties)}}


_ENTITIES = {"entities": _list_of(name=_TEXT, entityType=_TEXT, observations=_TEXTS)}
_RELATIONS = {"relations": _list_of(**{"from": _TEXT, "to": _TEXT, "relationType": _TEXT})}
_GRAPH = _ENTITIES | _RELATIONS
_DELETED = {"success": {"type": "boolean"}, "message": _TEXT}


class ReferenceTool(Struct, frozen=True):
    """A tool of the reference server. It calls the method of the graph that has its name."""

    name: str
    description: str
    inputs: Mapping[str, Any]  # JSON schemas by name
    outputs: Mapping[str, Any]

    def listed(self) -> dict[str, Any]:
        """Describe the tool in the protocol's form, without annotations."""
        return {
            "name": self.name,
            "title": self.name.replace("_", " ").title(),
            "description": self.description,
            "inputSchema": {"type": "object", "properties": dict(self.inputs), "required": list(self.inputs)},
            "outputSchema": {"type": "object", "properties": dict(self.outputs), "required": list(self.outputs)},
        }

    @property
    def read_only(self) -> bool:
        return self.outputs is _GRAPH

    @property
    def destructive(self) -> bool:
        return self.outputs is _DELETED

    def call(self, graph: KnowledgeGraph, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Run the tool; return the text and the structured result."""
        missing = [name for name in self.inputs if name not in arguments]
        if missing:
            raise InvalidInput(f"{self.name} needs {' and '.join(missing)}.")
        for name, schema in self.inputs.items():
            _check(arguments[name], schema, name)
        answer = getattr(graph, self.name)(*(arguments[name] for name in self.inputs))
        if isinstance(answer, str):
            return answer, {"success": True, "message": answer}
        return json_text(answer, indent=2), answer if self.read_only else dict.fromkeys(self.outputs, answer)


def _check(value: Any, schema: Mapping[str, Any], name: str) -> None:
    """Check what a client sent against the schema that it was shown."""
    kind: Any = {"string": str, "array": list, "object": dict}[schema["type"]]
    if not isinstance(value, kind):
        raise InvalidInput(f"{name} must be of the type {schema['type']}.")
    for one in value if kind is list else ():
        _check(one, schema["items"], name)
    for member, expected in schema.get("properties", {}).items():
        _check(value.get(member), expected, member)


_ADDED = {"observations": _list_of(entityName=_TEXT, contents=_TEXTS)}
_ADDITIONS = {"results": _list_of(entityName=_TEXT, addedObservations=_TEXTS)}
_DELETIONS = {"deletions": _list_of(entityName=_TEXT, observations=_TEXTS)}
_IN = "the knowledge graph"
_TOOLS = (
    ReferenceTool("create_entities", f"Create multiple new entities in {_IN}", _ENTITIES, _ENTITIES),
    ReferenceTool(
        "create_relations",
        f"Create multiple new relations between entities in {_IN}. Relations should be in active voice",
        _RELATIONS,
        _RELATIONS,
    ),
    ReferenceTool("add_observations", f"Add new observations to existing entities in {_IN}", _ADDED, _ADDITIONS),
    ReferenceTool(
        "delete_entities",
        f"Delete multiple entities and their associated relations from {_IN}",
        {"entityNames": _TEXTS},
        _DELETED,
    ),
    ReferenceTool("delete_observations", f"Delete specific observations from entities in {_IN}", _DELETIONS, _DELETED),
    ReferenceTool("delete_relations", f"Delete multiple relations from {_IN}", _RELATIONS, _DELETED),
    ReferenceTool("read_graph", "Read the entire knowledge graph", {}, _GRAPH),
    ReferenceTool("search_nodes", f"Search for nodes in {_IN} based on a query", {"query": _TEXT}, _GRAPH),
    ReferenceTool("open_nodes", f"Open specific nodes in {_IN} by their names", {"names": _TEXTS}, _GRAPH),
)
TOOLS = {tool.name: tool for tool in _TOOLS}


# The knowledge graph


class _Entity(Struct):
    kind: str
    observations: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])  # numbers of changes, and texts

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.observations]


class _Graph(Struct):
    """The fold of all changes, and new ones, which are applied as they are made."""

    entities: dict[str, _Entity] = field(default_factory=dict[str, _Entity])
    relations: list[Relation] = field(default_factory=list[Relation])
    changes: list[NewEntry] = field(default_factory=list[NewEntry])

    def change(self, text: str, **meaning: Json) -> None:
        self.changes.append(NewEntry(text=text, session=_NAME, meaning=meaning))
        self.apply(meaning, text, 0)

    def apply(self, meaning: Mapping[str, Json], text: str, number: int) -> None:
        """Apply the change of this number."""
        name = str(meaning.get("name", ""))
        known = self.entities.get(name)
        match meaning.get("do"):
            case "entity":
                self.entities.setdefault(name, _Entity(str(meaning.get("kind", ""))))
            case "observation" if known is not None:
                # The observation is only in the text of the event, so that forgetting the event removes it.
                known.observations.append((number, text[len(name) + 2 :]))
            case "relation":
                if (relation := _relation_of(meaning)) not in self.relations:
                    self.relations.append(relation)
            case "delete entity":
                self.entities.pop(name, None)
                self.relations = [relation for relation in self.relations if name not in relation[:2]]
            case "delete observations" if known is not None:
                gone = cast("list[Json]", meaning.get("entries", ()))
                known.observations = [one for one in known.observations if one[0] not in gone]
            case "delete relation":
                self.relations = [relation for relation in self.relations if relation != _relation_of(meaning)]
            case _:
                pass

    def part(self, names: set[str] | None = None) -> Plain:
        """Return the entities of these names and the relations that touch them, or all."""
        shown = self.entities.keys() if names is None else self.entities.keys() & names
        return {
            "entities": [
                {"name": name, "entityType": entity.kind, "observations": entity.texts}
                for name, entity in self.entities.items()
                if name in shown
            ],
            "relations": [
                {"from": start, "to": end, "relationType": kind}
                for start, end, kind in self.relations
                if names is None or start in shown or end in shown
            ],
        }


class KnowledgeGraph:
    """Entities, their observations and the relations between them."""

    def __init__(self, memory: AnyMemory, *, wing: str | None = None) -> None:
        self._ledger = Ledger(memory, _NAME, wing=wing)
        self._clean = Redactor(memory, redact=None).text

    def create_entities(self, entities: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Add entities that do not exist yet; return these."""

        def decide(graph: _Graph, given: list[Any]) -> list[Plain]:
            created: list[Plain] = []
            for one in given:
                name, kind = one["name"], one["entityType"]
                if name in graph.entities:
                    continue
                created.append(one)
                graph.change(f"{name} ({kind})", do="entity", name=name, kind=kind)
                for text in one["observations"]:
                    graph.change(f"{name}: {text}", do="observation", name=name)
            return created

        return self._append(entities, decide)

    def create_relations(self, relations: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Add relations that do not exist yet; return these."""

        def decide(graph: _Graph, given: list[Plain]) -> list[Plain]:
            created: list[Plain] = []
            for one in given:
                # As in the reference, a relation may name entities that do not exist.
                start, end, kind = relation = _relation(one)
                if relation not in graph.relations:
                    graph.change(f"{start} {kind} {end}", do="relation", relation=list(relation))
                    created.append(one)
            return created

        return self._append(relations, decide)

    def add_observations(self, observations: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Add observations to existing entities; return the new ones of each."""

        def decide(graph: _Graph, given: list[Any]) -> list[Plain]:
            results: list[Plain] = []
            for one in given:
                name: str = one["entityName"]
                if name not in graph.entities:
                    raise NotFound(f"Entity with name {name} not found")
                known = graph.entities[name].texts
                new: list[Json] = [text for text in one["contents"] if text not in known]
                for text in new:
                    graph.change(f"{name}: {text}", do="observation", name=name)
                results.append({"entityName": name, "addedObservations": new})
            return results

        return self._append(observations, decide)

    def delete_entities(self, names: Sequence[str]) -> str:
        """Delete entities with their observations, and the relations of these names; return a message."""

        def decide(graph: _Graph, given: list[str]) -> str:
            for name in given:
                if name in graph.entities or any(name in relation[:2] for relation in graph.relations):
                    graph.change(f"Deleted {name}", do="delete entity", name=name)
            return "Entities deleted successfully"

        return self._append(names, decide)

    def delete_observations(self, deletions: Sequence[Mapping[str, Any]]) -> str:
        """Delete observations; return a message."""

        def decide(graph: _Graph, given: list[Any]) -> str:
            for one in given:
                name: str = one["entityName"]
                entity = graph.entities.get(name, _Entity(""))
                # By number, not by text: a quote would survive when the observation is forgotten.
                going: list[Json] = [number for number, text in entity.observations if text in one["observations"]]
                if going:
                    message = f"Deleted {len(going)} observations of {name}"
                    graph.change(message, do="delete observations", name=name, entries=going)
            return "Observations deleted successfully"

        return self._append(deletions, decide)

    def delete_relations(self, relations: Sequence[Mapping[str, Any]]) -> str:
        """Delete relations; return a message."""

        def decide(graph: _Graph, given: list[Plain]) -> str:
            for start, end, kind in map(_relation, given):
                if (start, end, kind) in graph.relations:
                    graph.change(f"Deleted: {start} {kind} {end}", do="delete relation", relation=[start, end, kind])
            return "Relations deleted successfully"

        return self._append(relations, decide)

    def read_graph(self) -> Plain:
        """Return the whole graph."""
        return _fold(self._ledger.entries()).part()

    def search_nodes(self, query: str) -> Plain:
        """Find entities whose name, type or observations contain the query, and their relations."""
        wanted, graph = query.lower(), _fold(self._ledger.entries())
        return graph.part(
            {
                name
                for name, entity in graph.entities.items()
                if any(wanted in text.lower() for text in (name, entity.kind, *entity.texts))
            }
        )

    def open_nodes(self, names: Sequence[str]) -> Plain:
        """Return entities by name, and their relations."""
        return _fold(self._ledger.entries()).part(set(names))

    def _append(self, given: Sequence[Any], decide: Callable[[_Graph, list[Any]], _R]) -> _R:
        """Append the changes that `decide` makes for what was given, without secrets; return its answer."""
        clean = [self._cleaned(one) for one in given]

        def decided(entries: Sequence[Entry]) -> tuple[list[NewEntry], _R]:
            graph = _fold(entries)
            answer = decide(graph, clean)
            return graph.changes, answer

        return self._ledger.append(decided)

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._clean(value)
        if isinstance(value, Mapping):
            return {name: self._cleaned(one) for name, one in cast("Mapping[str, Any]", value).items()}
        return [self._cleaned(one) for one in value]


def _fold(entries: Sequence[Entry]) -> _Graph:
    graph = _Graph()
    for entry in entries:
        graph.apply(entry.meaning, entry.event.text, entry.number)
    return graph


def _relation(given: Mapping[str, Any]) -> Relation:
    return given["from"], given["to"], given["relationType"]


def _relation_of(meaning: Mapping[str, Json]) -> Relation:
    start, end, kind = (str(part) for part in cast("list[Json]", meaning["relation"]))
    return start, end, kind
