"""The command line at a terminal: colours, tables, questions, and nothing that the terminal would obey."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from everyword import Memory
from everyword.interfaces.cli import main

pty = pytest.importorskip("pty", reason="needs a pseudo-terminal")

Typed = Callable[..., tuple[int, str]]
_SECONDS = 60.0  # after which a process that still runs is stuck

HOSTILE = "Evil \x1b]0;title\x07\x1b[2J\x9b31m text\rover [bold]markup[/bold] \u202eabc"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Fill a memory; give the variables of one who uses it at a terminal."""
    location = tmp_path / "memory.db"
    with Memory.open(location, embedder="hashing", reader="none") as memory:
        memory.add("I moved to Lisbon in March. The weather is fine.", speaker="Ana", session="s1", at="2026-04-02")
        memory.add("We ship the beta on May 14.", speaker="Bo\x1b[31m", session="s2", at="2026-04-03")
        memory.add(HOSTILE, session="s2", at="2026-04-04")
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "COLUMNS": "120",
        "PYTHONUTF8": "1",
        "EVERYWORD_MEMORY": str(location),
        "EVERYWORD_EMBEDDER": "hashing",
        "EVERYWORD_READER": "none",
    }


@pytest.fixture
def at_terminal(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Run the command line at a terminal, in this process; give its exit code and all that the terminal got."""

    def run(*arguments: str, **more: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        shown = bytearray()

        def follow() -> None:
            with suppress(OSError):  # Linux says so when the other side has closed
                while some := os.read(ours, 65536):
                    shown.extend(some)

        following = threading.Thread(target=follow)
        following.start()
        with monkeypatch.context() as patch:
            for name, value in {**environment, **more}.items():
                patch.setenv(name, value)
            with open(theirs, encoding="utf-8") as typed, open(os.dup(theirs), "w", encoding="utf-8") as terminal:
                for name, stream in {"stdin": typed, "stdout": terminal, "stderr": terminal}.items():
                    patch.setattr(sys, name, stream)
                code = main(arguments)
        following.join(_SECONDS)
        os.close(ours)
        return code, shown.decode()

    return run


@pytest.fixture
def process_at_terminal(environment: dict[str, str]) -> Typed:
    """Do the same as a process of its own, which may be asked something."""

    def run(*arguments: str, keys: str = "", **more: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "everyword", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**environment, **more},
        )
        os.close(theirs)
        shown = b""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            try:
                some = os.read(ours, 65536)
            except OSError:  # Linux says so when the other side has closed
                break
            if not some:
                break
            shown += some
            if keys and b"[y/N]" in shown:
                os.write(ours, keys.encode())
                keys = ""
        code = process.wait(timeout=_SECONDS)
        os.close(ours)
        return code, shown.decode()

    return run


def test_hits_have_colours_and_tables(process_at_terminal: Typed) -> None:
    code, shown = process_at_terminal("recall", "Lisbon in March", "-k", "1", "--explain")
    assert code == 0
    assert "\x1b[1mI moved to Lisbon in March. The weather is fine.\x1b[0m" in shown
    assert "\x1b[36mAna\x1b[0m" in shown
    assert "───" in shown
    assert "vectors" in shown


@pytest.mark.parametrize(
    ("arguments", "term"),
    [
        (["recall", "evil beta", "--explain"], "xterm-256color"),
        (["events"], "xterm-256color"),
        (["sessions"], "xterm-256color"),
        (["context", "evil"], "xterm-256color"),
        (["recall", "evil beta", "--explain"], "dumb"),
    ],
)
def test_stored_escape_sequences_are_shown_not_obeyed(at_terminal: Typed, arguments: list[str], term: str) -> None:
    code, shown = at_terminal(*arguments, TERM=term)
    assert code == 0
    assert "\x1b]0;" not in shown
    assert "\x1b[2J" not in shown
    assert "\x1b[31m" not in shown
    assert not {"\x07", "\x9b", "\u202e"} & set(shown)
    assert "\rover" not in shown
    assert "\\x1b[" in shown or arguments[0] == "context"  # a context shows hidden characters as U+FFFD
    if term == "dumb":
        assert "\x1b" not in shown
    if arguments[0] != "sessions":
        assert "[bold]markup" in shown


def test_json_at_a_terminal_is_whole_and_harmless(at_terminal: Typed) -> None:
    code, shown = at_terminal("events", "--json")
    assert code == 0
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
    assert json.loads(shown)["events"][2]["text"] == HOSTILE


def test_no_color_is_respected(at_terminal: Typed) -> None:
    _, shown = at_terminal("recall", "Lisbon", "-k", "1", NO_COLOR="1")
    assert "Lisbon" in shown
    assert "\x1b[3" not in shown
    assert ";3" not in shown
    _, wrong = at_terminal("show", "nonsense", NO_COLOR="1")
    assert "\x1b" not in wrong


def test_errors_are_red_and_harmless(process_at_terminal: Typed) -> None:
    code, shown = process_at_terminal("show", "--key", "\x1b[2Jnone")
    assert code == 4
    assert shown.startswith("\x1b[31meveryword: There is no event with key ")
    assert "\x1b[2J" not in shown
    code, shown = process_at_terminal("add")
    assert code == 2
    assert "Missing argument text." in shown


def test_forgetting_asks_first(process_at_terminal: Typed) -> None:
    code, shown = process_at_terminal("forget", "--session", "s1", keys="n\n")
    assert code == 1
    assert "1 event would be forgotten:" in shown
    assert "I moved to Lisbon" in shown
    assert "Nothing was forgotten." in shown
    code, shown = process_at_terminal("forget", "--session", "s1", keys="y\n")
    assert code == 0
    assert "forgot 1 event" in shown
    code, shown = process_at_terminal("forget", "--session", "s1")
    assert code == 0
    assert "No event matches" in shown
    code, shown = process_at_terminal("forget", "--session", "s2", "--json")
    assert code == 2


def test_a_context_has_a_footer_with_tokens_and_citations(at_terminal: Typed) -> None:
    _, shown = at_terminal("context", "Lisbon", "--budget", "150")
    assert "of 150 tokens" in shown
    assert "\x1b[2m[1] ev_" in shown


def test_long_work_shows_a_bar(process_at_terminal: Typed, tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
    code, shown = process_at_terminal("import", str(tmp_path / "some.jsonl"))
    assert code == 0
    assert "some.jsonl events" in shown
    assert "2/2" in shown
    assert "stored 2" in shown


def test_a_long_text_is_cut_around_the_match_which_stands_out(at_terminal: Typed) -> None:
    at_terminal("add", "Filler words here. " * 200 + "The router stands behind the fridge. " + "More filler. " * 200)
    _, shown = at_terminal("recall", "router fridge", "-k", "1")
    assert "\x1b[1;33mThe router" in shown
    assert "…" in shown
    assert len(shown) < 2000


def test_doctor_is_a_table(at_terminal: Typed) -> None:
    code, shown = at_terminal("doctor")
    assert code == 0
    assert "\x1b[32mok\x1b[0m" in shown
    assert "No problems." in shown


def test_doctor_breaks_no_name_of_a_folder(at_terminal: Typed, tmp_path: Path) -> None:
    folders = [tmp_path / "a-folder-with-a-long-name" / "and-one-that-is-longer-still", tmp_path / "not-there"]
    folders[0].mkdir(parents=True)
    shutil.copy(tmp_path / "memory.db", folders[0])
    for folder in folders:
        _, shown = at_terminal("doctor", EVERYWORD_MEMORY=str(folder / "memory.db"), COLUMNS="64")
        lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()]
        broken = "".join(line for line in lines if not line.startswith("→"))
        assert all(f"{part}/" in "\n".join(lines) for part in folder.parts[1:])
        assert str(folder / "memory.db") in broken.replace("memory           ", "")
        assert "fix" not in shown.splitlines()[0]


def test_a_session_says_what_it_was_about_in_one_line(at_terminal: Typed) -> None:
    told = "We decided to sail to Faro in the second week of May, with the new mast, the old sails and four friends."
    at_terminal("add", told, "--session", "s9")
    _, shown = at_terminal("sessions", COLUMNS="80")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    about = lines.index(next(line for line in lines if line.startswith("s9"))) + 1
    assert lines[about].startswith("  We decided to sail to Faro")
    assert lines[about].endswith("…")
    assert (len(lines[about]) <= 80, lines[about + 1]) == (True, "")


def test_lists_are_readable_on_80_columns(at_terminal: Typed) -> None:
    for verb in (("recall", "Who moved to Lisbon?"), ("sessions",), ("ask", "Who moved to Lisbon?"), ("events",)):
        code, shown = at_terminal(*verb, COLUMNS="80", EVERYWORD_READER="" if verb[0] == "ask" else "none")
        lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
        assert (code, max(map(len, lines)) <= 80) == (0, True), verb
        if verb[0] in ("recall", "events"):
            assert any(re.fullmatch(r" +ev_[0-9a-f]{32} *", line) for line in lines), verb
        assert "%" not in shown, verb  # how sure it is stands there in words
