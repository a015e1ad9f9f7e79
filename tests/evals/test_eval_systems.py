"""Systems by name: recipes and ablations, and the plain ways against values worked out by hand."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from evals.errors import EvalError
from evals.systems import SystemOptions, ablations, open_system, origin_of, peer_names
from evals.systems.baselines import Bm25
from evals.systems.variants import NO_STAGES, stages, variant_of
from evals.values import Line
from evals.wording import document
from msgspec.structs import fields
from tests.fences import inside

from everyword import Memory
from everyword.models.embedders import HashingEmbedder
from everyword.retrieval.config import SearchConfig

LINES = [
    Line(key="a", text="red kayak", session="s1", at=datetime(2024, 1, 5, tzinfo=UTC), speaker="Ida"),
    Line(key="b", text="blue kayaks kayaks", session="s2", at=datetime(2024, 1, 6, tzinfo=UTC), speaker="Tom"),
    Line(key="c", text="green tea", session="s2", at=datetime(2024, 1, 6, tzinfo=UTC), speaker="Tom"),
]


def test_recipes_and_stages_by_name() -> None:
    assert variant_of("everyword").recipe.name == "hybrid"
    assert variant_of("everyword:words").recipe.vectors is None
    assert variant_of("everyword:-words").recipe.words is None
    assert variant_of("everyword:-vectors").recipe.vectors is None
    assert variant_of("everyword:-late").recipe.rerank_depth == 0
    assert variant_of("everyword:-late").recipe.name == "hybrid-late"
    both = variant_of("everyword:pooled-words-late").recipe
    assert (both.words, both.rerank_depth) == (None, 0)
    with pytest.raises(EvalError, match="no recipe 'best'"):
        variant_of("everyword:best")
    with pytest.raises(EvalError, match="no stage 'magic'"):
        variant_of("everyword:-magic")


def test_every_field_of_a_recipe_has_its_ablation_or_a_reason_why_not() -> None:
    whole, names = variant_of("everyword").recipe, ablations()
    assert {"everyword:-late", "everyword:-statements", "everyword:-newest"} <= set(names)
    for name in names:
        less = variant_of(name).recipe
        assert less != whole
        if name.startswith("everyword:-"):
            assert len(stages(less)) == len(stages(whole)) - 1
    assert "late" not in stages(variant_of("everyword:pooled").recipe)
    fields_of_stages = {{"late": "rerank_depth"}.get(stage, stage) for name in names for stage in name.split("-")[1:]}
    assert {one.name for one in fields(SearchConfig)} - set(NO_STAGES) == fields_of_stages


def test_an_answer_s_origin_is_the_code_of_its_system_and_its_model_alone() -> None:
    names = ["everyword", "everyword:-late", "bm25", "vectors", *peer_names()]
    found = {name: origin_of(name, SystemOptions(embedder="hashing")) for name in names}
    assert found["everyword"]["code"] == found["everyword:-late"]["code"]
    # Two modes of one peer share a worker, and are not the same run.
    assert found["mcp-memory-service"]["code"] != found["mcp-memory-service-hybrid"]["code"]
    assert len({one["code"] for one in found.values()}) == len(names) - 2  # the plain ways share a module too
    assert {one["model"] for name, one in found.items() if name != "bm25"} == {"hashing@1"}
    assert found["bm25"]["model"] is None


def test_bm25_by_hand() -> None:
    system = Bm25()
    system.ingest("one", [Line(key=line.key, text=line.text) for line in LINES])
    found = system.search("one", "Kayak!", k=5, now=None).found
    assert [one.key for one in found] == ["b", "a"]  # what has none of the words is not found
    rarity = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = 7 / 3
    assert found[0].score == pytest.approx(rarity * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / mean)))
    assert found[1].score == pytest.approx(rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / mean)))


def test_a_line_as_a_model_reads_it() -> None:
    assert document(LINES[0]) == "[5 January 2024] Ida: red kayak"
    assert document(Line(key="x", text="alone")) == "alone"


@pytest.mark.parametrize("name", ["everyword", "everyword:-late", "everyword:words", "bm25", "vectors"])
def test_stores_never_see_each_other(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    system = open_system(name, SystemOptions(embedder="hashing", budgets=(100,)))
    assert system.name == name
    system.ingest("one", LINES[:2])
    system.ingest("two", LINES[2:])
    assert {one.key for one in system.search("one", "kayak or tea", k=9, now=None).found} <= {"a", "b"}
    answer = system.search("two", "kayak or tea", k=9, now=None)
    assert [(one.key, one.session) for one in answer.found] == [("c", "s2")]
    assert system.search("one", "red kayak", k=1, now=None).found[0].key == "a"
    assert system.describe()
    system.size_bytes()
    system.close()


def test_a_memory_that_works_in_a_lesser_way_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    system = open_system("everyword", SystemOptions(embedder="hashing", anew=True))

    def broken(self: HashingEmbedder, texts: list[str]) -> None:
        raise OSError("no weights")

    monkeypatch.setattr(HashingEmbedder, "passages", broken)
    with pytest.warns(UserWarning, match="no weights"), pytest.raises(EvalError, match="in a lesser way"):
        system.ingest("one", LINES)
    system.close()


def test_contexts_are_those_that_a_user_would_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    at = datetime(2024, 1, 5, tzinfo=UTC)
    texts = [f"boat {number} has {number % 7} sails" for number in range(120)]
    lines = [Line(key=text, text=text, session="s", at=at) for text in texts]
    system = open_system("everyword", SystemOptions(embedder="hashing"))
    system.ingest("one", lines)
    answer = system.search("one", "which boat has 3 sails", k=100, now=None)
    assert answer.pack is not None
    with Memory.open(":memory:", "hashing") as memory:
        memory.add_many([{"key": text, "text": text, "session": "s", "at": at} for text in texts])
        memory.admin.settle()
        for budget in (60, 300, 2000):
            ours = memory.context("which boat has 3 sails", budget).text
            assert inside(answer.pack(budget)) == inside(ours) != ""
    system.close()


def test_the_cache_changes_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for _ in range(2):
        system = open_system("everyword", SystemOptions(embedder="hashing", budgets=()))
        system.ingest("one", LINES)
        found.append([(one.key, one.score) for one in system.search("one", "blue boat", k=3, now=None).found])
        system.close()
    with Memory.open(":memory:", "hashing") as memory:
        for line in LINES:
            memory.add(line.text, key=line.key, speaker=line.speaker, session=line.session, at=line.at)
        direct = [(hit.event.key, hit.score) for hit in memory.recall("blue boat", k=3)]
    assert found == [direct, direct]
