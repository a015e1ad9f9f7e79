"""What an agent is told before the first word, as users ask for it: who it is, and what matters now."""

from __future__ import annotations

from datetime import UTC, datetime

from recollect.capture.drafts import checked_name
from recollect.core.errors import InvalidInput
from recollect.core.layers import Identity, WakeUp
from recollect.core.values import Event, Filter
from recollect.engine.arguments import Time, checked_count, checked_question
from recollect.engine.layers import (
    IDENTITY_ROLE,
    IDENTITY_SESSION,
    MOST_CONFIRMED,
    Scene,
    candidates,
    identity_lines,
    identity_of,
)
from recollect.facade.handle import Handle
from recollect.recall.waking import wake_up
from recollect.store.protocol import Reader

_BUDGET = 170  # tokens: 50 for who, 120 for what matters now; little enough for every session of every agent
_LOOKED_BACK = 20  # events, for one that is not an identity
_MOST_IDENTITY_CHARS = 2_000  # what is longer is a document, and would never be told whole


class Layers(Handle):
    """What a memory tells unasked."""

    def identity(
        self, text: str | None = None, *, wing: str | None = None, redact: str | None = None
    ) -> Identity | None:
        """Tell who the agent is, or set it; about 50 tokens are told at every start.

        Setting it is an event like any other: earlier ones stay in the log. wing: for one project alone. redact: as for
        `add`.
        """
        scope = self._wing if wing is None else checked_name("wing", wing, self._engine.settings)
        which = self._filter(wing=wing)  # refuses another wing than the handle's
        if text is not None:
            self._set_identity(text, scope, redact)
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
        from recollect.engine.beholding import standing_in  # not for a process that only asks

        checked_count("budget", budget, 1_000_000)
        self._filter(wing=wing)
        about = None if topic is None else checked_question(topic).strip()
        moment = self._moment(now)
        today = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        with self._engine.store.reader() as reader:
            project = self._wing or wing or _latest_wing(reader, self._space)
            intents = self._engine.intents.of(reader, self._space, wing=self._wing, now=today)
            scene = Scene(
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
            found = candidates(scene)
        headings = {1: f"Now, in {project}:" if project else "Now:", 2: f"About {about}:"}
        return wake_up(first, found, budget, self._engine.tokenizer, headings=headings)

    def _set_identity(self, text: str, wing: str | None, redact: str | None) -> None:
        from recollect.engine.write import write

        words = checked_question(text).strip()
        if len(words) > _MOST_IDENTITY_CHARS:
            raise InvalidInput(
                f"An identity has at most {_MOST_IDENTITY_CHARS:,} characters; this one has {len(words):,}.",
                fix="Say who the agent is in two or three sentences; add() the rest.",
            )
        event = {"text": words, "session": IDENTITY_SESSION, "role": IDENTITY_ROLE, "wing": wing}
        write(self._engine, self._space, [event], wing=wing, redact=redact)

    def _wings(self, wing: str | None) -> list[str | None]:
        """List whose identity counts, in order; a handle on a wing never sees beyond it."""
        return [wing] if wing is None or self._wing is not None else [wing, None]


def _latest(reader: Reader, space: str, wing: str | None, now: datetime) -> datetime:
    said = _last_said(reader, space, wing)
    # What claims to come from the future must not make everything else look old.
    return datetime(1970, 1, 1, tzinfo=UTC) if said is None else min(said.at, now)


def _latest_wing(reader: Reader, space: str) -> str | None:
    said = _last_said(reader, space, None)
    return None if said is None else said.wing


def _last_said(reader: Reader, space: str, wing: str | None) -> Event | None:
    rows = reader.page(space, Filter(wing=wing), newest_first=True, limit=_LOOKED_BACK)
    return next((event for _, event in rows if event.session != IDENTITY_SESSION), None)
