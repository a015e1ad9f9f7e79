"""LangGraph: the store in a graph that runs, and under langmem's tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypedDict

from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langmem import create_manage_memory_tool, create_search_memory_tool

from everyword.interfaces.adapters.langgraph_store import EverywordStore

NAMESPACE = ("memories", "ana")


class State(TypedDict):
    said: str
    found: list[str]


def remember(state: State, runtime: Runtime[None]) -> dict[str, Any]:
    assert runtime.store is not None
    runtime.store.put(NAMESPACE, str(len(state["said"])), {"text": state["said"]})
    return {}


def recall(state: State) -> dict[str, Any]:
    return {"found": [item.value["text"] for item in get_store().search(NAMESPACE, query=state["said"])]}


async def recall_natively(state: State, runtime: Runtime[None]) -> dict[str, Any]:
    assert runtime.store is not None
    found = await runtime.store.asearch(NAMESPACE, query=state["said"])
    return {"found": [item.value["text"] for item in found]}


def test_nodes_of_a_graph_share_the_store(memory: Any) -> None:
    graph = StateGraph(State).add_sequence([remember, recall]).add_edge(START, "remember")
    running = graph.compile(store=EverywordStore(memory))
    running.invoke({"said": "Ana moved to Graz.", "found": []})
    found = running.invoke({"said": "Where did Ana move to?", "found": []})["found"]
    assert found == ["Ana moved to Graz.", "Where did Ana move to?"]
    natively = StateGraph(State).add_node(recall_natively).add_edge(START, "recall_natively")
    async_graph = natively.compile(store=EverywordStore(memory))
    assert "Ana moved to Graz." in asyncio.run(async_graph.ainvoke({"said": "Graz", "found": []}))["found"]


def test_langmem_keeps_and_finds_what_an_agent_tells_it(memory: Any) -> None:
    store = EverywordStore(memory)
    manage = create_manage_memory_tool(NAMESPACE, store=store)
    search = create_search_memory_tool(NAMESPACE, store=store)
    told = manage.invoke({"content": "Ana prefers green tea.", "action": "create"})
    key = told.split()[-1]
    assert store.get(NAMESPACE, key).value == {"content": "Ana prefers green tea."}  # type: ignore[union-attr]
    assert "Ana prefers green tea." in search.invoke({"query": "What does Ana drink?"})
    manage.invoke({"content": "Ana prefers oolong.", "action": "update", "id": key})
    assert "oolong" in asyncio.run(search.ainvoke({"query": "tea"}))
    manage.invoke({"action": "delete", "id": key})
    assert store.search(NAMESPACE) == []


def test_the_example_of_the_documentation_runs(run_example: Callable[[str], None]) -> None:
    run_example("langgraph")
