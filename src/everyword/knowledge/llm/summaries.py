"""Let an LLM summarise sessions, in a few sentences with the events that each rests on; queue its jobs.

Jobs are queued for sessions that grew, and for concepts that are new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from everyword.engine.engine import Engine, Progress
from everyword.engine.llm_queue import llm_to_fold, work_through
from everyword.knowledge.llm.grounding import SUMMARY_PROMPT, beyond, extractor_of, prompt
from everyword.models.llm.json_schema import ask_json, list_schema, object_schema
from everyword.models.protocol import LLM
from everyword.storage.protocol import Reader, Writer
from everyword.storage.rows import PLAN, SUMMARISE, Job, WrittenRow
from everyword.text.rendering import LONGEST_NAME, json_text, one_line
from everyword.text.terms import well_formed
from everyword.types.concepts import Debt, JournalEntry
from everyword.types.events import Event, WrittenSentence
from everyword.types.times import day_in_words
from everyword.types.trust import states_nothing

Item = TypeVar("Item")

MOST_SENTENCES = 8
LONGEST_SENTENCE = 400  # characters
MOST_SHOWN = 24_000  # characters of a session in a prompt, some 6,000 tokens: of a longer one, turns at even distances
LONGEST_TURN = 800  # characters of one turn: what is longer was pasted
ANSWER_TOKENS = 1_500  # eight sentences with their citations

_SENTENCE = object_schema(text={"type": "string"}, turns={"type": "array", "items": {"type": "integer"}})
SCHEMA = object_schema(sentences=list_schema(_SENTENCE, MOST_SENTENCES))


class WrittenSummary(NamedTuple):
    """What an LLM wrote of a session, and what of it was rejected."""

    extractor: str
    sentences: tuple[WrittenSentence, ...]
    refused: tuple[str, ...]


def write_summary(llm: LLM, session: Sequence[Event]) -> WrittenSummary:
    """Let an LLM summarise a session. Raise an LLMError where its answer can't be read at all."""
    shown = shown_turns(session)
    asked = json_text({"turns": [_turn(number, one) for number, one in enumerate(shown, 1)]})
    reply = ask_json(llm, system=prompt(SUMMARY_PROMPT), prompt=asked, schema=SCHEMA, max_tokens=ANSWER_TOKENS)
    sentences: list[WrittenSentence] = []
    refused: list[str] = []
    names = sorted({name for one in shown for name in (one.speaker, one.role) if name})
    for one in reply.value["sentences"]:
        text = well_formed(" ".join(one["text"].split()))
        turns: list[int] = one["turns"]
        cited = [shown[number - 1] for number in dict.fromkeys(turns) if 0 < number <= len(shown)]
        fault = _fault(text, cited, names)
        if fault is None:
            sentences.append(WrittenSentence(text=text, event_ids=tuple(event.id for event in cited)))
        else:
            refused.append(fault)
    return WrittenSummary(extractor_of(SUMMARY_PROMPT, reply.model), tuple(sentences), tuple(refused))


def shown_turns(session: Sequence[Event]) -> list[Event]:
    """Choose the turns that are shown: all, or as many at even distances as there is room for."""
    turns = [one for one in session if not states_nothing(one) and one.text.strip()]
    size = sum(min(len(one.text), LONGEST_TURN) for one in turns)
    if size <= MOST_SHOWN:
        return turns
    return _evenly(turns, max(1, len(turns) * MOST_SHOWN // size))


def _evenly(items: Sequence[Item], most: int) -> list[Item]:
    """Choose so many items at even distances, the first and the last among them."""
    step = (len(items) - 1) / max(1, most - 1)
    return [items[round(number * step)] for number in range(most)] if len(items) > most else list(items)


def _turn(number: int, event: Event) -> dict[str, Any]:
    who = one_line((event.speaker or event.role or "")[:LONGEST_NAME])
    return {"number": number, "speaker": who, "said": day_in_words(event.at), "text": event.text[:LONGEST_TURN]}


def _fault(text: str, cited: Sequence[Event], names: Sequence[str]) -> str | None:
    if not text or len(text) > LONGEST_SENTENCE:
        return "it is empty or too long"
    if not cited:
        return "it cites no turn that was shown"
    return beyond(text, [one.text for one in cited], names)


LEAST_EVENTS = 4  # of a session with a summary
EVERY = 20  # new events after which a running session is summarised again
# Seconds without events after which a session is summarised earlier: the first time, and later.
QUIET_S = 600
QUIET_AGAIN_S = 6 * 3600
LEAST_LOOSE = 8  # events without a concept that no LLM has seen: it may find what they have in common
_NEWS = frozenset((Debt.EMERGENCE, Debt.WORDING))
_SECOND = 1_000_000  # microseconds


def owe_summaries(engine: Engine, writer: Writer, events: Iterable[Event]) -> None:
    """Queue a job for each session that grew: now if it grew much, otherwise for when it is quiet."""
    if engine.llm is None or not engine.settings.llm_fold:
        return
    sessions = sorted({one.session for one in events if one.session is not None})
    for session in sessions:
        owe_summary(writer, session, now=engine.now())


def owe_summary(writer: Writer, session: str, *, now: int) -> None:
    """Queue a job for a session, unless it is too short or its summary is complete."""
    reach = writer.session_reach(session)
    row = writer.written([session]).get(session)
    known = row.events if row is not None else 0
    if reach.first is None or reach.events < LEAST_EVENTS or reach.events == known:
        return
    quiet_s = QUIET_S if row is None else QUIET_AGAIN_S
    due_at = now if reach.events - known >= EVERY else now + quiet_s * _SECOND
    writer.owe_job(SUMMARISE, reach.first, due_at=due_at)


def written_of(row: WrittenRow | None, events: int) -> tuple[WrittenSentence, ...]:
    """Return the summary of a session, or nothing if it has grown since."""
    if row is None or row.events != events:
        return ()
    return tuple(WrittenSentence(text=text, event_ids=tuple(ids)) for text, ids in json.loads(row.body))


def forget_written(writer: Writer, sessions: Sequence[str], owed: Iterable[str]) -> None:
    """Remove the summaries of sessions that lost events, and queue new ones; also of those whose job went with them."""
    written = writer.written(sessions)
    writer.drop_written(list(written))
    for session in sorted({*written, *owed}):
        owe_summary(writer, session, now=0)


def owe_plan(
    engine: Engine, writer: Writer, seq: int, entries: Iterable[JournalEntry], *, loose: Iterable[int]
) -> None:
    """Queue a job after an event that made or renamed concepts, or after many events without a concept.

    Does nothing if an LLM has seen later events. loose: the events without a concept.
    """
    if engine.llm is None or not engine.settings.llm_fold:
        return
    seen = writer.last_plan()
    news = any(entry.debt in _NEWS for entry in entries)
    if seq > seen and (news or sum(one > seen for one in loose) >= LEAST_LOOSE):
        writer.owe_job(PLAN, seq, due_at=engine.now())


def forget_plans(writer: Writer, gone: Sequence[int]) -> bool:
    """Remove plans that rest on events or use their words; tell whether there were any."""
    resting = writer.plans_resting_on(gone)
    writer.drop_plans(resting)
    return bool(resting)


_MOST_READ = 400  # events of a session, evenly spaced; a prompt shows fewer


def settle_summaries(engine: Engine, progress: Progress) -> int:
    """Let the LLM summarise the sessions that are due; return their number. Raises only errors of the store."""
    return work_through(
        engine,
        llm_to_fold(engine),
        SUMMARISE,
        partial(_summarise, engine),
        failing="The summary of a session by an LLM",
        on_done=lambda done: progress("summaries", done, done),
    ).done


def _summarise(engine: Engine, llm: LLM, job: Job) -> int:
    with engine.store.reader(job.space) as reader:
        outline = reader.outlines([job.seq]).get(job.seq)
        session = outline.session if outline is not None else None
        count, events = _events(reader, session) if session is not None else (0, [])
    if session is None or count < LEAST_EVENTS or not shown_turns(events):
        with engine.store.file_writer() as writer:
            writer.finish_jobs([job])
        return 0
    written = write_summary(llm, events)
    with engine.store.writer(job.space) as writer:
        if len(writer.known(event.id for event in events)) < len(events):
            writer.file.fail_job(job, error="Some of its events were forgotten meanwhile.", due_at=engine.now())
            return 0
        if writer.file.finish_jobs([job]):
            body = json.dumps([[one.text, one.event_ids] for one in written.sentences], ensure_ascii=True)
            writer.put_written(WrittenRow(session, count, written.extractor, len(written.refused), body))
            owe_summary(writer, session, now=engine.now())  # it may have grown meanwhile
    return 1


def _events(reader: Reader, session: str) -> tuple[int, list[Event]]:
    """Return the number of events of a session, and the events or a sample of them."""
    seqs = reader.session_seqs(session)
    chosen = _evenly(seqs, _MOST_READ)
    events = reader.fetch(chosen)
    return len(seqs), [events[seq] for seq in chosen if seq in events]
