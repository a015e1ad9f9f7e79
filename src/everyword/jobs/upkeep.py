"""Maintenance of a memory: finish waiting work, rebuild indexes, forget events.

Workers, any number of processes on any number of machines, share the work that waits in a store.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from everyword.engine.encoding import embed
from everyword.engine.engine import Engine, Progress, silent
from everyword.engine.retry import again
from everyword.errors import InvalidInput, StoreBusy, StoreError, StoreInterrupted, StoreUnreachable
from everyword.ingest.write import records_to_forget
from everyword.jobs.deriver import catch_up, encode_some
from everyword.jobs.rebuild import derive_beside
from everyword.knowledge import graph
from everyword.knowledge.concepts import drop_folding, refold
from everyword.knowledge.graph import going, graph_without
from everyword.knowledge.llm.summaries import forget_plans
from everyword.knowledge.statements import derive_anew, read_without, stated
from everyword.models.protocol import Embedder
from everyword.storage.postings import SEAL_AT, Seqs, Terms, terms_of
from everyword.storage.protocol import FileWriter, Reader, Workplace, Writer
from everyword.storage.rows import EMBED, FACTS, NOT_OWED, PLAN, SCRUB_OWED, VIEWS, Model
from everyword.storage.sql.tables import DERIVED_TABLES, VECTOR_TABLES, WORD_TABLES
from everyword.text.terms import searchable_terms
from everyword.types.events import Event, Receipt
from everyword.types.times import from_micros

SeqsOf = Callable[[Reader], Seqs]  # finds the events to remove, in the transaction that removes them

_EMBED_BATCH = 64  # events embedded and committed together
_DROP_BATCH = 2_000  # rows of retired indexes removed in one transaction, so that other writers wait milliseconds
_REBUILD_TRIES = 5  # a rebuild of words starts over if events are forgotten meanwhile


class Settled(NamedTuple):
    """What `settle` did."""

    jobs: int
    derived: int  # events applied to views


def settle(engine: Engine, progress: Progress, *, scrub: bool = False) -> Settled:
    """Do the waiting work until none is left or the rest can't be done now.

    scrub: erase forgotten data from disk even if that locks out other users of the store.
    """
    scrubbed = _settle_scrub(engine) if scrub else 0
    total, derived = _settle_offline(engine, progress)
    total += scrubbed
    if engine.llm is not None:
        from everyword.knowledge.llm.plans import settle_plans
        from everyword.knowledge.llm.reading import settle_readings  # imports an HTTP client
        from everyword.knowledge.llm.summaries import settle_summaries

        total += settle_readings(engine, progress)
        total += settle_summaries(engine, progress)
        total += settle_plans(engine, progress)
    return Settled(total, derived)


def _settle_offline(engine: Engine, progress: Progress) -> Settled:
    """Do the work that needs no LLM."""
    total = _settle_scrub(engine) if engine.store.scrubs_itself else 0
    _update_words(engine, progress)  # not counted: no new events
    with engine.store.file_reader() as reader:
        spaces = reader.spaces()
        waiting = total + sum(reader.reader(space).job_counts().get(EMBED, (0, 0))[0] for space in spaces)
    refused = set[int]()
    while (encoded := encode_some(engine, due=False, refused=refused)) is not None:
        total += encoded
        progress("vectors", total, max(total, waiting))
    derived = 0
    for space in spaces:
        derived += catch_up(engine, space, tuple(VIEWS), progress=progress)
        engine.changed(space)
    total += engine.store.tend()
    _drop_leftovers(engine)
    return Settled(total, derived)


def rebuild(engine: Engine, progress: Progress, *, vectors: bool = True) -> None:
    """Rebuild every index from the log while the old ones stay in use, and switch when the new ones are complete."""
    with engine.store.file_reader() as reader:
        spaces = reader.spaces()
        total = reader.total_events()
        active = next((model for model in reader.models() if model.state == "active"), None)
    _rebuild_all_words(engine, spaces, progress, total)
    for space in spaces:
        derive_beside(engine, space, progress)
    wanted = engine.models.wanted(active)
    if vectors and wanted is not None and total:
        _rebuild_vectors(engine, wanted, spaces, progress, total)
    with engine.store.file_writer() as writer:
        for space in spaces:
            drop_folding(writer.writer(space), engine)  # only now: folding uses the new vectors
    remade = DERIVED_TABLES | WORD_TABLES | (VECTOR_TABLES if vectors and wanted is not None else frozenset[str]())
    engine.store.renew_digests(remade)  # all rows are new, so damage is gone
    _settle_offline(engine, progress)


def forget(engine: Engine, space: str, seqs_of: SeqsOf, *, dry_run: bool, scrub: bool = False) -> Receipt:
    """Remove events and everything derived from them, then erase them from disk.

    scrub: erase from disk even if that locks out other users of the store.
    """
    if dry_run:
        return again(engine, lambda: _would_forget(engine, space, seqs_of))
    # Removal finds postings by the terms of the current analysis.
    again(engine, lambda: _update_words(engine, silent), resumes=True)
    receipt, found = again(engine, lambda: _remove(engine, space, seqs_of))
    if not found:
        return receipt
    engine.changed(space)
    if not scrub and not engine.store.scrubs_itself:
        return replace(receipt, left=engine.store.unscrubbed)
    try:
        left = _scrub(engine)
    except StoreError as error:
        how = "settle()" if engine.store.scrubs_itself else "settle(scrub=True)"
        engine.models.say(f"Forgotten, but not yet erased from disk; {how} tries again: {error}")
        return replace(receipt, left=engine.store.unscrubbed)
    return replace(receipt, scrubbed=True, left=left)


def _would_forget(engine: Engine, space: str, seqs_of: SeqsOf) -> Receipt:
    with engine.store.reader(space) as reader:
        events = reader.fetch(seqs_of(reader).tolist()).values()
        return _receipt(engine, space, [one for one in events if one.record is None], dry_run=True)


def _remove(engine: Engine, space: str, seqs_of: SeqsOf) -> tuple[Receipt, bool]:
    """Remove events and everything derived from them in one transaction; tell whether there were any."""
    with engine.store.writer(space) as writer:
        seqs = seqs_of(writer)
        seqs = np.union1d(seqs, np.array(records_to_forget(writer, seqs.tolist()), np.int64))
        events = list(writer.fetch(seqs.tolist()).values())
        receipt = _receipt(engine, space, [one for one in events if one.record is None], dry_run=False)
        if not events:
            return receipt, False
        gone = set(seqs.tolist())
        # Other events that an LLM read with the help of these words are read again without them.
        resting = [seq for seq in writer.resting_on(sorted(gone)) if seq not in gone]
        abouts = writer.abouts_of([*gone, *resting])
        stating = writer.stating(sorted(abouts))
        after = writer.said_after(sorted(gone))
        writer.drop_readings(resting)
        writer.drop_refusals(resting)
        lost = going(writer, gone)
        replan = forget_plans(writer, sorted(gone))
        refold(writer, engine, min(gone))
        removed = writer.remove(seqs)
        if replan and (last := writer.last_event_upto(max(gone))) is not None:
            writer.owe_job(PLAN, last, due_at=engine.now())
        writer.owe_readings(resting)
        # The turn before may have helped to understand a turn.
        again = read_without(writer, engine.reader, [seq for seq in after if seq not in gone])
        abouts = abouts.union(*(one.abouts for one in again.values()))
        stating = sorted({*stating, *again, *writer.stating(sorted(abouts))} - gone)
        changed: list[int] = []
        if abouts:
            # Derive statements again that the forgotten events had replaced or confirmed.
            changed = derive_anew(writer, engine.reader, abouts, stating, again)
        graph_without(writer, lost)
        _rename(writer, [seq for seq, one in again.items() if one.renamed])
        graph.reread(writer, stated(writer, sorted({*resting, *again, *changed})))
        receipt = replace(receipt, removed=removed)
        writer.put_receipt(receipt, gone)
        writer.put_forgotten(events)
        writer.file.set_fact(SCRUB_OWED, secrets.token_hex(8))
    return receipt, True


def _rename(writer: Writer, seqs: Sequence[int]) -> None:
    """Replace the names of events that were read again."""
    upto = writer.cursor(FACTS)
    here = [seq for seq in seqs if seq <= upto]
    if here:
        lost = going(writer, here)
        writer.drop_claims(here)
        writer.drop_mentions(here)
        graph_without(writer, lost)
        graph.add_events(writer, stated(writer, here))


def _settle_scrub(engine: Engine) -> int:
    with engine.store.file_reader() as reader:
        owed = reader.scrub_owed() is not None
    if owed:
        _scrub(engine)
    return int(owed)


def _scrub(engine: Engine) -> tuple[str, ...]:
    """Erase forgotten data from disk; return what that does not cover."""
    with engine.store.file_reader() as reader:
        owed = reader.scrub_owed()
    left = engine.store.scrub()
    with engine.store.file_writer() as writer:
        if writer.scrub_owed() == owed:  # else something was removed meanwhile, and still has to be scrubbed
            writer.set_fact(SCRUB_OWED, NOT_OWED)
    return left


def _drop_leftovers(engine: Engine) -> None:
    """Remove retired indexes in small transactions."""
    with engine.store.file_reader() as reader:
        spaces, retired = reader.spaces(), [model for model in reader.models() if model.state == "retired"]
    for model in retired:
        dropped = 1
        while dropped:
            with engine.store.file_writer() as writer:
                dropped = writer.drop_vectors(model, limit=_DROP_BATCH)
    for space in spaces:
        dropped = 1
        while dropped:
            with engine.store.writer(space) as writer:
                dropped = writer.drop_postings(limit=_DROP_BATCH)


# Rebuilding


def _update_words(engine: Engine, progress: Progress) -> None:
    """Rebuild the word indexes that an older version of the analysis made."""
    with engine.store.file_reader() as reader:
        old = [space for space in reader.spaces() if reader.reader(space).has_old_words]
        total = reader.total_events() if old else 0
    _rebuild_all_words(engine, old, progress, total)


def _rebuild_all_words(engine: Engine, spaces: Sequence[str], progress: Progress, total: int) -> None:
    done = 0
    for space in spaces:
        with engine.store.reader(space) as reader:
            is_sound = reader.has_sound_meta()
        if not is_sound:
            with engine.store.writer(space) as writer:
                writer.renew_meta()
        done = _rebuild_words(engine, space, progress, done, total)


def _rebuild_words(engine: Engine, space: str, progress: Progress, done: int, total: int) -> int:
    for _ in range(_REBUILD_TRIES):
        with engine.store.writer(space) as writer:
            begun = writer.restart_words()
        upto = words = count = 0
        while True:
            with engine.store.writer(space) as writer:
                log = writer.log(after=upto, limit=SEAL_AT)
                rows = _analysed(log)
                words += sum(terms.length for _, terms in rows)
                count += len(rows)
                if len(log) < SEAL_AT:
                    if writer.adopt_words(begun, rows, upto=upto, words=words):
                        progress("words", done + count, total)
                        return done + count
                    break
                writer.index_words(begun, rows)
            upto = log[-1][0]
            progress("words", done + count, total)
    raise StoreBusy("The word index could not be rebuilt because events are being forgotten.", fix="Try again.")


def _analysed(rows: Sequence[tuple[int, Event]]) -> list[tuple[int, Terms]]:
    return [(seq, terms_of(searchable_terms(event))) for seq, event in rows if event.record is None]


def _rebuild_vectors(engine: Engine, embedder: Embedder, spaces: Sequence[str], progress: Progress, total: int) -> None:
    card = embedder.card
    with engine.store.file_writer() as writer:
        model = writer.add_model(
            name=card.name, version=card.version, dims=card.dims, token_dims=card.token_dims, state="building"
        )
    done = 0
    for space in spaces:
        after = 0
        while True:
            with engine.store.reader(space) as reader:
                rows = reader.without_vectors(model, after=after, limit=_EMBED_BATCH)
            if not rows:
                break
            vectors = embed(embedder, [event for _, event in rows])
            with engine.store.writer(space) as writer:
                _check_building(writer.file, model)
                writer.put_vectors(model, dict(zip([seq for seq, _ in rows], vectors, strict=True)))
            after = rows[-1][0]
            done += len(rows)
            progress("vectors", done, total)
    with engine.store.file_writer() as writer:
        _check_building(writer, model)
        writer.activate(model)


def _check_building(writer: FileWriter, model: Model) -> None:
    if not any(one.id == model.id and one.state == "building" for one in writer.models()):
        raise StoreBusy("Another rebuild took over, and this one stopped.", fix="Wait for the other one.")


# Forgetting


def _receipt(engine: Engine, space: str, events: Sequence[Event], *, dry_run: bool) -> Receipt:
    return Receipt(
        at=from_micros(engine.now()),
        space=space,
        dry_run=dry_run,
        ids=tuple(event.id for event in events),
        removed={"events": len(events)},
    )


_POLL_S = 5.0  # between looks for jobs that no notification announces, such as retries
_SKIP_SPACE_S = 30.0  # when no job of a space can be done now: a model fails, or this worker lacks the LLM
_INTERRUPTED_S = 0.1  # before the next try after a conflict with another worker or a lost connection
_UNREACHABLE_S = 1.0  # between tries while the server is away


def work(engine: Engine, *, stop: threading.Event, once: bool, on_done: Callable[[str, int], None]) -> int:
    """Do waiting jobs, one space at a time, until `stop` is set; with `once`, until none is left. Count them.

    on_done: called with a space and the number of jobs that were done there.
    """
    place = engine.store
    if not isinstance(place, Workplace):
        raise InvalidInput(
            "Workers need a PostgreSQL memory. The jobs of a file are done by the process that opens it.",
            fix="Run: everyword settle",
        )
    total = 0
    skipped_until: dict[str, float] = {}
    while not stop.is_set():
        try:
            now = time.monotonic()
            skipped_until = {space: until for space, until in skipped_until.items() if until > now}
            space, done = _work_on_one_space(engine, place, skipped_until)
            if space is None:
                if once:
                    break
                place.wait_for_work(_POLL_S)
            elif done:
                total += done
                on_done(space, done)
            else:
                skipped_until[space] = now + _SKIP_SPACE_S
        except StoreInterrupted:
            stop.wait(_INTERRUPTED_S)  # this worker or another takes the same jobs again
        except (StoreUnreachable, StoreBusy):
            if once:
                raise
            stop.wait(_UNREACHABLE_S)
    return total


def _work_on_one_space(engine: Engine, place: Workplace, skipped: dict[str, float]) -> tuple[str | None, int]:
    with place.owed(now=engine.now(), but=sorted(skipped)) as space:
        if space is None:
            return None, 0
        return space, sum(settle(engine.on(place.only(space)), silent))
