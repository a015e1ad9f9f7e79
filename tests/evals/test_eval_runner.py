"""Runs: rows, failures as rows, an interrupted run that goes on, and what the commands print."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import evals.runner
import pytest
from evals.__main__ import main
from evals.compare import grids
from evals.errors import EvalError, OtherRun, OutOfTime
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
            | ({"now": "2024-06-01T09:30"} if "Rosa" in text else {})
            for store, text, key, answer, category in QUESTIONS
        ]
        + [{"store": "two", "text": "Who won the zebra race?", "answerable": False, "category": "none"}],
    }
    (tmp_path / "talk.json").write_text(json.dumps(whole))
    return tmp_path


def _chosen(here: Path) -> tuple[Chosen, TaskOptions]:
    options = TaskOptions(data=here / "talk.json")
    return load_task("plain", options), options


def _stores(chosen: Chosen) -> list[tuple[str, Sequence[Line]]]:
    return list(chosen.task.stores.items())


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


def test_everyword_runs_with_its_own_contexts(here: Path) -> None:
    chosen, options = _chosen(here)
    results = run(
        chosen,
        "everyword",
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
    assert "[2 March 2024] Rosa paints birds." in row["contexts"][300]
    assert row["now"] == "2024-06-01 09:30 UTC"
    assert results.questions["0"]["now"] is None


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
    assert len(set(asked)) == 4
    asked.clear()
    assert main(command) == 0
    assert asked == [], "a finished run asks nothing"
    whole = read_results(out)
    assert whole.finished
    assert sorted(whole.questions) == ["0", "1", "2", "3", "4", "5"]


ENDED = KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", "os.kill(os.getpid(), signal.SIGTERM)").replace(
    "main(sys.argv[1:])", "Killed.close = lambda self: print('closed')\nsys.exit(main(sys.argv[1:]))"
)


def test_a_run_that_is_told_to_end_closes_its_system_first(here: Path) -> None:
    command = "run plain --data talk.json --system bm25 --json e.jsonl".split()
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", ENDED, *command], cwd=here, env=environment, check=False, timeout=60, capture_output=True
    )
    assert (done.returncode, done.stdout) == (130, b"closed\n")
    assert b"the same command goes on from here" in done.stderr
    assert list(read_results(here / "e.jsonl").questions) == ["0", "1"]


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


def test_answers_are_measured_again_when_only_the_measures_change(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, options = _chosen(here)
    out = here / "m.jsonl"
    before = run(chosen, "bm25", out, options=options)

    def never(*_: Any) -> Any:
        raise AssertionError("no system may be opened")

    monkeypatch.setattr(evals.runner, "open_system", never)
    other = replace(chosen.task, questions=[replace(asked, evidence=()) for asked in chosen.task.questions])
    after = run(replace(chosen, task=other), "bm25", out, options=options, made=SystemOptions(budgets=(77,)))
    assert before.questions["1"]["scores"]["event.any@10"] == 1.0
    assert "event.any@10" not in after.questions["1"]["scores"]
    assert set(after.questions["1"]["tokens"]) == {"77"}
    assert after.questions["1"]["ms"] == before.questions["1"]["ms"]
    kept = read_results(out)
    assert (kept.questions, kept.finished) == (after.questions, True)


def test_what_a_system_is_told_decides_whether_its_answers_still_count(here: Path) -> None:
    chosen, options = _chosen(here)
    run(chosen, "bm25", here / "t.jsonl", options=options)
    stores = {name: [replace(line, text=f"{line.text} Indeed.") for line in lines] for name, lines in _stores(chosen)}
    changed = replace(chosen, task=replace(chosen.task, stores=stores))
    with pytest.raises(OtherRun, match="told differ"):
        run(changed, "bm25", here / "t.jsonl", options=options)


def test_a_run_stops_when_its_time_is_over_and_goes_on_later(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Bm25):
        def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
            time.sleep(0.02)
            return super().search(store, question, k=k, now=now)

    chosen, options = _chosen(here)
    out = here / "slow.jsonl"
    none = run(chosen, "bm25", out, options=options, seconds=0)
    assert none.stopped == "no time was left for it; the next call begins here"
    with monkeypatch.context() as patch:
        patch.setattr(evals.runner, "open_system", lambda *_: Slow())
        some = run(chosen, "bm25", out, options=options, seconds=0.06)
    assert 0 < len(some.questions) < 6
    assert not some.finished
    assert len(run(chosen, "bm25", out, options=options, seconds=0).questions) == len(some.questions)
    assert "(not finished)" in "".join(cell for grid in grids([some]) for row in grid.rows for cell in row)
    whole = run(chosen, "bm25", out, options=options, seconds=60)
    assert (len(whole.questions), whole.finished) == (6, True)


def test_latency_is_that_of_a_search_for_twenty_lines(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Noting(Bm25):
        def search(self, store: str, question: str, *, k: int, now: datetime | None) -> Answer:
            asked.append(k)
            return replace(super().search(store, question, k=k, now=now), took_ms=float(k))

    monkeypatch.setattr(evals.runner, "open_system", lambda *_: Noting())
    chosen, options = _chosen(here)
    results = run(chosen, "bm25", here / "l.jsonl", options=options)
    assert asked == [20, 100] * 6
    assert {row["ms"] for row in results.questions.values()} == {20.0}
    asked.clear()
    run(chosen, "bm25", here / "few.jsonl", options=options, k=5)
    assert asked == [5] * 6


def test_a_system_that_tells_no_scores_has_no_auroc(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Orders(Bm25):
        def describe(self) -> dict[str, Any]:
            return {"tells_scores": False}

    monkeypatch.setattr(evals.runner, "open_system", lambda *_: Orders())
    chosen, options = _chosen(here)
    summary = summarise(run(chosen, "bm25", here / "o.jsonl", options=options))
    assert summary.auroc is None
    assert summary.failed == 0


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
    for system in ("everyword", "everyword:-words", "bm25"):
        run(
            chosen,
            system,
            here / f"{system.replace(':', '_')}.jsonl",
            options=options,
            made=SystemOptions(embedder="hashing"),
        )
    files = ["everyword.jsonl", "everyword_-words.jsonl", "bm25.jsonl"]
    assert main(["compare", *files, "--metric", "event.mrr"]) == 0
    printed = capsys.readouterr().out
    assert "event.mrr by category" in printed
    assert "against the first row, paired" in printed
    assert main(["report", "--to", "report"]) == 2
    assert "no results in .evals/results" in capsys.readouterr().err
    (here / ".evals" / "results").mkdir()
    for name in files:
        (here / name).rename(here / ".evals" / "results" / name)
    assert main(["report", "--to", "report"]) == 0
    text = (here / "report" / "report.md").read_text()
    assert "| everyword:-words | 6 |" in text
    assert text.index("| everyword | 6 |") < text.index("| everyword:-words | 6 |") < text.index("| bm25 | 6 |")
    assert "## talk" in text
    page = (here / "report" / "report.html").read_text()
    assert page.count("<svg") == 4 + 4, "four plots, and a panel for each category that has figures"
    for said in ("first k lines", "by category", "Ablations", "99th percentile", "size of the store"):
        assert said in page
    assert "http" not in page.replace("http-equiv", ""), "the page must not reach for the network"


def test_everything_says_what_to_set_when_the_data_are_not_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main("all --folder nowhere --to out --systems bm25,chroma --limit 8 --no-peers".split()) == 0
    printed = capsys.readouterr().out
    assert "chroma" not in printed
    assert "Set EVAL_DATA to the folder with the development data" in printed
    assert "planted" in printed
    assert (here / "out" / "report" / "report.html").is_file()


def test_a_store_that_could_not_be_taken_in_in_time_is_a_row_that_says_so(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Bm25):
        end = float("inf")

        def ingest(self, store: str, lines: Sequence[Line]) -> None:
            assert self.end < float("inf")
            raise OutOfTime("its time was over when 0 of 4 lines were taken in")

    chosen, options = _chosen(here)
    monkeypatch.setattr(evals.runner, "open_system", lambda *_: Slow())
    results = run(chosen, "bm25", here / "slow.jsonl", options=options, seconds=60)
    assert results.stopped == "OutOfTime: its time was over when 0 of 4 lines were taken in"
    assert "could not run" in "".join(cell for grid in grids([results]) for row in grid.rows for cell in row)
