"""What a rule gives, and the numbers that say how sure the rules are."""

from __future__ import annotations

import re
from dataclasses import dataclass

from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who
from everyword.types.statements import Category, Stance, StatementKind

# How sure a rule is, as the share of its finds that a reader would agree with; read off the labelled sentences.
OUTRIGHT = 0.95  # "my name is", "we decided to"
CLEAR = 0.85  # the wording has one common meaning
LIKELY = 0.7  # it can mean something else, or its weight depends on what is around
IMPLIED = 0.6  # nobody said it, the words presuppose it
CONSIDERED = 0.3  # weighed, not decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a rule found in a clause."""

    kind: StatementKind
    category: Category
    confidence: float
    attribute: str | None = None  # of the slot that it gives a value for
    value: str | None = None
    negated: bool | None = None  # None: as the clause is
    stance: Stance | None = None  # None: as the clause says
    about: str | None = None  # None: the clause's subject
    content: str | None = None  # None: worded from the clause


COUNTED_WORDS = 3  # of what is counted: the noun and what it is made of
_COUNTING = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty thirty forty
    fifty hundred thousand million dozen half couple few several many about around over almost nearly roughly already
    now so far times time day days week weeks month months year years hour hours minute minutes for each every per
    new total another more a an the my our of in to at on with from past last""".split()
)
_ANY_MORE = re.compile(r"\bany ?more\b|\bany longer\b", re.IGNORECASE)
_CUT = re.compile(
    r"[;(]|[,:](?!\d)|\snot (?=(?:the |an? )?(?:\d|(?-i:[A-Z])))"
    r"|\s(?:because|since|when|while|but|so|although|though|who|which|where|until|after|before|if"
    r"|as well|whenever|especially|than|and (?:it|i|we|he|she|they|that|things)|that (?:was|is|had|has)|right now"
    r"|at the moment|these days|any ?more)\b",
    re.IGNORECASE,
)
_PLACE_NAME = re.compile(r"(?:(?:St|Mt|Ft)\. )?[A-Z][\w'’-]+(?:(?:, | (?:of |de |upon |da |do )?)[A-Z][\w'’-]+){0,4}")
_WORDS = re.compile(r"[\"“'‘]…{3,}[\"”'’]|\d+(?:[.,:]\d+)*\w*|[\w'’&+#./-]+")
_LEFT_OVER = frozenset("for a an the to of in with and or my at on by from about like our".split())
# Said to the listener, behind what is said.
_PARTICLES = frozenset("tbh haha hahaha lol lmao btw ngl imo imho though tho anyway anyways then".split())
MOST_VALUE_WORDS = 8  # longer is a description, not a value
TIME_HINT = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|ago|this (?:morning|afternoon|evening|week|month|year|weekend|summer"
    r"|winter|spring|autumn|fall)|next|recently|(?:on|by|until|before|since|in|from|this|every|at) (?:the )?(?:\d|mon"
    r"|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may\b|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|winter|easter"
    r"|christmas|noon|weekend)|in (?:19|20)\d\d|(?:19|20)\d\d"
    r"|(?:by|before|until|at) (?:the )?(?:end of|eo[dwmqy]\b|month-end|year-end)"
    r"|within (?:a|two|three|four|five|six|\d+) (?:days?|weeks?|months?)"
    r"|the other day|earlier|when i was|the weekend|over the"
    r"|(?:january|february|april|june|july|august|september|october|november|december)|\d{1,2}(?:st|nd|rd|th)\b)",
    re.IGNORECASE,
)
FUTURE_HINT = re.compile(
    r"\b(?:(?:by|before|until) (?:the )?(?:end of (?:the |this |next )?(?:day|week|month|quarter|year)|eo[dwmqy]\b)"
    r"|tomorrow|tonight|next|this (?:coming |week|weekend|friday|saturday|sunday|afternoon|evening|summer|autumn"
    r"|winter|spring|month|year)|soon|later|in (?:a|two|three|four|five|\d+) (?:days?|weeks?|months?|years?)|(?:on|by"
    r"|in|at) (?:the )?(?:\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may\b|jun|jul|aug|sep|oct|nov|dec|spring"
    r"|summer|autumn|winter|easter|christmas|noon|20\d\d))",
    re.IGNORECASE,
)
# Objects that point at the talk itself, or at nothing that the words name.
_POINTING = re.compile(
    r"(?:(?:that|this|these|those)(?=$|[,.!;]|\s(?:one|too|so|for|in|on|and|with|was|is|when|because|I|we|you)\b)|you"
    r"|your|yours|it|its|them|him|her|us|there|so|too|what|how|when|where|both|to (?:hear|see|know|help|ask|thank|say"
    r"|think|admit)|hearing|seeing (?:you|that|how)|everything|something|nothing|anything|one|ones|all)(?=$|[\s,.!;])",
    re.IGNORECASE,
)


_DANGLING = re.compile(
    r"(?:^|\s)(?:it|that|this|them|those|these|one|ones|there|him|her|you|your|both|so|'?em|each ?other|any|some"
    r"|few|mine)(?:$|\s(?:too|again|recently|lately|all|more|soon|myself|sometime|someday|like|world|way|kind|much|together|forever"
    r"|one day)\b)"
    r"|\b(?:about|of|on|with|for|to|at|in|by|into|like|try|make|do) (?:it|them|that|this|you)\b|\byou\b"
    r"|\bwith (?:him|her)(?: soon|$)",
    re.IGNORECASE,
)


def stance_of(clause: Clause) -> Stance:
    """Tell how a clause stands to what was so before."""
    if "used to" in clause.helpers or "no longer" in clause.helpers:
        return Stance.ENDED
    if clause.negated and _ANY_MORE.search(clause.rest):
        return Stance.ENDED
    if "still" in clause.adverbs:
        return Stance.STILL
    if "now" in clause.adverbs or "instead of" in clause.rest:
        return Stance.CHANGED
    return Stance.HOLDS


def head(rest: str, words: int = MOST_VALUE_WORDS) -> str:
    """Take the value from what follows a verb: up to the next clause, at most so many words."""
    match = _CUT.search(rest)
    piece = rest[: match.start()] if match else rest
    found = _WORDS.findall(piece)[:words]
    while (found and found[-1].lower() in _LEFT_OVER) or (len(found) > 1 and found[-1].lower() in _PARTICLES):
        found.pop()
    return " ".join(found).strip(" .'-/")


def place_name(rest: str) -> str:
    """Take a place that is named with its country or state: "Ghent, Belgium"; empty where it has no name."""
    match = _PLACE_NAME.match(rest)
    return match[0] if match else ""


def points_away(rest: str) -> bool:
    """Tell whether an object is only a pointer ("it", "that", "you"), so that the words alone say nothing."""
    return not rest or _POINTING.match(rest) is not None


def dangles(value: str) -> bool:
    """Tell whether a value leans on what was said before: "holding them", "baking that"."""
    return _DANGLING.search(value) is not None


def unnumbered(value: str) -> str:
    """Name what a count is of: "30 squares so far" and "20 squares" are both of squares: one replaces another."""
    words = [word for word in _WORDS.findall(value.lower()) if not word[0].isdigit() and word not in _COUNTING]
    return key_of(" ".join(words[:COUNTED_WORDS]))


def key_of(value: str) -> str:
    """Make a value comparable: lower case, without its article."""
    return re.sub(r"^(?:the|a|an|my|our|some|any)\s", "", value.lower()).strip()


def attribute(name: str, value: str, category: Category, confidence: float, stance: Stance) -> Found | None:
    """Make an attribute; None where no value is left."""
    if not value:
        return None
    return Found(
        kind=StatementKind.ATTRIBUTE,
        category=category,
        confidence=confidence,
        attribute=name,
        value=value,
        stance=stance,
    )


def needs_third(clause: Clause) -> bool:
    """One named person works, many things work: "Dogs live in packs" is about no one."""
    subject = clause.subject
    return subject.who is Who.PERSON and subject.kin is None and clause.tense == "base" and not clause.helpers
