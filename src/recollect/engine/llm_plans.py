"""Plans that an LLM proposes for the concept graph: queued as concepts come, kept like readings, done by the executor.

A plan is kept with the event after which it was proposed, and carried out again whenever that event is folded: a
rebuild comes to the same graph and asks nobody. It goes when an event is forgotten that it rests on, or whose words it
uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from recollect.core.clock import from_micros
from recollect.core.errors import InvalidInput
from recollect.core.folding import AddNode, UpdateNode, UpdatePlan
from recollect.core.ids import raw_event_id
from recollect.core.values import Event
from recollect.core.words import question_terms
from recollect.engine.beholding import window_in
from recollect.engine.engine import Engine, Progress
from recollect.engine.folding import carry_out, cause_of, executor_for
from recollect.engine.llm_queue import llm_to_fold, work_through
from recollect.fold.llm.kept import plan_to_json
from recollect.fold.llm.plans import Proposal, ShownConcept, ShownEvent, View, propose
from recollect.inference.protocol import LLM
from recollect.store.folding import COUNTED, Member
from recollect.store.protocol import Job, Reader, Writer
from recollect.store.written import PLAN

WINDOW_TOKENS = 2_000  # as much as window() shows by default
_JOBS_AT_ONCE = 1_000  # of a space, that one look at its window does away with
_RULES = "rules"


def settle_plans(engine: Engine, progress: Progress) -> int:
    """Let the LLM look at the windows of spaces whose concepts changed; count plans. Only the store's errors leave."""
    return work_through(
        engine,
        llm_to_fold(engine),
        PLAN,
        partial(_plan, engine),
        failing="What an LLM would make of concepts",
        told=lambda done: progress("plans", done, done),
    ).done


def _plan(engine: Engine, llm: LLM, job: Job) -> int:
    space = job.space
    with engine.store.reader() as reader:
        waiting = [one for one in reader.jobs(kind=PLAN, limit=_JOBS_AT_ONCE) if one.space == space]
        view = _view(reader, engine, space)
    if not view.is_worth_a_look:
        with engine.store.writer() as writer:
            writer.finish_jobs(waiting)
        return 0
    proposal = propose(llm, view)
    with engine.store.writer() as writer:
        # What was asked on account of later changes than these is asked again.
        if not _still_there(writer, space, view.events):
            writer.fail_job(job, error="Some of it was forgotten meanwhile.", due_at=engine.now())
            return 0
        if writer.finish_jobs(waiting):
            _take_in(engine, writer, space, view, proposal)
    return 1


def _take_in(engine: Engine, writer: Writer, space: str, view: View, proposal: Proposal) -> None:
    """Carry plans out on the graph as it is now, and keep them; one that can't be is kept to be counted."""
    mark = writer.fold_mark(space)
    anchor = None if mark is None else writer.last_event_upto(space, mark.upto)
    if mark is None or anchor is None:
        return
    cause = cause_of(anchor, writer.fetch(space, [anchor])[anchor])
    executor = executor_for(engine, writer, space, mark)
    done: list[UpdatePlan] = []
    refused = list(proposal.refused)
    for plan in proposal.plans:
        try:
            carry_out(writer, executor, cause, plan)
        except InvalidInput as error:
            refused.append(str(error))
        else:
            done.append(plan)
    if done:
        mark = mark._replace(epoch=mark.epoch + 1)  # what other processes remember of the graph is void
        writer.set_fold_mark(space, mark)
    engine.folds.put(space, mark, executor.graph)
    nothing = UpdatePlan(proposed_by=proposal.extractor)
    # An answer without any is kept too: what it was shown need not be looked at again.
    for plan in (*done, *(nothing for _ in refused)) or (nothing,):
        writer.put_plan(
            space,
            anchor,
            extractor=proposal.extractor,
            refused=plan is nothing and bool(refused),
            body=plan_to_json(plan),
            sources=sorted({anchor, *_sources(writer, space, view, plan)}),
        )
    if refused:
        engine.models.say(
            f"Of what the LLM proposed for the concepts, {len(done)} of {len(done) + len(refused)} changes were made; "
            f"the first that was refused: {refused[0]}"
        )


def _view(reader: Reader, engine: Engine, space: str) -> View:
    """Show the window: its concepts, its events with what was said, its goals."""
    window = window_in(
        reader, space, wing=None, now=from_micros(engine.now()), budget=WINDOW_TOKENS, tokenizer=engine.tokenizer
    )
    ids = [item.id for item in window.items if item.kind == "concept"]
    concepts = reader.concepts_by_id(space, ids)
    lines = {item.id: item.text for item in window.items if item.kind == "event"}
    raw = [raw_id for id in lines if (raw_id := raw_event_id(id)) is not None]
    known = sorted(reader.find(space, raw).values(), key=lambda one: one.seq)
    held: dict[str, list[Member]] = {}
    for member in reader.members(space, ids):
        held.setdefault(member.event_id, []).append(member)
    return View(
        space=space,
        concepts=tuple(
            ShownConcept(one.id, one.label, one.description, one.events, one.written_by == _RULES)
            for id in ids
            if (one := concepts.get(id)) is not None and one.closed_at is None
        ),
        events=tuple(_shown(one.event, lines[one.event.id], held.get(one.event.id, ())) for one in known),
        goals=tuple(item.text for item in window.items if item.kind == "intent"),
    )


def _shown(event: Event, line: str, members: Iterable[Member]) -> ShownEvent:
    """Show an event with what it counts for, the strongest first, apart from what it only lies beside."""
    ranked = sorted(members, key=lambda one: (-one.weight, one.concept))
    return ShownEvent(
        id=event.id,
        text=event.text,
        line=line,
        speaker=event.speaker or "",
        concepts={one.concept: one.kind for one in ranked if one.weight >= COUNTED},
        beside=frozenset(one.concept for one in ranked if one.weight < COUNTED),
    )


def _still_there(reader: Reader, space: str, events: Sequence[ShownEvent]) -> bool:
    raw = [raw_id for one in events if (raw_id := raw_event_id(one.id)) is not None]
    return len(reader.find(space, raw)) == len(raw)


def _sources(reader: Reader, space: str, view: View, plan: UpdatePlan) -> Iterable[int]:
    """List the events that a plan rests on, and those whose words it uses.

    Where it keeps words that rules had found in events which are not shown, these are all of the concept's.
    """
    shown = {one.id: one for one in view.events}
    raw = {raw_id: id for id in shown if (raw_id := raw_event_id(id)) is not None}
    seqs = {known.event.id: known.seq for known in reader.find(space, list(raw)).values()}
    terms = {id: set(question_terms(one.line)) for id, one in shown.items()}
    for operation in plan.operations:
        yield from (seqs[id] for id in operation.grounded_in if id in seqs)
        if not isinstance(operation, AddNode | UpdateNode):
            continue
        used = set(question_terms(f"{operation.label} {operation.description}"))
        yield from (seqs[id] for id, words in terms.items() if words & used)
        if used - {word for words in terms.values() for word in words}:
            yield from (member.seq for member in reader.members(space, [operation.id]))
