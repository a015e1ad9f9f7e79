"""Compare every index with the log, in memory that does not grow with the file.

Postings are compared by sums: each (term, event, count, length) is mixed into 64 bits, and the sums must be the same
from the index as from the words analysed anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from everyword.storage.nearest import seqs_of, unit_bounds
from everyword.storage.postings import Postings, flatten, terms_of, unpack
from everyword.storage.rows import EMBED, Model, Space, StatementFilter
from everyword.storage.sql.reader import FileReader, Reader, receipt_from_json, seqs_from_json
from everyword.storage.sql.tables import DERIVED_TABLES, VECTOR_TABLES, WORD_TABLES
from everyword.text.terms import ANALYSIS_VERSION, searchable_terms
from everyword.types.events import Problem, Report, content_of, event_id, identity_of
from everyword.types.statements import statement_id

REBUILD = "everyword rebuild"
RESTORE = "restore a backup, or export what can be read into a new memory"
UNREADABLE = "rows"  # where a problem is that ended a check
_BATCH = 2_000
_STATEMENTS = 200  # statements at a time: each comes with the text of its event
_CHUNKS = 1_000  # summed together: most hold one or two postings
_MOST_PROBLEMS = 50  # reported; beyond them the file needs a rebuild or a backup, not a longer list


def audit(file: FileReader, *, deep: bool, only: str | None = None) -> Report:
    """Check pages, counters, the log's own hashes, and each index against the log.

    only: the one space to look at, and to count; pages are everybody's, and not told of then unless they are damaged.
    """
    checked: dict[str, int] = defaultdict(int)
    if only is None:
        checked.update(file.sql.own_parts())
    problems = [Problem(where="file", what=line, fix=RESTORE) for line in file.sql.own_problems(deep=deep)]
    if not problems:  # on damaged pages nothing else can be told
        for table, what in file.sql.changed_tables():
            made = table in WORD_TABLES | VECTOR_TABLES | DERIVED_TABLES
            problems.append(Problem(where=f"table {table}", what=what, fix=REBUILD if made else RESTORE))
        problems += islice(while_readable(_index_problems(file, checked, deep=deep, only=only)), _MOST_PROBLEMS)
    return Report(checked=dict(checked), problems=tuple(problems))


def _index_problems(file: FileReader, checked: dict[str, int], *, deep: bool, only: str | None) -> Iterator[Problem]:
    for name in file.spaces() if only is None else [only]:
        reader = file.reader(name)
        if (space := reader.row) is not None:
            yield from _space_problems(reader, space, checked, deep=deep)
    if file.sql.scrubs_itself and file.scrub_owed():
        yield Problem(
            where="file",
            what="a scrub after forgetting is still to be done",
            fix="everyword settle, when no other process is reading",
        )


def _space_problems(reader: Reader, space: Space, checked: dict[str, int], *, deep: bool) -> Iterator[Problem]:
    checked["spaces"] += 1
    count = reader.sql.one("count_events", (space.id,))
    checked["events"] += count
    checked["records"] += reader.sql.one("count_records", (space.id,))
    if count != space.events:
        yield Problem(
            where=f"space {space.name}", what=f"{space.events} events are counted but {count} are there", fix=REBUILD
        )
    if space.analysis > ANALYSIS_VERSION:
        what = f"indexed by analysis {space.analysis}, now {ANALYSIS_VERSION}"
        yield Problem(where=f"words of space {space.name}", what=what, fix=REBUILD)
    if deep:
        said = _Said()
        yield from _log_problems(reader, space, said)
        yield from _word_problems(reader, space, said, checked)
        if not reader.has_sound_meta():
            yield Problem(where=f"meta of space {space.name}", what="its index differs from the log", fix=REBUILD)
    for model in reader.file.models():
        if model.state == "active":
            yield from _vector_problems(reader, model, checked)
    yield from _derived_problems(reader, checked)
    if deep:
        yield from _quote_problems(reader)
    yield from _receipt_problems(reader, checked)


def _log_problems(reader: Reader, space: Space, said: _Said) -> Iterator[Problem]:
    after = 0
    while rows := reader.log(after=after, limit=_BATCH):
        contents = {row[0]: row[1] for row in reader.sql.rows("contents_after", (space.id, after, _BATCH))}
        for seq, event in rows:
            if content_of(event) != contents[seq] or event_id(identity_of(event.key, contents[seq])) != event.id:
                what = "the text or its fields are not what was stored: their hash differs"
                yield Problem(where=f"event {event.id}", what=what, fix="restore a backup")
        terms = [(seq, terms_of(searchable_terms(event))) for seq, event in rows if event.record is None]
        said.words += sum(term.length for _, term in terms)
        flat = flatten([(seq, term.length, term.packed) for seq, term in terms])
        said.postings += len(flat.terms)
        said.sum += _sum(flat.terms, Postings(flat.seqs, flat.counts, flat.lengths))
        after = rows[-1][0]


def _word_problems(reader: Reader, space: Space, said: _Said, checked: dict[str, int]) -> Iterator[Problem]:
    total = 0
    sealed = reader.sql.each("all_postings", (space.id, space.generation))
    while chunks := list(islice(sealed, _CHUNKS)):
        unpacked = [unpack(first, chunk) for _, first, chunk in chunks]
        terms = np.repeat(np.array([term for term, _, _ in chunks], np.int64), [len(one.seqs) for one in unpacked])
        total += _sum(terms, Postings(*map(np.concatenate, zip(*unpacked, strict=True))))
    tail_rows = reader.sql.rows("word_tail_after", (space.id, 0))
    tail = flatten(tail_rows)
    total += _sum(tail.terms, Postings(tail.seqs, tail.counts, tail.lengths))
    # Terms of an older analysis can't be made again to compare them: they serve as they are until `settle` renews them.
    same = not reader.has_old_words
    if len(tail_rows) != space.word_tail or (same and said.words != space.words):
        yield Problem(where=f"words of space {space.name}", what="the counters are off", fix=REBUILD)
    if not same:
        return
    checked["postings"] += said.postings
    if (total - said.sum) % (1 << 64):
        yield Problem(where=f"words of space {space.name}", what="its postings differ from the log", fix=REBUILD)


def _vector_problems(reader: Reader, model: Model, checked: dict[str, int]) -> Iterator[Problem]:
    where = f"vectors of space {reader.space}"
    low, high = unit_bounds(model.id)
    units = np.array([row[0] for row in reader.sql.rows("units_between", (low, high, reader.id))], np.int64)
    checked["windows"] += len(units)
    events = reader.seqs_where()
    queued = np.array([row[0] for row in reader.sql.rows("job_seqs", (reader.id, EMBED))], np.int64)
    seen = np.unique(seqs_of(units))
    if missing := len(np.setdiff1d(events, np.union1d(seen, queued))):
        yield Problem(where=where, what=f"{missing} events have no vector and no job for one", fix=REBUILD)
    if strays := len(np.setdiff1d(seen, events)):
        yield Problem(where=where, what=f"{strays} vectors belong to no event", fix=REBUILD)
    tail = reader.sql.rows("pooled_tail_after", (reader.id, model.id, 0))
    pooled = [np.array([row[1] for row in tail], np.int64)]
    for _, _, block_units, block in reader.sql.each("blocks_after", (reader.id, model.id, 0)):
        pooled.append(np.frombuffer(block_units, np.int64))
        if len(block) != len(pooled[-1]) * model.dims:
            yield Problem(where=where, what="a block of pooled vectors has the wrong size", fix=REBUILD)
    if not np.array_equal(np.sort(np.concatenate(pooled)), units):
        yield Problem(where=where, what="pooled vectors and token vectors are not of the same windows", fix=REBUILD)


def _derived_problems(reader: Reader, checked: dict[str, int]) -> Iterator[Problem]:
    """Find what was derived and points to something that is not there."""
    for name, count in reader.sql.rows("derived_counts", (reader.id,)):
        checked[name] += count
    for part, what, count in reader.sql.rows("loose_rows", (reader.id,)):
        if count:
            yield Problem(where=f"{part} of space {reader.space}", what=f"{count} {what}", fix=REBUILD)


def _quote_problems(reader: Reader) -> Iterator[Problem]:
    """Read every statement with its quote: each must lie in its event's text, and its id follow from where it lies."""
    after = 0
    while rows := reader.statements(StatementFilter(), after=after, limit=_STATEMENTS):
        for _, statement in rows:
            start, end = statement.span
            if start < 0 or start >= end or len(statement.quote) != end - start:
                what = "its quote is not in its event's text"
                yield Problem(where=f"statement {statement.id}", what=what, fix=REBUILD)
            elif statement_id(statement) != statement.id:
                yield Problem(where=f"statement {statement.id}", what="it is not what was derived", fix=REBUILD)
        after = rows[-1][0]


def _receipt_problems(reader: Reader, checked: dict[str, int]) -> Iterator[Problem]:
    for _, kept in reader.sql.rows("receipts", (reader.id,)):
        checked["receipts"] += 1
        receipt = receipt_from_json(kept)
        for event in reader.fetch(seqs_from_json(kept)).values():
            yield Problem(
                where=f"event {event.id}",
                what=f"was forgotten at {receipt.at.isoformat()} and is still there",
                fix=f"everyword forget --id {event.id}",
            )


def while_readable(problems: Iterator[Problem]) -> Iterator[Problem]:
    """Pass problems on until a row can't be read, which is one too."""
    try:
        yield from problems
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"one can't be read ({type(error).__name__}: {error}); what comes after it was not checked"
        yield Problem(where=UNREADABLE, what=what, fix=RESTORE)


class _Said(Struct):
    """What the log says of its words."""

    words: int = 0
    postings: int = 0
    sum: int = 0


def _sum(terms: NDArray[np.int64], postings: Postings) -> int:
    with np.errstate(over="ignore"):
        mixed = terms.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= postings.seqs.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed ^= (postings.counts.astype(np.uint64) << np.uint64(8)) + postings.lengths
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        return int((mixed ^ (mixed >> np.uint64(32))).sum())
