"""What hooks do with a memory: save the tail of a transcript, open a session, put a few lines beside a prompt."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Mapping
from datetime import date
from glob import escape, iglob
from pathlib import Path
from typing import Any, cast

from recollect.capture.formats import Read, open_source
from recollect.capture.formats.items import as_list, as_text, last_folder
from recollect.capture.recognise import named
from recollect.core.clock import utc_now
from recollect.core.errors import InvalidEvent, KeyConflict
from recollect.core.held import opened
from recollect.core.private import make_private_folder
from recollect.core.spans import asks
from recollect.core.values import Hits
from recollect.core.words import question_terms, term_counts
from recollect.hooks import journal, positions
from recollect.hooks.settings import HookSettings
from recollect.inference.tokens import load_tokenizer
from recollect.memory import Memory

_BATCH = 64  # events a transaction: a save that is cut short repeats no more than this
_MOST_LINES = 4  # beside a prompt: enough to answer from, few enough to be read
_LOOKED_FOR = 12  # hits, of which those of the running session do not count
_QUESTION_CHARS = 1_000  # of a long prompt, from each end: what stands between is pasted
# The confidence was fitted to questions. What an agent is told is often none ("thanks!", "run the tests"): a prompt
# must have two words that mean something, and ask, or have half of those words in common with what was found.
_LEAST_TERMS = 2
_LEAST_SHARED = 0.5
_ASKS = re.compile(
    r"\?|^\W{0,5}(?:what|whom?|whose|when|where|which|why|how|did|do|does|is|are|was|were|can|could|should|would|have|has"
    r"|had|remind|recall)\b",
    re.IGNORECASE,
)
_KEPT_STARTS = 8  # wings whose first lines are kept at hand
_AWAIT_S = 3.0  # until an agent has written a prompt down; it does so before it thinks
_AWAIT_STEP_S = 0.05

_HEADING = "From the user's long-term memory, quotes from earlier sessions:"


class Work:
    """A memory, opened when first needed, and what hooks ask of it."""

    def __init__(self, home: str, settings: HookSettings) -> None:
        self.home = home
        self.settings = settings
        self._lock = threading.Lock()
        self._memory: Memory | None = None
        self._started: dict[str | None, tuple[tuple[date, str], str]] = {}  # by wing, the last used last

    @property
    def memory(self) -> Memory:
        """Give the memory."""
        with self._lock:
            if self._memory is None:
                location = self.settings.memory
                if "://" not in location:
                    make_private_folder(Path(location).parent)
                self._memory = Memory.open(
                    location,
                    embedder=self.settings.embedder,
                    redact=self.settings.redact,
                    secret_patterns=self.settings.secret_patterns,
                )
            whole = self._memory
        return whole if self.settings.space is None else whole.space(self.settings.space)

    def close(self) -> None:
        """Let go of the memory."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None

    # Giving

    def start(self, cwd: str) -> str:
        """Write what an agent should know before the first word."""
        return self._start(self._wing(last_folder(cwd)))

    def refresh(self) -> None:
        """Work out what the next starts need, where anything has happened: then no agent waits for it."""
        for wing in list(self._started) or [None]:
            self._start(wing)

    def _start(self, wing: str | None) -> str:
        # A wake-up changes with the day, and when something happens; while neither does, it need not be made again.
        stands = (utc_now().date(), self.memory.pulse())
        kept = self._started.pop(wing, None)
        if kept is None or kept[0] != stands:
            budget = self.settings.start_tokens - load_tokenizer().count(f"{_HEADING}\n")
            text = self.memory.wake_up(max(1, budget), wing=wing).text
            kept = (stands, f"{_HEADING}\n{text}" if text else "")
        self._started[wing] = kept
        while len(self._started) > _KEPT_STARTS:
            self._started.pop(next(iter(self._started)), None)
        return kept[1]

    def for_prompt(self, prompt: str, session: str) -> str:
        """Write a few cited lines, if the memory is sure to hold what the prompt asks for."""
        question = _question(prompt)
        if len(question_terms(question)) < _LEAST_TERMS:
            return ""
        hits = self.memory.recall(question, k=_LOOKED_FOR)
        if not hits or (hits.confidence is not None and hits.confidence < self.settings.confidence):
            return ""
        asked = _ASKS.search(question) is not None or asks(question)
        alike = _shared(question, hits[0].text) >= _LEAST_SHARED
        # Where no model can read it (another script, words alone), only its words tell whether there is an answer.
        if not (asked and alike if hits.confidence is None else asked or alike):
            return ""
        if session and hits[0].event.session == session:
            return ""  # the agent has it before its eyes
        others = Hits(
            [hit for hit in hits if not session or hit.event.session != session][:_MOST_LINES],
            confidence=hits.confidence,
        )
        budget = self.settings.prompt_tokens - load_tokenizer().count(_HEADING)
        text = self.memory.context(question, budget=max(1, budget), hits=others).text
        return f"{_HEADING}\n{text}" if text else ""

    # Keeping

    def save(self, what: Mapping[str, Any]) -> int:
        """Save what is new in a transcript; give how many events were new to the memory."""
        transcript, format = str(what.get("transcript", "")), str(what.get("format", ""))
        turn: Any = what.get("turn")
        if isinstance(turn, dict):
            found = _rollout(as_text(cast("dict[str, Any]", turn).get("thread-id")))
            if found is None:
                return self._add(_of_turn(cast("dict[str, Any]", turn)))
            transcript = found
        if not os.path.isfile(transcript):
            return 0
        if what.get("awaits"):
            self._await(transcript, str(what["awaits"]))
        added = self._save_tail(transcript, format)
        journal.note(self.home, f"saved {added} new events of {os.path.basename(transcript)}")
        return added

    def save_what_was_left(self) -> int:
        """Save transcripts whose sessions ended without a hook."""
        return sum(self._save_tail(transcript, format) for transcript, format in positions.unsaved(self.home))

    def _save_tail(self, transcript: str, format: str) -> int:
        reader, source = named(format), open_source(Path(transcript))
        added, batch = 0, list[dict[str, Any]]()
        position = positions.read(self.home, transcript)
        for item in reader.read(source, source.names[0], after=position or None):
            if isinstance(item, Read) and (self.settings.save_tools or item.event.get("role") != "tool"):
                batch.append(item.event)
            position = dict(item.position) or position
            if len(batch) >= _BATCH:
                added += self._add(batch)
                positions.write(self.home, transcript, position, format)
                batch = []
        added += self._add(batch)
        positions.write(self.home, transcript, position or {"byte": 0, "line": 0}, format)
        return added

    def _wing(self, folder: str | None) -> str | None:
        """Tell which wing a folder's sessions belong to: one of its own name, unless the user chose another."""
        return None if folder is None else self.settings.wings.get(folder, folder)

    def _add(self, events: list[dict[str, Any]]) -> int:
        if not events:
            return 0
        # A transcript may be read again from its beginning; what was forgotten does not come back by that.
        read = [self.memory.redacted({**event, "wing": self._wing(event.get("wing"))}) for event in events]
        clean = [event for event, gone in zip(read, self.memory.forgotten(read), strict=True) if not gone]
        if not clean:
            return 0
        try:
            return self.memory.add_many(clean).added
        except (InvalidEvent, KeyConflict):
            # One message that the log refuses must not keep all later ones out.
            return sum(self._add_one(event) for event in clean)

    def _add_one(self, event: dict[str, Any]) -> int:
        try:
            return self.memory.add_many([event]).added
        except (InvalidEvent, KeyConflict) as error:
            # Neither its key nor the reason, which quotes it: forgetting an event does not reach this file.
            journal.note(self.home, f"error: left out one event: {type(error).__name__}")
            return 0

    def _await(self, transcript: str, prompt: str) -> None:
        """Wait until a prompt stands in its transcript: the hook comes before the agent writes it down."""
        written = {
            json.dumps(prompt, ensure_ascii=ascii_only)[1:-1].encode("utf-8", "replace") for ascii_only in (True, False)
        }
        start = int(positions.read(self.home, transcript).get("byte", 0))
        deadline = time.monotonic() + _AWAIT_S
        while time.monotonic() < deadline:
            with opened(Path(transcript)) as file:
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


def _rollout(thread: str) -> str | None:
    """Find the file that Codex keeps of a thread."""
    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    if not thread:
        return None
    pattern = os.path.join(escape(home), "sessions", "*", "*", "*", f"rollout-*{escape(thread)}.jsonl")
    return max(iglob(pattern), default=None)


def _of_turn(turn: dict[str, Any]) -> list[dict[str, Any]]:
    """Make events of what Codex says of a turn, where it keeps no file."""
    thread, number = as_text(turn.get("thread-id")), as_text(turn.get("turn-id"))
    said = [("user", as_text(text)) for text in as_list(turn.get("input-messages"))]
    said.append(("assistant", as_text(turn.get("last-assistant-message"))))
    return [
        {
            "text": text,
            "key": f"codex:{thread}:{number}:{place}" if number else None,
            "session": thread or None,
            "speaker": who,
            "role": who,
            "wing": last_folder(turn.get("cwd")),
        }
        for place, (who, text) in enumerate(said)
        if text.strip()
    ]
