"""Secrets are taken out whichever way an event comes in: library, command line, agents' tools, service and hooks."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.serve.service import serving

from everyword import Client, Memory
from everyword.errors import InvalidSetting
from everyword.interfaces.hooks.actions import HookActions
from everyword.interfaces.hooks.state import HookSettings

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MARK = "[redacted: github token]"
SSN = "my SSN is 536-22-8417"


def opened(**options: Any) -> Memory:
    return Memory.open(":memory:", embedder="none", **options)


def test_add_takes_secrets_out_of_text_names_and_meta() -> None:
    with opened() as memory:
        done = memory.add(
            f"the token is {KEY}",
            speaker=f"Ana {KEY}",
            session=f"s {KEY}",
            wing=f"w {KEY}",
            role=f"user {KEY}",
            meta={"note": KEY, "pin": 4821, "deep": [{"password": "correct7horse"}]},
        )
        event = memory.get(done.id)
    assert event.text == f"the token is {MARK}"
    assert (event.speaker, event.session, event.wing) == (f"Ana {MARK}", f"s {MARK}", f"w {MARK}")
    assert event.role == f"user {MARK}"
    assert event.meta == {
        "note": MARK,
        "pin": "[redacted: pin]",
        "deep": [{"password": "[redacted: password]"}],
    }
    assert done.redacted == {"github token": 6, "pin": 1, "password": 1}


def test_a_wing_named_by_a_secret_is_written_and_read_alike() -> None:
    with opened() as memory:
        wing = memory.wing(f"project {KEY}")
        wing.add("hello there")
        assert [event.wing for event in wing.events()] == [f"project {MARK}"]


def test_an_identity_holds_no_secret() -> None:
    with opened() as memory:
        said = memory.identity(f"You are Otto and use {KEY}.")
        assert said is not None
        assert said.text == f"You are Otto and use {MARK}."
        kept = memory.identity(f"You are Otto and use {KEY}.", redact="none")
        assert kept is not None
        assert KEY in kept.text


def test_a_call_says_otherwise_than_the_memory() -> None:
    with opened() as memory:
        assert memory.add(SSN).event.text == SSN
        assert memory.add(f"{SSN}.", redact="personal").event.text == "my SSN is [redacted: social security number]."
        assert memory.add(f"use {KEY}", redact="none").event.text == f"use {KEY}"
        assert [one.event.text for one in memory.add_many([{"text": KEY}, {"text": SSN}], redact="personal")] == [
            MARK,
            "my SSN is [redacted: social security number]",
        ]
        with pytest.raises(InvalidSetting):
            memory.add("x", redact="everything")


def test_the_setting_of_a_memory_counts_and_the_environment_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(redact="personal") as memory:
        assert "536" not in memory.add(SSN).event.text
    with opened(redact="none") as memory:
        assert memory.add(f"use {KEY}").event.text == f"use {KEY}"
    monkeypatch.setenv("EVERYWORD_REDACT", "personal")
    with opened() as memory:
        assert "536" not in memory.add(SSN).event.text
    with pytest.raises(InvalidSetting):
        opened(redact="all")


def test_the_same_event_with_its_secret_is_known_the_second_time() -> None:
    with opened() as memory:
        assert memory.add(f"use {KEY}", at="2026-01-01").new
        again = memory.add(f"use {KEY}", at="2026-01-01")
        assert not again.new
        assert again.redacted == {"github token": 1}
        memory.add(f"use {KEY}", key="k")
        assert not memory.add(f"use {KEY}", key="k").new


def test_words_of_a_secret_are_not_in_the_file(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="none") as memory:
        memory.add("my password is sunflower99", session="sunflower99 is no secret here")
        memory.add("my other password is chrysanthemum")
        assert not memory.recall("chrysanthemum")
    raw = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert b"chrysanthemum" not in raw


def test_the_command_line_redacts_and_says_so(tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "everyword", "--memory", str(tmp_path / "memory.db"), *arguments]
        source = str(Path(__file__).parents[2] / "src")
        environment = {**os.environ, "EVERYWORD_EMBEDDER": "none", "PYTHONPATH": source}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    stored = json.loads(run("add", f"the token is {KEY}", "--json"))
    assert stored["event"]["text"] == f"the token is {MARK}"
    assert stored["redacted"] == {"github token": 1}
    assert KEY in json.loads(run("add", f"keep {KEY}", "--redact", "none", "--json"))["event"]["text"]
    assert "redacted: 1 github token" in run("add", f"another {KEY}")


def test_a_service_redacts_for_its_clients() -> None:
    with opened() as memory, serving(memory) as address, Client(address) as client:
        done = client.add(f"the token is {KEY}", session=f"s {KEY}")
        assert (done.event.text, done.event.session) == (f"the token is {MARK}", f"s {MARK}")
        assert done.redacted == {"github token": 2}
        assert client.add(SSN, redact="personal").redacted == {"social security number": 1}
        assert client.add_many([{"text": f"more {KEY}"}], redact="none")[0].event.text == f"more {KEY}"
        assert KEY not in client.identity(f"You use {KEY}.").text


def test_agents_can_not_switch_it_off() -> None:
    from everyword.interfaces.mcp.tools import agent_tools

    remember = agent_tools()["remember"]
    assert "redact" not in remember.schema()["properties"]
    assert "redact" not in agent_tools().get("identity", remember).schema()["properties"]


def test_hooks_redact_by_their_settings(tmp_path: Path) -> None:
    events = [{"text": f"use {KEY}, {SSN}", "session": "s", "key": "1"}]
    for level, kept in ((None, f"use {MARK}, {SSN}"), ("personal", None), ("none", f"use {KEY}, {SSN}")):
        settings = HookSettings(memory=str(tmp_path / f"{level}.db"), embedder="none", redact=level)
        work = HookActions(str(tmp_path), settings)
        try:
            assert work._add([dict(one) for one in events]) == 1
            text = next(iter(work.memory.events())).text
        finally:
            work.close()
        assert text == (kept or f"use {MARK}, my SSN is [redacted: social security number]")


def test_async_memory_takes_the_same_argument() -> None:
    from everyword import AsyncMemory

    async def talk() -> str:
        async with await AsyncMemory.open(":memory:", embedder="none") as memory:
            return (await memory.add(f"use {KEY}", redact="none")).event.text

    assert asyncio.run(talk()) == f"use {KEY}"
