"""Events: what happened, what is arranged, and what was felt."""

from __future__ import annotations

import re
from dataclasses import replace

from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who
from everyword.knowledge.legacy.extract.rules.found import (
    CLEAR,
    FUTURE_HINT,
    LIKELY,
    TIME_HINT,
    Found,
    dangles,
    head,
    points_away,
)
from everyword.knowledge.legacy.extract.rules.verbs import SAME_IN_PAST
from everyword.types.statements import Category, Stance, StatementKind

_PEOPLE = (Who.SELF, Who.US, Who.PERSON)
# Deeds that one would tell a friend a month later.
_NOTABLE = frozenset(
    """adopt break buy build move quit win lose graduate marry propose divorce finish complete publish launch
        release adopt visit travel attend celebrate join sign start begin retire resign hire fire promote donate
        organise organize host perform paint plant crash injure die pass born foster renovate apply repair fix
        sell purchase book cancel submit present inherit rescue diagnose separate split volunteer enrol enroll
        hike climb camp run swim sail record write cook bake make fly drive go meet send pay order receive renew
        deliver return leave land open close deploy
        ship switch register moved earn raise teach learn call water clean wash
        email file print mail replace install upload test review merge update
        develop create design compose direct score
        beat escalate refund reimburse reopen""".split()
)
# Verbs of saying, thinking and dealing with the talk itself: their past tense tells nothing that lasts.
_EMPTY = frozenset(
    """say tell ask think mean know hear want need hope guess suppose wonder notice realise realize remember forget
        mention look seem appear feel like love hate believe understand agree expect get be have do let explain wish
        imagine consider plan decide figure worry struggle appreciate prefer assume end turn happen keep use
        question promise""".split()
)
_NOT_ARRANGED = (_EMPTY | {"go", "look", "try"}) - {"have", "get"}
_GOT = re.compile(
    r"(?:(?:just|finally|recently) )?(?P<v>promoted|married|engaged|divorced|fired|hired|laid off|accepted|robbed"
    r"|injured|sick|into (?!it|that|this|the)|a (?:new )?(?:job|promotion|raise|dog|cat|puppy|kitten|tattoo|car|bike"
    r"|house|flat|apartment|degree|scholarship|internship|grant|offer|pet|phone|laptop|camera)|(?:the|an) (?:job"
    r"|offer|award|grant|part|role)|my (?:degree|licen[cs]e|driving|first|results|diploma|black belt|new)|covid"
    r"|the flu|(?:a|an) (?!lot|bit|feeling|kick|idea|question|sense|chance|call|text|message|hold)\w+|to (?!know|say"
    r"|admit|be|do|go|love|see you)\w+ing|to (?:meet|volunteer|visit|perform|present|see|try|play|speak|watch|travel"
    r"|spend|work|teach|help)|back (?:from|together)|rid of|stuck|lost|caught)\b.*",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"(?:(?:just|finally|recently|officially) )?(?:promoted|fired(?! up)|hired|laid off|accepted|rejected|robbed"
    r"|injured|hospitali[sz]ed|elected|invited|nominated|awarded|ill|sick|in (?:the )?hospital|evicted|arrested"
    r"|diagnosed|selected|chosen|admitted|stolen|cancelled|canceled|postponed|delayed)\b",
    re.IGNORECASE,
)
_TO_PLACE = re.compile(
    r"(?:to|on|in|for|camping|hiking|shopping|skiing|swimming|kayaking|surfing|back)\b",
    re.IGNORECASE,
)
_IDIOM = re.compile(
    r"(?:down a rabbit|through (?:it|that|this)|ahead|crazy|with the flow|over (?:it|that)|my mind|my day|the point"
    r"|sense|up with the|my best|a lot of|it\b|sure|a difference|an effort|a mistake|a mess|back to you|off\b|wrong"
    r"|well|great|me\b|you\b)",
    re.IGNORECASE,
)
_MEAL = re.compile(
    r"(?:(?:a|an|the|my|our|some) )?(?:\w+ ){0,3}(?:dinner|lunch|breakfast|surgery|operation|baby|accident|party"
    r"|picnic|barbecue|bbq|interview|meeting|exam|appointment|fight|argument|break-?up|miscarriage|stroke"
    r"|heart attack|check-?up|reunion|wedding|trip|date|concert|scan|heart operation|garage sale|workshop|class"
    r"|lesson|competition|audition|recital|game|match|race|tournament)\b",
    re.IGNORECASE,
)
_ONLY_WHITHER = re.compile(r"(?:up|out|in|off|on|back|down|over|away)", re.IGNORECASE)  # "I signed up": for what?
_POINTING_BACK = re.compile(
    r"^\w+ing (?:it|that|this|them|what you)\b|\b(?:make|do|of|with|for|about|to) (?:it|this|that|them|you)$",
    re.IGNORECASE,
)
_IDLE_HAVING = re.compile(
    r"(?:to|it|that|this|them|the chance|a chance|no|some time|time|trouble|been)\b", re.IGNORECASE
)
_APPOINTED = re.compile(
    r"(?:(?:a|an|the|my|our|another|two|three) )(?:[\w'-]+ ){0,3}(?:appointments?|meetings?|interviews?|exams?"
    r"|flights?|tests?|dates?|calls?|classes|class|lessons?|concert|wedding|party|check-?up|deadline|presentation"
    r"|performance|show|game|match|race|trip|conference|workshop|surgery|operation|scan)\b",
    re.IGNORECASE,
)
_TICKET = re.compile(
    r"(?:the )?(?:support )?(?:ticket|case|incident|issue|request|claim)s? (?:no\. ?|number )?#?[A-Z]{0,6}-?\d"
)
_FEELINGS = re.compile(
    r"(?:(?:so|really|very|a bit|a little|quite|pretty|super|incredibly|extremely|feeling|rather|too|absolutely"
    r"|totally|still|always|genuinely) )*(?P<v>proud|worried|anxious|nervous|sad|lonely|stressed|upset|overwhelmed"
    r"|terrified|heartbroken|disappointed|thrilled|devastated|scared|frustrated|exhausted|homesick|grateful|relieved"
    r"|jealous|guilty|angry|furious|excited|happy|depressed|burn(?:t|ed) out|ashamed|embarrassed|bored|hurt|insecure"
    r"|hopeful|content|restless|nostalgic|miserable|ecstatic|over the moon|tired|drained|hopeless|confident|uneasy"
    r"|afraid|motivated|inspired|torn|down)\b(?P<more>.*)",
    re.IGNORECASE,
)
_STARTS = frozenset("start leave arrive turn graduate begin land open return come expire end".split())
# What goes by a plan is told in the present: "we ship on May 14", "the sync moves to Thursday". The day follows at
# once: "I start my day on Mondays with tea" is a habit.
_TIMETABLED = _STARTS - {"turn", "come"} | frozenset("ship launch release move close fly depart finish resume".split())
_ON_A_DAY = re.compile(
    r"(?:(?:to|for|from) \w+ )?(?:(?:on|in|to|until|this|next)(?: the)? )?"
    r"(?:(?:mon|tues?|wednes|thurs?|fri|satur|sun)day|jan(?:uary)?|feb(?:ruary)?|march|april|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|tomorrow|\d{1,2}(?:st|nd|rd|th)?(?: of)? [a-z]{3,}"
    r"|20\d\d|(?:next|this) (?:week|month|year|weekend|spring|summer|autumn|winter))\b",
    re.IGNORECASE,
)
# Good cheer is the tone of every chat: it counts when it is about somebody or something of one's own.
_CHEERFUL = frozenset(
    "excited happy grateful thrilled hopeful inspired motivated content confident relieved proud".split()
)
_CAUSE = re.compile(
    r"\b(?:of|about|since|before|after|lately|because|with|during|when|at|by|over|these days|recently|for (?:my|our"
    r"|the|weeks|months|days|a while)|today|yesterday|last|this (?:morning|week)|that (?:i|my|we|our)|to (?:be|have"
    r"|leave|start|see my))\b",
    re.IGNORECASE,
)
_ABOUT_YOU = re.compile(
    r"\b(?:you|your|to (?:hear|help|see|try|learn|check|explore|read)|for (?:it|that|this)|about (?:it|that|this)"
    r"|to say)\b",
    re.IGNORECASE,
)


def happened(clause: Clause) -> Found | None:
    """Read what somebody did or what befell them, when it is dated or one would tell it."""
    to_me = clause.subject.who is Who.PRONOUN and re.search(r"\b(?:me|us)\b", clause.rest)
    if (clause.subject.who not in _PEOPLE and not to_me) or not clause.verb:
        return None
    dated = TIME_HINT.search(clause.rest) or TIME_HINT.search(clause.lead) or clause.adverbs & {"recently"}
    if not clause.past and not (
        clause.verb in SAME_IN_PAST and not clause.helpers and (dated or clause.verb == "quit")
    ):
        return None
    told = clause.verb in _NOTABLE or (clause.verb not in _EMPTY and dated)
    if clause.relative and not dated:
        return None
    if not told or _IDIOM.match(clause.rest) or clause.helpers & {"did"}:
        return None
    when = dated[0].lower() if isinstance(dated, re.Match) else ""
    vague = when in ("", "recently")  # no day to hang it on
    thin = vague and (points_away(clause.rest) or _POINTING_BACK.search(clause.rest) is not None)
    thin = thin and not (clause.verb == "open" and _TICKET.match(clause.rest))
    thin = thin or (clause.verb == "join" and not head(clause.rest)) or (vague and _ONLY_WHITHER.fullmatch(clause.rest))
    if thin or (
        clause.verb in ("go", "make", "leave", "run", "drive", "open", "meet", "start", "begin")
        and not _weighty(clause, bool(dated))
    ):
        return None
    found = _event(clause, CLEAR if dated else LIKELY)
    return replace(found, about="") if to_me else found


def got(clause: Clause) -> Found | None:
    """Read "got promoted", "got married in 2015", "got a cat"."""
    match = _GOT.match(clause.rest)
    if not match or not clause.past or clause.subject.who not in _PEOPLE or dangles(head(clause.rest)):
        return None
    status = match["v"].lower()
    if status in ("married", "engaged", "divorced"):
        return Found(
            kind=StatementKind.EVENT,
            category=Category.RELATIONSHIPS,
            confidence=CLEAR,
            attribute="marital_status",
            value=status,
            stance=Stance.CHANGED,
        )
    return _event(clause, CLEAR)


def befell(clause: Clause) -> Found | None:
    """Read the passive: "was promoted", "was laid off"."""
    if (
        _PASSIVE.match(clause.rest)
        and (clause.past or clause.helpers & {"been"})
        and clause.subject.who in (*_PEOPLE, Who.THING)
    ):
        found = _event(clause, CLEAR)
        # What befell a thing is nobody's deed.
        return replace(found, stance=Stance.HOLDS) if clause.subject.who is Who.THING else found
    return None


def had(clause: Clause) -> Found | None:
    """Read "had dinner with", "had surgery", "have an appointment on"."""
    if clause.subject.who not in _PEOPLE:
        return None
    dated = TIME_HINT.search(clause.rest) or TIME_HINT.search(clause.lead)
    if clause.past and (_MEAL.match(clause.rest) or (dated and not _IDLE_HAVING.match(clause.rest))):
        return _event(clause, CLEAR)
    if not clause.past and _APPOINTED.match(clause.rest) and FUTURE_HINT.search(clause.rest):
        return _arranged(clause, CLEAR)
    return None


def been(clause: Clause) -> Found | None:
    """Read "have been to Iceland", "have never been to"."""
    match = re.match(r"to (?P<v>.+)", clause.rest)
    if not match or not clause.helpers & {"have", "has"} or "been" not in clause.helpers or points_away(match["v"]):
        return None
    return Found(
        kind=StatementKind.EVENT,
        category=Category.EXPERIENCES,
        confidence=CLEAR,
        attribute=None,
        value=head(match["v"]),
    )


def visited(clause: Clause) -> Found | None:
    """Read experiences that are counted: "have visited Iceland four times", "have never tried"."""
    if clause.helpers & {"have", "has"} and clause.verb in ("visit", "travel", "see", "try", "live") and clause.negated:
        return None if points_away(clause.rest) else _event(clause, LIKELY)
    return None


def arranged(clause: Clause) -> Found | None:
    """Read what is arranged: "am meeting the landlord tomorrow", "leaves on 2 April"."""
    if clause.negated:
        return None
    if clause.verb in _TIMETABLED and not clause.past and not clause.helpers and _ON_A_DAY.match(clause.rest):
        return _arranged(clause, CLEAR) if clause.subject.who in (*_PEOPLE, Who.THING) else None
    if not (FUTURE_HINT.search(clause.rest) or FUTURE_HINT.search(clause.lead)):
        return None
    progressive = clause.tense == "ing" and clause.helpers & {"am", "are", "is"} and clause.subject.who in _PEOPLE
    starts = clause.tense == "third" and clause.verb in _STARTS
    if progressive and clause.verb not in _NOT_ARRANGED:
        return _arranged(clause, CLEAR)
    if progressive and clause.verb == "go" and _TO_PLACE.match(clause.rest):
        return _arranged(clause, CLEAR)
    return _arranged(clause, CLEAR) if starts and clause.subject.who in (*_PEOPLE, Who.THING) else None


def feeling(clause: Clause) -> Found | None:
    """Read feelings that have a cause or a time: without either they are the tone of a talk."""
    if clause.subject.who not in (Who.SELF, Who.US, Who.PERSON) or (
        clause.subject.who is Who.PERSON and clause.subject.kin is None
    ):
        return None
    match = _FEELINGS.match(clause.rest)
    if not match or _ABOUT_YOU.search(match["more"]) or clause.negated:
        return None
    if dangles(match["more"].strip()) or (
        match["v"].lower() in _CHEERFUL and not re.search(r"\b(?:my|our|[A-Z]\w+)\b", match["more"])
    ):
        return None
    if not (_CAUSE.search(match["more"]) or _CAUSE.match(clause.lead) or clause.helpers & {"have", "has"}):
        return None
    return Found(
        kind=StatementKind.EVENT, category=Category.WELLNESS, confidence=LIKELY, value=head(match["v"] + match["more"])
    )


def misses(clause: Clause) -> Found | None:
    """Read "miss my old flat"."""
    if (
        clause.past
        or clause.negated
        or points_away(clause.rest)
        or not re.match(r"(?:my|our|the|[A-Z]|living|being|playing)", clause.rest)
    ):
        return None
    return Found(kind=StatementKind.EVENT, category=Category.WELLNESS, confidence=LIKELY, value=head(clause.rest))


def expecting(clause: Clause) -> Found | None:
    """Read "are expecting our second child"."""
    if clause.tense == "ing" and re.match(r"(?:a|an|our|my|her|their|twins)\b", clause.rest):
        return _arranged(clause, CLEAR)
    return None


def _weighty(clause: Clause, dated: bool) -> bool:
    """Going, making and leaving are told only with a place, a thing or a time."""
    if clause.verb == "go":
        return _TO_PLACE.match(clause.rest) is not None and (
            dated or re.search(r"\b(?:[A-Z]\w+|first|trip)\b|^(?:to|on) (?:a|an|my|this)\b", clause.rest) is not None
        )
    if clause.verb == "run":
        return re.search(r"\b(?:marathon|race|\d+ ?k|kilomet|miles?|charity)", clause.rest) is not None
    if clause.verb in ("start", "begin"):
        return re.match(r"(?:a|an|my|our|the|\w+ing|therapy|school|college|university)\b", clause.rest) is not None
    if clause.verb == "open" and _TICKET.match(clause.rest):
        return True
    return dated or re.match(r"(?:a|an|my|our|this)\s|.{0,20}\bto [A-Z]", clause.rest) is not None


def _event(clause: Clause, confidence: float) -> Found:
    value = f"{clause.verb} {head(clause.rest)}".strip()
    return Found(
        kind=StatementKind.EVENT,
        category=Category.EXPERIENCES,
        confidence=confidence,
        value=value,
        stance=Stance.HOLDS if clause.negated else Stance.DONE,
    )


def _arranged(clause: Clause, confidence: float) -> Found:
    value = f"{clause.verb} {head(clause.rest)}".strip()
    return Found(kind=StatementKind.EVENT, category=Category.PLANS_GOALS, confidence=confidence, value=value)
