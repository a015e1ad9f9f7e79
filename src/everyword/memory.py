"""The library as its users see it: one class, `Memory`, with its parts `graph`, `concepts`, `intents` and `admin`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

import numpy as np
from msgspec.structs import replace

from everyword.api.arguments import (
    Conditions,
    EventConditions,
    SessionConditions,
    Time,
    checked_clock,
    checked_count,
    checked_id,
    checked_id_start,
    checked_limit,
    checked_order,
    checked_question,
    name_to_find,
    recipe_of,
    required_choice,
    settings_of,
    spelled_out,
    time_or_none,
)
from everyword.api.scope import Scope, in_pages, public, public_in_steps
from everyword.api.statements import (
    correct_statement,
    read_history,
    read_statement,
    retract_statement,
    statement_filter,
)
from everyword.engine.encoding import Models
from everyword.engine.engine import Engine, LLMSpec, Progress, RerankerSpec, silent
from everyword.engine.retry import again
from everyword.errors import InvalidEvent, InvalidFilter, InvalidInput, NotAllowed, NotFound
from everyword.ingest.validation import checked_name
from everyword.jobs.deriver import BackgroundDeriver, lag
from everyword.models.embedders import EmbedderSpec
from everyword.models.tokenizers import TokenizerSpec
from everyword.retrieval.config import HYBRID, SearchConfig
from everyword.settings import AUTO, DEFAULT_PROFILE, Settings
from everyword.storage.opening import open_store
from everyword.storage.postings import Seqs
from everyword.storage.protocol import Reader, Workplace
from everyword.storage.rows import CONCEPTS, FACTS, STATEMENTS, Cursor
from everyword.types.events import (
    DEFAULT_SPACE,
    Answer,
    Context,
    Event,
    Hit,
    Hits,
    Imported,
    Json,
    Receipt,
    Session,
    SessionOrder,
    Stats,
    Written,
    WrittenBatch,
)
from everyword.types.graph import Fact
from everyword.types.intents import Identity, WakeUp
from everyword.types.records import Reason
from everyword.types.service import NOW, Feed
from everyword.types.statements import History, Statement, Status
from everyword.types.times import Clock, from_micros, utc_now

# Only what `open` and `add` need is imported here; all else where it is needed, so that a new process starts sooner.
if TYPE_CHECKING:
    from everyword.api.admin import Admin
    from everyword.api.concepts import Concepts
    from everyword.api.graph import Graph
    from everyword.api.intents import Intents

Given = Event | Mapping[str, Json]

# Tokens: 50 for who, 120 for what matters now, 30 for the fence; little enough for every session of every agent.
WAKE_UP_TOKENS = 170
_MOST_NEWS = 1_000  # of each kind in one feed
_FIRST_PAGE = 20  # events that events() reads at first, for a caller who may stop after a few


class Memory:
    """Long-term memory in one file. `graph`, `concepts`, `intents` and `admin` hold what is asked for less often.

    >>> memory = Memory.open(":memory:", embedder="hashing")
    >>> memory.add("I moved to Lisbon in March.", speaker="Ana", at="2026-04-02T10:00Z").new
    True
    >>> [hit.text for hit in memory.recall("Where does Ana live?")]
    ['I moved to Lisbon in March.']

    A handle sees one space. `space()` and `wing()` give handles on other scopes of the same file; closing the memory
    that `open` returned closes them all. Handles may be used from any number of threads.
    """

    def __init__(self, scope: Scope, *, owner: bool = False, deriver: BackgroundDeriver | None = None) -> None:
        if not isinstance(scope, Scope):  # pyright: ignore[reportUnnecessaryIsInstance]  Memory("memory.db")
            raise InvalidInput(f"Memory({scope!r}) opens nothing.", fix="Use Memory.open(...).")
        self.scope = scope
        self._owner = owner  # closes the store
        self._deriver = deriver

    @cached_property
    def graph(self) -> Graph:
        """Give what is known of people, places, projects and things."""
        from everyword.api.graph import Graph

        return Graph(self.scope)

    @cached_property
    def concepts(self) -> Concepts:
        """Give the topics that events are about."""
        from everyword.api.concepts import Concepts

        return Concepts(self.scope)

    @cached_property
    def intents(self) -> Intents:
        """Give what somebody wants, plans or promised."""
        from everyword.api.intents import Intents

        return Intents(self.scope)

    @cached_property
    def admin(self) -> Admin:
        """Give upkeep, copies, keys, webhooks and waiting jobs."""
        from everyword.api.admin import Admin

        return Admin(self.scope)

    @classmethod
    def open(
        cls,
        location: str | os.PathLike[str],
        embedder: EmbedderSpec = None,
        *,
        space: str = DEFAULT_SPACE,
        tokenizer: TokenizerSpec = None,
        models: str | os.PathLike[str] | None = None,
        recipe: str | SearchConfig = HYBRID,
        reranker: RerankerSpec = None,
        llm: LLMSpec = None,
        clock: Clock = utc_now,
        create: bool = True,
        settings: Settings | None = None,
        **options: Any,
    ) -> Memory:
        """Open a memory, or make a new one.

        location: a path, ":memory:", or "postgresql://USER@HOST/DATABASE". embedder: None for the file's own
        or the default, "everyword-small", "colbert-small", "hashing", "none" for words only, an endpoint, or an object.
        tokenizer: what budgets are counted with. models: a folder with weights. reranker: a third stage,
        "cross-encoder", "onnx:FOLDER", an endpoint, "llm". llm: "openai:MODEL", "ollama:MODEL", "anthropic:MODEL" or
        "URL#MODEL". create=False refuses to make a new file. options: fields of `Settings`, as durability="normal",
        which go before those of `settings`.
        """
        chosen, stages, clock = settings_of(settings, options), recipe_of(recipe), checked_clock(clock)
        with ExitStack() as on_failure:
            store = open_store(location, chosen, create=create)
            on_failure.callback(store.close)
            engine = Engine(
                store=store,
                models=Models(embedder, models),
                settings=chosen,
                clock=clock,
                recipe=stages,
                tokenizer_spec=tokenizer,
                reranker_spec=reranker,
                llm_spec=llm,
            )
            on_failure.callback(engine.close)
            # A wrong setting is told at once, not at the first question.
            _ = engine.llm, engine.reranker, tokenizer and engine.tokenizer
            if chosen.chosen_profile != DEFAULT_PROFILE:
                from everyword.knowledge.concept_graph import load_profile

                load_profile(chosen.chosen_profile)
            scope = Scope(engine, checked_name("space", space, chosen))
            deriver = None
            if chosen.background and not store.read_only and not isinstance(store, Workplace):
                deriver = BackgroundDeriver(engine)
                engine.listeners.append(deriver.wake)
            on_failure.pop_all()
            return cls(scope, owner=True, deriver=deriver)

    # Scopes

    def space(self, name: str, *, walled: bool = False, editor: str | None = None) -> Memory:
        """Give a handle on another space of the same file. Nothing crosses between spaces.

        walled: hide the file's location, its size and the number of other spaces. editor: the author of all edits
        through this handle; overrides `by`.
        """
        checked = checked_name("space", name, self.scope.engine.settings)
        return Memory(Scope(self.scope.engine, checked, walled=walled, editor=editor))

    def wing(self, name: str) -> Memory:
        """Give a handle on one wing: events written by it belong to the wing, and reads see the wing alone."""
        from everyword.ingest.redaction.redact import redact_event, rules_of

        settings = self.scope.engine.settings
        clean, _ = redact_event({"wing": checked_name("wing", name, settings)}, rules_of(settings, None))
        return Memory(replace(self.scope, wing=clean["wing"]))

    @property
    def location(self) -> str:
        """Tell where this memory lives; a walled handle does not."""
        return "" if self.scope.walled else self.scope.engine.store.location

    @property
    def notices(self) -> list[str]:
        """List what works less well than requested, and why."""
        return list(self.scope.engine.models.notices)

    # Writing

    @overload
    def add(
        self,
        text: str,
        *,
        speaker: str | None = None,
        session: str | None = None,
        at: Time | None = None,
        key: str | None = None,
        wing: str | None = None,
        role: str | None = None,
        source: str | None = None,
        meta: Mapping[str, Json] | None = None,
        redact: str | None = None,
        wait: bool = True,
    ) -> Written: ...

    @overload
    def add(
        self,
        text: Sequence[Mapping[str, Any]],
        *,
        session: str | None = None,
        at: Time | None = None,
        wing: str | None = None,
        source: str | None = None,
        meta: Mapping[str, Json] | None = None,
        redact: str | None = None,
        wait: bool = True,
    ) -> WrittenBatch: ...

    @public_in_steps
    def add(
        self,
        text: str | Sequence[Mapping[str, Any]],
        *,
        speaker: str | None = None,
        session: str | None = None,
        at: Time | None = None,
        key: str | None = None,
        wing: str | None = None,
        role: str | None = None,
        source: str | None = None,
        meta: Mapping[str, Json] | None = None,
        redact: str | None = None,
        wait: bool = True,
    ) -> Written | WrittenBatch:
        """Remember one event, or a list of chat messages. It is on disk and searchable when this returns.

        source: where it comes from: "user", "assistant", "import" (a file by anybody), "tool" or "web". Left out, it
        follows from the role. What comes from a tool or a web page is trusted less than what a person said.
        redact: what is taken out of its text, names and meta first: "credentials", "personal" (also numbers of persons)
        or "none" (default: as the memory is set). What was taken out is in `redacted` of the result, by kind.
        wait: False stores the words and returns; the event is searched by words alone until it is encoded, which the
        background does.

        Messages are {"role", "content"}, as the SDKs of OpenAI and Anthropic have them, where "name" is the speaker and
        "at" or "timestamp" the time; all other arguments hold for each of them. The result is a list, in their order.
        """
        if isinstance(text, Mapping):
            raise InvalidEvent(
                "text must be a string or a list of chat messages, not one message.",
                fix='Put the message in a list: add([{"role": "user", "content": ...}]).',
            )
        if isinstance(text, str | bytes) or not isinstance(text, Sequence):
            event: dict[str, Json] = {"text": text, "speaker": speaker, "key": key, "role": role}
            event |= {"session": session, "at": at, "wing": wing, "source": source, "meta": meta}
            return self._write([event], redact, wait)[0]
        if (speaker, key, role) != (None, None, None):
            raise InvalidInput(
                "speaker, key and role are for one event.", fix='Say who speaks in each message: "role", "name".'
            )
        from everyword.ingest.chat_messages import events_of_messages

        clock = self.scope.engine.clock
        events = events_of_messages(text, session=session, at=at, wing=wing, source=source, meta=meta, clock=clock)
        return self._write(events, redact, wait)

    @public_in_steps
    def add_many(self, events: Iterable[Given], *, redact: str | None = None, wait: bool = True) -> WrittenBatch:
        """Remember a batch in one transaction: all of it or, on any error, nothing.

        An event that is known already (by its key, or by text, session, speaker and time) is left as it is and reported
        as not new. The same key with other content is a KeyConflict; so is, without a key, the same event for another
        wing than it is in. redact, wait: as for `add`.
        """
        if isinstance(events, str | Mapping) or not isinstance(events, Iterable):
            raise InvalidEvent("add_many takes a list of events.")
        return self._write(list(events), redact, wait)

    @public_in_steps
    def import_events(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        redact: str | None = None,
        tz: str = "UTC",
        wait: bool = False,
        again: bool = False,
        progress: Progress = silent,
    ) -> Imported:
        """Read a file, folder or zip, each file by its own format, in batches, each a transaction.

        Running it again reads what is new: files that have not changed are not opened, those that have grown are read
        from where reading stopped. What can't be read is counted and skipped. format: its name, where it can't be told
        by looking. redact: "credentials", "personal" or "none", as `add` has it; what an export wrote stays as it was.
        tz: the zone of times that name none, such as "Europe/Lisbon", "+02:00" or "local", this machine's. wait: True
        encodes each batch before the next; otherwise words are searchable at once and the background encodes, or
        admin.settle(). again: read also what was read before, and bring back what was forgotten since. `admin.follow`
        goes on for as long as something comes.
        """
        from everyword.api.imports import import_path

        return import_path(
            self.scope, path, format=format, redact=redact, tz=tz, encode=wait, again=again, progress=progress
        )

    # Asking

    @public
    @spelled_out(Conditions)
    def recall(
        self,
        query: str,
        k: int | Literal["auto"] | None = 10,
        *,
        now: Time | None = None,
        **conditions: Unpack[Conditions],
    ) -> Hits:
        """Find the events that answer a question, best first; `confidence` tells whether an answer is there at all.

        k: "auto" or None lets the question decide: those near the best one, more where it asks for several things.
        since/until: when it happened (until is exclusive). as_of: only what was known then. now: the asker's clock,
        from which "last week" is counted. project: the wing at hand. What belongs to it or to no wing is searched; only
        if that holds no answer, other wings are, without the instructions that were given there. "": only what belongs
        to no wing.
        """
        from everyword.api.questions import MOST_HITS, search_hits

        which = self.scope.filter(**conditions)
        count = None if k is None or k == AUTO else checked_count("k", k, MOST_HITS)
        hits = search_hits(self.scope, checked_question(query), count, which, self.scope.moment(now))
        engine = self.scope.engine
        engine.accesses.note(self.scope.space, (hit.seq for hit in hits), engine.clock())
        return hits

    @public
    @spelled_out(Conditions)
    def context(
        self,
        query: str,
        budget: int = 1200,
        *,
        hits: Sequence[Hit] | None = None,
        style: str = "plain",
        now: Time | None = None,
        **conditions: Unpack[Conditions],
    ) -> Context:
        """Write the lines that answer a question, each with a citation mark, within a token budget.

        It says first whether an answer is likely here, and what holds now where that bears on the question. Lines that
        hold no more name the line that replaced them. If nothing fits, the text only says so.

        hits: what `recall` gave for the question, to be packed instead of searching again; only `project` may be given
        beside it. style: "reasoning" puts an
        instruction before the lines that fits the kind of question, for an LLM that answers from them. "layered" goes
        from sessions to facts to lines: what the best sessions were about, and what is true of those whom it names.
        """
        from everyword.api.answers import TOKENS_A_LINE, pack_hits
        from everyword.api.questions import MOST_HITS, search_hits
        from everyword.retrieval.context import STYLES

        which, question = self.scope.filter(**conditions), checked_question(query)
        if style not in STYLES:
            raise InvalidInput(f"style={style!r} is not known.", fix=f"Choose {', '.join(STYLES)}.")
        most = min(MOST_HITS, max(10, checked_count("budget", budget, 1_000_000) // TOKENS_A_LINE))
        moment = self.scope.moment(now)
        if hits is None:
            hits = search_hits(self.scope, question, most, which, moment)
        elif not isinstance(hits, Sequence) or not all(isinstance(hit, Hit) for hit in hits):
            raise InvalidInput("hits is what recall() gave: a list of hits.")
        elif replace(which, project=None) != self.scope.filter():
            raise InvalidInput("Give either hits or conditions on what to search, not both.")
        return pack_hits(self.scope, question, hits, budget, which, moment, style=style, most=most)

    @public_in_steps
    @spelled_out(Conditions)
    def ask(
        self,
        query: str,
        budget: int = 1200,
        *,
        on_text: Callable[[str], None] | None = None,
        now: Time | None = None,
        **conditions: Unpack[Conditions],
    ) -> Answer:
        """Answer a question from the memory alone, with citations, or say that it holds no answer.

        Without an LLM the answer is a quote, or the date that the quote comes to. With one it is written from a context
        of `budget` tokens, and its citations are checked; on_text: gets the words as they are written.
        """
        from everyword.api.answers import answer_from_memory

        question, which = checked_question(query), self.scope.filter(**conditions)
        checked_count("budget", budget, 1_000_000)
        return answer_from_memory(self.scope, question, budget, which, self.scope.moment(now), on_text)

    @public
    def wake_up(
        self,
        budget: int = WAKE_UP_TOKENS,
        *,
        wing: str | None = None,
        topic: str | None = None,
        now: Time | None = None,
    ) -> WakeUp:
        """Write what an agent should know before the first word, within a token budget, each line cited.

        L0, who it is; L1, what holds now (instructions, people, preferences, decisions) and what is due; L2, with a
        `topic`, what is known about it. L3 is recall(). wing: the project at hand (default: that of the last event);
        "": none, so that nothing of any project is told. Each line says in `reasons` why it was chosen; while nothing
        happens, the choice stays the same.
        """
        from everyword.api.wake_up import write_wake_up

        return write_wake_up(self.scope, budget, wing=wing, topic=topic, now=now)

    @public_in_steps
    def identity(
        self, text: str | None = None, *, wing: str | None = None, by: str | None = None, redact: str | None = None
    ) -> Identity | None:
        """Tell who the agent is, or set it; about 50 tokens are told at every start.

        Only this sets it, and the last one that was set counts; earlier ones stay in the log. wing: for one project
        alone. by: who sets it (default: "user"). redact: as for `add`.
        """
        from everyword.api.wake_up import read_identity, set_identity

        scope = self.scope.wing if wing is None else checked_name("wing", wing, self.scope.engine.settings)
        which = self.scope.filter(wing=wing)  # refuses another wing than the handle's
        if text is not None:
            set_identity(self.scope, text, wing=scope, by=by, redact=redact)

        def current() -> Identity | None:
            with self.scope.reader() as reader:
                return read_identity(self.scope, reader, which.wing)

        return again(self.scope.engine, current)

    # Reading

    @public
    def get(self, id: str | None = None, *, key: str | None = None) -> Event:
        """Read one event by its id or by its key. The first six digits of an id are enough."""
        if (id is None) == (key is None):
            raise InvalidInput("Give either an id or a key.")
        with self.scope.reader() as reader:
            if key is not None:
                by_key = reader.find_key(name_to_find("key", key, self.scope.engine.settings))
                found = [] if by_key is None else [by_key]
            else:
                found = reader.find_between(*checked_id_start(id))
        events = [known.event for known in found if self.scope.wing in (None, known.event.wing)]
        if not events:
            raise NotFound(f"There is no event with {'key' if key is not None else 'id'} {key or id!r} here.")
        if len(events) > 1:
            raise InvalidInput(f"The ids of {len(events)} events begin with {id!r}.", fix="Give more of its digits.")
        return events[0]

    @public
    @spelled_out(EventConditions)
    def events(
        self, *, newest_first: bool = False, limit: int | None = None, **conditions: Unpack[EventConditions]
    ) -> Iterator[Event]:
        """Go through events in the order in which they happened; memory stays flat however many there are."""
        which, most = self.scope.filter(**conditions), checked_limit(limit)

        def page(after: Cursor | None, size: int) -> list[tuple[Cursor, Event]]:
            with self.scope.reader() as reader:
                return reader.page(which, after=after, newest_first=newest_first, limit=size)

        return in_pages(self.scope, page, None, most=most, first=_FIRST_PAGE)

    @public
    @spelled_out(SessionConditions)
    def sessions(
        self, *, order: str = SessionOrder.LATEST, limit: int | None = None, **conditions: Unpack[SessionConditions]
    ) -> list[Session]:
        """List sessions, each with what it was about.

        order: "latest" first, "oldest" first, or "longest" first, which has the most events.
        """
        from everyword.knowledge.sessions import list_sessions, with_summaries

        which, by = self.scope.filter(**conditions), checked_order(order)
        most = None if limit is None else checked_limit(limit)
        with self.scope.reader(STATEMENTS, FACTS) as reader:
            return with_summaries(reader, list_sessions(reader, which, by, limit=most), which)

    @public
    def statements(
        self,
        *,
        kind: str | None = None,
        about: str | None = None,
        status: str = Status.CURRENT,
        tag: str | None = None,
        as_of: Time | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[Statement]:
        """List typed statements, each with the words that it rests on, in the order in which they were learned.

        status: "current", "superseded", "retracted" or "any". as_of: what was known then, as it was known then.
        newest_first: the last learned first.
        """
        which = statement_filter(self.scope, kind=kind, about=about, status=status, tag=tag, as_of=as_of)

        def page(after: int, size: int) -> list[tuple[int, Statement]]:
            with self.scope.reader(STATEMENTS) as reader:
                return reader.statements(which, after=after, newest_first=newest_first, limit=size)

        return list(in_pages(self.scope, page, 0, most=checked_limit(limit)))

    @public
    def statement(self, id: str) -> Statement:
        """Read one statement by its id."""
        return read_statement(self.scope, id)

    @public
    def history(self, id: str | None = None, *, events: Sequence[str] | None = None) -> History:
        """Tell the story of a statement: every version, with its quote, and why each followed the one before.

        events: instead of a statement's id, ids of events: the story of everything that they state or say again.
        """
        return read_history(self.scope, id, events)

    @public_in_steps
    def correct(self, id: str, text: str, *, by: str | None = None) -> Statement:
        """Put a statement right in your own words, and the facts that rest on it; the old version stays in the history.

        by: who corrects it (default: "user").
        """
        return correct_statement(self.scope, id, text, by=by)

    @public_in_steps
    def retract(
        self, id: str, *, reason: str = Reason.ENDED, at: Time | None = None, by: str | None = None
    ) -> Statement:
        """Take a statement back, and end the facts that rest on it; it stays in the history.

        reason: "ended", it was so and is no longer, since `at` (default: now); or "never_true", so that also what is
        asked of the past is answered without it, and what it had replaced holds again. by: who takes it back
        (default: "user").
        """
        return retract_statement(self.scope, id, reason=reason, at=at, by=by)

    @public
    def facts(
        self,
        subject: str | None = None,
        relation: str | None = None,
        *,
        as_of: Time | None = None,
        known_at: Time | None = None,
        limit: int | None = None,
    ) -> list[Fact]:
        """List what is true of somebody or something, each with the words that it rests on and its window of time.

        as_of: what was true then; without it, all that ever was. known_at: as the memory knew it then.
        """
        from everyword.api.facts import list_facts

        return list_facts(self.scope, subject, relation, as_of=as_of, known_at=known_at, limit=limit)

    @public
    def stats(self, *, parts: bool = False) -> Stats:
        """Count what this space holds and what the file weighs; `parts` reads all of it to say what takes how much."""
        with self.scope.reader() as reader:
            tally = reader.tally()
            active = next((model for model in reader.file.models() if model.state == "active"), None)
            spaces, total = len(reader.file.spaces()), reader.file.total_events()
            statements, tags = reader.statement_counts(), reader.tag_counts()
            graph, concepts = reader.graph_counts(), reader.concept_count()
            not_yet = lag(reader)
        size, by_part = (0, {}) if self.scope.walled else self.scope.engine.store.size(by_part=parts)
        return Stats(
            location=self.location,
            space=self.scope.space,
            spaces=1 if self.scope.walled else spaces,
            events=tally.events,
            events_total=tally.events if self.scope.walled else total,
            sessions=tally.sessions,
            speakers=tally.speakers,
            wings=tally.wings,
            first_at=None if tally.first_at is None else from_micros(tally.first_at),
            last_at=None if tally.last_at is None else from_micros(tally.last_at),
            model=f"{active.name}@{active.version}" if active else None,
            vectors=tally.vectors,
            pending=tally.pending,
            bytes=size,
            bytes_by_part=by_part,
            schema=self.scope.engine.store.schema(),
            statements=statements,
            tags=tags,
            graph=graph,
            concepts=concepts,
            behind=not_yet,
        )

    @public_in_steps
    def forget(
        self,
        *,
        ids: Sequence[str] | None = None,
        keys: Sequence[str] | None = None,
        session: str | None = None,
        speaker: str | None = None,
        wing: str | None = None,
        before: Time | None = None,
        dry_run: bool = False,
        scrub: bool = False,
    ) -> Receipt:
        """Remove events, everything derived from them, and every byte of their text from the file.

        Several conditions narrow: an event must meet all of them. At least one is needed; a handle on a wing never
        reaches beyond it. `admin.verify` checks from then on that none of them is still there. The receipt says whether
        bytes of them may be left, and where. In a file they are overwritten at once. On a server that would lock the
        tables of everybody who uses it, so that they are rewritten only with scrub=True, here or in `admin.settle`.
        """
        from everyword.jobs import upkeep

        if all(one is None for one in (ids, keys, session, speaker, wing, before)):
            raise InvalidFilter("Say what to forget: ids, keys, session, speaker, wing or before.")
        for field, several in (("ids", ids), ("keys", keys)):
            if several is not None and (isinstance(several, str) or not isinstance(several, Iterable)):
                raise InvalidFilter(f"{field} takes a list, not {type(several).__name__}.")
        if scrub and self.scope.walled and not self.scope.engine.store.scrubs_itself:
            raise NotAllowed(
                "scrub=True locks the tables of every space, and this key is for one.",
                fix="Leave it out, and ask whoever runs the service to run: everyword settle --scrub",
            )
        raw_ids = None if ids is None else [checked_id(id) for id in ids]
        keys = None if keys is None else [name_to_find("key", key, self.scope.engine.settings) for key in keys]
        end = time_or_none(before, "before")
        which = self.scope.filter(wing=wing, session=session, speaker=speaker, until=end)

        def seqs_of(reader: Reader) -> Seqs:
            named: list[set[int]] = []
            if raw_ids is not None:
                named.append({known.seq for known in reader.find(raw_ids).values()})
            if keys is not None:
                named.append({known.seq for key in keys if (known := reader.find_key(key)) is not None})
            seqs = reader.matching(which)
            for found in (np.array(sorted(some), np.int64) for some in named):
                seqs = found if seqs is None else np.intersect1d(seqs, found)
            return np.empty(0, np.int64) if seqs is None else seqs

        return upkeep.forget(self.scope.engine, self.scope.space, seqs_of, dry_run=dry_run, scrub=scrub)

    # News

    @public
    def changes(self, *, after: str | None = None, limit: int = 100) -> Feed:
        """Read what happened after a position: events, statements, concepts, intents, jobs, what was forgotten.

        Each kind is in order. An intent is told again whenever an event speaks of it, as it stands now.
        after: the `position` of the feed before; None begins at the beginning, "now" gives only the position to go on
        from. limit: how many of each kind at most.
        """
        from everyword.jobs.feed import feed, feed_scope

        checked_count("limit", limit, _MOST_NEWS)
        with self.scope.reader(*(() if after == NOW else (FACTS, CONCEPTS))) as reader:
            return feed(feed_scope(self.scope.engine, reader, self.scope.wing), after, limit=limit)

    @public
    def on(self, what: str, callback: Callable[[Any], None]) -> Callable[[], None]:
        """Call a function with each new "event", "concept", "intent" or "job" that a write of this process brings.

        Returns a function that unsubscribes. Each item is reported once; intents and concepts at most a few per hour.
        An error in the function is a notice: what was written is written.
        """
        from everyword.jobs.feed import ChangeKind, subscribe

        if not callable(callback):
            raise InvalidInput(f"{callback!r} can't be called.")
        return subscribe(
            self.scope.engine, self.scope.space, self.scope.wing, required_choice(ChangeKind, "what", what), callback
        )

    @public
    def watch(
        self, *, kinds: Sequence[str] = (), every: float = 1.0, stop: threading.Event | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Go through what is new as it comes, whichever process writes: ("event", Event), ("intent", Intent) and so on.

        kinds: which of event, concept, intent and job (default: all). every: seconds between two looks. stop: ends it
        at once when it is set.
        """
        from everyword.jobs.feed import ChangeKind, watch_changes

        if not isinstance(every, int | float) or isinstance(every, bool) or not 0 < every < float("inf"):
            raise InvalidInput(f"every is a number of seconds above 0, not {every!r}.")
        if isinstance(kinds, str):
            raise InvalidInput("kinds is a list.", fix='Give it as ["intent"].')
        wanted = tuple(dict.fromkeys(required_choice(ChangeKind, "what", one) for one in kinds)) or tuple(ChangeKind)
        scope, ends = self.scope, stop or threading.Event()
        return watch_changes(scope.engine, scope.space, scope.wing, kinds=wanted, every=every, stop=ends)

    @public
    def close(self) -> None:
        """Let go of the file. A handle from space() or wing() leaves that to the memory it came from."""
        if self._owner:
            if self._deriver is not None:
                self._deriver.close()
            self.scope.engine.accesses.flush_all(self.scope.engine.store)
            try:
                self.scope.engine.store.close()
            finally:
                self.scope.engine.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        scope = self.scope.space if self.scope.wing is None else f"{self.scope.space}, wing {self.scope.wing}"
        return f"<Memory {self.location or 'within walls'} ({scope})>"

    def _write(self, events: Sequence[Given], redact: str | None, wait: bool) -> WrittenBatch:
        from everyword.ingest.write import write

        return write(self.scope.engine, self.scope.space, events, wing=self.scope.wing, redact=redact, encode=wait)


def parts() -> dict[str, type[Any]]:
    """Name the classes of a memory's parts."""
    from everyword.api.admin import Admin
    from everyword.api.concepts import Concepts
    from everyword.api.graph import Graph
    from everyword.api.intents import Intents

    return {"graph": Graph, "concepts": Concepts, "intents": Intents, "admin": Admin}


def method_named(path: str) -> Callable[..., Any]:
    """Find a method of Memory, or of one of its parts: "recall", "graph.entities"."""
    part, _, name = path.rpartition(".")
    return getattr(parts()[part] if part else Memory, name)
