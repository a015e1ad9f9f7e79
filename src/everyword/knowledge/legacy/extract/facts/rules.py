"""Verbs -> claims: one rule a verb, asked of a clause that was read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from everyword.knowledge.legacy.extract.facts.claims import (
    CLEAR,
    LIKELY,
    OUTRIGHT,
    Claim,
    Course,
    course_of,
    ends_now,
)
from everyword.knowledge.legacy.extract.facts.endings import endings
from everyword.knowledge.legacy.extract.facts.occupations import born, occupation, role_in
from everyword.knowledge.legacy.extract.facts.tastes import liking, speaking
from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who
from everyword.knowledge.legacy.extract.rules.found import dangles, head

Rule = Callable[[Clause], Iterator[Claim]]

# Helpers that make a clause a plan, a duty or a possibility: nothing of it is so.
_UNREAL = frozenset(
    """will,would,could,might,may,should,must,shall,can,cannot,gonna,wanna,gotta,need to,needs to,have to,has to,had to,
    ought to,am going to,are going to,is going to,was going to,were going to,am gonna,are gonna,am supposed to,
    are supposed to,is supposed to,would rather,had better,am about to,are about to,have got to,
    has got to""".replace("\n", "")
    .replace("    ", "")
    .split(",")
)
_THE_NAME = r"(?P<v>(?:the )?(?-i:[^\W\d_a-z]).*)"  # a capital begins a name
_NAME = r"(?P<v>(?-i:[^\W\d_a-z]).*)"
_WORD_OF_TOOL = r"(?-i:[^\W\d_a-z])[\w.+#-]*"
_TOOL = rf"{_WORD_OF_TOOL}(?: {_WORD_OF_TOOL}){{0,3}}"  # the whole name: Visual Studio Code

_LIVES_IN = re.compile(rf"(?:\w+ ){{0,2}}?in {_THE_NAME}")
_MOVED_TO = re.compile(
    rf"(?:(?:back|over|out|away|up|down|\w+ly) |with \w+ ){{0,2}}(?:from .{{1,40}}? )?(?:in)?to {_THE_NAME}"
)
_MOVED_FROM = re.compile(r"\bfrom (?P<v>(?:the )?[^\W\d_a-z][^,;]*)")
_MOVED_AWAY = re.compile(r"(?:away|out) from\b")
_MOVED_OUT = re.compile(rf"out of {_NAME}")
_WORKS_AT = re.compile(
    r"(?:^|\b(?:as an? [\w -]{2,40}|on (?:an?|the|my|our) [\w -]{2,30}|remotely|part-time|full-time|now|currently) )"
    rf"(?:at|for) {_THE_NAME}"
)
_WORKS_AS = re.compile(r"(?:\w+ly )?as (?:an?|the) (?P<v>[\w -]{3,60})")
_WORKS_ON = re.compile(rf"on (?:the )?(?:[Pp]roject )?{_NAME}")
_NEW_JOB_AT = re.compile(
    r"(?:(?:a|my|the|this) (?:new |first )?(?P<job>job|role|position|post|internship) |working |work )?"
    rf"(?:as (?:an?|the) (?P<role>[\w -]{{3,40}}?) )?(?:at|with|for) {_THE_NAME}"
)
_NEW_ROLE = re.compile(
    r"(?:(?:a|my|the|this) (?:new |first )?(?:job|role|position|post) as (?:an?|the) |working as (?:an?|the) "
    r"|(?:been )?promoted to (?:the )?)(?P<v>[\w -]{3,60})"
)
_JOINED = re.compile(rf"(?P<the>the |a |our )?{_NAME}")
_GROUP = re.compile(r"\b(?:team|club|choir|band|group|league|society|union|party|gym|orchestra)\b", re.IGNORECASE)
_JOINED_AS = re.compile(r"\bas (?:an?|the|their) (?P<v>[\w -]{3,40})")
_LEFT = re.compile(
    rf"(?:(?:my|the) (?P<job>job|position|role|post) (?:at|with) |from |(?:working )?(?:at|for) )?{_NAME}"
)
_BEINGS = tuple(
    (re.compile(pattern), relation, entity, sure)
    for pattern, relation, entity, sure in (
        (rf"(?:happily |still |now |legally )?married to {_NAME}", "married_to", True, OUTRIGHT),
        (rf"(?:engaged to|in a relationship with|together with) {_NAME}", "partner_of", True, CLEAR),
        (rf"(?:originally |actually )?from {_THE_NAME}", "comes_from", True, CLEAR),
        (r"(?:\w+ly )?allergic to (?P<v>[a-z].*)", "allergic_to", False, OUTRIGHT),
        (rf"(?:an? (?:proud |active |founding )?member|part) of {_THE_NAME}", "member_of", True, CLEAR),
        (rf"(?:based|living) in {_THE_NAME}", "lives_in", True, CLEAR),
        (rf"(?:in charge of|the lead (?:of|on|for)) (?:the )?(?:[Pp]roject )?{_NAME}", "leads", True, LIKELY),
        (rf"(?:a student|an? \w+ student) at {_THE_NAME}", "studies_at", True, CLEAR),
        (rf"(?:good |best |close |old )?friends with {_NAME}", "friend_of", True, CLEAR),
    )
)
_BEEN_TO = re.compile(rf"(?:(?P<to>to)|(?P<in>in)) {_THE_NAME}")
_GOT_WED = re.compile(rf"(?P<how>married|engaged|divorced) (?:to|with|from) {_NAME}")
_PARTED = re.compile(rf"(?P<from>up with |from )?{_NAME}")
_ANY_NAME = re.compile(_NAME)
_SCHOOL = re.compile(rf"(?:^| )(?:at|from) {_THE_NAME}")
_ATTENDED = re.compile(
    r"(?:the )?(?P<v>(?:[^\W\d_a-z][\w.'-]* ){0,4}(?:School|University|College|Academy|Institute|UCLA|MIT|Harvard"
    r"|Stanford|Yale)\b.*)"
)
_SUBJECT = re.compile(r"(?P<v>[a-z][a-z-]+(?: [a-z-]+){0,2}?)(?= at\b| in\b|$| and\b|,)")
_NOT_SUBJECTS = frozenset(
    "for hard at in with all every a the my on until late together abroad here there so more".split()
)
_USED = re.compile(rf"(?P<v>{_TOOL})(?: and (?P<w>{_TOOL}))?")
_SWITCHED = re.compile(r"(?:over |back )?(?:to|from)\b")
_TO_TOOL = re.compile(rf"\bto (?P<v>{_TOOL})")
_FROM_TOOL = re.compile(rf"\bfrom (?P<v>{_TOOL})")
_PET = re.compile(
    r"\b(?:an? |our |two )(?:[\w-]+ ){0,3}?(?:dog|puppy|cat|kitten|rabbit|hamster|parrot|horse|pony|greyhound|tortoise"
    rf"|guinea pig|labrador|beagle|poodle|spaniel|terrier|retriever) (?:called|named) {_NAME}"
)
_DECIDED = re.compile(r"(?:to|on|against|that) .+")
_WENT_TO = re.compile(rf"(?:\w+ )?(?:to|in) {_THE_NAME}")
_GREW_UP = re.compile(rf"up in {_THE_NAME}")
_COMES_FROM = re.compile(rf"(?:originally )?from {_THE_NAME}")
_LEADS = re.compile(rf"(?:the )?(?:[Pp]roject )?{_NAME}")
_REPORTS_TO = re.compile(rf"to {_NAME}")


def claims_of(clause: Clause) -> list[Claim]:
    """List what a clause claims of its subject."""
    if clause.helpers & _UNREAL or clause.subject.who in (Who.NONE, Who.THING):
        return []
    return [*(claim for rule in _BY_VERB.get(clause.verb, ()) for claim in rule(clause)), *endings(clause)]


def _living(clause: Clause) -> Iterator[Claim]:
    match, course = _LIVES_IN.match(clause.rest), course_of(clause)
    if match and course:
        yield Claim(relation="lives_in", object=match["v"], course=course)


def _moving(clause: Clause) -> Iterator[Claim]:
    if not _is_done(clause):
        return
    went, came = _MOVED_TO.match(clause.rest), _MOVED_FROM.search(clause.rest)
    if went:
        yield Claim(relation="lives_in", object=went["v"], course=Course.BEGAN)
    if came and (went or _MOVED_AWAY.match(clause.rest)):
        yield Claim(relation="lives_in", object=came["v"], course=Course.ENDED, confidence=LIKELY)
    if out := _MOVED_OUT.match(clause.rest):
        yield Claim(relation="lives_in", object=out["v"], course=Course.ENDED)


def _working(clause: Clause) -> Iterator[Claim]:
    course = course_of(clause)
    if course is None:
        return
    if employer := _WORKS_AT.search(clause.rest):
        yield Claim(relation="works_at", object=employer["v"], course=course)
    if role := _WORKS_AS.match(clause.rest):
        yield Claim(relation="has_role", object=role_in(role["v"]), course=course, entity=False)
    if project := _WORKS_ON.match(clause.rest):
        yield Claim(relation="works_on", object=project["v"], course=course, confidence=LIKELY)


def _starting(clause: Clause) -> Iterator[Claim]:
    """Read "started at", "got a job at", "took a position as"."""
    if not _is_done(clause):
        return
    job = _NEW_JOB_AT.match(clause.rest)
    if job and (clause.verb != "get" or job["job"]):
        yield Claim(relation="works_at", object=job["v"], course=Course.BEGAN)
        if job["role"]:
            yield Claim(relation="has_role", object=role_in(job["role"]), course=Course.BEGAN, entity=False)
    elif role := _NEW_ROLE.match(clause.rest):
        yield Claim(relation="has_role", object=role_in(role["v"]), course=Course.BEGAN, entity=False)


def _joining(clause: Clause) -> Iterator[Claim]:
    match = _JOINED.match(clause.rest)
    if not match or not _is_done(clause):
        return
    group = match["the"] or _GROUP.search(match["v"])
    yield Claim(relation="member_of" if group else "works_at", object=match["v"], course=Course.BEGAN)
    role = _JOINED_AS.search(match["v"])
    if role and not group:
        yield Claim(relation="has_role", object=role_in(role["v"]), course=Course.BEGAN, entity=False)


def _leaving(clause: Clause) -> Iterator[Claim]:
    match = _LEFT.match(clause.rest)
    if match and _is_done(clause) and (clause.verb != "lose" or match["job"]):
        yield Claim(relation="works_at", object=match["v"], course=Course.ENDED)


def _being(clause: Clause) -> Iterator[Claim]:
    course = course_of(clause)
    if course is None:
        return
    if clause.rest.startswith("born"):
        yield from born(clause.rest)
        return
    for pattern, relation, entity, sure in _BEINGS:
        if match := pattern.match(clause.rest):
            words = match["v"] if entity else head(match["v"], 4)
            yield Claim(relation=relation, object=words, course=course, entity=entity, confidence=sure)
    yield from occupation(clause.rest, course)
    # "I have been to Rome", "I was in Rome": a visit. Where somebody is now says little.
    been = _BEEN_TO.match(clause.rest)
    if been and not clause.negated and (been["to"] if "been" in clause.helpers else clause.past and been["in"]):
        yield Claim(relation="visited", object=been["v"], course=Course.HAPPENED, confidence=LIKELY)


def _marrying(clause: Clause) -> Iterator[Claim]:
    match = _ANY_NAME.match(clause.rest)
    if match and _is_done(clause):
        yield Claim(relation="married_to", object=match["v"], course=Course.BEGAN, confidence=OUTRIGHT)


def _getting(clause: Clause) -> Iterator[Claim]:
    wed = _GOT_WED.match(clause.rest)
    if wed and _is_done(clause):
        relation = "partner_of" if wed["how"] == "engaged" else "married_to"
        course = Course.ENDED if wed["how"] == "divorced" else Course.BEGAN
        yield Claim(relation=relation, object=wed["v"], course=course)
    yield from _starting(clause)


def _parting(clause: Clause) -> Iterator[Claim]:
    match = _PARTED.match(clause.rest)
    if match and _is_done(clause) and (match["from"] or clause.verb == "divorce"):
        relation = "married_to" if clause.verb in ("divorce", "separate") else "partner_of"
        yield Claim(relation=relation, object=match["v"], course=Course.ENDED)


def _dating(clause: Clause) -> Iterator[Claim]:
    match, course = _ANY_NAME.match(clause.rest), course_of(clause)
    if match and course:
        yield Claim(relation="partner_of", object=match["v"], course=course)


def _studying(clause: Clause) -> Iterator[Claim]:
    course = course_of(clause)
    if course is None:
        return
    school = _SCHOOL.search(clause.rest)
    over = clause.verb == "graduate"
    if school and (not over or clause.past):
        yield Claim(relation="studies_at", object=school["v"], course=Course.ENDED if over else course)
    subject = _SUBJECT.match(clause.rest)
    if subject and not over and subject["v"].split()[0] not in _NOT_SUBJECTS:
        yield Claim(relation="studies", object=subject["v"], course=course, entity=False)


def _attending(clause: Clause) -> Iterator[Claim]:
    match, course = _ATTENDED.match(clause.rest), course_of(clause)
    if match and course:
        yield Claim(relation="studies_at", object=match["v"], course=course)


def _using(clause: Clause) -> Iterator[Claim]:
    course, match = course_of(clause), _USED.match(clause.rest)
    # "We used Kafka" tells of one time; "we used to use Kafka" and "no longer" tell that it is over.
    if course is None or match is None or (course is Course.ENDED and not ends_now(clause)):
        return
    for tool in (match["v"], match["w"]):
        if tool:
            yield Claim(relation="uses", object=tool, course=course, entity=False)


def _switching(clause: Clause) -> Iterator[Claim]:
    to, came = _TO_TOOL.search(clause.rest), _FROM_TOOL.search(clause.rest)
    if not to or not _is_done(clause) or not _SWITCHED.match(clause.rest):
        return
    yield Claim(relation="uses", object=to["v"], course=Course.BEGAN, entity=False)
    if came:
        yield Claim(relation="uses", object=came["v"], course=Course.ENDED, entity=False)


def _having(clause: Clause) -> Iterator[Claim]:
    pet, course = _PET.search(clause.rest), course_of(clause)
    if pet and course:
        began = clause.verb in ("adopt", "get", "buy", "rescue") and course is Course.ENDED
        yield Claim(relation="owns_pet", object=pet["v"], course=Course.BEGAN if began else course)


def _deciding(clause: Clause) -> Iterator[Claim]:
    if not _is_done(clause) or not _DECIDED.match(clause.rest):
        return
    value = head(clause.rest)
    if value and not dangles(value):
        yield Claim(relation="decided", object=value, course=Course.HAPPENED, entity=False, confidence=OUTRIGHT)


def _visiting(clause: Clause) -> Iterator[Claim]:
    match = (_ANY_NAME if clause.verb == "visit" else _WENT_TO).match(clause.rest)
    if match and _is_done(clause) and "used to" not in clause.helpers:
        yield Claim(relation="visited", object=match["v"], course=Course.HAPPENED)


def _growing(clause: Clause) -> Iterator[Claim]:
    match = _GREW_UP.match(clause.rest)
    if match and _is_done(clause):
        yield Claim(relation="comes_from", object=match["v"])


def _coming(clause: Clause) -> Iterator[Claim]:
    match = _COMES_FROM.match(clause.rest)
    if match and clause.tense in ("base", "third") and not clause.negated:
        yield Claim(relation="comes_from", object=match["v"])


def _leading(clause: Clause) -> Iterator[Claim]:
    match, course = _LEADS.match(clause.rest), course_of(clause)
    if match and course:
        yield Claim(relation="leads", object=match["v"], course=course, confidence=LIKELY)


def _founding(clause: Clause) -> Iterator[Claim]:
    match = _ANY_NAME.match(clause.rest)
    if match and _is_done(clause):
        yield Claim(relation="founded", object=match["v"], course=Course.HAPPENED)


def _reporting(clause: Clause) -> Iterator[Claim]:
    match, course = _REPORTS_TO.match(clause.rest), course_of(clause)
    if match and course:
        yield Claim(relation="reports_to", object=match["v"], course=course, confidence=LIKELY)


def _is_done(clause: Clause) -> bool:
    # "I quit my job" is written as the present is, and nobody means the present.
    past = clause.past or (clause.verb in ("quit", "split") and clause.tense == "base" and not clause.helpers)
    return past and not clause.negated


_BY_VERB: dict[str, tuple[Rule, ...]] = {
    "live": (_living,),
    "reside": (_living,),
    "move": (_moving,),
    "relocate": (_moving,),
    "work": (_working,),
    **dict.fromkeys(("start", "begin", "take", "accept"), (_starting,)),
    "join": (_joining,),
    **dict.fromkeys(("leave", "quit", "resign", "lose", "retire"), (_leaving,)),
    "be": (_being,),
    "marry": (_marrying,),
    "get": (_getting, _having),
    **dict.fromkeys(("divorce", "split", "break", "separate"), (_parting,)),
    **dict.fromkeys(("date", "dat"), (_dating,)),  # "dating", as far as the verb list can tell
    **dict.fromkeys(("study", "graduate"), (_studying,)),
    "attend": (_attending,),
    "speak": (speaking,),
    **dict.fromkeys(("like", "love", "enjoy", "adore", "prefer"), (liking,)),
    **dict.fromkeys(("hate", "dislike", "detest", "loathe"), (liking,)),
    "use": (_using,),
    "switch": (_switching,),
    **dict.fromkeys(("have", "adopt", "own", "rescue"), (_having,)),
    "decide": (_deciding,),
    **dict.fromkeys(("visit", "go", "travel", "fly"), (_visiting,)),
    "grow": (_growing,),
    "come": (_coming,),
    **dict.fromkeys(("lead", "manage"), (_leading,)),
    **dict.fromkeys(("found", "cofound", "co-found"), (_founding,)),
    "report": (_reporting,),
}
