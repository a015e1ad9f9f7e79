"""Runs: rows, failures as rows, an interrupted run that goes on, and what the commands print."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import evals.runner
import pytest
from evals.__main__ import main
from evals.errors import EvalError, OtherRun
from evals.results import read_results
from evals.runner import run
from evals.summary import summarise
from evals.systems import SystemOptions
from evals.systems.baselines import Bm25
from evals.tasks import Chosen, TaskOptions, load_task
from evals.values import Answer, Found, Line

ROOT = Path(__file__).parent.parent.parent
TALK = {
    "one": ["The ferry leaves at nine.", "Rosa paints birds.", "My cousin moved to Oslo.", "We ate plums."],
    "two": ["The tram is late again.", "Anton repairs clocks.", "The garden needs rain."],
}
QUESTIONS = [
    ("one", "When does the ferry leave?", "0", "nine", "time"),
    ("one", "What does Rosa paint?", "1", "birds", "work"),
    ("one", "Who moved to Oslo?", "2", "cousin", "people"),
    ("two", "What does Anton repair?", "1", "clocks", "work"),
    ("two", "What needs rain?", "2", "garden", "work"),
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own: caches and results are made where a command runs."""
    monkeypatch.chdir(tmp_path)
    whole = {
        "name": "talk",
        "stores": {
            store: [
                {"key": f"{store}-{number}", "text": text, "session": f"s{number}", "at": f"2024-03-0{number + 1}"}
                for number, text in enumerate(texts)
            ]
            for store, texts in TALK.items()
        },
        "questions": [
            {"store": store, "text": text, "evidence": [f"{store}-{key}"], "answer": answer, "category": category}
            for store, text, key, answer, category in QUESTIONS
        ]
        + [{"store": "two", "text": "Who won the zebra race?", "answerable": False, "category": "none"}],
    }
    (tmp_path / "talk.json").write_text(json.dumps(whole))
    return tmp_path


def _chosen(here: Path) -> tuple[Chosen, TaskOptions]:
    options = TaskOptions(data=here / "talk.json")
    return load_task("plain", options), options


def test_a_run_from_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("run plain --data talk.json --system bm25 --json out/bm25.jsonl --seed 7".split()) == 0
    printed = capsys.readouterr().out
    assert "talk (data" in printed
    assert "1.00 [1.00 1.00]" in printed
    results = read_results(here / "out" / "bm25.jsonl")
    assert results.finished
    assert [row["id"] for row in results.questions.values()] == ["0", "1", "2", "3", "4", "5"]
    assert {name: row["lines"] for name, row in results.stores.items()} == {"one": 4, "two": 3}
    header = results.header
    assert (header["seed"], header["system"], header["options"]["data"]) == (7, "bm25", "talk.json")
    assert all(header[name] for name in ("data_hash", "code", "revision", "machine", "versions", "begun", "described"))
    summary = summarise(results)
    assert summary.groups["all"]["event.frac@10"].n == 5
    assert summary.auroc is not None
    assert (summary.auroc.mean, summary.auroc_from) == (1.0, "top score")
    assert list(summary.groups) == ["all", "time", "work", "people"] or "none" in summary.groups
    assert 0 < summary.tokens["300"] <= 300


def test_recollect_runs_with_its_own_contexts(here: Path) -> None:
    chosen, options = _chosen(here)
    results = run(
        chosen,
        "recollect",
        here / "r.jsonl",
        options=options,
        made=SystemOptions(embedder="hashing", budgets=(50, 100)),
    )
    summary = summarise(results)
    assert summary.failed == 0
    assert summary.bytes
    assert summary.groups["all"]["event.any@5"].mean == 1.0
    assert set(summary.tokens) == {"50", "100"}
    assert all(row["packed_by"] == "system" for row in results.questions.values())
    assert results.header["described"]["recipe"]["name"] == "hybrid"


def test_contexts_can_be_kept_for_a_judge(here: Path) -> None:
    chosen, options = _chosen(here)
    results = run(
        chosen, "vectors", here / "v.jsonl", options=options, made=SystemOptions(embedder="hashing"), keep_contexts=True
    )
    row = results.questions["1"]
    assert (row["question"], row["answer"], row["packed_by"]) == ("What does Rosa paint?", "birds", "runner")
    assert "2024-03-02 Rosa paints birds." in row["contexts"][300]


class _Failing(Bm25):
    def ingest(self, store: str, lines: Sequence[Line]) -> None:
        if store == "two":
            raise OSError("disk full")
        super().ingest(store, lines)

    def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
        if "Rosa" in question:
            raise ValueError("no Rosa today")
        return super().search(store, question, k=k, now=now)


def test_a_failed_question_is_a_row_that_scores_nothing_and_is_asked_again(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, options = _chosen(here)
    out = here / "f.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(evals.runner, "open_system", lambda *_: _Failing())
        results = run(chosen, "bm25", out, options=options)
    assert results.questions["1"]["error"] == "ValueError: no Rosa today"
    assert results.questions["4"]["error"] == "taking in the store: OSError: disk full"
    assert results.questions["1"]["scores"]["event.any@10"] == 0.0
    summary = summarise(results)
    assert (summary.asked, summary.failed, summary.finished) == (6, 4, True)
    assert summary.groups["all"]["event.any@10"].mean == pytest.approx(2 / 5)
    again = run(chosen, "bm25", out, options=options)
    assert summarise(again).failed == 0
    assert summarise(read_results(out)).groups["all"]["event.any@10"].mean == 1.0


def test_a_system_that_cannot_start_is_a_row_that_says_why(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("needs PostgreSQL")

    with monkeypatch.context() as patch:
        patch.setattr(evals.runner, "open_system", broken)
        assert main("run plain --data talk.json --system bm25 --json stopped.jsonl".split()) == 1
    assert "could not run: RuntimeError: needs PostgreSQL" in capsys.readouterr().out
    assert main("run plain --data talk.json --system bm25 --json stopped.jsonl".split()) == 0
    assert main("run plain --data talk.json --system nothing --json other.jsonl".split()) == 2
    assert "There is no system 'nothing'" in capsys.readouterr().err


KILLED = """
import os, signal, sys
import evals.runner
from evals.__main__ import main
from evals.systems.baselines import Bm25

class Killed(Bm25):
    def search(self, store, question, **more):
        if "Oslo" in question:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().search(store, question, **more)

evals.runner.open_system = lambda *_: Killed()
main(sys.argv[1:])
"""


def test_a_killed_run_goes_on_where_it_stopped(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "run plain --data talk.json --system bm25 --json k.jsonl".split()
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", KILLED, *command], cwd=here, env=environment, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    out = here / "k.jsonl"
    left = read_results(out)
    assert list(left.questions) == ["0", "1"]
    assert not left.finished
    with out.open("a") as file:
        file.write('{"kind": "question", "id": "2", "sto')  # cut off in the middle of a line

    asked: list[str] = []
    search = Bm25.search

    def noting(self: Bm25, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
        asked.append(question)
        return search(self, store, question, k=k, now=now)

    monkeypatch.setattr(Bm25, "search", noting)
    assert main(command) == 0
    assert asked[0] == "Who moved to Oslo?"
    assert len(asked) == 4
    assert main(command) == 0
    assert len(asked) == 4, "a finished run asks nothing"
    whole = read_results(out)
    assert whole.finished
    assert sorted(whole.questions) == ["0", "1", "2", "3", "4", "5"]


def test_another_run_is_never_written_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "run plain --data talk.json --system bm25 --json o.jsonl".split()
    assert main(command) == 0
    before = (here / "o.jsonl").read_bytes()
    assert main([*command, "--k", "5"]) == 2
    assert "k differ. Give --fresh" in capsys.readouterr().err
    assert (here / "o.jsonl").read_bytes() == before
    assert main([*command, "--k", "5", "--fresh"]) == 0
    assert read_results(here / "o.jsonl").header["k"] == 5
    chosen, options = _chosen(here)
    with pytest.raises(OtherRun):
        run(chosen, "vectors", here / "o.jsonl", options=options, made=SystemOptions(embedder="hashing"))


def test_files_that_are_no_results_are_told(here: Path) -> None:
    (here / "x.jsonl").write_text('{"kind": "other"}\n')
    with pytest.raises(EvalError, match="is not a result"):
        read_results(here / "x.jsonl")
    main("run plain --data talk.json --system bm25 --json y.jsonl".split())
    lines = (here / "y.jsonl").read_text().splitlines()
    lines[2] = lines[2][:20]
    (here / "y.jsonl").write_text("\n".join(lines))
    with pytest.raises(EvalError, match="damaged line"):
        read_results(here / "y.jsonl")
    with pytest.raises(EvalError, match="can't be read"):
        read_results(here / "missing.jsonl")


def test_a_task_s_own_measure_is_taken_at_every_budget(here: Path) -> None:
    chosen, options = _chosen(here)
    own = Chosen(task=chosen.task, score_text=lambda asked, text: {"exact": asked.answer in text})
    results = run(own, "bm25", here / "own.jsonl", options=options, made=SystemOptions(budgets=(10, 300)))
    assert results.questions["1"]["scores"]["exact@300"] == 1.0
    assert set(results.questions["1"]["tokens"]) == {"10", "300"}


def test_confidence_is_used_where_every_answer_has_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Sure(Bm25):
        def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
            return Answer(found=[Found(key="one-0", score=9.0)], confidence=0.9 if "zebra" in question else 0.1)

    monkeypatch.setattr(evals.runner, "open_system", lambda *_: Sure())
    chosen, options = _chosen(here)
    summary = summarise(run(chosen, "bm25", here / "s.jsonl", options=options))
    assert summary.auroc is not None
    assert (summary.auroc.mean, summary.auroc_from) == (0.0, "confidence")


def test_compare_and_report(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen, options = _chosen(here)
    for system in ("recollect", "recollect:-words", "bm25"):
        run(
            chosen,
            system,
            here / f"{system.replace(':', '_')}.jsonl",
            options=options,
            made=SystemOptions(embedder="hashing"),
        )
    files = ["recollect.jsonl", "recollect_-words.jsonl", "bm25.jsonl"]
    assert main(["compare", *files, "--metric", "event.mrr"]) == 0
    printed = capsys.readouterr().out
    assert "event.mrr by category" in printed
    assert "against the first row, paired" in printed
    assert main(["report", *files, "--to", "report"]) == 0
    text = (here / "report" / "report.md").read_text()
    assert "| recollect:-words | 6 |" in text
    assert "## talk" in text
    page = (here / "report" / "report.html").read_text()
    assert page.count("<svg") == 5
    for said in ("first k lines", "by category", "Ablations", "99th percentile", "size of the store"):
        assert said in page
    assert "http" not in page.replace("http-equiv", ""), "the page must not reach for the network"


def test_everything_says_what_to_set_when_the_data_are_not_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("all --folder nowhere --to out --systems bm25 --limit 8".split()) == 0
    printed = capsys.readouterr().out
    assert "Set EVAL_DATA to the folder with the development data" in printed
    assert "planted" in printed
    assert (here / "out" / "report" / "report.html").is_file()
