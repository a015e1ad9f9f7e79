"""Intents: the plans and tasks of statements, as they stand now.

An intent is a chain of versions of one plan or task. A later statement that fulfils or ends it settles it; answers of
people accept, defer, reject or reword it, and move the threshold of its category. Computed when they are read.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from everyword.engine.engine import Engine
from everyword.knowledge.comparing import Action, correction_of
from everyword.knowledge.concepts import Topics, topics_of
from everyword.knowledge.drafts import content_of
from everyword.knowledge.statements import event_before
from everyword.storage.protocol import Reader
from everyword.text.spans import points_back, sentences
from everyword.text.terms import question_terms, stop_terms
from everyword.types.concepts import INTENT_PREFIX
from everyword.types.events import Event, Json, Span, fingerprint
from everyword.types.intents import LIVE, Evidence, Intent, IntentAnswer, IntentCategory, IntentStatus
from everyword.types.records import RecordKind
from everyword.types.statements import TO_DO, Stance, Statement, StatementKind, Status
from everyword.types.times import as_datetime, later

MOST_TODOS = 500  # newest plans and tasks; older ones have expired or were repeated
_MOST_CACHED = 64  # lists of intents: a service with many tenants keeps those of the busy ones
_CATEGORIES = {StatementKind.PLAN: IntentCategory.PLAN, StatementKind.TASK: IntentCategory.TASK}

# Feedback, as CogniFold has it: w = (1 - RATE) w + RATE s, held within bounds; a threshold is divided by its w.
RATE = 0.3
SIGNALS = {IntentAnswer.ACCEPT: 1.5, IntentAnswer.MODIFY: 1.1, IntentAnswer.DEFER: 0.8, IntentAnswer.REJECT: 0.3}
LEAST_WEIGHT, MOST_WEIGHT = 0.1, 2.0
FEW_ANSWERS = 3  # to intents of a category, below which its threshold stays: one reject says nothing about others
THRESHOLD = 0.68  # of the chance that a plan or task is real, when it is said
STALE = 0.52  # chance below which one without a date has expired: it was likely done or dropped without a word
MOST_THRESHOLD = 0.8  # what is certain enough is shown whatever was rejected before
_SAID_AGAIN = 0.15  # what each further mention adds to the confidence


class _Odds(NamedTuple):
    """Weights of a logistic regression: what speaks for a plan or task being real and still open.

    Fitted on 1,909 plans and tasks, each as it stood at the end of a session, of 157 labelled conversations. By
    cross-validation 71% of those with a chance above the threshold are open.
    """

    base: float = -1.83
    sure: float = 1.81  # times the reader's confidence
    whole: float = 0.8  # it has two words of content, and so is understood alone
    named: float = 0.59  # it names somebody or something
    dated: float = 0.83
    past: float = -1.42  # its date is over
    age: float = -0.36  # times the logarithm of the days since it was said: most is done or dropped without a word
    task_age: float = -0.17  # tasks sooner than plans
    # Times how much more than usual a plan without a date is worth telling weeks later: "keep it up" is not. Fitted on
    # the plans first shown in the assistant chats of `evals shown`.
    lasts: float = 1.72


ODDS = _Odds()
_USUALLY_LASTS = 0.25
_WHOLE_TERMS = 2

EXPIRES_DAYS = 60  # after an answer, if there is no date
DEFERRED = timedelta(days=7)  # where nobody says until when
# Urgency: what is spoken of now is warmer; a date adds its bonus, and doubles all of it inside a day.
BASE_URGENCY, WARMTH, COOLS_PER_HOUR = 0.2, 0.2, 0.01
DEADLINE_BONUS = ((24, 0.3), (48, 0.2), (168, 0.1))  # hours, bonus
DOUBLES_WITHIN_H = 24
_FOLLOWED = 80  # characters that are shown of what an intent follows
_FULL_EVENTS = 7  # events of its concepts from which an intent is as important as it can be


class Answered(NamedTuple):
    """What a person said to an intent."""

    intent: str
    answer: IntentAnswer
    until: datetime | None
    ground: Evidence


def answering(intent: str, answer: IntentAnswer, until: datetime | None) -> dict[str, Json]:
    """Write the payload of the record that answers an intent: by its id, since words may have to be forgotten."""
    told: dict[str, Json] = {"intent": intent, "answer": answer.value}
    return told if until is None else {**told, "until": until.isoformat()}


class _IntentCache:
    """The intents that were last computed, by space, wing and time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: dict[tuple[str, str | None, datetime], tuple[object, list[Intent]]] = {}


def cached_intents(engine: Engine, reader: Reader, *, wing: str | None, now: datetime) -> list[Intent]:
    """Compute the intents of a snapshot, or return those computed before if nothing changed since.

    `now` must be rounded to a minute or a day, or the cache never hits.
    """
    cache = engine.cache(_IntentCache)
    # Intents depend on these: the log, how far the views are, and what was taken back of the concepts.
    version = (reader.file.pulse(), reader.cursors(), reader.fold_mark())
    key = (reader.space, wing, now)
    with cache.lock:
        kept = cache.kept.get(key)
    if kept is not None and kept[0] == version:
        return kept[1]
    found = intents_in(reader, now=now, wing=wing)
    with cache.lock:
        cache.kept.pop(key, None)
        cache.kept[key] = (version, found)
        while len(cache.kept) > _MOST_CACHED:
            cache.kept.pop(next(iter(cache.kept)))
    return found


def intents_in(
    reader: Reader, *, now: datetime, wing: str | None = None, as_of: datetime | None = None
) -> list[Intent]:
    """Compute the intents of a snapshot, the most pressing first. as_of: by what was known then."""
    todos = reader.newest_statements(TO_DO, wing=wing, limit=MOST_TODOS)
    if as_of is not None:
        todos = [(seq, known) for seq, one in todos if (known := _as_known(reader, one, as_of)) is not None]
    if not todos:
        return []
    events = reader.fetch(sorted({seq for seq, _ in todos}))
    chains = _chains(reader, todos, events, as_of)
    answers = _answers(reader, wing, as_of)
    thresholds = _thresholds(chains, answers)
    topics = topics_of(reader, sorted({one.seq for one in chains}), wing=wing, as_of=as_of)
    seqs = {event.id: seq for seq, event in events.items()}
    found = (
        _intent(chain, [one for one in answers if one.intent in chain.ids], topics, thresholds, now) for chain in chains
    )
    shown = [_explained(reader, intent, seqs) for intent in found if intent is not None]
    return sorted(shown, key=lambda intent: (-intent.priority, intent.first_at, intent.id))


# Plans and tasks


class _Chain(Struct, frozen=True, kw_only=True):
    """The versions of one plan or task, oldest first, and what settled the last one."""

    seq: int
    versions: tuple[Statement, ...]
    grounds: tuple[Evidence, ...]
    again: tuple[datetime, ...] = ()  # when it was said again in about the same words
    settled_by: Evidence | None = None

    @property
    def last(self) -> Statement:
        return self.versions[-1]

    @property
    def id(self) -> str:
        return intent_id(self.versions[0])

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(map(intent_id, self.versions))


def intent_id(statement: Statement) -> str:
    """Derive the id of the intent whose first version a statement is."""
    span = statement.span
    return INTENT_PREFIX + fingerprint("intent", statement.event_id, span.start, span.end).hex()


def _as_known(reader: Reader, statement: Statement, as_of: datetime) -> Statement | None:
    """Show a statement as it was known at a time; None if it was not."""
    if statement.recorded_at > as_of:
        return None
    about = [one for one in reader.changes([statement.id]) if one.target_id == statement.id]
    closed = [one.at for one in about if one.action in (Action.UPDATE, Action.RETRACT)]
    if closed and min(closed) > as_of:
        return replace(statement, status=Status.CURRENT, valid_to=None)
    return statement


def _chains(
    reader: Reader, todos: Sequence[tuple[int, Statement]], events: Mapping[int, Event], as_of: datetime | None
) -> list[_Chain]:
    """Put the versions of each plan or task together."""
    by_id = {one.id: (seq, one) for seq, one in todos}
    replaced = {one.replaces for _, one in todos if one.replaces is not None and one.status is not Status.RETRACTED}
    chains: list[_Chain] = []
    closing, again = _journal(reader, list(by_id), as_of)
    for seq, one in sorted(todos, key=lambda pair: (pair[1].recorded_at, pair[0])):
        if one.id in replaced or one.stance in (Stance.MAYBE, Stance.DONE, Stance.ENDED) or one.negated:
            continue
        over = one.status is Status.RETRACTED
        if one.status is Status.SUPERSEDED or (over and one.id not in closing):
            continue  # a later version that is no plan took its place, or a person says that it was never true
        versions = [one]
        while (before := by_id.get(versions[0].replaces or "")) is not None and len(versions) < MOST_TODOS:
            versions.insert(0, before[1])
        grounds = tuple(_ground(events[by_id[version.id][0]], version.span) for version in versions)
        chains.append(
            _Chain(
                seq=seq,
                versions=tuple(versions),
                grounds=grounds,
                again=tuple(at for version in versions for at in again.get(version.id, ())),
                settled_by=closing.get(one.id) if over else None,
            )
        )
    return chains


def _journal(
    reader: Reader, ids: Sequence[str], as_of: datetime | None
) -> tuple[dict[str, Evidence], dict[str, list[datetime]]]:
    """Find in the journal the words that closed plans and tasks, and when others were said again."""
    changes = [
        one
        for one in reader.changes(ids)
        if one.target_id is not None
        and one.event_id is not None
        and one.action in (Action.RETRACT, Action.NONE)
        and (as_of is None or one.at <= as_of)
    ]
    events = {id: one.event for id, one in reader.known(one.event_id or "" for one in changes).items()}
    closing: dict[str, Evidence] = {}
    again: dict[str, list[datetime]] = {}
    for one in changes:
        event = events.get(one.event_id or "")
        if event is None or one.target_id is None:
            continue
        if one.action == Action.NONE:
            if event.record is None:
                again.setdefault(one.target_id, []).append(event.at)
        elif (correction := correction_of(event)) is None or not correction.never_true:
            said = reader.statement(one.statement_id) if one.statement_id is not None else None
            closing[one.target_id] = _ground(event, said.span if said is not None else Span(0, len(event.text)))
    return closing, again


def _ground(event: Event, span: Span) -> Evidence:
    return Evidence(
        event_id=event.id, span=span, quote=event.text[span.start : span.end], at=event.at, speaker=event.speaker
    )


# Answers


def _answers(reader: Reader, wing: str | None, as_of: datetime | None) -> list[Answered]:
    """Read what people said to intents, in the order of the log."""
    found: list[Answered] = []
    for known in reader.records((RecordKind.FEEDBACK.value,)):
        event = known.event
        if (wing is not None and event.wing != wing) or (as_of is not None and event.recorded_at > as_of):
            continue
        if event.meta["answer"] == IntentAnswer.UNDO:
            last = next((one for one in reversed(found) if one.intent == event.meta["intent"]), None)
            found = [one for one in found if one is not last]
            continue
        until = event.meta.get("until")
        found.append(
            Answered(
                event.meta["intent"],
                IntentAnswer(event.meta["answer"]),
                None if until is None else as_datetime(until, "until"),
                _ground(event, Span(0, len(event.text))),
            )
        )
    return found


def _thresholds(chains: Sequence[_Chain], answers: Sequence[Answered]) -> dict[IntentCategory, float]:
    category_of = {id: _CATEGORIES[chain.last.kind] for chain in chains for id in chain.ids}
    weights, given = dict.fromkeys(IntentCategory, 1.0), Counter[IntentCategory]()
    for one in answers:
        category, signal = category_of.get(one.intent), SIGNALS.get(one.answer)
        if category is not None and signal is not None:
            weights[category] = min(MOST_WEIGHT, max(LEAST_WEIGHT, (1 - RATE) * weights[category] + RATE * signal))
            given[category] += 1
    return {
        category: min(MOST_THRESHOLD, THRESHOLD / weight) if given[category] >= FEW_ANSWERS else THRESHOLD
        for category, weight in weights.items()
    }


# One intent


def _intent(
    chain: _Chain,
    answers: Sequence[Answered],
    topics: Topics,
    thresholds: Mapping[IntentCategory, float],
    now: datetime,
) -> Intent | None:
    last, first_at, last_at = chain.last, chain.grounds[0].at, max((chain.grounds[-1].at, *chain.again))
    category, threshold = _CATEGORIES[last.kind], thresholds[_CATEGORIES[last.kind]]
    deadline = last.date.due if last.date is not None else None
    when_said, chance = (_chance(chain, deadline, last_at, moment) for moment in (last_at, max(now, last_at)))
    if not answers and when_said < threshold:
        return None
    times = len(chain.versions) + len(chain.again)
    around = [topics.concepts[id] for id in topics.of_event.get(chain.seq, ())]
    reworded = next((one for one in reversed(answers) if one.answer is IntentAnswer.MODIFY), None)
    statement = reworded.ground.quote if reworded else " ".join(last.quote.split())
    intent = Intent(
        id=chain.id,
        statement=statement,
        content=content_of(statement, last.about),
        category=category,
        status=IntentStatus.PENDING,
        urgency=_urgency(last_at, deadline, now),
        importance=_importance(chance, [topic.events for topic in around]),
        density=round(chance, 4),
        threshold=threshold,
        grounds=chain.grounds,
        first_at=first_at,
        last_at=last_at,
        concepts=tuple(topic.id for topic in around),
        topics=tuple(topic.label for topic in around),
        deadline=deadline,
        reason=f"said {times} times" if times > 1 else "said once",
    )
    return _with_status(intent, chain, answers, now)


def _chance(chain: _Chain, deadline: datetime | None, last_at: datetime, now: datetime) -> float:
    """Estimate how likely it is that a plan or task is real and still open."""
    sure = max(one.confidence for one in chain.versions)
    sure = min(1.0, sure + _SAID_AGAIN * (len(chain.versions) + len(chain.again) - 1))
    words = chain.last.quote if chain.last.date is None else chain.last.quote.replace(chain.last.date.words, " ")
    terms = frozenset(question_terms(words)) - stop_terms()
    if not terms:
        return 0.0  # "on Friday", and nobody can tell what
    age = math.log1p((now - last_at).total_seconds() / 86_400)
    odds = ODDS.base + ODDS.sure * sure + ODDS.whole * min(1.0, len(terms) / _WHOLE_TERMS)
    odds += ODDS.named if chain.last.entities else 0.0
    if deadline is not None:
        odds += ODDS.dated + (ODDS.past if deadline <= now else 0.0)
    elif chain.last.kind is StatementKind.PLAN and chain.last.lasting is not None:
        odds += ODDS.lasts * (chain.last.lasting - _USUALLY_LASTS)
    odds += age * (ODDS.age + (ODDS.task_age if chain.last.kind is StatementKind.TASK else 0.0))
    return 1 / (1 + math.exp(-odds))


def _explained(reader: Reader, intent: Intent, seqs: Mapping[str, int]) -> Intent:
    """Add to a live intent what was said before, where its words mean little without it: "I'll file it after Porto"."""
    said = intent.grounds[-1]
    if intent.status not in LIVE or not points_back(intent.statement) or said.event_id not in seqs:
        return intent
    event = reader.fetch([seqs[said.event_id]])[seqs[said.event_id]]
    earlier = [span for span in sentences(event.text) if span.start < said.span.start]
    if earlier:
        # The beginning of its own sentence and the sentence before it, or the two sentences before it.
        follows = _ground(event, Span(earlier[-2:][0].start, said.span.start))
    elif (before := event_before(reader, seqs[said.event_id], event)) is not None:
        follows = _ground(before, Span(0, len(before.text)))
    else:
        return intent
    words = " ".join(follows.quote.split()).rstrip(" ,;:-")
    cut = words if len(words) <= _FOLLOWED else f"…{words[-_FOLLOWED:].partition(' ')[2]}"
    return replace(intent, follows=follows, content=f"{intent.content} (after “{cut}”)")


def _with_status(intent: Intent, chain: _Chain, answers: Sequence[Answered], now: datetime) -> Intent:
    last = next(iter(reversed(answers)), None)
    if last is not None and last.answer is IntentAnswer.REJECT:
        return replace(intent, status=IntentStatus.REJECTED, settled_by=last.ground)
    if last is not None and last.answer is IntentAnswer.DONE:
        return replace(intent, status=IntentStatus.RESOLVED, settled_by=last.ground)
    if chain.settled_by is not None:
        return replace(intent, status=IntentStatus.RESOLVED, settled_by=chain.settled_by)
    if last is not None and last.answer is IntentAnswer.DEFER:
        until = last.until or later(last.ground.at, DEFERRED)
        if until > now:
            return replace(intent, status=IntentStatus.DEFERRED, until=until)
    if _expired(intent, last, now):
        return replace(intent, status=IntentStatus.EXPIRED)
    if last is not None and last.answer is IntentAnswer.ACCEPT:
        return replace(intent, status=IntentStatus.SCHEDULED)
    return intent


def _expired(intent: Intent, last: Answered | None, now: datetime) -> bool:
    """Tell whether its time is over: past its date, or so old that it was likely done or dropped without a word."""
    if intent.deadline is not None:
        return intent.deadline <= now
    if last is not None:
        return now - max(intent.last_at, last.ground.at) > timedelta(days=EXPIRES_DAYS)
    return intent.density < STALE


def _urgency(last_at: datetime, deadline: datetime | None, now: datetime) -> float:
    hours = max(0.0, (now - last_at).total_seconds() / 3600)
    urgency = BASE_URGENCY + WARMTH * math.exp(-COOLS_PER_HOUR * hours)
    if deadline is None or deadline <= now:
        return urgency
    left = (deadline - now).total_seconds() / 3600
    urgency += next((bonus for within, bonus in DEADLINE_BONUS if left <= within), 0.0)
    return min(1.0, urgency * 2 if left <= DOUBLES_WITHIN_H else urgency)


def _importance(chance: float, events: Sequence[int]) -> float:
    """Tell how much it matters: how likely it is open, and how much else is about the same."""
    around = min(1.0, math.log2(1 + sum(events)) / math.log2(1 + _FULL_EVENTS)) if events else 0.0
    return min(1.0, 0.7 * chance + 0.3 * around)
