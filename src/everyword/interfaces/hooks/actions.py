"""What hooks do with a memory: save transcripts, and write the context of a new session and of a prompt."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from everyword.errors import InvalidEvent, KeyConflict
from everyword.ingest.importers import named
from everyword.ingest.importers.records import Read
from everyword.ingest.importers.sources import open_source
from everyword.ingest.projects import Projects
from everyword.interfaces.hooks import state
from everyword.interfaces.hooks.state import HookSettings
from everyword.memory import Memory
from everyword.models.tokenizers import load_tokenizer
from everyword.private_files import make_folder_of
from everyword.retrieval.instructions import STAGE
from everyword.storage.open_files import opened
from everyword.text.spans import asks
from everyword.text.terms import question_terms, term_counts
from everyword.types.events import Hits
from everyword.types.times import utc_now

_BATCH = 64  # events in a transaction: an interrupted save repeats at most these
_MOST_LINES = 4  # beside a prompt: enough to answer from, few enough to read
_MOST_HITS = 12  # recalled for a prompt; those of its own session are dropped
_QUESTION_CHARS = 1_000  # from each end of a long prompt: its middle is mostly pasted text
# The confidence is calibrated on questions; many prompts ask nothing ("thanks!", "run the tests"). So a prompt
# must have two content words, and must either be a question or share half of these words with the best hit.
_LEAST_TERMS = 2
_LEAST_SHARED = 0.5
_MOST_CACHED_STARTS = 8  # wings
_MOST_SESSIONS = 64  # of which is noted what they were told
_AWAIT_S = 3.0  # for the agent to write a prompt to its transcript, which it does before it answers
_AWAIT_STEP_S = 0.05

_HEADING = "From the user's long-term memory, quotes from earlier sessions:"


class _Start(NamedTuple):
    """What is told at the start of sessions in a wing."""

    text: str
    told: frozenset[str]  # ids of the events in it
    version: tuple[date, str]  # the day, and the state of the memory


class HookActions:
    """The actions of hooks on one memory, which is opened on first use."""

    def __init__(self, home: str, settings: HookSettings) -> None:
        self.home = home
        self.settings = settings
        self._told: dict[str, frozenset[str]] = {}  # ids of events by session, the least recently told first
        self._lock = threading.Lock()
        self._memory: Memory | None = None
        self._projects: Projects | None = None
        self._started: dict[str, _Start] = {}  # by wing, least recently used first

    @property
    def memory(self) -> Memory:
        """Return the memory; open it on first use."""
        with self._lock:
            if self._memory is None:
                location = self.settings.memory
                make_folder_of(location)
                self._memory = Memory.open(
                    location,
                    embedder=self.settings.embedder,
                    redact=self.settings.redact,
                    secret_patterns=self.settings.secret_patterns,
                )
            whole = self._memory
        return whole if self.settings.space is None else whole.space(self.settings.space)

    @property
    def projects(self) -> Projects:
        """Return the projects of the memory."""
        if self._projects is None:
            self._projects = Projects(self.memory.scope.reader, self.settings.wings)
        return self._projects

    def close(self) -> None:
        """Close the memory."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None

    # Context for the agent

    def answer(self, request: Mapping[str, Any]) -> str:
        """Write what a hook asks for: the text of a session's start, or lines for a prompt."""
        cwd, session = str(request.get("cwd", "")), str(request.get("session", ""))
        if request["do"] == "start":
            return self.session_start(cwd, session)
        return self.for_prompt(str(request.get("prompt", "")), session, cwd)

    def session_start(self, cwd: str, session: str = "") -> str:
        """Write what an agent should know at the start of a session in a folder."""
        start = self._start(self._project(cwd))
        self._told.pop(session, None)  # a session also starts anew, after its context was compacted
        self._note_told(session, start.told)
        return start.text

    def refresh_starts(self) -> None:
        """Recompute the texts of session starts if the memory changed, so that no agent waits for them."""
        for wing in list(self._started) or [""]:
            self._start(wing)

    def _start(self, wing: str) -> _Start:
        # A wake-up changes only with the day and with the memory.
        version = (utc_now().date(), self.memory.admin.pulse())
        kept = self._started.pop(wing, None)
        if kept is None or kept.version != version:
            budget = self.settings.start_tokens - load_tokenizer().count(f"{_HEADING}\n")
            told = self.memory.wake_up(max(1, budget), wing=wing)
            text = f"{_HEADING}\n{told.text}" if told.text else ""
            kept = _Start(text, frozenset(one.event_id for one in told.citations), version)
        self._started[wing] = kept
        while len(self._started) > _MOST_CACHED_STARTS:
            self._started.pop(next(iter(self._started)), None)
        return kept

    def for_prompt(self, prompt: str, session: str, cwd: str = "") -> str:
        """Write a few cited lines if the memory probably holds what the prompt asks for; otherwise nothing.

        cwd: where the agent works. Its project comes first, and without one nothing of any project is told.
        """
        question = _question(prompt)
        if len(question_terms(question)) < _LEAST_TERMS:
            return ""
        project = self._project(cwd)
        hits = self.memory.recall(question, k=_MOST_HITS, project=project)
        if not hits or (hits.confidence is not None and hits.confidence < self.settings.confidence):
            return ""
        asked = "?" in question or asks(question)
        alike = _shared(question, hits[0].text) >= _LEAST_SHARED
        # Without a confidence (a script that the model can't read, or no model) the prompt must meet both conditions.
        if not (asked and alike if hits.confidence is None else asked or alike):
            return ""
        told = self._told.get(session, frozenset())
        rules = [hit for hit in hits if any(score.stage == STAGE for score in hit.scores)]
        known = hits[0].event.id in told and all(hit.event.id in told for hit in rules)
        if known or (session and hits[0].event.session == session):
            return ""  # the agent still has it in its context
        others = Hits(
            [hit for hit in hits if not session or hit.event.session != session][:_MOST_LINES],
            confidence=hits.confidence,
        )
        budget = self.settings.prompt_tokens - load_tokenizer().count(_HEADING)
        context = self.memory.context(question, budget=max(1, budget), hits=others, project=project)
        cited = frozenset(one.event_id for one in context.citations)
        if cited <= told:
            return ""
        self._note_told(session, cited)
        return f"{_HEADING}\n{context.text}"

    def _note_told(self, session: str, ids: frozenset[str]) -> None:
        """Note what a session was told, so that it is not told again. A resident process remembers it."""
        if session:
            self._told[session] = self._told.pop(session, frozenset()) | ids
        while len(self._told) > _MOST_SESSIONS:
            self._told.pop(next(iter(self._told)), None)

    # Saving

    def save(self, what: Mapping[str, Any]) -> int:
        """Save what is new in a transcript; return how many events were new to the memory."""
        transcript, format = str(what.get("transcript", "")), str(what.get("format", ""))
        if "turn" in what:
            turn = what["turn"]
            return self._add([self._placed(event, str(turn["cwd"])) for event in _turn_events(turn)])
        cwd = str(what.get("cwd") or "")
        if what.get("awaits"):
            self._await(transcript, str(what["awaits"]))
        if not os.path.isfile(transcript):
            # So that a later session saves it, if this one ends without a hook.
            state.write_position(self.home, transcript, {"byte": 0, "line": 0}, format, cwd)
            return 0
        added = self._save_tail(transcript, format, cwd)
        state.log(self.home, f"saved {added} new events of {os.path.basename(transcript)}")
        return added

    def save_unsaved(self) -> int:
        """Save transcripts of sessions that ended without a hook."""
        return sum(self._save_tail(*unsaved) for unsaved in state.unsaved_transcripts(self.home))

    def _save_tail(self, transcript: str, format: str, cwd: str = "") -> int:
        """Save what is new in a transcript. cwd: where the agent works, if the transcript does not say."""
        reader, source = named(format), open_source(Path(transcript))
        added, batch = 0, list[dict[str, Any]]()
        position = state.read_position(self.home, transcript)
        for item in reader.read(source, source.names[0], after=position or None):
            if isinstance(item, Read) and (self.settings.save_tools or item.event.get("role") != "tool"):
                batch.append(self._placed(item.event, item.folder or cwd))
            position = dict(item.position) or position
            if len(batch) >= _BATCH:
                added += self._add(batch)
                state.write_position(self.home, transcript, position, format, cwd)
                batch = []
        added += self._add(batch)
        state.write_position(self.home, transcript, position or {"byte": 0, "line": 0}, format, cwd)
        return added

    def _project(self, cwd: str) -> str:
        """Return the wing of the folder where an agent works; "" where it works in no project."""
        project = self.projects.of(cwd)
        return "" if project is None else project.wing

    def _placed(self, event: dict[str, Any], folder: str) -> dict[str, Any]:
        project = self.projects.of(folder)
        return event if project is None else project.placed(event)

    def _add(self, events: list[dict[str, Any]]) -> int:
        if not events:
            return 0
        # A transcript may be read again from the start; that must not bring back what was forgotten.
        read = [self.memory.admin.redacted(event) for event in events]
        clean = [event for event, gone in zip(read, self.memory.admin.forgotten(read), strict=True) if not gone]
        if not clean:
            return 0
        try:
            return self.memory.add_many(clean).added
        except (InvalidEvent, KeyConflict):
            # One invalid message must not keep out all later ones.
            return sum(self._add_one(event) for event in clean)

    def _add_one(self, event: dict[str, Any]) -> int:
        try:
            return self.memory.add_many([event]).added
        except (InvalidEvent, KeyConflict) as error:
            # Without its key and the error text, which may quote it: `forget` does not clean this log.
            state.log(self.home, f"error: left out one event: {type(error).__name__}")
            return 0

    def _await(self, transcript: str, prompt: str) -> None:
        """Wait until a prompt is in its transcript: agents run the hook before they write it."""
        written = {
            json.dumps(prompt, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "replace") for ascii_only in (True, False)
        }
        start = int(state.read_position(self.home, transcript).get("byte", 0))
        deadline = time.monotonic() + _AWAIT_S
        while time.monotonic() < deadline:
            tail = b""
            with suppress(FileNotFoundError), opened(Path(transcript)) as file:  # it comes with the first prompt
                file.seek(start)
                tail = file.read()
            if any(form in tail for form in written):
                return
            time.sleep(_AWAIT_STEP_S)


def _question(prompt: str) -> str:
    if len(prompt) <= 2 * _QUESTION_CHARS:
        return prompt
    return f"{prompt[:_QUESTION_CHARS]}\n{prompt[-_QUESTION_CHARS:]}"


def _shared(question: str, text: str) -> float:
    asked = question_terms(question)
    return len(asked & term_counts(text)) / len(asked)


def _turn_events(turn: Mapping[str, str]) -> list[dict[str, Any]]:
    """Make events of what a hook's payload says, of an agent that keeps no file that we can read."""
    agent, session, number = turn["agent"], turn["session"], turn["number"]
    return [
        {
            "text": text,
            "key": f"{agent}:{session}:{number}:{part}" if number else None,
            "session": session,
            "speaker": who,
            "role": who,
        }
        for part, who, text in (("prompt", "user", turn["prompt"]), ("reply", "assistant", turn["reply"]))
        if text.strip()
    ]
