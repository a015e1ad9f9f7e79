"""Views follow the log: in the background, before they are read, whatever the batches, and after a crash."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from effort import effort
from everyword import Memory
from everyword.errors import Closed
from everyword.jobs import deriver
from everyword.jobs.deriver import catch_up, derive_batch, views_of
from everyword.models.onnx import TextEncoder
from everyword.settings import Settings
from everyword.storage import rows
from everyword.storage.rows import VIEWS

pytestmark = pytest.mark.background

START = datetime(2026, 1, 1, tzinfo=UTC)
TALK = (
    "I live in Lisbon.",
    "I must send the offer to Tom by Friday.",
    "My sister Vera works at Siemens.",
    "I slept badly again, and took a nap.",
    "I moved to Porto in March.",
    "No naps today; I slept well.",
    "I sent the offer to Tom.",
    "Correction: I moved to Faro.",
)


def tell(memory: Memory, *texts: str) -> list[str]:
    return [
        memory.add(text, speaker="Ana", session=f"s{n // 4}", at=START + n * timedelta(days=1)).id
        for n, text in enumerate(texts)
    ]


def told(memory: Memory) -> object:
    """Read all that is derived."""
    return (
        sorted(repr(one) for one in memory.statements(status="any")),
        sorted(repr(one) for one in memory.facts()),
        sorted(one.label for one in memory.concepts.list()),
        [(one.statement, one.status) for one in memory.intents.list(status="any", now=START)],
        [(one.name, one.keys, one.summary) for one in memory.sessions()],
    )


def until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_close_does_not_wait_for_an_idle_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    for wait in ("_QUIET_S", "_LONGEST_WAIT_S", "_IDLE_S"):
        monkeypatch.setattr(deriver, wait, 20.0)
    memory = Memory.open(":memory:", embedder="none")
    memory.add("I live in Lisbon.", speaker="Ana")
    assert memory.statements()  # by now the thread waits for a pause in the writes
    begun = time.monotonic()
    memory.close()
    assert time.monotonic() - begun < 10


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder="hashing", background=False) as opened:
        yield opened


def test_a_write_derives_nothing_and_a_read_all_of_it(memory: Memory) -> None:
    tell(memory, *TALK)
    assert memory.stats().behind == dict.fromkeys(VIEWS, len(TALK))
    assert [fact.object_name for fact in memory.facts("Ana", "lives_in") if fact.valid_to is None] == ["Faro"]
    assert memory.stats().behind == {"concepts": len(TALK)}
    memory.admin.settle()
    assert memory.stats().behind == {}


def test_the_background_follows_without_a_read(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        tell(memory, *TALK)
        assert until(lambda: not memory.stats().behind)
        assert memory.notices == []
    assert not [one for one in threading.enumerate() if one.name == "everyword-deriver"]


@pytest.mark.slow
def test_closing_does_not_wait_for_a_backlog(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        memory.add_many({"text": f"I like tea number {n}.", "speaker": "Ana", "key": str(n)} for n in range(30))
        began = time.monotonic()
    closing = time.monotonic() - began
    with Memory.open(tmp_path / "m.db", embedder="none", background=False) as memory:
        assert memory.stats().behind["facts"] > 0
        began = time.monotonic()
        assert len(memory.statements(status="any", limit=1000)) == 30
        assert closing < (time.monotonic() - began) / 2


def test_closing_waits_for_one_text_that_is_being_encoded_and_not_for_a_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, run = threading.Event(), TextEncoder._run

    def slow(*given: object) -> object:
        begun.set()
        time.sleep(0.3)
        return run(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(TextEncoder, "_run", slow)
    with Memory.open(tmp_path / "m.db", embedder="everyword-small") as memory:
        memory.add_many(({"text": f"tea number {n}", "key": str(n)} for n in range(40)), wait=False)
        assert begun.wait(20)
        began = time.monotonic()
    assert time.monotonic() - began < 2
    with Memory.open(tmp_path / "m.db", embedder="none", background=False) as memory:
        assert memory.stats().pending == 40
        assert memory.notices == []


def test_reading_a_backlog_ends_when_the_memory_closes(memory: Memory) -> None:
    tell(memory, *TALK)
    memory.scope.engine.stopping.set()
    with pytest.raises(Closed):
        catch_up(memory.scope.engine, memory.scope.space, VIEWS)
    memory.scope.engine.stopping.clear()
    assert catch_up(memory.scope.engine, memory.scope.space, VIEWS) == len(TALK)


def test_a_batch_of_long_texts_is_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deriver, "_CHARS_AT_ONCE", 100)
    with Memory.open(tmp_path / "m.db", embedder="hashing", background=False) as memory:
        memory.add_many(({"text": "tea " * 10 + str(n)} for n in range(5)), wait=False)
        assert [deriver.encode_some(memory.scope.engine) for _ in range(4)] == [2, 2, 1, None]


def test_a_memory_that_is_dropped_is_not_kept_open(tmp_path: Path) -> None:
    def use() -> None:
        memory = Memory.open(tmp_path / "m.db", embedder="none")
        memory.add("I live in Lisbon.", speaker="Ana")

    use()
    gc.collect()
    assert until(lambda: not [one for one in threading.enumerate() if one.name == "everyword-deriver"])


@pytest.mark.parametrize("seed", range(effort(2, 4)))
def test_the_cut_into_batches_changes_nothing(memory: Memory, seed: int) -> None:
    tell(memory, *TALK)
    with Memory.open(":memory:", embedder="hashing", background=False) as other:
        tell(other, *TALK)
        other.admin.settle()
        chance = random.Random(seed)
        engine, views = memory.scope.engine, list(VIEWS)
        while any(memory.stats().behind.values()):
            some = views if chance.random() < 0.5 else chance.sample(views, chance.randint(1, len(views)))
            some = [one for one in views if one in some and (one != "facts" or "statements" in some)]
            derive_batch(engine, engine.store, "default", some, chance.randint(1, 5))
        memory.admin.settle()  # sessions that grew a little are summarised again only now

        assert [len(one) for one in told(memory)] == [len(one) for one in told(other)]  # type: ignore[attr-defined]
        assert memory.admin.verify(deep=True).ok


def test_a_deriver_that_dies_between_views_leaves_all_or_nothing_of_a_batch(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from everyword.storage.protocol import Writer

    tell(memory, *TALK)

    def fail(*_: object) -> None:
        raise RuntimeError("pulled")

    with monkeypatch.context() as now:
        now.setattr(Writer, "put_mentions", fail)
        with pytest.raises(RuntimeError):
            memory.facts("Ana")
    assert memory.stats().behind == dict.fromkeys(VIEWS, len(TALK))
    assert memory.intents.list(status="any", now=START)
    assert memory.admin.verify(deep=True).ok


def test_a_new_version_of_a_view_is_derived_again(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(memory, *TALK)
    before = told(memory)
    monkeypatch.setitem(rows.VIEWS, "facts", rows.VIEWS["facts"] + 1)
    assert memory.stats().behind == {"facts": len(TALK)}
    assert told(memory) == before
    assert memory.stats().behind == {}
    assert memory.admin.verify(deep=True).ok


def test_what_is_forgotten_before_it_was_derived_is_never_derived(memory: Memory) -> None:
    ids = tell(memory, *TALK)
    memory.statements()
    memory.add("I must feed Rex by Friday.", speaker="Ana", session="s1", at=START)
    memory.forget(ids=[ids[4], ids[-1]])
    assert [fact.object_name for fact in memory.facts("Ana", "lives_in")] == ["Lisbon"]
    memory.forget(session="s1")
    assert memory.stats().behind != {}
    assert [one.name for one in memory.sessions()] == ["s0"]
    memory.admin.settle()
    assert memory.stats().behind == {}
    assert memory.admin.verify(deep=True).ok


@pytest.mark.slow
def test_a_question_waits_for_no_long_backlog(memory: Memory) -> None:
    memory.add_many({"text": f"I like tea number {n}.", "speaker": "Ana", "key": str(n)} for n in range(2_000))
    began = time.monotonic()
    assert memory.recall("tea number 7")
    assert time.monotonic() - began < 5
    assert memory.stats().behind["facts"] > 0


def test_a_wake_up_waits_for_a_backlog_only_so_long(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.add_many([{"text": f"I bought {n} apples.", "speaker": "Ana"} for n in range(40)])
    monkeypatch.setattr("everyword.api.wake_up._PATIENCE_S", 0.0)
    memory.wake_up()
    assert memory.stats().behind["facts"] == 40
    monkeypatch.undo()
    memory.wake_up()
    assert not memory.stats().behind


def test_questions_derive_a_backlog_where_no_background_does(memory: Memory) -> None:
    memory.add_many({"text": f"I like tea number {n}.", "speaker": "Ana", "key": str(n)} for n in range(60))
    assert until(lambda: bool(memory.recall("tea number 7")) and "facts" not in memory.stats().behind)


def test_reads_write_nothing_while_vectors_are_owed(memory: Memory) -> None:
    tell(memory, *TALK)
    memory.admin.settle()
    memory.add("I moved to Lagos.", speaker="Ana", wait=False)
    memory.changes()  # derives what needs no vectors
    store = memory.scope.engine.store
    before = store.commits
    memory.wake_up()
    memory.concepts.list()
    memory.changes()
    assert store.commits == before


@pytest.mark.slow
def test_a_question_lets_the_background_work_later_and_says_nothing_of_a_change(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="none", background=False) as memory:
        memory.add_many({"text": f"I like tea number {n}.", "speaker": "Ana", "key": str(n)} for n in range(40))
    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        told: list[str] = []
        memory.scope.engine.listeners.append(told.append)
        assert memory.recall("tea number 7")
        assert (told, memory.stats().behind["facts"]) == ([], 40)
        assert until(lambda: not memory.stats().behind)


def test_without_waiting_words_are_found_at_once_and_vectors_follow(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing", background=False) as memory:
        memory.add("Herring boats left the harbour.", wait=False)
        memory.add_many([{"text": "The lighthouse was painted."}], wait=False)
        hits = memory.recall("herring")
        assert (hits[0].text, hits.pending, memory.stats().vectors) == ("Herring boats left the harbour.", 2, 0)
    with Memory.open(tmp_path / "m.db", embedder="hashing") as memory:
        memory.add("The nets were mended.")
        assert until(lambda: memory.stats().pending == 0)
        assert memory.stats().vectors == 3
        assert memory.admin.verify(deep=True).ok
    with Memory.open(tmp_path / "m.db", embedder="hashing", extract=False, fold=False) as memory:
        memory.add("The sails were mended.", wait=False)
        assert until(lambda: memory.stats().pending == 0)


def test_what_people_said_is_encoded_before_what_assistants_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from everyword.jobs import deriver as encoding

    monkeypatch.setattr(encoding, "_ENCODED_AT_ONCE", 4)
    with Memory.open(tmp_path / "m.db", embedder="hashing", background=False) as memory:
        turns = [{"text": f"turn {n}", "role": "assistant" if n % 2 else "user", "key": str(n)} for n in range(16)]
        memory.add_many(turns, wait=False)
        assert encoding.encode_some(memory.scope.engine) == 4
        with memory.scope.reader() as reader:
            waiting = reader.fetch([job.seq for job in reader.jobs_of(limit=100)])
        assert [one.role for one in waiting.values()].count("user") == 4


def test_no_view_is_kept_where_none_is_wanted() -> None:
    assert views_of(Settings(extract=False, fold=False)) == ()
    with Memory.open(":memory:", embedder="hashing", extract=False, fold=False, background=False) as memory:
        tell(memory, *TALK)
        assert (memory.facts(), memory.concepts.list(), memory.intents.list()) == ([], [], [])
        memory.admin.settle()
        assert memory.facts()


_KILLED = """
import sys, time
from everyword import Memory
memory = Memory.open(sys.argv[1], embedder="hashing", background=False)
print("ready", flush=True)
from everyword.jobs.deriver import derive_batch
from everyword.storage.rows import VIEWS
engine = memory.scope.engine
while derive_batch(engine, engine.store, "default", tuple(VIEWS), 1)[0]:
    pass
print("done", flush=True)
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(effort(1, 5)))
def test_killed_at_any_instruction_it_goes_on_where_it_was(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "m.db"
    with Memory.open(path, embedder="hashing", background=False) as memory:
        tell(memory, *TALK * 6)
    chance = random.Random(seed)
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", _KILLED, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 1.5))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    with Memory.open(path, embedder="hashing", background=False) as memory:
        memory.admin.settle()
        assert memory.admin.verify(deep=True).ok
        before = told(memory)
        memory.admin.rebuild()
        assert told(memory) == before


def test_derivers_of_many_threads_take_turns(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db", embedder="hashing", background=False) as memory:
        tell(memory, *TALK * 3)
        engine = memory.scope.engine
        threads = [threading.Thread(target=catch_up, args=(engine, "default", tuple(VIEWS))) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert memory.stats().behind == {}
        assert memory.admin.verify(deep=True).ok


def test_batches_in_the_background_are_short() -> None:
    assert deriver._next_limit(4, 0.3) == 1  # pyright: ignore[reportPrivateUsage]
    assert deriver._next_limit(64, 0.003) == 128  # pyright: ignore[reportPrivateUsage]
