"""What an event says that intents are made of: goals that are not met, deeds that may have met one, and answers.

Sentence by sentence, offline. A goal is what somebody must, should, wants, promised or can't decide; a deed is said to
be done. Both are kept as spans: their words are read from the event. Rules find what sounds like a goal, and a small
model (openness.py) weighs how likely the event holds one: it takes back what only sounds like it, and finds what no
rule knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, cast

from everyword.knowledge.legacy.fold.goal_words import MEND
from everyword.knowledge.legacy.fold.openness import score, telling
from everyword.knowledge.legacy.fold.titles import lead_end
from everyword.knowledge.legacy.fold.unmet import QUESTION, is_mended, is_trouble, says_unmet
from everyword.knowledge.legacy.fold.wanting import DOUBTED, LISTED, OPEN, OTHERS, OWN, Cue, cue_of
from everyword.text.dates import LOOKS_BACK, Bound, Granularity, find_dates
from everyword.text.spans import sentences
from everyword.text.terms import stem
from everyword.types.events import SILENT, Event, Json, Span
from everyword.types.intents import IntentAnswer, IntentCategory
from everyword.types.records import RecordKind
from everyword.types.times import as_datetime
from everyword.types.trust import states_nothing

MOST_READ = 8_000  # characters of one event: what is longer was pasted
MOST_MARKS = 8  # of one event; one with more is a list, and its first lines are enough
LONGEST = 400  # characters of a sentence that is read; beyond it is a paste
# An assistant's "you should" is advice and its "I need" a figure of speech; what it did may still settle something.
ASSISTANTS = frozenset(("assistant", "ai", "model", "bot"))

UNMET = 0.3  # more, where the words say that nothing came of it so far
DATED = 0.2  # more, where there is a time by which
EVIDENT = 0.8  # from which one goal alone shows that it is not met

# How likely an event must hold a goal, as openness.py scores it; chosen on CogEval's development sets.
LEAST_OWN = 0.8  # for what the speaker must, wants or promised; below it is doubted
LEAST_OPEN = 1.1  # for what is only said to be open; below it is doubted
LEAST_WANTED = 1.4  # from here on what others want is open, too
LEAST_UNSAID = 2.0  # for what is said in no way that rules know
LEAST_HINTED = 1.5  # from here on that is doubted, below it is nothing
LEAST_DUE = 0.0  # for what is said to be due on a day; above it that is evident
LEAST_MAYBE = -0.5  # below it even what rules know is nothing
TOGETHER = 3  # sentences of an event that are weighed as one; of a longer event, each with those beside it


class MarkKind(StrEnum):
    """What a mark is."""

    GOAL = "goal"
    DEED = "deed"
    TROUBLE = "trouble"  # what goes wrong or falls short: it shows that a goal is not met, and is none by itself
    ANSWER = "answer"


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
    if event.record is not None or role in SILENT or states_nothing(event):
        return []
    found = read_rules(event, own=role not in ASSISTANTS)
    if role not in ASSISTANTS:
        found = [_judged(place, found, event.at) for place in range(len(found))]
        found = [_with_near(one, found) for one in found]
    return [mark for one in found for mark in _marks(one)][:MOST_MARKS]


class Read(NamedTuple):
    """What rules find in one sentence."""

    sentence: str
    span: Span
    goal: Mapping[str, Json] | None = None  # the body of its mark
    own: bool = False  # the goal is the speaker's own, said outright
    listed: bool = False  # it stands in a list of things to do
    deed: bool = False
    trouble: bool = False

    @property
    def strength(self) -> float:
        """Tell how strongly it says that there is a goal."""
        return cast("float", self.goal["strength"]) if self.goal else 0.0


def read_rules(event: Event, *, own: bool = True) -> list[Read]:
    """Read an event sentence by sentence, by rules alone; own: the speaker may have goals."""
    found: list[Read] = []
    goals = 0
    for span in sentences(event.text, Span(0, min(len(event.text), MOST_READ))):
        if span.end - span.start > LONGEST or goals == MOST_MARKS:
            continue
        sentence = event.text[span.start : span.end].replace("’", "'")
        said = sentence.casefold()
        cue = cue_of(said) if own and len(said) == len(sentence) else None
        if cue is None:
            found.append(_without_goal(sentence, span, own=own))
        else:
            goal = _goal(sentence, span, event.at, cue)
            found.append(Read(sentence, span, goal, own=cue.strength >= OWN, listed=cue.strength >= LISTED))
            goals += 1
    return found


def _without_goal(sentence: str, span: Span, *, own: bool) -> Read:
    # "Called three plumbers, nobody came": what was done may settle one thing and show that another is not met.
    return Read(sentence, span, deed=is_deed(sentence), trouble=own and is_trouble(sentence.casefold()))


def _marks(one: Read) -> list[Mark]:
    if one.goal is not None:
        return [Mark(kind=MarkKind.GOAL, span=one.span, body=one.goal)]
    # Of more than tells a deed by itself: what is said to be written settles only what was to be written.
    kinds = ((MarkKind.DEED, one.deed or done_in(one.sentence) is not None), (MarkKind.TROUBLE, one.trouble))
    return [Mark(kind=kind, span=one.span, body={}) for kind, found in kinds if found]


# How likely it is one


def signs_of(found: Sequence[Read]) -> set[str]:
    """Name what rules found in sentences that stand together, for the model that weighs it."""
    strongest = max((one.strength for one in found), default=0.0)
    signs = {sign for least, sign in _SIGNS if strongest >= least}
    if any(one.trouble for one in found):
        signs.add("[trouble]")
    if any(one.deed for one in found):
        signs.add("[deed]")
    return signs


_SIGNS = ((OTHERS, "[others]"), (OPEN, "[open]"), (OWN, "[own]"), (EVIDENT, "[evident]"))


def _judged(place: int, found: Sequence[Read], at: datetime) -> Read:
    """Take back a goal that is not likely one, and find one that no rule knows."""
    one = found[place]
    near = found if len(found) <= TOGETHER else found[max(0, place - 1) : place + 2]
    likely = score((other.sentence for other in near), signs_of(near))
    if one.goal is not None:
        return _weighed(one, likely)
    if likely < LEAST_HINTED or any(other.goal for other in near) or _SPOKEN.search(one.sentence):
        return one
    if telling(one.sentence) < max(telling(other.sentence) for other in near):
        return one
    strength = OPEN if likely >= LEAST_UNSAID else DOUBTED
    cue = Cue(IntentCategory.TASK, strength, _most_telling(one.sentence))
    return one._replace(goal=_goal(one.sentence, one.span, at, cue))


def _with_near(one: Read, found: Sequence[Read]) -> Read:
    """Add to a goal where the sentences are that stand together with it: they say what it is about as well."""
    if one.goal is None or not 1 < len(found) <= TOGETHER:
        return one
    return one._replace(goal={**one.goal, "near": [found[0].span.start, found[-1].span.end]})


# What is said to somebody, asked or exclaimed keeps a talk going: there a goal takes words that rules know.
_SPOKEN = re.compile(r"[!?][\"'”’)\s]*$|\byou(?:r|rs|rself)?\b", re.IGNORECASE)


def _weighed(one: Read, likely: float) -> Read:
    if one.listed:
        return one
    if likely < LEAST_MAYBE:
        return _without_goal(one.sentence, one.span, own=True)
    strength = one.strength
    if likely >= LEAST_DUE and strength >= OPEN and (one.goal or {}).get("exact") and _DUE.search(one.sentence):
        strength = max(strength, EVIDENT)
    elif likely < (LEAST_OWN if one.own else LEAST_OPEN):
        strength = min(strength, DOUBTED)
    elif strength < OPEN:
        strength = OPEN if likely >= LEAST_WANTED else DOUBTED
    return one._replace(goal={**(one.goal or {}), "strength": strength})


# "By Friday" is a time by which; "on Friday" may be when something happens that nobody has to see to.
_DUE = re.compile(r"\b(?:due|deadline|by|before|no later than)\b", re.IGNORECASE)


def _most_telling(sentence: str) -> int:
    """Find the clause of a sentence that says most for a goal: where it begins."""
    starts = [_told_from(sentence), *(match.end() for match in _CLAUSE_END.finditer(sentence, _told_from(sentence)))]
    said = {start: _clause(sentence, start) for start in starts}
    return max(starts, key=lambda start: (telling(sentence[said[start].start : said[start].end]), -start))


def answering(intent: str, answer: IntentAnswer, until: datetime | None) -> dict[str, Json]:
    """Write the payload of the record that answers an intent: by its id, since words may have to be forgotten."""
    told: dict[str, Json] = {"intent": intent, "answer": answer.value}
    return told if until is None else {**told, "until": until.isoformat()}


def answer_of(event: Event) -> Answered | None:
    """Read the answer to an intent from its record; None for all else."""
    if event.record != RecordKind.FEEDBACK:
        return None
    until = event.meta.get("until")
    answer = IntentAnswer(event.meta["answer"])
    return Answered(event.meta["intent"], answer, None if until is None else as_datetime(until, "until"))


# Goals


def _goal(sentence: str, span: Span, at: datetime, cue: Cue) -> dict[str, Json]:
    # Another's wish binds nobody, and "the big thing this year" is no time by which.
    deadline, exact = deadline_in(sentence, at, years=cue.strength >= OWN) if cue.strength >= OPEN else (None, False)
    unmet = says_unmet(sentence.casefold())
    # A title names what it is about, not what is to be done.
    place = cue.place if cue.place >= _told_from(sentence) else _most_telling(sentence)
    clause = _clause(sentence, place)
    return {
        "category": cue.category.value,
        "strength": round(min(1.0, cue.strength + (UNMET if unmet else 0.0) + (DATED if deadline else 0.0)), 3),
        "clause": [span.start + clause.start, span.start + clause.end],
        "deadline": deadline.isoformat() if deadline else None,
        "exact": exact,
        **({"moved": True} if deadline and _MOVED.search(sentence) else {}),
    }


# Where a sentence says that a time was changed, those that were said before it hold no more.
_MOVED = re.compile(
    r"^(?:\w+,? ){0,2}correction\b|\bnow (?:due|scheduled|planned)\b|\b(?:got|have|has|gave us) until\b"
    r"|\b(?:deadline|due date|date)(?: [\w'-]+){0,6}? (?:is|are) now\b"
    r"|\b(?:new|revised|updated|extended) (?:deadline|due date|date|target)\b"
    r"|\b(?:moved|pushed|postponed|extended|delayed|rescheduled|shifted|bumped|deferred|brought forward"
    r"|put (?:off|back))(?: [\w'-]+){0,5}? (?:to|until|till)\b",
    re.IGNORECASE,
)


_CLAUSE_END = re.compile(
    r"[,;:]\s|\s[-–—]\s|\s(?=but\b|because\b(?! of\b)|since (?:i|we|he|she|it|they|the|my|our|there|nobody)\b)"
)
# What a clause goes on from: without that it says little.
_GOES_ON = re.compile(r"(?:who|whom|whose|which|that|where|when|caused|made|given|so that)\b", re.IGNORECASE)
_JOINS = re.compile(
    r"(?:and|but|so|yet|because(?! of)|since|although|though|while|as)\s(?=\S+\s\S+\s\S)", re.IGNORECASE
)
LEAST_SAID = 4  # words of a clause that can stand alone: "..., I must" can't


def _clause(sentence: str, place: int) -> Span:
    """Cut out the clause that a place stands in, without what joins it; one that says too little is the sentence."""
    starts, end = [_told_from(sentence)], len(sentence)
    for match in _CLAUSE_END.finditer(sentence, starts[0]):
        if match.end() <= place:
            starts.append(match.end())
        elif match.start() >= place + 1:
            end = match.start()
            break
    whole = starts[0]
    while len(starts) > 1 and _GOES_ON.match(sentence, starts[-1]):
        starts.pop()
    start = starts[-1]
    if start > whole and (joins := _JOINS.match(sentence, start, end)):
        start = joins.end()
    if len(sentence[start:end].split()) < LEAST_SAID:
        start, end = whole, len(sentence)
    return Span(start, start + len(sentence[start:end].rstrip(" .!")))


def _told_from(sentence: str) -> int:
    """Tell where what follows a lead begins; 0 where there is none, or hardly anything follows."""
    end = lead_end(sentence)
    return end if len(sentence) > 2 * end else 0


def deadline_in(sentence: str, at: datetime, *, years: bool = True) -> tuple[datetime | None, bool]:
    """Tell by when, and whether to the day: the first time ahead that the words name."""
    ahead = {mention.span: mention for mention in find_dates(sentence, at, past=False)}
    for told in find_dates(sentence, at):
        # Where the words do not say which one, it is the next; "the report that I promised in March" says.
        may_be_next = told.guessed or told.bound in (Bound.BY, Bound.BEFORE)
        mention = ahead.get(told.span, told) if may_be_next else told
        if mention.repeats or mention.granularity is Granularity.LIFE or mention.bound is Bound.SINCE:
            continue
        if LOOKS_BACK.search(mention.text):  # "the papers of the last three years", which end now
            continue
        if not years and mention.granularity is Granularity.YEAR and mention.start <= at and mention.bound is None:
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
    # "Pitch deck sent to Lena": of notes that leave the verb out.
    r"|^(?!(?:i|we|he|she|they|you|it|who)\b)(?:[\w'-]+ ){1,5}(?P<left>sent|booked|paid|signed|submitted|delivered"
    r"|ordered|shipped|published)(?=[.!]*$|(?: off| out)? (?:to|for|today|yesterday|this)\b)"
    rf"|^[^:]{{2,80}}: (?:all )?(?P<noted>{_DONE_STATE})[.!]*$|^\W*\[x\] (?P<ticked>\w+)"
)
# Beyond what tells a deed by itself: said of what was to be done, it settles that.
_WAS_DONE = re.compile(rf"\b(?:is|are|has been|have been|was|were|got){_ADVERBS}\s(?P<verb>{_PAST_VERB})\b")
_NEED_NOT = re.compile(
    r"\b(?:no (?:longer )?need (?:for (?:me|us|you) )?to|needn't"
    r"|(?:don't|doesn't|do not|does not|won't) (?:need|have) to"
    r"|no longer (?:need|have|needs|has) to)(?: be)? (?P<verb>[a-z]+)"
)
# What was wanted, and is not any more.
_GIVEN_UP = re.compile(
    r"\b(?:decided|chose|agreed) (?:not to|against) (?P<verb>[a-z]+)|\bnot (?P<ing>[a-z]+ing)\b(?=.*\bafter all\b)"
)
_NOT_DONE = re.compile(
    r"\b(?:not|n't|never|nobody|no one|without|almost|nearly|should|would|will|must|may|might|could|can't|if"
    r"|until|unless|before"
    r"|again|still|yet|remains?|remained|once more|supposed|hope|hopes|hopefully|wish|assuming"
    r"|no|nothing|wants?|needs?|tomorrow|next (?:week|month|year))\b|n't\b"
)


def is_deed(sentence: str) -> bool:
    """Tell whether a sentence says that something was done."""
    said = sentence.casefold().replace("’", "'")
    if is_mended(said):
        return True
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
    if QUESTION.search(said):
        return None
    if match := _NEED_NOT.search(said) or _GIVEN_UP.search(said):
        verb = next(filter(None, match.groups()))
        return Done(stem(_IRREGULAR.get(verb, verb)), finished=False)
    if is_mended(said):
        return Done(MEND, finished=True)
    if _NOT_DONE.search(said):
        return None
    if match := _STATE.search(said):
        word = next(filter(None, match.groups())).split()[0]
        return Done(stem(_IRREGULAR.get(word, word)), finished=True)
    match = _DEED.match(said) or _WAS_DONE.search(said)
    if match is None:
        return None
    verb = stem(_IRREGULAR.get(match["verb"], match["verb"]))
    points_back = verb not in _LIGHT and _PRONOUN.match(said, match.end("verb")) is not None
    return Done(verb, finished=verb in _FINISHING, points_back=points_back)
