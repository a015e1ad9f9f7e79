"""What a speaker tells the one who listens: things to remember, and how to do things from now on."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.noise import is_question
from everyword.knowledge.legacy.extract.rules.clauses import Clause
from everyword.knowledge.legacy.extract.rules.found import CLEAR, LIKELY, OUTRIGHT, Found, dangles, head
from everyword.types.statements import Category, StatementKind

_REMIND = re.compile(
    r"(?:for [A-Z]\w+, )?(?:please )?(?:(?:can|could|would|will) you )?(?:please )?(?:remind me (?:to|that|about"
    r"|of)|(?:do not"
    r"|never) forget (?:to|that|about|the|my|our)|remember (?:to|that|my|our|this)|keep in mind(?: that)?"
    r"|bear in mind(?: that)?|make a note (?:of|that|to)|note that|note to self:?|take note that|for the record,?"
    r"|reminder:|important:) ?(?P<v>.+)",
    re.IGNORECASE,
)
# What is to be remembered speaks of something in particular; else it is a wise word.
_PARTICULAR = re.compile(r"\b(?:my|our|I|we|the)\b|\d|(?<!^)[A-Z]")
_TODO = re.compile(r"(?:todo|to-do|to do|fixme|action item|next step)s?\s?[:-]\s?(?P<v>.+)", re.IGNORECASE)
_AIM = re.compile(
    r"(?:my|our) (?:\w+ )?(?:goal|plan|dream|aim|hope|resolution|target|ambition|next step)s?(?: (?:for|this"
    r"|next) [\w ]{1,20})? (?:is|are|has always been) to (?P<v>.+)",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"(?:(?P<decided>(?:ok(?:ay)?,? |so,? |then )?(?:it(?:'s| is) |that(?:'s| is) |we(?:'ve| have) )?(?:all |now "
    r"|finally )?"
    r"(?:settled|decided|agreed|arranged|official|final decision|decision|verdict|the decision)\b[^:.!?]{0,24}:)"
    r"|(?P<reminder>(?:a |quick |another |one more )?(?:reminder|note to self|memo|to remember"
    r"|don't forget)\b[^:.!?]{0,24}:)"
    r"|(?:a |one |new |house |team |standing |general |another |my |our |the )?(?:\w+ )?(?:rule|guideline|policy"
    r"|convention)"
    r"\b[^:.!?]{0,24}:)\s(?P<v>\S.{6,})",
    re.IGNORECASE,
)
_IT_IS = re.compile(
    r"(?:(?:ok(?:ay)?|so|then|right|well),? )?"
    r"(?P<v>(?!(?:this|that|so|what|as|it|whatever|here|there|I|we|you|yes|yeah|yep|no|sure|indeed|of)\b)"
    r"(?:(?!\bhow\b|\bwhat\b|\bwhere\b)[\w' -]){2,40}) it is(?= for\b| then\b|[.!]*$)",
    re.IGNORECASE,
)
_DOES = (
    r"(?:use|write|answer|reply|respond|include|add|avoid|cite|explain|format|call|keep|give|show|put|name|start"
    r"|begin|end|test|mock|commit|run|return|translate|speak|address|mention|omit|prefer|log|document|indent|wrap"
    r"|import|push|deploy|delete|send|ask|check|quote|sign|refer|talk|provide|recommend|suggest|list|spell|treat|stop"
    r"|skip|assume|summari[sz]e|round|convert|limit|touch|merge|rebase|handle|validate|order|book|leave)"
)
_ALWAYS = re.compile(rf"(?:and |but |so )?(?:please )?(?:always|never|do not ever) (?P<v>{_DOES}\b.+)", re.IGNORECASE)
_FROM_NOW = re.compile(
    r"(?:please )?(?:from now on|going forward|in (?:the )?future|from here on|for all future|as a rule"
    r"|starting (?:now|today)),? (?P<v>.+)|(?:please )?(?P<w>.+) (?:from now on|going forward"
    r"|in (?:the )?future)\W*$",
    re.IGNORECASE,
)
_NOW_ON = re.compile(r"(?:from now|from here|going forward|starting)\b", re.IGNORECASE)
_WE_FROM_NOW = re.compile(
    r"(?:from now on|going forward|from here on|starting (?:now|today)),? we (?:will |always )?(?P<v>\w+ .+)",
    re.IGNORECASE,
)
_WHENEVER = re.compile(
    rf"(?:when|whenever|every time|each time|any time|anytime) (?:you|we|i ask you)\b.{{2,80}}, (?:please "
    rf"|always )*(?:{_DOES})\b.+",
    re.IGNORECASE,
)
_WANTS_YOU = re.compile(
    r"I (?:want|need|expect|would like|prefer|would prefer) (?:for )?you to (?P<v>(?:always|never|not|only)\b.+)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?:please |you can |just )?call me (?P<v>[A-Z]\w+)")
_IMPERATIVE = re.compile(rf"(?:please )?(?P<no>do not )?(?P<v>{_DOES}\b.+)", re.IGNORECASE)
# An order holds beyond the moment where it speaks of all cases, or of how answers should be.
_GENERAL = re.compile(
    r"\b(?:everywhere|always|never|(?:all|every|each|any)(?: of)? (?:\w+ ){0,2}(?:messages?|answers?|repl(?:y|ies)"
    r"|responses?|emails?|functions?|files?|commits?|code|tests?|queries|variables?|names?|dates?|amounts?|prices?"
    r"|times?|classes|modules?|comments?|docs?|documents?|reports?|strings?)|your (?:\w+ )?(?:answers?|repl(?:y|ies)"
    r"|responses?|messages?|emails?|code|explanations?|suggestions?|recommendations?|summaries)|my (?:emails|messages"
    r"|documents|reports)|for me|to me|with me)\b",
    re.IGNORECASE,
)
_PLATITUDE = re.compile(
    r"\b(?:yourself|your dreams|your heart|believe|give up|stop (?:learning|believing|being|dreaming|going)"
    r"|forget (?:that you|how|to (?:take care|have fun|enjoy|breathe|be))|smiling|shining)\b",
    re.IGNORECASE,
)
_CORRECTS = re.compile(r"(?:(?:oh|oops|sorry|and|small|quick|minor|one),? )*correction[:,]\s", re.IGNORECASE)
_TO_YOU = re.compile(r"\b(?:you|your|yourself|yours)\b", re.IGNORECASE)


def reminds(clause: Clause) -> Found | None:
    """Read "remind me to", "don't forget to", "keep in mind that"."""
    match = _REMIND.match(clause.plain)
    if not match or _PLATITUDE.search(clause.plain) or _TO_YOU.search(match["v"]) or len(match["v"].split()) < 2:
        return None
    if match[0].lower().startswith("remember that") and not _PARTICULAR.search(match["v"]):
        return None
    if match[0].lower().startswith(("remember to", "do not forget to")) and re.match(
        r"(?:be|have|enjoy|stay|breathe|take)\b", match["v"], re.IGNORECASE
    ):
        return None
    return Found(
        kind=StatementKind.REMINDER,
        category=Category.PLANS_GOALS,
        confidence=OUTRIGHT,
        value=head(match["v"], 12),
        negated=False,
        about="",
    )


def announces(sentence: str) -> Found | None:
    """Read what is announced: "It's settled: ...", "Reminder for me: ...", "New rule: ...", and "oak it is"."""
    match = _ANNOUNCED.match(sentence)
    chosen = match or _IT_IS.match(sentence)
    if chosen is None or is_question(sentence):
        return None
    kind, category = StatementKind.PREFERENCE, Category.PREFERENCES
    if match is None or match["decided"]:
        kind, category = StatementKind.DECISION, Category.PLANS_GOALS
    elif match["reminder"]:
        kind, category = StatementKind.REMINDER, Category.PLANS_GOALS
    value = head(chosen["v"], 14)
    return (
        Found(kind=kind, category=category, confidence=CLEAR, value=value, about="", negated=False) if value else None
    )


def corrects(sentence: str) -> bool:
    """Tell whether a sentence says that it puts something right: "Correction: the budget is 40k"."""
    return _CORRECTS.match(sentence) is not None


def lists_todo(clause: Clause) -> Found | None:
    """Read "TODO: rotate the certificates"."""
    match = _TODO.match(clause.plain)
    if not match:
        return None
    return Found(
        kind=StatementKind.TODO,
        category=Category.PLANS_GOALS,
        confidence=OUTRIGHT,
        value=head(match["v"], 12),
        about="",
    )


def aims(clause: Clause) -> Found | None:
    """Read "my goal is to read a book a week"."""
    match = _AIM.match(clause.plain)
    if not match or dangles(head(match["v"], 12)):
        return None
    return Found(
        kind=StatementKind.TODO, category=Category.PLANS_GOALS, confidence=CLEAR, value=head(match["v"], 12), about=""
    )


def instructs(clause: Clause) -> Found | None:
    """Read standing orders: "always use type hints everywhere", "from now on, answer in French"."""
    plain = clause.plain.rstrip(" .!")
    if _NOW_ON.match(clause.lead):
        plain = f"{clause.lead} {plain}"
    if _PLATITUDE.search(plain):
        return None
    address = _ADDRESS.match(plain)
    if address:
        return Found(
            kind=StatementKind.PREFERENCE,
            category=Category.IDENTITY,
            confidence=OUTRIGHT,
            attribute="called",
            value=address["v"],
            about="",
        )
    if match := _ALWAYS.match(plain) or _WANTS_YOU.match(plain):
        return _order(
            match["v"],
            OUTRIGHT,
            re.search(r"\b(?:never|not)\b", plain[: match.start("v") + 8], re.IGNORECASE) is not None,
        )
    if match := _WE_FROM_NOW.match(plain):
        return Found(
            kind=StatementKind.DECISION,
            category=Category.PLANS_GOALS,
            confidence=CLEAR,
            value=head(match["v"], 12),
            about="",
        )
    if match := _FROM_NOW.match(plain):
        order = match["v"] or match["w"]
        told = re.match(rf"(?:always |never |please |only |do not )*{_DOES}\b", order, re.IGNORECASE)
        return (
            _order(order, OUTRIGHT, re.match(r"(?:please )?(?:never|do not)\b", order, re.IGNORECASE) is not None)
            if told
            else None
        )
    if _WHENEVER.match(plain):
        return _order(plain, CLEAR, " not " in plain)
    match = _IMPERATIVE.match(plain)
    if (
        match
        and _GENERAL.search(plain)
        and not re.match(
            r"(?:start|give|show|send|ask|list|talk|keep|run|check|provide|suggest|recommend)\b(?! your)",
            match["v"],
            re.IGNORECASE,
        )
    ):
        return _order(match["v"], LIKELY, match["no"] is not None)
    if match and _GENERAL.search(plain) and match["v"].lower().startswith(("keep your", "keep all", "give all")):
        return _order(match["v"], LIKELY, match["no"] is not None)
    return None


def _order(value: str, confidence: float, negated: bool) -> Found:
    return Found(
        kind=StatementKind.PREFERENCE,
        category=Category.PREFERENCES,
        confidence=confidence,
        value=head(value, 12),
        negated=negated,
        about="",
    )
