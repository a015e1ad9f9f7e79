"""Let an LLM revise the concept graph: show it the window, read its plans, store them and carry them out.

It sees the window and nothing else, by numbers. Each entry of its answer becomes an `UpdatePlan` like any that rules
make, and is done whole or not at all: one that is not borne out by the events that it cites takes nothing else along.
A plan is stored with the event after which it was made, and is carried out again whenever that event is folded, so that
a rebuild gives the same graph without an LLM. It is dropped when an event is forgotten that it rests on or quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct, field

from everyword.engine.engine import Engine, Progress
from everyword.engine.llm_queue import llm_to_fold, work_through
from everyword.errors import InvalidInput
from everyword.knowledge.concept_graph import load_profile, membership
from everyword.knowledge.concept_labels import LONGEST_DESCRIPTION, LONGEST_LABEL
from everyword.knowledge.concepts import AS_READ, GraphCache, carry_out, cause_of, executor_for, plan_to_json
from everyword.knowledge.llm.grounding import PLAN_PROMPT, Refused, as_written, beyond, extractor_of, prompt, unheard
from everyword.knowledge.window import window_in
from everyword.models.llm.json_schema import ask_json, list_schema, object_schema
from everyword.models.protocol import LLM, Schema
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import PLAN, Job, Member
from everyword.text.rendering import json_text, visible
from everyword.text.terms import question_terms, well_formed
from everyword.types.concepts import (
    LEAST_GROUNDS,
    AddEdge,
    AddNode,
    Concept,
    EdgeKind,
    MergeNodes,
    Operation,
    RemoveNode,
    UpdateNode,
    UpdatePlan,
    concept_id,
)
from everyword.types.events import Event, Json
from everyword.types.times import from_micros

MOST_MADE = 6  # concepts in one answer
MOST_WORDED = 12
MOST_MEMBERS = 24  # events that are put into a concept, or taken out of one
MOST_LINKS = 8
MOST_MERGES = 2  # as with rules, a wrong one takes much along
MOST_REMOVED = 4
MOST_CITED = 12  # events of one operation
SURE = 0.6  # weight of a link that an LLM sees: rules need two events that say so
ANSWER_TOKENS = 4_000

_NUMBERS: Schema = {"type": "array", "items": {"type": "integer"}, "maxItems": MOST_CITED}
_NUMBER: Schema = {"type": "integer"}
_TEXT: Schema = {"type": "string"}


_QUOTES = list_schema(object_schema(event=_NUMBER, quote=_TEXT), MOST_CITED)
_LINK: Schema = {"type": "string", "enum": [EdgeKind.RELATED_TO.value, EdgeKind.CAUSES.value]}
SCHEMA: Schema = object_schema(
    removes=list_schema(object_schema(concept=_NUMBER, events=_NUMBERS), MOST_REMOVED),
    merges=list_schema(object_schema(one=_NUMBER, other=_NUMBER, events=_NUMBERS), MOST_MERGES),
    concepts=list_schema(object_schema(label=_TEXT, description=_TEXT, events=_NUMBERS, quotes=_QUOTES), MOST_MADE),
    members=list_schema(object_schema(event=_NUMBER, concept=_NUMBER, belongs={"type": "boolean"}), MOST_MEMBERS),
    words=list_schema(object_schema(concept=_NUMBER, label=_TEXT, description=_TEXT, quotes=_QUOTES), MOST_WORDED),
    links=list_schema(object_schema(**{"from": _NUMBER, "to": _NUMBER, "kind": _LINK, "events": _NUMBERS}), MOST_LINKS),
)


class ShownEvent(NamedTuple):
    """An event in the window."""

    seq: int
    event: Event
    line: str  # as it is shown
    concepts: Mapping[str, EdgeKind]  # that it belongs to, the strongest first

    @property
    def id(self) -> str:
        return self.event.id


class View(NamedTuple):
    """The window, as an LLM is shown it."""

    space: str
    concepts: Sequence[Concept]
    events: Sequence[ShownEvent]
    goals: Sequence[str]
    domain: str  # what the profile says of the memory

    @property
    def is_worth_a_look(self) -> bool:
        """Tell whether there is anything that rules alone have seen, or enough that they made nothing of."""
        homeless = sum(not one.concepts for one in self.events)
        return any(one.written_by == _RULES for one in self.concepts) or homeless >= LEAST_GROUNDS

    def prompt(self) -> str:
        """Write the window as JSON, so that no text can pose as another part."""
        numbers = {one.id: number for number, one in enumerate(self.concepts, 1)}
        concepts = [
            {"number": n, "label": one.label, "description": one.description, "worded": one.written_by != _RULES}
            for n, one in enumerate(self.concepts, 1)
        ]
        events = [
            {"number": n, "text": one.line, "concepts": [numbers[id] for id in one.concepts if id in numbers]}
            for n, one in enumerate(self.events, 1)
        ]
        shown = {"concepts": concepts, "events": events, "goals": list(self.goals)}
        return json_text(shown | ({"domain": self.domain} if self.domain else {}), indent=1)

    def of(self, id: str) -> list[ShownEvent]:
        """List the events that count for a concept, as far as they are shown."""
        return [one for one in self.events if id in one.concepts]


Shown = TypeVar("Shown", Concept, ShownEvent)
Entry = Mapping[str, Any]


class Proposal(NamedTuple):
    """The plans that an LLM proposed, and why others were rejected."""

    extractor: str
    plans: list[UpdatePlan]
    refused: list[str]


def propose(llm: LLM, view: View) -> Proposal:
    """Let an LLM look at the window. Raise an LLMError where its answer can't be read at all."""
    reply = ask_json(llm, system=prompt(PLAN_PROMPT), prompt=view.prompt(), schema=SCHEMA, max_tokens=ANSWER_TOKENS)
    extractor = extractor_of(PLAN_PROMPT, reply.model)
    reader = _Answer(view, extractor)
    # What is there is put in order before something is added to it, and words come last.
    read: Mapping[str, Callable[[Entry], Iterable[Operation]]] = {
        "removes": reader.removed,
        "merges": reader.merged,
        "concepts": reader.made,
        "members": reader.member,
        "words": reader.worded,
        "links": reader.linked,
    }
    found = Proposal(extractor, [], [])
    for part, operations in read.items():
        # An event comes in before another goes: a concept of three may change one of them for another.
        for entry in sorted(reply.value[part], key=lambda one: not one.get("belongs", True)):
            try:
                found.plans.append(UpdatePlan(operations=tuple(operations(entry)), proposed_by=extractor))
            except Refused as reason:
                found.refused.append(str(reason))
    return found


class _Answer(Struct, frozen=True):
    """Reads the entries of an answer, and holds each against the window."""

    view: View
    extractor: str
    _worded: set[str] = field(default_factory=set[str])

    def removed(self, entry: Entry) -> Iterable[Operation]:
        concept = self._concept(entry["concept"])
        yield RemoveNode(id=concept.id, reason=AS_READ, grounded_in=self._cited(entry["events"], (concept.id,)))

    def merged(self, entry: Entry) -> Iterable[Operation]:
        pair = [self._concept(entry[end]) for end in ("one", "other")]
        if pair[0].id == pair[1].id:
            raise Refused("it merges a concept with itself")
        pair.sort(key=lambda one: (-one.events, one.id))  # the stronger absorbs the other
        events = self._cited(entry["events"], [one.id for one in pair])
        yield MergeNodes(id=pair[0].id, absorbed=pair[1].id, reason=AS_READ, grounded_in=events)

    def made(self, entry: Entry) -> Iterable[Operation]:
        events = [self._event(number) for number in dict.fromkeys(entry["events"])]
        if len(events) < LEAST_GROUNDS:
            raise Refused(f"it makes a concept of {len(events)} events, and {LEAST_GROUNDS} are needed")
        label, description, quotes = self._words(entry, events)
        founders = tuple(one.id for one in events)
        id = concept_id(self.view.space, founders)
        body: dict[str, Json] = {"quotes": quotes, "written_by": self.extractor}
        yield AddNode(id=id, label=label, description=description, reason=AS_READ, grounded_in=founders, body=body)
        yield from (membership(one, id, EdgeKind.GROUNDS, AS_READ) for one in founders)

    def member(self, entry: Entry) -> Iterable[Operation]:
        event, concept = self._event(entry["event"]), self._concept(entry["concept"])
        kind = event.concepts.get(concept.id)
        if (kind is not None) == entry["belongs"]:
            raise Refused("it puts an event where it is, or takes it out where it is not")
        if kind is None:
            yield membership(event.id, concept.id, EdgeKind.REINFORCES, AS_READ)
        else:
            yield RemoveNode(id=event.id, edge=kind, target=concept.id, reason=AS_READ, grounded_in=(event.id,))

    def worded(self, entry: Entry) -> Iterable[Operation]:
        concept = self._concept(entry["concept"])
        if concept.id in self._worded:
            raise Refused("it words one concept twice")
        label, description, quotes = self._words(entry, self.view.of(concept.id))
        self._worded.add(concept.id)
        body: dict[str, Json] = {"quotes": quotes, "written_by": self.extractor}
        cited = tuple(dict.fromkeys(str(id) for id, _ in quotes))
        yield UpdateNode(
            id=concept.id, label=label, description=description, body=body, reason=AS_READ, grounded_in=cited
        )

    def linked(self, entry: Entry) -> Iterable[Operation]:
        source, target = (self._concept(entry[end]).id for end in ("from", "to"))
        if source == target:
            raise Refused("it links a concept to itself")
        kind, cited = EdgeKind(entry["kind"]), self._cited(entry["events"], (source, target))
        yield AddEdge(source=source, target=target, kind=kind, weight=SURE, reason=AS_READ, grounded_in=cited)

    def _words(self, entry: Entry, events: Sequence[ShownEvent]) -> tuple[str, str, list[list[Json]]]:
        """Read label, description and quotes of a concept of some events: each must be borne out by these."""
        label, description = (well_formed(" ".join(entry[part].split())) for part in ("label", "description"))
        if not 0 < len(label) <= LONGEST_LABEL or not 0 < len(description) <= LONGEST_DESCRIPTION:
            raise Refused("a label or description is too long or missing")
        own = {one.id for one in events}
        quotes: list[list[Json]] = []
        for one in entry["quotes"]:
            event, quote = self._event(one["event"]), one["quote"].strip()
            place = visible(event.event.text).find(quote) if quote else -1
            if place < 0:
                raise Refused(f"nobody said {quote[:LONGEST_LABEL]!r}")
            if event.id not in own:
                raise Refused("it words a concept by an event that does not belong to it")
            quotes.append([event.id, event.event.text[place : place + len(quote)]])
        if not quotes:
            raise Refused("it words a concept and cites nothing")
        texts = [one.event.text for one in events]
        fault = unheard(label, texts) or beyond(description, texts, [one.event.speaker or "" for one in events])
        if fault is not None:
            raise Refused(fault)
        return as_written(label, texts), description, quotes

    def _cited(self, numbers: Sequence[int], concepts: Sequence[str]) -> tuple[str, ...]:
        events = [self._event(number) for number in dict.fromkeys(numbers)]
        own = tuple(one.id for one in events if not one.concepts.keys().isdisjoint(concepts))
        if not own:
            raise Refused("it cites no event of the concepts that it changes")
        return own

    def _concept(self, number: int) -> Concept:
        return _at(self.view.concepts, number, "concept")

    def _event(self, number: int) -> ShownEvent:
        return _at(self.view.events, number, "event")


def _at(shown: Sequence[Shown], number: int, what: str) -> Shown:
    if not 0 < number <= len(shown):
        raise Refused(f"there is no {what} {number} in the window")
    return shown[number - 1]


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
        waiting = reader.jobs_of(kind=PLAN, after=job.id - 1, limit=_MOST_JOBS)
        view = _view(reader, engine)
    if not view.is_worth_a_look:
        with engine.store.file_writer() as writer:
            writer.finish_jobs(waiting)
        return 0
    proposal = propose(llm, view)
    with engine.store.writer(space) as writer:
        # Jobs that arrived meanwhile stay in the queue.
        if len(writer.outlines([one.seq for one in view.events])) < len(view.events):
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
            carry_out(executor, cause, plan)
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
    known = sorted(reader.known(lines).values(), key=lambda one: one.seq)
    # A window shows concepts that have a label. The LLM may find one for the others.
    holding = [id for held in reader.held_by([one.seq for one in known]).values() for id in held]
    ids = list(dict.fromkeys((*(item.id for item in window.items if item.kind == "concept"), *holding)))
    concepts = reader.concepts_by_id(ids)
    held: dict[str, list[Member]] = {}
    for member in reader.members(ids):
        held.setdefault(member.event_id, []).append(member)
    domain = load_profile(engine.settings.chosen_profile).prompt
    shown: list[ShownEvent] = []
    for seq, event in ((one.seq, one.event) for one in known):
        ranked = sorted(held.get(event.id, ()), key=lambda one: (-one.weight, one.concept))
        shown.append(ShownEvent(seq, event, lines[event.id], {one.concept: one.kind for one in ranked}))
    standing = [one for id in ids if (one := concepts.get(id)) is not None and one.closed_at is None]
    return View(reader.space, standing, shown, [one.text for one in window.items if one.kind == "intent"], domain)


def _sources(reader: Reader, view: View, plan: UpdatePlan) -> Iterable[int]:
    """List the events that a plan rests on, and those whose words it uses.

    If it uses words of no shown event, these may come from any event of the concept.
    """
    seqs = {one.id: one.seq for one in view.events}
    terms = {one.seq: set(question_terms(one.line)) for one in view.events}
    for operation in plan.operations:
        yield from (seqs[id] for id in operation.grounded_in if id in seqs)
        if not isinstance(operation, AddNode | UpdateNode):
            continue
        used = set(question_terms(f"{operation.label} {operation.description}"))
        yield from (seq for seq, words in terms.items() if words & used)
        if used.difference(*terms.values()):
            yield from (member.seq for member in reader.members([operation.id]))
