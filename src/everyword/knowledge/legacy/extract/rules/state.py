"""Attributes: what somebody is, has, and habitually does, said outright."""

from __future__ import annotations

import re
from dataclasses import dataclass

from everyword.knowledge.legacy.extract.rules.clauses import Clause, Who
from everyword.knowledge.legacy.extract.rules.found import (
    CLEAR,
    LIKELY,
    OUTRIGHT,
    TIME_HINT,
    Found,
    attribute,
    dangles,
    head,
    key_of,
    needs_third,
    place_name,
    points_away,
    stance_of,
    unnumbered,
)
from everyword.knowledge.legacy.extract.rules.kin import KIN_PATTERN
from everyword.types.statements import Category, Stance, StatementKind

_PEOPLE = (Who.SELF, Who.US, Who.PERSON)
_NUMBER = r"(?:\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|no|any|some|several|twin)"
_NAME = r"[A-Z][\w'-]+(?: (?:[A-Z][\w'-]+|de|da|do|van|von|of|al))*"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A complement that tells an attribute: what it looks like, and what it gives."""

    pattern: re.Pattern[str]
    attribute: str  # ends in ":" where the value is part of it, since one can have several
    category: Category
    kind: StatementKind = StatementKind.ATTRIBUTE
    confidence: float = CLEAR
    stance: Stance | None = None


def _row(
    pattern: str,
    attribute: str,
    category: Category,
    kind: StatementKind = StatementKind.ATTRIBUTE,
    confidence: float = CLEAR,
    stance: Stance | None = None,
    *,
    case: bool = False,
) -> _Row:
    compiled = re.compile(pattern, 0 if case else re.IGNORECASE)
    return _Row(
        pattern=compiled, attribute=attribute, category=category, kind=kind, confidence=confidence, stance=stance
    )


_BEING = (
    _row(r"(?P<v>\d{1,3})(?: years? old| yo)?(?=$|[,;]| and\b| now\b| today\b)", "age", Category.IDENTITY),
    _row(r"(?:originally |actually )?from (?:the )?(?P<v>[A-Z].+)", "from", Category.IDENTITY, case=True),
    _row(r"born (?:and raised )?(?:in|on|at|near) (?P<v>.+)", "born", Category.IDENTITY),
    _row(
        r"(?:happily |newly |recently )?(?:married|engaged) to (?P<v>.+)",
        "married_to",
        Category.RELATIONSHIPS,
        StatementKind.RELATIONSHIP,
    ),
    _row(
        r"(?:happily |newly |recently |still |now |currently )*(?P<v>single|married|divorced|widowed|engaged"
        r"|separated|a widower?|in a (?:long-distance )?relationship|a single (?:mum|mom|dad|mother|father"
        r"|parent))(?=$|[,;]| (?:and|now|again|since|for|with)\b)",
        "marital_status",
        Category.RELATIONSHIPS,
    ),
    _row(r"(?:\w+ly )?allergic to (?P<v>.+)", "allergic:", Category.WELLNESS, confidence=OUTRIGHT),
    _row(
        r"(?:a )?(?:strict )?(?P<v>vegan|vegetarian|pescatarian|teetotal|kosher|lactose.intolerant|gluten.free"
        r"|co?eliac)\b",
        "diet",
        Category.LIFESTYLE,
        confidence=OUTRIGHT,
    ),
    _row(
        r"(?:\w+ly )?(?P<v>(?:left|right)-handed|colou?r-?blind|deaf|blind|dyslexic|diabetic|asthmatic|autistic"
        r"|bipolar|pregnant|trans(?:gender)?|gay|bisexual|lesbian|queer|non-?binary|bilingual|trilingual"
        r"|an? introvert|an? extrovert|an? only child|retired|unemployed|self-employed|disabled|adopted|an orphan"
        r"|an immigrant|an expat|a refugee|\d.{1,12} tall)\b",
        "is:",
        Category.IDENTITY,
    ),
    _row(r"(?:\w+ly )?(?:afraid|scared|terrified|frightened) of (?P<v>.+)", "fears:", Category.WELLNESS),
    _row(r"(?:currently )?based (?:in|near|out of) (?P<v>.+)", "lives_in", Category.IDENTITY),
    _row(r"fluent in (?P<v>.+)", "speaks:", Category.LEARNING),
    _row(r"(?:called|named) (?P<v>[A-Z].+)", "name", Category.IDENTITY, confidence=OUTRIGHT, case=True),
    _row(r"diagnosed with (?P<v>.+)", "condition:", Category.WELLNESS),
    _row(
        r"on (?P<v>(?:parental|maternity|paternity|sick) leave|(?:a|the) (?:\w+ )?(?:diet|medication)\b.*)",
        "is:",
        Category.WELLNESS,
    ),
    _row(r"a member of (?P<v>.+)", "member:", Category.LIFESTYLE),
)
_SINCE = re.compile(
    r"\b(?:since|for (?:about |over |almost |the (?:past|last) |a |\d|\w+ (?:years?|months?|weeks?))|every)",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"(?:about |around |over |almost |nearly |already |at least |a total of )?(?:\d[\d,.]*|two|three|four|five|six"
    r"|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty)\b(?! percent| ?%)",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\b(?:\d+|once|twice|two|three|four|five|six|seven|eight|nine|ten) (?:times|trips|books|miles|pounds|kilos)\b",
    re.IGNORECASE,
)
_FOR_LONG = re.compile(
    r"\bsince (?:\d{4}|I was|childhood|college|school)|\bfor (?:about |over |almost |more than "
    r"|nearly )?(?:\w+ ){1,2}(?:years|decades|months)\b",
)
_HAVING = (
    _row(
        rf"(?P<v>{_NUMBER} (?:[\w-]+ ){{0,2}}(?!family)(?:{KIN_PATTERN}|siblings?|sisters|brothers|sons|daughters"
        rf"|grandchildren|cousins"
        r"|nephews|nieces|chickens|horses|rabbits|fish|puppies|kittens)\b.*)",
        "has:",
        Category.RELATIONSHIPS,
    ),
    _row(
        r"(?:been diagnosed with )?(?P<v>(?:(?:a|an|chronic|severe|mild|type [12]|bad|really bad"
        r"|terrible) ){0,2}(?:asthma|diabetes|migraines?|ADHD|ADD|anxiety|depression|insomnia|arthritis|eczema"
        r"|epilepsy|PTSD|OCD|hay fever|tinnitus|IBS|anemia|anaemia|high blood pressure|cancer|dyslexia|\w+itis"
        r"|\w+ allergy|(?:nut|peanut|food|pollen|cat|shellfish) allerg(?:y|ies)|allerg(?:y|ies) to .+|back pain"
        r"|bad (?:back|knee|knees)))\b",
        "condition:",
        Category.WELLNESS,
    ),
    _row(
        rf"(?P<v>{_NUMBER} (?:[\w'-]+ ){{0,3}}(?:car|van|motorbike|motorcycle|bike|boat|house|flat|apartment"
        rf"|garden|degree|PhD|Master's"
        r"|master's|bachelor's|licen[cs]e|tattoos?|podcast|blog|business|company|shop|store|studio|restaurant"
        r"|farm|piano|guitar|drum kit"
        r"|Volvo|subscription|membership|mortgage|twin)\b.*)",
        "has:",
        Category.LIFESTYLE,
        confidence=LIKELY,
    ),
)
# What is done by habit tells who somebody is; the same verbs in the past tell what happened.
_DOING = {
    "speak": _row(rf"(?:fluent |a (?:little|bit of) |some )?(?P<v>{_NAME}.*)", "speaks:", Category.LEARNING, case=True),
    "play": _row(
        r"(?:the )?(?P<v>(?:lead |bass |first |second )?(?!with\b|a (?:role|part|game)|games? with|it\b|around"
        r"|out\b)\w.+)",
        "plays:",
        Category.INTERESTS,
    ),
    "own": _row(r"(?P<v>(?:a|an|two|three|four|five|the|my|some|\d+|several) .+)", "owns:", Category.LIFESTYLE),
    "drive": _row(r"(?P<v>(?:a|an|the|my) .+)", "drives", Category.LIFESTYLE),
    "earn": _row(r"(?P<v>.*(?:\d|grand|minimum wage).*)", "earns", Category.WORK_CAREER),
    "weigh": _row(r"(?P<v>.*\d.*)", "weight", Category.WELLNESS),
    "collect": _row(r"(?P<v>(?!(?:it|them|my (?:son|daughter|kids))\b)\w.+)", "collects:", Category.INTERESTS),
    "volunteer": _row(r"(?P<v>(?:at|for|with|as|in) .+)", "volunteers:", Category.LIFESTYLE),
    "commute": _row(r"(?P<v>.+)", "commutes", Category.LIFESTYLE),
    "teach": _row(r"(?P<v>(?!(?:you|me|us|him|her|them)\b)\w.+)", "teaches:", Category.WORK_CAREER),
    "study": _row(r"(?P<v>(?!(?:for|hard|it|this)\b)\w.+)", "studies:", Category.LEARNING),
    "run": _row(
        r"(?P<v>(?:a|an|my own|our) (?!(?:race|marathon|half|test|5k|10k|script|few)\b).+)",
        "runs:",
        Category.WORK_CAREER,
    ),
    "take": _row(
        r"(?P<v>(?:\d+ ?m[gl]|insulin|antidepressants|medication|pills|statins|vitamins|\w+ lessons|\w+ classes).*)",
        "takes:",
        Category.WELLNESS,
    ),
    "suffer": _row(r"from (?P<v>.+)", "condition:", Category.WELLNESS),
    "smoke": _row(r"(?P<v>.*)", "smokes", Category.WELLNESS),
    "coach": _row(r"(?P<v>.+)", "coaches:", Category.LIFESTYLE),
    "wear": _row(r"(?P<v>(?:glasses|contact|hearing|a hearing|a size|size).*)", "wears:", Category.WELLNESS),
}
_ONGOING = frozenset(
    """learn study train play work practise practice read teach attend write build raise run film record paint
    direct produce renovate organise organize develop create design launch""".split()
)
_IDLE = frozenset("look try think feel struggle wonder have hear want do wait mean prepare get go see talk".split())
_ONGOING_NOT = re.compile(
    r"(?:on it|on that|on this|it out|about you|for (?:it|that|me)$|well|out\b|great|fine|hard|advantage|care\b)",
    re.IGNORECASE,
)
_VACUOUS = re.compile(
    r"(?:on |for )?(?:a|an|the|some|my|another|few|new|big|more|stuff|things?|project|projects|something|ones?|cool"
    r"|other| )+",
    re.IGNORECASE,
)
_BY_HABIT = frozenset("usually always often normally typically generally".split())
_NOT_YET = frozenset(("will", "can", "could", "should", "need to", "have to", "must"))
_NO_HABITS = frozenset("be think feel say know remember wonder find hope try tell want see have get go look".split())
_HABIT = re.compile(
    r"\b(?:each (?:day|week|month|year|morning|night)"
    r"|every (?:day|morning|evening|night|week|weekend|other|month|year|second|sunday|monday|tuesday|wednesday"
    r"|thursday|friday|saturday)|on (?:mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays|weekends"
    r"|weekdays)|(?:once|twice|\w+ times) (?:a|per) (?:day|week|month|year)|at weekends)\b",
    re.IGNORECASE,
)
_OCCUPATION = re.compile(
    r"(?:now |currently |also |still |basically |just )*(?:an?|the) (?P<v>(?:[\w'&-]+ ){0,4}?(?:\w+(?:ist|ician"
    r"|ologist|eer|maker|smith|wright|tician)|nurse|teacher|doctor|lawyer|driver|writer|baker|painter|carpenter"
    r"|plumber|designer|developer|programmer|manager|director|officer|worker|trainer|dancer|singer|actor|actress"
    r"|editor|author|chef|cook|pilot|farmer|librarian|student|professor|lecturer|researcher|consultant|accountant"
    r"|assistant|architect|electrician|mechanic|photographer|firefighter|soldier|vet|surgeon|midwife|paramedic|waiter"
    r"|waitress|barista|judge|translator|interpreter|analyst|administrator|coach|tutor|landlord|entrepreneur"
    r"|freelancer|founder|owner|ranger|sailor|fisherman|gardener|mum|mom|dad|mother|father|parent|grandmother"
    r"|grandfather|twin|veteran|citizen|christian|muslim|buddhist|atheist|runner|swimmer|cyclist|reader"
    r"|morning person|night owl|homebody|cat person|dog person|CEO|CTO|postdoc|intern|apprentice|trainee"
    r"|civil servant|software engineer|engineer|violinist|drummer|hairdresser|cashier|contractor|striker"
    r"|player|captain|goalkeeper|bartender|broker|agent|clerk|receptionist|scientist))\b(?P<more>.{0,80})",
    re.IGNORECASE,
)
_NOT_OCCUPATIONS = re.compile(
    r"\b(?:great|good|amazing|wonderful|awesome|huge believer|real|terrible|bad|such|lucky|perfect|better|proud)\b",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(r"(?P<v>[A-Z][a-z'-]+(?: [A-Z][a-z'-]+)?)(?=$|,| and\b| from\b)")
_NATIONAL = re.compile(
    r"(?P<v>(?:half[- ])?[A-Z][a-z]+(?:ish|ian|ean|ese|can|ench|erman|utch|reek|wiss|ani|aqi))(?=$|,| and\b| by\b)",
)


def being(clause: Clause) -> Found | None:
    """Read "am left-handed", "is allergic to cats", "was born in"."""
    if clause.subject.who not in _PEOPLE or _is_stray_name(clause):
        return None
    for row in _BEING:
        found = _by_row(row, clause, clause.rest)
        if found:
            return found
    return _naming(clause) or _occupied(clause)


def lasting(clause: Clause) -> Found | None:
    """Read what has lasted: "has kept bees for five years", "have lived here since 2019"."""
    perfect = clause.helpers & {"have", "has"} and clause.tense in ("past", "participle") and not clause.negated
    if (
        not perfect
        or clause.subject.who not in _PEOPLE
        or not _FOR_LONG.search(clause.rest)
        or points_away(clause.rest)
    ):
        return None
    value = head(clause.rest)
    what = unnumbered(value) or key_of(value)
    return attribute(f"doing:{clause.verb} {what}", value, Category.INTERESTS, LIKELY, Stance.HOLDS)


def counted(clause: Clause) -> Found | None:
    """Read what is counted up: "have knitted 30 squares", "have seen it four times"; the next count replaces it."""
    perfect = clause.helpers & {"have", "has"} and clause.tense in ("past", "participle") and not clause.negated
    if not perfect or clause.subject.who not in _PEOPLE or points_away(clause.rest):
        return None
    value = head(clause.rest, 12)
    what = unnumbered(value)
    if not what or dangles(what) or not (_COUNT.match(value) or _TIMES.search(value)):
        return None
    return Found(
        kind=StatementKind.ATTRIBUTE,
        category=Category.EXPERIENCES,
        confidence=CLEAR,
        attribute=f"count:{clause.verb} {what}",
        value=value,
        stance=Stance.HOLDS,
    )


def coming_from(clause: Clause) -> Found | None:
    """Read "comes from Lviv"."""
    match = re.match(r"(?:originally )?from (?:the )?(?P<v>[A-Z][\w'-]+)", clause.rest)
    if not match or clause.tense not in ("base", "third") or clause.negated or needs_third(clause):
        return None
    return (
        attribute("from", match["v"], Category.IDENTITY, CLEAR, Stance.HOLDS) if clause.subject.who in _PEOPLE else None
    )


def having(clause: Clause) -> Found | None:
    """Read "have three kids", "has asthma", "do not have any siblings"."""
    if clause.subject.who not in _PEOPLE:
        return None
    rest = clause.rest.removeprefix("got ")
    return next((found for row in _HAVING if (found := _by_row(row, clause, rest))), None)


def habits(clause: Clause) -> Found | None:
    """Read what is done by habit: "speak Hindi", "play the cello", "drive a Yaris"."""
    row = _DOING.get(clause.verb)
    if row is None or clause.subject.who not in _PEOPLE or needs_third(clause):
        return None
    lasting = clause.tense in ("base", "third") and not clause.helpers - {
        "do",
        "does",
        "used to",
        "no longer",
        "have",
        "has",
    }
    if clause.verb == "study" and clause.past:
        lasting = True
    if not lasting or clause.verb == "do":
        return None
    if (
        "used to" not in clause.helpers
        and clause.tense == "base"
        and clause.subject.who is Who.PERSON
        and not clause.helpers
    ):
        return None
    return _by_row(row, clause, clause.rest)


def ongoing(clause: Clause) -> Found | None:
    """Read what goes on: "am learning Dutch", "have been playing tennis since 2019"."""
    if clause.tense != "ing" or clause.subject.who not in _PEOPLE or points_away(clause.rest):
        return None
    since = clause.helpers & {"have", "has", "been"} and (_SINCE.search(clause.rest) or _HABIT.search(clause.rest))
    lessons = clause.verb == "take" and re.search(r"\b(?:class|classes|lessons?|course|courses)\b", clause.rest)
    if (not since and not lessons and clause.verb not in _ONGOING) or clause.helpers & {"was", "were", "had", "will"}:
        return None
    if _ONGOING_NOT.match(clause.rest) or clause.verb in _IDLE:
        return None
    value = head(clause.rest)
    if dangles(value) or _VACUOUS.fullmatch(value):
        return None
    what = unnumbered(value) or key_of(value)
    return attribute(f"doing:{clause.verb} {what}", value, Category.INTERESTS, LIKELY, stance_of(clause))


def regular(clause: Clause) -> Found | None:
    """Read habits that say so: "usually wake up at 5:30", "swim every morning"."""
    if (
        clause.subject.who not in (Who.SELF, Who.US, Who.PERSON)
        or clause.tense not in ("base", "third")
        or needs_third(clause)
    ):
        return None
    says = clause.adverbs & _BY_HABIT or _HABIT.search(clause.rest)
    if not says or clause.verb in _NO_HABITS or clause.helpers & _NOT_YET or points_away(clause.rest):
        return None
    value = head(clause.rest)
    what = unnumbered(value) or key_of(value)
    return attribute(f"doing:{clause.verb} {what}", value, Category.LIFESTYLE, LIKELY, stance_of(clause))


def becoming(clause: Clause) -> Found | None:
    """Read "became a father"."""
    match = re.match(r"(?P<v>an? .+)", clause.rest)
    if match and clause.past and clause.subject.who in _PEOPLE:
        return attribute(
            f"is:{key_of(head(match['v'], 4))}", head(match["v"], 5), Category.IDENTITY, LIKELY, Stance.CHANGED
        )
    return None


def own_things(clause: Clause) -> Found | None:
    """Read "my name is", "my birthday is on", "my shoe size is 43"."""
    match = _OWN_FACT.match(clause.plain)
    if not match:
        return None
    value = head(match["v"].rstrip(" .!"), 6)
    if not value or points_away(value):
        return None
    what = match["what"].lower().replace(" ", "_")
    return Found(
        kind=StatementKind.ATTRIBUTE,
        category=Category.IDENTITY,
        confidence=OUTRIGHT,
        attribute=what,
        value=value,
        about="",
    )


_OWN_FACT = re.compile(
    r"my (?:full |first |last |real )?(?P<what>name|birthday|blood type|shoe size|height|weight|star sign"
    r"|native language|mother tongue|job|salary|job title|phone number|email(?: address)?|address|nickname|pronouns"
    r"|surname|hometown|home town|age|major|degree|background|religion|nationality|dress size|ring size|commute"
    r"|bedtime|timezone|time zone) (?:is|are) (?:on |in )?(?P<v>.+)",
    re.IGNORECASE,
)


def _by_row(row: _Row, clause: Clause, rest: str) -> Found | None:
    match = row.pattern.match(rest)
    if not match:
        return None
    value = place_name(match["v"]) if row.attribute == "from" else head(match["v"])
    if row.attribute != "smokes" and points_away(value):
        return None
    attribute = row.attribute + key_of(value) if row.attribute.endswith(":") else row.attribute
    stance = row.stance or stance_of(clause)
    return Found(
        kind=row.kind, category=row.category, confidence=row.confidence, attribute=attribute, value=value, stance=stance
    )


def _naming(clause: Clause) -> Found | None:
    if clause.subject.who is not Who.SELF or clause.negated or clause.past:
        return None
    national = _NATIONAL.match(clause.rest)
    if national:
        return attribute("nationality", national["v"], Category.IDENTITY, CLEAR, Stance.HOLDS)
    named = _OWN_NAME.match(clause.rest)
    return attribute("name", named["v"], Category.IDENTITY, CLEAR, Stance.HOLDS) if named else None


def _occupied(clause: Clause) -> Found | None:
    match = _OCCUPATION.match(clause.rest)
    if not match or _NOT_OCCUPATIONS.search(match["v"]):
        return None
    value = match["v"]
    stance = Stance.ENDED if clause.past and not clause.helpers & {"have", "has"} else stance_of(clause)
    return attribute(f"is:{key_of(value)}", value, Category.WORK_CAREER, CLEAR, stance)


def _is_stray_name(clause: Clause) -> bool:
    """A sentence often begins with a capital that is no name; a known relation or a time makes it one."""
    subject = clause.subject
    if subject.who is not Who.PERSON or subject.kin is not None:
        return False
    return re.match(
        r"(?:the|full|great|so|very|what|how|all|always|never|like|full of)\b", clause.rest
    ) is not None or bool(TIME_HINT.match(clause.rest))
