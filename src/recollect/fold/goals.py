"""What an event says that intents are made of: goals that are not met, deeds that may have met one, and answers.

By rules, sentence by sentence, offline. A goal is what somebody must, should, wants, promised or can't decide; a deed
is something said to be done. Both are kept as spans: their words are read from the event.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple, cast

from recollect.core.attention import IntentAnswer
from recollect.core.clock import as_datetime
from recollect.core.dates import Bound, Granularity, find_dates
from recollect.core.errors import InvalidTime
from recollect.core.roles import SILENT
from recollect.core.spans import sentences
from recollect.core.values import Event, Json, Span
from recollect.core.words import stem
from recollect.fold.unmet import QUESTION, is_trouble, says_unmet
from recollect.fold.wanting import OPEN, cue_of

MOST_READ = 8_000  # characters of one event: what is longer was pasted
MOST_MARKS = 8  # of one event; one with more is a list, and its first lines are enough
LONGEST = 400  # characters of a sentence that is read; beyond it is a paste
MEMBER = "recollect"  # of an event's meta
ROLE = "feedback"
# An assistant's "you should" is advice and its "I need" a figure of speech; what it did may still settle something.
ASSISTANTS = frozenset(("assistant", "ai", "model", "bot"))

UNMET = 0.3  # more, where the words say that nothing came of it so far
DATED = 0.2  # more, where there is a time by which
EVIDENT = 0.8  # from which one goal alone shows that it is not met


class MarkKind(StrEnum):
    """What a mark is."""

    GOAL = "goal"
    DEED = "deed"
    TROUBLE = "trouble"  # what goes wrong or falls short: it shows that a goal is not met, and is none by itself
    ANSWER = "answer"
    STATE = "state"  # where a thing is, who is there, who was told: see beliefs.py


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place in an event that attention rests on; `body` is what JSON can hold, and holds no words of the event."""

    kind: MarkKind
    span: Span
    body: Mapping[str, Json]


class Answered(NamedTuple):
    """What a person said to an intent."""

    intent: str
    answer: IntentAnswer
    until: datetime | None


def marks_of(event: Event) -> list[Mark]:
    """Read the goals, deeds, troubles and the answer of one event. Pure."""
    told = answer_of(event)
    if told is not None:
        until = told.until.isoformat() if told.until else None
        body = {"intent": told.intent, "answer": told.answer.value, "until": until}
        return [Mark(kind=MarkKind.ANSWER, span=Span(0, len(event.text)), body=body)]
    role = (event.role or "").casefold()
    if role in SILENT:
        return []
    marks: list[Mark] = []
    for span in sentences(event.text, Span(0, min(len(event.text), MOST_READ))):
        if span.end - span.start <= LONGEST and len(marks) < MOST_MARKS:
            sentence = event.text[span.start : span.end].replace("’", "'")
            marks += _marks(sentence, span, event.at, own=role not in ASSISTANTS)
    return marks


def _marks(sentence: str, span: Span, at: datetime, *, own: bool) -> list[Mark]:
    goal = _goal(sentence, span, at) if own else None
    if goal is not None:
        return [goal]
    # "Called three plumbers, nobody came": what was done may settle one thing and show that another is not met.
    kinds = ((MarkKind.DEED, is_deed(sentence)), (MarkKind.TROUBLE, own and is_trouble(sentence.casefold())))
    return [Mark(kind=kind, span=span, body={}) for kind, found in kinds if found]


def answering(intent: str, answer: IntentAnswer, text: str | None, until: datetime | None) -> dict[str, Json]:
    """Make the event that answers an intent: a person's word is an event like any other, so the log stays the truth."""
    told: dict[str, Json] = {"intent": intent, "answer": answer.value}
    if until is not None:
        told["until"] = until.isoformat()
    # By its id, not by its words: these must be gone when the event that said them is forgotten.
    return {"text": text or f"{_PAST[answer]} {intent}.", "role": ROLE, "meta": {MEMBER: told}}


_PAST = {
    IntentAnswer.ACCEPT: "Accepted",
    IntentAnswer.MODIFY: "Reworded",
    IntentAnswer.DEFER: "Deferred",
    IntentAnswer.REJECT: "Rejected",
    IntentAnswer.DONE: "Done:",
}


def answer_of(event: Event) -> Answered | None:
    """Read whether an event answers an intent; anything that only looks like it does not."""
    told = event.meta.get(MEMBER) if event.role == ROLE else None
    if not isinstance(told, Mapping):
        return None
    member = cast("Mapping[str, Any]", told)
    intent, answer, until = member.get("intent"), member.get("answer"), member.get("until")
    if not isinstance(intent, str) or answer not in list(IntentAnswer):
        return None
    try:
        return Answered(intent, IntentAnswer(answer), as_datetime(until, "until") if isinstance(until, str) else None)
    except InvalidTime:
        return None


# Goals


def _goal(sentence: str, span: Span, at: datetime) -> Mark | None:
    said = sentence.casefold()
    found = cue_of(said) if len(said) == len(sentence) else None
    if found is None:
        return None
    category, strength, place = found
    deadline, exact = _deadline(sentence, at) if strength >= OPEN else (None, False)  # another's wish binds nobody
    strength += (UNMET if says_unmet(said) else 0.0) + (DATED if deadline else 0.0)
    clause = _clause(sentence, place)
    body: dict[str, Json] = {
        "category": category.value,
        "strength": round(min(1.0, strength), 3),
        "clause": [span.start + clause.start, span.start + clause.end],
        "deadline": deadline.isoformat() if deadline else None,
        "exact": exact,
    }
    return Mark(kind=MarkKind.GOAL, span=span, body=body)


_CLAUSE_END = re.compile(r"[,;:]\s|\s[-–—]\s|\s(?=but\b|because\b|since\b)")


def _clause(sentence: str, place: int) -> Span:
    """Cut out the clause that a place stands in; a short one is the sentence."""
    start, end = 0, len(sentence)
    for match in _CLAUSE_END.finditer(sentence):
        if match.end() <= place:
            start = match.end()
        elif match.start() >= place + 1:
            end = match.start()
            break
    if len(sentence[start:end].split()) < 4:  # "..., I must": too little to stand alone
        return Span(0, len(sentence.rstrip(" .!")))
    return Span(start, start + len(sentence[start:end].rstrip(" .!")))


def _deadline(sentence: str, at: datetime) -> tuple[datetime | None, bool]:
    """Tell by when, and whether to the day: the first time ahead that the words name."""
    for mention in find_dates(sentence, at, past=False):
        if mention.repeats or mention.granularity is Granularity.LIFE or mention.bound is Bound.SINCE:
            continue
        moment = mention.start if mention.bound is Bound.BEFORE else mention.end
        if moment > at:
            return moment, mention.granularity in (Granularity.MOMENT, Granularity.DAY)
    return None, False


# Deeds

_DONE_STATE = (
    r"(?:done|finished|fixed|sorted|solved|settled|ready|paid|booked|sent|live|ordered|signed|submitted"
    r"|complete|completed"
    r"|resolved|delivered|closed|merged|shipped|published|cancelled|canceled|arranged|approved|decided|reliable"
    r"|stable|green)"
)
_IRREGULAR = {
    "sent": "send", "bought": "buy", "wrote": "write", "written": "write", "paid": "pay", "made": "make", "got": "get",
    "took": "take", "taken": "take", "found": "find", "did": "do", "done": "do", "gave": "give", "given": "give",
    "told": "tell", "spoke": "speak", "went": "go", "met": "meet", "brought": "bring", "put": "put", "cut": "cut",
    "set": "set", "built": "build", "sold": "sell", "rang": "ring", "rung": "ring", "drew": "draw", "held": "hold",
    "read": "read", "ran": "run", "won": "win", "said": "say", "left": "leave", "kept": "keep", "taught": "teach",
    "thought": "think", "caught": "catch", "chose": "choose", "chosen": "choose", "began": "begin", "came": "come",
    "saw": "see", "swapped": "swap", "dropped": "drop", "planned": "plan", "shipped": "ship", "lent": "lend",
}  # fmt: skip
_PAST_VERB = rf"(?:{'|'.join(sorted(_IRREGULAR))}|[a-z]{{2,}}ed)"
_ADVERBS = r"(?:\s(?:just|finally|already|now|also|then|at last|today|yesterday|both|all))*"
_DEED = re.compile(
    rf"^(?:(?:ok(?:ay)?|done|good news|update|and|so|yes|yeah|finally|today|yesterday|this morning)[,:]?\s+)*"
    rf"(?:(?:i|we|he|she|they|[a-z][\w'.-]*(?:\s(?:and\s)?[a-z][\w'.-]*){{0,3}}?)(?:'ve|'s| have| has"
    rf"| had)?{_ADVERBS}\s)?"
    rf"(?P<verb>{_PAST_VERB})\b"
)
_STATE = re.compile(
    rf"\b(?:is|are|'s|has been|have been|was|were|got){_ADVERBS}\s(?P<state>{_DONE_STATE})\b"
    r"|\b(?:has|have)(?: now| finally| just)? (?P<came>arrived|come through|gone out|passed|landed)\b"
    r"|\b(?P<came2>came through|arrived)\b"
)
_NOT_DONE = re.compile(
    r"\b(?:not|n't|never|nobody|no one|without|almost|nearly|should|would|will|must|may|might|could|can't|if"
    r"|until|unless|before"
    r"|again|still|yet|remains?|remained|once more|supposed"
    r"|no|nothing|wants?|needs?|tomorrow|next (?:week|month|year))\b|n't\b"
)


def is_deed(sentence: str) -> bool:
    """Tell whether a sentence says that something was done."""
    said = sentence.casefold().replace("’", "'")
    if QUESTION.search(said) or _NOT_DONE.search(said):
        return False
    return _STATE.search(said) is not None or _DEED.match(said) is not None


# Verbs, stemmed, that say of a thing that nothing is left to be done about it.
_FINISHING = frozenset(map(stem, "finish fix sort solve settle complete close resolve deliver ship".split()))

# One can get, take and make anything: with "it" these say nothing.
_LIGHT = frozenset(map(stem, "get take make do go have put set give bring come be see know say".split()))
_PRONOUN = re.compile(r"\s(?:it|that|this|them|these|those|him|her)\b(?!\s(?:\w+)\s(?:is|was|are|were)\b)")


class Done(NamedTuple):
    """What a sentence says was done."""

    verb: str  # its stem
    finished: bool  # said of the thing itself: nothing is left to be done about it
    points_back: bool = False  # "sent it": to what, was said before


@lru_cache(maxsize=8192)
def done_in(sentence: str) -> Done | None:
    """Read what a sentence says was done; None where it says nothing of the kind."""
    said = sentence.casefold().replace("’", "'")
    if not is_deed(sentence):
        return None
    if match := _STATE.search(said):
        word = (match["state"] or match["came"] or match["came2"]).split()[0]
        return Done(stem(_IRREGULAR.get(word, word)), finished=True)
    match = _DEED.match(said)
    if match is None:
        return None
    verb = stem(_IRREGULAR.get(match["verb"], match["verb"]))
    points_back = verb not in _LIGHT and _PRONOUN.match(said, match.end("verb")) is not None
    return Done(verb, finished=verb in _FINISHING, points_back=points_back)
