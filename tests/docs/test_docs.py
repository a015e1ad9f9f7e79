"""What the documents say is true: examples run, commands parse, links lead somewhere, the reference is current."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.serve.service import serving
from tools.make_reference import REFERENCE, reference

import everyword.memory
from everyword import Memory
from everyword.interfaces.cli import main
from llm_server import chat
from llm_server import serving as serving_llm

ROOT = Path(__file__).parent.parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "packages" / "typescript" / "README.md"]
SERVICE = "http://127.0.0.1:7330"  # the address in examples
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_fits_two_screens() -> None:
    assert len(README.splitlines()) <= 90


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert (tmp_path / "memory.db").exists()


def test_the_demo_asks_when_everything_is_encoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    demo = runpy.run_path(str(ROOT / "examples" / "demo.py"))
    history = tmp_path / "history.jsonl"
    history.write_text("\n".join(demo["HISTORY"].read_text("utf-8").splitlines()[:5]), "utf-8")
    monkeypatch.setitem(demo["remember"].__globals__, "HISTORY", history)
    with Memory.open(":memory:", embedder="hashing", reader="none", background=False) as memory:
        demo["remember"](memory)
        hits = memory.recall("What about the gym?")
        assert (len(hits), hits.pending) == (5, 0)


ALONE = "tutorial agents folding graph intents time quickstart redaction guides/chat-app guides/migration".split()
# With the space in which the page stores one event.
WITH_A_SERVICE = {"guides/tenants": "acme/ana", "service": "default"}
# With an LLM below; in tests/postgres; with the frameworks' packages in tests/frameworks. The reference is generated.
ELSEWHERE = ("llm", "scale", "frameworks", "reference")


def test_the_python_of_every_page_is_run_by_a_test() -> None:
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).with_suffix("").as_posix() for path in docs.rglob("*.md")}
    assert {page for page in pages if python_of(page)} == {*ALONE, *WITH_A_SERVICE, *ELSEWHERE}


@pytest.mark.parametrize("name", ALONE)
def test_a_page_runs_from_top_to_bottom(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(name, python_of(name))


@pytest.mark.parametrize("name", WITH_A_SERVICE)
def test_a_page_runs_against_a_service(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Memory.open("memory.db", embedder="hashing") as memory, serving(memory) as address:
        key = memory.admin.create_key("docs", permission="write").secret
        blocks = [block.replace(SERVICE, address.rstrip("/")).replace("ew_...", key) for block in python_of(name)]
        run_python(name, blocks)
        assert memory.space(WITH_A_SERVICE[name]).stats().events == 1


def test_the_page_on_llms_runs_with_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving_llm(chat('{"statements": [], "facts": []}')) as llm:
        run_python("llm", [block.replace("ollama:llama3.2", f"openai:m@{llm.url}") for block in python_of("llm")])
        assert any("Porto since March" in asked.prompt for asked in llm.asked)


def python_of(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL)


def run_python(name: str, blocks: list[str]) -> None:
    exec(compile("\n".join(blocks), f"{name}.md", "exec"), {})


@pytest.mark.parametrize(
    ("path", "least", "shown"),
    [
        ("README.md", 2, "Porto"),
        ("docs/quickstart.md", 5, "cilantro"),
        ("docs/guides/coding-assistant.md", 4, "keep SQLite"),
    ],
)
def test_the_commands_of_a_page_run(
    path: str,
    least: int,
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("EVERYWORD_MEMORY", str(tmp_path / "memory.db"))
    monkeypatch.setenv("EVERYWORD_EMBEDDER", "hashing")
    commands = re.findall(r"^\$ everyword (.*)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) >= least
    for command in commands:
        assert main(shlex.split(command)) == 0, command
    assert shown in capsys.readouterr().out


def test_commands_and_options_that_are_shown_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """The commands of blocks that are not run: each verb exists, and has the options that it is shown with."""
    shown = {
        tuple(shlex.split(line, comments=True)[1:])
        for page in PAGES
        for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if not kind and line.startswith("everyword ")
    }
    assert len(shown) > 30
    for words in sorted(shown):
        named = words[:2] if words[0] in ("keys", "webhooks", "hook") else words[:1]
        try:
            code = main([*named, "--help"])
        except SystemExit as ended:
            code = ended.code
        described = capsys.readouterr().out
        assert not code, words
        for option in (word.split("=")[0] for word in words if word.startswith("--")):
            assert option in described, f"everyword {shlex.join(words)}"


def test_the_examples_in_docstrings_are_true() -> None:
    assert doctest.testmod(everyword.memory).failed == 0
    assert doctest.testmod(everyword.memory).attempted > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="needs the extra docs")
    from tools import docs_site

    assert doctest.testmod(docs_site).attempted > 0
    assert doctest.testmod(docs_site).failed == 0
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "guides" / "typescript" / "index.html").exists()


def test_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"`make ([a-z]+)`", page.read_text(encoding="utf-8")))
        assert named <= targets, page.name


def test_the_reference_is_what_the_code_says() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run: python tools/make_reference.py"
