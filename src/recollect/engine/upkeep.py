"""Upkeep: waiting jobs, rebuilding indexes beside those in use, forgetting."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from recollect.core.clock import from_micros
from recollect.core.errors import ModelError, RecollectError, StoreBusy, StoreError
from recollect.core.values import Event, Receipt
from recollect.core.words import ANALYSIS_VERSION, searchable_terms
from recollect.engine import graph
from recollect.engine.attention import mark_behind
from recollect.engine.derive import (
    LINKED_TURNS,
    catch_up,
    derive_anew,
    graph_behind,
    leaning,
    relink,
    stated,
)
from recollect.engine.engine import Engine, Progress, silent
from recollect.engine.folding import drop_folding, fold_waiting, refold
from recollect.engine.graph_forgetting import going, graph_without
from recollect.engine.owing import forget_plans
from recollect.engine.passages import embed
from recollect.engine.rebuilding import derive_beside
from recollect.engine.records import going_with
from recollect.engine.summaries import refresh
from recollect.inference.protocol import Embedder
from recollect.store.facts import ANALYSIS, NOT_OWED, SCRUB_OWED, analysis_of, scrub_owed
from recollect.store.postings import SEAL_AT, Terms, terms_of
from recollect.store.protocol import EMBED, Job, Model, Reader, Seqs, Writer
from recollect.store.tables import DERIVED_TABLES, VECTOR_TABLES, WORD_TABLES
from recollect.store.written import PLAN

SeqsOf = Callable[[Reader], Seqs]  # which events a request names, in the snapshot where they are removed

_JOBS_A_ROUND = 64  # embedded together and committed together
_RETRY_FIRST_S = 2  # after a failed attempt; doubles up to a quarter of an hour
_RETRY_MOST_S = 900
_DROPPED_AT_ONCE = 2_000  # rows of retired indexes removed in one transaction: other writers wait milliseconds
_DERIVED_AT_ONCE = 256  # events read for what they state in one transaction: a quarter of a second
_REBUILD_TRIES = 5  # a rebuild of words begins again when something is forgotten meanwhile
_SECOND = 1_000_000  # microseconds
_REFOLD_S = 2.0  # that forgetting spends on folding anew what came after; the rest waits for writes and settle()


def settle(engine: Engine, progress: Progress, *, scrub: bool = False) -> int:
    """Do the work that waits, until none is left or what is left can't be done now; count what was done.

    scrub: rewrite what lies on disk after forgetting also where that locks out others.
    """
    total = _settle_scrub(engine) if scrub else 0
    total += _settle_offline(engine, progress)
    if engine.llm is not None:
        from recollect.engine.llm_plans import settle_plans
        from recollect.engine.llm_reading import settle_readings  # brings an HTTP client along
        from recollect.engine.llm_summaries import settle_summaries

        total += settle_readings(engine, progress)
        total += settle_summaries(engine, progress)
        total += settle_plans(engine, progress)
    return total


def _settle_offline(engine: Engine, progress: Progress) -> int:
    """Do what needs no LLM."""
    total = _settle_scrub(engine) if engine.store.scrubs_itself else 0
    _renew_words(engine, progress)  # not counted: the same events, indexed once more
    while True:
        with engine.store.reader() as reader:
            jobs = reader.jobs(kind=EMBED, limit=_JOBS_A_ROUND)
            serving = engine.models.serving(reader)
        if not jobs or serving.embedder is None:
            break
        embedded = _embed_jobs(engine, jobs, serving.embedder, serving.model)
        total += embedded
        progress("vectors", total, total + len(jobs) - embedded)
        if embedded < len(jobs):
            break
    total += _catch_up(engine, progress)
    with engine.store.reader() as reader:
        unmarked = [space for space in reader.spaces() if reader.marked_upto(space) is not None]
    for space in unmarked:
        mark_behind(engine.store, space)  # not counted: the same events, read once more
    total = max(total, fold_waiting(engine, progress))  # what waited for its vectors waited for this too
    total += engine.store.tend()
    _drop_leftovers(engine)
    return total


def rebuild(engine: Engine, progress: Progress, *, vectors: bool = True) -> None:
    """Make every index anew from the log, beside those in use, and switch when they are complete."""
    with engine.store.reader() as reader:
        spaces = reader.spaces()
        total = reader.total_events()
        active = next((model for model in reader.models() if model.state == "active"), None)
    _rebuild_all_words(engine, spaces, progress, total)
    for space in spaces:
        derive_beside(engine, space, progress)
    wanted = engine.models.wanted(active)
    if vectors and wanted is not None and total:
        _rebuild_vectors(engine, wanted, spaces, progress, total)
    with engine.store.writer() as writer:
        for space in spaces:
            drop_folding(writer, engine, space)  # now that the vectors are those that it will be folded with
    remade: frozenset[str] = DERIVED_TABLES | WORD_TABLES
    if vectors and wanted is not None:
        remade |= VECTOR_TABLES
    engine.store.renew_digests(remade)  # all rows are new: what was damaged is gone
    _settle_offline(engine, progress)


def forget(engine: Engine, space: str, seqs_of: SeqsOf, *, dry_run: bool, scrub: bool = False) -> Receipt:
    """Remove events and all that was derived from them, then every byte of them from the disk.

    scrub: the latter also where it locks out others who share the store.
    """
    if dry_run:
        with engine.store.reader() as reader:
            events = reader.fetch(space, seqs_of(reader).tolist()).values()
            return _receipt(engine, space, [one for one in events if one.record is None], dry_run=True)
    _renew_words(engine, silent)  # what is removed is looked for by its terms: it must have been indexed by these
    with engine.store.writer() as writer:
        seqs = seqs_of(writer)
        seqs = np.union1d(seqs, np.array(going_with(writer, space, seqs.tolist()), np.int64))
        events = list(writer.fetch(space, seqs.tolist()).values())
        receipt = _receipt(engine, space, [one for one in events if one.record is None], dry_run=False)
        if not events:
            return receipt
        gone = set(seqs.tolist())
        # What an LLM found in others with the help of these words is read again without them.
        resting = [seq for seq in writer.resting_on(space, sorted(gone)) if seq not in gone]
        abouts = writer.abouts_of(space, [*gone, *resting])
        stating = writer.stating(space, sorted(abouts))
        later = writer.said_later(space, sorted(gone), limit=LINKED_TURNS)  # these will stand closer to those before
        after = writer.said_later(space, sorted(gone), limit=LINKED_TURNS, silent=True)
        writer.drop_readings(space, resting)
        writer.drop_refusals(space, resting)
        lost = going(writer, space, gone)
        replan = forget_plans(writer, space, sorted(gone))
        refold(writer, engine, space, min(gone))
        removed = writer.remove(space, seqs)
        if replan and (last := writer.last_event_upto(space, max(gone))) is not None:
            writer.owe_job(space, PLAN, last, due_at=engine.now())
        writer.owe_readings(space, resting)
        # "Scratch that" may mean something else now.
        amending = leaning(writer, space, [seq for seq in after if seq not in gone])
        abouts = abouts.union(*amending.values())
        stating = sorted({*stating, *amending, *writer.stating(space, sorted(abouts))} - gone)
        if abouts:
            # What the forgotten had replaced or confirmed is as if they had never been said.
            derive_anew(writer, space, abouts, stating)
        relink(writer, space, [seq for seq in later if seq not in gone])
        graph_without(writer, space, lost)
        graph.reread(writer, space, stated(writer, space, resting))
        graph_behind(writer, space, limit=_DERIVED_AT_ONCE)
        receipt = replace(receipt, removed=removed)
        writer.put_receipt(receipt, gone)
        writer.put_forgotten(space, events)
        writer.set_fact(SCRUB_OWED, secrets.token_hex(8))
    if engine.settings.fold:
        fold_waiting(engine, silent, space, seconds=_REFOLD_S)
    if not scrub and not engine.store.scrubs_itself:
        return replace(receipt, left=engine.store.unscrubbed)
    try:
        left = _scrub(engine)
    except StoreError as error:
        how = "settle()" if engine.store.scrubs_itself else "settle(scrub=True)"
        engine.models.say(f"Forgotten, but not yet rewritten on disk; {how} will try again: {error}")
        return replace(receipt, left=engine.store.unscrubbed)
    return replace(receipt, scrubbed=True, left=left)


# Jobs


def _embed_jobs(engine: Engine, jobs: Sequence[Job], embedder: Embedder, model: Model | None) -> int:
    """Give events their vectors; count the jobs that are no more."""
    by_space: dict[str, list[Job]] = {}
    for job in jobs:
        by_space.setdefault(job.space, []).append(job)
    done = 0
    for space, its_jobs in by_space.items():
        with engine.store.reader() as reader:
            events = reader.fetch(space, [job.seq for job in its_jobs])
        try:
            vectors = dict(zip(events, embed(embedder, list(events.values())), strict=True))
        except ModelError as error:
            _postpone(engine, its_jobs, error)
            continue
        with engine.store.writer() as writer:
            active = next((one for one in writer.models() if one.state == "active"), None)
            if active is None:
                active = engine.models.register(writer, embedder)
            elif active != model:
                continue  # a rebuild switched models meanwhile: the next round embeds with the new one
            writer.put_vectors(space, active, vectors)
            for job in its_jobs:
                if job.seq not in events:
                    writer.drop_job(job)
        done += len(its_jobs)
    return done


def _postpone(engine: Engine, jobs: Sequence[Job], error: RecollectError) -> None:
    engine.models.say(f"Vectors have to wait: {error}")
    with engine.store.writer() as writer:
        for job in jobs:
            wait_s = min(_RETRY_MOST_S, _RETRY_FIRST_S * 2**job.attempts)
            writer.fail_job(job, error=str(error), due_at=engine.now() + wait_s * _SECOND)


def _settle_scrub(engine: Engine) -> int:
    with engine.store.reader() as reader:
        owed = scrub_owed(reader) is not None
    if owed:
        _scrub(engine)
    return int(owed)


def _scrub(engine: Engine) -> tuple[str, ...]:
    """Rewrite what lies on disk; tell what that does not reach."""
    with engine.store.reader() as reader:
        owed = scrub_owed(reader)
    left = engine.store.scrub()
    with engine.store.writer() as writer:
        if scrub_owed(writer) == owed:  # else something was removed meanwhile, and still has to be scrubbed
            writer.set_fact(SCRUB_OWED, NOT_OWED)
    return left


def _catch_up(engine: Engine, progress: Progress) -> int:
    """Derive what events state where that is behind."""
    total = 0
    with engine.store.reader() as reader:
        behind = [space for space in reader.spaces() if reader.derived_upto(space) is not None]
    for space in behind:
        done = _DERIVED_AT_ONCE
        while done == _DERIVED_AT_ONCE:
            with engine.store.writer() as writer:
                done = catch_up(writer, space, limit=_DERIVED_AT_ONCE)
            total += done
            progress("artifacts", total, total)
    return total + _catch_up_graph(engine, progress)


def _catch_up_graph(engine: Engine, progress: Progress) -> int:
    """Read what the graph lacks, and summarise the sessions that have grown since they were."""
    total = 0
    with engine.store.reader() as reader:
        spaces = reader.spaces()
        behind = [space for space in spaces if reader.graph_state(space).upto is not None]
        grown = [(space, row.session) for space in spaces for row in reader.summaries(space) if row.pending]
    for space in behind:
        done = _DERIVED_AT_ONCE
        while done == _DERIVED_AT_ONCE:
            with engine.store.writer() as writer:
                done = graph_behind(writer, space, limit=_DERIVED_AT_ONCE)
            total += done
            progress("graph", total, total)
    for space, session in grown:
        with engine.store.writer() as writer:
            refresh(writer, space, session)
    return total


def _drop_leftovers(engine: Engine) -> None:
    """Remove what rebuilds left behind, a little at a time."""
    with engine.store.reader() as reader:
        spaces, retired = reader.spaces(), [model for model in reader.models() if model.state == "retired"]
    for model in retired:
        dropped = 1
        while dropped:
            with engine.store.writer() as writer:
                dropped = writer.drop_vectors(model, limit=_DROPPED_AT_ONCE)
    for space in spaces:
        dropped = 1
        while dropped:
            with engine.store.writer() as writer:
                dropped = writer.drop_postings(space, limit=_DROPPED_AT_ONCE)


# Rebuilding


def _renew_words(engine: Engine, progress: Progress) -> None:
    """Index the words anew where an older version of their analysis did."""
    with engine.store.reader() as reader:
        analysis, spaces, total = analysis_of(reader), reader.spaces(), reader.total_events()
    if analysis < ANALYSIS_VERSION:
        _rebuild_all_words(engine, spaces, progress, total)


def _rebuild_all_words(engine: Engine, spaces: Sequence[str], progress: Progress, total: int) -> None:
    done = 0
    for space in spaces:
        done = _rebuild_words(engine, space, progress, done, total)
    with engine.store.writer() as writer:
        writer.set_fact(ANALYSIS, str(ANALYSIS_VERSION))


def _rebuild_words(engine: Engine, space: str, progress: Progress, done: int, total: int) -> int:
    for _ in range(_REBUILD_TRIES):
        with engine.store.writer() as writer:
            begun = writer.restart_words(space)
        upto = words = count = 0
        while True:
            with engine.store.writer() as writer:
                log = writer.log(space, after=upto, limit=SEAL_AT)
                rows = _analysed(log)
                words += sum(terms.length for _, terms in rows)
                count += len(rows)
                if len(log) < SEAL_AT:
                    if writer.adopt_words(space, begun, rows, upto=upto, words=words):
                        progress("words", done + count, total)
                        return done + count
                    break
                writer.index_words(space, begun, rows)
            upto = log[-1][0]
            progress("words", done + count, total)
    raise StoreBusy("Events are being forgotten all the time, so that the words could not be rebuilt. Try again.")


def _analysed(rows: Sequence[tuple[int, Event]]) -> list[tuple[int, Terms]]:
    return [(seq, terms_of(searchable_terms(event))) for seq, event in rows if event.record is None]


def _rebuild_vectors(engine: Engine, embedder: Embedder, spaces: Sequence[str], progress: Progress, total: int) -> None:
    card = embedder.card
    with engine.store.writer() as writer:
        model = writer.add_model(
            name=card.name, version=card.version, dims=card.dims, token_dims=card.token_dims, state="building"
        )
    done = 0
    for space in spaces:
        after = 0
        while True:
            with engine.store.reader() as reader:
                rows = reader.without_vectors(space, model, after=after, limit=_JOBS_A_ROUND)
            if not rows:
                break
            vectors = embed(embedder, [event for _, event in rows])
            with engine.store.writer() as writer:
                _check_building(writer, model)
                writer.put_vectors(space, model, dict(zip([seq for seq, _ in rows], vectors, strict=True)))
            after = rows[-1][0]
            done += len(rows)
            progress("vectors", done, total)
    with engine.store.writer() as writer:
        _check_building(writer, model)
        writer.activate(model)


def _check_building(writer: Writer, model: Model) -> None:
    if not any(one.id == model.id and one.state == "building" for one in writer.models()):
        raise StoreBusy("Another rebuild took over; this one stopped. Nothing is lost.")


# Forgetting


def _receipt(engine: Engine, space: str, events: Sequence[Event], *, dry_run: bool) -> Receipt:
    return Receipt(
        at=from_micros(engine.now()),
        space=space,
        dry_run=dry_run,
        ids=tuple(event.id for event in events),
        removed={"events": len(events)},
    )
