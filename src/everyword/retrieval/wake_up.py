"""Wake-ups: choose by priority what an agent should know before the first message, within a token budget.

[1] identity: I am Atlas, Ana's assistant.
Now, in boat:
[2] decision, 3 March 2026: use epoxy for the keel
About Bruno:
[3] relationship, 1 March 2026: Bruno is Ana's brother"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from everyword.lazy_patterns import lazy_pattern
from everyword.models.protocol import Tokenizer
from everyword.storage.protocol import Reader
from everyword.text.rendering import fence_tokens, fenced, name, one_line
from everyword.text.spans import sentences
from everyword.types.events import ASSISTANTS, Citation, Event, Filter, Score, Span
from everyword.types.ids import raw_event_id
from everyword.types.intents import URGENCY_SHARE, Evidence, Identity, Intent, WakeUp, WakeUpLine
from everyword.types.statements import TO_DO, Category, Statement, StatementKind
from everyword.types.times import day_in_words
from everyword.types.trust import effective_at, may_be_shown_unasked

if TYPE_CHECKING:
    from everyword.knowledge.window import Standing  # imports the readers of goals and concepts


_IDENTITY_SHARE = 0.3  # of the budget: 50 of 170 tokens, so that a long identity leaves room

# Taken off the priority of the next line of the same kind, so that decisions do not crowd out tasks.
_ALIKE = 0.08
_MISFITS = 6  # lines that do not fit, after which shorter ones are no longer tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A line that could be chosen."""

    line: WakeUpLine
    order: tuple[float, str]  # breaks ties: the later first, then by id, so that the choice is deterministic
    group: str  # the kind of line
    quotes: bool = False  # it only quotes an event, and is dropped next to another line of that event


def priority(reasons: Sequence[Score]) -> float:
    """Add up the reasons for a line."""
    return round(sum(reason.score for reason in reasons), 4)


def wake_up(
    identity: Sequence[WakeUpLine],
    candidates: Sequence[Candidate],
    budget: int,
    tokenizer: Tokenizer,
    *,
    headings: dict[int, str],
    fence_key: bytes | None = None,
) -> WakeUp:
    """Choose the lines: identity first, then by priority, while they fit.

    identity: its sentences in order. headings: the heading of each layer. fence_key: the key that the fence is derived
    from; None for a random one.
    """
    key = secrets.token_bytes() if fence_key is None else fence_key  # one key for all counts of this call

    def cost(lines: Sequence[WakeUpLine]) -> int:
        return tokenizer.count(fenced(_laid_out(lines, headings)[0], key))

    chosen: list[WakeUpLine] = []
    fence = fence_tokens(tokenizer.count)
    for sentence in identity:
        if cost([*chosen, sentence]) > min(budget, fence + int((budget - fence) * _IDENTITY_SHARE)):
            break
        chosen.append(sentence)
    misfits = 0
    for candidate in _by_turns(candidates):
        line = candidate.line
        if _repeats(candidate, chosen):
            continue
        if cost([*chosen, line]) <= budget:
            chosen.append(line)
        elif (misfits := misfits + 1) == _MISFITS:
            break
    body, lines = _laid_out(chosen, headings)
    text = fenced(body, key)
    return WakeUp(
        text=text,
        tokens=tokenizer.count(text) if text else 0,
        budget=budget,
        tokenizer=tokenizer.name,
        citations=tuple(line.citation for line in lines),
        lines=tuple(lines),
        considered=len(candidates),
    )


def _by_turns(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield candidates by priority; each one lowers the priority of the next of its kind."""
    waiting: dict[tuple[int, str], list[Candidate]] = {}
    for candidate in sorted(candidates, key=_place, reverse=True):
        waiting.setdefault((candidate.line.layer, candidate.group), []).append(candidate)
    taken = dict.fromkeys(waiting, 0)
    while waiting:
        group = min(waiting, key=lambda group: _place(waiting[group][-1], taken[group]))
        candidate = waiting[group].pop()
        if taken[group]:
            alike = Score(stage="alike", score=-_ALIKE * taken[group], why=f"{taken[group]} of its kind come before it")
            reasons = (*candidate.line.reasons, alike)
            candidate = replace(candidate, line=replace(candidate.line, reasons=reasons, priority=priority(reasons)))
        taken[group] += 1
        if not waiting[group]:
            del waiting[group]
        yield candidate


def _place(candidate: Candidate, alike: int = 0) -> tuple[int, float, float, str]:
    later, id = candidate.order
    # The topic that was asked for comes first.
    return -candidate.line.layer, _ALIKE * alike - candidate.line.priority, -later, id


def _repeats(candidate: Candidate, chosen: Sequence[WakeUpLine]) -> bool:
    own = candidate.line
    if candidate.quotes and any(line.citation.event_id == own.citation.event_id for line in chosen):
        return True
    return any(line.text.casefold() == own.text.casefold() for line in chosen)


def _laid_out(lines: Sequence[WakeUpLine], headings: dict[int, str]) -> tuple[str, list[WakeUpLine]]:
    """Write lines layer by layer, each with its mark, in the order of choice."""
    blocks: list[str] = []
    marked: list[WakeUpLine] = []
    for line in sorted(lines, key=lambda line: line.layer):
        if (not marked or marked[-1].layer != line.layer) and headings.get(line.layer):
            blocks.append(headings[line.layer])
        mark = f"[{len(marked) + 1}]"
        marked.append(replace(line, citation=replace(line.citation, mark=mark)))
        blocks.append(f"{mark} {line.kind}: {line.text}")
    return "\n".join(blocks), marked


# From 0 to 1: how much an agent gains by knowing it unasked. Tasks and decisions change what it does; past events can
# wait until somebody asks.
IMPORTANCE = {
    StatementKind.INSTRUCTION: 1.0,
    StatementKind.DECISION: 0.9,
    StatementKind.TASK: 0.9,
    StatementKind.PREFERENCE: 0.85,
    StatementKind.FACT: 0.7,
    StatementKind.PLAN: 0.7,
    StatementKind.RELATIONSHIP: 0.6,
    StatementKind.ATTRIBUTE: 0.6,
    StatementKind.HABIT: 0.5,
    StatementKind.INSIGHT: 0.5,
    StatementKind.EVENT: 0.3,
}
# Added to the importance, for what must not be ignored (an allergy), and for who somebody is.
WEIGHTY = {Category.WELLNESS: 0.25, Category.IDENTITY: 0.1}
# Half-life in days, by how long such statements stay true.
HALF_LIFE_DAYS = {
    StatementKind.TASK: 14,
    StatementKind.PLAN: 14,
    StatementKind.EVENT: 14,
    StatementKind.DECISION: 60,
    StatementKind.FACT: 60,
    StatementKind.INSIGHT: 60,
    StatementKind.HABIT: 180,
    StatementKind.INSTRUCTION: 365,
    StatementKind.PREFERENCE: 365,
    StatementKind.RELATIONSHIP: 365,
    StatementKind.ATTRIBUTE: 365,
}
FLOOR = 0.4  # share of the importance that does not decay: an old allergy is still one
# Bonus for each doubling of how often it was repeated, and its maximum.
USE = 0.06
MOST_USE = 0.24
# Days until the deadline, and the bonus. A missed deadline counts for a week as one of tomorrow.
DEADLINES = ((1, 0.5), (7, 0.3), (30, 0.1))
MISSED_DAYS = 7
HERE = 0.25  # bonus for the current project
# An assistant's own plans are mostly about the task of the moment.
BY_ASSISTANT = 0.5  # factor on the importance
_DATED = (StatementKind.PLAN, StatementKind.TASK, StatementKind.EVENT, StatementKind.DECISION)
# Kinds that may hold only until a date: "the flight is on 20 January". A birthday comes again, and "from February"
# has no end.
_MAY_BE_A_DATE = (StatementKind.FACT, StatementKind.ATTRIBUTE)
_ONLY_WHEN = lazy_pattern(
    r"(?:(?:on|in|at|by|for|due|set|scheduled|planned|booked|until|till|before|around|now|the|closed|open)\s)*",
    re.IGNORECASE,
)
_EVERY_YEAR = ("birthday", "anniversary", "name day", "born")


def weigh(
    statement: Statement,
    *,
    said_at: datetime,
    latest: datetime,
    today: datetime,
    confirmed: int,
    here: bool,
    by_assistant: bool,
) -> tuple[Score, ...]:
    """List the reasons to show a statement; their sum is its priority."""
    days = max(0, (latest - said_at) // timedelta(days=1))
    importance = min(1.0, IMPORTANCE[statement.kind] + WEIGHTY.get(statement.category, 0.0)) * statement.confidence
    if by_assistant:
        importance *= BY_ASSISTANT
    recency = 0.5 ** (days / HALF_LIFE_DAYS[statement.kind])
    kept = importance * (FLOOR + (1 - FLOOR) * recency)
    whose = ", said by an assistant" if by_assistant else ""
    scores = [
        _score("importance", importance, f"{_named(statement)}, certain to {statement.confidence:.0%}{whose}"),
        _score("recency", kept - importance, f"{days} days before the last event"),
    ]
    if confirmed:
        used = min(MOST_USE, USE * math.log2(1 + confirmed))
        scores.append(_score("use", used, f"said again {confirmed} times"))
    scores += _deadline(statement, today)
    if here:
        scores.append(_score("here", HERE, "of the project at hand"))
    return tuple(scores)


def is_over(statement: Statement, today: datetime) -> bool:
    """Tell whether the statement's date has passed."""
    if statement.date is None or statement.kind is StatementKind.DECISION:
        return False
    if statement.kind not in _DATED and not _is_a_date(statement, statement.date.words):
        return False
    missed = MISSED_DAYS if statement.kind is StatementKind.TASK else 0  # a flight that has left is no news
    return today - statement.date.end >= timedelta(days=missed)  # a sum could overflow in year 9999


def _is_a_date(statement: Statement, words: str) -> bool:
    """Tell whether the value of a statement is only a date."""
    if statement.kind not in _MAY_BE_A_DATE or not statement.value or statement.slot is None:
        return False
    if any(word in statement.slot.attribute for word in _EVERY_YEAR):
        return False
    before, _, _ = statement.value.partition(words)
    return before != statement.value and _ONLY_WHEN.fullmatch(before) is not None


def _deadline(statement: Statement, today: datetime) -> list[Score]:
    if statement.date is None or statement.kind not in _DATED:
        return []
    left = (statement.date.end - today) // timedelta(days=1) - 1  # the end is exclusive
    if left < 0:
        late = statement.kind is StatementKind.TASK and left >= -MISSED_DAYS
        return [_score("deadline", DEADLINES[0][1], f"was due {-left} days ago")] if late else []
    bonus = next((bonus for days, bonus in DEADLINES if left <= days), 0.0)
    return [_score("deadline", bonus, f"{statement.date.words}: {left} days left")] if bonus else []


def _named(statement: Statement) -> str:
    kind = statement.kind.value.replace("_", " ")
    return f"{kind} ({statement.category.value})" if statement.category in WEIGHTY else kind


def _score(stage: str, score: float, why: str) -> Score:
    return Score(stage=stage, score=round(score, 4), why=why)


_LATEST_OF_A_KIND = 40  # newest statements of each kind that are considered
MOST_CONFIRMED = 40  # statements repeated most often, of any age
_ABOUT_TOPIC = 60
_SESSION_EVENTS = 20  # first events of a session that are searched for a person's words
_QUOTED_CHARS = 120  # quoted from the start of a session
_LOOKED_BACK = 100  # events searched for the latest sessions; all of them would take too long for a hook
# Priorities of the last sessions: below recent decisions, above single events.
_LATEST_SESSIONS = (0.5, 0.4, 0.3)
_INTENTS_TOLD = 5  # the same limit as everywhere else
_CONCEPTS_TOLD = 3
_CONCEPT = 0.35  # priority of a concept: between the last session and recent decisions
# Bonus for the top of the window, as much as three repetitions.
_STANDING = 0.12
_RULES = "rules"
# Kinds that are shown in every project; the others belong to the project where they were said.
_EVERYWHERE = (
    StatementKind.PREFERENCE,
    StatementKind.ATTRIBUTE,
    StatementKind.RELATIONSHIP,
    StatementKind.INSTRUCTION,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeUpRequest:
    """What a wake-up is for: the space, the project, the day."""

    reader: Reader
    wing: str | None  # None: all wings; otherwise nothing of other wings is shown
    project: str | None  # the current one; others are shown where they matter
    topic: str | None
    today: datetime  # midnight, so that the choice changes once a day
    latest: datetime  # time of the last event
    confirmed: Mapping[str, int]  # how often a statement was repeated, for the most frequent ones
    standing: Standing  # ranks of events and concepts in the window


Source = Callable[[WakeUpRequest], Iterable[Candidate]]


def identity_of(reader: Reader, wings: Sequence[str | None]) -> Identity | None:
    """Read the latest identity of the first wing that has one; the wing None stands for all.

    The latest is the last in the log, whatever its date.
    """
    for wing in wings:
        found = reader.latest_identity(wing)
        if found is not None:
            return Identity(text=found.text, event_id=found.id, set_at=found.at, wing=found.wing)
    return None


def identity_lines(identity: Identity | None) -> list[WakeUpLine]:
    """Split an identity into one line for each sentence."""
    if identity is None:
        return []
    return [
        WakeUpLine(
            layer=0,
            kind="identity",
            text=one_line(identity.text[span.start : span.end]),
            citation=Citation(mark="", event_id=identity.event_id, span=span),
            priority=1.0,
            reasons=(Score(stage="identity", score=1.0, why="set by hand"),),
        )
        for span in sentences(identity.text)
    ]


def candidates(request: WakeUpRequest) -> list[Candidate]:
    """Gather the candidates of every source, each thing once."""
    found: dict[str, Candidate] = {}
    for source in SOURCES:
        for candidate in source(request):
            found.setdefault(candidate.order[1], candidate)
    return list(found.values())


def about_topic(request: WakeUpRequest) -> Iterator[Candidate]:
    """Yield what is known about the topic."""
    if request.topic is not None:
        standing = request.reader.standing(request.topic, limit=_ABOUT_TOPIC)
        yield from _weighed(request, standing, layer=2)


def statements(request: WakeUpRequest) -> Iterator[Candidate]:
    """Yield the newest statements of each kind, and those repeated most often."""
    reader = request.reader
    latest = [
        statement
        for kind in StatementKind
        for statement in reader.latest_statements(kind, wing=_seen(request, kind), limit=_LATEST_OF_A_KIND)
    ]
    known = {statement.id for statement in latest}
    often = (id for id in request.confirmed if id not in known)
    more = [statement for id in often if (statement := reader.statement(id)) is not None]
    yield from _weighed(request, [*latest, *more], layer=1)


def latest_sessions(request: WakeUpRequest) -> Iterator[Candidate]:
    """Yield how the latest sessions of the project began."""
    wing = request.wing or request.project
    if wing is None:
        return
    rows = request.reader.page(Filter(wing=wing), newest_first=True, limit=_LOOKED_BACK)
    latest = sorted((event for _, event in rows), key=effective_at, reverse=True)
    names = dict.fromkeys(event.session for event in latest if event.session is not None)
    for weight, session in zip(_LATEST_SESSIONS, names, strict=False):
        rows = request.reader.page(Filter(wing=wing, session=session), limit=_SESSION_EVENTS)
        said = next((event for _, event in rows if event.role in (None, "user") and may_be_shown_unasked(event)), None)
        if said is not None:
            yield _session_line(said, weight)


def live_intents(request: WakeUpRequest) -> Iterator[Candidate]:
    """Yield open intents, the most urgent first."""
    grounded = [intent for intent in request.standing.intents if intent.grounds]
    for intent in grounded[:_INTENTS_TOLD]:
        yield _intent_line(intent)


def worded_concepts(request: WakeUpRequest) -> Iterator[Candidate]:
    """Yield the top concepts that an LLM or a person has described; labels made by rules are only keywords."""
    if request.wing is not None:
        return  # a description may contain words of other wings
    ranked = sorted(request.standing.latest, key=lambda id: (-request.standing.of[id], id))
    worded = [id for id in ranked if request.standing.concepts[id].written_by != _RULES]
    for id in worded[:_CONCEPTS_TOLD]:
        yield _concept_line(request, id)


# The sources of layers 1 and 2. Each yields lines with a priority and its reasons.
SOURCES: tuple[Source, ...] = (about_topic, statements, live_intents, worded_concepts, latest_sessions)


def _seen(request: WakeUpRequest, kind: StatementKind) -> str | None:
    """Return the wing whose statements of a kind count; None for all."""
    return request.wing or (None if kind in _EVERYWHERE else request.project)


def _weighed(request: WakeUpRequest, statements: list[Statement], *, layer: int) -> Iterator[Candidate]:
    raw_ids = {statement.event_id: raw_event_id(statement.event_id) or b"" for statement in statements}
    events = {
        known.event.id: known.event for known in request.reader.find(list(dict.fromkeys(raw_ids.values()))).values()
    }
    for statement in statements:
        event = events.get(statement.event_id)
        if event is not None and _counts(request, statement, event, layer):
            yield _line(request, statement, event, request.confirmed.get(statement.id, 0), layer)


def _counts(request: WakeUpRequest, statement: Statement, event: Event, layer: int) -> bool:
    if statement.status != "current" or is_over(statement, request.today):
        return False
    if not may_be_shown_unasked(event):
        return False
    if statement.kind in TO_DO and any(_is_said_in(ground, statement) for ground in request.standing.closed):
        return False
    if request.wing is not None:
        return event.wing == request.wing
    elsewhere = request.project is not None and event.wing not in (None, request.project)
    return layer == 2 or not elsewhere or statement.kind in _EVERYWHERE


def _is_said_in(ground: Evidence, statement: Statement) -> bool:
    if ground.event_id != statement.event_id:
        return False
    return ground.span.start < statement.span.end and statement.span.start < ground.span.end


def _line(request: WakeUpRequest, statement: Statement, event: Event, confirmed: int, layer: int) -> Candidate:
    project = request.wing or request.project
    reasons = weigh(
        statement,
        said_at=effective_at(event),
        latest=request.latest,
        today=request.today,
        confirmed=confirmed,
        here=project is not None and event.wing == project and statement.kind not in _EVERYWHERE,
        by_assistant=(event.role or "").lower() in ASSISTANTS,
    )
    standing = request.standing.of.get(event.id, 0.0)
    if standing:
        score = round(_STANDING * standing, 4)
        reasons = (*reasons, Score(stage="window", score=score, why="its rank in the window"))
    line = WakeUpLine(
        layer=layer,
        kind=f"{statement.kind.value.replace('_', ' ')}, {day_in_words(event.at)}",
        text=one_line(statement.content),
        citation=Citation(mark="", event_id=event.id, key=event.key, span=statement.span),
        priority=priority(reasons),
        reasons=reasons,
    )
    return Candidate(line=line, order=(effective_at(event).timestamp(), statement.id), group=statement.kind)


def _intent_line(intent: Intent) -> Candidate:
    # Prefer the quote that contains the statement; one reworded by a person has none.
    ground = next((one for one in intent.grounds if intent.statement in one.quote), intent.grounds[-1])
    due = "" if intent.due is None else f", due {day_in_words(intent.due)}"
    reasons = (
        Score(stage="urgency", score=round(URGENCY_SHARE * intent.urgency, 4), why=intent.reason or "a goal not met"),
        Score(stage="importance", score=round((1 - URGENCY_SHARE) * intent.importance, 4), why=intent.category.value),
    )
    line = WakeUpLine(
        layer=1,
        kind=f"intent{due}",
        text=one_line(intent.statement),
        citation=Citation(mark="", event_id=ground.event_id, span=ground.span),
        priority=priority(reasons),
        reasons=reasons,
    )
    # A task from the same event already says the same.
    return Candidate(line=line, order=(intent.last_at.timestamp(), intent.id), group="intent", quotes=True)


def _concept_line(request: WakeUpRequest, id: str) -> Candidate:
    concept, event = request.standing.concepts[id], request.standing.latest[id]
    reasons = (
        Score(stage="concept", score=_CONCEPT, why=f"{concept.events} events belong to it"),
        Score(stage="window", score=round(_STANDING * request.standing.of[id], 4), why="its rank among the concepts"),
    )
    line = WakeUpLine(
        layer=1,
        kind="concept",
        text=f"{name(concept.label)}: {one_line(concept.description)}",
        citation=Citation(mark="", event_id=event.id, key=event.key, span=Span(0, len(event.text))),
        priority=priority(reasons),
        reasons=reasons,
    )
    return Candidate(line=line, order=(event.at.timestamp(), id), group="concept")


def _session_line(said: Event, weight: float) -> Candidate:
    end = min(len(said.text), _QUOTED_CHARS)
    quoted = one_line(said.text[:end]) + ("..." if end < len(said.text) else "")
    reasons = (Score(stage="session", score=weight, why="how one of the latest sessions of the project began"),)
    line = WakeUpLine(
        layer=1,
        kind=f"session, {day_in_words(said.at)}",
        text=f'began with "{quoted}"',
        citation=Citation(mark="", event_id=said.id, key=said.key, span=Span(0, end)),
        priority=priority(reasons),
        reasons=reasons,
    )
    return Candidate(line=line, order=(said.at.timestamp(), said.id), group="session", quotes=True)
