"""The shared reader: the log, filters, search by words and vectors, imports, counts."""

from __future__ import annotations

import json
import secrets
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from everyword.storage.forgotten import SALT, Identity, hashed_path, tag_of, tags_of
from everyword.storage.nearest import seq_of, unit_bounds, unit_of
from everyword.storage.postings import Bm25, Postings, Ranking, Seqs, unpack
from everyword.storage.rows import (
    ANALYSIS,
    NOT_OWED,
    SCRUB_OWED,
    Cursor,
    Extent,
    FileRead,
    Job,
    Known,
    Model,
    Outline,
    PassageRow,
    Tally,
)
from everyword.storage.sql.attention import AttentionRows
from everyword.storage.sql.caches import Caches
from everyword.storage.sql.concepts import FoldingRows, WrittenRows
from everyword.storage.sql.graph import GraphRows
from everyword.storage.sql.row_mapping import conditions, event_of, names, receipt_from_json
from everyword.storage.sql.service import ServiceRows
from everyword.storage.sql.snapshot import Row, Snapshot, array, words
from everyword.text.terms import ANALYSIS_VERSION
from everyword.types.events import Event, Filter, Receipt, Session, Span
from everyword.types.times import from_micros


class ActivityRows(Snapshot):
    """Counts of events over time."""

    def extent(self, space: str, which: Filter) -> Extent:
        """Count the events that a filter lets through, and tell from when to when they are."""
        found = self.space(space)
        if found is None:
            return Extent(0, None, None)
        where, values = conditions(which, self.query)
        return Extent(*self.rows("extent", {**values, "space": found.id}, where)[0])

    def counted(self, space: str, which: Filter, *, begin: int, width: int) -> dict[int, int]:
        """Count events by which part of time they are in: the first begins at `begin`, each is `width` µs long."""
        found = self.space(space)
        if found is None:
            return {}
        where, values = conditions(which, self.query)
        given = {**values, "space": found.id, "begin": begin, "width": width}
        return {int(part): int(count) for part, count in self.rows("counted", given, where)}

    def speakers(self, space: str, *, wing: str | None = None, limit: int) -> list[str]:
        """List who spoke, sorted."""
        if wing is not None:
            found = self.space(space)
            return [row[0] for row in self.rows("speakers_of_wing", (found.id, wing, limit))] if found else []
        return self._names("speakers", space, limit)

    def wings(self, space: str, *, limit: int) -> list[str]:
        """List the wings, sorted."""
        return self._names("wings", space, limit)

    def _names(self, query: str, space: str, limit: int) -> list[str]:
        found = self.space(space)
        rows = self.rows(query, {"space": found.id, "limit": limit}) if found else []
        return [row[0] for row in rows if row[0] is not None]


class ImportRows(Snapshot):
    """Reads import positions and tags of forgotten events."""

    def files_read(self, space: str, paths: Sequence[str]) -> dict[str, FileRead]:
        """Look up how far some files were read, by path."""
        found, salt = self.space(space), self._salt()
        if found is None or salt is None or not paths:
            return {}
        by_hash = {hashed_path(salt, space, path): path for path in paths}
        return {
            by_hash[row[0]]: FileRead(
                path=by_hash[row[0]],
                reading=row[1],
                bytes=row[2],
                modified=row[3],
                hash=row[4],
                position=json.loads(row[5]),
                events=row[6],
                whole=bool(row[7]),
            )
            for row in self.rows("files_read", (found.id, words(list(by_hash))))
        }

    def forgotten(self, space: str, identities: Collection[Identity]) -> set[Identity]:
        """Tell which of these were forgotten; of others at the same place, one in 64 is taken for forgotten too."""
        found, salt = self.space(space), self._salt()
        if found is None or salt is None or not identities:
            return set()
        tags = {identity: tag_of(salt, space, identity) for identity in identities}
        there = {row[0] for row in self.rows("forgotten_tags", (found.id, array(sorted(set(tags.values())))))}
        return {identity for identity, tag in tags.items() if tag in there}

    def _salt(self) -> bytes | None:
        kept = self.one("get_fact", (SALT,))
        return None if kept is None else bytes.fromhex(kept)


class ImportChanges(ImportRows):
    """Writes import positions and tags of forgotten events."""

    def put_files_read(self, space: str, files: Sequence[FileRead]) -> None:
        """Note how far files were read; what was noted of them before is replaced."""
        if not files:
            return
        into, salt = self.space_to_write(space), self._salt_to_write()
        self.run_many(
            "put_file_read",
            (
                (
                    into.id,
                    hashed_path(salt, space, one.path),
                    one.reading,
                    one.bytes,
                    one.modified,
                    one.hash,
                    json.dumps(dict(one.position)),
                    one.events,
                    one.whole,
                )
                for one in files
            ),
        )

    def put_forgotten(self, space: str, events: Collection[Event]) -> None:
        """Keep what is needed to recognise forgotten events, and drop the hashes of files that may have held them."""
        into, salt = self.space_to_write(space), self._salt_to_write()
        self.run_many("insert_forgotten_tag", ((into.id, tag) for tag in sorted(tags_of(salt, space, events))))
        # The hash of a whole file is a hash of each of its lines to whoever knows the others.
        self.run("clear_file_hashes", (into.id,))

    def _salt_to_write(self) -> bytes:
        # Another space's writer may be making it at the same moment: the first one stands.
        kept = self._salt()
        if kept is None:
            self.run("add_fact", (SALT, secrets.token_hex(16)))
            kept = self._salt()
        assert kept is not None
        return kept


_BEFORE_ALL = Cursor(-(1 << 62), 0)
_AFTER_ALL = Cursor(1 << 62, 0)


class Reader(ActivityRows, AttentionRows, GraphRows, FoldingRows, ImportRows, ServiceRows, WrittenRows):
    """Reads within one transaction of one connection."""

    _caches: Caches
    scrubs_itself = True  # whether forgetting scrubs at once, so that a scrub still owed is a problem

    @abstractmethod
    def own_problems(self, *, deep: bool) -> Iterator[str]:
        """Let the database check itself, as far as it can."""

    @abstractmethod
    def changed_tables(self) -> Iterator[tuple[str, str]]:
        """Find tables whose rows are not those that were written, each with what is wrong, where that can be told."""

    @abstractmethod
    def own_parts(self) -> dict[str, int]:
        """Count what the database itself is made of."""

    # The log

    def spaces(self) -> list[str]:
        """List the spaces that hold or held events."""
        return [str(row[0]) for row in self.rows("space_names")]

    def find(self, space: str, raw_ids: Sequence[bytes]) -> dict[bytes, Known]:
        """Look events up by their raw ids."""
        found = self.space(space)
        if found is None:
            return {}
        rows = self.rows("events_by_id", (found.id, tuple(raw_ids))) if raw_ids else []
        return {row[0]: Known(row[1], event_of(space, row)) for row in rows}

    def find_key(self, space: str, key: str) -> Known | None:
        """Look an event up by the caller's key."""
        found = self.space(space)
        rows = self.rows("event_by_key", (found.id, key)) if found else []
        return Known(rows[0][1], event_of(space, rows[0])) if rows else None

    def fetch(self, space: str, seqs: Sequence[int]) -> dict[int, Event]:
        """Read events by seq; those that are gone are left out."""
        found = self.space(space)
        if found is None or not len(seqs):
            return {}
        rows = self.rows("events_by_seq", (array(seqs), found.id))
        return {row[1]: event_of(space, row) for row in rows}

    def outlines(self, space: str, seqs: Sequence[int]) -> dict[int, Outline]:
        """Read where events stand and who spoke, without their texts."""
        found = self.space(space)
        if found is None or not len(seqs):
            return {}
        return {row[0]: Outline(*row[1:]) for row in self.rows("outlines_by_seq", (array(seqs), found.id))}

    def around(self, space: str, seqs: Sequence[int], reach: int) -> list[list[int]]:
        """List for each event of a session the run of up to `reach` events on both sides of it, itself included.

        A run is in the order in which things were said. An event outside any session stands alone.
        """
        found = self.space(space)
        outlines = self.outlines(space, seqs)
        runs: list[list[int]] = []
        for seq in seqs:
            outline = outlines.get(int(seq))
            if found is None or outline is None:
                continue
            if outline.session is None:
                runs.append([int(seq)])
                continue
            here = (found.id, outline.session, outline.at, int(seq), reach)
            before = [row[0] for row in self.rows("said_before", here)]
            runs.append([*reversed(before), int(seq), *(row[0] for row in self.rows("said_after", here))])
        return runs

    def page(
        self, space: str, which: Filter, *, after: Cursor | None = None, newest_first: bool = False, limit: int
    ) -> list[tuple[Cursor, Event]]:
        """Read some events in the order in which they happened, from behind a cursor; no records."""
        found = self.space(space)
        if found is None:
            return []
        where, values = conditions(which, self.query)
        at, seq = after or (_AFTER_ALL if newest_first else _BEFORE_ALL)
        values |= {"space": found.id, "at": at, "seq": seq, "limit": limit}
        rows = self.rows("events_newest_first" if newest_first else "events_oldest_first", values, where)
        return [(Cursor(row[7], row[1]), event_of(space, row)) for row in rows]

    def log(self, space: str, *, after: int = 0, limit: int) -> list[tuple[int, Event]]:
        """Read the log in the order of arrival, from behind a seq: events, and records among them."""
        found = self.space(space)
        rows = self.rows("log_after", (found.id, after, limit)) if found else []
        return [(row[1], event_of(space, row)) for row in rows]

    def records(self, space: str, kinds: Sequence[str]) -> list[Known]:
        """Read the records of some kinds, in the order of the log."""
        found = self.space(space)
        rows = self.rows("records", (found.id, words(kinds))) if found else []
        return [Known(row[1], event_of(space, row)) for row in rows]

    def latest_identity(self, space: str, wing: str | None) -> Event | None:
        """Read the identity that was written last for a wing; None: the one for all."""
        found = self.space(space)
        rows = self.rows("latest_identity", (found.id, wing)) if found else []
        return event_of(space, rows[0]) if rows else None

    def matching(self, space: str, which: Filter) -> Seqs | None:
        """List the events that a filter lets through, sorted and without records; None for all."""
        if which.empty:
            return None
        found = self.space(space)
        if found is None:
            return np.empty(0, np.int64)
        where, values = conditions(which, self.query)
        rows = self.rows("matching_seqs", {**values, "space": found.id}, where)
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def sessions(self, space: str, which: Filter, *, limit: int | None = None) -> list[Session]:
        """List sessions, the latest first: all, or so many of them."""
        found = self.space(space)
        if found is None:
            return []
        where, values = conditions(which, self.query)
        given = {**values, "space": found.id, **({} if limit is None else {"limit": limit})}
        return [
            Session(
                name=name,
                wings=names(wings),
                speakers=names(speakers),
                events=count,
                first_at=from_micros(first),
                last_at=from_micros(last),
            )
            for name, wings, speakers, count, first, last in self.rows(
                "sessions" if limit is None else "latest_sessions", given, where
            )
        ]

    # The indexes

    def by_words(self, space: str, terms: Mapping[int, float], k: int, allowed: Seqs | None) -> Ranking:
        """Rank events by BM25 over weighted terms."""
        found = self.space(space)
        if found is None:
            return _NOTHING
        tail = self._caches.word_tail(self, found)
        sealed: dict[int, list[Postings]] = {}
        if terms and found.words_upto:
            for term, first, chunk in self.rows("postings_of_terms", (found.id, found.generation, array(list(terms)))):
                sealed.setdefault(term, []).append(unpack(first, chunk))
        scorer = Bm25(events=found.events, words=found.words)
        for term, weight in terms.items():
            parts = sealed.get(term, [])
            in_tail = tail.of(term)
            if len(in_tail.seqs):
                parts.append(in_tail)
            scorer.add(parts, weight)
        return scorer.top(k, allowed)

    def rarest(self, space: str, terms: Collection[int], most_bytes: int) -> list[int]:
        """Choose the rarest of some terms, as many as so much of the index tells about; one at least."""
        found = self.space(space)
        sizes: dict[int, int] = dict.fromkeys(terms, 0)
        if found is not None and found.words_upto:
            rows = self.rows("sizes_of_terms", (found.id, found.generation, array(list(terms))))
            sizes.update((int(term), int(size)) for term, size in rows)
        ranked = sorted(sizes, key=lambda term: (sizes[term], term))
        read = accumulate(sizes[term] for term in ranked)
        enough = sum(1 for total in read if total <= most_bytes)
        return ranked[: max(1, enough)]

    def by_vector(self, space: str, model: Model, vector: NDArray[np.float32], k: int, allowed: Seqs | None) -> Ranking:
        """Rank events by the cosine of their nearest window."""
        found = self.space(space)
        if found is None:
            return _NOTHING
        return self._caches.pooled(self, found, model).nearest(vector, k, allowed)

    def pooled(self, space: str, model: Model, seqs: Sequence[int]) -> dict[int, NDArray[np.int8]]:
        """Read the pooled vectors of some events, of each its first window."""
        found = self.space(space)
        if found is None or not len(seqs):
            return {}
        view = self._caches.pooled(self, found, model)
        rows = np.flatnonzero(np.isin(view.seqs, np.asarray(seqs, np.int64)))
        # Windows of an event stand in their order: the first wins.
        return {int(view.seqs[row]): view.pooled[row] for row in rows[::-1]}

    def prepare(self, space: str, model: Model) -> None:
        """Read what `by_vector` will need, so that it can be read while a question is still being encoded."""
        if (found := self.space(space)) is not None:
            self._caches.pooled(self, found, model)

    def passages(self, space: str, model: Model, seqs: Sequence[int]) -> list[PassageRow]:
        """Read the stored windows of events, grouped by event in the order given."""
        found = self.space(space)
        if found is None or not len(seqs):
            return []
        first_windows = [unit_of(model.id, int(seq), 0) for seq in seqs]
        by_seq: dict[int, list[PassageRow]] = {}
        more: list[int] = []
        for unit, start, stop, count, tokens in self.rows("vectors_of_units", (array(first_windows), found.id)):
            by_seq[seq_of(unit)] = [PassageRow(seq_of(unit), Span(start, stop), tokens)]
            more += range(unit + 1, unit + count)
        for unit, start, stop, _, tokens in self.rows("vectors_of_units", (array(more), found.id)) if more else ():
            by_seq[seq_of(unit)].append(PassageRow(seq_of(unit), Span(start, stop), tokens))
        return [passage for seq in seqs for passage in by_seq.get(int(seq), ())]

    def models(self) -> list[Model]:
        """List the models whose vectors are here."""
        return [model_of(row) for row in self.rows("models")]

    def without_vectors(self, space: str, model: Model, *, after: int, limit: int) -> list[tuple[int, Event]]:
        """List events that a model has not seen, from behind a seq."""
        found = self.space(space)
        rows = self.rows("events_without_vectors", (found.id, after, unit_of(model.id, 0, 0), limit)) if found else []
        return [(row[1], event_of(space, row)) for row in rows]

    # The file

    def jobs(self, *, kind: str | None = None, due_before: int | None = None, limit: int) -> list[Job]:
        """List work that waits, oldest first."""
        rows = self.rows("jobs", (kind, due_before, limit))
        return [
            Job(id=number, space=space, kind=what, seq=seq, attempts=attempts, error=error)
            for number, space, what, seq, attempts, error in rows
        ]

    def receipts(self, space: str) -> list[Receipt]:
        """List what was forgotten."""
        found = self.space(space)
        scrubbed = not self.scrub_owed()
        rows = self.rows("receipts", (found.id,)) if found else []
        return [receipt_from_json(row[1], scrubbed=scrubbed) for row in rows]

    def tally(self, space: str) -> Tally:
        """Count what a space holds."""
        found = self.space(space)
        if found is None:
            return Tally()
        sessions, speakers, wings, first, last = self.rows("tally_events", (found.id,))[0]
        active = next((model for model in self.models() if model.state == "active"), None)
        return Tally(
            events=found.events,
            records=self.one("count_records", (found.id,)),
            sessions=sessions,
            speakers=speakers,
            wings=wings,
            first_at=first,
            last_at=last,
            pending=self.one("count_jobs", (found.id,)),
            vectors=self.one("count_vectors", (*unit_bounds(active.id), found.id)) if active else 0,
        )

    def total_events(self) -> int:
        """Count the events of all spaces."""
        return self.one("total_events")

    def fact(self, name: str) -> str | None:
        """Read a fact about the file itself."""
        return self.one("get_fact", (name,))

    def scrub_owed(self) -> str | None:
        """Return a value that changes with each removal while removed words may still be on disk; else None."""
        kept = self.fact(SCRUB_OWED)
        return None if kept == NOT_OWED else kept

    def analysis_version(self) -> int:
        """Return the version of the term analysis that made the postings; the current one where there are none."""
        kept = self.fact(ANALYSIS)
        return ANALYSIS_VERSION if kept is None else int(kept)


_NOTHING = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))


def model_of(row: Row) -> Model:
    """Read a row of `models`."""
    number, name, version, dims, token_dims, state = row
    return Model(id=number, name=name, version=version, dims=dims, token_dims=token_dims, state=state)
