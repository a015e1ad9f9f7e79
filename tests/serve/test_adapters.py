"""Other frameworks' interfaces on a memory: mem0's methods, LangGraph's store, a session of OpenAI's agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from everyword import Memory
from everyword.errors import InvalidFilter, InvalidInput, NotFound
from everyword.interfaces.adapters import documents
from everyword.interfaces.adapters.langgraph_store import EverywordStore
from everyword.interfaces.adapters.mem0 import Mem0
from everyword.interfaces.adapters.memory_files import MemoryFiles
from everyword.interfaces.adapters.openai_session import EverywordSession
from everyword.interfaces.adapters.reference_memory import KnowledgeGraph
from everyword.settings import Settings


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing") as opened:
        yield opened


def words(answer: dict[str, Any]) -> list[str]:
    return [one["memory"] for one in answer["results"]]


class TestMem0:
    @pytest.fixture
    def mem0(self, memory: Memory) -> Mem0:
        return Mem0(memory)

    def test_what_is_added_is_found_by_its_user_alone(self, mem0: Mem0) -> None:
        added = mem0.add(
            [{"role": "user", "content": "I moved to Lisbon."}, {"role": "assistant", "content": "Noted: Lisbon."}],
            user_id="ana",
            metadata={"topic": "home"},
        )
        assert [one["event"] for one in added["results"]] == ["ADD", "ADD"]
        mem0.add("I moved to Porto.", user_id="bo")
        found = mem0.search("Who moved?", filters={"user_id": "ana"})["results"]
        assert found[0]["memory"] == "I moved to Lisbon."
        assert {one["user_id"] for one in found} == {"ana"}
        assert found[0]["metadata"] == {"topic": "home"}
        assert {"id", "memory", "score", "metadata", "created_at", "updated_at"} <= set(found[0])
        assert words(mem0.search("moved", top_k=1, user_id="bo")) == ["I moved to Porto."]

    def test_the_same_again_changes_nothing(self, mem0: Mem0) -> None:
        first = mem0.add("I like tea.", user_id="ana")["results"][0]
        assert mem0.add("I like tea.", user_id="ana")["results"] == [{**first, "event": "NONE"}]
        assert len(mem0.get_all(user_id="ana")["results"]) == 1

    def test_update_delete_and_history(self, mem0: Mem0) -> None:
        id = mem0.add("I like tea.", user_id="ana")["results"][0]["id"]
        mem0.update(id, "I like coffee.")
        assert (mem0.get(id) or {})["memory"] == "I like coffee."
        assert words(mem0.search("tea coffee", user_id="ana")) == [
            "I like coffee."
        ]  # what is no longer so is not found
        mem0.delete(id)
        assert mem0.get(id) is None
        assert words(mem0.search("coffee", user_id="ana")) == []
        assert [(one["event"], one["old_memory"], one["new_memory"]) for one in mem0.history(id)] == [
            ("ADD", None, "I like tea."),
            ("UPDATE", "I like tea.", "I like coffee."),
            ("DELETE", "I like coffee.", None),
        ]
        for call in (lambda: mem0.delete(id), lambda: mem0.update(id, "x")):
            with pytest.raises(NotFound):
                call()

    def test_filters(self, mem0: Mem0) -> None:
        for number, topic in enumerate(("boat", "house", "Boat trip")):
            mem0.add(f"Note {number}.", user_id="ana", metadata={"n": number, "topic": topic})

        def kept(**filters: Any) -> set[str]:
            return set(words(mem0.get_all(filters={"user_id": "ana", **filters})))

        assert kept(n=1) == {"Note 1."}
        assert kept(n={"gte": 1}) == {"Note 1.", "Note 2."}
        assert kept(n={"in": [0, 2]}) == {"Note 0.", "Note 2."}
        assert kept(topic={"icontains": "boat"}) == {"Note 0.", "Note 2."}
        assert kept(OR=[{"n": 0}, {"topic": "house"}]) == {"Note 0.", "Note 1."}
        assert kept(NOT=[{"n": {"lt": 2}}]) == {"Note 2."}
        assert kept(AND=[{"n": {"gt": "x"}}]) == set()
        with pytest.raises(InvalidFilter):
            kept(n={"like": 1})

    def test_scopes_and_resetting(self, mem0: Mem0, memory: Memory) -> None:
        memory.add("Not by this interface.")
        mem0.add("One.", user_id="ana", run_id="r1")
        mem0.add("Two.", user_id="ana", run_id="r2")
        mem0.delete_all(run_id="r1")
        assert words(mem0.get_all(user_id="ana")) == ["Two."]
        with pytest.raises(InvalidInput):
            mem0.add("Whose?")
        with pytest.raises(InvalidInput):
            mem0.delete_all()
        mem0.reset()
        assert [event.text for event in memory.events()] == ["Not by this interface."]

    def test_what_others_said_crowds_nobody_out(self, mem0: Mem0, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(documents, "_HITS", (2, 4))
        mem0.add("My boat needs paint.", agent_id="clerk")
        for number in range(8):
            mem0.add(f"The boat, the boat, boat {number}!", agent_id="other")
        assert words(mem0.search("boat", agent_id="clerk")) == ["My boat needs paint."]
        assert len(words(mem0.search("boat", agent_id="other", top_k=3))) == 3

    def test_what_a_filter_wants_is_found_whatever_else_is_nearer(self, mem0: Mem0) -> None:
        mem0.add("Roses like the sun.", user_id="ana", metadata={"topic": "garden", "n": -1})
        mem0.add("A boat is in the garden.", user_id="ana", metadata={"topic": "garden", "n": -2.0})
        for number in range(120):
            mem0.add(f"The boat, the boat, boat {number}!", user_id="ana", metadata={"topic": "boats", "n": number})

        def found(**filters: Any) -> list[str]:
            return words(mem0.search("the boat", filters={"user_id": "ana", **filters}))

        both = ["A boat is in the garden.", "Roses like the sun."]
        assert found(topic="garden") == found(topic={"eq": "garden"}) == both
        assert found(n={"lt": 0}) == found(NOT=[{"topic": "boats"}]) == both
        assert found(n=-2) == found(n=-2.0) == found(created_at={"gt": "2000"}, topic="garden", n=-2) == both[:1]
        assert found(topic="sea") == found(n={"gt": 1000}) == []
        memory_id = mem0.search("roses", filters={"user_id": "ana", "n": -1})["results"][0]["id"]
        mem0.update(memory_id, "Roses like the shade.", metadata={"topic": "shade"})
        assert found(topic="shade") == ["Roses like the shade."]
        assert found(topic="garden") == both[:1]

    def test_as_many_as_asked_for_are_found_and_listed(self, mem0: Mem0, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(documents, "_HITS", (10, 60))
        monkeypatch.setattr(documents, "_MOST_RANKED", 5)
        for number in range(80):
            mem0.add(f"The boat, the boat, boat {number}!", user_id="ana")
        for limit, count in ((40, 40), (75, 75), (1000, 80)):
            found = mem0.search("the boat", user_id="ana", limit=limit)["results"]
            assert len(found) == len({one["id"] for one in found}) == count
            assert len(mem0.get_all(user_id="ana", limit=limit)["results"]) == count

    def test_secrets_stay_out_and_statements_are_derived(self, mem0: Mem0, memory: Memory) -> None:
        mem0.add("I prefer tea over coffee. My token is ghp_" + "a1B2c3D4" * 4 + "e5F6", user_id="Ana")
        assert "ghp_" not in mem0.get_all(user_id="Ana")["results"][0]["memory"]
        assert [statement.about for statement in memory.statements(kind="preference")] == ["Ana"]


class TestLangGraph:
    @pytest.fixture
    def store(self, memory: Memory) -> EverywordStore:
        return EverywordStore(memory)

    def test_it_answers_as_langgraph_s_own_store(self, store: EverywordStore) -> None:
        theirs = InMemoryStore()
        users = ("users", "ana")
        ops: list[list[Any]] = [
            [PutOp(users, "home", {"city": "Lisbon", "n": 1}), PutOp(users, "work", {"city": "Porto", "n": 2})],
            [PutOp(("users", "bo"), "home", {"city": "Madrid", "n": 3}), GetOp(("users", "bo"), "home")],
            [PutOp(users, "home", {"city": "Faro", "n": 1}), PutOp(users, "work", None)],
            [PutOp((*users, "deep", "er"), "x", {"n": 5})],
        ]
        for some in ops:
            assert [_plain(one) for one in store.batch(some)] == [_plain(one) for one in theirs.batch(some)]
        for options in (
            {},
            {"prefix": ("users", "*")},
            {"suffix": ("er",)},
            {"max_depth": 2},
            {"limit": 1, "offset": 1},
        ):
            assert sorted(store.list_namespaces(**options)) == sorted(theirs.list_namespaces(**options)), options
        asked: list[Any] = [
            GetOp(users, "home"),
            GetOp(users, "work"),
            GetOp(("nobody",), "x"),
            SearchOp(("users",), limit=10),
            SearchOp(users, filter={"n": 1}),
            SearchOp(("users",), filter={"n": {"$gte": 3}}),
            SearchOp(("nobody",)),
        ]
        for op in asked:
            assert _as_set(store.batch([op])) == _as_set(theirs.batch([op])), op

    def test_a_question_finds_what_an_item_says_now(self, store: EverywordStore, memory: Memory) -> None:
        store.put(("notes",), "a", {"text": "The boat is called Aurora."})
        store.put(("notes",), "b", {"text": "The car is called Blitz."})
        store.put(("notes",), "a", {"text": "The boat is called Bonança."})
        store.put(("notes",), "hidden", {"text": "The boat is called Secret."}, index=False)
        found = store.search(("notes",), query="What is the boat called?", limit=2)
        assert found[0].value == {"text": "The boat is called Bonança."}
        assert found[0].score is not None
        assert all("Aurora" not in one.value["text"] and "Secret" not in one.value["text"] for one in found)
        item = store.get(("notes",), "a")
        assert item is not None
        assert item.created_at <= item.updated_at
        assert memory.stats().events == 4  # every version stays

    def test_what_others_keep_crowds_nobody_out(self, store: EverywordStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(documents, "_HITS", (2, 4))
        store.put(("users", "ana"), "boat", {"text": "The boat needs paint."})
        for number in range(8):
            store.put(("users", "bo"), str(number), {"text": f"The boat, the boat, boat {number}!"})
        assert [one.key for one in store.search(("users", "ana"), query="boat")] == ["boat"]
        assert len(store.search(("users",), query="boat", limit=3)) == 3

    def test_what_a_filter_wants_is_found_whatever_else_is_nearer(self, store: EverywordStore) -> None:
        store.put(("n",), "rose", {"text": "Roses like the sun.", "kind": "plant", 'a"b': 1, "size": 0.5})
        store.put(("n",), "off", {"text": "The boat!", "kind": "plant", "size": 0.5}, index=False)
        for number in range(120):
            store.put(("n",), str(number), {"text": f"The boat, the boat, boat {number}!", "kind": "boat", "size": 2})
        for wanted in ({"kind": "plant"}, {"kind": {"$eq": "plant"}}, {"size": {"$lt": 1}}, {'a"b': 1}, {"size": 0.5}):
            assert [one.key for one in store.search(("n",), query="the boat", filter=wanted)] == ["rose"]

    def test_items_that_say_the_same_are_all_found(self, store: EverywordStore) -> None:
        for number in range(130):
            store.put(("n",), str(number), {"state": "done", "text": "The boat was painted today.", "of": number % 2})
        for limit, offset, count in ((100, 0, 100), (500, 0, 130), (500, 100, 30)):
            found = store.search(("n",), query="painted boat", limit=limit, offset=offset)
            assert len({one.key for one in found}) == len(found) == count
        assert len(store.search(("n",), query="painted boat", filter={"of": 1}, limit=500)) == 65

    def test_old_versions_crowd_nobody_out(self, store: EverywordStore) -> None:
        store.put(("n",), "rose", {"text": "Roses like the sun."})
        for number in range(120):
            store.put(("n",), "boat", {"text": f"The boat, the boat, boat {number}!"})
        assert [one.key for one in store.search(("n",), query="the boat")] == ["boat", "rose"]

    def test_items_of_older_memories_are_found(self, store: EverywordStore, memory: Memory) -> None:
        store.put(("users", "ana"), "boat", {"text": "The boat needs paint."})
        new = next(iter(memory.events()))
        said = {"langgraph": new.meta["langgraph"]}
        memory.forget(ids=[new.id])
        memory.add(new.text, key=new.key, session=new.session, speaker=new.speaker, role="tool", meta=said)
        assert [one.key for one in store.search(("users", "ana"), query="boat")] == ["boat"]
        assert store.search(("users", "bo"), query="boat") == []

    def test_words_of_any_language_are_found(self, store: EverywordStore, memory: Memory) -> None:
        store.put(("n",), "a", {"tags": ["Segelboot", "Müller"]})
        assert "Müller" in next(iter(memory.events())).text

    def test_a_large_value_comes_back_as_it_went_in(self, store: EverywordStore) -> None:
        value = {"text": "Ünicode and words. " * 5_000, "n": 1}
        store.put(("n",), "large", value)
        item = store.get(("n",), "large")
        assert item is not None
        assert item.value == value
        assert [one.key for one in store.search(("n",), query="words", filter={"n": 1})] == ["large"]

    def test_async(self, store: EverywordStore) -> None:
        async def use() -> Any:
            await store.aput(("n",), "k", {"v": 1})
            return await store.aget(("n",), "k")

        assert asyncio.run(use()).value == {"v": 1}


def _plain(result: Any) -> Any:
    return {"namespace": result.namespace, "key": result.key, "value": result.value} if result is not None else None


def _as_set(results: list[Any]) -> Any:
    found = results[0] if isinstance(results[0], list) else [results[0]]
    return sorted(str(_plain(one)) for one in found)


class TestOpenAISession:
    def test_items_come_back_as_they_went_in(self, memory: Memory) -> None:
        session = EverywordSession("s1", memory)
        items: list[dict[str, Any]] = [
            {"role": "user", "content": "Where is the boat?"},
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "In the harbour."}]},
        ]

        async def use() -> None:
            assert await session.get_items() == []
            assert await session.pop_item() is None
            await session.add_items(items[:1])
            await session.add_items(items[1:])
            assert await session.get_items() == items
            assert await session.get_items(limit=2) == items[1:]
            assert await session.pop_item() == items[2]
            assert await session.get_items() == items[:2]
            assert await EverywordSession("s2", memory).get_items() == []
            await session.add_items([])
            await session.clear_session()
            await session.clear_session()
            assert await session.get_items() == []
            await session.add_items(items[:1])
            assert await session.get_items() == items[:1]

        asyncio.run(use())
        assert memory.recall("harbour")[0].text == "In the harbour."

    def test_large_items_cost_no_other(self, memory: Memory) -> None:
        session = EverywordSession("s1", memory)
        large = {"type": "function_call_output", "call_id": "c", "output": "Öl 7 " * 100_000}
        items: list[dict[str, Any]] = [{"role": "user", "content": "What is in the log?"}, large]

        async def use() -> None:
            await session.add_items(items)
            assert await session.get_items() == items
            assert await session.pop_item() == large

        asyncio.run(use())


def test_secrets_stay_out_of_every_adapter_by_the_memory_s_own_patterns(tmp_path: Path) -> None:
    patterns = tmp_path / "patterns.json"
    patterns.write_text(json.dumps({"employee number": "EMP-[0-9]{6}"}))
    said = "My number is EMP-123456."
    with Memory.open(":memory:", embedder="none", settings=Settings(secret_patterns=str(patterns))) as memory:
        EverywordStore(memory).put(("n",), "a", {"text": said, "inner": {"text": [said]}})
        mem0 = Mem0(memory)
        mem0.update(mem0.add("x", user_id="ana")["results"][0]["id"], said, metadata={"note": said})
        mem0.add(said, user_id="ana", metadata={"note": said})
        asyncio.run(EverywordSession("s1", memory).add_items([{"role": "user", "content": said}]))
        KnowledgeGraph(memory).create_entities([{"name": "Ana", "entityType": "person", "observations": [said]}])
        MemoryFiles(memory).create("/memories/a", said)
        assert "EMP-" not in " ".join(f"{event.text} {event.meta}" for event in memory.events())
        asyncio.run(EverywordSession("s2", memory, redact="none").add_items([{"role": "user", "content": said}]))
        EverywordStore(memory, redact="none").put(("n",), "b", {"text": said})
        assert [event.text for event in memory.events() if "EMP-" in event.text] == [said, f"text: {said}"]
