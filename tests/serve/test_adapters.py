"""Other frameworks' interfaces on a memory: mem0's methods, LangGraph's store, a session of OpenAI's agents."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from tests.serve.service import serving

from everyword import Memory
from everyword.client import Client
from everyword.errors import InvalidFilter, InvalidInput, NotFound
from everyword.interfaces.adapters import documents
from everyword.interfaces.adapters.anthropic_memory import MemoryFiles
from everyword.interfaces.adapters.langchain import EverywordRetriever
from everyword.interfaces.adapters.langgraph_store import EverywordStore
from everyword.interfaces.adapters.mem0 import AsyncMem0, Mem0
from everyword.interfaces.adapters.openai_session import EverywordSession
from everyword.interfaces.mcp.reference_server import KnowledgeGraph
from everyword.settings import Settings
from everyword.types.events import Event


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing", reader="none") as opened:
        yield opened


@pytest.fixture
def reading() -> Iterator[Memory]:
    """Give a memory that reads statements; the others here need none."""
    with Memory.open(":memory:", embedder="hashing") as opened:
        yield opened


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """List the events that are read of any memory from now on."""
    read: list[Event] = []
    plain = Memory.events

    def noting(self: Memory, **filters: Any) -> Iterator[Event]:
        for event in plain(self, **filters):
            read.append(event)
            yield event

    monkeypatch.setattr(Memory, "events", noting)
    return read


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

    def test_what_a_filter_wants_is_found_whatever_else_is_nearer(
        self, mem0: Mem0, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(documents, "_HITS", (10, 200))
        mem0.add("Roses like the sun.", user_id="ana", metadata={"topic": "garden", "n": -1})
        mem0.add("A boat is in the garden.", user_id="ana", metadata={"topic": "garden", "n": -2.0})
        for number in range(50):
            mem0.add(f"The boat, the boat, boat {number}!", user_id="ana", metadata={"topic": "boats", "n": number})

        def found(**filters: Any) -> list[str]:
            return words(mem0.search("the boat", filters={"user_id": "ana", **filters}, threshold=0))

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
        monkeypatch.setattr(documents, "_HITS", (10, 50))
        for number in range(60):
            mem0.add(f"The boat, the boat, boat {number}!", user_id="ana")
        for limit, count in ((30, 30), (58, 58), (200, 60)):
            found = mem0.search("the boat", user_id="ana", limit=limit, threshold=0)["results"]
            assert len(found) == len({one["id"] for one in found}) == count
            assert len(mem0.get_all(user_id="ana", limit=limit)["results"]) == count

    def test_a_call_without_an_owner_raises(self, mem0: Mem0) -> None:
        mem0.add("I moved to Lisbon.", user_id="ana")
        for call in (
            lambda: mem0.search("Lisbon"),
            lambda: mem0.search("Lisbon", user_id=None),
            lambda: mem0.search("Lisbon", filters={}),
            lambda: mem0.search("Lisbon", filters={"user_id": None}),
            lambda: mem0.search("Lisbon", filters={"user_id": " "}),
            lambda: mem0.search("Lisbon", filters={"user_id": {"ne": "x"}}),
            lambda: mem0.search("Lisbon", filters={"topic": "home"}),
            lambda: mem0.search("Lisbon", filters={"NOT": [{"user_id": "bo"}]}),
            lambda: mem0.get_all(),
            lambda: mem0.get_all(filters={"OR": [{"user_id": "ana"}]}),
            lambda: mem0.add("x"),
            lambda: mem0.add("x", user_id=""),
            lambda: mem0.delete_all(),
        ):
            with pytest.raises(ValueError, match=r"user_id"):
                call()
        assert words(mem0.get_all(filters={"AND": [{"user_id": "ana"}]})) == ["I moved to Lisbon."]
        assert words(mem0.get_all(filters={"user_id": {"in": ["ana", "bo"]}})) == ["I moved to Lisbon."]

    def test_unknown_arguments_raise(self, mem0: Mem0) -> None:
        for call in (mem0.add, mem0.search, mem0.get_all, mem0.delete_all):
            with pytest.raises(TypeError):
                call("x", user_id="ana", usr="ana")
        id = mem0.add("x", user_id="ana")["results"][0]["id"]
        for call in (
            lambda: mem0.search(" ", user_id="ana"),
            lambda: mem0.search("x", user_id="ana", threshold=2),
            lambda: mem0.search("x", user_id="ana", top_k=-1),
            lambda: mem0.get_all(user_id="ana", top_k="3"),
            lambda: mem0.add("x", user_id="ana", expiration_date="soon"),
            lambda: mem0.add("x", user_id="ana", memory_type="semantic"),
            lambda: mem0.add(7, user_id="ana"),  # type: ignore[arg-type]
            lambda: mem0.update(id),
            lambda: mem0.update("nothing", "x"),
            lambda: mem0.delete("nothing"),
            lambda: mem0.get_all(filters={"user_id": "ana", "n": {"like": 1}}),
        ):
            with pytest.raises(ValueError, match=r"."):
                call()

    def test_times_and_expiry(self) -> None:
        now = datetime(2026, 5, 1, tzinfo=UTC)
        with Memory.open(":memory:", embedder="hashing", clock=lambda: now) as memory:
            mem0 = Mem0(memory)
            mem0.add("The boat is red.", user_id="ana", timestamp=1_700_000_000, expiration_date="2026-05-01")
            id = mem0.add("The boat is blue.", user_id="ana", expiration_date=date(2026, 5, 9))["results"][0]["id"]
            first = mem0.get_all(user_id="ana")["results"][1]
            assert first["created_at"] == "2023-11-14T22:13:20+00:00"
            assert first["expiration_date"] == "2026-05-01"
            now += timedelta(days=1)
            assert (
                words(mem0.get_all(user_id="ana")) == words(mem0.search("boat", user_id="ana")) == ["The boat is blue."]
            )
            assert len(words(mem0.search("boat", user_id="ana", show_expired=True))) == 2
            mem0.update(id, expiration_date="2026-05-01")
            assert words(mem0.get_all(user_id="ana")) == []
            mem0.update(id, expiration_date=None, text="The boat is green.")
            assert words(mem0.get_all(user_id="ana", top_k=1)) == ["The boat is green."]
            assert mem0.get(id)["created_at"] == "2026-05-01T00:00:00+00:00"  # type: ignore[index]

    def test_scores_are_between_0_and_1_and_the_threshold_holds(self, mem0: Mem0) -> None:
        for text in ("I like tea more than coffee.", "The dog is called Rex.", "Rain again."):
            mem0.add(text, user_id="ana")

        def scores(**options: Any) -> dict[str, float]:
            found = mem0.search("I like tea more than coffee.", user_id="ana", **options)["results"]
            return {one["memory"]: one["score"] for one in found}

        every = scores(threshold=0)
        assert len(every) == 3
        assert all(0 <= score <= 1 for score in every.values())
        best = every["I like tea more than coffee."]
        assert best == max(every.values())
        assert set(scores(threshold=best)) == {"I like tea more than coffee."}
        assert scores() == {text: score for text, score in every.items() if score >= 0.1}
        explained = mem0.search("tea", user_id="ana", explain=True)["results"][0]
        assert "vectors" in explained["score_details"]

    def test_names_metadata_and_scope_stay_apart(self, mem0: Mem0) -> None:
        said = [{"role": "user", "name": "Bo", "content": "I sail."}, {"role": "system", "content": "Be nice."}]
        added = mem0.add(said, user_id=7, metadata={"user_id": "eve", "n": 1})["results"]  # type: ignore[arg-type]
        assert [(one["actor_id"], one["role"]) for one in added] == [("Bo", "user")]
        kept = mem0.get_all(filters={"user_id": 7, "actor_id": "Bo"})["results"]
        assert [(one["user_id"], one["metadata"]) for one in kept] == [("7", {"n": 1})]
        mem0.update(kept[0]["id"], metadata={"user_id": "eve"})
        assert words(mem0.get_all(user_id="eve")) == []
        assert len(mem0.history(kept[0]["id"])) == 2

    def test_it_opens_from_a_configuration(self, tmp_path: Path) -> None:
        (tmp_path / "vectors").mkdir()
        config = {
            "vector_store": {"provider": "qdrant", "config": {"path": str(tmp_path / "vectors")}},
            "version": "v1.1",
        }
        with Mem0.from_config({**config, "embedder": {"provider": "openai"}}) as mem0:
            mem0.add("I moved to Lisbon.", user_id="ana")
        with Mem0.from_config({"location": tmp_path / "vectors" / "everyword.db"}) as mem0:
            assert words(mem0.get_all(user_id="ana")) == ["I moved to Lisbon."]
        for wrong in ({}, {**config, "vectors": 1}):
            with pytest.raises(InvalidInput):
                Mem0.from_config(wrong)

    def test_async(self, memory: Memory) -> None:
        async def use() -> None:
            async with AsyncMem0(memory) as mem0:
                id = (await mem0.add("I moved to Lisbon.", user_id="ana"))["results"][0]["id"]
                await mem0.update(id, text="I moved to Porto.")
                assert words(await mem0.search("moved", filters={"user_id": "ana"})) == ["I moved to Porto."]
                assert words(await mem0.get_all(filters={"user_id": "ana"})) == ["I moved to Porto."]
                assert [one["event"] for one in await mem0.history(id)] == ["ADD", "UPDATE"]
                await mem0.delete_all(user_id="ana")
                assert await mem0.get(id) is None
                with pytest.raises(ValueError, match="not found"):
                    await mem0.delete(id)
                await mem0.reset()

        asyncio.run(use())
        assert memory.stats().events == 0

    def test_secrets_stay_out_and_statements_are_derived(self, reading: Memory) -> None:
        mem0 = Mem0(reading)
        mem0.add("I prefer tea over coffee. My token is ghp_" + "a1B2c3D4" * 4 + "e5F6", user_id="Ana")
        assert "ghp_" not in mem0.get_all(user_id="Ana")["results"][0]["memory"]
        assert [statement.about for statement in reading.statements(kind="preference")] == ["Ana"]


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
        for number in range(220):
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
        for number in range(220):
            store.put(("n",), "boat", {"text": f"The boat, the boat, boat {number}!"})
        assert [one.key for one in store.search(("n",), query="the boat")] == ["boat", "rose"]

    def test_values_come_back_exactly_as_put(self, store: EverywordStore) -> None:
        value = {"z": 1, "a": {"y": 2.0, "b": [True, None, {"x": ""}]}, "": "Ünicode \n", "big": 2**70}
        store.put(("n",), "k", value)
        item = store.get(("n",), "k")
        assert item is not None
        assert json.dumps(item.value) == json.dumps(value)  # the order and the types of members too
        store.put(("n",), "empty", {})
        assert [one.value for one in store.search(("n",), limit=1)] == [{}]

    def test_filters_answer_as_langgraph_s_own_store(self, store: EverywordStore) -> None:
        theirs = InMemoryStore()
        values: list[dict[str, Any]] = [
            {"n": 1, "user": {"access-level": "low", "tags": ["a", "b"]}, "on": True},
            {"n": 2.5, "user": {"access-level": "high", "tags": ["a"]}, "on": False},
            {"n": 3, "user": {"access-level": "high", "deep": {"er": 1}}, "on": 1},
            {"n": 0, "user": "none", "on": "x"},
            {"n": 7, **{f"field{number}": number for number in range(40)}},
            {"n": "2"},
            {"n": "inf"},
            {"n": "0" * 150 + "9"},
        ]
        for number, value in enumerate(values):
            for one in (store, theirs):
                one.put(("n",), str(number), value)
        for wanted in (
            {"n": 1}, {"n": {"$eq": 1}}, {"n": {"$ne": 1}}, {"n": {"$gt": 1}}, {"n": {"$gte": 1, "$lt": 3}},
            {"n": {"$lte": 2.5}}, {"on": True}, {"on": 1}, {"on": False}, {"user": {"access-level": "high"}},
            {"user": {"deep": {"er": 1}}}, {"user": {"tags": ["a", "b"]}}, {"user": {"tags": ["a", {"$ne": "a"}]}},
            {"user": "none"}, {"user": None}, {"nothing": None}, {"nothing": 1}, {"field39": 39}, {"field39": 38},
            {"field0": 0, "n": {"$gt": 6}}, {"user": {"access-level": {"$ne": "high"}}}, {"n": {"$gt": "1"}},
            {"n": {"$lt": 10**300}}, {"n": {"$gte": True, "$lte": 2}},
            {"n": {"$gt": "inf"}},
        ):  # fmt: skip
            op = SearchOp(("n",), filter=wanted, limit=50)
            assert _as_set(store.batch([op])) == _as_set(theirs.batch([op])), wanted
        for number, value in enumerate(("b", None, [1])):  # theirs can't compare these
            store.put(("n",), f"odd {number}", {"n": value})
        assert [one.key for one in store.search(("n",), filter={"n": {"$gt": 100}})] == ["6"]
        assert [one.key for one in store.search(("n",), filter={"field39": {"$gt": 38}})] == ["4"]
        assert {one.key for one in store.search(("n",), filter={"n": {"$gt": "a"}})} == {"6", "odd 0"}

    def test_dotted_filters_reach_inside(self, store: EverywordStore) -> None:
        store.put(("n",), "inside", {"user": {"access-level": "high", "age": 30}})
        store.put(("n",), "named", {"user.access-level": "high", "user.age": 20})
        store.put(("n",), "other", {"user": {"access-level": "low"}})

        def keys(wanted: dict[str, Any]) -> set[str]:
            return {one.key for one in store.search(("n",), filter=wanted)}

        assert keys({"user.access-level": "high"}) == {"inside", "named"}
        assert keys({"user.age": {"$gte": 25}}) == {"inside"}
        assert keys({"user.name": {"$gt": "a"}}) == set()

    def test_what_is_wrong_raises_as_in_langgraph(self, store: EverywordStore) -> None:
        store.put(("n",), "k", {"v": 1})
        for call in (
            lambda: store.search(("n",), filter={"v": {"$like": 1}}),
            lambda: store.batch(["get"]),  # type: ignore[list-item]
            lambda: store.batch([ListNamespacesOp((MatchCondition("infix", ("n",)),))]),  # type: ignore[arg-type]
            lambda: store.put((), "k", {"v": 1}),
            lambda: store.put(("langgraph",), "k", {"v": 1}),
            lambda: store.batch([PutOp(("a.b",), "k", {"v": 1})]),
        ):
            with pytest.raises(ValueError, match=r"[Uu]nsupported|Unknown operation|[Nn]amespace"):
                call()
        with pytest.raises(TypeError):
            store.put(("n",), "k", {"v": object()})

    def test_a_filter_is_applied_by_the_database(self, store: EverywordStore, read: list[Event]) -> None:
        store.batch([PutOp(("users", f"u{n % 5}"), str(n), {"n": n, "kind": "boat"}) for n in range(60)])
        read.clear()
        assert store.search(("users",), filter={"kind": "car"}) == []
        assert store.search(("users",), filter={"nested.kind": "car"}) == []
        assert store.search(("nobody",)) == []
        assert store.search(("users",), filter={"n": {"$gt": 59}}) == []
        assert read == []
        assert [one.key for one in store.search(("users",), filter={"n": 7})] == ["7"]
        assert len(read) == 2  # the item, and whether it is current
        assert [one.key for one in store.search(("users",), filter={"n": {"$gte": 8, "$lt": 9}})] == ["8"]
        assert len(read) == 4
        assert store.list_namespaces() == [("users", f"u{n}") for n in range(5)]
        assert len(read) == 14  # the newest item of each, and whether it is current

    def test_a_namespace_is_listed_while_it_holds_an_item(self, store: EverywordStore) -> None:
        long = tuple(f"{level} {'ü' * 60}" for level in range(3))
        for namespace in (("a", "b"), ("a", "c"), ("a",), long):
            store.put(namespace, "k", {"v": 1})
        store.batch([PutOp(("new",), str(n), {"v": n}) for n in range(600)])
        assert store.list_namespaces() == sorted([("a",), ("a", "b"), ("a", "c"), ("new",), long])
        assert store.list_namespaces(max_depth=1, limit=2) == [(long[0],), ("a",)]
        assert store.list_namespaces(prefix=("a",), offset=1) == [("a", "b"), ("a", "c")]
        store.delete(("a", "b"), "k")
        store.delete(long, "k")
        assert store.list_namespaces() == [("a",), ("a", "c"), ("new",)]

    def test_only_indexed_fields_are_searched(self, memory: Memory) -> None:
        store = EverywordStore(memory, index={"fields": ["text"]})
        store.put(("n",), "a", {"text": "The boat is red.", "note": "giraffe"})
        store.put(("n",), "b", {"text": "giraffe", "parts": [{"of": "mast"}, {"of": "keel"}]}, index=["parts[*].of"])
        store.put(("n",), "c", {"other": "no such field"})
        texts = {event.text for event in memory.events()}
        assert {"The boat is red.", "mast\nkeel"} < texts
        assert not any("giraffe" in text for text in texts)
        assert {one.key for one in store.search(("n",), query="giraffe")} == {"a", "b"}
        assert store.search(("n",), query="keel")[0].key == "b"
        assert {one.key for one in store.search(("n",))} == {"a", "b", "c"}

    def test_time_to_live(self) -> None:
        now = datetime(2026, 5, 1, tzinfo=UTC)
        with Memory.open(":memory:", embedder="hashing", clock=lambda: now) as memory:
            store = EverywordStore(memory, ttl={"default_ttl": 10, "refresh_on_read": True})
            hiding = EverywordStore(memory, ttl={"omit_expired": True, "refresh_on_read": False})
            store.put(("n",), "short", {"text": "The boat."})
            store.put(("n",), "read", {"text": "The boat."})
            store.put(("n",), "long", {"text": "The boat."}, ttl=60)
            store.put(("m",), "ever", {"text": "The boat."}, ttl=None)
            now += timedelta(minutes=8)
            assert store.sweep_ttl() == 0
            before = store.get(("n",), "read")
            now += timedelta(minutes=8)
            assert hiding.get(("n",), "short") is None
            assert {one.key for one in hiding.search(("n",), query="boat")} == {"read", "long"}
            assert store.get(("n",), "short", refresh_ttl=False) is not None  # until it is swept
            assert store.sweep_ttl() == 1
            assert {one.key for one in store.search((), refresh_ttl=False)} == {"read", "long", "ever"}
            assert before == hiding.get(("n",), "read")  # reading is no update
            now += timedelta(minutes=50)
            assert hiding.list_namespaces() == [("m",)]
            assert (store.sweep_ttl(), store.sweep_ttl()) == (2, 0)

    def test_the_sweeper_sweeps_until_it_is_stopped(self, store: EverywordStore) -> None:
        store.put(("n",), "k", {"v": 1}, ttl=0.0001)
        running = store.start_ttl_sweeper(sweep_interval_minutes=0.0002)
        for _ in range(500):
            if store.get(("n",), "k", refresh_ttl=False) is None:
                break
            time.sleep(0.02)
        assert store.get(("n",), "k") is None
        assert not running.done()
        assert store.stop_ttl_sweeper()
        running.result(timeout=10)

    def test_long_names(self, store: EverywordStore) -> None:
        for key in ("k" * 3000, "k" * 3001):
            store.put(("n" * 900,), key, {"v": len(key)})
        assert sorted(one.value["v"] for one in store.search(("n" * 900,))) == [3000, 3001]

    def test_words_of_any_language_are_found(self, store: EverywordStore, memory: Memory) -> None:
        store.put(("n",), "a", {"tags": ["Segelboot", "Müller"]})
        assert "Müller" in next(iter(memory.events())).text

    def test_a_large_value_comes_back_as_it_went_in(self, store: EverywordStore) -> None:
        value = {"text": "Ünicode and words. " * 30_000, "n": 1}
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

    def test_items_keep_who_said_them_and_become_statements(self, reading: Memory) -> None:
        session = EverywordSession("s1", reading, user="Ana", agent="Clerk")
        items: list[dict[str, Any]] = [
            {"role": "user", "content": "I prefer tea over coffee."},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Noted.", "annotations": []}]},
            {"type": "function_call", "call_id": "c", "name": "brew", "arguments": '{"what": "tea"}'},
            {"type": "function_call_output", "call_id": "c", "output": "Tea is ready."},
            {"type": "reasoning", "id": "r", "summary": []},
            {"role": "user", "content": [{"type": "input_text", "text": "Thanks."}, {"type": "sparkle", "of": 1}]},
            {"role": "developer", "content": "Be brief.", "name": "ops"},
        ]
        asyncio.run(session.add_items(items))
        assert json.dumps(asyncio.run(session.get_items())) == json.dumps(items)  # the order of members too
        said = [(event.role, event.speaker, event.source) for event in reading.events(session="s1")]
        assert said == [
            ("user", "Ana", "user"),
            ("assistant", "Clerk", "assistant"),
            ("tool", "brew", "tool"),
            ("tool", "tool", "tool"),
            ("tool", "tool", "tool"),
            ("user", "Ana", "user"),
            ("developer", "ops", "assistant"),
        ]
        assert [event.text for event in reading.events(session="s1", role="user")] == [
            "I prefer tea over coffee.",
            "Thanks.",
        ]
        assert [statement.about for statement in reading.statements(kind="preference")] == ["Ana"]

    def test_settings_limit_what_is_read(self, memory: Memory) -> None:
        session = EverywordSession("s1", memory, session_settings=SimpleNamespace(limit=2))
        items = [{"role": "user", "content": str(number)} for number in range(5)]
        asyncio.run(session.add_items(items))
        for limit, kept in ((None, 2), (3, 3), (0, 0), (-1, 0), (9, 5)):
            assert asyncio.run(session.get_items(limit)) == items[5 - kept :], limit
        session.session_settings = None
        assert asyncio.run(session.get_items()) == items

    def test_the_cost_does_not_grow_with_the_session(self, memory: Memory, read: list[Event]) -> None:
        session = EverywordSession("s1", memory)

        def cost(work: Any) -> int:
            read.clear()
            asyncio.run(work)
            return len(read)

        def item(number: int) -> list[dict[str, Any]]:
            return [{"role": "user", "content": f"Line {number}."}]

        costs: list[list[int]] = []
        for start in (0, 300):
            asyncio.run(session.add_items([one for number in range(300) for one in item(start + number)]))
            works = (session.add_items(item(-1)), session.get_items(5), session.pop_item(), session.get_items(5))
            costs.append([cost(work) for work in works])
        assert costs[0] == costs[1]
        assert max(costs[0]) < 10

    def test_popping_and_clearing_again_and_again(self, memory: Memory) -> None:
        session = EverywordSession("s1", memory)
        other = EverywordSession("s1", memory.wing("other"))
        memory.add("Said by somebody else.", session="s1")
        expected: list[dict[str, Any]] = []

        async def use() -> None:
            for number in range(60):
                if number % 5 in (3, 4):
                    popped = await session.pop_item()
                    assert popped == (expected.pop() if expected else None)
                elif number == 40:
                    await session.clear_session()
                    expected.clear()
                else:
                    expected.append({"role": "user", "content": f"Line {number}."})
                    await session.add_items(expected[-1:])
                assert await session.get_items() == expected
                assert await session.get_items(3) == expected[-3:]
            while expected:
                assert await session.pop_item() == expected.pop()
            assert await session.pop_item() is None
            assert await other.get_items() == []
            await other.add_items([{"role": "user", "content": "In a wing."}])
            assert len(await other.get_items()) == 1
            assert await EverywordSession("s1", memory, wing="other").get_items() == await other.get_items()
            assert await session.get_items() == []

        asyncio.run(use())

    def test_no_item_is_popped_twice_or_lost(self, memory: Memory) -> None:
        items = [{"role": "user", "content": f"Line {number}."} for number in range(8)]

        async def use() -> list[Any]:
            sessions = [EverywordSession("s1", memory) for _ in range(4)]
            await asyncio.gather(*(one.add_items([item]) for one, item in zip(sessions * 2, items, strict=True)))
            popped = await asyncio.gather(*(one.pop_item() for one in sessions * 2))
            assert await sessions[0].get_items() == []
            return popped

        assert sorted(one["content"] for one in asyncio.run(use())) == [item["content"] for item in items]

    def test_a_cancelled_write_is_done_before_the_caller_learns_it(
        self, memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = EverywordSession("s1", memory)
        started, may_end = threading.Event(), threading.Event()
        plain = Memory.add_many

        def slow(self: Memory, *args: Any, **kwargs: Any) -> Any:
            started.set()
            assert may_end.wait(20)
            return plain(self, *args, **kwargs)

        async def use() -> None:
            task = asyncio.create_task(session.add_items([{"role": "user", "content": "Kept."}]))
            await asyncio.to_thread(started.wait, 20)
            task.cancel()
            await asyncio.sleep(0.05)
            assert not task.done()
            may_end.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await session.get_items() == [{"role": "user", "content": "Kept."}]

        monkeypatch.setattr(Memory, "add_many", slow)
        asyncio.run(use())

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


class TestLangChain:
    def test_a_retriever_finds_events_with_their_metadata(self, memory: Memory) -> None:
        memory.add("I moved to Lisbon.", speaker="Ana", at="2026-04-02T10:00Z", meta={"topic": "home"})
        memory.add("I moved to Porto.", speaker="Bo")
        retriever = EverywordRetriever(memory=memory, k=5, filters={"speaker": "Ana"})
        found = retriever.invoke("Who moved?")
        assert [(one.page_content, one.metadata["topic"]) for one in found] == [("I moved to Lisbon.", "home")]
        assert memory.get(found[0].id).speaker == found[0].metadata["speaker"] == "Ana"
        assert found[0].metadata["at"] == "2026-04-02T10:00:00+00:00"
        assert [one.id for one in asyncio.run(retriever.ainvoke("Who moved?"))] == [found[0].id]
        assert [one.page_content for one in retriever.invoke("Who moved?", speaker="Bo")] == ["I moved to Porto."]
        chain = retriever | (lambda documents: [one.page_content for one in documents])
        assert chain.invoke("Who moved?") == ["I moved to Lisbon."]
        assert len(EverywordRetriever(memory=memory, k=1).invoke("moved")) == 1

    def test_a_filter_that_is_not_known_raises(self, memory: Memory) -> None:
        with pytest.raises(InvalidFilter):
            EverywordRetriever(memory=memory, filters={"speakr": "Ana"}).invoke("Who moved?")


class TestOverHttp:
    """Each adapter works on a client of a service as on a memory."""

    @pytest.fixture
    def client(self, memory: Memory) -> Iterator[Client]:
        with serving(memory) as address, Client(address) as client:
            yield client

    def test_langgraph(self, client: Client) -> None:
        store = EverywordStore(client, ttl={"refresh_on_read": True, "omit_expired": True})
        store.batch([PutOp(("n", str(n)), "k", {"n": n, "text": f"Boat {n}.", "in": {"side": n}}) for n in range(3)])
        store.put(("n", "0"), "k", {"n": 7, "text": "The house."})
        store.put(("n", "1"), "gone", {"n": 7}, ttl=0.00001)
        store.put(("n", "1"), "stays", {"n": 8}, ttl=100)
        time.sleep(0.01)
        assert store.get(("n", "0"), "k").value == {"n": 7, "text": "The house."}  # type: ignore[union-attr]
        assert store.get(("n", "1"), "gone") is None
        assert [one.value["n"] for one in store.search(("n",), filter={"in.side": {"$gte": 1}, "n": {"$lt": 2}})] == [1]
        assert store.search(("n",), query="the house", limit=1)[0].key == "k"
        assert store.list_namespaces(max_depth=1) == [("n",)]
        assert store.sweep_ttl() == 1
        store.delete(("n", "2"), "k")
        assert asyncio.run(store.aget(("n", "2"), "k")) is None

    def test_openai(self, client: Client) -> None:
        session = EverywordSession("s1", client, user="Ana")
        items = [{"role": "user", "content": f"Line {number}."} for number in range(30)]

        async def use() -> None:
            await session.add_items(items)
            assert await session.get_items() == items
            assert await session.pop_item() == items[-1]
            assert await session.get_items(25) == items[4:-1]
            await session.clear_session()
            assert await session.get_items() == []

        asyncio.run(use())
        assert next(iter(client.events(session="s1"))).speaker == "Ana"

    def test_mem0(self, client: Client) -> None:
        mem0 = Mem0(client)
        id = mem0.add("My token is ghp_" + "a1B2c3D4" * 4 + "e5F6", user_id="ana", timestamp="2026-01-01")["results"][
            0
        ]["id"]
        assert "ghp_" not in mem0.get_all(user_id="ana")["results"][0]["memory"]
        mem0.update(id, text="The boat is red.", metadata={"n": 1})
        assert words(mem0.search("red boat", filters={"user_id": "ana", "n": 1})) == ["The boat is red."]
        assert len(mem0.history(id)) == 2
        mem0.delete_all(user_id="ana")
        assert mem0.get(id) is None
        mem0.reset()
        assert list(client.events()) == []

    def test_anthropic_s_files_and_the_knowledge_graph(self, client: Client) -> None:
        files = MemoryFiles(client, wing="w")
        files.create("/memories/a.md", "Ana lives in Porto.")
        files.str_replace("/memories/a.md", "Porto", "Lisbon")
        assert "Lisbon" in files.view("/memories/a.md")
        graph = KnowledgeGraph(client)
        graph.create_entities([{"name": "Ana", "entityType": "person", "observations": ["sails"]}])
        assert graph.search_nodes("sails")["entities"]

    def test_langchain(self, client: Client) -> None:
        client.add("I moved to Lisbon.", speaker="Ana")
        found = EverywordRetriever(memory=client).invoke("Who moved?")
        assert [one.page_content for one in found] == ["I moved to Lisbon."]
