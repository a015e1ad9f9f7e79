"""One snapshot of a database."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from recollect.core.clock import from_micros
from recollect.core.ids import raw_event_id
from recollect.core.values import Event, Filter, Receipt, Session, Span
from recollect.store.facts import scrub_owed
from recollect.store.postings import Bm25, Postings, Ranking, Seqs, unpack
from recollect.store.protocol import Cursor, Job, Known, Model, Outline, PassageRow, Tally
from recollect.store.receipts import receipt_from_json
from recollect.store.sql.activity import ActivityRows
from recollect.store.sql.attention import AttentionRows
from recollect.store.sql.caches import Caches
from recollect.store.sql.folding import FoldingRows
from recollect.store.sql.graph import GraphRows
from recollect.store.sql.imports import ImportRows
from recollect.store.sql.rows import conditions, event_of, names
from recollect.store.sql.service import ServiceRows
from recollect.store.sql.snapshot import Row, Space, array, words
from recollect.store.sql.written import WrittenRows
from recollect.store.units import seq_of, unit_bounds, unit_of

_BEFORE_ALL = Cursor(-(1 << 62), 0)
_AFTER_ALL = Cursor(1 << 62, 0)


class SqlReader(ActivityRows, AttentionRows, GraphRows, FoldingRows, ImportRows, ServiceRows, WrittenRows):
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

    def find_ids(self, space: Space, ids: Sequence[str]) -> list[Known]:
        """Look events up by their ids."""
        raw = [raw_id for event_id in ids if (raw_id := raw_event_id(event_id)) is not None]
        return list(self.find(space.name, raw).values())

    # The log

    def spaces(self) -> list[str]:
        return [str(row[0]) for row in self.rows("space_names")]

    def find(self, space: str, raw_ids: Sequence[bytes]) -> dict[bytes, Known]:
        found = self.space(space)
        if found is None:
            return {}
        rows = self.rows("events_by_id", (found.id, tuple(raw_ids))) if raw_ids else []
        return {row[0]: Known(row[1], event_of(space, row)) for row in rows}

    def find_key(self, space: str, key: str) -> Known | None:
        found = self.space(space)
        rows = self.rows("event_by_key", (found.id, key)) if found else []
        return Known(rows[0][1], event_of(space, rows[0])) if rows else None

    def fetch(self, space: str, seqs: Sequence[int]) -> dict[int, Event]:
        found = self.space(space)
        if found is None or not len(seqs):
            return {}
        rows = self.rows("events_by_seq", (array(seqs), found.id))
        return {row[1]: event_of(space, row) for row in rows}

    def outlines(self, space: str, seqs: Sequence[int]) -> dict[int, Outline]:
        found = self.space(space)
        if found is None or not len(seqs):
            return {}
        return {row[0]: Outline(*row[1:]) for row in self.rows("outlines_by_seq", (array(seqs), found.id))}

    def around(self, space: str, seqs: Sequence[int], reach: int) -> list[list[int]]:
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
        found = self.space(space)
        if found is None:
            return []
        where, values = conditions(which, self.query)
        at, seq = after or (_AFTER_ALL if newest_first else _BEFORE_ALL)
        values |= {"space": found.id, "at": at, "seq": seq, "limit": limit}
        rows = self.rows("events_newest_first" if newest_first else "events_oldest_first", values, where)
        return [(Cursor(row[7], row[1]), event_of(space, row)) for row in rows]

    def log(self, space: str, *, after: int = 0, limit: int) -> list[tuple[int, Event]]:
        found = self.space(space)
        rows = self.rows("log_after", (found.id, after, limit)) if found else []
        return [(row[1], event_of(space, row)) for row in rows]

    def records(self, space: str, kinds: Sequence[str]) -> list[Known]:
        found = self.space(space)
        rows = self.rows("records", (found.id, words(kinds))) if found else []
        return [Known(row[1], event_of(space, row)) for row in rows]

    def latest_identity(self, space: str, wing: str | None) -> Event | None:
        found = self.space(space)
        rows = self.rows("latest_identity", (found.id, wing)) if found else []
        return event_of(space, rows[0]) if rows else None

    def matching(self, space: str, which: Filter) -> Seqs | None:
        if which.empty:
            return None
        found = self.space(space)
        if found is None:
            return np.empty(0, np.int64)
        where, values = conditions(which, self.query)
        rows = self.rows("matching_seqs", {**values, "space": found.id}, where)
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def sessions(self, space: str, which: Filter, *, limit: int | None = None) -> list[Session]:
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
        found = self.space(space)
        if found is None:
            return _NOTHING
        return self._caches.pooled(self, found, model).nearest(vector, k, allowed)

    def pooled(self, space: str, model: Model, seqs: Sequence[int]) -> dict[int, NDArray[np.int8]]:
        found = self.space(space)
        if found is None or not len(seqs):
            return {}
        view = self._caches.pooled(self, found, model)
        rows = np.flatnonzero(np.isin(view.seqs, np.asarray(seqs, np.int64)))
        # Windows of an event stand in their order: the first wins.
        return {int(view.seqs[row]): view.pooled[row] for row in rows[::-1]}

    def prepare(self, space: str, model: Model) -> None:
        if (found := self.space(space)) is not None:
            self._caches.pooled(self, found, model)

    def passages(self, space: str, model: Model, seqs: Sequence[int]) -> list[PassageRow]:
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
        return [model_of(row) for row in self.rows("models")]

    def without_vectors(self, space: str, model: Model, *, after: int, limit: int) -> list[tuple[int, Event]]:
        found = self.space(space)
        rows = self.rows("events_without_vectors", (found.id, after, unit_of(model.id, 0, 0), limit)) if found else []
        return [(row[1], event_of(space, row)) for row in rows]

    # The file

    def jobs(self, *, kind: str | None = None, due_before: int | None = None, limit: int) -> list[Job]:
        rows = self.rows("jobs", (kind, due_before, limit))
        return [
            Job(id=number, space=space, kind=what, seq=seq, attempts=attempts, error=error)
            for number, space, what, seq, attempts, error in rows
        ]

    def receipts(self, space: str) -> list[Receipt]:
        found = self.space(space)
        scrubbed = not scrub_owed(self)
        rows = self.rows("receipts", (found.id,)) if found else []
        return [receipt_from_json(row[1], scrubbed=scrubbed) for row in rows]

    def tally(self, space: str) -> Tally:
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
        return self.one("total_events")

    def fact(self, name: str) -> str | None:
        return self.one("get_fact", (name,))


_NOTHING = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))


def model_of(row: Row) -> Model:
    """Read a row of `models`."""
    number, name, version, dims, token_dims, state = row
    return Model(id=number, name=name, version=version, dims=dims, token_dims=token_dims, state=state)
