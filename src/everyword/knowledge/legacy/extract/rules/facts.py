"""Key facts about things and projects, and insights."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.noise import is_question
from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who
from everyword.knowledge.legacy.extract.rules.found import (
    CLEAR,
    LIKELY,
    OUTRIGHT,
    TIME_HINT,
    Found,
    head,
    key_of,
    points_away,
    stance_of,
)
from everyword.knowledge.legacy.extract.rules.tools import OF_A_PROJECT, topic_of
from everyword.types.statements import Category, Stance, StatementKind

# What makes a statement about a thing worth keeping: a number, a name, a date.
_EXACT = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred"
    r"|thousand|million)\b|(?:^|\s)[A-Z][\w.-]+|\b\w+[-_]\w*\d\w*\b"
)
_EMPTY_SUBJECT = re.compile(
    r"(?:my|our|the|this|that) (?:\w+ )?(?:point|question|guess|thing|understanding|best|worst|hardest|trick|answer"
    r"|idea|heart|bad|pleasure|mind|goal here|only|rest|other|same|one|weather|world|universe|kids|people|sun|sky|way"
    r"|time|day|problem with|good news|bad news|key|funny|first|next|last|favou?rite)\b",
    re.IGNORECASE,
)
_INSIGHT = re.compile(
    r"(?:(?:it )?turns out(?: that)?|it turned out(?: that)?|lesson learned:?|(?:as )?it turns out,?|the (?:lesson"
    r"|takeaway|upshot|moral) (?:is|was)) (?P<v>.+)",
    re.IGNORECASE,
)
# What helps for now, and what does not work: said of tools and services, not of what people can't bear.
_WORKAROUND = re.compile(
    r"(?:as an? (?:temporary )?(?:workaround|stopgap|quick fix|temporary fix),? |(?:the|a|one|our) (?:temporary |known "
    r"|quick )?(?:workaround|stopgap|temporary fix)(?: for now| until then)? is (?:to )?|workaround: ?)(?P<v>\S.{4,})",
    re.IGNORECASE,
)
_CANNOT = frozenset("log login access connect reach download upload install export import print checkout".split())
_LOGS_IN = re.compile(r"log ?in(?:to)?\b")
_NO_SERVICE = re.compile(
    r"(?:still |now |again |completely |currently )*(?:broken|down|offline|unreachable|unavailable|out of order)"
    r"(?: again| since \w+(?: \w+)?| for \w+ \w+)?$",
    re.IGNORECASE,
)
_OF_A_TOOL = re.compile(
    r"\b(?:websites?|site|portal|app|servers?|service|api|system|network|internet|wi-?fi|vpn|printers?|scanner|router"
    r"|phone|laptop|computer|screen|login|e-?mail|mailbox|database|build|pipeline|deployment|backup|heating|boiler"
    r"|fridge|freezer|oven|dishwasher|washing machine|dryer|lift|elevator|car|van|bike|alarm|pump|tap|toilet|shower"
    r"|lock|gate|machine|monitor|camera|page|link|form|button|menu|icon|export|import|checkout|payment|terminal|drive"
    r"|disk|software|script|queue|sensor|lights?|power|dashboard|account|file)\b",
    re.IGNORECASE,
)
_BREAKS = frozenset("crash fail freeze hang".split())
_SHOWS_ERROR = re.compile(r"(?:me |us )?(?:an? |the )?(?:\w+ )?error\b", re.IGNORECASE)
_CAUSE = re.compile(
    r"(?:the (?:\w+ ){0,3}(?:reason|cause|culprit)\b.{0,80}\b(?:is|was|turned out to be) (?P<v>.+)|(?:the|our|this"
    r"|that) .{2,60}\b(?:was|is|were|got) (?:being )?caused by (?P<w>.+)|the (?:root |real |actual |main )?(?:problem"
    r"|issue|bug|leak|error|failure|fault) (?:was|is|came|turned out) (?P<x>(?:a|an|the|that|in|with|from|to be"
    r"|because|due to)\b.+))",
    re.IGNORECASE,
)
# What turned out must be said: "it turned out delicious" and "they live close by" lean on what came before.
_UNSAID = re.compile(r"(?:to be|he|she|they|it|we all|\w+ly|so|really|\w+$|(?:\w+ ){1}\w+$)\b", re.IGNORECASE)
_LEARNT = re.compile(r"(?:out )?(?:that|how|to|the hard way|it is|I|you|my|the|there)\b", re.IGNORECASE)
_TOOK = re.compile(
    r"It (?:took|cost|costs|takes) (?:me|us) (?:\w+ ){0,2}?(?P<v>.*(?:\d|hours?|days?|weeks?|months?|years?|minutes?"
    r"|euros|dollars|pounds).*)",
    re.IGNORECASE,
)
# What was said before is put right, and named.
_OF_WHAT = r"(?P<what>(?:the|that|my|our) (?-i:[a-z][\w'-]*)(?: (?-i:[a-z][\w'-]*)){0,4}?)"
_WRONG_ABOUT = re.compile(
    r"(?:(?:oh|oops|sorry|ok(?:ay)?|hm+|no|wait|actually|and|so),? )*I(?:'m| am| was) (?:wrong|mistaken) about "
    + _OF_WHAT
    + r"(?:\s?[,:;–—-]+\s|,? and )(?:it|that|they)(?:'s|'re| is| are| was| were)(?: actually| really)? (?P<v>.+)",
    re.IGNORECASE,
)
_MAKE_IT = re.compile(
    r"(?:(?:oh|oops|sorry|ok(?:ay)?|hm+|no|wait|and|so),? )*(?:actually|sorry|correction|no|wait)[,:]? (?:please )?"
    r"(?:make|change|set|move) " + _OF_WHAT + r"(?: to| into)? (?P<v>.+)",
    re.IGNORECASE,
)
_EXACTLY = re.compile(r"(?:(?:due|on|at|in|by|for|until|only|about) ){0,2}(?:the )?(?:\d|(?-i:[A-Z]))", re.IGNORECASE)
_OPINION = re.compile(
    r"(?:in my (?:opinion|view|experience),?|I (?:firmly |strongly |truly )?believe that"
    r"|I am convinced that) (?P<v>.+)",
    re.IGNORECASE,
)


# "Was cut to 25k": the value is what it was changed to.
_CHANGED = re.compile(
    r"(?:now )?(?:cut|raised|lowered|reduced|increased|moved|changed|extended|pushed|postponed|delayed|shortened|bumped"
    r"|shifted|brought|put)(?: back| out| up| down| forward)?(?: from [\w.,%]+(?: [\w.,%]+)?)? (?:to|until|till) "
    r"(?P<v>(?:the )?(?:\d|(?-i:[A-Z])).*)",
    re.IGNORECASE,
)


def things(clause: Clause) -> Found | None:
    """Read "the API allows 500 requests a minute", "our budget is 12,000 euros", "the project is called Heron"."""
    if clause.subject.who is not Who.THING or _EMPTY_SUBJECT.match(clause.plain) or not clause.rest:
        return None
    if not OF_A_PROJECT.search(clause.subject.words) or (
        clause.helpers & {"can", "will"} and not re.search(r"\d", clause.rest)
    ):
        return None
    dated = clause.past and TIME_HINT.search(clause.rest)
    if not dated and not _EXACT.search(clause.rest) and clause.verb not in ("call", "use"):
        return None
    if clause.past and clause.verb not in ("be", "cost", "go", "have"):
        value = f"{clause.verb} {head(clause.rest)}"
        about = "" if clause.subject.words.lower().startswith("my ") else "project"
        return Found(
            kind=StatementKind.EVENT, category=Category.EXPERIENCES, confidence=LIKELY, value=value, about=about
        )
    changed = _CHANGED.match(clause.rest) if clause.verb == "be" else None
    rest = changed["v"] if changed else clause.rest
    topic = topic_of(clause.plain, rest)
    words = clause.subject.words
    slot = topic or key_of(words)
    return Found(
        kind=StatementKind.KEY_FACT,
        category=Category.CONTEXT,
        confidence=CLEAR,
        attribute=slot
        if clause.verb in ("be", "run", "use", "cost", "expire", "allow")
        else f"{key_of(words)}:{clause.verb}",
        value=head(rest, 10),
        stance=Stance.CHANGED if changed else stance_of(clause),
        about="project" if not words.lower().startswith("my ") else "",
    )


def puts_right(sentence: str) -> Found | None:
    """Read what is put right and named: "I was wrong about the runner, it's 4 cores not 2"."""
    match = _WRONG_ABOUT.match(sentence.replace("’", "'")) or _MAKE_IT.match(sentence.replace("’", "'"))
    if match is None or is_question(sentence) or not _EXACTLY.match(match["v"]):
        return None
    if match.re is _MAKE_IT and not OF_A_PROJECT.search(match["what"]):  # "make the text 2 lines shorter"
        return None
    whose, _, what = match["what"].partition(" ")
    return Found(
        kind=StatementKind.KEY_FACT,
        category=Category.CONTEXT,
        confidence=CLEAR,
        attribute=what.lower(),
        value=head(match["v"].rstrip(" .!"), 10),
        stance=Stance.CHANGED,
        negated=False,
        about="" if whose.lower() == "my" else "project",
    )


def uses(clause: Clause) -> Found | None:
    """Read "we use Kafka for the event bus"."""
    if (
        clause.subject.who is not Who.US
        or clause.tense != "base"
        or clause.helpers - {"do", "no longer", "used to"}
        or points_away(clause.rest)
    ):
        return None
    value = head(clause.rest, 6)
    topic = topic_of(clause.plain, value)
    if topic is None and not re.search(r"\b(?:for|as|with|[A-Z]\w+)\b", clause.rest):
        return None
    return Found(
        kind=StatementKind.KEY_FACT,
        category=Category.CONTEXT,
        confidence=CLEAR,
        attribute=topic,
        value=value,
        stance=stance_of(clause),
        about="project",
    )


def took(clause: Clause) -> Found | None:
    """Read "it took us four hours", "it cost me 300 dollars"."""
    match = _TOOK.match(clause.plain)
    # What "it" was must be said: "four hours to fix the boiler", not "twelve dollars".
    if not match or not re.search(r"\bto \w+ (?:the|my|our|a|an|[A-Z])", match["v"]):
        return None
    return Found(
        kind=StatementKind.KEY_FACT,
        category=Category.EXPERIENCES,
        confidence=LIKELY,
        value=head(match["v"], 10),
        about="",
    )


def learnt(clause: Clause) -> Found | None:
    """Read "realised that", "learned that", "found out that"."""
    if (
        clause.subject.who not in (Who.SELF, Who.US)
        or clause.negated
        or not clause.past
        or not _LEARNT.match(clause.rest)
    ):
        return None
    if clause.verb == "figure" and not clause.rest.startswith("out"):
        return None
    if clause.verb == "find" and not re.match(r"(?:out )?that\b", clause.rest):
        return None
    if (clause.verb == "notice" and re.search(r"\b(?:you|your)\b", clause.rest)) or re.match(
        r"(?:it|that (?:you|it|the hard way)|how you|about)\b", clause.rest
    ):
        return None
    return _insight(clause.rest, CLEAR)


def found_cause(clause: Clause) -> Found | None:
    """Read "turns out", "the bug was caused by", "the reason is"."""
    plain = clause.plain.rstrip(" .!")
    match = _INSIGHT.match(plain)
    if match:
        return None if _UNSAID.match(match["v"]) else _insight(match["v"], OUTRIGHT)
    match = _CAUSE.match(plain)
    return _insight(match["v"] or match["w"] or match["x"], CLEAR) if match else None


def helps_for_now(sentence: str) -> Found | None:
    """Read a workaround: "as a workaround you can use the mobile app until we fix it"."""
    match = _WORKAROUND.match(sentence.rstrip(" .!"))
    return _insight(match["v"], CLEAR) if match and not is_question(sentence) else None


def out_of_service(clause: Clause) -> Found | None:
    """Read what does not work: "I can't log in to the portal", "the export button is missing", "the app crashes"."""
    own = clause.subject.who in (Who.SELF, Who.US)
    cannot = own and clause.negated and clause.helpers & {"can", "could"} and clause.verb in _CANNOT
    cannot = cannot and (_LOGS_IN.match(f"{clause.verb} {clause.rest}") or _OF_A_TOOL.search(clause.rest))
    if not cannot and not _is_out_of_service(clause):
        return None
    value = f"can not {clause.verb} {clause.rest}" if cannot else clause.plain
    return Found(
        kind=StatementKind.EVENT,
        category=Category.CONTEXT,
        confidence=LIKELY,
        value=head(value, 10),
        negated=False,
        about="",
    )


def _is_out_of_service(clause: Clause) -> bool:
    if clause.subject.who is not Who.THING or clause.past or clause.helpers & {"will", "can"}:
        return False
    if not _OF_A_TOOL.search(clause.subject.words):
        return False
    if clause.verb == "miss" and clause.tense == "ing":
        return not clause.negated and not clause.rest
    if clause.verb == "be":
        return not clause.negated and _NO_SERVICE.match(clause.rest) is not None
    if clause.negated:
        return clause.verb in ("work", "load", "print", "respond", "connect") and not clause.rest.startswith("for ")
    shows = clause.verb in ("show", "throw", "return", "give", "say") and _SHOWS_ERROR.match(clause.rest) is not None
    return shows or (clause.verb in _BREAKS and clause.tense == "third" and not clause.rest.startswith("to "))


def thinks(clause: Clause) -> Found | None:
    """Read opinions that say that they are one."""
    match = _OPINION.match(clause.plain)
    if not match or re.match(r"(?:you|it|that|this)\b", match["v"]):
        return None
    return Found(kind=StatementKind.INSIGHT, category=Category.OPINIONS, confidence=LIKELY, value=head(match["v"], 12))


def advised(clause: Clause) -> Found | None:
    """Read what the speaker was told to do by somebody who should know: "my doctor told me to"."""
    subject = clause.subject
    if (
        subject.who is not Who.PERSON
        or subject.kin is None
        or clause.verb not in ("tell", "advise", "ask", "recommend", "suggest", "want", "think")
    ):
        return None
    match = re.match(r"(?:me|us) to (?P<v>.+)|(?:that )?I should (?P<w>.+)", clause.rest)
    if not match:
        return None
    return Found(
        kind=StatementKind.KEY_FACT,
        category=Category.WELLNESS,
        confidence=LIKELY,
        value=head(match["v"] or match["w"]),
        about="",
    )


def _insight(value: str, confidence: float) -> Found:
    return Found(
        kind=StatementKind.INSIGHT,
        category=Category.OPINIONS,
        confidence=confidence,
        value=head(value, 12),
        negated=False,
        about="",
    )
