"""The library as its users see it: one class, `Memory`, over the engine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np

from everyword.engine.encoding import Models
from everyword.engine.engine import Engine, LLMSpec, Progress, RerankerSpec, silent
from everyword.engine.lag import lag
from everyword.engine.retry import again
from everyword.errors import InvalidEvent, InvalidFilter, InvalidInput, NotAllowed, NotFound
from everyword.facade.access import Access
from everyword.facade.arguments import (
    Time,
    checked_clock,
    checked_count,
    checked_id,
    checked_path,
    name_to_find,
    recipe_of,
    settings_of,
)
from everyword.facade.charting import Charting
from everyword.facade.following import Following
from everyword.facade.handle import resumes
from everyword.facade.importing import Importing
from everyword.facade.layers import Layers
from everyword.facade.recalling import Recalling
from everyword.facade.working import Working
from everyword.ingest.jsonl import write_events
from everyword.ingest.validation import checked_name
from everyword.knowledge.sessions import with_summaries
from everyword.models.embedders import EmbedderSpec
from everyword.models.tokenizers import TokenizerSpec
from everyword.retrieval.config import HYBRID, SearchConfig
from everyword.settings import Settings
from everyword.storage.opening import open_store
from everyword.storage.protocol import Cursor, Reader, Seqs
from everyword.types.events import (
    DEFAULT_SPACE,
    Event,
    Filter,
    Json,
    Receipt,
    Report,
    Session,
    Stats,
    Written,
    WrittenBatch,
)
from everyword.types.times import Clock, as_datetime, from_micros, utc_now

# What writes, imports and looks after a memory is imported where it is needed: reading what events state brings many
# patterns along, and a process that only asks should not pay for them.

Given = Event | Mapping[str, Json]

_MOST_HITS = 1_000
_PAGE = 500  # events read at a time by events(): no lock is held while the caller thinks
_TOKENS_A_LINE = 20  # a context rarely holds more lines than its budget has of these


class Memory(Recalling, Charting, Layers, Importing, Following, Access, Working):
    """Long-term memory in one file.

    >>> memory = Memory.open(":memory:", embedder="hashing")
    >>> memory.add("I moved to Lisbon in March.", speaker="Ana", at="2026-04-02T10:00Z").new
    True
    >>> [hit.text for hit in memory.recall("Where does Ana live?")]
    ['I moved to Lisbon in March.']

    A handle sees one space. `space()` and `wing()` give handles on other scopes of the same file; closing the memory
    that `open` returned closes them all. Handles may be used from any number of threads.
    """

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
        store = open_store(location, chosen, create=create)
        try:
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
            # A wrong setting is told at once, not at the first question.
            _ = engine.llm, engine.reranker
            return cls(engine, space=checked_name("space", space, chosen), wing=None, owner=True)
        except BaseException:
            store.close()
            raise

    # Scopes

    def space(self, name: str, *, walled: bool = False, editor: str | None = None) -> Memory:
        """Give a handle on another space of the same file. Nothing crosses between spaces.

        walled: one that does not even tell where the file is, what it weighs and how many others it holds. editor: who
        is named as the author of all edits through this handle, whatever `by` says.
        """
        checked = checked_name("space", name, self._engine.settings)
        return Memory(self._engine, space=checked, wing=None, owner=False, walled=walled, editor=editor)

    def wing(self, name: str) -> Memory:
        """Give a handle on one wing: events written by it belong to the wing, and reads see the wing alone."""
        checked = self.redacted({"wing": checked_name("wing", name, self._engine.settings)})["wing"]
        return Memory(
            self._engine, space=self._space, wing=checked, owner=False, walled=self._walled, editor=self._editor
        )

    @property
    def location(self) -> str:
        """Tell where this memory lives; a walled handle does not."""
        return "" if self._walled else self._engine.store.location

    @property
    def notices(self) -> list[str]:
        """List what works in a lesser way than asked for, and why."""
        return list(self._engine.models.notices)

    # Writing

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
    ) -> Written:
        """Remember one event. It is on disk and searchable when this returns.

        source: where it comes from: "user", "assistant", "import" (a file by anybody), "tool" or "web". Left out, it
        follows from the role. What comes from a tool or a web page is trusted less than what a person said.
        redact: what is taken out of its text, names and meta first: "credentials", "personal" (also numbers of persons)
        or "none" (default: as the memory is set). What was taken out is in `redacted` of the result, by kind.
        """
        event = {
            "text": text,
            "speaker": speaker,
            "session": session,
            "at": at,
            "key": key,
            "wing": wing,
            "role": role,
            "source": source,
            "meta": meta,
        }
        return self.add_many([event], redact=redact)[0]

    def add_many(self, events: Iterable[Given], *, redact: str | None = None) -> WrittenBatch:
        """Remember a batch in one transaction: all of it or, on any error, nothing.

        An event that is known already (by its key, or by text, session, speaker and time) is left as it is and reported
        as not new. The same key with other content is a KeyConflict; so is, without a key, the same event for another
        wing than it is in. redact: as for `add`.
        """
        from everyword.ingest.write import write

        if isinstance(events, str | Mapping) or not isinstance(events, Iterable):
            raise InvalidEvent("add_many takes a list of events.")
        return write(self._engine, self._space, list(events), wing=self._wing, redact=redact)

    # Reading

    def get(self, id: str | None = None, *, key: str | None = None) -> Event:
        """Read one event by its id or by its key."""
        if (id is None) == (key is None):
            raise InvalidInput("Give either an id or a key.")
        with self._engine.store.reader() as reader:
            if key is not None:
                known = reader.find_key(self._space, name_to_find("key", key, self._engine.settings))
            else:
                known = next(iter(reader.find(self._space, [checked_id(id or "")]).values()), None)
        if known is None or (self._wing is not None and known.event.wing != self._wing):
            raise NotFound(f"There is no event with {'key' if key is not None else 'id'} {key or id!r} here.")
        return known.event

    def events(
        self,
        *,
        wing: str | None = None,
        session: str | None = None,
        speaker: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        as_of: Time | None = None,
        role: str | Sequence[str] | None = None,
        source: str | Sequence[str] | None = None,
        meta: Mapping[str, Json] | None = None,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> Iterator[Event]:
        """Go through events in the order in which they happened; memory stays flat however many there are."""
        which = self._filter(
            wing=wing,
            session=session,
            speaker=speaker,
            since=since,
            until=until,
            as_of=as_of,
            role=role,
            source=source,
            meta=meta,
        )
        if limit is not None:
            checked_count("limit", limit, 1 << 62)
        return self._pages(which, newest_first=newest_first, limit=limit)

    def sessions(
        self,
        *,
        wing: str | None = None,
        speaker: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        as_of: Time | None = None,
        limit: int | None = None,
    ) -> list[Session]:
        """List sessions, the latest first, each with what it was about."""
        which = self._filter(wing=wing, speaker=speaker, since=since, until=until, as_of=as_of)
        most = None if limit is None else checked_count("limit", limit, 1 << 62)
        with self._engine.store.reader() as reader:
            return with_summaries(reader, self._space, reader.sessions(self._space, which, limit=most), which)

    def stats(self, *, parts: bool = False) -> Stats:
        """Count what this space holds and what the file weighs; `parts` reads all of it to say what takes how much."""
        with self._engine.store.reader() as reader:
            tally = reader.tally(self._space)
            active = next((model for model in reader.models() if model.state == "active"), None)
            spaces, total = len(reader.spaces()), reader.total_events()
            artifacts, tags = reader.artifact_counts(self._space), reader.tag_counts(self._space)
            graph, concepts = reader.graph_counts(self._space), reader.concept_count(self._space)
            not_yet = lag(reader, self._space)
        size, by_part = (0, {}) if self._walled else self._engine.store.size(by_part=parts)
        return Stats(
            location=self.location,
            space=self._space,
            spaces=1 if self._walled else spaces,
            events=tally.events,
            events_total=tally.events if self._walled else total,
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
            schema=self._engine.store.schema(),
            artifacts=artifacts,
            tags=tags,
            graph=graph,
            concepts=concepts,
            behind=not_yet,
        )

    # Upkeep

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
        reaches beyond it. `verify` checks from then on that none of them is still there. The receipt says whether bytes
        of them may be left, and where. A file is rewritten at once. On a server that would lock the tables of everybody
        who uses it, so that they are rewritten only with scrub=True, here or in `settle`.
        """
        from everyword.jobs import upkeep

        if all(one is None for one in (ids, keys, session, speaker, wing, before)):
            raise InvalidFilter("Say what to forget: ids, keys, session, speaker, wing or before.")
        for field, several in (("ids", ids), ("keys", keys)):
            if several is not None and (isinstance(several, str) or not isinstance(several, Iterable)):
                raise InvalidFilter(f"{field} takes a list, not {type(several).__name__}.")
        if scrub and self._walled and not self._engine.store.scrubs_itself:
            raise NotAllowed(
                "scrub=True locks the tables of every space, and this key is for one.",
                fix="Leave it out, and ask whoever runs the service to run: everyword settle --scrub",
            )
        raw_ids = None if ids is None else [checked_id(id) for id in ids]
        keys = None if keys is None else [name_to_find("key", key, self._engine.settings) for key in keys]
        end = None if before is None else as_datetime(before, "before")
        which = self._filter(wing=wing, session=session, speaker=speaker, until=end)

        def seqs_of(reader: Reader) -> Seqs:
            return self._named(reader, raw_ids, keys, which)

        return upkeep.forget(self._engine, self._space, seqs_of, dry_run=dry_run, scrub=scrub)

    def verify(self, *, deep: bool = False, progress: Progress = silent) -> Report:
        """Check that the file is as it was written: its pages, every row of every table, and what belongs together.

        deep: also that all derived rows and vectors are what the log gives, by deriving them anew beside the file. That
        takes as long as `rebuild`. On PostgreSQL, rows are compared by a deep check alone.
        """
        from everyword.jobs.verify import verify

        return verify(self._engine, deep=deep, only=self._space if self._walled else None, progress=progress)

    @resumes
    def rebuild(self, *, vectors: bool = True, progress: Progress = silent) -> None:
        """Make every index anew from the log. The old ones serve until the new are complete."""
        from everyword.jobs import upkeep

        upkeep.rebuild(self._engine, progress, vectors=vectors)

    @resumes
    def settle(self, *, scrub: bool = False, progress: Progress = silent) -> int:
        """Do all work that waits, such as vectors that a failing model owed; tell how much was done.

        scrub: on a server, also rewrite its tables after something was forgotten. That locks each of them meanwhile.
        """
        from everyword.jobs import upkeep

        return upkeep.settle(self._engine, progress, scrub=scrub)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the whole file, consistently, while others write. Never overwrites."""
        self._engine.store.backup(str(checked_path(path)))

    def export(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        wiki: str | os.PathLike[str] | None = None,
        graph: str | os.PathLike[str] | None = None,
    ) -> int:
        """Write this space's events as JSONL, which `import_events` reads; count them. Never overwrites.

        Edits (`records`) are not among them: no import could bring them back. `backup` copies everything.

        Instead of `path`: wiki, a folder of Markdown notes on people, projects and the like, brought up to date; notes
        by hand stay. graph, a new file for the graph, .graphml or .json. Counts notes, or nodes and edges.
        """
        if sum(one is not None for one in (path, wiki, graph)) != 1:
            raise InvalidInput("Say where to: a path for the events, or wiki=FOLDER, or graph=FILE.")
        if path is not None:
            return write_events(checked_path(path), self._arrived())
        return self._export_wiki(checked_path(wiki)) if wiki is not None else self._export_graph(checked_path(graph))

    def close(self) -> None:
        """Let go of the file. A handle from space() or wing() leaves that to the memory it came from."""
        if self._owner:
            self._engine.accesses.flush_all(self._engine.store)
            self._engine.store.close()
            self._engine.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        scope = self._space if self._wing is None else f"{self._space}, wing {self._wing}"
        return f"<Memory {self.location or 'within walls'} ({scope})>"

    # Inside

    def _arrived(self) -> Iterator[Event]:
        """Go through events in the order of arrival, in which what they state was derived."""
        after = 0
        while True:
            rows = again(self._engine, partial(self._log_page, after))
            yield from (event for _, event in rows if event.record is None and self._wing in (None, event.wing))
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def _log_page(self, after: int) -> list[tuple[int, Event]]:
        with self._engine.store.reader() as reader:
            return reader.log(self._space, after=after, limit=_PAGE)

    def _pages(self, which: Filter, *, newest_first: bool, limit: int | None) -> Iterator[Event]:
        after = None
        left = limit if limit is not None else 1 << 62
        while left > 0:
            rows = again(self._engine, partial(self._events_page, which, after, newest_first, min(left, _PAGE)))
            for _, event in rows:
                yield event
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]
            left -= len(rows)

    def _events_page(
        self, which: Filter, after: Cursor | None, newest_first: bool, limit: int
    ) -> list[tuple[Cursor, Event]]:
        with self._engine.store.reader() as reader:
            return reader.page(self._space, which, after=after, newest_first=newest_first, limit=limit)

    def _named(
        self, reader: Reader, raw_ids: Sequence[bytes] | None, keys: Sequence[str] | None, which: Filter
    ) -> Seqs:
        seqs = reader.matching(self._space, which)
        if raw_ids is not None:
            named = {known.seq for known in reader.find(self._space, raw_ids).values()}
            seqs = _both(seqs, named)
        if keys is not None:
            found = {known.seq for key in keys if (known := reader.find_key(self._space, key)) is not None}
            seqs = _both(seqs, found)
        return np.empty(0, np.int64) if seqs is None else seqs


def _both(seqs: Seqs | None, named: set[int]) -> Seqs:
    found = np.array(sorted(named), np.int64)
    return found if seqs is None else np.intersect1d(seqs, found)
