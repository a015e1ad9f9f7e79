"""What a memory says unasked, as users ask for it: intents, beliefs, the window, the palace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from everyword.engine.retry import again
from everyword.errors import InvalidInput, NotFound
from everyword.facade.arguments import Time, checked_count, checked_id, checked_question, chosen
from everyword.facade.handle import Handle
from everyword.jobs.subscriptions import ChangeKind, subscribe, watch_changes
from everyword.storage.protocol import Reader
from everyword.types.intents import LIVE, Belief, Intent, IntentAnswer, IntentCategory, IntentStatus, Palace, Window
from everyword.types.records import RecordKind
from everyword.types.times import as_datetime

# What computes attention is imported where it is needed: a process that only asks should not pay for it.

SHOWN = 5  # intents at most, unless more are asked for: an agent that is told everything is told nothing
_ANY = "any"
_MOST = 1_000


class Attention(Handle):
    """What a memory holds before its reader."""

    def intents(
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
        category: "task", "promise", "wish", "question" or "reminder". as_of: by what was known then.
        """
        wanted = None if status in (None, _ANY) else chosen(IntentStatus, "status", status, also=_ANY)
        kind = chosen(IntentCategory, "category", category)
        most = checked_count("limit", limit, 1 << 62)
        statuses = (wanted,) if wanted is not None else LIVE if status is None else tuple(IntentStatus)
        return [
            intent
            for intent in self._intents(now, as_of)
            if intent.status in statuses and kind in (None, intent.category)
        ][:most]

    def intent(self, id: str, *, now: Time | None = None) -> Intent:
        """Read one intent by its id, whatever became of it."""
        for intent in self._intents(now, None):
            if intent.id == id:
                return intent
        raise NotFound(f"There is no intent with id {id!r} here.", fix="See intents(status='any').")

    def answer_intent(
        self,
        id: str,
        answer: str,
        *,
        text: str | None = None,
        until: Time | None = None,
        by: str | None = None,
    ) -> Intent:
        """Say what is to become of an intent: "accept", "modify" (text: its new words), "defer", "reject" or "done".

        The answer is kept in the log. It moves the threshold of the intent's category, so that more or less of its
        kind is shown; what was rejected is never shown again. until: not before this time, for "defer". by: who
        answers (default: "user").
        """
        # Imported here: a process that only asks should not pay for what reads events.
        from everyword.ingest.edit_records import write_record
        from everyword.knowledge.intents import mark_behind
        from everyword.knowledge.legacy.fold.goals import answering

        said = chosen(IntentAnswer, "answer", answer)
        if said is None:
            raise InvalidInput("answer is missing.", fix=f"Choose one of {', '.join(IntentAnswer)}.")
        if (said is IntentAnswer.MODIFY) != (text is not None):
            raise InvalidInput("text is for modify, and modify needs it: the intent in your own words.")
        if until is not None and said is not IntentAnswer.DEFER:
            raise InvalidInput("until is for defer alone.")
        known = self.intent(id)
        moment = None if until is None else as_datetime(until, "until")
        with self._engine.store.reader() as reader:
            source = next(iter(reader.find(self._space, [checked_id(known.grounds[0].event_id)]).values())).event
        words = None if text is None else checked_question(text)
        write_record(
            self._engine,
            self._space,
            RecordKind.FEEDBACK,
            answering(known.id, said, moment),
            by=self._by(by),
            events=known.events,
            text=words or "",
            wing=source.wing,
        )
        # Where marks are behind the log, the answer waits in it.
        again(self._engine, lambda: mark_behind(self._engine.store, self._space), resumes=True)
        return self.intent(id)

    def beliefs(
        self,
        holder: str | None = None,
        thing: str | None = None,
        *,
        of: str | None = None,
        as_of: Time | None = None,
    ) -> list[Belief]:
        """Tell where things are and how they stand, as somebody believes, each with the words that it rests on.

        Without a holder: everybody's, and first how it is by the latest word (`holder` None). of: what the holder
        thinks that somebody else thinks. as_of: by what was known then.
        """
        from everyword.knowledge.intents import beliefs_in

        for name, given in (("holder", holder), ("thing", thing), ("of", of)):
            if given is not None and not (isinstance(given, str) and given.strip()):
                raise InvalidInput(f"{name} is a name, not {given!r}.")
        if of is not None and holder is None:
            raise InvalidInput("Say who is thought to think so: holder.")
        with self._engine.store.reader() as reader:
            return beliefs_in(
                reader,
                self._space,
                holder=holder,
                thing=thing,
                of=of,
                wing=self._wing,
                as_of=None if as_of is None else as_datetime(as_of, "as_of"),
            )

    def window(self, budget: int = 2000, *, now: Time | None = None, as_of: Time | None = None) -> Window:
        """Show what matters now, without a question: three tiers of events, concepts and intents in a token budget.

        as_of: by what was known then, and at that time unless `now` says otherwise.
        """
        from everyword.knowledge.window import window_in

        checked_count("budget", budget, 1_000_000)
        known = None if as_of is None else as_datetime(as_of, "as_of")
        moment = known if now is None and known is not None else self._moment(now)
        with self._engine.store.reader() as reader:
            return window_in(
                reader,
                self._space,
                wing=self._wing,
                now=moment,
                budget=budget,
                tokenizer=self._engine.tokenizer,
                as_of=known,
                intents=self._intents_of_the_minute(reader, moment) if now is None and known is None else None,
                fence_key=self._engine.fence_key.of(reader),
            )

    def palace(self, *, rooms: int = 20, drawers: int = 10, as_of: Time | None = None) -> Palace:
        """Lay the memory out as a place: wing > room (concept) > hall (kind) > closet (summary) > drawer (event).

        rooms: how many a wing shows at most. drawers: how many of the newest events a room shows at most.
        as_of: by what was known then.
        """
        from everyword.knowledge.window import palace_in

        checked_count("rooms", rooms, _MOST)
        checked_count("drawers", drawers, _MOST)
        with self._engine.store.reader() as reader:
            known = None if as_of is None else as_datetime(as_of, "as_of")
            return palace_in(reader, self._space, wing=self._wing, rooms=rooms, drawers=drawers, as_of=known)

    def on(self, what: str, told: Callable[[Any], None]) -> Callable[[], None]:
        """Call a function with each new "event", "concept", "intent" or "job" that a write of this process brings.

        Gives a function that ends it. Never twice with the same one; of intents and concepts, with a few an hour at
        most. An error in the function is a notice: what was written is written.
        """
        if not callable(told):
            raise InvalidInput(f"{told!r} can't be called.")
        return subscribe(self._engine, self._space, self._wing, chosen_kind(what), told)

    def watch(
        self, *, kinds: Sequence[str] = (), every: float = 1.0, stop: Callable[[], bool] | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Go through what is new as it comes, whichever process writes: ("event", Event), ("intent", Intent) and so on.

        kinds: which of event, concept, intent and job (default: all). every: seconds between two looks.
        """
        if not isinstance(every, int | float) or isinstance(every, bool) or not 0 < every < float("inf"):
            raise InvalidInput(f"every is a number of seconds above 0, not {every!r}.")
        if isinstance(kinds, str):
            raise InvalidInput("kinds is a list.", fix='Give it as ["intent"].')
        wanted = tuple(dict.fromkeys(map(chosen_kind, kinds))) or tuple(ChangeKind)
        going = stop or (lambda: False)
        return watch_changes(self._engine, self._space, self._wing, kinds=wanted, every=every, stop=going)

    def _intents(self, now: Time | None, as_of: Time | None) -> list[Intent]:
        from everyword.knowledge.intents import intents_in

        known = None if as_of is None else as_datetime(as_of, "as_of")
        moment = known if now is None and known is not None else self._moment(now)
        with self._engine.store.reader() as reader:
            if now is None and known is None:
                return self._intents_of_the_minute(reader, moment)
            return intents_in(reader, self._space, now=moment, wing=self._wing, as_of=known)

    def _intents_of_the_minute(self, reader: Reader, now: datetime) -> list[Intent]:
        """Give intents as they stand this minute: who looks again, finds them where they were, and at once."""
        from everyword.knowledge.intents import cached_intents

        minute = now.replace(second=0, microsecond=0)
        return cached_intents(self._engine, reader, self._space, wing=self._wing, now=minute)


def chosen_kind(what: str) -> ChangeKind:
    """Read what somebody wants to be told of."""
    found = chosen(ChangeKind, "what", what)
    if found is None:
        raise InvalidInput("Say what to be told of.", fix=f"Choose one of {', '.join(ChangeKind)}.")
    return found
