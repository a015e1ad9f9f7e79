"""Noise first: what in an event is not worth reading for statements, and why. What is left is sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from everyword.text.spans import sentences
from everyword.types.events import Span

MOST_READ = 16_000  # characters of an event that are read: what is longer was pasted, not said
LONGEST_SENTENCE = 600  # characters; beyond it is a list, a table or data, and patterns would take long
MOST_SENTENCES = 200  # of an event that are read

# A line is code where this share of its characters are marks that prose hardly uses.
CODE_MARKS_SHARE = 0.12
SHORTEST_CODE = 12  # characters: ":-) <3" is not code
_CODE_MARK = re.compile(r"[{}\[\]<>=;|&*#$%^~\\_`]")


class Reason(StrEnum):
    """Why a part of an event was skipped."""

    CODE = "code"
    LOG = "log"
    QUOTED = "quoted"  # somebody else's words
    QUESTION = "question"
    SMALL_TALK = "small talk"
    HYPOTHETICAL = "hypothetical"
    SARCASM = "sarcasm"
    TOO_LONG = "too long"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A part of an event that was not read for statements, and why."""

    span: Span
    reason: Reason


# A fence opens or closes a block of code.
_FENCE = re.compile(r"\s{0,8}(?:```|~~~)")
_LOG = re.compile(
    r"\s{0,8}(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:INFO|DEBUG|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL)\b[\]:\s])"
)
_CODE = re.compile(
    r"\s{0,40}(?:(?:def|class|fn|func|function)\s+\w+\s*[(:{<]|(?:import|package)\s+[\w.]+\s*;?$"
    r"|from\s+[\w.]+\s+import\b|(?:return|raise|assert|yield|await|throw)\s+[\w.]+\s*(?:[(=!<>;.\[]|$)|(?:if|for"
    r"|while|switch|catch)\s*\(|(?:const|let|var|val|static|public|private|protected)\s+\w+(?:\s+\w+)?\s*[=(:;]"
    r"|#include\b|@\w+(?:\(|$)|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\b[^;]{0,400}\b(?:FROM|INTO|SET|TABLE"
    r"|INDEX)\b|Traceback \(most recent|File \"|at [\w.$<>]+\(|(?:\$|>>>|\.\.\.) \S|</?[a-zA-Z!][^>]{0,200}>|(?:git"
    r"|pip|npm|npx|yarn|docker|kubectl|curl|sudo|cd|make|cargo|apt|brew) [a-z-]+( |$)(?=.{0,300}[-=/.\"'])"
    r"|[\w.]+\s?(?:=|\+=|:=)\s?\S.{0,200}[)\]\"';0-9]$|[{\[]\s*\"|\"[\w-]+\"\s*:|#\s|//|/\*|\w+\.\w+\(.{0,200}\);?$)"
)
_QUOTED = re.compile(r"\s{0,8}(?:>|&gt;)\s?\S")
_ENDS_AS_CODE = re.compile(r"[;{}]\s{0,8}$")

_SMALL_TALK = re.compile(
    r"(?:(?:oh|ah|aw+|wow|hey|hi|hello|yeah|yes|yep|haha|lol|ok|okay|sure|great|cool|nice|well|and"
    r"|so)[,!. ]+){0,3}(?:thanks?\b|thank you|cheers\b|good (?:morning|evening|night|afternoon|luck|job|one|point"
    r"|idea)|no worries|no problem|you'?re welcome|sounds? (?:good|great|fun|like|amazing|awesome|nice|perfect)"
    r"|talk (?:soon|to you)|see (?:you|ya)|take care|congrat|well done|way to go|keep (?:it up|up the|going|pushing"
    r"|in touch)|bye\b|have (?:a|fun|you)\b|i (?:see|know|agree|understand|get it|guess|bet|feel you|hear you|mean it"
    r"|can imagine|totally get)\b(?! (?:how to|that i|my|the \w+ (?:is|are)))|i(?:'m| am) (?:(?:so|really"
    r"|very) )?(?:glad|happy|sorry|pleased|delighted|thrilled|excited) (?:to (?:hear|help|see)|for you|you|that you"
    r"|about that|your)|i(?:'m| am) (?:doing|good|fine|great|ok|okay|all ears|in|down|with you|here for you"
    r"|rooting)\b(?! \w+ing)|i (?:really )?appreciate|i hope (?:you|this|that|it|your|everything|things)\b|i (?:can't"
    r"|cannot) wait to (?:hear|see|read|try)|i(?:'ll| will) (?:let you know|keep (?:that|it|you)|think about"
    r"|be (?:here|back|there for)|do (?:that|my|it)|try (?:that|it|to)|check (?:it|that|them)|definitely (?:check|try"
    r"|look|keep)|give (?:it|that)|get back(?! to \w+ (?:by|on|before|tomorrow|next|within)\b)|look into)"
    r"|i (?:need|have|got) to (?:run|go|dash|say|admit|agree)\b"
    r"|i must (?:say|admit)|i have (?:a|one|another|some)(?: few)? (?:question|idea|feeling|hunch)|i have no (?:idea"
    r"|clue|doubt)|let(?:'s| us) (?:see|catch up|keep|chat|talk|hope|stay|do (?:it|this|that))|let me (?:know|think"
    r"|see)|my (?:bad|pleasure|apologies|goodness)|you(?:'re| are) (?:so|right|welcome|amazing)|it is what it is"
    r"|same here|me too|i love (?:you|it|that|this|your)\b|love (?:it|that|this|your)\b|i think (?:that|so|it|this)\b"
    r"|i'd love to (?:hear|see|know)|i(?:'ve| have) got (?:this|you)|here (?:is|are)|here's)",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:what|when|where|who|whom|whose|which|why|how|do|does|did|is|are|am|was|were|can|could|would|will|should"
    r"|shall|may|might|have|has|any|ever|so what|and what|or|isn't|aren't|don't|doesn't|didn't|won't|can't|wouldn't"
    r"|haven't)\b",
    re.IGNORECASE,
)


def worth_reading(text: str) -> tuple[list[Span], list[Skipped]]:
    """Separate the sentences of a text from what is code, a log, a quotation, small talk or too long."""
    kept: list[Span] = []
    skipped: list[Skipped] = []
    for block, reason in _blocks(text[:MOST_READ]):
        if reason is not None:
            skipped.append(Skipped(span=block, reason=reason))
            continue
        for span in sentences(text, block):
            reason = _sentence_reason(text, span)
            if reason is None and len(kept) >= MOST_SENTENCES:
                reason = Reason.TOO_LONG
            if reason is None:
                kept.append(span)
            else:
                skipped.append(Skipped(span=span, reason=reason))
    if len(text) > MOST_READ:
        skipped.append(Skipped(span=Span(MOST_READ, len(text)), reason=Reason.TOO_LONG))
    return kept, skipped


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks."""
    return sentence.rstrip("\"'”’)] ").endswith(("?", "?!", "？")) or (
        sentence.startswith(("What ", "How ", "Why ", "Where ", "Who ", "Which ")) and not sentence.endswith("!")
    )


def asks(clause: str) -> bool:
    """Tell whether a clause begins as a question does."""
    return _ASKING.match(clause) is not None


def _blocks(text: str) -> Iterator[tuple[Span, Reason | None]]:
    """Cut a text into runs of lines: prose (None), or noise with its reason."""
    start = position = 0
    current: Reason | None = None
    fenced = False
    for line in text.splitlines(keepends=True):
        is_fence = _FENCE.match(line) is not None
        reason = Reason.CODE if fenced or is_fence else _line_reason(line, current)
        fenced ^= is_fence
        if reason is not current and position > start:
            yield Span(start, position), current
            start = position
        current = reason
        position += len(line)
    if position > start:
        yield Span(start, position), current


def _line_reason(line: str, before: Reason | None) -> Reason | None:
    head = line[:LONGEST_SENTENCE].rstrip()
    if not head:
        return before if before in (Reason.CODE, Reason.LOG) else None
    if _QUOTED.match(head):
        return Reason.QUOTED
    if _LOG.match(head):
        return Reason.LOG
    if _CODE.match(head):
        return Reason.CODE
    marks = len(_CODE_MARK.findall(head))
    if len(head) >= SHORTEST_CODE and marks >= CODE_MARKS_SHARE * len(head):
        return Reason.CODE
    if _ENDS_AS_CODE.search(head) and marks > 1:
        return Reason.CODE
    # Inside a block of code, an indented line goes with it.
    return before if before is Reason.CODE and head.startswith(("    ", "\t")) else None


def _sentence_reason(text: str, span: Span) -> Reason | None:
    if span.end - span.start > LONGEST_SENTENCE:
        return Reason.TOO_LONG
    if _SMALL_TALK.match(text, span.start, span.end):
        return Reason.SMALL_TALK
    return None
