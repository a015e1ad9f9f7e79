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

from recollect.core.attention import IntentAnswer, IntentCategory
from recollect.core.clock import as_datetime
from recollect.core.dates import Bound, Granularity, find_dates
from recollect.core.errors import InvalidTime
from recollect.core.roles import SILENT
from recollect.core.spans import sentences
from recollect.core.values import Event, Json, Span
from recollect.core.words import stem

MOST_READ = 8_000  # characters of one event: what is longer was pasted
MOST_MARKS = 8  # of one event; one with more is a list, and its first lines are enough
LONGEST = 400  # characters of a sentence that is read; beyond it is a paste
MEMBER = "recollect"  # of an event's meta
ROLE = "feedback"
# An assistant's "you should" is advice and its "I need" a figure of speech; what it did may still settle something.
ASSISTANTS = frozenset(("assistant", "ai", "model", "bot"))

OWN = 0.6  # strength of what the speaker must, wants or promised
OTHERS = 0.3  # of what somebody else wants or needs: worth little alone
OPEN = 0.5  # of what is only said to be open: "no decision yet", "overdue"
UNMET = 0.3  # more, where the words say that nothing came of it so far
DATED = 0.2  # more, where there is a time by which
EVIDENT = 0.8  # from which one goal alone shows that it is not met


class MarkKind(StrEnum):
    """What a mark is."""

    GOAL = "goal"
    DEED = "deed"
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
    """Read the goals, deeds and the answer of one event. Pure."""
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
            goal = None if role in ASSISTANTS else _goal(sentence, span, event.at)
            if goal is not None:
                marks.append(goal)
            elif is_deed(sentence):
                marks.append(Mark(kind=MarkKind.DEED, span=span, body={}))
    return marks


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

_WE = r"\b(?:i|we)\b"
_START = rf"(?:^(?:(?:and|but|so|also|still|really|finally|anyway),? )*|{_WE})"
_BETWEEN = r"(?:\s(?:really|still|also|just|finally|probably|definitely|badly|urgently|now|all|desperately)\b){0,2}"
_SOMEONE = r"\b(?:someone|somebody|one of us|the team)\b"
_DUTY = (
    r"(?:(?:'ll |will )?(?:need|have to)|have got to|'ve got to|got to|gotta|must|should|ought to|had better"
    r"|'d better)\b"
)

# The speaker's own, or the group's. Each is tried on a lower-cased sentence.
_OWN: tuple[tuple[IntentCategory, re.Pattern[str]], ...] = tuple(
    (category, re.compile(pattern))
    for category, pattern in (
        (IntentCategory.REMINDER, r"\b(?:remind me|don't (?:let me )?forget|remember to|note to self)\b"),
        (
            IntentCategory.PROMISE,
            rf"{_START}(?:\s(?:already|also|had|have))?\s?\bpromised\b|{_START}(?:\sstill)?\s?\bowe\b"
            rf"|{_START}\s?\btold [\w' ]{{1,40}}? (?:that )?(?:i|we)(?:'ll|'d| will| would)\b"
            rf"|{_WE} said (?:that )?(?:i|we)(?:'ll|'d| will| would)\b|{_WE} (?:gave|have given) (?:my|our) word\b",
        ),
        (
            IntentCategory.WISH,
            rf"{_START}{_BETWEEN}\s?(?:'d|would){_BETWEEN} (?:like|love|prefer|rather)\b"
            rf"|{_START}{_BETWEEN}\s?\b(?:want|wish|hope|aim|intend|plan|mean)\b"
            rf"|(?:{_START}|{_WE}(?:'m| am|'re| are)){_BETWEEN}\s?\b(?:meaning|hoping|planning|aiming|trying"
            rf"|determined|keen|eager|set) (?:to|for|on)\b"
            rf"|{_WE}(?:'ve| have| keep){_BETWEEN} (?:been )?(?:meaning|wanting|hoping|planning) to\b"
            rf"|(?:{_START}|{_WE}(?:'m| am|'re| are)){_BETWEEN}\s?\blooking for (?:a|an|some|new|more|another)\b"
            rf"|\b(?:my|our) (?:goal|plan|aim|dream)(?: is| for| remains|:)",
        ),
        (
            IntentCategory.TASK,
            rf"(?:{_START}|{_SOMEONE}){_BETWEEN}\s?\b{_DUTY}|{_SOMEONE} (?:has|needs|ought) to\b|\bto[- ]do:"
            rf"|{_WE} (?:still )?(?:keep putting off|can't put off|can't keep|have yet to|lack)\b|^time to\b"
            rf"|{_WE}(?:'m| am|'re| are|'ve been| was| were) supposed to\b|{_WE} keep telling (?:myself"
            rf"|ourselves) to\b",
        ),
    )
)
# A thing that must or should be so; whoever sees to it.
_PASSIVE = re.compile(
    r"\b(?:has to|have to|must|should|needs? to|ought to) (?:be|get)\b|\bstill needs?\b"
    r"|\bneeds? (?:an? )?(?:\w+ly )?\w+ing\b"
    r"|\b(?:has|have|is|are) yet to\b|\b(?:is|are)(?: \w+)? needed\b|\bsupposed to (?:be|have)\b"
    r"|\bsomething (?:must|has to|needs to)\b"
)
_OTHERS = re.compile(
    r"\b(?:needs?|wants?|demands?|asks? for|(?:is|are|keeps?) asking for|would like|promised|(?:would"
    r"|'d) be (?:good|great|useful"
    r"|wise) (?:to|if))\b"
)
_UNDECIDED = re.compile(
    r"\bno decision(?: yet)?\b|\b(?:nobody|no one) has decided\b|\bundecided\b|\bopen question\b"
    r"|\bi wonder (?:how|whether|if)\b"
    r"|\b(?:still )?(?:don't know|not sure|no idea|unclear) (?:how|whether|if|who|what|which|when|where)\b"
)
_OPEN = re.compile(
    r"\boverdue\b|\b(?:still )?outstanding\b|\bstill (?:missing|open|to be|no|not|nobody|waiting|haven't|hasn't"
    r"|have not|has not)\b|\bun(?:resolved|solved|finished|answered|done)\b|\bhigh time\b|\bremains? (?:open|to be)\b"
    r"|\bno (?:\w+ ){1,8}yet\b|\b(?:is|are) missing\b|\b(?:haven't|hasn't|have not|has not) managed\b"
    r"|\b(?:isn't|aren't|is not|are not|not)(?: yet| even)? (?:\w+ed|done|written|begun|found|made|built|sent"
    r"|paid|filled)\b"
    r"|\bcan't (?:wait (?:much|any)|go on)\b|\b(?:i'm|we're|^)waiting for (?:some|a |an |the |my |our )"
    r"|\b(?:nobody|no one) (?:has (?:\w+ed|done|begun|taken|written|found|made)"
    r"|is (?:working|looking))\b"
)
_STILL_UNMET = re.compile(
    r"\bstill\b|\byet\b|\bso far\b|\b(?:haven't|hasn't|have not|has not|nobody has|no one has|nothing has)\b"
    r"|\bno (?:\w+ ){1,2}has\b|\b(?:is|are)n't\b|\bfar from\b|\boverdue\b|\boutstanding\b|\bputting off\b"
    r"|\bwaiting (?:for|on)\b|\b(?:won't|can't|cannot)\b|\bnot enough\b|\bnothing left\b|\bis empty\b|\bfinally\b"
    r"|\bnobody\b|\bno one\b|\bget nothing\b|\bevery day\b|\bagain\b"
)
# What only sounds like a goal: told of the past, denied, supposed, asked of the listener, or said to keep a talk going.
_NOT_MEANT = re.compile(
    r"\b(?:had to|(?:i|we|you|he|she|they) needed|wanted to|was going to|should have|should've|could have"
    r"|must have|must've|would have"
    r"|no need|needn't|shouldn't|mustn't|(?:don't|doesn't|didn't|do not|does not|won't) (?:\w+ )?(?:need|want|have to"
    r"|intend|plan|mean|wish)|no longer (?:need|want)|never wanted|you (?:should|must|need|have to|ought)"
    r"|(?:what|all) i (?:need|want))\b"
)
_SUPPOSED = re.compile(r"\b(?:if|when|whenever|unless|in case|as if|wherever|whatever|until)\b[^,;]*$")
_TALK = re.compile(
    r"\b(?:(?:have to|must|should|need to|want to|like to|got to|gotta|hope to|love to)(?: \w+ly)? (?:say|admit"
    r"|tell you"
    r"|confess|agree|know|thank|hear|ask you|mention|see (?:you|it|that|your|them)|go(?: now| to bed| home"
    r"| soon)?(?=[\s.,!]*$)|run(?=[\s.,!]*$)"
    r"|dash|sleep(?=[\s.,!]*$| in\b| until\b| late\b| more\b| well\b)|eat(?=[\s.,!]*$| (?:less|more)\b)"
    r"|drink (?:less|more)\b|go to (?:bed|sleep)|get going|nap|rest|relax|catch up|hang out|chat|talk (?:again"
    r"|soon|later"
    r"|more)|meet up"
    r"|grab (?:a|some)|get (?:some|a) (?:sleep|rest|coffee|food|lunch|drink|drinks|air|beer)|have (?:a|some"
    r"|another) (?:coffee|tea"
    r"|drink|drinks|break|lunch|beer|nap|snack|biscuit|cake)|take (?:a|another) (?:nap|break|walk|rest|shower)"
    r"|do (?:this|that|it) (?:again|more)"
    r"|be (?:honest|fun|nice|great|lovely|careful|there|back|off|going|able)|try (?:it|that|this|them|your)"
    r"|check (?:it|that) out"
    r"|join you|come (?:along|over|too|with)|watch (?:it|that)|visit (?:some ?time|one day|some day))"
    r"|(?:need|want|like|love) (?:a |an |some |another |more |my )?(?!to )(?:\w+ )?(?:coffee|tea|nap|sleep"
    r"|break|drink|beer|hug|snack|rest|shower"
    r"|holiday|vacation|weekend|bed|wine|chocolate|cake)\b|hope (?:you|that you|your|so|not|it|this|that|the"
    r"|all|everyone|everything|he|she|they)"
    r"|wish (?:you|i (?:was|were|could|had)|we (?:was|were|could|had)|it|him|her|them|there)|mean (?:it|that|,"
    r"|i|you|the|what|well)|(?:plan|mean|hope|wish|aim)(?=[\s.,!?]*$)"
    r"|(?:would|'d) (?:like|love)(?= (?:that|it|this|to,|to but)\b)|wonder (?:if|whether) (?:it|he|she|they"
    r"|that)\b|know what to (?:say|think|wear)|(?:some|any)(?:one|body) should (?:invent|write a book"
    r"|make a film)|some ?time(?:[.!\s]*$)|some ?day(?:[.!\s]*$)|one of these days)"
)
_QUESTION = re.compile(r"\?[\"'”’)\s]*$")
_CLAUSE_END = re.compile(r"[,;:]\s|\s[-–—]\s|\s(?=but\b|because\b|since\b)")


# No goal is told without one of these: most sentences cost one look.
_WORTH_READING = re.compile(
    r"\b(?:need|have to|has to|have got|got to|gotta|must|should|ought|better|want|wish|hop(?:e|ing)|aim|intend|plan"
    r"|mean|like|love"
    r"|prefer|promised|owe|told|word|remind|forget|remember|note to|goal|dream|to[- ]do|put off|putting off"
    r"|still|demand|ask"
    r"|decision|decided|undecided|question|wonder|know|not sure|no idea|unclear|overdue|outstanding|unresolved|unsolved"
    r"|unfinished|unanswered|undone|trying|determined|looking for|yet\b|high time|remain|nobody|no one"
    r"|not\b|lack|missing|set on|keen|eager|rather|time to|supposed|waiting for|something|said|telling myself"
    r"|be good|be great|be useful|be wise)|n't\b"
)


def _goal(sentence: str, span: Span, at: datetime) -> Mark | None:
    said = sentence.casefold()
    if not _WORTH_READING.search(said):
        return None
    if len(said) != len(sentence) or _QUESTION.search(said) or _NOT_MEANT.search(said) or _TALK.search(said):
        return None
    found = _cue(said)
    if found is None:
        return None
    category, strength, place = found
    if _SUPPOSED.search(said, 0, place):
        return None
    deadline, exact = _deadline(sentence, at) if strength >= OPEN else (None, False)  # another's wish binds nobody
    strength += (UNMET if _STILL_UNMET.search(said) else 0.0) + (DATED if deadline else 0.0)
    clause = _clause(sentence, place)
    body: dict[str, Json] = {
        "category": category.value,
        "strength": round(min(1.0, strength), 3),
        "clause": [span.start + clause.start, span.start + clause.end],
        "deadline": deadline.isoformat() if deadline else None,
        "exact": exact,
    }
    return Mark(kind=MarkKind.GOAL, span=span, body=body)


def _cue(said: str) -> tuple[IntentCategory, float, int] | None:
    """Find what makes a sentence a goal: of which category, how strongly, and where."""
    for category, pattern in _OWN:
        if match := pattern.search(said):
            return category, OWN, match.start()
    if match := _UNDECIDED.search(said):
        return IntentCategory.QUESTION, OPEN, match.start()
    if match := _PASSIVE.search(said):
        return IntentCategory.TASK, OPEN, match.start()
    if match := _OPEN.search(said):
        return IntentCategory.TASK, OPEN, match.start()
    if match := _OTHERS.search(said):
        return IntentCategory.WISH, OTHERS, match.start()
    return None


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
    r"|again|supposed|no|nothing|wants?|needs?|tomorrow|next (?:week|month|year))\b|n't\b"
)


def is_deed(sentence: str) -> bool:
    """Tell whether a sentence says that something was done."""
    said = sentence.casefold().replace("’", "'")
    if _QUESTION.search(said) or _NOT_DONE.search(said):
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
