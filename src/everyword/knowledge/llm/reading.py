"""Let an LLM read events: build its prompt, ask in two passes, store its reading, and derive the statements in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from everyword.engine.engine import Engine, Progress
from everyword.engine.llm_queue import llm_to_read, work_through
from everyword.errors import LLMError
from everyword.knowledge.graph import mentions_of, reread
from everyword.knowledge.intents import intents_in
from everyword.knowledge.llm.answers import (
    LONGEST_READ,
    SCHEMA,
    LLMReading,
    Named,
    Noted,
    Scene,
    claimed,
    drafted,
    is_of_llm,
    same_fact,
    same_words,
    to_body,
)
from everyword.knowledge.llm.grounding import EXTRACT, EXTRACTOR, GLEAN, LONGEST_MODEL, prompt
from everyword.knowledge.names import read_entities
from everyword.knowledge.reading import speaker_name
from everyword.knowledge.statements import REJECT, change_of, derive, derive_anew, readings_of, stated
from everyword.knowledge.window import window_in
from everyword.models.llm.json_schema import ask_json
from everyword.models.protocol import LLM, Tokenizer
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import READ, STATEMENTS, Job
from everyword.text.spans import prose
from everyword.text.terms import question_terms
from everyword.types.events import PROGRAMS, Event
from everyword.types.graph import Entity
from everyword.types.statements import Statement
from everyword.types.trust import UNVOUCHED

_TURNS_BEFORE = 2  # shown with an event, mostly enough to resolve pronouns
_NAMES_SHOWN = 40  # most frequent names
_ENTITIES_SHOWN = 20  # of the event and the turns before it
_ABOUTS_SHOWN = 5  # subjects with known statements: the speaker and those named
_COMPARED = 200  # newest statements about one subject, among which similar ones are sought
_KNOWN_SHOWN = 20  # similar statements: about 600 tokens
_WINDOW_TOKENS = 400  # a dozen lines
_LEAST_WORDS = 3  # of an event that is worth a request: "Thanks!" is not


_Said = defaultdict[int, list[str]]  # words that are shown, by the event they come from


class Shown(NamedTuple):
    """A scene and the other events whose words it contains."""

    scene: Scene
    texts: Mapping[int, str]  # by seq


def shown_of(reader: Reader, seq: int, event: Event, tokenizer: Tokenizer) -> Shown:
    """Collect what an LLM is shown with an event, from earlier events only."""
    before = sorted(reader.said_earlier(seq, limit=_TURNS_BEFORE))
    turns = reader.fetch(before)
    names = reader.names_known(limit=_NAMES_SHOWN)
    known, stated = _similar(reader, seq, event, [name for name, _ in names])
    said = _Said(list)
    for at, turn in (*turns.items(), *stated.items()):
        said[at].append(turn.text)
    for name, at in names:  # a name comes from the event that has it
        said[at].append(name)
    entities, named = _entities(reader, seq, event, before, said)
    scene = Scene(
        event=event,
        before=tuple(turns[at] for at in before),
        known=tuple(known),
        noted=tuple(reader.statements_of([seq]).get(seq, ())),
        names=tuple(dict.fromkeys((speaker_name(event), *(name for name, _ in names)))),
        entities=tuple(entities),
        named=tuple(named),
        claims=tuple(_claims(reader, seq)),
        window=tuple(_window(reader, seq, event, before, tokenizer, said)),
    )
    return Shown(scene, {at: " ".join(words) for at, words in said.items() if at != seq})


def sources_of(shown: Shown, reading: LLMReading) -> list[int]:
    """List the other events whose words a reading uses; it is dropped when one of them is forgotten."""
    event = shown.scene.event
    own = set(question_terms(f"{event.text} {speaker_name(event)}"))
    borrowed = {term for words in reading.words for term in question_terms(words)} - own
    return [seq for seq, text in shown.texts.items() if borrowed & set(question_terms(text))]


def _similar(reader: Reader, seq: int, event: Event, names: Sequence[str]) -> tuple[list[Statement], dict[int, Event]]:
    """Find what holds about those whom an event speaks of and was stated before it; most words in common first."""
    text = event.text[:LONGEST_READ].casefold()
    named = (name for name in names if name.casefold() in text)
    abouts = list(dict.fromkeys((speaker_name(event), *named)))[:_ABOUTS_SHOWN]
    words = set(question_terms(event.text[:LONGEST_READ]))
    standing = [one for about in abouts for one in reader.standing(about, limit=_COMPARED)]
    found = reader.known(one.event_id for one in standing)
    earlier = [one for one in standing if one.event_id in found and found[one.event_id].seq < seq]
    earlier.sort(key=lambda one: -len(words & set(question_terms(one.content))))
    chosen = earlier[:_KNOWN_SHOWN]
    sources = [found[one.event_id] for one in chosen]
    return chosen, {known.seq: known.event for known in sources}


def _entities(
    reader: Reader, seq: int, event: Event, before: Sequence[int], said: _Said
) -> tuple[list[Entity], list[Named]]:
    """Read whom the event and the turns before it name, all their names, and where the event has which."""
    rows = [row for row in reader.mentions(seqs=[seq, *before]) if row.start >= 0]
    rows.sort(key=lambda row: (row.seq != seq, row.start))
    homes = {row.id: row.home for row in reader.names_of(ids=sorted({row.name for row in rows}))}
    entities = read_entities(reader, list(dict.fromkeys(homes[row.name] for row in rows)))[:_ENTITIES_SHOWN]
    family = reader.names_of(homes=[one.id for one in entities])
    first = reader.first_named([row.id for row in family])
    for row in family:
        said[first.get(row.id, seq)] += row.known.written
    own = [row for row in rows if row.seq == seq]
    spoken = mentions_of(event, own)
    named = [
        Named(mention.span, mention.text, mention.type, homes[row.name])
        for mention, row in zip(spoken, own, strict=True)
    ]
    return entities, named


def _claims(reader: Reader, seq: int) -> Iterator[str]:
    for claim in reader.claims_of(seqs=[seq]):
        draft = claim.draft
        yield f"{draft.subject_name} {draft.relation.replace('_', ' ')} {draft.object_name}"


def _window(
    reader: Reader, seq: int, event: Event, before: Sequence[int], tokenizer: Tokenizer, said: _Said
) -> Iterator[str]:
    """Return the lines of the window before an event, without those that rest on it or on later events."""
    window = window_in(reader, wing=event.wing, now=event.at, budget=_WINDOW_TOKENS, tokenizer=tokenizer)
    intents = intents_in(reader, now=event.at, wing=event.wing) if any(i.kind == "intent" for i in window.items) else ()
    grounds = {one.id: [ground.event_id for ground in one.grounds] for one in intents}
    for item in window.items:
        sources = _sources(reader, item.kind, item.id, grounds)
        if sources and max(sources) < seq and not set(sources) & set(before):
            for source in sources:
                said[source].append(item.text)
            yield item.text


def _sources(reader: Reader, kind: str, id: str, grounds: Mapping[str, Sequence[str]]) -> list[int]:
    """List the events of a line of the window."""
    if kind == "concept":
        return [member.seq for member in reader.members([id])]
    ids = grounds.get(id, ()) if kind == "intent" else (id,)
    return [known.seq for known in reader.known(ids).values()]


# Events whose readings are derived in one transaction. Deriving costs as much for one event as for many, so rounds
# double: results of a short queue are visible soon, and a long queue needs few rounds.
_FIRST_ROUND = 16
_LONGEST_ROUND = 512
_NOT_WORTH_READING = "none"


def settle_readings(engine: Engine, progress: Progress) -> int:
    """Let the LLM read the queued events; return their number. Raises only errors of the store."""
    _queue_past(engine)
    total, most = 0, _FIRST_ROUND
    while True:
        jobs: list[Job] = []  # with stored readings that are not derived yet
        worked = work_through(
            engine,
            llm_to_read(engine),
            READ,
            lambda llm, job, jobs=jobs: _read(engine, llm, job, jobs),
            failing="The reading of events by an LLM",
            on_done=lambda done, before=total: progress("readings", before + done, before + done),
            most=most,
        )
        most = min(2 * most, _LONGEST_ROUND)
        total += worked.done
        if jobs:
            _derive_jobs(engine, jobs)
        if worked.last:
            return total


def _queue_past(engine: Engine) -> None:
    """Queue events that were stored before there was an LLM, as many as the settings allow."""
    left = engine.settings.llm_read_past if llm_to_read(engine) is not None else 0
    with engine.store.file_reader() as reader:
        spaces = reader.spaces() if left else []
    for space in spaces:
        with engine.store.writer(space) as writer:
            seqs = writer.unread(but_roles=sorted(PROGRAMS), but_sources=UNVOUCHED, limit=left)
            writer.owe_readings(seqs)
        left -= len(seqs)


# Reading one event


def _read(engine: Engine, llm: LLM, job: Job, done: list[Job]) -> int:
    """Read an event and store the reading; count it, unless there is nothing to store."""
    with engine.store.reader(job.space) as reader:
        if reader.readings([job.seq]):
            done.append(job)
            return 1  # stored by a process that died before deriving
        event = reader.fetch([job.seq]).get(job.seq)
        worth = event is not None and len(prose(event.text[:LONGEST_READ]).split()) >= _LEAST_WORDS
        shown = shown_of(reader, job.seq, event, engine.tokenizer) if event is not None and worth else None
    if shown is None:
        with engine.store.writer(job.space) as writer:
            if writer.file.finish_jobs([job]) and event is not None:
                # Stored as read, so that it is not queued again.
                nothing = LLMReading(extractor=_NOT_WORTH_READING)
                writer.put_reading(job.seq, extractor=nothing.extractor, body=to_body(nothing), sources=())
        return 0
    reading = read_event(llm, shown.scene)
    with engine.store.writer(job.space) as writer:
        if len(writer.outlines([job.seq, *shown.texts])) <= len(shown.texts):
            # Read it again without the forgotten events. If it was forgotten itself, its job is gone.
            writer.file.fail_job(job, error="Events shown with it were forgotten meanwhile.", due_at=engine.now())
            return 0
        writer.put_reading(
            job.seq, extractor=reading.extractor, body=to_body(reading), sources=sources_of(shown, reading)
        )
    done.append(job)
    return 1


# Deriving what was read


def _derive_jobs(engine: Engine, jobs: Sequence[Job]) -> None:
    """Derive the statements of readings, in the order of the log, and finish their jobs."""
    with engine.store.file_writer() as writer:
        by_space: dict[str, list[int]] = {}
        for job in writer.finish_jobs(jobs):
            by_space.setdefault(job.space, []).append(job.seq)
        for space, seqs in by_space.items():
            upto = writer.writer(space).cursor(STATEMENTS)
            # Later events will be derived with their readings.
            _derive_readings(engine, writer.writer(space), [seq for seq in sorted(seqs) if seq <= upto])


def _derive_readings(engine: Engine, writer: Writer, seqs: Sequence[int]) -> None:
    """Derive the statements of new readings as if they had existed when the events arrived."""
    rows = sorted(writer.fetch(seqs).items())
    found = {
        seq: reading._replace(accepted=tuple(filter(is_of_llm, reading.accepted)))
        for seq, reading in readings_of(writer, rows).items()
    }
    stating: dict[str, list[int]] = {}
    for seq, reading in found.items():
        for draft in reading.accepted:
            stating.setdefault((draft.about or "").casefold(), []).append(seq)
    # Subjects without later statements need no new derivation, which is the common and cheap case.
    last = {about: max(writer.stating([about]), default=0) for about in stating}
    newest = {about for about, its_seqs in stating.items() if last[about] <= min(its_seqs)}
    derive(writer, list(found.items()), engine.reader, newest)
    anew = stating.keys() - newest
    if anew:
        derive_anew(writer, engine.reader, set(anew), sorted({*writer.stating(sorted(anew)), *found}))
    reread(writer, stated(writer, list(found)))
    writer.put_changes(
        (seq, change_of(reading.event, REJECT, reason))
        for seq, reading in found.items()
        for reason in reading.by_llm.refused
    )


ANSWER_TOKENS = 3_000  # of a pass: twenty statements of some 150 tokens each


def read_event(llm: LLM, scene: Scene) -> LLMReading:
    """Let an LLM read an event twice. Raise an LLMError where the first pass gives nothing that can be used.

    A second pass whose answer can't be used leaves the first one's finds; one that may work later fails the whole.
    """
    first, told = _pass(llm, EXTRACT, scene, ())
    try:
        second, _ = _pass(llm, GLEAN, scene, [*(noted.draft.content for noted in first.noted), *told])
    except LLMError as error:
        if error.retryable:
            raise
        second = LLMReading(refused=(f"{GLEAN}: no second pass: {type(error).__name__}",))
    return _joined(first, second)


def _pass(llm: LLM, name: str, scene: Scene, found: Sequence[str]) -> tuple[LLMReading, list[str]]:
    """Ask once; give what came of it, and the facts of the answer in words, for the next pass."""
    reply = ask_json(llm, system=prompt(name), prompt=scene.prompt(found), schema=SCHEMA, max_tokens=ANSWER_TOKENS)
    answer: dict[str, list[dict[str, Any]]] = reply.value
    extractor = f"{EXTRACTOR} {reply.model[:LONGEST_MODEL]}"
    told = [f"{fact['subject']} {fact['relation'].replace('_', ' ')} {fact['object']}" for fact in answer["facts"]]
    noted, refused = drafted(scene, answer["statements"], extractor)
    facts, not_claimed = claimed(scene, answer["facts"], extractor)
    refused += not_claimed
    return LLMReading(extractor=extractor, noted=tuple(noted), facts=tuple(facts), refused=tuple(refused)), told


def _joined(first: LLMReading, second: LLMReading) -> LLMReading:
    """Put two passes together; what says the same in nearly the same words is one."""
    kept: list[Noted] = []
    for noted in (*first.noted, *second.noted):
        if not any(same_words(noted.draft.content, other.draft.content) for other in kept):
            kept.append(noted)
    facts = {same_fact(fact): fact for fact in (*second.facts, *first.facts)}
    refused = (*first.refused, *second.refused)
    return LLMReading(extractor=first.extractor, noted=tuple(kept), facts=tuple(facts.values()), refused=refused)
