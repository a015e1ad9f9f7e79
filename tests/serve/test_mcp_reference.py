"""The nine tools of MCP's reference memory server: the same calls give the same answers, and events say the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest
from mcp import Client

from everyword import Memory
from everyword.errors import InvalidInput, NotFound
from everyword.interfaces.mcp import OpenMemory
from everyword.interfaces.mcp.reference_server import TOOLS, KnowledgeGraph
from everyword.interfaces.mcp.server import build

NINE = {
    *("create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations"),
    *("delete_relations", "read_graph", "search_nodes", "open_nodes"),
}
ANA: dict[str, Any] = {"name": "Ana", "entityType": "person", "observations": ["lives in Lisbon", "sails"]}
BEN: dict[str, Any] = {"name": "Ben", "entityType": "person", "observations": []}
ACME: dict[str, Any] = {"name": "Acme", "entityType": "company", "observations": ["makes anvils"]}
WORKS = {"from": "Ana", "to": "Acme", "relationType": "works_at"}
KNOWS = {"from": "Ben", "to": "Ana", "relationType": "knows"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing") as memory:
        yield memory


@pytest.fixture
def graph(memory: Memory) -> KnowledgeGraph:
    graph = KnowledgeGraph(memory)
    graph.create_entities([ANA, BEN, ACME])
    graph.create_relations([WORKS, KNOWS])
    return graph


def test_what_was_created_is_read_back(graph: KnowledgeGraph) -> None:
    assert graph.read_graph() == {"entities": [ANA, BEN, ACME], "relations": [WORKS, KNOWS]}


def test_only_what_is_new_is_created(graph: KnowledgeGraph) -> None:
    carl = {"name": "Carl", "entityType": "person", "observations": ["new"]}
    assert graph.create_entities([{**ANA, "observations": ["other"]}, carl, {**carl, "entityType": "twice"}]) == [carl]
    back = {**WORKS, "relationType": "left"}
    assert graph.create_relations([WORKS, back, back]) == [back]
    assert graph.create_entities([]) == []


def test_a_relation_may_name_what_does_not_exist_and_goes_with_its_name(graph: KnowledgeGraph) -> None:
    far = {**WORKS, "to": "Zoe"}
    assert graph.create_relations([far]) == [far]
    assert graph.open_nodes(["Ana"])["relations"] == [WORKS, KNOWS, far]
    graph.delete_entities(["Zoe"])
    assert graph.read_graph()["relations"] == [WORKS, KNOWS]


def test_observations_are_added_once(graph: KnowledgeGraph) -> None:
    added = graph.add_observations(
        [
            {"entityName": "Ana", "contents": ["sails", "paints: in oil"]},
            {"entityName": "Ana", "contents": ["paints: in oil", "sings"]},
        ]
    )
    assert added == [
        {"entityName": "Ana", "addedObservations": ["paints: in oil"]},
        {"entityName": "Ana", "addedObservations": ["sings"]},
    ]
    observations = graph.open_nodes(["Ana"])["entities"][0]["observations"]
    assert observations == ["lives in Lisbon", "sails", "paints: in oil", "sings"]
    with pytest.raises(NotFound, match="Entity with name Zoe not found"):
        graph.add_observations([{"entityName": "Ben", "contents": ["never"]}, {"entityName": "Zoe", "contents": ["x"]}])
    assert graph.open_nodes(["Ben"])["entities"] == [BEN]  # all of a call, or nothing of it


def test_deleting_what_is_not_there_changes_nothing_else(graph: KnowledgeGraph) -> None:
    deletions = [
        {"entityName": "Ana", "observations": ["sails", "never said"]},
        {"entityName": "Zoe", "observations": ["x"]},
    ]
    assert graph.delete_observations(deletions) == "Observations deleted successfully"
    assert graph.delete_observations([{"entityName": "Ana", "observations": ["lives in Lisbon"]}]) == (
        "Observations deleted successfully"
    )
    assert graph.delete_relations([WORKS, WORKS]) == "Relations deleted successfully"
    assert graph.delete_relations([KNOWS]) == "Relations deleted successfully"
    assert graph.delete_entities(["Ben", "Zoe"]) == "Entities deleted successfully"
    assert graph.delete_entities(["Acme"]) == "Entities deleted successfully"
    assert graph.read_graph() == {"entities": [{**ANA, "observations": []}], "relations": []}


def test_a_deleted_entity_takes_its_relations_and_comes_back_empty(graph: KnowledgeGraph) -> None:
    graph.delete_entities(["Ana"])
    assert graph.read_graph() == {"entities": [BEN, ACME], "relations": []}
    graph.create_entities([{**ANA, "observations": ["is back"]}])
    assert graph.open_nodes(["Ana"]) == {"entities": [{**ANA, "observations": ["is back"]}], "relations": []}


def test_searching_and_opening_give_the_relations_that_touch(graph: KnowledgeGraph) -> None:
    assert graph.search_nodes("ANVIL") == {"entities": [ACME], "relations": [WORKS]}
    assert graph.search_nodes("person")["entities"] == [ANA, BEN]
    assert graph.search_nodes("") == graph.read_graph()
    assert graph.open_nodes(["Ben", "nobody"]) == {"entities": [BEN], "relations": [KNOWS]}
    assert graph.search_nodes("x" * 5_000) == {"entities": [], "relations": []}


@pytest.mark.parametrize(
    "entities", [None, "x", [1], [{}], [{"name": 1}], [{**ANA, "observations": "x"}], [{**ANA, "observations": [1]}]]
)
def test_what_is_no_entity_is_refused(memory: Memory, entities: Any) -> None:
    with pytest.raises(InvalidInput):
        TOOLS["create_entities"].call(KnowledgeGraph(memory), {"entities": entities})
    assert memory.stats().events == 0


def test_each_thing_is_an_event_that_recall_finds(graph: KnowledgeGraph, memory: Memory) -> None:
    assert memory.recall("Where does Ana live in?")[0].text == "Ana: lives in Lisbon"
    graph.delete_observations([{"entityName": "Ana", "observations": ["lives in Lisbon"]}])
    # Forgetting the words leaves no copy of them, and the graph as it was.
    before = graph.read_graph()
    memory.forget(ids=[event.id for event in memory.events() if "Lisbon" in event.text])
    assert "Lisbon" not in json.dumps([[event.text, dict(event.meta)] for event in memory.events()])
    assert graph.read_graph() == before


def test_two_servers_on_one_file_lose_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="none") as one, Memory.open(tmp_path / "m.db", embedder="none") as two:
        KnowledgeGraph(one).create_entities([BEN])

        def write(memory: Memory, who: str) -> None:
            for number in range(10):
                KnowledgeGraph(memory).add_observations([{"entityName": "Ben", "contents": [f"{who} {number}", who]}])

        threads = [Thread(target=write, args=(memory, who)) for memory, who in ((one, "a"), (two, "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        observations = KnowledgeGraph(one).open_nodes(["Ben"])["entities"][0]["observations"]
    assert sorted(observations) == sorted([f"{who} {n}" for who in "ab" for n in range(10)] + ["a", "b"])


def test_a_client_of_the_reference_server_feels_at_home(tmp_path: Path) -> None:
    opened = OpenMemory(str(tmp_path / "m.db"), embedder="hashing")

    async def ask() -> None:
        async with Client(build(opened, reference_tools=True)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) >= NINE | {"remember", "recall"}
            assert tools["delete_entities"].annotations.destructive_hint  # pyright: ignore
            assert tools["read_graph"].annotations.read_only_hint  # pyright: ignore
            created = await client.call_tool("create_entities", {"entities": [ANA]})
            assert created.structured_content == {"entities": [ANA]}
            assert json.loads(created.content[0].text) == [ANA]  # pyright: ignore
            added = await client.call_tool(
                "add_observations", {"observations": [{"entityName": "Ana", "contents": []}]}
            )
            assert added.structured_content == {"results": [{"entityName": "Ana", "addedObservations": []}]}
            read = await client.call_tool("read_graph", {})
            assert read.structured_content == {"entities": [ANA], "relations": []}
            gone = await client.call_tool("delete_entities", {"entityNames": ["Ana"]})
            assert gone.structured_content == {"success": True, "message": "Entities deleted successfully"}
            resource = await client.read_resource("memory://knowledge-graph")
            assert json.loads(resource.contents[0].text) == {"entities": [], "relations": []}  # pyright: ignore
            wrong = await client.call_tool(
                "add_observations", {"observations": [{"entityName": "Ana", "contents": []}]}
            )
            assert wrong.is_error
            assert wrong.content[0].text == "Entity with name Ana not found"  # pyright: ignore
            odd = {"name": "half \ud83d", "entityType": "\x00", "observations": ["\u2028"]}
            kept = await client.call_tool("create_entities", {"entities": [odd]})
            assert kept.structured_content["entities"][0]["name"] == "half \ufffd"  # as much as a wire can carry
            missing = await client.call_tool("open_nodes", {})
            assert missing.is_error
        async with Client(build(opened)) as client:
            assert not NINE & {tool.name for tool in (await client.list_tools()).tools}

    anyio.run(ask)
    opened.close()
