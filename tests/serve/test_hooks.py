"""What hooks do: save the tail of a transcript, give back a few cited lines, and never trouble the agent."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from everyword import Memory
from everyword.interfaces.hooks import client, run_hook, state
from everyword.interfaces.hooks.actions import HookActions
from everyword.interfaces.hooks.state import HookSettings, save
from everyword.models.tokenizers import load_tokenizer
from everyword.text.requests import asked_to_remember

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SESSION = "6f1d2c3b-0a9e-4d57-8c11-2b7f5e90aa01"


class Transcript:
    """A Claude Code transcript that is still being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.cwd = "/home/ana/harbour"

    def say(self, text: str, who: str = "user", *, end: str = "\n", blocks: list[Any] | None = None) -> None:
        self.count += 1
        line = {
            "type": who,
            "uuid": f"00000000-0000-4000-8000-{self.count:012d}",
            "parentUuid": None,
            "sessionId": SESSION,
            "cwd": self.cwd,
            "timestamp": f"2026-02-03T09:{self.count // 60:02d}:{self.count % 60:02d}.000Z",
            "message": {"role": who, "content": blocks or text},
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + end)

    def use_tool(self) -> None:
        self.say("", "assistant", blocks=[{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}])
        self.say("", "user", blocks=[{"type": "tool_result", "tool_use_id": "t", "content": "a.py b.py"}])


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def transcript(tmp_path: Path) -> Transcript:
    return Transcript(tmp_path / f"{SESSION}.jsonl")


def set_up(home: str, **options: Any) -> HookSettings:
    # No resident process here, and no limit that could end the process that the tests run in.
    wanted = {"memory": f"{home}/memory.db", "embedder": "hashing", "resident": False, "timeout_s": 60.0, **options}
    settings = HookSettings(**wanted)
    save(home, settings)
    return settings


@pytest.fixture
def work(home: str) -> Iterator[HookActions]:
    work = HookActions(home, set_up(home))
    yield work
    work.close()


def run(home: str, event: str, **said: Any) -> int:
    payload = {"hook_event_name": event, "session_id": SESSION, "cwd": "/home/ana/harbour", **said}
    return run_hook.main(["run", "--home", home], io.BytesIO(json.dumps(payload).encode()))


def kept(home: str, *, at_least: int = 0) -> list[str]:
    """Read what is in the memory, once it is there: another process may be saving it."""
    deadline = time.monotonic() + 20
    while True:
        texts: list[str] = []
        if Path(f"{home}/memory.db").exists():
            with Memory.open(f"{home}/memory.db", embedder="none") as memory:
                texts = [event.text for event in memory.events()]
        if len(texts) >= at_least or time.monotonic() > deadline:
            return texts
        time.sleep(0.1)


# Saving


def test_the_tail_is_saved_once(work: HookActions, transcript: Transcript) -> None:
    what = {"transcript": str(transcript.path), "format": "claude-code"}
    transcript.say("Let us name the boat Aurora.")
    transcript.say("A fine name.", "assistant")
    assert work.save(what) == 2
    assert work.save(what) == 0
    transcript.say("Ünicode 😀 stays.")
    assert work.save(what) == 1
    events = list(work.memory.events())
    assert [event.text for event in events] == ["Let us name the boat Aurora.", "A fine name.", "Ünicode 😀 stays."]
    assert {(event.session, event.wing) for event in events} == {(SESSION, "harbour")}
    # An import of the same file finds them all known.
    os.remove(state._path(work.home, str(transcript.path)))  # pyright: ignore[reportPrivateUsage]
    assert work.save(what) == 0


@pytest.mark.parametrize("folder", ["", "~/"])
def test_a_transcript_is_found_from_the_home_and_from_where_the_agent_works(
    home: str, transcript: Transcript, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    set_up(home)
    transcript.say("Let us name the boat Aurora.")
    monkeypatch.setenv("HOME", str(transcript.path.parent))
    monkeypatch.chdir(transcript.path.parent)
    handed: list[dict[str, Any]] = []
    monkeypatch.setattr(client, "start_detached", lambda *given: handed.append(json.loads(given[-1])))
    run(home, "SessionEnd", transcript_path=f"{folder}{transcript.path.name}")
    assert [what["transcript"] for what in handed] == [str(transcript.path)]


@pytest.mark.parametrize("nothing", [None, 7, ["x"], {"x": 1}])
def test_what_is_no_text_is_nothing(
    home: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, nothing: Any
) -> None:
    set_up(home)
    started: list[Any] = []
    monkeypatch.setattr(client, "start_detached", lambda *given: started.append(given))
    for event in ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"):
        assert run(home, event, session_id=nothing, cwd=nothing, prompt=nothing, transcript_path=nothing) == 0
    assert not started
    assert capsys.readouterr().out == ""
    assert state.last_errors(home, 50) == []


def test_several_that_save_one_transcript_at_once_save_it_once(work: HookActions, transcript: Transcript) -> None:
    for number in range(150):
        transcript.say(f"message {number}")
    what = {"transcript": str(transcript.path), "format": "claude-code"}
    state.write_position(work.home, str(transcript.path), {"byte": 0, "line": 0}, "claude-code")
    with ThreadPoolExecutor(6) as threads:
        saves = [threads.submit(work.save, what) for _ in range(4)]
        saves += [threads.submit(work.save_unsaved) for _ in range(2)]
        assert sum(save.result() for save in saves) == 150
    assert work.memory.stats().events == 150
    assert len(os.listdir(Path(work.home) / "saved")) == 1


def test_a_line_that_is_half_written_waits(work: HookActions, transcript: Transcript) -> None:
    what = {"transcript": str(transcript.path), "format": "claude-code"}
    transcript.say("whole")
    transcript.say("half of this is missing", end="")
    content = transcript.path.read_bytes()
    transcript.path.write_bytes(content[:-20])
    assert work.save(what) == 1
    transcript.path.write_bytes(content + b"\n")
    assert work.save(what) == 1


def test_a_transcript_that_begins_anew_is_read_anew(work: HookActions, transcript: Transcript) -> None:
    what = {"transcript": str(transcript.path), "format": "claude-code"}
    for number in range(5):
        transcript.say(f"message {number}")
    work.save(what)
    transcript.path.unlink()
    transcript.say("another beginning")
    assert work.save(what) == 1


def test_what_was_forgotten_is_not_saved_again(work: HookActions, transcript: Transcript, home: str) -> None:
    transcript.say("I keep my boat in Porto.")
    assert work.save({"transcript": str(transcript.path), "format": "claude-code"}) == 1
    work.memory.forget(ids=[event.id for event in work.memory.events()])
    os.remove(state._path(work.home, str(transcript.path)))  # pyright: ignore[reportPrivateUsage]
    transcript.say("She is called Rosa.")
    assert work.save({"transcript": str(transcript.path), "format": "claude-code"}) == 1
    assert kept(home) == ["She is called Rosa."]


def test_what_tools_did_is_left_out_unless_asked_for(home: str, transcript: Transcript) -> None:
    transcript.say("List the files.")
    transcript.use_tool()
    what = {"transcript": str(transcript.path), "format": "claude-code"}
    without = HookActions(home, set_up(home))
    assert without.save(what) == 1
    without.close()
    other = f"{home}2"
    with_tools = HookActions(other, set_up(other, save_tools=True))
    assert with_tools.save(what) == 3
    with_tools.close()


def test_secrets_are_taken_out_and_one_bad_message_stops_nothing(work: HookActions, transcript: Transcript) -> None:
    what = {"transcript": str(transcript.path), "format": "claude-code"}
    work.memory.add("another text", key="claude-code:00000000-0000-4000-8000-000000000002")
    transcript.say(f"use {KEY}")
    transcript.say("its key is taken")
    transcript.say("after")
    assert work.save(what) == 2
    texts = [event.text for event in work.memory.events(session=SESSION)]
    assert texts[-1] == "after"
    assert not any(KEY in text for text in texts)
    assert "left out one event: KeyConflict" in state.last_errors(work.home, 1)[0]  # no key: it may hold words


def test_what_was_left_by_a_session_that_died_is_saved_later(work: HookActions, transcript: Transcript) -> None:
    transcript.say("one")
    work.save({"transcript": str(transcript.path), "format": "claude-code"})
    transcript.say("two, and then the power went out")
    assert work.save_unsaved() == 1
    assert work.save_unsaved() == 0
    transcript.path.unlink()
    assert work.save_unsaved() == 0


@pytest.fixture
def saved_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save in this process, where the test is about what is saved; another one would take half a second each time."""
    monkeypatch.setattr(client, "start_detached", lambda *given: run_hook.main(list(given)))


def agent_hook(home: str, agent: str, **payload: Any) -> int:
    said = io.BytesIO(json.dumps(payload).encode())
    return run_hook.main(["run", "--agent", agent, "--home", home], said)


@pytest.mark.usefixtures("saved_here")
def test_gemini_and_copilot_save_their_transcripts(
    home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(home)
    samples = Path(__file__).parent.parent / "data" / "imports"
    gemini = next((samples / "gemini").rglob("*.json"))
    agent_hook(home, "gemini", hook_event_name="AfterAgent", session_id="g", cwd="/x/a", transcript_path=str(gemini))
    first = len(kept(home, at_least=1))
    # What a hook said beside a prompt is in the transcript; it is not what the user said.
    said = [{"text": "The pump is blue."}, {"text": "<hook_context>Everyword keeps this.</hook_context>"}]
    message = {"id": "m1", "timestamp": "2026-03-04T09:00:00Z", "type": "user", "content": said}
    newer = tmp_path / "session-2026-03-04T09-00-h1.jsonl"
    newer.write_text(json.dumps({"sessionId": "h1", "projectHash": "p"}) + "\n" + json.dumps(message) + "\n")
    agent_hook(home, "gemini", hook_event_name="AfterAgent", session_id="h1", cwd="/x/a", transcript_path=str(newer))
    first += 1
    assert "The pump is blue." in kept(home, at_least=first)
    with Memory.open(f"{home}/memory.db", embedder="hashing") as memory:
        assert {event.wing for event in memory.events()} == {"a"}  # the wing that `mcp --project` uses there
    events = tmp_path / "events.jsonl"
    about = {"sessionId": "s7", "producer": "copilot-agent", "context": {"cwd": "/home/ben/ledger"}}
    said = [("session.start", about), ("user.message", {"content": "Remember that we round half to even."})]
    said += [("assistant.turn_start", {}), ("assistant.message", {"content": "Done."})]
    lines = [
        {"type": kind, "data": data, "id": str(number), "timestamp": "2026-03-04T10:00:00Z"}
        for number, (kind, data) in enumerate(said)
    ]
    events.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for _ in range(2):
        agent_hook(home, "copilot", hook_event_name="Stop", session_id="s7", cwd="/x", transcript_path=str(events))
    assert set(kept(home, at_least=first + 2)) >= {"Remember that we round half to even.", "Done."}
    with Memory.open(f"{home}/memory.db", embedder="hashing") as memory:
        saved = list(memory.events(session="s7"))
        assert [(event.role, event.wing) for event in saved] == [("user", "ledger"), ("assistant", "ledger")]
        assert memory.import_events(events).added == 0
    agent_hook(home, "copilot", hook_event_name="SessionStart", session_id="s8", cwd="/home/ben/ledger")
    assert "long-term memory" in json.loads(capsys.readouterr().out)["additionalContext"]


@pytest.mark.usefixtures("saved_here")
def test_cursor_saves_prompts_and_replies_and_starts_with_context(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(home)
    shared = {"conversation_id": "c1", "generation_id": "g1", "workspace_roots": ["/home/ana/boat"]}
    prompt = "Remember that the mast is 12 m high."
    agent_hook(home, "cursor", hook_event_name="beforeSubmitPrompt", prompt=prompt, **shared)
    agent_hook(home, "cursor", hook_event_name="afterAgentResponse", text="Noted.", **shared)
    agent_hook(home, "cursor", hook_event_name="afterAgentResponse", text="Noted.", **shared)
    assert sorted(kept(home, at_least=2)) == ["Noted.", prompt]
    assert capsys.readouterr().out == ""
    agent_hook(home, "cursor", hook_event_name="sessionStart", session_id="c2", workspace_roots=["/home/ana/boat"])
    assert "mast" in json.loads(capsys.readouterr().out)["additional_context"]
    with Memory.open(f"{home}/memory.db", embedder="hashing") as memory:
        assert {(event.session, event.wing) for event in memory.events()} == {("c1", "boat")}


@pytest.mark.usefixtures("saved_here")
def test_codex_saves_turns_of_a_session_without_a_file(home: str) -> None:
    set_up(home)
    turn = {"session_id": "t1", "turn_id": "1", "cwd": "/home/ben/ledger"}
    for _ in range(2):
        agent_hook(home, "codex", hook_event_name="Stop", last_assistant_message="Done.", **turn)
    assert kept(home, at_least=1) == ["Done."]
    with Memory.open(f"{home}/memory.db", embedder="hashing") as memory:
        assert {(event.session, event.wing) for event in memory.events()} == {("t1", "ledger")}


# When it is saved


def test_a_turn_s_end_saves_when_enough_was_said(home: str, transcript: Transcript) -> None:
    set_up(home, save_every=4)
    for number in range(3):
        transcript.say(f"message {number}")
        transcript.use_tool()  # no message
    assert run(home, "Stop", transcript_path=str(transcript.path)) == 0
    time.sleep(0.3)
    assert not Path(f"{home}/memory.db").exists()
    transcript.say("the fourth", "assistant")
    assert run(home, "Stop", transcript_path=str(transcript.path)) == 0
    assert len(kept(home, at_least=4)) == 4


@pytest.mark.parametrize("event", ["PreCompact", "SessionEnd"])
def test_compaction_and_the_end_save_all(home: str, transcript: Transcript, event: str) -> None:
    set_up(home)
    transcript.say("just one")
    run(home, event, transcript_path=str(transcript.path))
    assert kept(home, at_least=1) == ["just one"]


def test_remember_that_saves_at_once_and_the_agent_is_told(
    home: str, transcript: Transcript, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(home, inject_prompt=False)
    transcript.say("hello")
    prompt = "Please remember that Ünal is allergic to nuts."
    run(home, "UserPromptSubmit", prompt=prompt, transcript_path=str(transcript.path))
    transcript.say(prompt)  # the agent writes it down after the hook
    assert kept(home, at_least=2) == ["hello", prompt]
    told = json.loads(capsys.readouterr().out)["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert "keeps this message" in told["additionalContext"]


@pytest.mark.parametrize("wait", [3.0, 0.0])
def test_the_first_prompt_of_a_session_is_kept_before_there_is_a_transcript(
    home: str, transcript: Transcript, wait: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everyword.interfaces.hooks.actions._AWAIT_S", wait)
    work, prompt = HookActions(home, set_up(home)), "Remember that the release party is on Friday."
    what = {"transcript": str(transcript.path), "format": "claude-code", "awaits": prompt}
    with ThreadPoolExecutor(1) as thread:
        saved = thread.submit(work.save, what)
        time.sleep(0.2)
        transcript.say(prompt)
        assert saved.result() == (1 if wait else 0)
    assert work.save_unsaved() == (0 if wait else 1)
    work.close()


@pytest.mark.parametrize(
    ("prompt", "asks"),
    [
        ("Remember that config.yaml is generated.", "config.yaml is generated"),
        ("Fine. Please remember: we use pnpm, not npm", "we use pnpm, not npm"),
        ("remember the deploy needs VPN", "the deploy needs VPN"),
        ("Don't forget to run the linter!", "to run the linter"),
        ("do you remember that bug with the decimals?", None),
        ("Remember that bug with the decimals in parser.py?", None),
        ("I don't remember that.", None),
        ("I can't remember this API, look it up", None),
        ("please note that the tests fail", None),
        ("Add a note: 'deprecated' to the docs", None),
        ("const remember: boolean = true; db.remember(that)", None),
    ],
)
def test_only_who_asks_for_it_is_promised_to_be_remembered(prompt: str, asks: str | None) -> None:
    found = asked_to_remember(prompt)
    assert (found and found[1]) == asks


def test_a_switched_off_hook_does_nothing(home: str, transcript: Transcript) -> None:
    set_up(home, off=("SessionEnd",))
    transcript.say("hello")
    run(home, "SessionEnd", transcript_path=str(transcript.path))
    time.sleep(0.3)
    assert kept(home) == []


# Giving back


def test_a_session_starts_with_what_was_asked_to_be_remembered(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_up(home)
    run(home, "SessionStart", source="startup")
    assert capsys.readouterr().out == ""
    with Memory.open(f"{home}/memory.db", embedder="hashing") as memory:
        said = {"role": "user", "at": "2026-02-01T10:00Z"}
        memory.add("Remember that the tide tables come first.", session="old", wing="harbour", **said)
        memory.add("Remember that elsewhere is far.", session="other", wing="kitchen", **said)
    run(home, "SessionStart", source="startup")
    told = json.loads(capsys.readouterr().out)["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    assert "the tide tables come first" in told["additionalContext"]
    assert "elsewhere" not in told["additionalContext"]


def test_a_session_starts_with_who_the_agent_is_and_what_matters_now(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(home, start_tokens=120)
    with Memory.open(f"{home}/memory.db", embedder="hashing") as memory:
        memory.identity("I am Atlas, Ana's assistant.")
        said = {"speaker": "Ana", "role": "user", "session": "old"}
        memory.add("We decided to keep the tide tables in PostgreSQL.", wing="harbour", at="2026-02-01T10:00Z", **said)
        memory.add("We decided to bake at night.", wing="kitchen", at="2026-02-02T10:00Z", **said)
    run(home, "SessionStart", source="startup")
    told = json.loads(capsys.readouterr().out)["hookSpecificOutput"]["additionalContext"]
    assert "[1] identity: I am Atlas, Ana's assistant." in told
    assert "PostgreSQL" in told
    assert "bake" not in told
    assert load_tokenizer().count(told) <= 120


@pytest.mark.usefixtures("saved_here")
def test_a_folder_may_belong_to_a_wing_of_another_name(
    home: str, transcript: Transcript, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(home, wings={"/home/ana/harbour": "sea"})
    transcript.say("Remember that the tide tables come first.")
    run(home, "SessionEnd", transcript_path=str(transcript.path))
    assert kept(home, at_least=1)
    with Memory.open(f"{home}/memory.db", embedder="hashing") as memory:
        assert {event.wing for event in memory.events()} == {"sea"}
    run(home, "SessionStart", source="startup")
    assert "Now, in sea:" in json.loads(capsys.readouterr().out)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.usefixtures("saved_here")
def test_a_project_is_the_root_of_its_repository_and_another_of_its_name_gets_another_wing(
    home: str, tmp_path: Path, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    mine, other = tmp_path / "me" / "heron", tmp_path / "other" / "heron"
    for root in (mine, other):
        (root / "crates" / "table").mkdir(parents=True)
        (root / ".git").mkdir()
    work = HookActions(home, set_up(home))
    transcript.cwd = str(mine / "crates")
    transcript.say("Remember that the lock file stays.")
    transcript.cwd = "/x/elsewhere"  # where a command went
    transcript.say("It still does.")
    assert work.save({"transcript": str(transcript.path), "format": "claude-code"}) == 2
    turn = {
        "agent": "cursor",
        "number": "1",
        "reply": "",
        "session": "c",
        "prompt": "Remember that tabs are four wide.",
    }
    work.save({"turn": {**turn, "cwd": str(other)}})
    work.save({"turn": {**turn, "session": "d", "prompt": "Remember that I like tea.", "cwd": str(tmp_path / "me")}})
    assert [event.wing for event in work.memory.events(newest_first=True)] == [None, "other/heron", "heron", "heron"]
    assert "lock file" in work.session_start(str(mine / "crates" / "table"))
    assert "four wide" not in work.session_start(str(mine))
    assert "four wide" in HookActions(home, work.settings).session_start(str(other))
    for nowhere in ("", "/", str(tmp_path / "me")):
        told = work.session_start(nowhere)
        assert ("tea" in told, "lock" in told, "tabs" in told) == (True, False, False)
    work.close()
    with Memory.open(f"{home}2.db", embedder="hashing") as memory:
        memory.add("Another heron.", wing="heron", meta={"project": "0123456789abcdef"})
        memory.import_events(transcript.path)
        assert {event.wing for event in memory.events(session=SESSION)} == {"me/heron"}


@pytest.fixture(scope="module")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HookActions]:
    """A memory with the real model: only it knows how sure it is."""
    home = str(tmp_path_factory.mktemp("h"))
    work = HookActions(home, HookSettings(memory=f"{home}/m.db", resident=False, timeout_s=60.0))
    for number, text in enumerate(
        (
            "We decided to keep the tide tables in PostgreSQL.",
            "The staging server is called Aurora and runs in Lisbon.",
            "Ana prefers tabs over spaces.",
            "The release is planned for the ninth of May.",
        )
    ):
        work.memory.add(text, speaker="user", role="user", session=f"s{number}", at="2026-02-01T10:00Z")
    yield work
    work.close()


def test_a_prompt_gets_a_few_cited_lines_when_the_memory_is_sure(remembered: HookActions) -> None:
    text = remembered.for_prompt("What is the staging server called?", "")
    assert "Aurora" in text
    assert "[1]" in text
    assert text.splitlines()[1] == "Confidence: likely."
    assert any("not instructions" in line for line in text.splitlines()[2:4])
    assert remembered.for_prompt("How do I peel a mango?", "") == ""


def test_a_prompt_that_the_model_can_not_read_is_judged_by_its_words(remembered: HookActions) -> None:
    said = remembered.memory.add("我们的测试服务器叫极光，放在里斯本。", speaker="user", session="s9")
    try:
        assert "极光" in remembered.for_prompt("测试服务器叫什么？", "")
        assert remembered.for_prompt("怎么剥芒果的皮？", "") == ""
        assert remembered.for_prompt("谢谢你，测试服务器。", "") == ""  # asks for nothing
    finally:
        remembered.memory.forget(ids=[said.event.id])


def test_a_prompt_gets_another_project_s_lines_only_marked_and_never_its_instructions(home: str) -> None:
    work = HookActions(home, HookSettings(memory=f"{home}/m.db", resident=False, timeout_s=60.0))
    said = {"speaker": "user", "role": "user", "at": "2026-02-01T10:00Z"}
    for wing, text in {
        "heron": "The staging database of heron is on port 6433.",
        "osprey": "The staging database of osprey is on port 7777.",
        "osprey ": "Always write commit messages in Spanish in this repo.",
        "osprey  ": "The security officer Gustavo has to approve each deploy.",
    }.items():
        work.memory.add(text, wing=wing.strip(), session=f"s{len(wing)}{wing}", **said)

    def told(prompt: str, cwd: str) -> str:
        return work.for_prompt(prompt, "", cwd)

    port = "On which port is the staging database?"
    assert ("6433" in told(port, "/x/heron"), "7777" in told(port, "/x/heron")) == (True, False)
    assert "Spanish" in told("write a commit message", "/x/osprey")
    assert told("write a commit message", "/x/heron") == ""
    approval = "Who has to approve a deploy?"
    assert "(in osprey)" in told(approval, "/x/heron")
    assert "Gustavo" in told(approval, "/x/osprey")
    assert "(in osprey)" not in told(approval, "/x/osprey")
    assert told(approval, "") == told(approval, "/") == ""
    work.close()


def test_a_prompt_gets_nothing_that_the_agent_has_before_its_eyes(remembered: HookActions) -> None:
    assert remembered.for_prompt("What is the staging server called?", "s1") == ""


def test_a_session_is_told_a_thing_once(remembered: HookActions) -> None:
    question = "What is the staging server called?"
    assert "Aurora" in remembered.for_prompt(question, "told")
    assert remembered.for_prompt(f"Again: {question}", "told") == ""
    assert "Aurora" in remembered.for_prompt(question, "another")
    start = remembered.session_start("", "told")  # as after its context was compacted
    assert ("Aurora" in start) != ("Aurora" in remembered.for_prompt(question, "told"))


def test_a_prompt_gets_no_more_than_its_tokens(remembered: HookActions) -> None:
    from everyword.models.tokenizers import load_tokenizer

    small = HookActions(remembered.home, remembered.settings._replace(prompt_tokens=80, confidence=0.0))
    text = small.for_prompt("What is the staging server called, and where did we decide to keep the tide tables?", "")
    small.close()
    assert 0 < load_tokenizer().count(text) <= 80


@pytest.mark.parametrize("prompt", ["", "  ", "/clear"])
def test_what_is_no_question_is_not_looked_up(home: str, capsys: pytest.CaptureFixture[str], prompt: str) -> None:
    set_up(home)
    run(home, "UserPromptSubmit", prompt=prompt)
    assert capsys.readouterr().out == ""
    assert not Path(f"{home}/memory.db").exists()


@pytest.mark.parametrize(
    "prompt",
    [
        *("thanks!", "what?", "yes please do it", "continue", "Please rename the function and run the tests again."),
        *("\x00" * 10 + "\ud800 what?", "a" * 1_000_000, "?" * 100_000),
    ],
)
def test_what_asks_for_nothing_gets_nothing(remembered: HookActions, prompt: str) -> None:
    eager = HookActions(remembered.home, remembered.settings._replace(confidence=0.0))
    eager._memory = remembered.memory  # pyright: ignore[reportPrivateUsage]
    assert eager.for_prompt(prompt, "") == ""


def test_an_order_that_names_what_is_remembered_gets_it(remembered: HookActions) -> None:
    assert "Aurora" in remembered.for_prompt("Deploy this to the staging server.", "")


@pytest.mark.parametrize("prompt", ["remember " * 100_000, "don't " * 100_000, "note" + " " * 1_000_000, "\ud800"])
def test_hostile_prompts_take_no_time(home: str, prompt: str) -> None:
    set_up(home, inject_prompt=False)
    started = time.perf_counter()
    assert run(home, "UserPromptSubmit", prompt=prompt) == 0
    assert time.perf_counter() - started < 4
    assert not state.last_errors(home, 1)


# Never the agent's trouble


@pytest.mark.parametrize("said", [b"", b"nonsense", b"[]", b"\xff\xfe", b'{"hook_event_name": 7}', b"{" * 100_000])
def test_nonsense_ends_with_zero_and_a_line_in_the_log(
    home: str, said: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    set_up(home)
    assert run_hook.main(["run", "--home", home], io.BytesIO(said)) == 0
    assert capsys.readouterr().out == ""
    assert (Path(home) / state.LOG_FILE).read_text()


def test_a_memory_that_can_not_be_opened_is_only_in_the_log(home: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_up(home)
    Path(f"{home}/memory.db").write_text("this is no memory" * 100)
    assert run(home, "SessionStart") == 0
    assert capsys.readouterr().out == ""
    assert "ForeignFile" in state.last_errors(home, 1)[0]


def test_a_hook_that_is_not_set_up_ends_with_zero(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "everyword.interfaces.hooks", "run", "--home", str(tmp_path / "none")],
        input=b"{}",
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_hook_without_standard_streams_ends_with_zero(home: str) -> None:
    set_up(home)
    hook = f"{shlex.join(client.COMMAND)} run --home {shlex.quote(home)}"
    done = subprocess.run(["sh", "-c", f"{hook} <&-"], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert state.last_errors(home, 1)
    with Memory.open(f"{home}/memory.db", embedder="hashing") as memory:
        memory.add("Add tide tables.", role="user", session="old", wing="harbour")
    said = json.dumps({"hook_event_name": "SessionStart", "session_id": "now", "cwd": "/home/ana/harbour"})
    for closed in (">&-", ">/dev/full"):
        done = subprocess.run(["sh", "-c", f"{hook} {closed}"], input=said.encode(), capture_output=True)
        assert (done.returncode, done.stderr) == (0, b""), closed


def test_the_folder_that_is_worked_in_lends_no_modules(home: str, tmp_path: Path) -> None:
    set_up(home)
    (tmp_path / "json.py").write_text("raise SystemExit(7)")
    (tmp_path / "everyword.py").write_text("raise SystemExit(7)")
    done = subprocess.run([*client.COMMAND, "run", "--home", home], input=b"{}", cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_hook_that_takes_too_long_ends_itself(home: str) -> None:
    set_up(home, timeout_s=0.05)  # shorter than opening a memory
    payload = json.dumps({"hook_event_name": "SessionStart", "cwd": "/home/ana/harbour"}).encode()
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "everyword.interfaces.hooks", "run", "--home", home], input=payload, capture_output=True
    )
    assert time.perf_counter() - started < 10
    assert (done.returncode, done.stdout) == (0, b"")
    assert "ended after 0.05 s" in state.last_errors(home, 1)[0]


def test_the_log_does_not_grow_without_end(home: str) -> None:
    os.makedirs(home)
    (Path(home) / state.LOG_FILE).write_bytes(b"x" * (2 << 20))
    state.log(home, "first\nline \x00 \ud800")
    state.log(home, "second")
    assert (Path(home) / state.LOG_FILE).stat().st_size < 1000
    assert len((Path(home) / state.LOG_FILE).read_text().splitlines()) == 2
