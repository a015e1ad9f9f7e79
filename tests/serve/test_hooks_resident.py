"""The resident process behind the hooks: one only, gone with its agent, and nothing depends on it."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from everyword import Memory, __version__
from everyword.interfaces.hooks import client, run_hook, state
from everyword.interfaces.hooks.state import HookSettings, load, save

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs UNIX sockets")
COMMAND = client.COMMAND


@pytest.fixture
def home(tmp_path: Path) -> Iterator[str]:
    home = str(tmp_path / "h")
    save(home, HookSettings(memory=f"{home}/m.db", embedder="hashing", timeout_s=20.0))
    assert client.has_sockets(home)
    yield home
    found = pid_of(home)
    client.ask(home, {"do": "stop"}, 2.0)
    if found:
        until(lambda: not is_running(found))


def until(happens: Callable[[], Any], seconds: float = 20.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (seen := happens()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return seen


def pid_of(home: str) -> int:
    return (client.ask(home, {"do": "ping"}, 2.0) or {}).get("pid", 0)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def run(home: str, event: str, **said: Any) -> int:
    payload = {"hook_event_name": event, "session_id": "now", "cwd": "/home/ana/harbour", **said}
    return run_hook.main(["run", "--home", home], io.BytesIO(json.dumps(payload).encode()))


def transcript(path: Path, *texts: str) -> str:
    with path.open("a") as file:
        for text in texts:
            line = {"type": "user", "uuid": text, "sessionId": "t", "message": {"content": text}, "parentUuid": None}
            file.write(json.dumps({**line, "timestamp": "2026-02-03T09:00:00Z"}) + "\n")
    return str(path)


def kept(home: str) -> list[str]:
    with Memory.open(f"{home}/m.db", embedder="none") as memory:
        return [event.text for event in memory.events()]


def test_hooks_start_one_and_only_one(home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Memory.open(f"{home}/m.db", embedder="hashing") as memory:
        memory.add("Remember that the tide tables come first.", role="user", session="old", wing="harbour")
    # The first session is not kept waiting; what it should have been told comes with its first prompt, once.
    run(home, "SessionStart", source="startup")
    assert capsys.readouterr().out == ""
    run(home, "UserPromptSubmit", prompt="hello")  # waits, since a program may ask once and end
    first = pid_of(home)
    assert first
    assert "the tide tables come first" in capsys.readouterr().out
    run(home, "UserPromptSubmit", prompt="hello")
    assert capsys.readouterr().out == ""
    run(home, "SessionStart", source="resume")
    assert "the tide tables come first" in capsys.readouterr().out
    # What it keeps at hand is never older than what was written, by whichever process.
    with Memory.open(f"{home}/m.db", embedder="hashing") as memory:
        memory.add("We decided to paint every pier green from now on.", role="user", session="old", wing="harbour")
    run(home, "SessionStart", source="resume")
    assert "pier" in capsys.readouterr().out
    # However many are started, even at once, one serves.
    others = [subprocess.Popen([*COMMAND, "resident", "--home", home, "--owner", str(os.getpid())]) for _ in range(3)]
    assert [other.wait(20) for other in others] == [0, 0, 0]
    assert pid_of(home) == first
    # It saves what hooks hand over, and answers prompts once it is ready.
    run(home, "SessionEnd", transcript_path=transcript(tmp_path / "t.jsonl", "one", "two"))
    assert until(lambda: len(kept(home)) == 4)
    assert until(lambda: (client.ask(home, {"do": "ping"}, 2.0) or {}).get("ready"))
    run(home, "UserPromptSubmit", prompt="What about the tide tables?")
    assert not state.last_errors(home, 1)
    # Only its owner may talk to it.
    assert os.stat(f"{home}/{client.SOCKET}").st_mode & 0o077 == 0
    # Other settings: it makes way for one that knows them.
    save(home, load(home)._replace(save_every=3))
    assert until(lambda: not is_running(first))
    assert not os.path.exists(f"{home}/{client.SOCKET}")


def test_only_the_first_moment_of_a_session_waits(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the process can't start, prompts would wait for ever."""
    monkeypatch.setattr(client, "start", lambda _: None)
    save(home, load(home)._replace(timeout_s=2.0))
    state.owe_start(home, "now")
    took: list[float] = []
    for age in (0, 60):
        os.utime(state._owed(home, "now"), (time.time() - age,) * 2)
        started = time.monotonic()
        run(home, "UserPromptSubmit", prompt="hello")
        took.append(time.monotonic() - started)
    assert took[0] > 1 > took[1]
    assert state.start_owed_since(home, "now") is not None


def test_an_agent_without_context_beside_prompts_waits_at_the_start(
    home: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory.open(f"{home}/m.db", embedder="hashing") as memory:
        memory.add("Remember that the tide tables come first.", role="user", session="old", wing="harbour")
    payload = {"hook_event_name": "sessionStart", "session_id": "now", "cwd": "/home/ana/harbour"}
    run_hook.main(["run", "--agent", "cursor", "--home", home], io.BytesIO(json.dumps(payload).encode()))
    assert "the tide tables come first" in capsys.readouterr().out


def test_it_ends_with_its_agent_and_saves_before_that(home: str, tmp_path: Path) -> None:
    agent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    resident = subprocess.Popen([*COMMAND, "resident", "--home", home, "--owner", str(agent.pid)])
    assert until(lambda: pid_of(home)) == resident.pid
    time.sleep(2.5)  # longer than it lingers
    assert resident.poll() is None
    path = transcript(tmp_path / "t.jsonl", *(f"message {number}" for number in range(100)))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:  # in the name of the agent
        asked.connect(f"{home}/{client.SOCKET}")
        request = {"do": "save", "transcript": path, "format": "claude-code", "version": __version__}
        asked.sendall(json.dumps(request).encode() + b"\n")
        assert asked.recv(100) == b"{}"
    agent.kill()
    agent.wait()
    assert resident.wait(20) == 0
    assert len(kept(home)) == 100


def test_what_an_agent_writes_after_its_last_hook_is_saved_when_it_has_ended(home: str, tmp_path: Path) -> None:
    agent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    resident = subprocess.Popen([*COMMAND, "resident", "--home", home, "--owner", str(agent.pid)])
    assert until(lambda: pid_of(home)) == resident.pid
    session = tmp_path / "session-2026-03-04T09-00-h1.jsonl"  # Gemini's, which does not say its folder

    def write(text: str) -> None:
        with session.open("a") as file:
            line = {"id": text, "timestamp": "2026-03-04T09:00:00Z", "type": "user", "content": [{"text": text}]}
            file.write(json.dumps(line) + "\n")

    session.write_text(json.dumps({"sessionId": "h1", "projectHash": "p"}) + "\n")
    write("the pump is blue")
    request = {"do": "save", "transcript": str(session), "format": "gemini-cli", "cwd": "/x/harbour"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.connect(f"{home}/{client.SOCKET}")
        asked.sendall(json.dumps({**request, "version": __version__}).encode() + b"\n")
        assert asked.recv(100) == b"{}"
    assert until(lambda: kept(home) == ["the pump is blue"])
    assert until(lambda: "resident ready" in (Path(home) / state.LOG_FILE).read_text())  # it looked for unsaved ones
    write("the valve is red")
    agent.kill()
    agent.wait()
    assert resident.wait(20) == 0
    with Memory.open(f"{home}/m.db", embedder="none") as memory:
        assert [(event.text, event.wing) for event in memory.events()] == [
            ("the pump is blue", "harbour"),
            ("the valve is red", "harbour"),
        ]


def test_one_that_was_killed_is_replaced(home: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(home, "SessionStart")
    first = until(lambda: pid_of(home))
    os.kill(first, signal.SIGKILL)
    assert until(lambda: not is_running(first))
    assert os.path.exists(f"{home}/{client.SOCKET}")  # it had no time to clean up
    # Without it, a save is done by a process of its own.
    run(home, "PreCompact", transcript_path=transcript(tmp_path / "t.jsonl", "kept all the same"))
    assert until(lambda: os.path.exists(f"{home}/m.db") and kept(home) == ["kept all the same"])
    # A prompt is not kept waiting: it starts the next one, and goes on without.
    run(home, "UserPromptSubmit", prompt="What about the tide tables?")
    assert capsys.readouterr().out == ""
    second = until(lambda: pid_of(home))
    assert second
    assert second != first
    # A request of another version ends it: what serves is what is installed.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.connect(f"{home}/{client.SOCKET}")
        asked.sendall(b'{"do": "prompt", "version": "0.0.0"}\n')
        assert json.loads(asked.recv(100)) == {"stale": True}
    assert until(lambda: not is_running(second))


def test_one_that_does_not_answer_holds_no_hook_up(home: str) -> None:
    save(home, load(home)._replace(timeout_s=0.5))
    hung = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    hung.bind(f"{home}/{client.SOCKET}")
    hung.listen()
    waiting: list[socket.socket] = []

    def take() -> None:
        with suppress(OSError):
            while True:
                waiting.append(hung.accept()[0])

    threading.Thread(target=take, daemon=True).start()
    payload = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "What about the tide tables?"}).encode()
    started = time.perf_counter()
    done = subprocess.run([*COMMAND, "run", "--home", home], input=payload, capture_output=True)
    assert time.perf_counter() - started < 5
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    hung.close()
    for one in waiting:
        one.close()
    os.remove(f"{home}/{client.SOCKET}")


def test_what_is_owed_is_told_though_the_rest_takes_too_long(home: str) -> None:
    save(home, load(home)._replace(timeout_s=3.0))
    state.owe_start(home, "now")
    slow = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    slow.bind(f"{home}/{client.SOCKET}")
    slow.listen()
    waiting: list[socket.socket] = []

    def answer() -> None:
        with suppress(OSError):
            while True:
                waiting.append(slow.accept()[0])
                if json.loads(waiting[-1].recv(1 << 16))["do"] == "start":
                    waiting[-1].sendall(b'{"text": "You are Atlas."}')
                    waiting.pop().close()

    threading.Thread(target=answer, daemon=True).start()
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": "What about the tide tables?", "session_id": "now"}
    asked = json.dumps(payload).encode()
    done = subprocess.run([*COMMAND, "run", "--home", home], input=asked, capture_output=True)
    slow.close()
    for one in waiting:
        one.close()
    os.remove(f"{home}/{client.SOCKET}")
    assert done.returncode == 0
    assert "You are Atlas." in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert state.start_owed_since(home, "now") is None


def test_what_could_not_be_told_is_still_owed(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    save(home, load(home)._replace(resident=False))
    state.owe_start(home, "now")
    with Memory.open(f"{home}/m.db", embedder="hashing") as memory:
        memory.add("Remember that the tide tables come first.", role="user", session="old", wing="harbour")

    class Closed(io.StringIO):
        def write(self, _: str, /) -> int:
            raise BrokenPipeError

    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", Closed())
        run(home, "UserPromptSubmit", prompt="hello")
    assert state.start_owed_since(home, "now") is not None
    run(home, "UserPromptSubmit", prompt="hello")
    assert state.start_owed_since(home, "now") is None


@pytest.mark.parametrize("said", [b"", b"nonsense\n", b"[]\n", b"\xff\n", b"{" * 100_000])
def test_nonsense_on_its_socket_does_not_end_it(shared_home: str, said: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.connect(f"{shared_home}/{client.SOCKET}")
        asked.sendall(said)
        asked.shutdown(socket.SHUT_WR)
        asked.recv(100)
    assert pid_of(shared_home)


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = str(tmp_path_factory.mktemp("h"))
    save(home, HookSettings(memory=f"{home}/m.db", embedder="hashing"))
    process = subprocess.Popen([*COMMAND, "resident", "--home", home, "--owner", str(os.getpid())])
    assert until(lambda: pid_of(home))
    yield home
    client.ask(home, {"do": "stop"}, 2.0)
    process.wait(20)
