"""Upkeep: receipts, the audit and the damage it must find, scrubbing, backups, sizes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from conformance.making import NOW, SPACE, START, add_model, draft, drafts, found, put, remove, unit_vectors
from everyword.errors import BadLocation
from everyword.storage.forgotten import Identity
from everyword.storage.nearest import unit_of
from everyword.storage.protocol import Store
from everyword.types.events import Receipt

_FIRST = "SELECT min(seq) FROM events"
DAMAGES = {
    "changed text": f"UPDATE events SET text = 'tampered common words here' WHERE seq = ({_FIRST})",
    "changed speaker": f"UPDATE events SET speaker = 'Eve' WHERE seq = ({_FIRST})",
    "changed time": f"UPDATE events SET at = at + 1 WHERE seq = ({_FIRST})",
    "lost event": f"DELETE FROM events WHERE seq = ({_FIRST})",
    "missing tail row": "DELETE FROM word_tail WHERE seq = (SELECT max(seq) FROM word_tail)",
    "missing posting": "DELETE FROM postings WHERE term = (SELECT min(term) FROM postings)",
    "missing vector": "DELETE FROM vectors WHERE unit = (SELECT min(unit) FROM vectors)",
    "missing pooled vector": "DELETE FROM pooled_tail WHERE position = (SELECT max(position) FROM pooled_tail)",
    "missing pooled block": "DELETE FROM pooled_blocks WHERE block = (SELECT min(block) FROM pooled_blocks)",
    "wrong event counter": "UPDATE spaces SET events = events + 1",
    "wrong word counter": "UPDATE spaces SET words = words - 1",
    "wrong tail counter": "UPDATE spaces SET word_tail = word_tail + 1",
    "missing job": "DELETE FROM jobs WHERE id = (SELECT min(id) FROM jobs)",
}


def do_damage(execute: Callable[..., Any], kind: str, *, mark: str, space: str) -> None:
    """Damage a store. mark: of a parameter; space: the column of `spaces` that other tables name a space by."""
    if kind == "stray vector":
        columns = "(unit, space, start, stop, windows, tokens)"
        row = f"SELECT {mark}, {space}, 0, 5, 1, {mark} FROM spaces WHERE name = 'home'"
        execute(f"INSERT INTO vectors {columns} {row}", (unit_of(1, 99_999, 0), b""))
    elif kind == "changed posting":
        term, first, chunk = execute("SELECT term, first, chunk FROM postings ORDER BY term LIMIT 1").fetchall()[0]
        changed = bytes([*chunk[:-1], chunk[-1] ^ 1])
        execute(f"UPDATE postings SET chunk = {mark} WHERE term = {mark} AND first = {mark}", (changed, term, first))
    else:
        execute(DAMAGES[kind])


class UpkeepConformance:
    """Holds a store to its promises about itself."""

    def _stocked(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """Fill sealed parts and tails, several windows, jobs, two spaces."""
        self.seal_at(monkeypatch, 16)
        random = np.random.default_rng(1)
        with store.writer(SPACE) as writer:
            model = add_model(writer)
        seqs: list[int] = []
        for start in range(0, 40, 10):
            made = [
                draft(f"word{n} common words here", speaker="Ana", vectors=unit_vectors(random, 1 + n % 2))
                for n in range(start, start + 10)
            ]
            seqs += put(store, made, model=model)
        seqs += put(store, [draft("this one waits for its vector")], model=model)
        seqs += put(store, [draft("this one is in the tail", vectors=unit_vectors(random))], model=model)
        put(store, drafts(["elsewhere"]), space="other", model=model)
        return seqs

    # Receipts

    def test_receipts_are_kept_by_space(self, store: Store) -> None:
        receipt = Receipt(at=START, space=SPACE, dry_run=False, ids=("ev_1", "ev_2"), removed={"events": 2})
        with store.writer(SPACE) as writer:
            writer.put_receipt(receipt, [3, 4])
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            ((_, kept),) = reader.receipts_after(0, limit=2)
            assert file.reader("other").receipts_after(0, limit=1) == []
        # Not the ids: a guess at what was said could be tested on them.
        assert (kept.at, kept.space, kept.ids, kept.removed) == (receipt.at, SPACE, (), {"events": 2})

    def test_forgotten_events_are_recognised_by_their_place_and_few_bits_of_their_id(self, store: Store) -> None:
        several = [draft(f"line {number}", session="s", speaker="Ana", key=f"k{number}") for number in range(256)]
        gone = several[0]
        at = gone.moment[0]
        with store.writer(SPACE) as writer:
            writer.put_forgotten([replace(gone.event, space=SPACE)])
        same = [Identity("s", "Ana", at, one.raw_id) for one in several]
        undated = [Identity("s", "Ana", None, one.raw_id) for one in several]
        elsewhere = [Identity("s", "Bo", at, gone.raw_id), Identity("s", "Ana", at + 1, gone.raw_id)]
        with store.file_reader() as file:
            reader = file.reader(SPACE)
            for identities in (same, undated):
                found = reader.forgotten(identities)
                assert identities[0] in found
                assert len(found) < 256 / 8  # about one in 64
            assert reader.forgotten(elsewhere) == set()
            assert file.reader("other").forgotten(same) == set()

    def test_the_audit_finds_what_a_receipt_says_is_gone(self, store: Store) -> None:
        one = draft("still here")
        put(store, [one])
        receipt = Receipt(at=START + timedelta(hours=1), space=SPACE, dry_run=False)
        with store.reader(SPACE) as reader:
            seq = reader.find([one.raw_id])[one.raw_id].seq
        with store.writer(SPACE) as writer:
            writer.put_receipt(receipt, [seq])
        (problem,) = store.audit().problems
        assert one.event.id in problem.where
        remove(store, [seq])
        assert store.audit().problems == ()
        with store.writer(SPACE) as writer:  # said again later: that is not the old one come back
            writer.append([one], None, now=NOW + 7_200_000_000, queue=True)
        assert store.audit().problems == ()

    # The audit

    @pytest.mark.parametrize("deep", [True, False])
    def test_the_audit_of_a_sound_store_is_clean_and_says_what_it_checked(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, deep: bool
    ) -> None:
        assert store.audit(deep=deep).problems == ()
        self._stocked(store, monkeypatch)
        audit = store.audit(deep=deep)
        assert audit.problems == ()
        assert audit.checked["events"] == 43
        assert audit.checked["spaces"] == 2
        assert audit.checked["windows"] == 61

    @pytest.mark.parametrize("damage", [*DAMAGES, "changed posting", "stray vector"])
    def test_the_audit_finds_damage(self, store: Store, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
        self._stocked(store, monkeypatch)
        assert store.audit().problems == ()
        self.damage(store, damage)
        problems = store.audit().problems
        assert problems, damage
        for problem in problems:
            assert problem.where
            assert problem.what
            assert problem.fix

    # Removing everything of an event

    def test_removal_takes_everything_and_says_what(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        seqs = self._stocked(store, monkeypatch)
        outcome = remove(store, seqs)
        assert outcome["events"] == 42
        assert outcome["windows"] == 61
        with store.reader(SPACE) as reader:
            tally = reader.tally()
            assert (tally.events, tally.vectors, tally.pending) == (0, 0, 0)
            assert found(reader, "common words") == []
            assert len(found(reader.file.reader("other"), "elsewhere")) == 1
            assert reader.file.total_events() == 1
        assert store.audit().problems == ()

    def test_scrubbing_changes_nothing_that_can_be_seen(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        seqs = self._stocked(store, monkeypatch)
        remove(store, seqs[::2])
        with store.reader(SPACE) as reader:
            before = reader.log(limit=99), found(reader, "common words")
        store.scrub()
        store.scrub()
        with store.reader(SPACE) as reader:
            assert (reader.log(limit=99), found(reader, "common words")) == before
        assert store.audit().problems == ()
        (seq,) = put(store, [draft("and it still writes")])
        assert seq > max(seqs)

    # Backups and sizes

    def test_a_backup_is_a_store_of_its_own(self, store: Store, tmp_path: Path, monkeypatch) -> None:
        self._stocked(store, monkeypatch)
        target = tmp_path / "copy" / "backup.db"
        target.parent.mkdir()
        store.backup(str(target))
        assert [path.name for path in target.parent.iterdir()] == ["backup.db"]
        put(store, [draft("after the backup")])
        copy = self.open_backup(target)
        try:
            with copy.reader(SPACE) as reader, store.reader(SPACE) as original:
                assert reader.log(limit=99) == original.log(limit=42)
                assert found(reader, "backup") == []
                assert found(reader, "word7") == found(original, "word7")
            assert copy.audit().problems == ()
            put(copy, [draft("a copy lives on")])
        finally:
            copy.close()

    def test_a_backup_never_overwrites(self, store: Store, tmp_path: Path) -> None:
        target = tmp_path / "taken"
        target.write_text("mine")
        with pytest.raises(BadLocation):
            store.backup(str(target))
        with pytest.raises(BadLocation):
            store.backup(str(tmp_path / "no" / "such" / "folder"))
        assert target.read_text() == "mine"

    def test_size_and_schema_are_told(self, store: Store) -> None:
        put(store, drafts([f"event {n}" for n in range(50)]))
        total, parts = store.size()
        assert total > 0
        assert parts == {}
        total, parts = store.size(by_part=True)
        assert sum(parts.values()) > 0
        assert store.schema() >= 1
        assert store.location
        assert store.read_only is False
