"""MCP's reference memory server: its nine tools under their original names, and the knowledge graph behind them.

Each entity, observation and relation is an event, so that recall finds and cites it; so is each deletion. The graph is
the fold of these events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from everyword.errors import InvalidInput, NotFound
from everyword.interfaces.adapters.documents import AnyMemory, Change, Entry, Ledger, Redactor
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
    """A tool of the reference server. It calls the method of the graph that has its name."""

    name: str
    description: str
    inputs: Mapping[str, Any]  # JSON schemas by name
    outputs: Mapping[str, Any]
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
        for name, schema in self.inputs.items():
            _check(arguments[name], schema, name)
        answer = getattr(graph, self.name)(*(arguments[name] for name in self.inputs))
        if isinstance(answer, str):
            return answer, {"success": True, "message": answer}
        return json_text(answer, indent=2), {self.result: answer} if self.result else answer


def _check(value: Any, schema: Mapping[str, Any], name: str) -> None:
    """Check what a client sent against the schema that it was shown."""
    kind: Any = {"string": str, "array": list, "object": dict}[schema["type"]]
    if not isinstance(value, kind):
        raise InvalidInput(f"{name} must be of the type {schema['type']}.")
    for one in value if kind is list else ():
        _check(one, schema["items"], name)
    for member, expected in schema.get("properties", {}).items():
        _check(value.get(member), expected, member)


TOOLS = {
    tool.name: tool
    for tool in (
        ReferenceTool(
            name="create_entities",
            description="Create multiple new entities in the knowledge graph",
            inputs={"entities": _ENTITIES},
            outputs={"entities": _ENTITIES},
            result="entities",
        ),
        ReferenceTool(
            name="create_relations",
            description="Create multiple new relations between entities in the knowledge graph. "
            "Relations should be in active voice",
            inputs={"relations": _RELATIONS},
            outputs={"relations": _RELATIONS},
            result="relations",
        ),
        ReferenceTool(
            name="add_observations",
            description="Add new observations to existing entities in the knowledge graph",
            inputs={"observations": _list_of(entityName=_TEXT, contents=_TEXTS)},
            outputs={"results": _list_of(entityName=_TEXT, addedObservations=_TEXTS)},
            result="results",
        ),
        ReferenceTool(
            name="delete_entities",
            description="Delete multiple entities and their associated relations from the knowledge graph",
            inputs={"entityNames": _TEXTS},
            outputs=_DELETED,
            destructive=True,
        ),
        ReferenceTool(
            name="delete_observations",
            description="Delete specific observations from entities in the knowledge graph",
            inputs={"deletions": _list_of(entityName=_TEXT, observations=_TEXTS)},
            outputs=_DELETED,
            destructive=True,
        ),
        ReferenceTool(
            name="delete_relations",
            description="Delete multiple relations from the knowledge graph",
            inputs={"relations": _RELATIONS},
            outputs=_DELETED,
            destructive=True,
        ),
        ReferenceTool(
            name="read_graph",
            description="Read the entire knowledge graph",
            inputs={},
            outputs=_GRAPH,
            read_only=True,
        ),
        ReferenceTool(
            name="search_nodes",
            description="Search for nodes in the knowledge graph based on a query",
            inputs={"query": _TEXT},
            outputs=_GRAPH,
            read_only=True,
        ),
        ReferenceTool(
            name="open_nodes",
            description="Open specific nodes in the knowledge graph by their names",
            inputs={"names": _TEXTS},
            outputs=_GRAPH,
            read_only=True,
        ),
    )
}


# The knowledge graph


@dataclass(frozen=True, slots=True)
class _Observation:
    entry: int  # number of the change that added it
    text: str


@dataclass(slots=True)
class _Entity:
    kind: str
    observations: list[_Observation] = field(default_factory=list[_Observation])

    @property
    def texts(self) -> list[str]:
        return [observation.text for observation in self.observations]


@dataclass(slots=True)
class _Graph:
    entities: dict[str, _Entity] = field(default_factory=dict[str, _Entity])
    relations: list[Relation] = field(default_factory=list[Relation])


class KnowledgeGraph:
    """Entities, their observations and the relations between them."""

    def __init__(self, memory: AnyMemory, *, wing: str | None = None, redact: str | None = None) -> None:
        self._ledger = Ledger(memory, _NAME, wing=wing)
        self._clean = Redactor(memory, redact=redact).text

    def create_entities(self, entities: Sequence[Mapping[str, Any]]) -> list[Plain]:
        """Add entities that do not exist yet; return these."""
        given = [
            (self._clean(one["name"]), self._clean(one["entityType"]), self._texts(one["observations"]))
            for one in entities
        ]

        def decide(graph: _Graph) -> tuple[list[Change], list[Plain]]:
            changes: list[Change] = []
            created: dict[str, Plain] = {}
            for name, kind, observations in given:
                if name not in graph.entities and name not in created:
                    changes.append(_change(f"{name} ({kind})", do="entity", name=name, kind=kind))
                    changes += [_observation(name, text) for text in observations]
                    created[name] = {"name": name, "entityType": kind, "observations": observations}
            return changes, list(created.values())

        return self._append(decide)

    def create_relations(self, relations: Sequence[Mapping[str, Any]]) -> list[Plain]:
        """Add relations that do not exist yet; return these."""
        given = self._relations(relations)

        def decide(graph: _Graph) -> tuple[list[Change], list[Plain]]:
            # As in the reference, a relation may name entities that do not exist.
            new = [relation for relation in dict.fromkeys(given) if relation not in graph.relations]
            changes = [_change(f"{one[0]} {one[2]} {one[1]}", do="relation", relation=list(one)) for one in new]
            return changes, [_relation_to_json(relation) for relation in new]

        return self._append(decide)

    def add_observations(self, observations: Sequence[Mapping[str, Any]]) -> list[Plain]:
        """Add observations to existing entities; return the new ones of each."""
        given = [(self._clean(one["entityName"]), self._texts(one["contents"])) for one in observations]

        def decide(graph: _Graph) -> tuple[list[Change], list[Plain]]:
            changes: list[Change] = []
            results: list[Plain] = []
            for name, contents in given:
                entity = _check_known(name, graph)
                new = [text for text in contents if text not in entity.texts]
                entity.observations += [_Observation(0, text) for text in new]  # for later items
                changes += [_observation(name, text) for text in new]
                results.append({"entityName": name, "addedObservations": new})
            return changes, results

        return self._append(decide)

    def delete_entities(self, names: Sequence[str]) -> str:
        """Delete entities with their observations, and the relations of these names; return a message."""
        given = self._texts(names)

        def decide(graph: _Graph) -> tuple[list[Change], str]:
            known = graph.entities.keys() | {end for relation in graph.relations for end in relation[:2]}
            going = [name for name in dict.fromkeys(given) if name in known]
            changes = [_change(f"Deleted {name}", do="delete entity", name=name) for name in going]
            return changes, "Entities deleted successfully"

        return self._append(decide)

    def delete_observations(self, deletions: Sequence[Mapping[str, Any]]) -> str:
        """Delete observations; return a message."""
        given = [(self._clean(one["entityName"]), self._texts(one["observations"])) for one in deletions]

        def decide(graph: _Graph) -> tuple[list[Change], str]:
            changes: list[Change] = []
            for name, contents in given:
                entity = graph.entities.get(name)
                going = [one for one in entity.observations if one.text in contents] if entity else []
                if entity is not None and going:
                    entity.observations = [one for one in entity.observations if one not in going]
                    # By number, not by text: a quote would survive when the observation is forgotten.
                    entries = [one.entry for one in going]
                    message = f"Deleted {len(going)} observations of {name}"
                    changes.append(_change(message, do="delete observations", name=name, entries=entries))
            return changes, "Observations deleted successfully"

        return self._append(decide)

    def delete_relations(self, relations: Sequence[Mapping[str, Any]]) -> str:
        """Delete relations; return a message."""
        given = self._relations(relations)

        def decide(graph: _Graph) -> tuple[list[Change], str]:
            going = [relation for relation in graph.relations if relation in given]
            changes = [
                _change(f"Deleted: {one[0]} {one[2]} {one[1]}", do="delete relation", relation=list(one))
                for one in going
            ]
            return changes, "Relations deleted successfully"

        return self._append(decide)

    def read_graph(self) -> Plain:
        """Return the whole graph."""
        return _to_json(self._graph(), None)

    def search_nodes(self, query: str) -> Plain:
        """Find entities whose name, type or observations contain the query, and their relations."""
        wanted, graph = query.lower(), self._graph()
        return _to_json(
            graph,
            {
                name
                for name, entity in graph.entities.items()
                if any(wanted in text.lower() for text in (name, entity.kind, *entity.texts))
            },
        )

    def open_nodes(self, names: Sequence[str]) -> Plain:
        """Return entities by name, and their relations."""
        return _to_json(self._graph(), set(names))

    def _graph(self) -> _Graph:
        return _fold(self._ledger.entries())

    def _append(self, decide: Callable[[_Graph], tuple[list[Change], _R]]) -> _R:
        return self._ledger.append(lambda entries: decide(_fold(entries)))

    def _relations(self, relations: Sequence[Mapping[str, Any]]) -> list[Relation]:
        return [
            (self._clean(one["from"]), self._clean(one["to"]), self._clean(one["relationType"])) for one in relations
        ]

    def _texts(self, texts: Sequence[str]) -> list[str]:
        return [self._clean(text) for text in texts]


def _change(text: str, **meaning: Json) -> Change:
    return Change(text=text, session=_NAME, meaning=meaning)


def _observation(name: str, text: str) -> Change:
    # The observation is only in the text of the event, so that forgetting the event removes it.
    return _change(f"{name}: {text}", do="observation", name=name)


def _fold(entries: Sequence[Entry]) -> _Graph:
    graph = _Graph()
    for entry in entries:
        _apply(graph, entry)
    return graph


def _apply(graph: _Graph, entry: Entry) -> None:
    meaning = entry.meaning
    name = str(meaning.get("name", ""))
    known = graph.entities.get(name)
    match meaning.get("do"):
        case "entity":
            graph.entities.setdefault(name, _Entity(str(meaning.get("kind", ""))))
        case "observation" if known is not None:
            known.observations.append(_Observation(entry.number, entry.event.text[len(name) + 2 :]))
        case "relation":
            if (relation := _relation_of(meaning)) not in graph.relations:
                graph.relations.append(relation)
        case "delete entity":
            graph.entities.pop(name, None)
            graph.relations = [relation for relation in graph.relations if name not in relation[:2]]
        case "delete observations" if known is not None:
            known.observations = [one for one in known.observations if one.entry not in meaning.get("entries", ())]
        case "delete relation":
            graph.relations = [relation for relation in graph.relations if relation != _relation_of(meaning)]
        case _:
            pass


def _relation_of(meaning: Mapping[str, Json]) -> Relation:
    start, end, kind = (str(part) for part in cast("list[Json]", meaning["relation"]))
    return start, end, kind


def _to_json(graph: _Graph, names: set[str] | None) -> Plain:
    shown = graph.entities.keys() if names is None else graph.entities.keys() & names
    return {
        "entities": [
            {"name": name, "entityType": entity.kind, "observations": entity.texts}
            for name, entity in graph.entities.items()
            if name in shown
        ],
        "relations": [
            _relation_to_json(relation)
            for relation in graph.relations
            if names is None or relation[0] in shown or relation[1] in shown
        ],
    }


def _relation_to_json(relation: Relation) -> Plain:
    return {"from": relation[0], "to": relation[1], "relationType": relation[2]}


def _check_known(name: str, graph: _Graph) -> _Entity:
    if name not in graph.entities:
        raise NotFound(f"Entity with name {name} not found")
    return graph.entities[name]
