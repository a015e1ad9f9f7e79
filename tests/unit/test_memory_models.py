"""Models through `Memory`: failing, deferred, switched, damaged ones; and the real one, once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from everyword import EverywordNotice, Memory
from everyword.errors import EmbeddingFailed, EverywordError, InvalidSetting, StoreBusy
from everyword.models.embedders import HashingEmbedder
from everyword.models.protocol import ModelCard, Passage, Question
from llm_server import Asked, Sent, late, raw, serving

DIMS = 24


class TinyEmbedder:
    """Each word has a direction; a text is their sum. Deterministic, and it can be made to fail."""

    def __init__(self, name: str = "tiny", version: str = "1") -> None:
        self.card = ModelCard(name=name, version=version, dims=DIMS)
        self.fails: Exception | None = None
        self.wrong: str | None = None
        self.calls = 0

    def passages(self, texts: Sequence[str]) -> list[Passage]:
        """Encode, or fail as told."""
        self.calls += 1
        if self.fails is not None:
            raise self.fails
        if any("cursed" in text for text in texts):
            raise EmbeddingFailed("cursed text")
        if self.wrong == "few":
            return [Passage(pooled=_stored(text), tokens=b"") for text in texts[:-1]]
        if self.wrong == "size":
            return [Passage(pooled=np.ones(DIMS - 3, np.int8), tokens=b"") for _ in texts]
        if self.wrong == "lists":
            return [_stored(text).tolist() for text in texts]
        if self.wrong == "pooled lists":
            return [Passage(pooled=_stored(text).tolist(), tokens=b"") for text in texts]  # type: ignore[arg-type]
        if self.wrong == "no tokens":
            return [Passage(pooled=_stored(text), tokens=None) for text in texts]  # type: ignore[arg-type]
        if self.wrong == "nothing":
            return None  # type: ignore[return-value]
        return [Passage(pooled=_stored(text), tokens=b"") for text in texts]

    def question(self, text: str) -> Question:
        """Encode, or fail as told."""
        if self.fails is not None:
            raise self.fails
        if self.wrong in ("lists", "nothing"):
            return None if self.wrong == "nothing" else _direction(text).tolist()  # type: ignore[return-value]
        if self.wrong == "pooled lists":
            return Question(pooled=_direction(text).tolist(), tokens=None)  # type: ignore[arg-type]
        return Question(pooled=_direction(text), tokens=np.empty((0, 0), np.float32))


def _direction(text: str) -> np.ndarray:
    vector = np.zeros(DIMS, np.float32)
    for word in text.lower().split():
        seed = int.from_bytes(hashlib.blake2b(word.strip(".,:[]").encode(), digest_size=4).digest())
        vector += np.random.default_rng(seed).standard_normal(DIMS).astype(np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1e-6)


def _stored(text: str) -> np.ndarray:
    return np.round(_direction(text) * 127).astype(np.int8)


def _vectors(asked: Asked) -> Sent:
    rows = [{"index": place, "embedding": _direction(text).tolist()} for place, text in enumerate(asked.body["input"])]
    return raw(json.dumps({"data": rows}))(asked)


def _found(memory: Memory, question: str) -> list[str]:
    return [hit.text for hit in memory.recall(question)]


# Failing


@pytest.mark.filterwarnings("ignore::everyword.EverywordNotice")
@pytest.mark.parametrize("query", ["", f"?dimensions={DIMS}"])
def test_a_memory_opened_while_its_endpoint_is_away_takes_and_finds_events(
    query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everyword.models.http_client.FIRST_WAIT", 0.0)
    path = tmp_path / "memory.db"
    with serving(_vectors) as server:
        with Memory.open(path, embedder=f"openai:e@{server.url}{query}") as memory:
            memory.add("Ana lives in Porto.")
        server.script[:] = [raw("busy", 503)]
        for settings in ({}, {"embedder": f"openai:e@{server.url}{query}"}):
            with Memory.open(path, **settings) as memory:
                assert memory.add("I moved to Faro.").new
                assert "I moved to Faro." in _found(memory, "Who moved to Faro?")
                assert len(memory.notices) <= 2
                assert all("HTTP 503" in (job.error or "") for job in memory.admin.jobs())
                asked = len(server.asked)
                memory.add("Faro is warm.")
                memory.recall("Faro")
                assert len(server.asked) <= asked + 2  # once a call, not five times
        with Memory.open(path, embedder="hashing") as memory:
            assert "I moved to Faro." in _found(memory, "Who moved to Faro?")
        server.script[:] = [_vectors]
        with Memory.open(path) as memory:
            memory.admin.settle()
            assert (memory.stats().vectors, memory.stats().pending) == (5, 0)


@pytest.mark.filterwarnings("ignore::everyword.EverywordNotice")
def test_an_endpoint_that_is_wanted_and_away_leaves_the_file_its_own_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("everyword.models.http_client.FIRST_WAIT", 0.0)
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Ana lives in Porto.")
    with serving(raw("busy", 503)) as server, Memory.open(path, embedder=f"openai:e@{server.url}") as memory:
        memory.add("I moved to Faro.")
        assert memory.stats().vectors == 2
        assert not server.asked


def test_an_endpoint_that_keeps_failing_slowly_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    from everyword.models.endpoint import EndpointEmbedder
    from everyword.models.http_client import RetryPolicy

    with serving(late(0.3, raw("{}"))) as server:
        retry = RetryPolicy(timeout=0.1, attempts=2, sleep=lambda _: None)
        embedder = EndpointEmbedder(f"openai:e@{server.url}", retry=retry)
        for _ in range(4):
            with pytest.raises(EmbeddingFailed, match=r"2 attempts"):
                embedder.question("x")
        assert len(server.asked) == 3  # twice, once, and then it was let be
        monkeypatch.setattr("everyword.models.endpoint.PAUSE_FACTOR", 0)
        embedder._paused_until = 0.0
        server.script[:] = [_vectors]
        assert embedder.question("x").pooled.shape == (DIMS,)
        server.script[:] = [raw("busy", 503)]
        with pytest.raises(EmbeddingFailed, match="HTTP 503"):
            embedder.question("x")
        assert len(server.asked) == 6
        embedder.close()


def test_a_failing_model_leaves_the_event_stored_found_by_words_and_the_work_queued() -> None:
    embedder = TinyEmbedder()
    with Memory.open(":memory:", embedder=embedder, background=False) as memory:
        memory.add("Before the outage.")
        embedder.fails = EmbeddingFailed("no network")
        with pytest.warns(EverywordNotice, match="no network"):
            assert memory.add("During the outage.").new
        assert memory.stats().pending == 1
        assert [job.error for job in memory.admin.jobs()] == ["no network"]
        assert memory.notices
        embedder.fails = None
        assert "During the outage." in _found(memory, "during the outage")
        assert memory.admin.verify().ok  # nothing is wrong: the work is queued
        assert memory.admin.settle() == 1
        stats = memory.stats()
        assert (stats.pending, stats.vectors) == (0, 2)
        assert memory.admin.verify().ok


def test_a_question_is_answered_by_words_while_the_model_fails() -> None:
    embedder = TinyEmbedder()
    with Memory.open(":memory:", embedder=embedder) as memory:
        memory.add_many([{"text": "The lighthouse keeper."}, {"text": "Another thing."}])
        embedder.fails = EmbeddingFailed("no network")
        with pytest.warns(EverywordNotice, match="no network"):
            hits = memory.recall("lighthouse")
        assert [hit.text for hit in hits] == ["The lighthouse keeper."]
        assert memory.context("lighthouse", budget=100).citations


def test_work_that_fails_again_waits_and_is_never_lost() -> None:
    embedder = TinyEmbedder()
    with Memory.open(":memory:", embedder=embedder) as memory:
        embedder.fails = EmbeddingFailed("no network")
        with pytest.warns(EverywordNotice):
            memory.add_many([{"text": f"Event {n}."} for n in range(5)])
        with pytest.warns(EverywordNotice, match="postponed"):
            assert memory.admin.settle() == 0
        assert memory.stats().pending == 5
        with memory.scope.engine.store.file_reader() as reader:
            assert {(job.attempts, job.error) for job in reader.jobs(limit=10)} == {(1, "no network")}
        embedder.fails = None
        assert memory.admin.settle() == 5
        assert memory.admin.verify().ok


@pytest.mark.filterwarnings("ignore::everyword.EverywordNotice")
def test_texts_that_the_model_refuses_hold_up_no_others() -> None:
    with Memory.open(":memory:", embedder=TinyEmbedder(), background=False) as memory:
        memory.add_many(({"text": f"Event {n}."} for n in range(70)), wait=False)
        memory.add_many(({"text": f"A cursed text {n}."} for n in range(40)), wait=False)
        memory.add_many(({"text": f"Later event {n}."} for n in range(70)), wait=False)
        assert memory.admin.settle() == 140
        assert (memory.stats().pending, memory.stats().vectors) == (40, 140)
        assert {job.error for job in memory.admin.jobs(limit=100)} == {"cursed text"}
        assert {job.attempts for job in memory.admin.jobs(limit=100)} == {1}
        memory.add("One more.", wait=False)
        assert memory.admin.settle() == 1


@pytest.mark.parametrize("wrong", ["few", "size", "lists", "pooled lists", "no tokens", "nothing"])
def test_a_model_that_gives_nonsense_is_a_failing_model(wrong: str) -> None:
    embedder = TinyEmbedder()
    with Memory.open(":memory:", embedder=embedder) as memory:
        memory.add("Before.")
        embedder.wrong = wrong
        with pytest.warns(EverywordNotice):
            assert memory.add("During.").new
        embedder.wrong = None
        assert "During." in _found(memory, "during")
        assert memory.stats().pending == 1
        assert memory.admin.verify().ok
        assert memory.admin.settle() == 1
        assert memory.admin.verify().ok


@pytest.mark.parametrize("wrong", ["lists", "pooled lists", "nothing"])
def test_a_question_is_answered_by_words_where_a_model_gives_it_nonsense(wrong: str) -> None:
    embedder = TinyEmbedder()
    with Memory.open(":memory:", embedder=embedder) as memory:
        memory.add("The lighthouse keeper.")
        embedder.wrong = wrong
        with pytest.warns(EverywordNotice):
            assert _found(memory, "lighthouse") == ["The lighthouse keeper."]


def test_a_users_own_embedder_may_fail_with_any_error() -> None:
    embedder = TinyEmbedder()
    with Memory.open(":memory:", embedder=embedder) as memory:
        memory.add("Before.")
        embedder.fails = ConnectionResetError("peer")
        with pytest.warns(EverywordNotice):
            assert memory.add("During.").new
        with pytest.warns(EverywordNotice):
            assert "During." in _found(memory, "during")
        embedder.fails = None
        assert memory.admin.settle() == 1
        assert memory.admin.verify().ok


# Deferred, and none


def test_vectors_may_follow_later(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing", reader="none", embed_on_write=False) as memory:
        memory.add_many([{"text": f"Fact number{n}."} for n in range(100)])
        assert memory.recall("number42")[0].text == "Fact number42."
        stats = memory.stats()
        assert (stats.vectors, stats.pending) == (0, 100)
        assert memory.admin.verify().ok
    with Memory.open(path, embedder="hashing", reader="none") as memory:  # the next process does it
        assert memory.admin.settle() == 100
        assert memory.stats().pending == 0
        assert memory.stats().vectors == 100
        assert memory.admin.verify().ok
        assert memory.admin.settle() == 0


def test_words_alone_leave_no_work_behind(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="none") as memory:
        memory.add("Words alone.")
        assert memory.stats().pending == 0
        assert memory.stats().model is None
        assert memory.recall("words")[0].text == "Words alone."
        assert memory.admin.settle() == 0
        memory.admin.rebuild()
        memory.forget(before="2100-01-01")
        assert memory.admin.verify().ok
        memory.add("And again.")
    with Memory.open(path, embedder="hashing") as memory:  # a model comes to a file that has none
        memory.add("With a vector.")
        memory.admin.settle()
        assert memory.stats().vectors == 2
        assert memory.admin.verify().ok


# Switching


def test_another_embedder_is_told_and_the_old_vectors_serve_until_a_rebuild(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add_many([{"text": f"Fact number{n} of gardens."} for n in range(30)])
    tiny = TinyEmbedder()
    with Memory.open(path, embedder=tiny) as memory, Memory.open(path, embedder="hashing") as other:
        with pytest.warns(EverywordNotice, match="rebuild"):
            hits = memory.recall("number7 gardens")
        assert hits[0].text == "Fact number7 of gardens."
        assert "vectors" in {step["stage"] for step in hits[0].explain()}
        assert tiny.calls == 0
        memory.add("Written before the switch.")
        assert memory.stats().model == "hashing@1"
        assert memory.admin.verify().ok
        assert other.recall("switch")[0].text == "Written before the switch."
        steps: list[tuple[str, int, int]] = []
        memory.admin.rebuild(progress=lambda *step: steps.append(step))
        assert steps
        assert memory.stats().model == "tiny@1"
        assert memory.stats().vectors == 31
        assert tiny.calls > 0
        hits = memory.recall("number7 gardens")
        assert "vectors" in {step["stage"] for step in hits[0].explain()}
        assert memory.admin.verify().ok
        # The other handle can't load a model named tiny: words alone, and it says so.
        with pytest.warns(EverywordNotice):
            assert other.recall("number7")[0].text == "Fact number7 of gardens."
        assert other.stats().model == "tiny@1"
        assert other.add("Written by the other one.").new
        assert "Written by the other one." in _found(memory, "written by the other one")
        assert memory.admin.settle() == 1
        assert memory.stats().pending == 0
        assert memory.admin.verify().ok


def test_switching_back_works_too(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=TinyEmbedder()) as memory:
        memory.add_many([{"text": f"Fact number{n}."} for n in range(10)])
    with Memory.open(path, embedder="hashing") as memory:
        with pytest.warns(EverywordNotice):
            memory.recall("number3")
        memory.admin.rebuild()
        assert memory.stats().model == "hashing@1"
        assert memory.stats().vectors == 10
        assert memory.admin.verify().ok
        with memory.scope.engine.store.file_reader() as reader:
            assert [model.name for model in reader.models()] == ["hashing"]  # nothing is left of the old one


def test_a_new_version_of_a_model_is_another_model(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=TinyEmbedder()) as memory:
        memory.add("One.")
    with Memory.open(path, embedder=TinyEmbedder(version="2")) as memory:
        with pytest.warns(EverywordNotice):
            assert memory.recall("one")[0].text == "One."
        memory.admin.rebuild()
        assert memory.stats().model == "tiny@2"
        assert memory.admin.verify().ok


def test_a_rebuild_with_a_failing_model_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add_many([{"text": f"Fact number{n}."} for n in range(10)])
    tiny = TinyEmbedder()
    tiny.fails = EmbeddingFailed("no network")
    with Memory.open(path, embedder=tiny) as memory:
        with pytest.raises(EmbeddingFailed):
            memory.admin.rebuild()
        assert memory.stats().model == "hashing@1"
        with pytest.warns(EverywordNotice):
            assert memory.recall("number3")[0].text == "Fact number3."
        assert memory.admin.verify().ok
        tiny.fails = None
        memory.admin.rebuild()
        assert memory.stats().model == "tiny@1"
        assert memory.admin.verify().ok


@pytest.mark.slow
def test_a_rebuild_changes_no_answer() -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        memory.add_many(
            [{"text": f"Fact number{n} " + "common words " * (n % 9), "speaker": f"S{n % 3}"} for n in range(80)]
        )
        questions = ("number7", "common words", "S2 said", "fact")
        before = [memory.recall(question) for question in questions]
        memory.admin.rebuild()
        assert [memory.recall(question) for question in questions] == before
        memory.admin.rebuild(vectors=False)
        assert [memory.recall(question) for question in questions] == before
        assert memory.admin.verify().ok


def test_a_file_opened_without_a_name_uses_its_own_model(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("One.")
    with Memory.open(path) as memory:
        memory.add("Two.")
        assert memory.stats().model == "hashing@1"
        assert memory.stats().vectors == 2


# The real one


def test_the_bundled_model_understands_more_than_words(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    try:
        memory = Memory.open(path, embedder="everyword-small")
    except EverywordError as error:
        pytest.skip(f"the weights are not here: {error}")
    with memory:
        memory.add_many(
            [
                {"text": "I moved to Lisbon in March and rent a flat in Alfama.", "speaker": "Ana"},
                {"text": "The quarterly report is due on Friday.", "speaker": "Bo"},
                {"text": "My daughter plays the cello every evening.", "speaker": "Cy"},
                {"text": "x" * 3000 + " and the spare key is under the blue pot.", "speaker": "Di"},
            ]
        )
        hits = memory.recall("Which city does Ana live in?")
        assert hits[0].event.speaker == "Ana"
        assert {"late", "about"} <= {said["stage"] for said in hits[0].explain()}
        assert memory.recall("Who makes music?")[0].event.speaker == "Cy"
        assert "blue pot" in memory.recall("Where is the spare key?")[0].quote
        context = memory.context("When is the report due?", budget=90)
        assert "Friday" in context.text
        assert context.tokens <= 90
        assert memory.admin.verify().ok


# Where a path leads


@pytest.mark.slow
def test_a_memory_stays_where_it_was_opened(tmp_path: Path) -> None:
    code = """
import os, sys
from everyword import Memory
memory = Memory.open("memory.db", embedder="hashing")
os.mkdir("elsewhere")
os.chdir("elsewhere")
memory.add("Here.")
assert memory.recall("here")[0].text == "Here."
memory.add("Still here.")
assert memory.stats().events == 2
assert memory.admin.verify().ok
memory.close()
assert os.listdir(".") == [], os.listdir(".")
"""
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_two_names_of_one_file_are_one_memory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "real" / "memory.db")
    with Memory.open(tmp_path / "real" / "memory.db", embedder="hashing") as real:
        real.add("One.")
        with Memory.open(link, embedder="hashing") as linked:
            linked.add("Two.")
            assert linked.stats().events == real.stats().events == 2
    # One queue of writers: the lock lies beside the file itself, whatever it is called.
    assert not list(tmp_path.glob("link.db-*"))


class _Closable(HashingEmbedder):
    closed = False

    def close(self) -> None:
        self.closed = True


def test_what_was_loaded_is_closed_where_opening_or_closing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = _Closable()
    monkeypatch.setattr("everyword.engine.encoding.load_embedder", lambda *_, **__: ours)
    with pytest.raises(InvalidSetting):
        Memory.open(tmp_path / "m.db", embedder="hashing", reranker="nonsense")
    assert ours.closed
    ours.closed = False
    memory = Memory.open(tmp_path / "m.db", embedder="hashing", busy_timeout_s=0.05)
    with memory.scope.engine.store._turn.taken_here(), pytest.raises(StoreBusy):  # type: ignore[attr-defined]
        memory.close()
    assert ours.closed
    memory.close()
    assert not list(tmp_path.glob("m.db-wal"))


def test_an_engine_on_another_store_loads_no_reader_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everyword.models.reader.reader.load_reader", lambda _: object())
    with Memory.open(":memory:", embedder="none") as memory:
        engine = memory.scope.engine
        assert engine.on(engine.store).reader is engine.reader


def test_notices_that_differ_each_time_do_not_pile_up() -> None:
    with Memory.open(":memory:", embedder="hashing") as memory:
        for number in range(60):
            with pytest.warns(EverywordNotice):
                memory.scope.engine.models.say(f"Notice {number}.")
        assert memory.notices == [f"Notice {number}." for number in range(10, 60)]


def test_an_embedder_that_the_caller_made_is_the_caller_s_to_close() -> None:
    mine = _Closable()
    with Memory.open(":memory:", embedder=mine) as memory:
        memory.add("still mine")
    assert not mine.closed
