"""Anthropic's memory tool on a memory, held against the SDK's own file-based one: same commands, same answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

from everyword import Memory
from everyword.errors import InvalidInput
from everyword.interfaces.adapters.anthropic_memory import AsyncMemoryTool, MemoryFiles, MemoryTool

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing") as memory:
        yield memory


@pytest.fixture
def tool(memory: Memory) -> MemoryTool:
    return MemoryTool(memory)


def told(tool: BetaAbstractMemoryTool, **command: Any) -> str:
    """Call a tool as the SDK's runner does; an error's words count as the answer."""
    try:
        return str(tool.call(command))
    except ToolError as error:
        return f"error: {error.content}"


COMMANDS: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "one\ntwo\nthree\ntwo\nfive\n"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "again"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "view", "path": "/memories/notes.md", "view_range": [2, 3]},
    {"command": "view", "path": "/memories/notes.md", "view_range": [4, -1]},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "two", "new_str": "2"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "six", "new_str": "6"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "three", "new_str": "3\n3.5"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 0, "insert_text": "zero\n"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 7, "insert_text": "last"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 99, "insert_text": "never"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": -1, "insert_text": "never"},
    {"command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "never"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "create", "path": "/memories/empty.txt", "file_text": ""},
    {"command": "view", "path": "/memories/empty.txt"},
    {"command": "insert", "path": "/memories/empty.txt", "insert_line": 0, "insert_text": "now it has a line"},
    {"command": "view", "path": "/memories/empty.txt"},
    {"command": "create", "path": "/memories/people/ana.md", "file_text": "Ana lives in Lisbon.\r\nÜber-café 😀"},
    {"command": "view", "path": "/memories/people/ana.md"},
    {"command": "str_replace", "path": "/memories/people", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": "/memories/people", "insert_line": 0, "insert_text": "x"},
    {"command": "create", "path": "/memories/people", "file_text": "a folder is here"},
    {"command": "rename", "old_path": "/memories/people/ana.md", "new_path": "/memories/notes.md"},
    {"command": "rename", "old_path": "/memories/none.md", "new_path": "/memories/other.md"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/other"},
    {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/family/close"},
    {"command": "view", "path": "/memories/family/close/ana.md"},
    {"command": "view", "path": "/memories/people/ana.md"},
    {"command": "delete", "path": "/memories/notes.md"},
    {"command": "delete", "path": "/memories/notes.md"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "a new beginning"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "delete", "path": "/memories/family"},
    {"command": "view", "path": "/memories/family/close/ana.md"},
    {"command": "delete", "path": "/memories"},
]


def test_every_command_answers_as_the_reference_does(tool: MemoryTool, tmp_path: Path) -> None:
    reference = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for command in COMMANDS:
        # Lines end with a line feed alone.
        assert told(tool, **command) == told(reference, **command).replace("\r\n", "\n"), command
    assert tool.to_dict() == reference.to_dict()


def test_a_folder_is_listed_as_the_reference_does(tool: MemoryTool, tmp_path: Path) -> None:
    reference = BetaLocalFilesystemMemoryTool(str(tmp_path))
    for path, size in (("a.md", 5), ("b/c.md", 1536), ("b/d/e.md", 10), (".hidden", 3), ("b.md", 2_097_152)):
        for each in (tool, reference):
            told(each, command="create", path=f"/memories/{path}", file_text="x" * size)
    for path in ("/memories", "/memories/b", "/memories/b/d"):
        ours, theirs = (told(each, command="view", path=path).splitlines() for each in (tool, reference))
        # A folder weighs what its files do; on a disk it weighs a block.
        assert [line.split("\t")[-1] for line in ours] == [line.split("\t")[-1] for line in theirs]
        files = [(o, t) for o, t in zip(ours, theirs, strict=True) if o.endswith(".md")]
        assert all(o == t for o, t in files)


@pytest.mark.parametrize(
    "path",
    [
        "/memories/../etc/passwd",
        "/memories/a/../../b",
        "/memories/..",
        "/memories/.",
        "/memories/%2e%2e/secret",
        "/memories/%252e%252e%252fsecret",
        "/memories/%25252525252e",
        "/memories/..%2f..%2fetc",
        "/memories/..\\..\\windows",
        "/memories/．．/x",  # full-width dots
        "/memories/‥/x",  # one character that stands for two dots
        "/memories/a\x00.md",
        "/memories/a%00.md",
        "/memories/a\n.md",
        "/memories/\u202etxt",
        "/memories/\ud800",
        "/memories/" + "a" * 600,
        "/etc/passwd",
        "/memoriesx/a",
        "memories/a",
        "//memories/a",
        "C:\\memories\\a",
        "file:///memories/a",
        "",
    ],
)
def test_no_path_leads_out(tool: MemoryTool, memory: Memory, path: str) -> None:
    told(tool, command="create", path="/memories/kept.md", file_text="kept")
    for command in (
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "x", "new_str": "y"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": path},
        {"command": "rename", "old_path": "/memories/kept.md", "new_path": path},
        {"command": "rename", "old_path": path, "new_path": "/memories/new.md"},
    ):
        assert told(tool, **command).startswith("error: "), command
    assert len(list(memory.events())) == 1


def test_a_file_is_not_a_folder(tool: MemoryTool) -> None:
    told(tool, command="create", path="/memories/a", file_text="a file")
    assert told(tool, command="create", path="/memories/a/b", file_text="x").startswith("error: ")
    told(tool, command="create", path="/memories/f/g", file_text="x")
    assert told(tool, command="rename", old_path="/memories/f", new_path="/memories/f/h").startswith("error: ")
    assert told(tool, command="rename", old_path="/memories/f/g", new_path="/memories/a/g").startswith("error: ")


def test_every_version_is_kept_and_found(tool: MemoryTool, memory: Memory) -> None:
    told(tool, command="create", path="/memories/ana.md", file_text="Ana lives in Porto.")
    told(tool, command="str_replace", path="/memories/ana.md", old_str="Porto", new_str="Lisbon")
    told(tool, command="delete", path="/memories/ana.md")
    texts = [event.text for event in memory.events(session="/memories/ana.md")]
    assert texts == ["Ana lives in Porto.", "Ana lives in Lisbon.", "Deleted /memories/ana.md"]
    assert "Ana lives in Lisbon." in [hit.text for hit in memory.recall("Where does Ana live?")]


def test_a_forgotten_file_is_gone_and_the_others_stay(tool: MemoryTool, memory: Memory) -> None:
    for name in ("a", "b", "c"):
        told(tool, command="create", path=f"/memories/{name}", file_text=f"words of {name}")
    memory.forget(session="/memories/b")
    assert dict(tool.files.files()) == {"/memories/a": "words of a", "/memories/c": "words of c"}
    assert told(tool, command="create", path="/memories/b", file_text="new") == (
        "File created successfully at: /memories/b"
    )
    assert tool.clear_all_memory() == "All memory cleared"
    assert list(memory.events()) == []
    assert not memory.admin.verify().problems


def test_other_events_are_not_files(tool: MemoryTool, memory: Memory) -> None:
    memory.add("hello", speaker="memory-tool", key="memory-tool/x")
    memory.add("hello again", speaker="memory-tool", meta={"memory-tool": {"do": "write", "path": "/memories/a"}})
    memory.add("odd", speaker="memory-tool", key="memory-tool/7", meta={"memory-tool": "not an object"})
    assert not tool.files.files()
    told(tool, command="create", path="/memories/a", file_text="mine")
    assert dict(tool.files.files()) == {"/memories/a": "mine"}


def test_what_was_deleted_or_renamed_does_not_come_back_when_something_is_forgotten(memory: Memory) -> None:
    files = MemoryFiles(memory)
    files.create("/memories/p/a.md", "first")
    files.delete("/memories/p")
    memory.forget(session="/memories/p")
    assert files.files() == {}
    files.create("/memories/b.md", "second")
    files.create("/memories/q/d.md", "third")
    files.rename("/memories/b.md", "/memories/c.md")
    files.rename("/memories/q", "/memories/r")
    assert files.files() == {"/memories/c.md": "second", "/memories/r/d.md": "third"}
    memory.forget(session="/memories/c.md")
    memory.forget(session="/memories/q/d.md")
    assert files.files() == {"/memories/r/d.md": "third"}
    memory.forget(session="/memories/r/d.md")
    assert files.files() == {}
    assert "third" not in " ".join(event.text for event in memory.events())


def test_wings_have_files_of_their_own(memory: Memory) -> None:
    for wing in ("x", "y"):
        told(MemoryTool(memory, wing=wing), command="create", path="/memories/a", file_text=f"of {wing}")
    # A handle on a wing sees no other's changes, and still gets its own numbers.
    handle = MemoryFiles(memory.wing("z"))
    handle.create("/memories/a", "of z")
    assert MemoryFiles(memory.wing("z")).files() == {"/memories/a": "of z"}
    assert MemoryFiles(memory, wing="x").files() == {"/memories/a": "of x"}


def test_two_agents_that_edit_at_once_lose_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="none") as one, Memory.open(tmp_path / "m.db", embedder="none") as two:
        MemoryFiles(one).create("/memories/list", "start\n")

        def edit(memory: Memory, who: str) -> None:
            for number in range(15):
                MemoryFiles(memory).insert("/memories/list", 1, f"{who} {number}")

        threads = [Thread(target=edit, args=(memory, who)) for memory, who in ((one, "first"), (two, "second"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        lines = MemoryFiles(one).files()["/memories/list"].splitlines()
    assert sorted(lines) == sorted(["start", *(f"{who} {n}" for who in ("first", "second") for n in range(15))])


def test_a_secret_is_not_kept(tool: MemoryTool, memory: Memory) -> None:
    told(tool, command="create", path="/memories/a", file_text=f"token {KEY}")
    assert all(KEY not in event.text for event in memory.events())
    plain = MemoryFiles(memory, wing="w", redact="none")
    plain.create("/memories/a", f"token {KEY}")
    assert plain.files()["/memories/a"] == f"token {KEY}"


def test_a_large_file_with_anything_in_it(memory: Memory) -> None:
    files = MemoryFiles(memory)
    odd = "\x00 \ud83d 😀 \r \u2028\n" * 30_000
    files.create("/memories/odd", odd)
    assert files.files()["/memories/odd"] == odd
    with pytest.raises(InvalidInput, match="Multiple occurrences"):
        files.str_replace("/memories/odd", "\u2028\n", "x")


def test_paths_are_printed_without_double_slashes(tool: MemoryTool) -> None:
    tool.call({"command": "create", "path": "/memories/notes/a.md", "file_text": "x"})
    for path in ("/memories", "/memories/"):
        lines = str(tool.call({"command": "view", "path": path})).split("\n")[1:]
        assert [line.split("\t")[1] for line in lines[1:]] == ["/memories/notes/", "/memories/notes/a.md"]


def test_the_sdk_s_runners_use_it(memory: Memory) -> None:
    sent: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        use = {"type": "tool_use", "id": "t", "name": "memory", "input": {"command": "view", "path": "/memories"}}
        if len(sent) == 1:
            use["input"] = {"command": "create", "path": "/memories/a.md", "file_text": "Ana sails."}
        last = len(sent) == 3
        content = [{"type": "text", "text": "Done."}] if last else [use]
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}
        return httpx2.Response(200, json={**message, "stop_reason": "end_turn" if last else "tool_use"})

    options: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Remember: Ana sails."}]}
    transport = httpx2.MockTransport(answer)
    with anthropic.Anthropic(api_key="k", http_client=httpx2.Client(transport=transport)) as client:
        client.beta.messages.tool_runner(**options, tools=[MemoryTool(memory, wing="sync")]).until_done()

    async def use_it() -> None:
        http = httpx2.AsyncClient(transport=transport)
        async with anthropic.AsyncAnthropic(api_key="k", http_client=http) as client:
            runner = client.beta.messages.tool_runner(**options, tools=[AsyncMemoryTool(memory, wing="async")])
            await runner.until_done()

    first = [one["messages"][-1]["content"] for one in sent[1:]]
    sent.clear()
    asyncio.run(use_it())
    assert [one["messages"][-1]["content"] for one in sent[1:]] == first
    assert "File created successfully at: /memories/a.md" in str(first[0])
    assert "10B\t/memories/a.md" in first[1][0]["content"]
    for wing in ("sync", "async"):
        assert [event.text for event in memory.events(wing=wing)] == ["Ana sails."]


def test_the_async_tool_answers_as_the_other(tool: MemoryTool, memory: Memory) -> None:
    other = AsyncMemoryTool(memory, wing="other", cache_control={"type": "ephemeral"})
    assert other.to_dict() == {**tool.to_dict(), "cache_control": {"type": "ephemeral"}}
    for command in (
        {"command": "create", "path": "/memories/a.md", "file_text": "one\n"},
        {"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "two"},
        {"command": "str_replace", "path": "/memories/a.md", "old_str": "two", "new_str": "three"},
        {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"},
        {"command": "view", "path": "/memories/b.md"},
        {"command": "delete", "path": "/memories/b.md"},
    ):
        assert asyncio.run(other.call(command)) == tool.call(command)
    with pytest.raises(ToolError, match="does not exist"):
        asyncio.run(other.call({"command": "view", "path": "/memories/b.md"}))
    assert asyncio.run(other.clear_all_memory()) == "All memory cleared"


def test_the_examples_in_the_documents_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "agents.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) > 1
    monkeypatch.chdir(tmp_path)
    for example in examples:
        exec(compile(example, "agents.md", "exec"), {})
    assert (tmp_path / "memory.db").exists()
