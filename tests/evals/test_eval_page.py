"""Tables of a page that are made from results, and the page that has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import evals.runner
import pytest
from evals.__main__ import main
from evals.runner import run
from evals.systems import SystemOptions, origin_of
from evals.tasks import Chosen, TaskOptions, load_task

ROOT = Path(__file__).parent.parent.parent
TASK = {
    "name": "talk",
    "stores": {"one": [{"key": "0", "text": "The ferry leaves at nine."}, {"key": "1", "text": "Rosa paints birds."}]},
    "questions": [
        {"text": "When does the ferry leave?", "evidence": ["0"], "category": "time"},
        {"text": "What does Rosa paint?", "evidence": ["1"], "category": "work"},
        {"text": "Who won the zebra race?", "answerable": False, "category": "none"},
    ],
}
PAGE = """# Figures
<!-- figures {spec} -->
| old | table |
with | a < b
<!-- /figures -->
The end.
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own: caches and results are made where a command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tables_of_a_page_are_made_anew_from_results(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "talk.json").write_text(json.dumps(TASK))
    options = TaskOptions(data=here / "talk.json")
    chosen: Chosen = load_task("plain", options)
    results = here / "results"
    run(chosen, "bm25", results / "talk.bm25.jsonl", options=options)
    run(chosen, "vectors", results / "talk.vectors.jsonl", options=options, made=SystemOptions(embedder="hashing"))
    with monkeypatch.context() as patch:
        patch.setattr(evals.runner, "open_system", _no_system)
        run(chosen, "chroma", results / "talk.chroma.jsonl", options=options)
    page = here / "page.md"
    spec = "talk | bm25, vectors, chroma, mem0 | event.mrr, event.any@5{work}=at work, AUROC, p50, Δevent.mrr"
    page.write_text(PAGE.format(spec=spec))
    for _ in range(2):  # what was made is found again
        assert main("page page.md --results results".split()) == 0
    assert capsys.readouterr().out.count("1 tables of page.md") == 2
    text = page.read_text()
    assert "old" not in text
    assert text.endswith("<!-- /figures -->\nThe end.\n")
    rows = {cells[1].strip(): [cell.strip() for cell in cells[2:]] for cells in _cells(text)}
    assert rows["system"][:5] == ["event.mrr", "at work", "AUROC", "p50", "Δ event.mrr"]
    assert rows["bm25"][:3] == ["1.00 [1.00 1.00]", "1.00 [1.00 1.00]", "1.00 [1.00 1.00]*"]
    assert rows["vectors"][4] != ""
    assert rows["chroma"][0] == "could not run: OSError: no disk"
    assert rows["mem0"][0] == "not measured"


@pytest.mark.parametrize(
    ("spec", "said"),
    [("talk | bm25", "names a task, systems and columns"), ("talk | bm25 | event.mrr{", "is no column"),
     ("nothing | bm25 | event.mrr", "has no run of nothing")],
)  # fmt: skip
def test_a_mark_that_makes_no_sense_is_told(
    here: Path, spec: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "page.md").write_text(PAGE.format(spec=spec))
    assert main("page page.md --results results".split()) == 2
    assert said in capsys.readouterr().err
    assert (here / "page.md").read_text() == PAGE.format(spec=spec)
    (here / "bare.md").write_text("# Nothing\n")
    assert main("page bare.md".split()) == 2


def test_every_table_of_the_benchmarks_page_names_known_systems_and_columns() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    marks = [line for line in text.splitlines() if line.startswith("<!-- figures ")]
    assert len(marks) == text.count("<!-- /figures -->") > 5
    for mark in marks:
        task, systems, columns = (part.strip() for part in mark[13:-4].split("|"))
        assert task.partition("-of-")[0] in ("locomo", "longmemeval", "planted", "planted-multihop", "cogeval")
        for system in systems.split(","):
            assert system.strip() in ("ablations", "peers") or origin_of(system.strip(), SystemOptions())
        assert columns


def _no_system(*_: Any) -> Any:
    raise OSError("no disk")


def _cells(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.splitlines() if line.startswith("| ")]
