"""Run each adapter beside its owner's own implementation, from the packages that are installed, and compare.

    python tools/check_adapters.py            # report what agrees; the exit code counts what does not
    python tools/check_adapters.py --speed    # also measure both sides at 2,000 items and 5,000 messages

Nothing is downloaded. A package that is not installed is reported as such: langgraph, langgraph-checkpoint-sqlite,
openai-agents, mem0ai, anthropic.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from everyword import Memory

ITEMS, MESSAGES = 2_000, 5_000  # of --speed
# Arguments of mem0's that Everyword has no use for: an LLM, a date that only mem0's platform takes, what mem0 ignores.
NOT_OURS = {"add": {"llm"}, "search": {"reference_date", "kwargs"}, "get_all": {"kwargs"}}

Check = tuple[str, Callable[[], bool]]


@contextmanager
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing") as opened:
        yield opened


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call gives, or the built-in kind of its error."""
    try:
        return call()
    except Exception as error:
        kinds = (ValueError, TypeError, NotImplementedError)
        return next((kind.__name__ for kind in kinds if isinstance(error, kind)), type(error).__name__)


# LangGraph


def langgraph() -> Iterator[Check]:
    base: Any = import_module("langgraph.store.base")
    theirs: Any = import_module("langgraph.store.memory").InMemoryStore
    ours: Any = import_module("everyword.interfaces.adapters.langgraph_store").EverywordStore
    values: list[dict[str, Any]] = [
        {"n": 1, "user": {"level": "low", "tags": ["a", "b"]}, "on": True, "text": "The boat is red."},
        {"n": 2.5, "user": {"level": "high", "tags": ["a"]}, "on": False, "text": "Tea with milk."},
        {"n": 3, "user": {"level": "high", "deep": {"er": 1}}, "on": 1, "text": "Ünicode\n"},
        {"n": 0, "user": "none", "on": "x", **{f"f{number}": number for number in range(40)}},
    ]
    spaces = [("a",), ("a", "b"), ("a", "b", "c"), ("d", "b")]

    def plain(result: Any) -> Any:
        if isinstance(result, list):
            return sorted(str(plain(one)) for one in result)
        return (result.namespace, result.key, json.dumps(result.value)) if hasattr(result, "value") else result

    def same(call: Callable[[Any], Any]) -> bool:
        with memory() as opened:
            answers: list[Any] = []
            for store in (theirs(), ours(opened)):
                for number, value in enumerate(values):
                    store.put(spaces[number], str(number), value)
                answers.append(outcome(lambda store=store: plain(call(store))))
            return answers[0] == answers[1]

    filters: list[dict[str, Any]] = [
        {"n": 1}, {"n": {"$eq": 2.5}}, {"n": {"$ne": 1}}, {"n": {"$gt": 1}}, {"n": {"$gte": 1, "$lt": 3}},
        {"n": {"$lte": 1}}, {"on": True}, {"on": False}, {"user": {"level": "high"}}, {"user": {"deep": {"er": 1}}},
        {"user": {"tags": ["a", "b"]}}, {"user": {"level": {"$ne": "high"}}},
        {"user": None}, {"no": None}, {"no": 1}, {"f39": 39}, {"f39": 38},
        {"n": {"$like": 1}},
    ]  # fmt: skip
    for wanted in filters:
        yield f"filter {wanted}", lambda wanted=wanted: same(lambda store: store.search((), filter=wanted))
    for prefix in ((), ("a",), ("a", "b"), ("x",)):
        yield f"search {prefix}", lambda prefix=prefix: same(lambda store: store.search(prefix))
    lists: list[dict[str, Any]] = [
        {}, {"prefix": ("a",)}, {"prefix": ("*", "b")}, {"suffix": ("b",)}, {"suffix": ("b", "*")}, {"max_depth": 1},
        {"limit": 2, "offset": 1}, {"prefix": ("a",), "suffix": ("c",)},
    ]  # fmt: skip
    for options in lists:
        yield f"list_namespaces {options}", lambda options=options: same(lambda store: store.list_namespaces(**options))
    wrong: dict[str, Callable[[Any], Any]] = {
        "put into ()": lambda store: store.put((), "k", {}),
        "put into langgraph": lambda store: store.put(("langgraph",), "k", {}),
        "put into a.b": lambda store: store.put(("a.b",), "k", {}),
        "put into ''": lambda store: store.put(("",), "k", {}),
        "unknown operation": lambda store: store.batch(["x"]),
        "get": lambda store: store.get(("a", "b"), "1"),
        "get nothing": lambda store: store.get(("a", "b"), "2"),
        "async get": lambda store: asyncio.run(store.aget(("a", "b"), "1")),
        "delete": lambda store: (store.delete(("a",), "0"), store.get(("a",), "0"))[1],
        "delete nothing": lambda store: store.delete(("a",), "9"),
        "update": lambda store: (store.put(("a",), "0", {"z": 1, "a": 2}), store.get(("a",), "0"))[1],
        "reads see the state before a batch": lambda store: store.batch(
            [base.PutOp(("a",), "0", {"n": 9}), base.GetOp(("a",), "0")]
        )[1],
        "the last write of a batch wins": lambda store: (
            store.batch([base.PutOp(("a",), "0", {"n": 9}), base.PutOp(("a",), "0", {"n": 8})]),
            store.get(("a",), "0"),
        )[1],
    }
    for name, call in wrong.items():
        yield name, lambda call=call: same(call)
    yield "time to live", lambda: _expires(ours)
    if find_spec("langgraph.graph"):
        yield "a graph reads and writes it", lambda: _runs_in_a_graph(ours)


def _expires(ours: Any) -> bool:
    with memory() as opened:
        store = ours(opened, ttl={"default_ttl": 0.6 / 60})
        store.put(("a",), "short", {})
        store.put(("a",), "ever", {}, ttl=None)
        swept = [store.sweep_ttl()]
        time.sleep(0.7)
        swept.append(store.sweep_ttl())
        return swept == [0, 1] and [one.key for one in store.search(("a",))] == ["ever"]


def _runs_in_a_graph(ours: Any) -> bool:
    graphs: Any = import_module("langgraph.graph")

    def node(state: dict[str, Any], *, store: Any) -> dict[str, Any]:
        store.put(("users", "ana"), "seen", {"text": state["said"]})
        return {"said": store.search(("users",), query="boat")[0].value["text"]}

    node.__annotations__["store"] = import_module("langgraph.store.base").BaseStore
    with memory() as opened:
        graph = graphs.StateGraph(dict)
        graph.add_node("node", node)
        graph.add_edge(graphs.START, "node")
        return graph.compile(store=ours(opened)).invoke({"said": "A boat."}) == {"said": "A boat."}


# OpenAI Agents


def openai() -> Iterator[Check]:
    agents: Any = import_module("agents")
    ours: Any = import_module("everyword.interfaces.adapters.openai_session").EverywordSession
    items: list[Any] = [
        {"role": "user", "content": "Where is the boat?"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "In the harbour."},
        {"type": "reasoning", "id": "r", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "There.", "annotations": []}],
        },
        {"role": "user", "content": [{"type": "input_image", "image_url": "http://x"}]},
        {"type": "computer_call", "call_id": "d", "action": {"type": "click", "x": 1, "y": 2}},
    ]

    async def adds(session: Any) -> Any:
        await session.add_items(items)
        return await session.get_items()

    async def limits(session: Any) -> Any:
        await session.add_items(items)
        return [await session.get_items(limit) for limit in (1, 3, 7, 99)]

    async def pops(session: Any) -> Any:
        await session.add_items(items[:2])
        popped = [await session.pop_item() for _ in range(3)]
        await session.add_items(items[2:3])
        return popped, await session.get_items()

    async def clears(session: Any) -> Any:
        await session.add_items(items)
        await session.clear_session()
        await session.clear_session()
        await session.add_items([])
        before = await session.get_items()
        await session.add_items(items[:1])
        return before, await session.get_items()

    async def settles(session: Any) -> Any:
        session.session_settings = agents.SessionSettings(limit=2)
        await session.add_items(items)
        return await session.get_items(), await session.get_items(4)

    def same(work: Callable[[Any], Any]) -> bool:
        with memory() as opened:
            return asyncio.run(work(agents.SQLiteSession("s"))) == asyncio.run(work(ours("s", opened)))

    for work in (adds, limits, pops, clears, settles):
        yield work.__name__, lambda work=work: same(work)

    def is_a_session() -> bool:
        with memory() as opened:
            return isinstance(ours("s", opened, session_settings={"limit": 3}), agents.Session)

    yield "is a Session", is_a_session
    yield "a run reads and writes it", lambda: _runs_an_agent(agents, ours)


def _runs_an_agent(agents: Any, ours: Any) -> bool:
    seen: list[int] = []
    messages: Any = import_module("openai.types.responses")

    class Model(agents.models.interface.Model):  # type: ignore[misc, name-defined]
        """Answers, and notes how many items it was given."""

        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append(len(input))
            text = messages.ResponseOutputText(text="Yes.", type="output_text", annotations=[], logprobs=[])
            said = messages.ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
            return agents.ModelResponse(output=[said], usage=agents.Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    agents.set_tracing_disabled(True)
    with memory() as opened:
        session = ours("s", opened, user="Ana", agent="Clerk")
        agent = agents.Agent(name="Clerk", model=Model())
        for said in ("I prefer tea over coffee.", "Do you remember?"):
            asyncio.run(agents.Runner.run(agent, said, session=session))
        told = [statement.about for statement in opened.statements(kind="preference")]
        return seen == [1, 3] and told == ["Ana"]


# mem0


def mem0() -> Iterator[Check]:
    theirs: Any = import_module("mem0.memory.main")
    ours: Any = import_module("everyword.interfaces.adapters.mem0")
    names = "add search get get_all update delete delete_all history reset".split()
    for cls, their_cls in ((ours.Mem0, theirs.Memory), (ours.AsyncMem0, theirs.AsyncMemory)):
        for name in names:
            yield (
                f"{their_cls.__name__}.{name} takes all arguments",
                lambda pair=(cls, their_cls, name): _takes_all(*pair),
            )
    filters = {"user_id": "ana"}
    wrong: dict[str, Callable[[Any], Any]] = {
        "search without an owner": lambda one: one.search("x"),
        "search with no owner in filters": lambda one: one.search("x", filters={"topic": "y"}),
        "get_all without an owner": lambda one: one.get_all(),
        "delete_all without an owner": lambda one: one.delete_all(),
        "search with a blank owner": lambda one: one.search("x", filters={"user_id": " "}),
        "search for nothing": lambda one: one.search(" ", filters=filters),
        "a threshold above 1": lambda one: one.search("x", filters=filters, threshold=2),
        "a negative top_k": lambda one: one.get_all(filters=filters, top_k=-1),
        "a wrong expiration_date": lambda one: one.add("x", user_id="ana", expiration_date="soon"),
        "update of nothing": lambda one: one.update("x"),
        "an unknown argument": lambda one: one.add("x", user_id="ana", usr="x"),
    }
    bare = theirs.Memory.__new__(theirs.Memory)  # arguments are checked before any model is needed
    bare.config = bare.vector_store = None
    theirs.capture_event = lambda *args, **kwargs: None
    for name, call in wrong.items():

        def agrees(call: Callable[[Any], Any] = call) -> bool:
            with memory() as opened:
                return outcome(lambda: call(ours.Mem0(opened))) == outcome(lambda: call(bare))

        yield f"{name} raises as theirs", agrees


def _takes_all(ours: type, theirs: type, name: str) -> bool:
    mine = inspect.signature(getattr(ours, name)).parameters
    wanted = inspect.signature(getattr(theirs, name)).parameters
    return all(
        other in mine and (mine[other].default == one.default or name == "update")
        for other, one in wanted.items()
        if other not in NOT_OURS.get(name, ())
    )


# Anthropic


def anthropic() -> Iterator[Check]:
    tools: Any = import_module("anthropic.lib.tools")
    builtin: Any = import_module("anthropic.lib.tools._beta_builtin_memory_tool")
    ours: Any = import_module("everyword.interfaces.adapters.anthropic_memory")
    a, b = "/memories/a.md", "/memories/notes/b.md"
    commands: list[dict[str, Any]] = [
        {"command": "create", "path": a, "file_text": "one\ntwo\ntwo\n"},
        {"command": "create", "path": a, "file_text": "again"},
        {"command": "view", "path": a},
        {"command": "view", "path": a, "view_range": [2, 3]},
        {"command": "view", "path": a, "view_range": [2, -1]},
        {"command": "view", "path": "/memories/nothing"},
        {"command": "view", "path": "/elsewhere"},
        {"command": "str_replace", "path": a, "old_str": "two", "new_str": "x"},
        {"command": "str_replace", "path": a, "old_str": "nine", "new_str": "x"},
        {"command": "str_replace", "path": a, "old_str": "one", "new_str": "1"},
        {"command": "insert", "path": a, "insert_line": 1, "insert_text": "1.5\n"},
        {"command": "insert", "path": a, "insert_line": 99, "insert_text": "x"},
        {"command": "rename", "old_path": a, "new_path": b},
        {"command": "rename", "old_path": a, "new_path": b},
        {"command": "view", "path": b},
        {"command": "delete", "path": a},
        {"command": "delete", "path": "/memories"},
        {"command": "delete", "path": "/memories/notes"},
        {"command": "view", "path": b},
    ]

    def told(call: Callable[[], Any]) -> str:
        try:
            return str(call())
        except tools.ToolError as error:
            return f"error: {error.content}"

    with tempfile.TemporaryDirectory() as folder, memory() as opened, memory() as other:
        reference = builtin.BetaLocalFilesystemMemoryTool(folder)
        sync, later = ours.MemoryTool(opened), ours.AsyncMemoryTool(other)
        for command in commands:
            answers = {
                told(lambda command=command: reference.call(command)),
                told(lambda command=command: sync.call(command)),
                told(lambda command=command: asyncio.run(later.call(command))),
            }
            yield f"{json.dumps(command)}", lambda answers=answers: len(answers) == 1


# Speed


def milliseconds(call: Callable[[], Any], times: int = 5) -> float:
    """Return the processor time of the fastest of several calls: other programs share this machine."""
    spent: list[float] = []
    for _ in range(times):
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return min(spent) * 1000


def speed() -> None:
    with tempfile.TemporaryDirectory() as folder:
        if find_spec("langgraph.store"):
            _speed_of_langgraph(Path(folder))
        if find_spec("agents"):
            _speed_of_sessions(Path(folder))


def _speed_of_langgraph(folder: Path) -> None:
    base: Any = import_module("langgraph.store.base")
    ours: Any = import_module("everyword.interfaces.adapters.langgraph_store").EverywordStore
    works: dict[str, Callable[[Any], Any]] = {
        "a filter that matches nothing": lambda store: store.search(("users",), filter={"kind": "z"}),
        "a range that matches nothing": lambda store: store.search(("users",), filter={"n": {"$gt": 10**6}}),
        "list_namespaces": lambda store: store.list_namespaces(),
        "get": lambda store: store.get(("users", "u1"), "k1"),
        "put": lambda store: store.put(("users", "u1"), "k1", {"n": 1, "kind": "a"}),
    }

    def filled(store: Any) -> dict[str, float]:
        for first in range(0, ITEMS, 200):
            store.batch(
                [
                    base.PutOp(("users", f"u{n % 20}"), f"k{n}", {"n": n, "kind": "ab"[n % 2], "text": f"Boat {n}."})
                    for n in range(first, first + 200)
                ]
            )
        return {name: milliseconds(lambda work=work: work(store)) for name, work in works.items()}

    with Memory.open(folder / "store.db", embedder="hashing", background=False) as opened:
        mine = filled(ours(opened))
    theirs: dict[str, float] = {}
    if find_spec("langgraph.store.sqlite"):
        with import_module("langgraph.store.sqlite").SqliteStore.from_conn_string(str(folder / "theirs.db")) as store:
            store.setup()
            theirs = filled(store)
    print(f"LangGraph, {ITEMS:,} items, ms of processor time (SqliteStore):")
    for name, spent in mine.items():
        print(f"  {name}: {spent:.2f} ({theirs.get(name, float('nan')):.2f})")


def _speed_of_sessions(folder: Path) -> None:
    agents: Any = import_module("agents")
    ours: Any = import_module("everyword.interfaces.adapters.openai_session").EverywordSession

    def measured(session: Any) -> dict[str, float]:
        def run(work: Callable[[], Any]) -> float:
            async def several() -> float:
                spent: list[float] = []
                for _ in range(5):
                    start = time.process_time()
                    await work()
                    spent.append(time.process_time() - start)
                return min(spent) * 1000

            return asyncio.run(several())

        return {
            "add": run(lambda: session.add_items([{"role": "user", "content": "One more line."}])),
            "get 20": run(lambda: session.get_items(20)),
            "pop": run(session.pop_item),
        }

    def fill(session: Any) -> None:
        for first in range(0, MESSAGES, 500):
            lines = [{"role": "user", "content": f"Line {number}."} for number in range(first, first + 500)]
            asyncio.run(session.add_items(lines))

    with Memory.open(folder / "session.db", embedder="hashing", background=False) as opened:
        empty = measured(ours("empty", opened))
        fill(session := ours("full", opened))
        mine = measured(session)
    fill(session := agents.SQLiteSession("full", folder / "sessions.db"))
    theirs = measured(session)
    print(f"OpenAI sessions, {MESSAGES:,} items, ms of processor time (empty session; SQLiteSession):")
    for name, spent in mine.items():
        print(f"  {name}: {spent:.2f} ({empty[name]:.2f}; {theirs[name]:.2f})")


OWNERS: dict[str, tuple[str, Callable[[], Iterator[Check]]]] = {
    "LangGraph": ("langgraph.store", langgraph),
    "OpenAI Agents": ("agents", openai),
    "mem0": ("mem0", mem0),
    "Anthropic": ("anthropic", anthropic),
}


def main(arguments: list[str]) -> int:
    """Report each owner's checks; return how many failed."""
    failed = 0
    for owner, (package, checks) in OWNERS.items():
        if not find_spec(package.partition(".")[0]):
            print(f"{owner}: not installed")
            continue
        results = [(name, outcome(check)) for name, check in checks()]
        wrong = [(name, result) for name, result in results if result is not True]
        print(f"{owner}: {len(results) - len(wrong)} of {len(results)} agree")
        for name, result in wrong:
            print(f"  differs: {name}{'' if result is False else f' ({result})'}")
        failed += len(wrong)
    if "--speed" in arguments:
        speed()
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
