"""What an agent is told before the first word, as users ask for it: who it is, and what matters now."""

from __future__ import annotations

from datetime import UTC, datetime

from everyword.errors import InvalidInput
from everyword.facade.arguments import Time, checked_count, checked_question
from everyword.facade.handle import Handle
from everyword.ingest.validation import checked_name
from everyword.retrieval.wake_up import (
    MOST_CONFIRMED,
    WakeUpRequest,
    candidates,
    identity_lines,
    identity_of,
    wake_up,
)
from everyword.storage.protocol import Reader
from everyword.text.rendering import name
from everyword.types.events import Event, Filter
from everyword.types.intents import Identity, WakeUp
from everyword.types.records import RecordKind
from everyword.types.trust import effective_at

# Tokens: 50 for who, 120 for what matters now, 30 for the fence; little enough for every session of every agent.
_BUDGET = 200
_MOST_IDENTITY_CHARS = 2_000  # what is longer is a document, and would never be told whole
_LOOKED_BACK = 20  # events, since some may be dated ahead


class Layers(Handle):
    """What a memory tells unasked."""

    def identity(
        self, text: str | None = None, *, wing: str | None = None, by: str | None = None, redact: str | None = None
    ) -> Identity | None:
        """Tell who the agent is, or set it; about 50 tokens are told at every start.

        Only this sets it, and the last one that was set counts; earlier ones stay in the log. wing: for one project
        alone. by: who sets it (default: "user"). redact: as for `add`.
        """
        scope = self._wing if wing is None else checked_name("wing", wing, self._engine.settings)
        which = self._filter(wing=wing)  # refuses another wing than the handle's
        if text is not None:
            self._set_identity(text, scope, by, redact)
        with self._engine.store.reader() as reader:
            return identity_of(reader, self._space, self._wings(which.wing))

    def wake_up(
        self,
        budget: int = _BUDGET,
        *,
        wing: str | None = None,
        topic: str | None = None,
        now: Time | None = None,
    ) -> WakeUp:
        """Write what an agent should know before the first word, within a token budget, each line cited.

        L0, who it is; L1, what was decided, is to be done, is preferred, and where the last session stood; with a
        `topic`, L2, what is known about it. L3 is recall(). wing: the project at hand (default: that of the last
        event). Each line says in `reasons` why it was chosen; while nothing happens, the choice stays the same.
        """
        from everyword.knowledge.intents import cached_intents
        from everyword.knowledge.window import standing_in  # not for a process that only asks

        checked_count("budget", budget, 1_000_000)
        self._filter(wing=wing)
        about = None if topic is None else checked_question(topic).strip()
        moment = self._moment(now)
        today = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        with self._engine.store.reader() as reader:
            project = self._wing or wing or _latest_wing(reader, self._space)
            intents = cached_intents(self._engine, reader, self._space, wing=self._wing, now=today)
            request = WakeUpRequest(
                reader=reader,
                space=self._space,
                wing=self._wing,
                project=project,
                topic=about,
                today=today,
                latest=_latest(reader, self._space, self._wing, moment),
                confirmed=reader.confirmations(self._space, limit=MOST_CONFIRMED),
                standing=standing_in(reader, self._space, intents, wing=self._wing),
            )
            first = identity_lines(identity_of(reader, self._space, self._wings(project)))
            found = candidates(request)
            key = self._engine.fence_key.of(reader)
        headings = {1: f"Now, in {name(project)}:" if project else "Now:", 2: f"About {name(about or '')}:"}
        return wake_up(first, found, budget, self._engine.tokenizer, headings=headings, fence_key=key)

    def _set_identity(self, text: str, wing: str | None, by: str | None, redact: str | None) -> None:
        from everyword.ingest.edit_records import write_record

        words = checked_question(text).strip()
        if len(words) > _MOST_IDENTITY_CHARS:
            raise InvalidInput(
                f"An identity has at most {_MOST_IDENTITY_CHARS:,} characters; this one has {len(words):,}.",
                fix="Say who the agent is in two or three sentences; add() the rest.",
            )
        kind = RecordKind.IDENTITY
        write_record(self._engine, self._space, kind, {}, by=self._by(by), text=words, wing=wing, redact=redact)

    def _wings(self, wing: str | None) -> list[str | None]:
        """List whose identity counts, in order; a handle on a wing never sees beyond it."""
        return [wing] if wing is None or self._wing is not None else [wing, None]


def _latest(reader: Reader, space: str, wing: str | None, now: datetime) -> datetime:
    said = _last_said(reader, space, wing)
    # What claims to come from the future must not make everything else look old.
    return datetime(1970, 1, 1, tzinfo=UTC) if said is None else min(effective_at(said), now)


def _latest_wing(reader: Reader, space: str) -> str | None:
    said = _last_said(reader, space, None)
    return None if said is None else said.wing


def _last_said(reader: Reader, space: str, wing: str | None) -> Event | None:
    rows = reader.page(space, Filter(wing=wing), newest_first=True, limit=_LOOKED_BACK)
    return max((event for _, event in rows), key=effective_at, default=None)
