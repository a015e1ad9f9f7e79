"""Copying a whole memory between a file and a server: complete, compared, to be interrupted and gone on with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from everyword import Memory
from everyword.errors import StoreError
from everyword.interfaces.cli import main
from everyword.settings import Settings
from everyword.storage import copy as migrating
from everyword.storage.copy import copy_store
from everyword.storage.opening import open_store
from everyword.storage.sql import writer
from postgres_server import Server

THEMES = (
    "I slept badly, only five hours.",
    "Insomnia again, I lay awake until four.",
    "Took a nap on the sofa, some sleep at last.",
    "I need to finish the tax report by Friday.",
)


def _fill(location: str) -> None:
    with Memory.open(location, embedder="hashing", background=False) as memory:
        for name in ("default", "tenant 1", "名前"):
            space = memory.space(name)
            space.add_many(
                [
                    {"text": f"I moved to Lisbon {n} times, said {name}.", "speaker": "Ana", "session": f"s{n % 3}"}
                    for n in range(60)
                ]
            )
            space.add("a\x00b \udfff I live in Faro.", speaker="Ana", key="k", meta={"n": [1, "\x00"]})
            space.add("I moved to Porto.", speaker="Ana")
            space.forget(session="s1")
            space.add_many([{"text": text, "speaker": "Ana", "wing": "home"} for text in THEMES])
            space.recall("Where does Ana live?")
            space.admin.add_webhook("http://example.org/told")
        memory.admin.create_key("laptop", permission="read", spaces=["*"])
    with Memory.open(location, embedder="hashing", embed_on_write=False, background=False) as memory:
        memory.add("This waits for its vector.")
        for name in ("default", "tenant 1", "名前"):
            memory.space(name).changes(limit=1)  # all views are up to date


def _seen(location: str) -> list:
    with Memory.open(location, embedder="hashing", background=False) as memory:
        assert memory.admin.verify(deep=True).ok
        seen: list = []
        for name in ("default", "tenant 1", "名前"):
            space = memory.space(name)
            stats = space.stats()
            seen += [list(space.events()), space.statements(), space.sessions()]
            seen += [stats.events, stats.pending, stats.tags, stats.graph, stats.concepts]
            seen += [
                space.facts(),
                space.graph.entities(),
                space.concepts.list(),
                space.concepts.journal(),
                space.intents.list(now="2030-01-01"),
            ]
            seen += [space.admin.webhooks(), space.changes().position]
            seen += [[(hit.event.id, round(hit.score, 4)) for hit in space.recall("Where does Ana live?", k=30)]]
        return seen


def _quiet(_what: str, _done: int, _total: int) -> None:
    pass


@pytest.fixture(autouse=True, scope="module")
def _small_tails() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "SEAL_AT", 32)
        yield


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fill a file once, for tests to copy."""
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    _fill(str(path))
    return path


@pytest.fixture
def source(filled: Path, tmp_path: Path) -> str:
    """Give a filled file that a test may change."""
    return str(shutil.copyfile(filled, tmp_path / "memory.db"))


def test_there_and_back_again_all_is_the_same(
    source: str, location: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    last = str(tmp_path / "last.db")
    assert main(["migrate", source, location]) == 0
    assert "all compared" in capsys.readouterr().out
    assert _seen(location) == _seen(source)
    with Memory.open(location, embedder="hashing") as memory:  # a copy is written to like any other
        assert memory.add("Said on the server.", speaker="Ana").new
        assert memory.add("I moved to Porto.", speaker="Bo").new
        assert memory.admin.settle()  # a vector was owed, and folding waited for it
    assert main(["migrate", location, last, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["resumed"] is False
    assert told["tables"]["events"] > 120
    assert _seen(last) == _seen(location)
    with Memory.open(last, embedder="hashing") as memory:
        assert memory.add("Said in the file.", speaker="Ana").new
        assert memory.admin.verify(deep=True).ok


@pytest.mark.parametrize("direction", ["to the server", "to a file"])
def test_an_interrupted_copy_is_gone_on_with(
    location: str, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, direction: str
) -> None:
    file = str(tmp_path / "memory.db")
    source, target = (file, location) if direction == "to the server" else (location, file)
    if source == file:
        shutil.copyfile(filled, file)
    else:
        _fill(source)
    monkeypatch.setattr(migrating, "_BATCH_ROWS", 20)
    batches: list[int] = []

    class Interrupted(Exception):
        pass

    def stop_soon(what: str, done: int, _total: int) -> None:
        batches.append(done)
        if len(batches) == 12:
            raise Interrupted

    old = open_store(source, Settings())
    new = open_store(target, Settings())
    with pytest.raises(Interrupted):
        copy_store(old, new, stop_soon)
    continued: list[int] = []
    copied = copy_store(old, new, lambda what, done, total: continued.append(done) if what == "rows" else None)
    assert copied.resumed
    assert continued[0] > batches[-1] - 20  # from where it had stopped, not from the start
    old.close()
    new.close()
    assert _seen(target) == _seen(source)


@pytest.mark.parametrize("kind", ["server", "file"])
def test_a_copy_in_the_making_opens_for_nothing_else(
    kind: str, source: str, location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = location if kind == "server" else str(tmp_path / "copy.db")
    monkeypatch.setattr(migrating, "_BATCH_ROWS", 20)
    old, new = open_store(source, Settings()), open_store(target, Settings())
    with pytest.raises(ZeroDivisionError):
        copy_store(old, new, lambda what, done, total: 1 // (done < 200))
    new.close()
    old.close()
    for settings in ({}, {"read_only": True}):
        with pytest.raises(StoreError, match="unfinished copy"):
            Memory.open(target, embedder="hashing", **settings)
    with Memory.open(source, embedder="hashing") as memory:
        memory.add("Said in between.")  # so that it begins anew
        memory.admin.settle()  # what is derived after copying is numbered by the new store
    assert main(["migrate", source, target]) == 0
    assert _seen(target) == _seen(source)


def test_what_others_wrote_into_a_copy_in_the_making_is_not_removed(
    source: str, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "_BATCH_ROWS", 20)
    with Memory.open(location, embedder="hashing") as opened_before:
        old, new = open_store(source, Settings()), open_store(location, Settings())
        with pytest.raises(ZeroDivisionError):
            copy_store(old, new, lambda what, done, total: 1 // (done < 200))
        opened_before.space("another").add("Mine.")
        for text in ("", "Said in between."):
            if text:
                with Memory.open(source, embedder="hashing") as memory:
                    memory.add(text)
            with pytest.raises(StoreError, match="nothing of it was removed"):
                copy_store(old, new, _quiet)
        assert [event.text for event in opened_before.space("another").events()] == ["Mine."]
        old.close()
        new.close()


def test_a_source_that_changed_meanwhile_is_copied_anew(
    source: str, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrating, "_BATCH_ROWS", 20)
    old, new = open_store(source, Settings()), open_store(location, Settings())
    with pytest.raises(ZeroDivisionError):
        copy_store(old, new, lambda what, done, total: 1 // (done < 200))
    with Memory.open(source, embedder="hashing") as memory:
        memory.add("Said in between.")
        memory.admin.settle()
    assert not copy_store(old, new, _quiet).resumed
    old.close()
    new.close()
    assert _seen(location) == _seen(source)


def test_a_memory_is_never_written_over(source: str, location: str, tmp_path: Path) -> None:
    with Memory.open(location, embedder="hashing") as memory:
        memory.add("mine")
    old, new = open_store(source, Settings()), open_store(location, Settings())
    with pytest.raises(StoreError, match="empty one"):
        copy_store(old, new, _quiet)
    old.close()
    new.close()
    with Memory.open(location, embedder="hashing") as memory:
        assert [event.text for event in memory.events()] == ["mine"]
    # Nor one that was copied before and is in use.
    again = str(tmp_path / "again.db")
    assert main(["migrate", source, again]) == 0
    assert main(["migrate", source, again]) != 0


def test_a_copy_that_differs_is_found(source: str, location: str, postgres: Server) -> None:
    schema = location.rpartition("=")[2]
    old, new = open_store(source, Settings()), open_store(location, Settings())

    def spoil(what: str, done: int, total: int) -> None:
        if what == "rows" and done == total:
            postgres.as_admin(f"UPDATE {schema}.events SET speaker = 'Eve' WHERE seq = 1")

    with pytest.raises(StoreError, match="events differs"):
        copy_store(old, new, spoil)
    old.close()
    new.close()
