"""`memory.intents`: unmet goals, and what is to become of them."""

from __future__ import annotations

from datetime import datetime

from everyword.api.arguments import NO_LIMIT, Time, checked_count, checked_text, chosen, required_choice, time_or_none
from everyword.api.scope import Scope, public, public_in_steps
from everyword.engine.retry import again
from everyword.errors import InvalidInput, NotFound
from everyword.storage.protocol import Reader
from everyword.storage.rows import CONCEPTS, STATEMENTS
from everyword.types.intents import LIVE, Intent, IntentAnswer, IntentCategory, IntentStatus
from everyword.types.records import RecordKind

# What computes attention is imported where it is needed: a process that only asks should not pay for it.

SHOWN = 5  # intents at most, unless more are asked for: an agent that is told everything is told nothing
_ANY = "any"


class Intents:
    """Goals that the evidence points to."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    @public
    def list(
        self,
        *,
        status: str | None = None,
        category: str | None = None,
        limit: int = SHOWN,
        now: Time | None = None,
        as_of: Time | None = None,
    ) -> list[Intent]:
        """List goals that the evidence points to and that are not met, the most pressing first, each with its quotes.

        status: by default what is pending or scheduled; "resolved", "rejected", "deferred", "expired" or "any".
        category: "task" or "plan". as_of: by what was known then.
        """
        wanted = chosen(IntentStatus, "status", status, also=_ANY)
        kind = chosen(IntentCategory, "category", category)
        most = checked_count("limit", limit, NO_LIMIT)
        statuses = (wanted,) if wanted is not None else LIVE if status is None else tuple(IntentStatus)
        return [
            intent
            for intent in read_intents(self.scope, now, as_of)
            if intent.status in statuses and kind in (None, intent.category)
        ][:most]

    @public
    def get(self, id: str, *, now: Time | None = None) -> Intent:
        """Read one intent by its id, whatever became of it."""
        return _find(self.scope, id, now)

    @public_in_steps
    def answer(
        self, id: str, answer: str, *, text: str | None = None, until: Time | None = None, by: str | None = None
    ) -> Intent:
        """Say what is to become of an intent: "accept", "modify" (text: its new words), "defer", "reject" or "done".

        "undo" takes the last answer back. Answers are kept in the log. From the third on they move the threshold of the
        intent's category, so that more or less of its kind is shown; what was rejected is never shown again. until: not
        before this time, for "defer". by: who answers (default: "user").
        """
        from everyword.knowledge.intents import answering

        said = required_choice(IntentAnswer, "answer", answer)
        if (said is IntentAnswer.MODIFY) != (text is not None):
            raise InvalidInput("modify needs text, the intent in your own words; other answers take none.")
        if until is not None and said is not IntentAnswer.DEFER:
            raise InvalidInput("Only defer takes until.")
        moment = time_or_none(until, "until")
        known = again(self.scope.engine, lambda: _find(self.scope, id, None))
        source = again(self.scope.engine, lambda: self.scope.source(known.grounds[0].event_id, f"intent {id}"))
        payload, words = answering(known.id, said, moment), "" if text is None else checked_text("text", text)
        self.scope.record(RecordKind.FEEDBACK, payload, by=by, events=known.events, text=words, wing=source.wing)
        return again(self.scope.engine, lambda: _find(self.scope, id, None))


def intents_of_the_minute(scope: Scope, reader: Reader, now: datetime) -> list[Intent]:
    """Return the intents as of this minute, cached, so that repeated reads are fast and agree."""
    from everyword.knowledge.intents import cached_intents

    minute = now.replace(second=0, microsecond=0)
    return cached_intents(scope.engine, reader, wing=scope.wing, now=minute)


def read_intents(scope: Scope, now: Time | None = None, as_of: Time | None = None) -> list[Intent]:
    """Compute all intents as they stand at a time; without one, as they stand this minute."""
    from everyword.knowledge.intents import intents_in

    known = time_or_none(as_of, "as_of")
    moment = known if now is None and known is not None else scope.moment(now)
    with scope.reader(STATEMENTS, CONCEPTS) as reader:
        if now is None and known is None:
            return intents_of_the_minute(scope, reader, moment)
        return intents_in(reader, now=moment, wing=scope.wing, as_of=known)


def _find(scope: Scope, id: str, now: Time | None) -> Intent:
    for intent in read_intents(scope, now):
        if intent.id == id:
            return intent
    raise NotFound(f"There is no intent with id {id!r} here.", fix="`intents` lists the open ones, or all.")
