"""Variants of Everyword by name, stores that are kept, questions divided among processes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from evals.cache import open_embedder
from evals.ceiling import ceiling
from evals.errors import EvalError
from evals.runner import run
from evals.systems import SystemOptions, third
from evals.systems.everyword import EverywordSystem
from evals.systems.third import Third
from evals.systems.variants import file_name, is_ours, variant_of
from evals.tasks import Chosen, TaskOptions
from evals.terminal import silent
from evals.values import Asked, Line, Task

from everyword.models.rerankers import EndpointReranker, load_reranker
from everyword.retrieval.config import HYBRID

LINES = [
    Line(key=f"k{number}", text=text, session="s", at=datetime(2024, 1, 5 + number, tzinfo=UTC), speaker="Ida")
    for number, text in enumerate(("The red kayak is in the shed.", "I like green tea.", "Tom has a blue kayak."))
]


def test_any_number_of_a_recipe_can_be_set_by_name() -> None:
    changed = variant_of("everyword:-length+about=0.5+neighbours.seeds=7+neighbours.before=0.9,0.8+times=none").recipe
    assert (changed.length, changed.about, changed.times) == (0, 0.5, None)
    assert changed.neighbours is not None
    assert (changed.neighbours.seeds, changed.neighbours.before) == (7, (0.9, 0.8))
    assert changed.words == HYBRID.words
    assert variant_of("everyword:+dedup=0").recipe.dedup is False


def test_a_reranker_is_a_part_of_the_name() -> None:
    assert variant_of("everyword+cross-encoder").reranker == "cross-encoder"
    assert variant_of("everyword:+reranker=onnx:/models/bge").reranker == "onnx:/models/bge"
    assert variant_of("everyword").reranker is None
    assert file_name("locomo", "everyword:+reranker=onnx:/a/b") == "locomo.everyword_+reranker=onnx_a_b.jsonl"


@pytest.mark.parametrize(
    "name", ["everyword:+speed=1", "everyword:+neighbours.x=1", "everyword:+rrf_k=ten", "everyword:+x"]
)
def test_what_can_not_be_set_is_said(name: str) -> None:
    with pytest.raises(EvalError, match=r"no field|can't be set|nothing to set"):
        variant_of(name)


def test_other_systems_are_not_taken_for_ours() -> None:
    assert [is_ours(name) for name in ("everyword", "everyword:words", "everyword+echo=0", "everywordion", "bm25")] == [
        True, True, True, False, False
    ]  # fmt: skip


def test_a_store_is_written_once_and_read_by_later_runs(tmp_path: Path) -> None:
    told: list[float] = []
    for _ in range(2):
        system = EverywordSystem("everyword", open_embedder("hashing", tmp_path / "cache.sqlite"), tmp_path / "stores")
        told.append(system.ingest("a", LINES))
        found = system.search("a", "Where is the red kayak?", k=2, now=None).found
        assert found[0].key == "k0"
        system.close()
    assert told[0] == told[1]
    assert len(list((tmp_path / "stores").glob("*/*.db"))) == 1
    assert not list((tmp_path / "stores").glob("*/*.new*"))


def test_two_processes_ask_what_one_asks(tmp_path: Path) -> None:
    stores = {f"store {number}": LINES for number in range(3)}
    questions = [
        Asked(id=f"{store} {key}", store=store, text=text, category="look-up", evidence=(key,), answer="kayak")
        for store in stores
        for key, text in (("k0", "Where is the red kayak?"), ("k1", "Who likes tea?"))
    ]
    chosen = Chosen(task=Task(name="small", data_hash="0", stores=stores, questions=questions))
    made = SystemOptions(embedder="hashing", budgets=(100,), stores=tmp_path / "stores")
    runs = [
        run(
            chosen, "everyword", tmp_path / f"{count}.jsonl", options=TaskOptions(), made=made, timed=2, processes=count
        )
        for count in (1, 2)
    ]
    one, two = ({key: (row["found"], row["scores"]) for key, row in each.questions.items()} for each in runs)
    assert one == two
    assert len(one) == len(questions)
    assert all(each.finished and set(each.stores) == set(stores) for each in runs)
    assert sum(row["ms"] is not None for row in runs[0].questions.values()) == len(stores)


def test_the_ceiling_is_what_the_evidence_alone_says() -> None:
    asked = [
        Asked(id="1", store="a", text="Where is the kayak?", category="look-up", evidence=("k0",), answer="the shed"),
        Asked(id="2", store="a", text="Who likes tea?", category="who", evidence=("k1",), answer="Ida Lind"),
        Asked(id="3", store="a", text="Who rows?", category="who", evidence=("k1",), answer="Tom"),
    ]
    chosen = Chosen(task=Task(name="small", data_hash="0", stores={"a": LINES}, questions=asked))
    grid = ceiling(chosen, silent)
    assert grid.columns == ["", "all (3)", "look-up (1)", "who (2)"]
    assert [cell.split()[0] for cell in grid.rows[0]] == ["evidence", ".500", "1.00", ".250"]


def test_a_third_stage_reads_the_same_in_a_folder_and_behind_http() -> None:
    question, passages = "Where is the red kayak?", ["The red kayak is in the shed.", "I like green tea."]
    told = []
    for form in ("cross-encoder", "onnx", "rerank-endpoint"):
        stage = Third(variant_of(f"everyword:+{form}").reranker)
        try:
            reranker = load_reranker(stage.reranker)
            assert reranker is not None
            told.append(reranker.scores(question, passages).tolist())
            if isinstance(reranker, EndpointReranker):
                reranker.close()
        finally:
            stage.close()
    assert told[0] == pytest.approx(told[1])
    assert told[0] == pytest.approx(told[2], rel=1e-5)
    assert told[0][0] > told[0][1]


def test_without_an_llm_its_row_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVAL_LLM", raising=False)
    monkeypatch.setattr(third, "find_spec", lambda name: None)
    asked = [Asked(id="q", store="a", text="Who likes tea?", category="look-up", evidence=("k1",))]
    chosen = Chosen(task=Task(name="small", data_hash="0", stores={"a": LINES}, questions=asked))
    made = SystemOptions(embedder="hashing", budgets=(100,), stores=tmp_path / "stores")
    results = run(chosen, "everyword:+llm", tmp_path / "llm.jsonl", options=TaskOptions(), made=made)
    assert results.stopped is not None
    assert "EVAL_LLM" in results.stopped
