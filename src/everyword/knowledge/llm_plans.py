"""Ask an LLM for plans that revise the concept graph, store them, and carry them out.

A plan is stored with the event after which it was made, and is carried out again whenever that event is folded, so that
a rebuild gives the same graph without an LLM. It is dropped when an event is forgotten that it rests on or quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from everyword.engine.engine import Engine, Progress
from everyword.engine.llm_queue import llm_to_fold, work_through
from everyword.errors import InvalidInput
from everyword.knowledge.concept_profiles import load_profile
from everyword.knowledge.concepts import GraphCache, carry_out, cause_of, executor_for
from everyword.knowledge.llm.plans import Proposal, ShownConcept, ShownEvent, View, propose
from everyword.knowledge.llm.stored_plans import plan_to_json
from everyword.knowledge.window import window_in
from everyword.models.protocol import LLM
from everyword.storage.protocol import PLAN, Job, Member, Reader, Writer
from everyword.text.terms import question_terms
from everyword.types.concepts import AddNode, UpdateNode, UpdatePlan
from everyword.types.events import Event
from everyword.types.ids import raw_event_id
from everyword.types.times import from_micros

WINDOW_TOKENS = 2_000  # the default of window()
_MOST_JOBS = 1_000  # of a space, finished by one plan
_RULES = "rules"


def settle_plans(engine: Engine, progress: Progress) -> int:
    """Ask the LLM about spaces whose concepts changed; count the answers. Raises only errors of the store."""
    return work_through(
        engine,
        llm_to_fold(engine),
        PLAN,
        partial(_plan, engine),
        failing="The revision of concepts by an LLM",
        on_done=lambda done: progress("plans", done, done),
    ).done


def _plan(engine: Engine, llm: LLM, job: Job) -> int:
    space = job.space
    with engine.store.reader(space) as reader:
        waiting = [one for one in reader.file.jobs(kind=PLAN, limit=_MOST_JOBS) if one.space == space]
        view = _view(reader, engine)
    if not view.is_worth_a_look:
        with engine.store.file_writer() as writer:
            writer.finish_jobs(waiting)
        return 0
    proposal = propose(llm, view)
    with engine.store.writer(space) as writer:
        # Jobs that arrived meanwhile stay in the queue.
        if not _still_there(writer, view.events):
            writer.file.fail_job(job, error="Some of its events were forgotten meanwhile.", due_at=engine.now())
            return 0
        if writer.file.finish_jobs(waiting):
            _carry_out_all(engine, writer, view, proposal)
    return 1


def _carry_out_all(engine: Engine, writer: Writer, view: View, proposal: Proposal) -> None:
    """Carry plans out on the current graph and store them; a refused one is stored to be counted."""
    mark = writer.fold_mark()
    anchor = None if mark is None else writer.last_event_upto(mark.upto)
    if mark is None or anchor is None:
        return
    cause = cause_of(anchor, writer.fetch([anchor])[anchor])
    executor = executor_for(engine, writer, mark)
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
        mark = mark._replace(epoch=mark.epoch + 1)  # invalidates the caches of other processes
        writer.set_fold_mark(mark)
    engine.cache(GraphCache).put(writer.space, mark, executor.graph)
    nothing = UpdatePlan(proposed_by=proposal.extractor)
    # An answer without a plan is stored too, so that the same events are not shown again.
    for plan in (*done, *(nothing for _ in refused)) or (nothing,):
        writer.put_plan(
            anchor,
            extractor=proposal.extractor,
            refused=plan is nothing and bool(refused),
            body=plan_to_json(plan),
            sources=sorted({anchor, *_sources(writer, view, plan)}),
        )
    if refused:
        engine.models.say(
            f"{len(done)} of {len(done) + len(refused)} changes of concepts that the LLM proposed were made; "
            f"the first refused one: {refused[0]}"
        )


def _view(reader: Reader, engine: Engine) -> View:
    """Collect the window for the prompt: concepts, events with their text, goals."""
    window = window_in(
        reader, wing=None, now=from_micros(engine.now()), budget=WINDOW_TOKENS, tokenizer=engine.tokenizer
    )
    lines = {item.id: item.text for item in window.items if item.kind == "event"}
    raw = [raw_id for id in lines if (raw_id := raw_event_id(id)) is not None]
    known = sorted(reader.find(raw).values(), key=lambda one: one.seq)
    # A window shows concepts that have a label. The LLM may find one for the others.
    holding = [id for held in reader.held_by([one.seq for one in known]).values() for id in held]
    ids = list(dict.fromkeys((*(item.id for item in window.items if item.kind == "concept"), *holding)))
    concepts = reader.concepts_by_id(ids)
    held: dict[str, list[Member]] = {}
    for member in reader.members(ids):
        held.setdefault(member.event_id, []).append(member)
    return View(
        space=reader.space,
        concepts=tuple(
            ShownConcept(one.id, one.label, one.description, one.events, one.written_by == _RULES)
            for id in ids
            if (one := concepts.get(id)) is not None and one.closed_at is None
        ),
        events=tuple(_shown(one.event, lines[one.event.id], held.get(one.event.id, ())) for one in known),
        goals=tuple(item.text for item in window.items if item.kind == "intent"),
        domain=load_profile(engine.settings.chosen_profile).prompt,
    )


def _shown(event: Event, line: str, members: Iterable[Member]) -> ShownEvent:
    """Show an event with its concepts, strongest first."""
    ranked = sorted(members, key=lambda one: (-one.weight, one.concept))
    return ShownEvent(
        id=event.id,
        text=event.text,
        line=line,
        speaker=event.speaker or "",
        concepts={one.concept: one.kind for one in ranked},
    )


def _still_there(reader: Reader, events: Sequence[ShownEvent]) -> bool:
    raw = [raw_id for one in events if (raw_id := raw_event_id(one.id)) is not None]
    return len(reader.find(raw)) == len(raw)


def _sources(reader: Reader, view: View, plan: UpdatePlan) -> Iterable[int]:
    """List the events that a plan rests on, and those whose words it uses.

    If it uses words of no shown event, these may come from any event of the concept.
    """
    shown = {one.id: one for one in view.events}
    raw = {raw_id: id for id in shown if (raw_id := raw_event_id(id)) is not None}
    seqs = {known.event.id: known.seq for known in reader.find(list(raw)).values()}
    terms = {id: set(question_terms(one.line)) for id, one in shown.items()}
    for operation in plan.operations:
        yield from (seqs[id] for id in operation.grounded_in if id in seqs)
        if not isinstance(operation, AddNode | UpdateNode):
            continue
        used = set(question_terms(f"{operation.label} {operation.description}"))
        yield from (seqs[id] for id, words in terms.items() if words & used)
        if used - {word for words in terms.values() for word in words}:
            yield from (member.seq for member in reader.members([operation.id]))
