"""Decisions and things to do: what was settled, promised, planned, or must be done."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who
from everyword.knowledge.legacy.extract.rules.found import (
    CLEAR,
    CONSIDERED,
    FUTURE_HINT,
    LIKELY,
    OUTRIGHT,
    Found,
    dangles,
    head,
    points_away,
    stance_of,
)
from everyword.knowledge.legacy.extract.rules.tools import topic_of
from everyword.types.statements import Category, Stance, StatementKind

_OURS = (Who.SELF, Who.US)
_DECIDING = frozenset("decide choose agree settle opt pick".split())
_CHOSEN = re.compile(r"(?:to|on|that|against|not to|for|in favou?r of|upon|between|whether)\b|\S", re.IGNORECASE)
_REFUSED = frozenset(
    "use renew buy attend accept adopt sign hire ship deploy support take extend switch move sell return join".split()
)
_OPEN = re.compile(
    r"(?:whether|between|if|yet|what|which|how|when|where|anything|nothing|for (?:you|yourself))\b",
    re.IGNORECASE,
)
# What is said to be done next in the talk itself, or is a figure of speech.
_PROMISED = frozenset(
    """call send bring email pay buy book fix return submit finish visit order cancel renew deliver lend text refund
    reimburse replace escalate reopen""".split()
)
_TALK = re.compile(
    r"(?:be (?:honest|here|there|able|back|right|sure|careful|fun|great|ok|okay|fine)|say|admit|agree|ask|tell you"
    r"|thank|know|hear|see (?:if|what|how|you)|let you|get back to you|think about|keep (?:that|it|this|you|in mind)"
    r"|try (?:that|it|this|your)|check (?:that|it|those|these|them|out your)|do (?:that|it|this|so)|give (?:it|that)"
    r"|go(?: now)?$|run$|dash|look (?:into|at) (?:that|it|those|these)|make sure|understand|add (?:that|it)"
    r"|use (?:that|it|this|these|those)|be$|have (?:to|a look)|correct myself|interrupt|stop (?:you|here)"
    r"|figure (?:it|that|this)|confess|mention|point out"
    r"|share (?:it|that|this|with you)|start by|talk|chat|help you|never|always|definitely|consider|stick (?:to"
    r"|with) (?:it|that)|start with (?:that|it)|be (?:\w+ing )?more|remember|focus on (?:that|it)|pass (?:it|that)"
    r"|miss|take (?:it|that|your)|find out (?:more|what|if)|keep (?:\w+ing|on|my|up|at)|give up|make (?:my"
    r"|our) dreams|believe|cherish|continue|never forget|forget|push|stay (?:strong|positive|true)|savou?r|treasure"
    r"|honou?r|embrace|hold onto|do (?:my|our) best|feel|need|like|love|get (?:it|that|there|started)|show you"
    r"|send you (?:a|some) (?:hug|love)|support you|cheer|follow your|follow these|follow that)",
    re.IGNORECASE,
)
# Said with a day, these are promises: "I'll get back to you by Friday".
_ANSWERS = re.compile(r"get back to (?:you|him|her|them)|let you (?:all )?know|follow up", re.IGNORECASE)
# What is worth keeping of what is only considered: a change in a life, not the next step of a task.
_LIFE_SIZED = re.compile(
    r"(?:moving|relocating|buying|adopting|quitting|leaving|starting|applying|pursuing|going (?:back|to|into)|selling"
    r"|retiring|marrying|proposing|switching|joining|enroll?ing|becoming|visiting|travell?ing|having|getting (?:a|an"
    r"|married|divorced|back)|changing|opening|renting|signing)\b",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(
    r"(?:find|get|come up|create|write|make|learn (?:more|about)|have|explore|discuss|improve|understand|figure out"
    r"|identify|build|design|develop|generate|compare|prepare|know)\b",
    re.IGNORECASE,
)
_LONG_PLAN = re.compile(
    r"(?:learn|visit|travel|run|buy|build|write|start|open|become|move|study|retire|sail|climb|get|finish|adopt|take"
    r"|join|try|go|see|publish|teach|volunteer|hike|host|launch|save|be)\b",
    re.IGNORECASE,
)


def decided(clause: Clause) -> Found | None:
    """Read "decided to", "agreed on", "chose", "settled on", "opted for"."""
    if (
        clause.verb not in _DECIDING
        or clause.negated
        or clause.subject.who not in (*_OURS, Who.PERSON)
        or not _settled(clause)
    ):
        return None
    rest = clause.rest
    if not rest or _OPEN.match(rest) or points_away(rest) or not _CHOSEN.match(rest):
        return None
    if (clause.verb == "pick" and re.match(r"(?:up|on)\b", rest)) or dangles(head(rest)):
        return None
    if clause.verb in ("agree", "settle") and not re.match(r"(?:to|on|that|for)\b", rest):
        return None
    if clause.verb == "agree" and re.match(r"(?:with|that (?:you|it|this))", rest):
        return None
    negative = re.match(r"(?:against|not to)\b", rest) is not None
    return _decision(clause, rest, negative)


def going_with(clause: Clause) -> Found | None:
    """Read "are going with", "went with"."""
    match = re.match(r"(?:ahead )?with (?P<v>.+)", clause.rest)
    if (
        not match
        or clause.subject.who not in _OURS
        or re.match(r"(?:my|the flow|you|him|her|them|friends|a friend|\w+ friends)\b", match["v"])
    ):
        return None
    return _decision(clause, match["v"], clause.negated)


def ended_up(clause: Clause) -> Found | None:
    """Read "ended up choosing", "made up my mind"."""
    if clause.verb == "end" and (
        match := re.match(r"up (?:choosing|picking|going with|buying|taking|deciding on) (?P<v>.+)", clause.rest)
    ):
        return _decision(clause, match["v"], negative=False)
    if clause.verb == "make" and re.match(r"up (?:my|our) minds?", clause.rest):
        return _decision(clause, clause.rest, negative=False)
    return None


def switched(clause: Clause) -> Found | None:
    """Read "switched from Jira to Linear", "am switching to"."""
    match = re.match(r"(?:over |back |from .{1,40}? )?to (?P<v>.+)", clause.rest)
    if not match or clause.negated or clause.subject.who not in _OURS or points_away(match["v"]):
        return None
    if not (clause.past or clause.tense == "ing"):
        return None
    return _decision(clause, match["v"], negative=False, stance=Stance.CHANGED)


def let_us(clause: Clause) -> Found | None:
    """Read "let us go with", "let us use"."""
    match = re.match(
        r"let us (?P<no>not )?(?:just )?(?:go (?:ahead )?with|use|pick|choose|stick (?:to|with)|switch to|adopt|drop"
        r"|move to|settle on|meet|schedule|postpone|cancel|skip|replace|avoid) (?P<v>.+)",
        clause.plain,
        re.IGNORECASE,
    )
    if not match or points_away(match["v"]):
        return None
    return _decision(clause, match["v"].rstrip(" .!"), match["no"] is not None)


def will_use(clause: Clause) -> Found | None:
    """Read "we will use pytest", "are not going to use Redis", "will not be renewing"."""
    if clause.subject.who not in _OURS or not clause.helpers & {"will", "are going to", "am going to"}:
        return None
    refused = clause.negated and (clause.verb in _REFUSED or clause.tense == "ing")
    chosen = clause.verb in ("use", "adopt", "switch") and clause.subject.who is Who.US
    if (refused or chosen) and not points_away(clause.rest) and "never" not in clause.adverbs:
        return _decision(clause, clause.rest, clause.negated)
    return None


def must(clause: Clause) -> Found | None:
    """Read duties: "need to", "have to", "must", "should", "am supposed to"."""
    duty = clause.helpers & {
        "need to",
        "have to",
        "has to",
        "must",
        "gotta",
        "have got to",
        "am supposed to",
        "are supposed to",
        "should",
        "ought to",
        "needs to",
        "had better",
    }
    if not duty or clause.subject.who not in (*_OURS, Who.PERSON):
        return None
    if clause.subject.who is Who.PERSON and clause.subject.kin is None:
        return None
    when = FUTURE_HINT.search(clause.rest)
    if not when and (
        ("will" in clause.helpers) or (clause.subject.who is Who.US and duty & {"should", "gotta", "ought to"})
    ):
        return None
    return _todo(clause, CLEAR if "should" not in duty else LIKELY)


def needs(clause: Clause) -> Found | None:
    """Read "do not need to send it any more"."""
    match = re.match(r"to (?P<v>.+)", clause.rest)
    if not match or not clause.negated or clause.subject.who not in _OURS or clause.past:
        return None
    return Found(
        kind=StatementKind.TODO,
        category=Category.PLANS_GOALS,
        confidence=LIKELY,
        value=head(match["v"]),
        stance=Stance.ENDED if stance_of(clause) is Stance.ENDED else Stance.HOLDS,
    )


def will(clause: Clause) -> Found | None:
    """Read promises and plans: "will call the plumber", "am going to repaint"."""
    if not clause.helpers & {
        "will",
        "am going to",
        "are going to",
        "am gonna",
        "are gonna",
        "am about to",
        "are about to",
    }:
        return None
    if clause.subject.who not in _OURS or clause.negated:
        return None
    when = FUTURE_HINT.search(clause.rest) or FUTURE_HINT.search(clause.lead)
    if (
        "will" in clause.helpers
        and not when
        and not (clause.verb in _PROMISED and re.search(r"\b(?:the|my|our|a|an|[A-Z]\w+)\b", clause.rest))
    ):
        return None
    return _todo(clause, CLEAR if when else LIKELY)


def plans(clause: Clause) -> Found | None:
    """Read "am planning to", "want to", "hope to", "intend to", "promised"."""
    if clause.subject.who not in (*_OURS, Who.PERSON) or clause.negated:
        return None
    if clause.subject.who is Who.PERSON and clause.subject.kin is None:
        return None
    rest = clause.rest
    verb = clause.verb
    if verb == "promise" and clause.past:
        match = re.match(r"(?:(?!to\b|that\b|I\b)\S+ ){0,3}(?:to|that|I|we) (?:would |will |'d )?(?P<v>.+)", rest)
        return _todo(clause, CLEAR, match["v"]) if match else None
    if verb == "plan" and clause.tense == "ing" and (match := re.match(r"(?:an?|our|my|the) (?P<v>.+)", rest)):
        return None if points_away(match["v"]) else _todo(clause, CLEAR, rest)
    if verb == "train" and clause.tense == "ing" and re.match(r"for (?:a|an|the|my)\b", rest):
        return _todo(clause, LIKELY, rest)
    match = re.match(r"(?:on (?P<ing>\w+ing .+)|to (?P<v>.+))", rest)
    if not match or clause.past or clause.helpers & {"can", "do"}:
        return None
    value = match["v"] or match["ing"]
    if verb == "want" and not (_LONG_PLAN.match(value) and not _ASKED_FOR.match(value)):
        return None
    if (
        verb == "want"
        and re.match(r"(?:get|start|see|try|take|be|go)\b", value)
        and not FUTURE_HINT.search(value)
        and not re.search(r"\b(?:my|our|[A-Z]\w+)\b", value)
    ):
        return None
    return _todo(clause, CLEAR if verb in ("plan", "intend") else LIKELY, value)


def owes(clause: Clause) -> Found | None:
    """Read "owe Marta forty euros"."""
    if (
        clause.negated
        or clause.past
        or points_away(clause.rest)
        or re.match(r"(?:a lot|everything|so much|an apology)", clause.rest)
    ):
        return None
    return _todo(clause, LIKELY)


def considering(clause: Clause) -> Found | None:
    """Read "am thinking of moving": considered, and no more than that."""
    if clause.tense != "ing" or clause.verb not in ("think", "consider") or clause.subject.who not in _OURS:
        return None
    match = re.match(r"(?:of|about) (?P<v>\w+ing .+)|(?P<w>\w+ing .+)", clause.rest)
    if not match or not _LIFE_SIZED.match(match["v"] or match["w"]) or dangles(head(match["v"] or match["w"])):
        return None
    return Found(
        kind=StatementKind.TODO,
        category=Category.PLANS_GOALS,
        confidence=CONSIDERED,
        value=head(match["v"] or match["w"]),
        stance=Stance.MAYBE,
    )


def _settled(clause: Clause) -> bool:
    return clause.past or clause.tense == "participle"


def _decision(clause: Clause, rest: str, negative: bool, stance: Stance | None = None) -> Found | None:
    value = re.sub(
        r"^(?:to (?:use |go with )?|on |against (?:using )?|not to (?:use )?|that |for |in favou?r of )",
        "",
        head(rest, 10),
    )
    value = re.sub(r"\s(?:yesterday|today|tonight|this morning|last (?:week|month|year|night))$", "", value)
    if not value:
        return None
    topic = topic_of(clause.plain, value)
    return Found(
        kind=StatementKind.DECISION,
        category=Category.WORK_CAREER if topic else Category.PLANS_GOALS,
        confidence=OUTRIGHT if clause.verb in ("decide", "agree") else CLEAR,
        attribute=topic,
        value=value,
        negated=negative,
        stance=stance or (Stance.ENDED if negative else stance_of(clause)),
        about="project" if topic else None,
    )


def _todo(clause: Clause, confidence: float, value: str | None = None) -> Found | None:
    action = value if value is not None else f"{clause.verb} {clause.rest}".strip()
    if (
        (_TALK.match(action) and not (_ANSWERS.match(action) and FUTURE_HINT.search(action)))
        or len(action.split()) < 2
        or _leans(action)
        or (clause.negated and clause.helpers & {"should", "must"})
    ):
        return None
    if (
        clause.helpers & {"need to", "should", "have to"}
        and _ASKED_FOR.match(action)
        and not FUTURE_HINT.search(action)
    ):
        return None
    return Found(kind=StatementKind.TODO, category=Category.PLANS_GOALS, confidence=confidence, value=head(action, 10))


def _leans(action: str) -> bool:
    """What is promised to the listener may name them; what only points back may not."""
    if re.search(r"\bwith (?:him|her|them)(?: soon)?$", action):
        return True
    return dangles(re.sub(r"^(\w+) you\b", r"\1", head(action, 10))) and not FUTURE_HINT.search(action)
