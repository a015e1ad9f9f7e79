"""After forgetting, what a memory still holds does not tell what was said, nor confirm a guess at it."""

from __future__ import annotations

import base64
import hashlib
import re
import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from everyword import Memory
from everyword.storage.forgotten import ID_BITS, Identity, hashed_path, tag_of
from everyword.types.events import content_hash, identity_of
from everyword.types.times import to_micros

AT = datetime(2026, 3, 1, 10, tzinfo=UTC)
PIN = "7391"
PINS = [f"{number:04}" for number in range(10_000)]


def _everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())


def _forms(digest: bytes) -> tuple[bytes, ...]:
    """Give a hash in the forms in which a file may hold it, short ones too: 64 bits single a PIN out."""
    return digest[:8], digest[:8].hex().encode(), base64.b64encode(digest)[:10]


def _sentence(pin: str) -> str:
    return f"My PIN is {pin}."


def _singled_out(raw: bytes, hashes_of) -> list[str]:
    """Try all PINs: which have a hash that is in the file?"""
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(raw, np.uint8), 8)
    there = set(np.unique(np.ascontiguousarray(windows).view(np.uint64)).tolist())
    return [
        pin
        for pin in PINS
        if any(
            int.from_bytes(form[:8], sys.byteorder) in there and form in raw
            for digest in hashes_of(pin)
            for form in _forms(digest)
        )
    ]


@pytest.mark.parametrize("key", [None, "bank"])
def test_no_hash_of_what_was_said_is_left_to_try_guesses_on(tmp_path: Path, key: str | None) -> None:
    def hashes_of(pin: str) -> list[bytes]:
        content = content_hash(_sentence(pin), "s", "Ana", to_micros(AT)[0])
        text = _sentence(pin).encode()
        plain = [hashlib.new(name, text).digest() for name in ("md5", "sha1", "sha256", "blake2b")]
        return [content, identity_of(None, content), *plain]

    with Memory.open(tmp_path / "memory.db", embedder="hashing", redact="none") as memory:
        memory.add("Something that stays.", at=AT)
        memory.add(_sentence(PIN), session="s", speaker="Ana", at=AT, key=key)
        assert _singled_out(_everything(tmp_path), hashes_of) == [PIN]  # the attack works while it is there
        assert memory.forget(session="s").scrubbed
        assert _singled_out(_everything(tmp_path), hashes_of) == []
        assert memory.admin.verify().ok
    assert _singled_out(_everything(tmp_path), hashes_of) == []


def test_who_knows_all_but_the_pin_and_holds_the_file_is_left_with_many_pins(tmp_path: Path) -> None:
    """The strongest attack: our own check, with the salt from the file and session, speaker and time known."""
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder="hashing", redact="none") as memory:
        memory.add(_sentence(PIN), session="s", speaker="Ana", at=AT)
        memory.forget(session="s")
    with sqlite3.connect(path) as raw:
        (salt,) = raw.execute("SELECT value FROM facts_of_file WHERE name = 'salt'").fetchone()
        tags = {tag for (tag,) in raw.execute("SELECT tag FROM forgotten")}
        kept = " ".join(receipt for (receipt,) in raw.execute("SELECT receipt FROM receipts"))
    assert len(tags) == 1
    assert "ev_" not in kept
    assert "hashes" not in kept
    at = to_micros(AT)[0]

    def is_candidate(pin: str) -> bool:
        raw_id = identity_of(None, content_hash(_sentence(pin), "s", "Ana", at))
        return tag_of(bytes.fromhex(salt), "default", Identity("s", "Ana", at, raw_id)) in tags

    candidates = [pin for pin in PINS if is_candidate(pin)]
    assert PIN in candidates
    assert len(candidates) > len(PINS) / 2**ID_BITS / 2  # 156 are to be expected; the file prefers none of them


def _transcript(pin: str = PIN) -> str:
    return f"Ana: {_sentence(pin)}\nBo: I see.\nAna: Good.\nBo: Bye then.\n"


def test_neither_the_path_nor_the_hash_of_an_imported_file_is_left(tmp_path: Path) -> None:
    store, source = tmp_path / "store", tmp_path / "Divorce of Ana Xylophone" / "pin.txt"
    store.mkdir()
    source.parent.mkdir()
    source.write_text(_transcript())
    with Memory.open(store / "memory.db", embedder="hashing") as memory:
        memory.import_events(source, format="transcript")
        memory.add("Something that stays.")
        memory.forget(session="pin")

        def hashes_of(pin: str) -> list[bytes]:
            return [hashlib.sha256(_transcript(pin).encode()).digest()]

        raw = _everything(store)
        assert b"Xylophone" not in raw
        assert _singled_out(raw, hashes_of) == []
        # Nor does reading the file again bring the hash, or anything else, back.
        source.write_text(_transcript() + "Ana: One more thing.\n")
        done = memory.import_events(source, format="transcript")
        assert done.skipped["it was forgotten"] >= 4
        raw = _everything(store)
        assert hashlib.sha256(source.read_bytes()).digest() not in raw
        assert _sentence(PIN).encode() not in raw
        again = memory.import_events(source, format="transcript")
        assert (again.unchanged, again.added) in {(1, 0), (0, 0)}  # a file written just now is looked at again
        assert memory.import_events(source, format="transcript", again=True).added >= 4


def test_a_hashed_path_differs_in_each_memory_and_space(tmp_path: Path) -> None:
    source = tmp_path / "talk.txt"
    source.write_text(_transcript())
    kept: set[str] = set()
    for name in ("one", "two"):
        with Memory.open(tmp_path / f"{name}.db", embedder="hashing") as memory:
            for space in ("a", "b"):
                memory.space(space).import_events(source, format="transcript")
        with sqlite3.connect(tmp_path / f"{name}.db") as raw:
            kept |= {path for (path,) in raw.execute("SELECT path FROM imports")}
    assert len(kept) == 4
    assert all(re.fullmatch("[0-9a-f]{32}", path) for path in kept)
    assert hashed_path(b"salt" * 4, "a", str(source)) not in kept


def test_a_scrub_that_another_forgetting_overtook_is_still_owed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from everyword.storage.sqlite import SqliteStore

    real = SqliteStore.scrub
    with (
        Memory.open(tmp_path / "memory.db", embedder="hashing") as memory,
        Memory.open(tmp_path / "memory.db", embedder="hashing") as other,
    ):
        first, second = (memory.add(f"number {number}").event for number in range(2))
        calls: list[bool] = []

        def overtaken(store: SqliteStore) -> tuple[str, ...]:
            left = real(store)
            if not calls:
                calls.append(True)
                assert other.forget(ids=[second.id]).scrubbed
            calls.append(True)
            return left

        monkeypatch.setattr(SqliteStore, "scrub", overtaken)
        assert memory.forget(ids=[first.id]).scrubbed
        assert len(calls) == 3  # the second one did its own
        assert memory.admin.verify().ok
