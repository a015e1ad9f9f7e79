"""What the documents say is true: examples run, commands parse, links lead somewhere, the reference is current."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from tools.make_reference import REFERENCE, reference

import everyword.memory
from everyword.interfaces.cli import main

ROOT = Path(__file__).parent.parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_fits_two_screens() -> None:
    assert len(README.splitlines()) <= 90


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert (tmp_path / "memory.db").exists()


@pytest.mark.parametrize(
    ("name", "least"), [("tutorial", 6), ("agents", 2), ("folding", 1), ("graph", 3), ("intents", 1), ("time", 1)]
)
def test_a_page_runs_from_top_to_bottom(name: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / f"{name}.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= least
    exec(compile("\n".join(blocks), page.name, "exec"), {})


def test_the_commands_of_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVERYWORD_MEMORY", str(tmp_path / "memory.db"))
    monkeypatch.setenv("EVERYWORD_EMBEDDER", "hashing")
    commands = re.findall(r"^\$ everyword (.*)$", README, re.MULTILINE)
    assert len(commands) >= 2
    for command in commands:
        assert main(shlex.split(command)) == 0
    assert "Porto" in capsys.readouterr().out


def test_the_examples_in_docstrings_are_true() -> None:
    assert doctest.testmod(everyword.memory).failed == 0
    assert doctest.testmod(everyword.memory).attempted > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"`make ([a-z]+)`", page.read_text(encoding="utf-8")))
        assert named <= targets, page.name


def test_the_reference_is_what_the_code_says() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference(), "run: python tools/make_reference.py"
