"""What is forgotten is gone from the disk, also when the forgetting was interrupted."""

from __future__ import annotations

import os
import random
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from crash_children import FORGET_AND_DIE
from raw_pages import unused_bytes

from effort import effort
from everyword import EverywordNotice, Memory
from everyword.errors import NotFound, StoreBusy
from everyword.storage.sql import writer
from everyword.storage.sqlite import SqliteStore

SECRETS = ("xylophonequartz", "zanzibarvortex", "quixoticmumble", "sphinxblackjudge", "vexedjumpywaltz")
SEEDS = (0, 4, 8)[: effort(1, 3)]  # with any of them the test fails where scrub() does not rewrite the file
SECRET_EVENT = {
    "text": f"The word is {SECRETS[0]}, as agreed.",
    "speaker": SECRETS[1],
    "session": f"about {SECRETS[2]}",
    "key": f"id-{SECRETS[3]}",
    "meta": {"note": SECRETS[4], SECRETS[4]: True},
}


def _bytes_on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())


def _assert_gone(folder: Path, words=SECRETS) -> None:
    raw = _bytes_on_disk(folder)
    for word in words:
        for encoded in (word.encode(), word.encode("utf-16-le"), word.upper().encode()):
            assert encoded not in raw, word


def test_no_byte_is_left_of_a_forgotten_event(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        memory.add("Something that stays.", speaker="Ana")
        secret = memory.add(**SECRET_EVENT).event  # type: ignore[arg-type]
        assert SECRETS[0].encode() in _bytes_on_disk(tmp_path)
        receipt = memory.forget(ids=[secret.id])
        assert receipt.scrubbed
        assert receipt.ids == (secret.id,)
        _assert_gone(tmp_path)  # while it is open: the log beside it too
        assert memory.admin.verify().ok
        with pytest.raises(NotFound):
            memory.get(secret.id)
        assert all(SECRETS[0] not in hit.text for hit in memory.recall(SECRETS[0]))
        assert [session.name for session in memory.sessions()] == []
    _assert_gone(tmp_path)


def test_no_byte_is_left_after_pages_split_and_tails_were_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "SEAL_AT", 32)
    draw = random.Random(7)
    words = [f"common{n}" for n in range(300)]

    def filler(n: int) -> dict:
        return {
            "text": f"Filler {n} " + " ".join(draw.choices(words, k=draw.randint(3, 200))),
            "session": f"s{draw.randrange(40)}",
            "speaker": draw.choice(words),
            "meta": {"n": n},
        }

    rounds = effort(12, 40)
    secrets = [f"secretword{n}q" for n in range(rounds)]
    with Memory.open(tmp_path / "memory.db", embedder="hashing", reader="none", durability="normal") as memory:
        for round_ in range(rounds):
            memory.add_many([filler(round_ * 10 + n) for n in range(10)])
            word = secrets[round_]
            memory.add(
                f"{word} " * draw.choice([1, 5, 400, 3000]), session="secret", key=f"k {word}", speaker=f"Mx {word}"
            )
        assert len(memory.forget(session="secret").ids) == rounds
        _assert_gone(tmp_path, secrets)
        assert memory.admin.verify().ok
        assert memory.stats().events == 10 * rounds
        memory.admin.rebuild()
        _assert_gone(tmp_path, secrets)
        assert memory.admin.verify().ok


@pytest.mark.parametrize("seed", SEEDS)
def test_no_byte_is_left_where_sqlite_moved_rows_between_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    # Splitting pages leaves copies of rows in unused space, which secure_delete does not see. These seeds do that.
    monkeypatch.setattr(writer, "SEAL_AT", 32)
    draw = random.Random(seed)
    secrets: list[str] = []

    def event(number: int) -> dict:
        hidden = draw.random() < 0.3
        tag = f"secret{number}q" if hidden else f"plain{number}"
        secrets.extend([tag] if hidden else [])
        name = f"{draw.random():.6f} {tag} " + "p" * draw.choice([0, 10, 300, 800])
        return {
            "text": f"{tag} " + "w " * draw.choice([1, 20, 500, 3000]),
            "session": name,
            "speaker": f"Mx {name}",
            "key": f"k {name}",
            "wing": "hide" if hidden else "keep",
            "meta": {"t": name},
        }

    still = datetime(2026, 1, 1, tzinfo=UTC)
    path = tmp_path / "memory.db"
    # Deriving later moves rows too, but none that was forgotten.
    with Memory.open(path, embedder="hashing", durability="normal", clock=lambda: still, background=False) as memory:
        for round_ in range(60):
            memory.add_many([event(round_ * 10 + n) for n in range(10)])
            if draw.random() < 0.3:
                memory.forget(wing="hide")
        memory.forget(wing="hide")
        assert len(secrets) > 100
        assert re.findall(rb"secret\d+q", _bytes_on_disk(tmp_path)) == []
        assert memory.admin.verify().ok
    assert unused_bytes(path) == []  # nothing of anybody's in space that no row uses


def _named(draw: random.Random, tag: str) -> dict:
    name = f"{draw.random():.6f} {tag} " + "p" * draw.choice([0, 300, 800])
    return {"text": f"{tag}.", "session": name, "speaker": f"Mx {name}", "key": f"k {name}", "wing": tag[:6]}


def test_pages_that_a_connection_has_in_memory_bring_nothing_back(tmp_path: Path) -> None:
    # Both keep pages with copies of moved rows in memory. They must not write them after they were overwritten.
    draw = random.Random(0)
    path = tmp_path / "memory.db"
    options = {"embedder": "hashing", "durability": "normal", "extract": False, "fold": False}
    with Memory.open(path, **options) as memory, Memory.open(path, **options) as other:
        for _ in range(10):
            for writer in (memory, other):
                writer.add_many([_named(draw, f"secret{n}q" if n % 3 else f"public{n}") for n in range(30)])
            memory.forget(wing="secret")
            for writer in (memory, other):
                writer.add_many([_named(draw, f"public{n}") for n in range(10)])
        assert re.findall(rb"secret\d+q", _bytes_on_disk(tmp_path)) == []
    assert re.findall(rb"secret\d+q", path.read_bytes()) == []


def test_forgetting_a_little_does_not_rewrite_the_file(tmp_path: Path) -> None:
    draw = random.Random(0)
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing", durability="normal", extract=False, fold=False) as memory:
        memory.add_many([_named(draw, f"public{n}") for n in range(3000)])
        gone = memory.add("The word is zanzibarvortex.", session="secret").id
        memory.forget(ids=[memory.add("One that goes first.").id])  # overwrites what moved rows had left
        before = path.read_bytes()
        assert memory.forget(ids=[gone]).scrubbed
        after = path.read_bytes()
        _assert_gone(tmp_path, ["zanzibarvortex"])
    page = 16384
    changed = [at for at in range(0, len(after), page) if before[at : at + page] != after[at : at + page]]
    assert len(before) == len(after) > 400 * page
    assert len(changed) < 50


def test_a_rebuilt_or_migrated_memory_leaves_no_old_copies(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        memory.add(**SECRET_EVENT)  # type: ignore[arg-type]
        memory.add_many([{"text": f"Other {n}."} for n in range(50)])
        memory.admin.rebuild()
        memory.forget(speaker=SECRETS[1])
        _assert_gone(tmp_path)


def test_a_failed_embedding_keeps_no_words_of_what_is_forgotten(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="hashing", embed_on_write=False) as memory:
        memory.add(**SECRET_EVENT)  # type: ignore[arg-type]
        memory.forget(speaker=SECRETS[1])
        assert memory.stats().pending == 0
        _assert_gone(tmp_path)


def test_a_dry_run_forgets_nothing(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        secret = memory.add(**SECRET_EVENT).event  # type: ignore[arg-type]
        receipt = memory.forget(speaker=SECRETS[1], dry_run=True)
        assert receipt.dry_run
        assert receipt.ids == (secret.id,)
        assert not receipt.scrubbed
        assert memory.get(secret.id) == secret
        assert memory.admin.verify().checked.get("receipts", 0) == 0


def test_a_scrub_that_fails_is_owed_and_settled_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(tmp_path / "memory.db", embedder="hashing") as memory:
        memory.add_many([{"text": f"Other {n}."} for n in range(20)])
        secret = memory.add(**SECRET_EVENT).event  # type: ignore[arg-type]
        with monkeypatch.context() as patched:

            def busy(_self: SqliteStore) -> None:
                raise StoreBusy

            patched.setattr(SqliteStore, "scrub", busy)
            with pytest.warns(EverywordNotice, match="settle"):
                receipt = memory.forget(ids=[secret.id])
            assert not receipt.scrubbed
            report = memory.admin.verify()
            assert [problem.where for problem in report.problems] == ["file"]
            assert "scrub" in report.problems[0].what
        assert memory.admin.settle() == 1
        assert memory.admin.verify().ok
        assert memory.admin.settle() == 0
        _assert_gone(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_process_that_dies_between_forgetting_and_scrubbing_owes_the_scrub(tmp_path: Path, start) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing") as memory:
        memory.add("Something that stays.")
        memory.add(**{**SECRET_EVENT, "session": "secret"})  # type: ignore[arg-type]
    child = start(FORGET_AND_DIE, path)
    child.communicate(timeout=60)
    assert child.returncode == -9
    with Memory.open(path, embedder="hashing") as memory:
        assert [event.text for event in memory.events()] == ["Something that stays."]
        assert not memory.admin.verify().ok
        assert memory.admin.settle() == 1
        assert memory.admin.verify().ok
        _assert_gone(tmp_path, (SECRETS[0], SECRETS[1], SECRETS[3], SECRETS[4]))
