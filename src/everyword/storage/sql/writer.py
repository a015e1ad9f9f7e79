"""The shared writer: one transaction changes the log, its indexes and its jobs together."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from everyword.storage.forgotten import SALT, hashed_path, tags_of
from everyword.storage.nearest import seqs_of, unit_bounds, unit_of
from everyword.storage.postings import SEAL_AT, Seqs, Tail, Terms, chunks_of, flatten, without
from everyword.storage.rows import EMBED, Access, Draft, FileRead, Job, Known, Model, Rebuild, UnitVector
from everyword.storage.sql.concepts import ConceptChanges
from everyword.storage.sql.graph import GraphChanges
from everyword.storage.sql.reader import FileReader, Reader, event_values, indexed_meta, receipt_to_json
from everyword.storage.sql.snapshot import Space, array, grouped
from everyword.storage.sql.statements import StatementChanges
from everyword.text.terms import ANALYSIS_VERSION, searchable_terms, well_formed
from everyword.types.events import Event, Receipt
from everyword.types.service import ApiKey, Webhook
from everyword.types.times import from_micros, optional_micros, to_micros
from everyword.types.trust import source_of

_TERMS_AT_ONCE = 500  # whose chunks are read together when events are taken out of them


# What goes with an event: what was derived from it, what an LLM read in it, and what rests on its words.
_DERIVED_OF = (
    *("delete_changes_of", "delete_statements_of", "delete_tags_of"),
    *("delete_readings_of", "delete_model_readings_of", "delete_sources_of", "delete_sources_from"),
    *("delete_claims_of", "delete_mentions_of", "delete_accesses_of", "delete_jobs_of"),
)


class Writer(Reader, StatementChanges, GraphChanges, ConceptChanges):
    """Writes to one space within one transaction."""

    def __init__(self, file: FileWriter, space: str) -> None:
        super().__init__(file, space)
        self._file_to_write = file
        self._appended: dict[bytes, Known] = {}  # in this transaction, by raw id

    @property
    def file(self) -> FileWriter:
        """Give the writer of what belongs to no space, in the same transaction."""
        return self._file_to_write

    def put_accesses(self, found: Mapping[int, Access]) -> None:
        """Add to the counts of events that are still there."""
        if found:
            several = json.dumps([(seq, one.times, one.last_at) for seq, one in found.items()])
            self._change("count_access", several)

    def append(self, drafts: Sequence[Draft], model: Model | None, *, now: int, queue: bool) -> list[Event]:
        """Add events with their index entries; `queue` leaves a job for each that has no vectors of `model` yet."""
        if not drafts:
            return []
        into = self.sql.space_to_write(self.space)
        rows = self._insert_events(into, drafts, model, now=now, queue=queue)
        if (into := self.sql.space_to_write(self.space)).word_tail >= SEAL_AT:
            self._seal_words(into)
        stored = [_stored(draft, self.space, learned) for draft, (_, learned) in zip(drafts, rows, strict=True)]
        for draft, (seq, _), event in zip(drafts, rows, stored, strict=True):
            self._appended[draft.raw_id] = Known(seq, event)
        return stored

    def find(self, raw_ids: Sequence[bytes]) -> dict[bytes, Known]:
        """Look events up by their raw ids; those that were appended just now are known without asking."""
        appended = {raw_id: self._appended[raw_id] for raw_id in raw_ids if raw_id in self._appended}
        return appended | super().find([raw_id for raw_id in raw_ids if raw_id not in appended])

    def put_vectors(self, model: Model, vectors: Mapping[int, Sequence[UnitVector]]) -> None:
        """Add the vectors of events that are in the log, and settle their jobs."""
        into = self.sql.space_to_write(self.space)
        there = {int(seq) for seq in self.fetch(list(vectors))}
        done = set(seqs_of(self._units_of(into, model.id, list(vectors))).tolist())
        missing = {seq: units for seq, units in vectors.items() if seq in there - done}
        self._insert_vectors(into, model, missing, *self.sql.rows("last_positions", (into.id, model.id))[0])
        if model.state == "active":
            self.sql.run("settle_jobs", (EMBED, array(sorted(there)), into.id))

    def remove(self, seqs: Seqs) -> dict[str, int]:
        """Take events out of the log, and everything derived from them; count what went."""
        row = self.row
        if row is None or not len(seqs):
            return {}
        events = self.fetch(seqs.tolist())
        gone = np.array(sorted(events), dtype=np.int64)
        said = {seq: event for seq, event in events.items() if event.record is None}
        removed = {"words": self._remove_words(row, said), "windows": self._remove_vectors(row, gone)}
        changed = {name: self._change(name, gone) for name in _DERIVED_OF}
        removed["statements"] = changed["delete_statements_of"]
        members = ((seq, *one) for seq, event in said.items() for one in indexed_meta(event.meta))
        self._change_each("delete_meta", ((seq, name, value) for seq, name, value, _ in members))
        self._change("delete_events", gone)
        self._change("next_epoch")
        self._appended.clear()
        return {"events": len(said), **removed, **({"records": len(gone) - len(said)} if len(said) < len(gone) else {})}

    def memo(self) -> dict[str, object]:
        """Give what this process remembers of a space between transactions; it is emptied when one fails."""
        return self.sql.memos.memo(self.into)

    def put_receipt(self, receipt: Receipt, seqs: Collection[int]) -> None:
        """Keep a receipt: its counts and the numbers of the events that went, not their ids."""
        upto = self.sql.one("last_seq") or 0
        self._change("insert_receipt", to_micros(receipt.at)[0], upto, receipt_to_json(receipt, seqs))

    # Rebuilding the words beside those in use

    def restart_words(self) -> Rebuild:
        """Begin a new generation of postings beside the one in use."""
        into = self.sql.space_to_write(self.space)
        return Rebuild(self.sql.one("take_generation", (into.id,)), into.epoch)

    def index_words(self, rebuild: Rebuild, rows: Sequence[tuple[int, Terms]]) -> None:
        """Add events to a generation that is not in use yet."""
        into = self.sql.space_to_write(self.space)
        flat = flatten([(seq, terms.length, terms.packed) for seq, terms in rows])
        self._insert_chunks(into, rebuild.generation, flat)

    def adopt_words(self, rebuild: Rebuild, tail: Sequence[tuple[int, Terms]], *, upto: int, words: int) -> bool:
        """Search the new generation from now on: it holds events up to `upto`, `tail` those after it.

        False, and nothing done, when events were removed since it began: `words` would be off.
        """
        into = self.sql.space_to_write(self.space)
        if into.epoch != rebuild.epoch:
            return False
        self.sql.run("clear_word_tail", (into.id,))
        self._change_each("insert_word_tail", ((seq, terms.length, terms.packed) for seq, terms in tail))
        self.sql.run("adopt_generation", (rebuild.generation, upto, len(tail), words, into.id, ANALYSIS_VERSION))
        self.sql.run("next_epoch", (into.id,))
        return True

    def renew_meta(self) -> None:
        """Index the meta of all events again."""
        members = list(self.meta_of_log())
        self._change("clear_meta")
        self._change_each("insert_meta", members)

    def drop_postings(self, *, limit: int) -> int:
        """Remove some chunks of generations that are out of use; 0 when none is left."""
        return self._change("drop_older_generations", limit)

    # Jobs and facts of the file

    def note_failure(self, kind: str, seqs: Sequence[int], *, error: str) -> None:
        """Keep why what these events owe could not be done at once; it is due as before."""
        self.sql.run("note_failure", (well_formed(error), kind, array(seqs), self.into))

    # Import positions and tags of forgotten events

    def put_files_read(self, files: Sequence[FileRead]) -> None:
        """Note how far files were read; what was noted of them before is replaced."""
        if not files:
            return
        salt = self._salt_to_write()
        for one in files:
            position, state = json.dumps(dict(one.position)), (one.bytes, one.modified, one.hash)
            path = hashed_path(salt, self.space, one.path)
            self._change("put_file_read", path, one.reading, *state, position, one.events, one.whole)

    def put_forgotten(self, events: Collection[Event]) -> None:
        """Keep what is needed to recognise forgotten events, and drop the hashes of files that may have held them."""
        tags = sorted(tags_of(self._salt_to_write(), self.space, events))
        self._change_each("insert_forgotten_tag", ((tag,) for tag in tags))
        # The hash of a whole file is a hash of each of its lines to whoever knows the others.
        self._change("clear_file_hashes")

    def _salt_to_write(self) -> bytes:
        # Another space's writer may be making it at the same moment: the first one stands.
        kept = self._salt()
        if kept is None:
            self.sql.run("add_fact", (SALT, secrets.token_hex(16)))
            kept = self._salt()
        assert kept is not None
        return kept

    # Inside

    def _insert_events(
        self, space: Space, drafts: Sequence[Draft], model: Model | None, *, now: int, queue: bool
    ) -> list[tuple[int, int]]:
        """Add events, their terms, vectors and jobs, and count them; give the seq of each and when it was learned."""
        last_seq, last_learned, *positions = self.sql.rows("append_after", (space.id, model.id if model else 0))[0]
        # Time as the memory learns it never runs backwards, also when the machine's clock does.
        now = max(now, last_learned or now)
        learned = [now if draft.recorded_at is None else min(draft.recorded_at, now) for draft in drafts]
        numbered = list(enumerate(drafts, last_seq + 1))
        self.sql.run_many(
            "insert_event",
            (
                (seq, *event_values(space.id, draft, at, self.sql.storable(draft.event.text)))
                for (seq, draft), at in zip(numbered, learned, strict=True)
            ),
        )
        said = [(seq, draft) for seq, draft in numbered if draft.event.record is None]  # records are not searched
        self.sql.run_many(
            "insert_meta", ((space.id, seq, *one) for seq, draft in said for one in indexed_meta(draft.event.meta))
        )
        self.sql.run_many(
            "insert_word_tail", ((space.id, seq, draft.terms.length, draft.terms.packed) for seq, draft in said)
        )
        words = sum(draft.terms.length for _, draft in said)
        self.sql.run("count_space", (len(said), words, len(said), numbered[-1][0], space.id))
        self.sql.keep_space(self.space, space.grown(len(said), words, numbered[-1][0]))
        vectors = {seq: draft.vectors for seq, draft in said if model is not None and draft.vectors is not None}
        if model is not None:
            self._insert_vectors(space, model, vectors, *positions)
        if queue:
            self.sql.run_many("insert_job", ((space.id, EMBED, seq) for seq, _ in said if seq not in vectors))
        return [(seq, at) for (seq, _), at in zip(numbered, learned, strict=True)]

    def _seal_words(self, space: Space) -> None:
        rows = self.sql.rows("word_tail_after", (space.id, 0))
        self._insert_chunks(space, space.generation, flatten(rows))
        self.sql.run("clear_word_tail", (space.id,))
        self.sql.run("set_words_upto", (rows[-1][0], 0, space.id))

    def _insert_chunks(self, space: Space, generation: int, tail: Tail) -> None:
        self.sql.run_many("insert_postings", ((space.id, generation, *chunk) for chunk in chunks_of(tail)))

    def _insert_vectors(
        self, space: Space, model: Model, vectors: Mapping[int, Sequence[UnitVector]], in_tail: int, in_blocks: int
    ) -> None:
        """Add vectors after the last positions that the tail and the blocks hold."""
        if not vectors:
            return
        last = max(in_tail, in_blocks)
        rows = [
            (unit_of(model.id, seq, window), len(units), vector)
            for seq, units in vectors.items()
            for window, vector in enumerate(units)
        ]
        self.sql.run_many(
            "insert_vector", ((unit, space.id, *vector.span, count, vector.tokens) for unit, count, vector in rows)
        )
        self.sql.run_many(
            "insert_pooled",
            (
                (space.id, model.id, position, unit, vector.pooled.tobytes())
                for position, (unit, _, vector) in enumerate(rows, last + 1)
            ),
        )
        if last + len(rows) - in_blocks >= SEAL_AT:
            self._seal_pooled(space, model)

    def _seal_pooled(self, space: Space, model: Model) -> None:
        rows = self.sql.rows("pooled_tail_after", (space.id, model.id, 0))
        positions = np.array([row[0] for row in rows], np.int64)
        units = np.array([row[1] for row in rows], np.int64)
        pooled = b"".join(row[2] for row in rows)
        last = int(positions[-1])
        self.sql.run("insert_block", (space.id, model.id, last, positions.tobytes(), units.tobytes(), pooled))
        self.sql.run("clear_pooled_tail", (space.id, model.id, last))

    def _units_of(self, space: Space, model: int, seqs: Sequence[int]) -> NDArray[np.int64]:
        """List the windows of some events that have vectors."""
        firsts = array([unit_of(model, seq, 0) for seq in seqs])
        counted = self.sql.rows("windows_of_units", (firsts, space.id))
        return array([unit + window for unit, count in counted for window in range(count)])

    def _remove_words(self, space: Space, events: Mapping[int, Event]) -> int:
        by_term: dict[int, list[int]] = {}
        words = 0
        for seq, event in events.items():  # the counts of all of them at once would take much memory
            counts = searchable_terms(event)
            words += counts.total()
            for term in counts:
                by_term.setdefault(term, []).append(seq)
        gone = array(list(events))
        in_tail = self.sql.run("delete_word_tail", (space.id, gone))
        self.sql.run("count_space", (-len(events), -words, -in_tail, 0, space.id))
        lowest, highest = self.sql.rows("generations", (space.id,))[0]
        if lowest is not None:
            for generation in range(lowest, highest + 1):
                self._trim_postings(space, generation, by_term)
        return words

    def _trim_postings(self, space: Space, generation: int, by_term: Mapping[int, list[int]]) -> None:
        terms = list(by_term)
        for start in range(0, len(terms), _TERMS_AT_ONCE):
            some = {term: np.array(sorted(by_term[term]), np.int64) for term in terms[start : start + _TERMS_AT_ONCE]}
            holding = self._chunks_holding(space, generation, some)
            old: list[tuple[int, int]] = []
            new: list[tuple[int, int, bytes]] = []
            keys = (array([term for term, _ in holding]), array([first for _, first in holding]))
            for term, first, chunk in self.sql.rows("postings_by_key", (space.id, generation, *keys)):
                if (term, first) not in holding:
                    continue
                kept = without(first, chunk, some[term])
                if kept == (first, chunk):
                    continue
                old.append((term, first))
                if kept is not None:
                    new.append((term, *kept))
            self.sql.run_many("delete_chunk", ((space.id, generation, *chunk) for chunk in old))
            self.sql.run_many("insert_postings", ((space.id, generation, *chunk) for chunk in new))

    def _chunks_holding(self, space: Space, generation: int, seqs: Mapping[int, Seqs]) -> set[tuple[int, int]]:
        """Find the chunks that can hold events: each holds its term from its first seq up to the next chunk's."""
        rows = self.sql.rows("chunks_of_terms", (space.id, generation, array(list(seqs))))
        firsts = grouped((term, first) for term, first in rows)
        return {
            (term, several[place])
            for term, several in firsts.items()
            for place in np.unique(np.searchsorted(several, seqs[term], side="right") - 1).tolist()
            if place >= 0
        }

    def _remove_vectors(self, space: Space, gone: Seqs) -> int:
        windows = 0
        for model in self._file.models():
            units = self._units_of(space, model.id, gone.tolist())
            windows += self.sql.run("delete_units", (units, space.id)) if len(units) else 0
        tail = np.array([row[0] for row in self.sql.rows("pooled_tail_units", (space.id,))], np.int64)
        self.sql.run("delete_pooled_units", (space.id, array(tail[np.isin(seqs_of(tail), gone)])))
        for block, _, positions, units, pooled in self.sql.rows("blocks_of_space", (space.id,)):
            held = np.frombuffer(units, np.int64)
            keep = ~np.isin(seqs_of(held), gone)
            if keep.all():
                continue
            if not keep.any():
                self.sql.run("delete_block", (block, space.id))
                continue
            rows = np.frombuffer(pooled, np.int8).reshape(len(held), -1)[keep]
            at = np.frombuffer(positions, np.int64)[keep]
            self.sql.run("update_block", (at.tobytes(), held[keep].tobytes(), rows.tobytes(), block, space.id))
        return windows


class FileWriter(FileReader):
    """Writes what belongs to no space, and gives writers of spaces in the same transaction."""

    def put_key(self, key: ApiKey, hash: bytes) -> None:
        spaces = json.dumps(key.spaces, ensure_ascii=False)
        times = (optional_micros(key.created_at), optional_micros(key.expires_at))
        self.sql.run("insert_key", (key.id, hash, key.name, key.permission.value, spaces, *times))

    def revoke_key(self, id: str, *, at: int) -> bool:
        """End a key; False where there is none, or it has ended."""
        return self.sql.run("revoke_key", (at, id)) > 0

    def put_webhook(self, webhook: Webhook, secret: str) -> None:
        kinds, created = json.dumps(webhook.kinds), optional_micros(webhook.created_at)
        values = (webhook.id, webhook.space, webhook.url, secret, kinds, created, webhook.position)
        self.sql.run("insert_webhook", values)

    def move_webhook(self, webhook: Webhook, position: str, *, delivered: int) -> bool:
        """Note that everything up to a position was delivered; False where another process did."""
        return self.sql.run("move_webhook", (position, delivered, webhook.id, webhook.position)) > 0

    def fail_webhook(self, webhook: Webhook, *, error: str, due_at: int) -> None:
        """Note that a delivery failed, and when to try again."""
        self.sql.run("fail_webhook", (due_at, well_formed(error), webhook.id, webhook.position))

    def delete_webhook(self, id: str) -> bool:
        """Remove a webhook; False where there is none."""
        return self.sql.run("delete_webhook", (id,)) > 0

    def add_model(
        self, *, name: str, version: str, dims: int, token_dims: int, state: Literal["active", "building"]
    ) -> Model:
        if state == "building":  # one at a time: what an interrupted rebuild had begun is dropped
            self.sql.run("retire_building", ())
        return Model(*self.sql.rows("add_model", (name, version, dims, token_dims, state))[0])

    def activate(self, model: Model) -> None:
        """Search with this model from now on; the one before it is retired, its missing events become jobs."""
        self.sql.run("retire_active", (model.id,))
        self.sql.run("activate_model", (model.id,))
        self.sql.run("queue_events_without_vectors", (EMBED, unit_of(model.id, 0, 0)))

    def drop_vectors(self, model: Model, *, limit: int) -> int:
        """Remove some vectors of a retired model; 0 when none is left and the model is gone."""
        self.sql.run("delete_model_tail", (model.id,))
        self.sql.run("delete_model_blocks", (model.id,))
        dropped = self.sql.run("delete_some_vectors", (*unit_bounds(model.id), limit))
        if dropped == 0:
            self.sql.run("delete_model", (model.id,))
        return dropped

    def fail_job(self, job: Job, *, error: str, due_at: int) -> None:
        """Put a job back for later, with the reason."""
        self.sql.run("fail_job", (well_formed(error), due_at, job.id, self.sql.space_to_write(job.space).id))

    def drop_job(self, job: Job) -> None:
        """Remove a job that has nothing to do any more."""
        self.sql.run("delete_job", (job.id, self.sql.space_to_write(job.space).id))

    def set_fact(self, name: str, value: str) -> None:
        self.sql.run("set_fact", (name, value))

    def take_jobs(self, kind: str, *, now: int, until: int, limit: int) -> list[Job]:
        """Take work that is due, so that nobody else does before `until`."""
        return [Job(*row) for row in self.sql.rows("take_jobs", (until, kind, now, limit))]

    def finish_jobs(self, jobs: Sequence[Job]) -> list[Job]:
        """Remove jobs that are done; give those that were still there."""
        gone = {row[0] for row in self.sql.rows("finish_jobs", (array([job.id for job in jobs]),))}
        return [job for job in jobs if job.id in gone]

    def writer(self, space: str) -> Writer:
        return Writer(self, space)

    def reader(self, space: str) -> Reader:
        """Read a space in this transaction, with what it has written."""
        return self.writer(space)


def _stored(draft: Draft, space: str, recorded_at: int) -> Event:
    return replace(draft.event, space=space, recorded_at=from_micros(recorded_at), source=source_of(draft.event))
