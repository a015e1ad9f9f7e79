"""The shared reader: the log, filters, search by words and vectors, imports, counts, and what belongs to no space."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from types import MappingProxyType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from everyword.storage.forgotten import SALT, Identity, hashed_path, tag_of
from everyword.storage.nearest import unit_bounds, unit_of
from everyword.storage.postings import Bm25, Ranking, Seqs, unpack
from everyword.storage.rows import (
    NOT_OWED,
    SCRUB_OWED,
    Access,
    Cursor,
    Draft,
    EventRange,
    FileRead,
    Job,
    Known,
    Model,
    Outline,
    PassageRow,
    StoredKey,
    StoredWebhook,
    Tally,
    read_text,
)
from everyword.storage.sql.concepts import ConceptRows
from everyword.storage.sql.graph import GraphRows
from everyword.storage.sql.snapshot import Row, Snapshot, array, grouped, known_by, names
from everyword.storage.sql.statements import StatementRows
from everyword.types.events import Event, Filter, Json, Receipt, Session, event_id, is_range, raw_event_id
from everyword.types.records import BY
from everyword.types.service import ApiKey, Permission, Webhook
from everyword.types.times import as_datetime, from_micros, optional_micros, optional_moment, to_micros
from everyword.types.trust import source_of, source_of_role

T = TypeVar("T")

_BEFORE_ALL = Cursor(-(1 << 62), 0)
_AFTER_ALL = Cursor(1 << 62, 0)
_MANY = 1_000  # events: fewer are faster read and sorted than the log is gone through in order
_INDEXED_CHARS = 200  # of a name and of a value in meta; longer ones are looked for without an index


class Reader(StatementRows, GraphRows, ConceptRows):
    """Reads one space within one transaction."""

    def __init__(self, file: FileReader, space: str) -> None:
        super().__init__(file.sql, space)
        self._file = file
        # As this snapshot read them, by seq; None: not there. A writer, which may change them, keeps none.
        self._events: dict[int, Event | None] = {}
        self._outlines: dict[int, Outline | None] = {}

    @property
    def file(self) -> FileReader:
        """Give the reader of what belongs to no space, in the same transaction."""
        return self._file

    # The log

    def find(self, raw_ids: Sequence[bytes]) -> dict[bytes, Known]:
        return {row[0]: self._known(row) for row in self._rows_of("events_by_id", raw_ids)}

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Look events up by their ids."""
        raw_ids = [raw_id for id in dict.fromkeys(ids) if (raw_id := raw_event_id(id)) is not None]
        return {one.event.id: one for one in self.find(raw_ids).values()}

    def find_between(self, first: bytes, last: bytes) -> list[Known]:
        """Look up the events whose raw ids lie between two, both included."""
        return list(map(self._known, self._rows("events_by_id_between", first, last)))

    def find_key(self, key: str) -> Known | None:
        return next(map(self._known, self._rows("event_by_key", key)), None)

    def fetch(self, seqs: Sequence[int]) -> dict[int, Event]:
        """Read events by seq, each once in a snapshot; those that are gone are left out."""
        return self._read_once(self._events, seqs, self._fetch)

    def outlines(self, seqs: Sequence[int]) -> dict[int, Outline]:
        """Read where events stand and who spoke, without their texts; each once in a snapshot."""
        return self._read_once(self._outlines, seqs, self._fetch_outlines)

    def around(self, seqs: Sequence[int], reach: int) -> list[list[int]]:
        """List for each event of a session the run of up to `reach` events on both sides of it, itself included.

        A run is in the order in which things were said. An event outside any session stands alone.
        """
        outlines = self.outlines(seqs)
        beside = grouped((seq, (at, near)) for seq, at, near in self._rows_of("runs_around", seqs, reach))
        return [
            [near for _, near in sorted([*beside.get(int(seq), ()), (outlines[int(seq)].at, int(seq))])]
            for seq in seqs
            if int(seq) in outlines
        ]

    def page(
        self, which: Filter, *, after: Cursor | None = None, newest_first: bool = False, limit: int
    ) -> list[tuple[Cursor, Event]]:
        """Read some events in the order in which they happened, after a cursor; no records."""
        start = after or (_AFTER_ALL if newest_first else _BEFORE_ALL)
        most = self._most_by_meta(which)
        if not most:
            return []
        if most < _MANY and (seqs := self.matching(which)) is not None:
            found = [Cursor(one.at, seq) for seq, one in self.outlines(seqs.tolist()).items()]
            later = [one for one in found if (one < start if newest_first else one > start)]
            later = sorted(later, reverse=newest_first)[:limit]
            events = self.fetch([one.seq for one in later])
            return [(one, events[one.seq]) for one in later]
        query = "events_newest_first" if newest_first else "events_oldest_first"
        rows = self._filtered(query, which, indexed=False, at=start.at, seq=start.seq, limit=limit)
        return [(Cursor(row[7], row[1]), event_of(self.space, row)) for row in rows]

    def meta_of_log(self) -> Iterator[tuple[int, str, str, float | None]]:
        """Go through what the index of meta must hold: seq, name, value and number."""
        for seq, meta in self.sql.each("meta_of_events", (self.id,)):
            yield from ((seq, *one) for one in indexed_meta(json.loads(meta)))

    def has_sound_meta(self) -> bool:
        """Tell whether the index of meta is what follows from the log."""
        stored = sum(map(hash, self.sql.each("all_meta", (self.id,))))
        return stored == sum(map(hash, self.meta_of_log()))

    def _most_by_meta(self, which: Filter) -> int:
        """Tell by the index of meta how many events a filter lets through at most; `_MANY` for so many or more."""
        most = _MANY
        for asked in (in_index(*member) for member in (which.meta or {}).items()):
            if asked is not None and most:
                values = {"space": self.id, "limit": most, **{f"{name}_0": value for name, value in asked[1].items()}}
                most = self.sql.rows("count_in_meta", values, self.sql.query(asked[0]))[0][0]
        return most

    def log(self, *, after: int = 0, limit: int) -> list[Known]:
        """Read the log in the order of arrival, after a seq: events, and records among them."""
        return list(map(self._known, self._rows("log_after", after, limit)))

    def records(self, kinds: Sequence[str]) -> list[Known]:
        """Read the records of some kinds, in the order of the log."""
        return list(map(self._known, self._rows("records", tuple(kinds))))

    def latest_identity(self, wing: str | None) -> Event | None:
        """Read the identity that was written last for a wing; None: the one for all."""
        return next((event_of(self.space, row) for row in self._rows("latest_identity", wing)), None)

    def matching(self, which: Filter, *, among: Sequence[int] | None = None) -> Seqs | None:
        """List the events that a filter lets through, or those among some, sorted and without records; None for all."""
        if which.empty:
            return None
        where, values = conditions(which, self.sql.query)
        if among is not None:
            where, values["seqs"] = f"{where} {self.sql.query('where_seqs')}", array(among)
        return self.seqs_where(where, values)

    def seqs_where(self, where: str = "", values: Mapping[str, Any] = MappingProxyType({})) -> Seqs:
        """List the events that meet conditions, sorted and without records."""
        listed = self.sql.rows("matching_seqs", {**values, "space": self.id}, where)[0][0]
        found = np.fromstring(listed, np.int64, sep=",") if listed else np.zeros(0, np.int64)
        found.sort()
        return found

    def sessions(self, which: Filter, *, limit: int | None = None) -> list[Session]:
        """List sessions, the latest first: all, or so many of them."""
        every = limit is None
        rows = self._filtered("sessions", which) if every else self._filtered("latest_sessions", which, limit=limit)
        return [
            Session(
                name=name,
                wings=names(wings),
                speakers=names(speakers),
                events=count,
                first_at=from_micros(first),
                last_at=from_micros(last),
            )
            for name, wings, speakers, count, first, last in rows
        ]

    def _filtered(self, query: str, which: Filter, *, indexed: bool = True, **values: Any) -> list[Row]:
        """Run a query about the events that a filter lets through."""
        where, filtered = conditions(which, self.sql.query, indexed=indexed)
        return self.sql.rows(query, {**filtered, **values, "space": self.id}, where)

    # What is newest, and counts of events and recalls

    def extent(self, which: Filter) -> EventRange:
        """Count the events that a filter lets through, and tell from when to when they are."""
        return EventRange(*self._filtered("extent", which)[0])

    def counted(self, which: Filter, *, begin: int, width: int, parts: int) -> list[int]:
        """Count the events of each part of time: the first begins at `begin`, each is `width` µs long."""
        return [int(row[0]) for row in self._filtered("counted", which, begin=begin, width=width, parts=parts)]

    def speakers(self, *, wing: str | None = None, limit: int) -> list[str]:
        """List who spoke, sorted."""
        return self._names("speakers", limit) if wing is None else self._column("speakers_of_wing", wing, limit)

    def meta_values(self, name: str, *, wing: str | None = None) -> list[str]:
        """List the values that a member of meta has in events, as JSON and sorted as such."""
        if wing is None:
            return self._column("meta_values", name=meta_name(name))
        return self._column("meta_values_of_wing", name=meta_name(name), wing=wing)

    def wings(self, *, limit: int) -> list[str]:
        return self._names("wings", limit)

    def newest_events(self, wing: str | None, *, as_of: datetime | None = None, limit: int) -> list[int]:
        """List the events that happened last, the newest first; as_of: of those that were known then."""
        return self._column("events_newest", wing=wing, as_of=known_by(as_of), limit=limit)

    def wing_counts(self, *, as_of: datetime | None = None) -> dict[str | None, int]:
        """Count the events of each wing; None: those of no wing. as_of: of those that were known then."""
        if as_of is not None:
            return self._pairs("wing_counts_then", to_micros(as_of)[0])
        counts: dict[str | None, int] = self._pairs("wing_counts")
        rest = (self.row.events if self.row else 0) - sum(counts.values())
        return {**counts, None: rest} if rest else counts

    def accesses(self, seqs: Sequence[int]) -> dict[int, Access]:
        """Tell how often some events were recalled; those that never were are left out."""
        return {seq: Access(times, last_at) for seq, times, last_at in self._rows_of("accesses_of", seqs)}

    def most_recalled(self, *, limit: int) -> list[int]:
        return self._column("most_recalled", limit)

    def _names(self, query: str, limit: int) -> list[str]:
        return [name for name in self._column(query, limit=limit) if name is not None]

    # Import positions and tags of forgotten events

    def files_read(self, paths: Sequence[str]) -> dict[str, FileRead]:
        """Look up how far some files were read, by path."""
        salt = self._salt()
        if salt is None or not paths:
            return {}
        by_hash = {hashed_path(salt, self.space, path): path for path in paths}
        read: dict[str, FileRead] = {}
        for hash, *values, position, events, whole in self._rows_of("files_read", by_hash):
            state = dict(zip(("reading", "bytes", "modified", "hash"), values, strict=True))
            path = by_hash[hash]
            read[path] = FileRead(path=path, position=json.loads(position), events=events, whole=bool(whole), **state)
        return read

    def forgotten(self, identities: Collection[Identity]) -> set[Identity]:
        """Tell which of these were forgotten; of others at the same place, one in 64 is taken for forgotten too."""
        salt = self._salt()
        if salt is None or not identities:
            return set()
        tags = {identity: tag_of(salt, self.space, identity) for identity in identities}
        there = set(self._column("forgotten_tags", array(sorted(set(tags.values())))))
        return {identity for identity, tag in tags.items() if tag in there}

    def _salt(self) -> bytes | None:
        kept = self.sql.one("get_fact", (SALT,))
        return None if kept is None else bytes.fromhex(kept)

    # The indexes

    def by_words(self, terms: Mapping[int, float], k: int, allowed: Seqs | None) -> Ranking:
        """Rank events by BM25 over weighted terms."""
        row = self.row
        if row is None:
            return _NOTHING
        tail = self.sql.caches.word_tail(self.sql, row)
        rows: list[Row] = []
        if terms and row.words_upto:
            rows = self.sql.rows("postings_of_terms", (row.id, row.generation, array(list(terms))))
        sealed = grouped((term, unpack(first, chunk)) for term, first, chunk in rows)
        scorer = Bm25(events=row.events, words=row.words)
        for term, weight in terms.items():
            parts = sealed.get(term, [])
            in_tail = tail.of(term)
            if len(in_tail.seqs):
                parts.append(in_tail)
            scorer.add(parts, weight)
        return scorer.top(k, allowed)

    def rarest(self, terms: Collection[int], most_bytes: int) -> list[int]:
        """Choose the rarest of some terms, as many as so much of the index tells about; one at least."""
        sizes: dict[int, int] = dict.fromkeys(terms, 0)
        row = self.row
        if row is not None and row.words_upto:
            rows = self.sql.rows("sizes_of_terms", (row.id, row.generation, array(list(terms))))
            sizes.update((int(term), int(size)) for term, size in rows)
        ranked = sorted(sizes, key=lambda term: (sizes[term], term))
        read = accumulate(sizes[term] for term in ranked)
        enough = sum(1 for total in read if total <= most_bytes)
        return ranked[: max(1, enough)]

    def by_vector(self, model: Model, vector: NDArray[np.float32], k: int, allowed: Seqs | None) -> Ranking:
        """Rank events by the cosine of their nearest window."""
        row = self.row
        return _NOTHING if row is None else self.sql.nearest(row, model, vector, k, allowed)

    def pooled(self, model: Model, seqs: Sequence[int]) -> dict[int, NDArray[np.int8]]:
        """Read the pooled vectors of some events, of each its first window."""
        row = self.row
        if row is None or not len(seqs):
            return {}
        view = self.sql.pooled_view(row, model)
        rows = np.flatnonzero(np.isin(view.seqs, np.asarray(seqs, np.int64)))
        # Windows of an event stand in their order: the first wins.
        return {int(view.seqs[at]): view.pooled[at] for at in rows[::-1]}

    def prepare(self, model: Model) -> None:
        """Read what `by_vector` will need, so that it can be read while a question is still being encoded."""
        if (row := self.row) is not None:
            self.sql.prepare(row, model)

    def passages(self, model: Model, seqs: Sequence[int]) -> list[PassageRow]:
        """Read the stored windows of events, in the order of the events and of their texts."""
        first_windows = array(seqs) * unit_of(0, 1, 0) + unit_of(model.id, 0, 0)
        rows = [*map(PassageRow._make, self._rows_of("vectors_of_units", first_windows))]
        more = [unit for row in rows if row.windows > 1 for unit in range(row.unit + 1, row.unit + row.windows)]
        if more:
            rows += map(PassageRow._make, self._rows_of("vectors_of_units", more))
            rows.sort()
        return rows

    def without_vectors(self, model: Model, *, after: int, limit: int) -> list[Known]:
        """List events that a model has not seen, after a seq."""
        return list(map(self._known, self._rows("events_without_vectors", after, unit_of(model.id, 0, 0), limit)))

    # Inside

    def _known(self, row: Row) -> Known:
        return Known(row[1], event_of(self.space, row))

    def _read_once(
        self, known: dict[int, T | None], seqs: Sequence[int], read: Callable[[Sequence[int]], dict[int, T]]
    ) -> dict[int, T]:
        new = seqs if self.sql.writes else [seq for seq in seqs if seq not in known]
        found = read(new) if len(new) else {}
        if self.sql.writes:
            return found
        known |= dict.fromkeys(new) | found
        return {seq: one for seq in seqs if (one := known[seq]) is not None}

    def _fetch(self, seqs: Sequence[int]) -> dict[int, Event]:
        return {row[1]: event_of(self.space, row) for row in self._rows_of("events_by_seq", seqs)}

    def _fetch_outlines(self, seqs: Sequence[int]) -> dict[int, Outline]:
        return {row[0]: Outline(*row[1:]) for row in self._rows_of("outlines_by_seq", seqs)}

    # Receipts, jobs and counts

    def receipts_after(self, number: int, *, limit: int) -> list[tuple[int, Receipt]]:
        """Read what was forgotten, after a number."""
        rows = self._rows("receipts_after", number, limit)
        scrubbed = not self._file.scrub_owed()
        return [(row[0], receipt_from_json(row[1], scrubbed=scrubbed)) for row in rows]

    def last_number(self, table: str) -> int:
        """Return the highest number of a space's rows in a table; later rows get higher ones."""
        return self._one("last_number", table=table) or 0

    def jobs_of(self, *, kind: str | None = None, after: int = 0, limit: int) -> list[Job]:
        """List the work of a space that waits, oldest first, after a number."""
        return [Job(id, self.space, *row) for id, *row in self._rows("jobs_of_space", after, limit, kind)]

    def job_seqs(self, kind: str) -> list[int]:
        """List the events for which a job of a kind waits."""
        return self._column("job_seqs", kind)

    def job_counts(self) -> dict[str, tuple[int, int]]:
        """Count by kind what waits, and what of it failed before."""
        return {kind: (waiting, failed) for kind, waiting, failed in self._rows("jobs_by_kind")}

    def count_records(self) -> int:
        return self._one("count_records")

    def tally(self) -> Tally:
        row = self.row
        if row is None:
            return Tally()
        sessions, speakers, wings, first, last = self._rows("tally_events")[0]
        active = next((model for model in self._file.models() if model.state == "active"), None)
        return Tally(
            events=row.events,
            records=self.count_records(),
            sessions=sessions,
            speakers=speakers,
            wings=wings,
            first_at=first,
            last_at=last,
            pending=self._one("count_jobs"),
            vectors=self.sql.one("count_vectors", (*unit_bounds(active.id), self.id)) if active else 0,
        )


class FileReader:
    """Reads what belongs to no space, and gives readers of spaces in the same transaction."""

    def __init__(self, sql: Snapshot) -> None:
        self.sql = sql

    def spaces(self) -> list[str]:
        return [str(row[0]) for row in self.sql.rows("space_names")]

    def models(self) -> list[Model]:
        rows = self.sql.rows("models") if self.sql.models is None else self.sql.models
        return [Model(*row) for row in rows]

    def total_events(self) -> int:
        return self.sql.one("total_events")

    def fact(self, name: str) -> str | None:
        return self.sql.one("get_fact", (name,)) if self.sql.facts is None else self.sql.facts.get(name)

    def scrub_owed(self) -> str | None:
        """Return a value that changes with each removal while removed words may still be on disk; else None."""
        kept = self.fact(SCRUB_OWED)
        return None if kept == NOT_OWED else kept

    def api_keys(self) -> list[StoredKey]:
        """List keys, the oldest first."""
        return list(map(_key, self.sql.rows("keys")))

    def key(self, id: str) -> StoredKey | None:
        return next(map(_key, self.sql.rows("key_by_id", (id,))), None)

    def any_key(self) -> bool:
        """Tell whether there is a key, or ever was."""
        return bool(self.sql.one("any_key"))

    def webhooks(self) -> list[StoredWebhook]:
        """List webhooks, the oldest first."""
        return list(map(_webhook, self.sql.rows("webhooks")))

    def pulse(self) -> str:
        """Return a string that changes whenever anything is added, and when the oldest job is done. Reads no table."""
        return self.sql.one("pulse")

    def jobs(self, *, kind: str | None = None, due_before: int | None = None, limit: int) -> list[Job]:
        """List work that waits, oldest first."""
        return [Job(*row) for row in self.sql.rows("jobs", (kind, due_before, limit))]

    def next_job_due(self) -> int | None:
        """Tell when the first job is due, in microseconds; None where none waits."""
        return self.sql.one("next_job_due")

    def reader(self, space: str) -> Reader:
        return Reader(self, space)


_NOTHING = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))


def _key(row: Row) -> StoredKey:
    id, hash, name, permission, spaces, created_at, *ends = row
    expires_at, revoked_at = map(optional_moment, ends)
    key = ApiKey(
        id=id,
        name=name,
        permission=Permission(permission),
        spaces=tuple(json.loads(spaces)),
        created_at=from_micros(created_at),
        expires_at=expires_at,
        revoked_at=revoked_at,
    )
    return StoredKey(key, bytes(hash))


def _webhook(row: Row) -> StoredWebhook:
    id, space, url, secret, kinds, created_at, position, delivered, attempts, due_at, error = row
    webhook = Webhook(
        id=id,
        space=space,
        url=url,
        kinds=tuple(json.loads(kinds)),
        created_at=from_micros(created_at),
        position=position,
        delivered=delivered,
        attempts=attempts,
        due_at=optional_moment(due_at or None),
        error=error,
    )
    return StoredWebhook(webhook, secret)


# Events, filters and receipts as the database has them


def event_values(space: int, draft: Draft, recorded_at: int, text: str | bytes) -> tuple[Any, ...]:
    """Lay an event out for `insert_event`; `text` is its text as the database can hold it."""
    event = draft.event
    return (
        space,
        draft.raw_id,
        draft.content,
        event.key,
        event.wing,
        event.session,
        event.speaker if event.record is None else None,
        event.role,
        *draft.moment,
        recorded_at,
        meta_json(event.meta) if event.meta else None,
        text,
        event.record,
        source_of(event),
    )


def event_of(space: str, row: Row) -> Event:
    """Read an event; columns as every query of events selects them."""
    raw_id, _, key, wing, session, speaker, role, at, at_offset, recorded_at, meta, text, record, source = row
    held: dict[str, Json] = json.loads(meta) if meta else {}
    return Event(
        id=event_id(raw_id),
        key=key,
        space=space,
        wing=wing,
        session=session,
        speaker=speaker if record is None else held.get(BY),  # the author of a record is its editor
        role=role,
        source=source or source_of_role(role),
        at=from_micros(at, at_offset),
        recorded_at=from_micros(recorded_at),
        meta=held,
        text=read_text(text),
        record=record,
    )


def meta_json(value: Json) -> str:
    """Write JSON so that equal values are equal text: filters compare it as such."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def indexed_meta(meta: Mapping[str, Json]) -> list[tuple[str, str, float | None]]:
    """List what of an event's meta filters find by an index: names, values, and these as numbers if they are."""
    found = [(meta_name(name), _indexed(value), _number(value)) for name, value in meta.items()]
    return [(name, value, number) for name, value, number in found if value is not None and len(name) <= _INDEXED_CHARS]


def meta_name(name: str) -> str:
    """Write a name as JSON does, less the quotes: without characters that a database can't hold."""
    return json.dumps(name)[1:-1]


def _indexed(value: Json) -> str | None:
    written = None if isinstance(value, Mapping | list | tuple) else meta_json(value)
    return written if written is not None and len(written) <= _INDEXED_CHARS else None


def _number(value: Json) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except OverflowError:
        return None


def conditions(which: Filter, query: Callable[[str], str], *, indexed: bool = True) -> tuple[str, dict[str, Any]]:
    """Write a filter as SQL conditions and their values; `indexed` looks values of meta up rather than in each row."""
    wanted: dict[str, Any] = {name: getattr(which, name) for name in ("wing", "project", "session", "speaker", "tag")}
    wanted |= {name: optional_micros(getattr(which, name)) for name in ("since", "until", "as_of")}
    wanted |= _chosen("role", which.role or ()) | _chosen("source", which.source or ())
    values = {name: value for name, value in wanted.items() if value is not None}
    parts = [query(f"where_{name}") for name in values]
    for number, (name, value) in enumerate((which.meta or {}).items()):
        asked = in_index(name, value) if indexed or is_range(value) else None
        if asked is not None:
            how, given = query("where_in_meta").replace("{is}", query(asked[0])), asked[1]
        else:
            how, given = query("where_meta"), {"path": "$." + json.dumps(name), "value": meta_json(value)}
        parts.append(how.replace("_0", f"_{number}"))
        values |= {f"{one}_{number}": content for one, content in given.items()}
    return " ".join(parts), values


def in_index(name: str, value: Json) -> tuple[str, dict[str, Any]] | None:
    """Return the query name and values that look a member up in the index of meta, or None if the index can't."""
    written = meta_name(name)
    if is_range(value):
        least, most = _limits(cast("Mapping[str, float]", value))
        return "where_number", {"name": written, "least": least, "most": most}
    if len(written) <= _INDEXED_CHARS and (indexed := _indexed(value)) is not None:
        return "where_value", {"name": written, "value": indexed}
    return None


def _limits(wanted: Mapping[str, float]) -> tuple[float, float]:
    """Give the least and the greatest number within a range."""
    least = [math.nextafter(limit, math.inf) if how == "$gt" else limit for how, limit in wanted.items() if "$g" in how]
    most = [math.nextafter(limit, -math.inf) if how == "$lt" else limit for how, limit in wanted.items() if "$l" in how]
    return max(map(float, least), default=-math.inf), min(map(float, most), default=math.inf)


def _chosen(name: str, chosen: Sequence[str]) -> dict[str, str]:
    """Write which values of a column count: those named, less those named with a "!"."""
    included = [one for one in chosen if not one.startswith("!")]
    excluded = [one.removeprefix("!") for one in chosen if one.startswith("!")]
    several = {f"{name}_in": included, f"{name}_not_in": excluded}
    return {condition: json.dumps(values) for condition, values in several.items() if values}


def receipt_to_json(receipt: Receipt, seqs: Iterable[int]) -> str:
    """Write a receipt and the numbers of the events that went."""
    return json.dumps(
        {"at": receipt.at.isoformat(), "space": receipt.space, "seqs": _ranges(seqs), "removed": dict(receipt.removed)}
    )


def receipt_from_json(text: str, *, scrubbed: bool = False) -> Receipt:
    kept = json.loads(text)
    return Receipt(
        at=as_datetime(kept["at"]), space=kept["space"], dry_run=False, removed=kept["removed"], scrubbed=scrubbed
    )


def seqs_from_json(text: str) -> list[int]:
    return [seq for first, last in json.loads(text)["seqs"] for seq in range(first, last + 1)]


def _ranges(seqs: Iterable[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for seq in sorted(seqs):
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    return ranges
