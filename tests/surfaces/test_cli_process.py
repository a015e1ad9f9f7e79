"""The command line as a process of its own: pipes that close, odd encodings, signals, odd arguments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from everyword import Memory

COMMAND = [sys.executable, "-m", "everyword"]
Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes and signals")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    chosen = {"EVERYWORD_EMBEDDER": "hashing", "EVERYWORD_READER": "none"}
    return {**os.environ, **chosen, "EVERYWORD_MEMORY": str(tmp_path / "memory.db")}


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    def run(*arguments: str | bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
        if "stdout" not in more:
            more["capture_output"] = True
        return subprocess.run([*COMMAND, *arguments], env={**environment, **more.pop("env", {})}, **more)

    return run


def test_the_main_job(run: Run) -> None:
    added = run(
        *("add", "I moved to Lisbon in March.", "--speaker", "Ana", "--session", "s1", "--at", "2026-04-02T10:00Z"),
        env={"EVERYWORD_READER": ""},
    )
    assert added.returncode == 0, added.stderr
    found = run("recall", "Where is Lisbon?", "--json", env={"EVERYWORD_READER": ""})
    assert json.loads(found.stdout)["hits"][0]["event"]["text"] == "I moved to Lisbon in March."
    assert b"\x1b" not in found.stdout
    piped = run("add", input="aus der Röhre\n".encode())
    assert piped.returncode == 0


def test_an_error_ends_with_its_exit_code_and_says_what_to_do(run: Run) -> None:
    done = run("recall", "anything")
    assert done.returncode == 9
    assert done.stdout == b""
    assert done.stderr.startswith(b"everyword: There is no memory at ")
    assert b"\x1b" not in done.stderr
    assert b"Traceback" not in done.stderr


@posix
@pytest.mark.parametrize("arguments", [["events"], ["events", "--json"]])
def test_a_reader_that_leaves_early(environment: dict[str, str], arguments: list[str]) -> None:
    with Memory.open(environment["EVERYWORD_MEMORY"], embedder="none") as memory:
        memory.add_many({"text": f"{number} " + "word " * 400} for number in range(300))
    process = subprocess.Popen(
        [*COMMAND, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 141
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["--help"], ["add", "hello"]])
def test_output_that_can_not_be_written(run: Run, arguments: list[str], unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = run(*arguments, stdout=full, stderr=subprocess.PIPE, env={"PYTHONUNBUFFERED": unbuffered})
    assert done.returncode == 14
    assert done.stderr == b"everyword: Can't write the output (No space left on device).\n"


@posix
def test_closed_streams(environment: dict[str, str]) -> None:
    for closed in (">&-", "<&- >&- 2>&-"):
        script = f'"{sys.executable}" -m everyword add "hello {closed[0]}" {closed}'
        assert subprocess.run(["sh", "-c", script], env=environment, capture_output=True).returncode == 0


@posix
def test_an_interrupt_is_quiet(environment: dict[str, str]) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "add"], env=environment, **pipes) as process:
        try:
            assert process.stdin is not None
            # More than a pipe holds: once it is written, somebody reads. While modules are still loading, a signal
            # proves nothing.
            process.stdin.write(b"word " * 30_000)
            process.stdin.flush()
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
            assert process.communicate() == (b"", b"")
            assert process.returncode == 130
        finally:
            process.kill()


@posix
def test_a_second_interrupt_ends_the_process_while_the_first_one_closes_the_memory() -> None:
    script = """
import os, signal
from everyword.interfaces.cli import _let_a_second_interrupt_end
_let_a_second_interrupt_end()
try:
    os.kill(os.getpid(), signal.SIGINT)
finally:
    print("closing", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
    print("closed", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (-signal.SIGINT, "closing\n")


def test_any_encoding_of_standard_output(run: Run) -> None:
    text = "里斯本 é \udc80 😀 \x1b[31m"
    assert run("add", text.encode("utf-8", "surrogateescape")).returncode == 0
    for encoding in ("ascii", "utf-8"):
        odd = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        shown = run("recall", "里斯本", env=odd)
        assert (shown.returncode, shown.stderr) == (0, b"")
        kept = json.loads(run("events", "--json", env=odd).stdout.decode(encoding))["events"]
        assert text in [event["text"] for event in kept]
    assert b"\\x1b[31m" in run("events").stdout  # escaped, so that no terminal obeys it


def test_progress_goes_to_standard_error(environment: dict[str, str], tmp_path: Path) -> None:
    lines = "".join(json.dumps({"text": f"event {number}"}) + "\n" for number in range(600))
    (tmp_path / "many.jsonl").write_text(lines)
    script = (
        "import sys, everyword.interfaces.cli.terminal as progress; progress._SECONDS_BETWEEN_LINES = 0.0\n"
        "from everyword.interfaces.cli import main; sys.exit(main())"
    )
    for more, said in (([], b"many.jsonl events: 256 of "), (["--json"], b'{"progress": {"what": "many.jsonl')):
        done = subprocess.run(
            [sys.executable, "-c", script, "import", str(tmp_path / "many.jsonl"), *more],
            env=environment,
            capture_output=True,
            check=True,
        )
        assert said in done.stderr
        assert b"600" in done.stdout


def test_version() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("everyword 0.")
