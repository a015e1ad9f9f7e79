"""Wake-ups: what an agent should know before the first message, within a token budget.

[1] identity: I am Atlas, Ana's assistant.
Now, in boat:
[2] instruction, 1 March 2026: answer in one paragraph
[3] to do, due 12 March 2026: order the epoxy
About Bruno:
[4] relationship, 1 March 2026: Bruno is Ana's brother

Lines are statements that hold now and that the reader takes for worth telling unasked weeks later, what somebody asked
to be remembered, and intents that are due.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from everyword.models.protocol import Tokenizer
from everyword.retrieval.instructions import LEAST_WORTH, worth_telling
from everyword.storage.protocol import Reader
from everyword.text.rendering import fence_tokens, fenced, one_line
from everyword.text.requests import asked_to_remember
from everyword.text.spans import points_back, sentences
from everyword.text.terms import count_of, question_terms
from everyword.types.events import (
    ASSISTANTS,
    SAVED_ON_REQUEST,
    USERS,
    Citation,
    Event,
    Score,
    Span,
    elsewhere,
)
from everyword.types.intents import LIVE, Identity, Intent, IntentCategory, WakeUp, WakeUpLine
from everyword.types.statements import BY_HAND, Statement, StatementKind, Status
from everyword.types.times import day_in_words
from everyword.types.trust import effective_at, may_be_shown_unasked


class Rule(NamedTuple):
    """How much statements of a kind matter to an agent that did not ask."""

    importance: float  # 0 to 1
    half_life_days: int  # by how long such statements stay true
    least: float  # confidence times how likely it lasts, from which on it is told


# Past events and insights can wait until somebody asks; plans and tasks come as intents. Bounds: of 357 statements of
# real chats, labelled by reading, 85% of those above
# them were worth their tokens. Relationships and instructions mostly are.
RULES = {
    StatementKind.INSTRUCTION: Rule(1.0, 365, LEAST_WORTH),
    StatementKind.DECISION: Rule(0.9, 60, 0.55),
    StatementKind.RELATIONSHIP: Rule(0.8, 365, 0.25),
    StatementKind.ATTRIBUTE: Rule(0.8, 180, 0.55),
    StatementKind.PREFERENCE: Rule(0.75, 365, 0.6),
    StatementKind.FACT: Rule(0.7, 60, 0.6),
    StatementKind.HABIT: Rule(0.6, 180, 0.6),
}
_WITHOUT_SUBJECT = (StatementKind.INSTRUCTION, StatementKind.DECISION)  # understood though they name nobody
_EVERY_YEAR = "birthday"  # the reader's relation whose date comes again
FLOOR = 0.3  # share of the importance that does not fade
USE, MOST_USE = 0.04, 0.2  # bonus for each doubling of repetitions, and at most
HERE = 0.25  # bonus for the current project
BY_ASSISTANT = 0.5  # factor: what an assistant says is mostly about the task of the moment
_INTENT = 0.45  # importance of what is to be done; as much again for the most pressing intent
DEADLINES = ((1, 0.5), (7, 0.3), (30, 0.1))  # days left, bonus
_ALIKE = 0.08  # taken off the priority of the next line of the same kind, so that one kind does not crowd out others
_IDENTITY_SHARE = 0.3  # of the budget: 50 of 170 tokens, so that a long identity leaves room
_MISFITS = 6  # lines that do not fit, after which shorter ones are no longer tried
_LEAST_WORDS = 2  # content words of a line that is understood alone
_LATEST_OF_A_KIND = 40  # newest statements of each kind that are considered
_ABOUT_TOPIC = 60
_INTENTS_TOLD = 5
_ASKED_HALF_LIFE_DAYS = 90
_MOST_SAVED = 200  # characters of a saved text that is told whole
_LATEST_EVENTS = 150  # newest events in which "remember that" is looked for
MOST_CONFIRMED = 40  # statements repeated most often, of any age


class WakeUpRequest(Struct, frozen=True, kw_only=True):
    """What a wake-up is for: the space, the project, the day."""

    reader: Reader
    wing: str | None  # None: all wings; otherwise nothing of other wings is shown
    project: str | None  # the current one ("": none); nothing of another is told, unless it is about the topic
    topic: str | None
    today: datetime  # midnight, so that the choice changes once a day
    latest: datetime  # time of the last event
    intents: Sequence[Intent]  # of the wing, the most pressing first


class Candidate(Struct, frozen=True, kw_only=True):
    """A line that could be chosen."""

    line: WakeUpLine
    order: tuple[float, str]  # breaks ties: the later first, then by id, so that the choice is deterministic
    group: str  # the kind of line


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
    """Gather the lines that could be chosen, each thing once: about the topic, what holds now, what is to be done."""
    reader = request.reader
    about = [] if request.topic is None else reader.standing(request.topic, limit=_ABOUT_TOPIC)
    confirmed = reader.confirmations(limit=MOST_CONFIRMED)
    often = [one for id in confirmed if (one := reader.statement(id)) is not None]
    latest = [
        one
        for kind in RULES
        for wing in dict.fromkeys((request.wing or request.project, request.wing))
        for one in reader.latest_statements(kind, wing=wing, limit=_LATEST_OF_A_KIND)
    ]
    due = list(_intent_lines(request))
    to_do = {one.line.citation.event_id for one in due}  # tells when, besides
    asked = [one for one in _asked_lines(request) if one.line.citation.event_id not in to_do]
    told = {one.line.citation.event_id: one.line.citation.span for one in asked}
    stated = (
        *_statement_lines(request, about, confirmed, layer=2),
        *_statement_lines(request, [*latest, *often], confirmed, layer=1),
    )
    found: dict[str, Candidate] = {}
    for candidate in (*(one for one in stated if not _is_part(one.line.citation, told)), *asked, *due):
        found.setdefault(candidate.order[1], candidate)
    return list(found.values())


def _is_part(citation: Citation, told: Mapping[str, Span]) -> bool:
    """Tell whether the words of a line are part of a line that somebody asked for."""
    span, whole = citation.span, told.get(citation.event_id)
    return whole is not None and whole.start <= span.start and span.end <= whole.end


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
        return tokenizer.count(fenced(_laid_out(lines, headings)[0], key, tokenizer.count))

    chosen: list[WakeUpLine] = []
    fence = fence_tokens(tokenizer.count)
    for sentence in identity:
        if cost([*chosen, sentence]) > min(budget, fence + int((budget - fence) * _IDENTITY_SHARE)):
            break
        chosen.append(sentence)
    misfits = 0
    for line in _by_turns(candidates):
        if any(line.text.casefold() == one.text.casefold() for one in chosen):
            continue
        if cost([*chosen, line]) <= budget:
            chosen.append(line)
        elif (misfits := misfits + 1) == _MISFITS:
            break
    body, lines = _laid_out(chosen, headings)
    text = fenced(body, key, tokenizer.count)
    return WakeUp(
        text=text,
        tokens=tokenizer.count(text) if text else 0,
        budget=budget,
        tokenizer=tokenizer.name,
        citations=tuple(line.citation for line in lines),
        lines=tuple(lines),
        considered=len(candidates),
    )


def _by_turns(candidates: Sequence[Candidate]) -> Iterator[WakeUpLine]:
    """Yield lines by priority; each one lowers the priority of the next of its kind. The topic comes first."""
    waiting: dict[tuple[int, str], list[Candidate]] = {}
    for one in sorted(candidates, key=lambda one: (one.line.priority, *one.order)):
        waiting.setdefault((-one.line.layer, one.group), []).append(one)
    taken = dict.fromkeys(waiting, 0)
    while waiting:
        group = min(
            waiting, key=lambda group: (group[0], _ALIKE * taken[group] - waiting[group][-1].line.priority, group[1])
        )
        line = waiting[group].pop().line
        if before := taken[group]:
            why = f"{count_of(before, 'line')} of its kind before it"
            alike = Score(stage="alike", score=round(-_ALIKE * before, 4), why=why)
            line = replace(line, reasons=(*line.reasons, alike), priority=_priority((*line.reasons, alike)))
        taken[group] += 1
        if not waiting[group]:
            del waiting[group]
        yield line


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


def _statement_lines(
    request: WakeUpRequest, statements: Sequence[Statement], confirmed: Mapping[str, int], *, layer: int
) -> Iterator[Candidate]:
    known = request.reader.known(one.event_id for one in statements)
    for one in statements:
        rule = RULES.get(one.kind)
        if one.event_id not in known or rule is None:
            continue
        event = known[one.event_id].event
        if not _may_be_told(request, one, event, rule, layer):
            continue
        reasons = tuple(_reasons(request, one, event, rule, confirmed.get(one.id, 0)))
        line = WakeUpLine(
            layer=layer,
            kind=f"{one.kind.value}, {day_in_words(event.at)}",
            text=one_line(one.content),
            citation=Citation(mark="", event_id=event.id, key=event.key, span=one.span),
            priority=_priority(reasons),
            reasons=reasons,
        )
        yield Candidate(line=line, order=(effective_at(event).timestamp(), one.id), group=one.kind)


def _may_be_told(request: WakeUpRequest, one: Statement, event: Event, rule: Rule, layer: int) -> bool:
    if one.status is not Status.CURRENT or not may_be_shown_unasked(event) or is_over(one, request.today):
        return False
    if request.wing is not None and event.wing != request.wing:
        return False
    if layer == 2:
        return True
    if elsewhere(event, request.project):
        return False
    understood = (one.about is not None or one.kind in _WITHOUT_SUBJECT) and not points_back(one.quote)
    return one.extractor == BY_HAND or (understood and worth_telling(one) >= rule.least)


def is_over(statement: Statement, today: datetime) -> bool:
    """Tell whether a date has passed that a decision names, or that is all a statement says ("it is on 20 January")."""
    if statement.date is None or statement.date.end > today:
        return False
    if statement.kind is StatementKind.DECISION:
        return True
    if not statement.value:
        return False
    if statement.slot is not None and statement.slot.attribute == _EVERY_YEAR:
        return False
    return statement.date.words in statement.value and 2 * len(statement.date.words) > len(statement.value)


def _reasons(request: WakeUpRequest, one: Statement, event: Event, rule: Rule, confirmed: int) -> Iterable[Score]:
    """List the reasons to show a statement; their sum is its priority."""
    days = max(0, (request.latest - effective_at(event)) // timedelta(days=1))
    importance, whose = rule.importance * worth_telling(one), ""
    if (event.role or "").lower() in ASSISTANTS:
        importance, whose = importance * BY_ASSISTANT, ", said by an assistant"
    kept = importance * (FLOOR + (1 - FLOOR) * 0.5 ** (days / rule.half_life_days))
    yield _score("importance", importance, f"{one.kind.value}, worth telling to {worth_telling(one):.0%}{whose}")
    yield _score("recency", kept - importance, f"{days} days before the last event")
    if confirmed:
        yield _score("use", min(MOST_USE, USE * math.log2(1 + confirmed)), f"said again {confirmed} times")
    project = request.wing or request.project
    if project is not None and event.wing == project:
        yield _score("here", HERE, "of the project at hand")


def _asked_lines(request: WakeUpRequest) -> Iterator[Candidate]:
    """Yield what somebody asked to be remembered, as it was said, unless it was replaced since."""
    reader, project = request.reader, request.wing or request.project
    events = reader.fetch(reader.newest_events(project or None, limit=_LATEST_EVENTS))
    asked = {seq: span for seq, event in events.items() if (span := _asked_for(event))}
    stated = reader.statements_of(list(asked))
    for seq, span in asked.items():
        event, statements = events[seq], stated.get(seq, ())
        if not may_be_shown_unasked(event) or (event.role or "").lower() in ASSISTANTS:
            continue
        if elsewhere(event, project):
            continue
        if statements and all(one.status is not Status.CURRENT for one in statements):
            continue
        days = max(0, (request.latest - effective_at(event)) // timedelta(days=1))
        reasons = (
            _score("asked", 0.5 + 0.4 * 0.5 ** (days / _ASKED_HALF_LIFE_DAYS), "somebody asked to remember it"),
            *((_score("here", HERE, "of the project at hand"),) if project else ()),
        )
        line = WakeUpLine(
            layer=1,
            kind=f"remember, {day_in_words(event.at)}",
            text=one_line(event.text[span.start : span.end]),
            citation=Citation(mark="", event_id=event.id, key=event.key, span=span),
            priority=_priority(reasons),
            reasons=reasons,
        )
        yield Candidate(line=line, order=(effective_at(event).timestamp(), event.id), group="remember")


def _asked_for(event: Event) -> Span | None:
    """Find what somebody asked to be remembered: after "remember that", or a short text saved by an agent's tool."""
    # People who talk to each other say it, too: "Remember that epic block in Game 7?"
    to_assistant = event.speaker is None or (event.role or "").lower() in USERS
    match = asked_to_remember(event.text) if to_assistant else None
    if match and len(question_terms(match[1])) >= _LEAST_WORDS:
        return Span(*match.span(1))
    # A message has a role; agents save whole conversations as well.
    saved = event.meta.get(SAVED_ON_REQUEST) is True and event.role is None and len(event.text) <= _MOST_SAVED
    return Span(0, len(event.text)) if saved and len(question_terms(event.text)) >= _LEAST_WORDS else None


def _intent_lines(request: WakeUpRequest) -> Iterator[Candidate]:
    """Yield what is due or was asked for, the most urgent first; plans without a date can wait."""
    tasks, today, project = IntentCategory.TASK, request.today, request.wing or request.project
    live = [one for one in request.intents if one.status in LIVE and one.grounds]
    due = [one for one in live if one.category is tasks or (one.deadline is not None and one.deadline > today)]
    # Prefer the quote that contains the statement; one reworded by a person has none.
    shown = {one.id: next((g for g in one.grounds if one.statement in g.quote), one.grounds[-1]) for one in due}
    known = request.reader.known(ground.event_id for ground in shown.values())
    told = 0
    for intent in due:
        ground = shown[intent.id]
        event = known[ground.event_id].event if ground.event_id in known else None
        not_here = event is None or elsewhere(event, project)
        vague = points_back(intent.statement) or (
            intent.due is None and len(question_terms(intent.statement)) < _LEAST_WORDS
        )
        if not_here or vague:
            continue
        reasons = [
            _score("to do", _INTENT * (1 + intent.priority), intent.reason or "a goal not met"),
            *_deadline(intent, today),
        ]
        if project and event is not None and event.wing == project:
            reasons.append(_score("here", HERE, "of the project at hand"))
        line = WakeUpLine(
            layer=1,
            kind="to do" if intent.due is None else f"to do, due {day_in_words(intent.due)}",
            text=one_line(intent.content),
            citation=Citation(mark="", event_id=ground.event_id, span=ground.span),
            priority=_priority(reasons),
            reasons=tuple(reasons),
        )
        yield Candidate(line=line, order=(intent.last_at.timestamp(), intent.id), group="to do")
        told += 1
        if told == _INTENTS_TOLD:
            return


def _deadline(intent: Intent, today: datetime) -> list[Score]:
    if intent.due is None:
        return []
    left = (intent.due - today.date()).days
    bonus = next((bonus for days, bonus in DEADLINES if left <= days), 0.0)
    why = f"{count_of(left, 'day')} left" if left >= 0 else f"was due {count_of(-left, 'day')} ago"
    return [_score("deadline", bonus, why)]


def _priority(reasons: Sequence[Score]) -> float:
    return round(sum(reason.score for reason in reasons), 4)


def _score(stage: str, score: float, why: str) -> Score:
    return Score(stage=stage, score=round(score, 4), why=why)
