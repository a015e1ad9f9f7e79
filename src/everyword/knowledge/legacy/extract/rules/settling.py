"""What was done or is to be done, said of the thing and not of who does it: "the RFC is written", "rent: paid"."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.rules.clauses import Clause
from everyword.knowledge.legacy.extract.rules.ending import Over
from everyword.knowledge.legacy.extract.rules.found import CLEAR, FUTURE_HINT, LIKELY, Found, head
from everyword.knowledge.legacy.extract.rules.tools import OF_A_PROJECT
from everyword.knowledge.legacy.extract.rules.verbs import form_of
from everyword.types.statements import Category, Stance, StatementKind

FINISH = "finish"  # what "done", "finished", "sorted" say, whatever there was to do
_LONGEST = 200  # characters of a clause that is read: what is longer tells more than that
_THING = (
    r"(?P<thing>(?:(?:[Tt]he|[Mm]y|[Oo]ur|[Tt]h(?:is|at|ese|ose)|[Aa]ll the|[Bb]oth) )?[\w'#-]+(?: [\w'#-]+){0,5}?)"
)
_LATELY = r"(?: (?:now|finally|already|just|all|also|both|at last|officially|successfully))*"
_WORKS = re.compile(
    rf"{_THING}(?: (?:works?|runs?|loads|prints|(?:is|are){_LATELY} (?:working|running|up))"
    r"(?: (?:fine|well|perfectly|properly))? again|(?:'s| (?:is|are|came)) (?:now )?back (?:up|online|to normal))"
    r"(?:,? (?:now|today|thanks|thank you))*"
)
_IS = re.compile(
    rf"{_THING}(?:'s| (?:is|are)){_LATELY} (?P<verb>[a-z]+)"
    r"(?: (?:off|out|up|in))?(?:,? (?:now|today|already|at last|too|as well|this (?:morning|afternoon|evening|week)))*"
    r"(?:: .*)?"
)
_WAS = re.compile(
    rf"{_THING} (?:was|were|got|(?:has|have)(?P<been>{_LATELY} been)){_LATELY} (?P<verb>[a-z]+)(?P<rest>.*)"
)
_NOTED = re.compile(
    rf"{_THING}(?P<mark>:| [-–—])? (?:all )?(?P<verb>[a-z]+)(?: (?:in|off|out|over|back))?"
    r"(?P<rest>(?: (?:to|for|with|at) .*| today| yesterday)?)"
)
_TICKED = re.compile(r"(?:[-*•] )?(?:\[[xX]\]|[✓✔✅☑]️?|(?:DONE|Done|done)[:!]) ?(?P<deed>[A-Za-z]+ \S.*)")
# Verbs of which "is" tells that it was done; of others it tells how a thing is: "the door is painted".
_DONE = frozenset(
    """arrange book buy cancel complete deliver deploy do email file finish fix hand install mail merge order patch pay
    post print publish register release renew repair replace reserve resolve restock return rotate schedule send settle
    ship sign solve sort submit translate update upload wash write""".split()
)
# Without any verb before them: "tickets booked", "rent paid".
_NOTED_DONE = _DONE - {"buy", "deliver", "order", "wash"}
_PASSED_ON = frozenset("send mail email post ship".split())
_FINISHED = frozenset("do finish complete sort settle".split())
# What befalls a thing, how it is named, and what is read as a change of its value.
_NO_DEED = frozenset(
    """be move change extend cut raise lower reduce increase push postpone delay shorten bump shift bring put name know
    see base use allow expect suppose locate interest involve need want break lose steal damage block reject refuse
    miss forget ignore meet hit hurt leave stick close open go come get have make say tell mean feel think keep hold
    hear like love hate worry surprise disappoint excite tire confuse concern embarrass bear raise find give take set
    stop""".split()
)
_MAKES = frozenset("write build paint design compose record publish direct print invent".split())
_OF_OLD = re.compile(
    r"\b(?:in|since|until) (?:1\d|20)\d\d\b|\bthe \d\ds\b|\b(?:centur(?:y|ies)|years ago|originally)\b", re.IGNORECASE
)
_OPEN = re.compile(
    r"\b(?:not|never|no|nobody|almost|nearly|half|partly|if|unless|until|before|every|each|often|usually|always|again"
    r"|twice|supposed|wrong|wrongly|incorrectly|by mistake|only)\b|n't\b",
    re.IGNORECASE,
)
_DUE = re.compile(
    rf"{_THING} (?:still )?(?:(?P<duty>ha(?:s|ve) to|needs? to|must|should|ought to) (?:still )?be (?P<verb>[a-z]+)"
    r"|needs? (?P<deed>[a-z]+ing))(?P<rest>(?: .*)?)"
)
_OURS = re.compile(
    r"(?:the|my|our|this|these|those)\b", re.IGNORECASE
)  # what every dog must be is no task of anybody's
_NO_TASK = re.compile(r"\b(?:not|never|nobody|if|unless|every|each|usually|always|only)\b|n't\b", re.IGNORECASE)
_TO_BE_DONE = _DONE | frozenset("clean check review approve test call paint answer prepare pick collect".split())
_PRONOUNS = frozenset("i we you he she it they there everything nothing something everyone everybody nobody".split())
_POINTERS = frozenset("this that these those who what which all both".split())
_VERBAL = re.compile(
    r"\b(?:is|are|was|were|be|been|being|has|have|had|do|does|did|will|would|shall|should|must|can|could|may|might|get"
    r"|gets|got|needs?|and|or|but|so|that|which|who|when|i|we|you|he|she|they)\b",
    re.IGNORECASE,
)


def is_due(clause: Clause) -> Found | None:
    """Read what is to be done: "the gas bill has to be paid", "our passports need renewing"."""
    plain = clause.plain.rstrip(" .!")
    match = _DUE.fullmatch(plain) if len(plain) <= _LONGEST and not clause.negated else None
    if (
        match is None
        or clause.subject.kin is not None
        or not _OURS.match(match["thing"])
        or _VERBAL.search(match["thing"])
    ):
        return None
    form = form_of(match["verb"] or match["deed"])
    lemma = form.lemma if form is not None and form.tense in ("past", "participle", "ing") else None
    rest = match["rest"]
    timed = FUTURE_HINT.search(rest) is not None
    if lemma not in _TO_BE_DONE or _NO_TASK.search(rest) or (match["duty"] in ("should", "ought to") and not timed):
        return None
    value = head(f"{lemma} {_as_object(match['thing'])}{rest}", 12)
    return Found(kind=StatementKind.TODO, category=Category.PLANS_GOALS, confidence=CLEAR, value=value)


def was_done(clause: Clause) -> Found | None:
    """Read what was done, in the passive or as a note: it may settle what was to be done."""
    plain = clause.plain.rstrip(" .!")
    if len(plain) > _LONGEST or clause.negated or clause.subject.kin is not None:
        return None
    works = _WORKS.fullmatch(plain)
    if _OPEN.search(plain, 0, works.end("thing") if works else len(plain)):
        return None
    if works is not None:
        return _deed(f"fix {_as_object(works['thing'])}") if _is_thing(works["thing"]) else None
    if ticked := _TICKED.fullmatch(plain):
        return _deed(ticked["deed"])
    for pattern, verbs in ((_IS, _DONE), (_WAS, None), (_NOTED, _NOTED_DONE)):
        match = pattern.fullmatch(plain)
        if match is None:
            continue
        lemma = _lemma(match["verb"])
        rest = match.groupdict().get("rest") or ""
        # "Quote sent to Huber": what a person sends would stand behind the verb.
        passed_on = lemma in _PASSED_ON and rest.startswith(" to ") and match["thing"].isalpha()
        if not passed_on and not _is_thing(match["thing"]):
            continue
        closed = lemma == "close" and _TO_BE_CLOSED.search(match["thing"]) is not None
        if lemma is not None and (closed or _is_deed(lemma, verbs, rest)):
            verb = FINISH if lemma in _FINISHED else lemma
            return _deed(f"{verb} {_as_object(match['thing'])}{rest}")
    return None


def _as_object(thing: str) -> str:
    """Write a thing as it stands behind a verb: its first capital was that of the sentence, unless it is "RFC"."""
    return thing if thing[:2].isupper() else thing[0].lower() + thing[1:]


def _lemma(word: str) -> str | None:
    form = form_of(word)
    return form.lemma if form is not None and form.tense in ("past", "participle") else None


# A shop is closed every evening; what is opened to be closed is done then.
_TO_BE_CLOSED = re.compile(
    r"\b(?:tickets?|cases?|issues?|round|deal|account|sale|books|incidents?|position)$", re.IGNORECASE
)


def _is_deed(lemma: str, verbs: frozenset[str] | None, rest: str) -> bool:
    if lemma in _NO_DEED or f"{lemma}e" in _NO_DEED or (verbs is not None and lemma not in verbs):
        return False
    return not _OF_OLD.search(rest) and not (lemma in _MAKES and rest.startswith(" by "))


def _is_thing(words: str) -> bool:
    """Tell a thing from a person: it has an article, or is no name."""
    first, _, more = words.partition(" ")
    if first.lower() in _PRONOUNS or (not more and first.lower() in _POINTERS) or _VERBAL.search(words):
        return False
    if first[:1].islower() or first in ("The", "My", "Our", "This", "That", "These", "Those", "All", "Both"):
        return bool(more) or first[:1].islower()
    last = words.rsplit(" ", 1)[-1]
    return (
        last[:1].islower()
        or last[:1] == "#"
        or bool(not more and (OF_A_PROJECT.fullmatch(words) or words.endswith("s")))
    )


def _deed(value: str) -> Found | None:
    value = head(value, 10)
    if " " not in value:
        return None
    return Found(
        kind=StatementKind.EVENT,
        category=Category.EXPERIENCES,
        confidence=LIKELY,
        attribute=Over.TASK,
        value=value,
        stance=Stance.DONE,
        negated=False,
        about="",
    )
