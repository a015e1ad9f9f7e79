"""The MCP server as clients see it: the protocol's own client, over both transports and in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference
from mcp_types import version as versions
from tests.fences import inside
from tests.serve.service import free_port, wait_for_port

from everyword import Memory
from everyword.interfaces.cli import main
from everyword.interfaces.mcp import OpenMemory
from everyword.interfaces.mcp.fast_handshake import (
    VERSIONS,
    early_reply,
    early_results,
    handshake_reply,
    without_lone_surrogates,
)
from everyword.interfaces.mcp.server import build
from everyword.interfaces.mcp.tools import OFFERS, agent_tools
from everyword.interfaces.operations import BY_NAME
from everyword.models.tokenizers import load_tokenizer

COMMAND = ["-m", "everyword", "mcp", "--embedder", "hashing"]
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HANDSHAKE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenMemory]:
    opened = OpenMemory(str(tmp_path / "memory.db"), embedder="hashing")
    yield opened
    opened.close()


def asked(server: Any, ask: Callable[[Client], Awaitable[Any]], **options: Any) -> Any:
    """Let a client ask something of a server, whichever kind it is."""

    async def connect() -> Any:
        async with Client(server, **options) as client:
            with anyio.fail_after(20):
                return await ask(client)

    return anyio.run(connect)


def said(result: Any) -> str:
    return result.content[0].text


def in_fence(result: Any) -> str:
    return inside(said(result))


# What is offered


def test_the_tools_are_the_table_s_own() -> None:
    tools = agent_tools()
    assert {"remember", "recall", "context", "show", "sessions", "stats", "forget"} <= set(tools)
    for offer in OFFERS:
        if offer.operation in BY_NAME:
            assert tools[offer.tool or offer.operation].operation is BY_NAME[offer.operation]
    known = {parameter.name for parameter in BY_NAME["recall"].parameters}
    assert set(tools["recall"].schema()["properties"]) <= known
    assert tools["recall"].schema()["required"] == ["query"]


def test_a_client_sees_what_each_tool_does_to_the_memory(opened: OpenMemory) -> None:
    async def ask(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asked(build(opened), ask)}
    assert tools["recall"].annotations.read_only_hint
    assert not tools["remember"].annotations.read_only_hint
    assert not tools["remember"].annotations.destructive_hint
    assert tools["forget"].annotations.destructive_hint
    for tool in tools.values():
        assert tool.description
        assert all(about["description"] for about in tool.input_schema["properties"].values())


def test_a_server_bound_to_a_wing_sees_that_wing_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("The boat is called Aurora.", wing="sea")
        memory.add("The car is called Blitz.", wing="land")
    opened = OpenMemory(path, wing="sea", embedder="hashing")

    async def ask(client: Client) -> Any:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "wing" not in tools["recall"].input_schema["properties"]
        assert "stats" not in tools
        assert "everyword://stats" not in [str(one.uri) for one in (await client.list_resources()).resources]
        return said(await client.call_tool("recall", {"query": "What is it called?"}))

    answer = asked(build(opened), ask)
    opened.close()
    assert "Aurora" in answer
    assert "Blitz" not in answer


# The main job


def test_what_is_remembered_is_recalled_with_its_id(opened: OpenMemory) -> None:
    async def ask(client: Client) -> None:
        told = said(await client.call_tool("remember", {"text": "I moved to Lisbon in March.", "speaker": "Ana"}))
        event_id = told.removeprefix("Remembered as ").removesuffix(".")
        assert event_id.startswith("ev_")
        found = said(await client.call_tool("recall", {"query": "Where did Ana move?", "k": 3}))
        short = event_id[:13]
        assert f"[{short}]" in found
        assert "I moved to Lisbon in March." in found
        assert said(await client.call_tool("recall", {"query": "Where did Ana move?", "k": "auto"})) == found
        context = said(await client.call_tool("context", {"query": "Where did Ana move?", "budget": 200}))
        assert "Lisbon" in context
        shown = json.loads(in_fence(await client.call_tool("show", {"id": event_id})))
        assert shown["speaker"] == "Ana"
        assert json.loads(in_fence(await client.call_tool("stats", {})))["events"] == 1
        assert (await client.call_tool("show", {"id": short})).structured_content == shown
        gone = await client.call_tool("forget", {"ids": [short]})
        assert gone.structured_content["ids"] == [event_id]

    asked(build(opened), ask)


def test_recall_names_a_session_once_and_show_gives_a_long_text_in_parts(opened: OpenMemory) -> None:
    text = "".join(f"Line {number} of the log.\n" for number in range(1_000))

    async def ask(client: Client) -> None:
        for words in (text, "The log is long.", "A log of nobody."):
            await client.call_tool("remember", {"text": words, "session": None if "nobody" in words else "s 1"})
        found = said(await client.call_tool("recall", {"query": "Which log?"}))
        assert found.count("s 1") == found.count("\nSession s 1:\n") == 1
        event_id = opened.memory.recall("Line 999 of the log", k=1)[0].event.id
        part = (await client.call_tool("show", {"id": event_id})).structured_content
        whole = part["text"]
        while "next_cursor" in part:
            part = (await client.call_tool("show", {"id": event_id, "cursor": part["next_cursor"]})).structured_content
            assert 0 < len(part["text"]) <= 5_000
            whole += part["text"]
        assert whole == text

    asked(build(opened), ask)


def test_chat_messages_are_remembered_in_their_order(opened: OpenMemory) -> None:
    async def ask(client: Client) -> None:
        messages = [{"role": "user", "content": "I moved to Faro."}, {"role": "assistant", "content": "Noted."}]
        said(await client.call_tool("remember", {"messages": messages, "session": "chat"}))
        assert "I moved to Faro." in said(await client.call_tool("recall", {"query": "Faro", "k": 1}))
        assert json.loads(in_fence(await client.call_tool("stats", {})))["events"] == 2

    asked(build(opened), ask)


def test_forgetting_can_be_looked_at_first(opened: OpenMemory) -> None:
    async def ask(client: Client) -> None:
        await client.call_tool("remember", {"text": "my shoe size is 44", "session": "s"})
        looked = await client.call_tool("forget", {"session": "s", "dry_run": True})
        assert said(looked).startswith("1 event would be removed.\n")
        assert "session s): my shoe size is 44" in said(looked)
        assert [one["text"] for one in looked.structured_content["would_remove"]] == ["my shoe size is 44"]
        assert "shoe" in said(await client.call_tool("recall", {"query": "shoe size"}))
        assert json.loads(in_fence(await client.call_tool("forget", {"session": "s"})))["events"] == 1
        assert said(await client.call_tool("recall", {"query": "shoe size"})) == "Nothing was found."

    asked(build(opened), ask)


def test_a_secret_is_not_kept(opened: OpenMemory) -> None:
    async def ask(client: Client) -> None:
        told = said(await client.call_tool("remember", {"text": f"the token is {KEY}"}))
        assert "Redacted" in told
        assert KEY not in told

    asked(build(opened), ask)
    assert [event.text.startswith("the token is [redacted") for event in opened.memory.events()] == [True]


@pytest.mark.parametrize("tool", ["sessions", "events", "facts"])
def test_a_list_comes_in_pages_that_lose_nothing(opened: OpenMemory, tool: str) -> None:
    names = [f"{a}{b}" for a in ("Ana", "Ben", "Eva", "Tom", "Kim", "Zoe") for b in ("", "lia", "ton", "rik", "mar")]
    opened.memory.add_many(
        {"text": f"I live in {name}ville and my cat is called Mog {name}.", "speaker": name, "session": f"s-{name}"}
        for name in names
    )
    wanted = {str(one.name if tool == "sessions" else one.id) for one in BY_NAME[tool].run(opened.memory, {})}

    async def ask(client: Client) -> None:
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            result = await client.call_tool(tool, cursor)
            assert load_tokenizer().count(said(result)) <= 1_500
            page = result.structured_content
            assert json.loads(in_fence(result)) == page
            seen += [one.get("id") or one["name"] for one in page[tool]]
            if "next_cursor" not in page:
                break
            cursor = {"cursor": page["next_cursor"]}
            if len(seen) == len(page[tool]):  # a list that grows at its beginning between two pages
                opened.memory.add("Hello.", session="s-new", at="2030-01-01T00:00Z")
        assert wanted <= set(seen)
        assert len(seen) == len(set(seen))
        assert (await client.call_tool(tool, {"cursor": "17-00000000"})).is_error

    asked(build(opened), ask)


def test_ten_long_hits_fit_into_a_page_and_a_receipt_names_some_ids(opened: OpenMemory) -> None:
    filler = "It was cold. " * 60
    names = ("Ana", "Ben", "Eva", "Tom", "Kim", "Zoe", "Leo", "Ida", "Max", "Uwe")
    opened.memory.add_many({"text": f"{filler} The boat of {name} is Aurora.", "speaker": name} for name in names)
    opened.memory.add_many({"text": f"{number}", "session": "s"} for number in range(30))

    async def ask(client: Client) -> None:
        result = await client.call_tool("recall", {"query": "Whose boat is Aurora?"})
        assert len(result.structured_content["hits"]) == 10
        texts = [hit["text"] for hit in result.structured_content["hits"]]
        assert sum(text.endswith("is Aurora.") for text in texts) >= 8  # cut around the match
        assert load_tokenizer().count(said(result)) <= 1_500
        gone = (await client.call_tool("forget", {"session": "s", "dry_run": True})).structured_content
        assert (gone["events"], len(gone["ids"])) == (30, 20)

    asked(build(opened), ask)


def test_structured_results_fit_their_schemas(opened: OpenMemory) -> None:
    opened.memory.add("I live in Lisbon. I must call the bank by Friday.", speaker="Ana", session="s", role="user")
    calls = {"remember": {"text": "I moved to Faro."}, "forget": {"session": "s", "dry_run": True}} | {
        tool: {"query": "Where does Ana live?"} for tool in ("recall", "context", "ask")
    }

    async def ask(client: Client) -> None:
        (event,) = (await client.call_tool("events", {})).structured_content["events"]
        for tool in (await client.list_tools()).tools:
            given = calls.get(tool.name, {})
            if "id" in tool.input_schema["properties"]:
                given = {"id": event["id"]} if tool.name == "show" else {"events": [event["id"]]}
            if tool.name in ("correct", "retract", "answer_intent"):
                continue
            if "entity" in tool.input_schema["properties"]:
                given = {"entity": "Ana"}
            result = await client.call_tool(tool.name, given)
            assert not result.is_error, said(result)
            jsonschema.validate(result.structured_content, tool.output_schema)

    asked(build(opened), ask)
    asked(build(opened, tool_set="core"), lambda client: client.call_tool("ask", {"query": "Where does Ana live?"}))


def test_the_core_set_is_six_tools_in_1200_tokens() -> None:
    tools = agent_tools(tool_set="core")
    assert set(tools) == {"remember", "recall", "context", "ask", "wake_up", "forget"}
    assert sum(load_tokenizer().count(json.dumps(tool.listed())) for tool in tools.values()) <= 1_200


def test_a_project_comes_first_and_others_are_named(tmp_path: Path) -> None:
    opened = OpenMemory(str(tmp_path / "memory.db"), project=str(tmp_path / "heron" / "src"))
    (tmp_path / "heron" / "src").mkdir(parents=True)
    (tmp_path / "heron" / ".git").mkdir()
    opened.memory.add("The boat is called Aurora, and Gustavo has to approve each deploy.", wing="sea")

    async def ask(client: Client) -> Any:
        await client.call_tool("remember", {"text": "The parser is called Otter."})
        await client.call_tool("remember", {"text": "The mast is new.", "wing": "sea"})
        asked_of_all = {"query": "What is called what?"}
        questions = [asked_of_all, {**asked_of_all, "wing": "sea"}, {"query": "Who has to approve a deploy?"}]
        return [said(await client.call_tool("recall", question)) for question in questions]

    async def forget(client: Client) -> Any:
        return said(await client.call_tool("forget", {"before": "2999-01-01", "dry_run": True}))

    assert asked(build(opened), forget) == "0 events in heron would be removed."
    here, there, only_there = asked(build(opened), ask)
    assert ("Otter" in here, "Aurora" in here) == (True, False)
    assert ("Otter" in there, "Aurora" in there) == (False, True)
    assert "(in sea): The boat is called Aurora" in only_there
    assert [event.wing for event in opened.memory.events()] == ["sea", "heron", "sea"]
    opened.close()


def test_what_an_agent_saves_is_told_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where nothing is read in it. A conversation that is saved whole is not a note."""
    monkeypatch.setenv("EVERYWORD_READER", "none")
    opened = OpenMemory(str(tmp_path / "memory.db"), embedder="hashing")
    note = "Tokens: rotate on the 1st, Bo has the list."

    async def ask(client: Client) -> Any:
        await client.call_tool("remember", {"text": note})
        await client.call_tool("remember", {"text": "Okay."})
        messages = [{"role": "user", "content": "Which list, the long one or the short one?"}]
        await client.call_tool("remember", {"messages": messages, "session": "chat"})
        return said(await client.call_tool("wake_up", {}))

    opened.memory.add("Badges: print on the 3rd, Jo has the key.")  # by a program
    told = asked(build(opened), ask)
    opened.close()
    assert note in told
    assert not [other for other in ("Okay", "Which list", "Badges") if other in told], told


def test_a_due_date_is_the_last_day_and_a_repetition_is_known(opened: OpenMemory) -> None:
    async def ask(client: Client) -> Any:
        for _ in range(2):  # as a client does that got no answer
            again = await client.call_tool("remember", {"text": f"I must freeze the code by 2031-12-10. {KEY}"})
        assert "Already known" in said(again)
        await client.call_tool("remember", {"text": "I must freeze the code by 2031-12-10.", "speaker": "Ana"})
        assert "larger budget" in said(await client.call_tool("window", {"budget": 1}))
        return (await client.call_tool("intents", {})).structured_content["intents"]

    intents = asked(build(opened), ask)
    assert {(one.get("due"), "deadline" in one) for one in intents} == {("2031-12-10", False)}
    assert opened.memory.stats().events == 2


def test_what_an_agent_saves_is_told_once(opened: OpenMemory) -> None:
    async def ask(client: Client) -> Any:
        await client.call_tool("remember", {"text": "Use pnpm, not npm."})
        return said(await client.call_tool("wake_up", {}))

    told = asked(build(opened), ask)
    assert [one.kind for one in opened.memory.statements()] == ["instruction"]  # which would be told as well
    assert told.count("pnpm") == 1


# What goes wrong


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        ("recall", {}, "Missing parameter: query."),
        ("recall", {"query": "x", "limit": 3}, "Unknown parameter 'limit'. Valid parameters: query, k"),
        ("recall", {"query": "x", "k": "ten"}, "k must be a whole number from 1 to 1,000, not 'ten'"),
        ("recall", {"query": "x", "k": True}, "k must be an integer or 'auto', not bool"),
        ("recall", {"query": "x", "since": "yesterday-ish"}, "InvalidTime"),
        ("show", {"id": "ev_" + "0" * 32}, "NotFound"),
        ("forget", {}, "InvalidFilter: Say what to forget: ids, session, speaker, wing or before."),
        ("forget", {"dry_run": True}, "InvalidFilter: Say what to forget"),
        ("events", {"limit": 0}, "limit must be a whole number above 0, not 0"),
        ("forget", {"before": "2000"}, "InvalidTime: before: '2000'"),
        ("remember", {"text": "  "}, "InvalidEvent"),
    ],
)
def test_an_error_is_an_answer_that_says_what_to_do(
    opened: OpenMemory, tool: str, given: dict[str, Any], told: str
) -> None:
    async def ask(client: Client) -> Any:
        return await client.call_tool(tool, given)

    result = asked(build(opened), ask)
    assert result.is_error
    assert told in said(result)


def test_a_file_that_is_no_memory_is_told_to_each_who_asks(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("just notes, " * 100)
    opened = OpenMemory(str(tmp_path / "notes.txt"), embedder="hashing")

    async def ask(client: Client) -> Any:
        return await client.call_tool("recall", {"query": "x"})

    result = asked(build(opened), ask)
    assert result.is_error
    assert "ForeignFile" in said(result)
    assert (tmp_path / "notes.txt").read_text() == "just notes, " * 100


def test_words_that_no_wire_can_carry_do_not_end_the_session(opened: OpenMemory) -> None:
    opened.memory.add("half a character \ud83d and a NUL \x00")

    async def ask(client: Client) -> Any:
        return said(await client.call_tool("recall", {"query": "half a character"}))

    assert "half a character \ufffd" in asked(build(opened), ask, mode="legacy")


@pytest.mark.usefixtures("no_reader")
def test_half_a_character_and_what_is_no_message_are_answered(tmp_path: Path) -> None:
    call = {"name": "remember", "arguments": {"text": "cut \ud83d"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode(),
        b'{"jsonrpc":"2.0","id":"b","method":"ping"',
        b'{"id":"c","method":"ping"}',
        b"[]",
        b"",
        b'{"jsonrpc":"2.0","id":7,"result":7}',  # an answer that nobody asked for
        b'{"jsonrpc":"2.0","id":"d","method":"ping"}',
    ]
    command = [sys.executable, *COMMAND, "--memory", str(tmp_path / "m.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HANDSHAKE).encode() + b"\n")
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        process.stdin.write(b"".join(line + b"\n" for line in lines))
        process.stdin.flush()
        replies = [json.loads(process.stdout.readline()) for _ in range(6)]
        process.stdin.close()
        assert process.stdout.read() == b""
    told = {(reply["id"], reply.get("error", {}).get("code")) for reply in replies}
    assert told == {(0, None), (1, None), (None, -32700), ("c", -32600), (None, -32600), ("d", None)}
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        assert [event.text for event in memory.events()] == ["cut \ufffd"]


@pytest.mark.parametrize(
    ("line", "mended_line"),
    [
        (r"a\ud83d\ude00b", r"a\ud83d\ude00b"),
        (r"\uD83D", r"\ufffd"),
        (r"\ude00\ud83d", r"\ufffd\ufffd"),
        (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
        (r"\ud83d\u0041", r"\ufffd\u0041"),
        (r"C:\\ud83d", r"C:\\ud83d"),  # a backslash that stands for itself
        (r"\\\ud83d", r"\\\ufffd"),
        (r"\ud8", r"\ud8"),
    ],
)
def test_half_a_character_is_mended_and_nothing_else(line: str, mended_line: str) -> None:
    assert without_lone_surrogates(line) == mended_line


@pytest.mark.parametrize(("tool", "given"), [("context", {"query": "Where does Ana live?"}), ("wake_up", {})])
def test_too_little_room_is_told_from_nothing(opened: OpenMemory, tool: str, given: dict[str, Any]) -> None:
    async def ask(client: Client) -> Any:
        return said(await client.call_tool(tool, {**given, "budget": 1}))

    assert asked(build(opened), ask) == "The memory holds nothing about this."
    opened.memory.add("I am Ana and I live in Lisbon.", speaker="Ana", role="user")
    assert "does not fit into 1 tokens" in asked(build(opened), ask)


def test_unknown_names_are_refused(opened: OpenMemory) -> None:
    async def ask(client: Client) -> None:
        for call in (
            lambda: client.call_tool("drop_everything", {}),
            lambda: client.read_resource("everyword://session/none"),
            lambda: client.read_resource("everyword://secrets"),
            lambda: client.get_prompt("none", {}),
            lambda: client.get_prompt("recall_before_answering", {"question": " "}),
        ):
            with pytest.raises(MCPError):
                await call()

    asked(build(opened), ask)


def test_a_memory_is_not_served_to_the_network_without_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", "--memory", str(tmp_path / "memory.db"), "--transport", "http", "--host", "0.0.0.0"]) == 2
    assert "needs a token" in capsys.readouterr().err


def test_without_the_protocol_s_package_the_fix_is_told_and_nobody_is_greeted(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from everyword.interfaces.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp", "--memory", str(tmp_path / "m.db")],
        input=json.dumps(HANDSHAKE).encode() + b"\n",
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (6, b"")
    assert b"pip install 'everyword[mcp]'" in done.stderr


# Resources and prompts


def test_sessions_can_be_read_as_resources(opened: OpenMemory) -> None:
    opened.memory.add("Shall we sail?", speaker="Ana", session="a/b ü", at="2026-04-02T10:00Z")
    opened.memory.add("On Sunday.", speaker="Ben", session="a/b ü", at="2026-04-02T10:01Z")

    async def ask(client: Client) -> None:
        listed = {str(one.uri): one for one in (await client.list_resources()).resources}
        assert "everyword://sessions" in listed
        uri = next(uri for uri in listed if uri.startswith("everyword://session/"))
        text = (await client.read_resource(uri)).contents[0].text  # pyright: ignore
        assert [line.split(": ", 1)[1] for line in inside(text).splitlines()] == ["Shall we sail?", "On Sunday."]
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["everyword://session/{name}"]

    asked(build(opened), ask)


def test_resources_come_in_pages_and_session_names_are_completed(opened: OpenMemory) -> None:
    opened.memory.add_many({"text": "hello", "session": f"s{number:03}"} for number in range(120))
    template = ResourceTemplateReference(type="ref/resource", uri="everyword://session/{name}")

    async def ask(client: Client) -> None:
        first = await client.list_resources()
        opened.memory.add("new", session="newest")
        second = await client.list_resources(cursor=first.next_cursor)
        third = await client.list_resources(cursor=second.next_cursor)
        uris = [str(one.uri) for page in (first, second, third) for one in page.resources]
        assert len(uris) == len(set(uris))
        assert {f"everyword://session/s{number:03}" for number in range(120)} <= set(uris)
        assert third.next_cursor is None
        found = (await client.complete(template, {"name": "name", "value": "S01"})).completion
        assert sorted(found.values) == [f"s01{number}" for number in range(10)]

    asked(build(opened), ask)


def test_failures_are_logged_to_a_client_that_wants_it(opened: OpenMemory) -> None:
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async def ask(client: Client) -> None:
        await client.call_tool("show", {"id": "ev_" + "0" * 32})
        await client.set_logging_level("info")
        await client.call_tool("show", {"id": "ev_" + "0" * 32})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package marks logging as deprecated
        asked(build(opened), ask, mode="legacy", logging_callback=hear)
    assert [(one.level, one.logger, one.data[:14]) for one in heard] == [("info", "everyword", "show: NotFound")]


def test_identity_and_wake_up_can_be_read_as_resources(opened: OpenMemory) -> None:
    opened.memory.identity("I am Atlas, Ana's assistant.")

    async def ask(client: Client) -> Any:
        listed = {str(resource.uri) for resource in (await client.list_resources()).resources}
        assert {"everyword://identity", "everyword://wake_up", "everyword://sessions"} <= listed
        read = [await client.read_resource(f"everyword://{name}") for name in ("identity", "wake_up")]
        return [json.loads(one.contents[0].text) for one in read] + [said(await client.call_tool("wake_up", {}))]

    identity, woken, told = asked(build(opened), ask)
    assert identity["identity"]["text"] == "I am Atlas, Ana's assistant."
    assert woken["text"] == told
    assert inside(told) == "[1] identity: I am Atlas, Ana's assistant."


def test_a_prompt_brings_what_is_remembered(opened: OpenMemory) -> None:
    opened.memory.add("The boat is called Aurora.", speaker="Ana")

    async def ask(client: Client) -> Any:
        assert {one.name for one in (await client.list_prompts()).prompts} >= {"recall_before_answering"}
        return await client.get_prompt("recall_before_answering", {"question": "What is the boat called?"})

    text = asked(build(opened), ask).messages[0].content.text
    assert "Aurora" in text
    assert text.endswith("Question: What is the boat called?")


# The first reply


def test_the_greeting_is_what_the_protocol_s_package_would_say(opened: OpenMemory) -> None:
    ours = handshake_reply(json.dumps(HANDSHAKE).encode())
    assert ours is not None

    async def ask(client: Client) -> Any:
        return client.session.initialize_result

    theirs = asked(build(opened), ask, mode="legacy").model_dump(by_alias=True, exclude_none=True, mode="json")
    ours["result"]["protocolVersion"] = theirs["protocolVersion"]  # each client asks for its own
    assert ours["result"] == theirs
    assert versions.HANDSHAKE_PROTOCOL_VERSIONS == VERSIONS


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"not json\n",
        b"[1]\n",
        b"[" * 100_000,
        json.dumps({**HANDSHAKE, "id": True}).encode(),
        json.dumps({**HANDSHAKE, "id": None}).encode(),
        json.dumps({**HANDSHAKE, "method": "server/discover"}).encode(),
        json.dumps({**HANDSHAKE, "params": {**HANDSHAKE["params"], "protocolVersion": "2099-01-01"}}).encode(),
        json.dumps({**HANDSHAKE, "params": {**HANDSHAKE["params"], "clientInfo": "me"}}).encode(),
    ],
)
def test_what_is_no_plain_handshake_is_left_to_the_package(line: bytes) -> None:
    assert handshake_reply(line) is None


def test_early_lists_are_what_the_protocol_s_package_would_say(opened: OpenMemory) -> None:
    async def ask(client: Client) -> Any:
        return await client.list_tools(), await client.list_prompts(), await client.list_resource_templates()

    theirs = asked(build(opened), ask, mode="legacy")
    ours = early_results(agent_tools())
    for result, method in zip(theirs, ("tools/list", "prompts/list", "resources/templates/list"), strict=True):
        dumped = result.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True, mode="json")
        assert dumped == ours[method], method


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b'{"jsonrpc":"2.0","method":"ping"}',
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":["ping"]}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":7}',
    ],
)
def test_what_is_no_plain_list_is_left_to_the_package(line: bytes) -> None:
    assert early_reply(line, early_results(agent_tools())) is None


@pytest.mark.usefixtures("no_reader")
def test_the_first_reply_and_the_tools_come_at_once_and_nothing_that_was_asked_meanwhile_is_lost(
    tmp_path: Path,
) -> None:
    call = {"name": "remember", "arguments": {"text": "The boat is called Aurora."}}
    asked_for = [
        HANDSHAKE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": "list", "method": "tools/list", "params": {"_meta": {"progressToken": 1}}},
    ]
    command = [sys.executable, *COMMAND, "--memory", str(tmp_path / "m.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        started = time.perf_counter()
        process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in asked_for))
        process.stdin.flush()
        first = json.loads(process.stdout.readline())
        greeted = time.perf_counter()
        second = json.loads(process.stdout.readline())
        waited = time.perf_counter() - greeted
        third = json.loads(process.stdout.readline())
        process.stdin.write(b'{"jsonrpc":"2.0","id":9,"method":"tools/list"}\n')  # now the package answers
        process.stdin.flush()
        later = json.loads(process.stdout.readline())
        process.stdin.close()
        rest = process.stdout.read()
    assert first["result"]["serverInfo"]["name"] == "everyword"
    assert greeted - started < 1.0
    # The list does not wait for the call that was asked for before it, nor for the package.
    assert [first["id"], second["id"], third["id"], later["id"]] == [0, "list", "call", 9]
    assert {"remember", "recall", "wake_up"} <= {tool["name"] for tool in second["result"]["tools"]}
    assert waited < 1.0
    assert "Remembered" in third["result"]["content"][0]["text"]
    assert later["result"] == second["result"]
    assert (rest, process.returncode) == (b"", 0)


# Over the wire


@pytest.mark.usefixtures("no_reader")
def test_two_clients_over_stdio_on_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")

    def server() -> StdioServerParameters:
        return StdioServerParameters(command=sys.executable, args=[*COMMAND, "--memory", path], env=dict(os.environ))

    async def together() -> None:
        # One as clients are today, one as the protocol's newest revision has it.
        async with Client(server(), mode="legacy") as first, Client(server()) as second:
            with anyio.fail_after(30):
                async with anyio.create_task_group() as group:
                    for number in range(5):
                        group.start_soon(first.call_tool, "remember", {"text": f"first {number}"})
                        group.start_soon(second.call_tool, "remember", {"text": f"second {number}"})
                assert "second 3" in said(await first.call_tool("recall", {"query": "second 3"}))
                assert "first 4" in said(await second.call_tool("recall", {"query": "first 4"}))
                assert json.loads(in_fence(await first.call_tool("stats", {})))["events"] == 10

    anyio.run(together)


@pytest.mark.usefixtures("no_reader")
def test_two_clients_over_http_who_know_the_token(tmp_path: Path) -> None:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "--memory", str(tmp_path / "m.db"), "--transport", "http", "--port", str(port)],
        env={**os.environ, "EVERYWORD_MCP_TOKEN": "sesame"},
    )
    try:
        wait_for_port(port)

        async def together() -> None:
            url = f"http://127.0.0.1:{port}/mcp"
            assert httpx2.post(url, json=HANDSHAKE).status_code == 401
            assert httpx2.post(url, json=HANDSHAKE, headers={"Authorization": "Bearer x"}).status_code == 401
            async with (
                httpx2.AsyncClient(headers={"Authorization": "Bearer sesame"}) as knows,
                Client(streamable_http_client(url, http_client=knows)) as first,
                Client(streamable_http_client(url, http_client=knows), mode="legacy") as second,
            ):
                with anyio.fail_after(20):
                    await first.call_tool("remember", {"text": "The boat is called Aurora."})
                    assert "Aurora" in said(await second.call_tool("recall", {"query": "the boat"}))

        anyio.run(together)
    finally:
        process.terminate()
        process.wait(20)
